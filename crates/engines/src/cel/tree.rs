//! The expression as we evaluate it: names resolved, macros recognised, patterns and templates compiled.

use super::pattern::Pattern;
use values::json::Json;

/// One node of a compiled expression.
#[derive(Debug)]
pub(super) enum Tree {
    Constant(Json),
    Param(String),
    AllParams,
    /// The template text as written, which is the key of the state view.
    State(String),
    AgentId,
    AgentRole,
    Action,
    Confidence,
    /// A loop variable, by its place on the stack.
    Local(usize),
    HasParam(String),
    HasState(String),
    HasField(Box<Tree>, String),
    Field(Box<Tree>, String),
    Index(Box<Tree>, Box<Tree>),
    List(Vec<Tree>),
    Not(Box<Tree>),
    Negate(Box<Tree>),
    Both(Box<Tree>, Box<Tree>),
    Either(Box<Tree>, Box<Tree>),
    Choose(Box<Tree>, Box<Tree>, Box<Tree>),
    Compare(Comparison, Box<Tree>, Box<Tree>),
    Compute(Arithmetic, Box<Tree>, Box<Tree>),
    In(Box<Tree>, Box<Tree>),
    Matches(Box<Tree>, Pattern),
    Call(Function, Vec<Tree>),
    Loop(Box<Loop>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
        }
    }
}

/// A macro over a list or the keys of an object.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) kind: LoopKind,
    pub(super) range: Tree,
    /// Place of the loop variable on the stack.
    pub(super) local: usize,
    /// What is asked of each element, or what it becomes.
    pub(super) body: Tree,
    /// Elements for which this is false are left out (`map` with three arguments, `filter`).
    pub(super) only_if: Option<Tree>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Map,
}

macro_rules! functions {
    ($($name:ident = $word:literal, $style:ident, $least:literal ..= $most:literal, $kind:expr;)+) => {
        /// A function of values; strings and numbers only, so that each is total or faults.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Function { $($name),+ }

        impl Function {
            /// Names a person may write.
            pub(super) const WORDS: &'static [&'static str] = &[$($word),+];

            pub(super) fn from_word(word: &str) -> Option<Function> {
                match word { $($word => Some(Function::$name),)+ _ => None }
            }

            pub(super) fn word(self) -> &'static str {
                match self { $(Function::$name => $word),+ }
            }

            /// How it may be called.
            pub(super) fn style(self) -> Style {
                match self { $(Function::$name => Style::$style),+ }
            }

            /// Fewest and most arguments, the receiver included.
            pub(super) fn arguments(self) -> (usize, usize) {
                match self { $(Function::$name => ($least, $most)),+ }
            }

            /// What it yields, where that does not depend on its arguments.
            pub(super) fn kind(self) -> Kind {
                match self { $(Function::$name => $kind),+ }
            }
        }
    };
}

/// How a function may be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// `f(x)`
    Global,
    /// `x.f()`
    Receiver,
    /// Both.
    Either,
}

functions! {
    Size = "size", Either, 1..=1, Kind::Number;
    Contains = "contains", Receiver, 2..=2, Kind::Bool;
    StartsWith = "startsWith", Receiver, 2..=2, Kind::Bool;
    EndsWith = "endsWith", Receiver, 2..=2, Kind::Bool;
    LowerAscii = "lowerAscii", Receiver, 1..=1, Kind::Text;
    UpperAscii = "upperAscii", Receiver, 1..=1, Kind::Text;
    Trim = "trim", Receiver, 1..=1, Kind::Text;
    Split = "split", Receiver, 2..=2, Kind::List;
    Replace = "replace", Receiver, 3..=3, Kind::Text;
    Substring = "substring", Receiver, 2..=3, Kind::Text;
    Abs = "abs", Global, 1..=1, Kind::Number;
    Min = "min", Global, 1..=16, Kind::Number;
    Max = "max", Global, 1..=16, Kind::Number;
    Floor = "floor", Global, 1..=1, Kind::Number;
    Ceil = "ceil", Global, 1..=1, Kind::Number;
    Round = "round", Global, 1..=1, Kind::Number;
    Int = "int", Global, 1..=1, Kind::Number;
    Double = "double", Global, 1..=1, Kind::Number;
    Text = "string", Global, 1..=1, Kind::Text;
}

/// What a value is, as far as it is known before there are values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    List,
    Object,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::Text => "text",
            Kind::List => "a list",
            Kind::Object => "an object",
        }
    }

    pub(super) fn of(json: &Json) -> Kind {
        match json {
            Json::Null => Kind::Null,
            Json::Bool(_) => Kind::Bool,
            Json::Number(_) => Kind::Number,
            Json::Text(_) => Kind::Text,
            Json::List(_) => Kind::List,
            Json::Object(_) => Kind::Object,
        }
    }
}

impl Tree {
    /// What it yields, if that is certain.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Tree::Constant(json) => Some(Kind::of(json)),
            Tree::AllParams => Some(Kind::Object),
            Tree::AgentId | Tree::AgentRole | Tree::Action => Some(Kind::Text),
            Tree::Confidence | Tree::Negate(_) => Some(Kind::Number),
            Tree::HasParam(_)
            | Tree::HasState(_)
            | Tree::HasField(..)
            | Tree::Not(_)
            | Tree::Both(..)
            | Tree::Either(..)
            | Tree::Compare(..)
            | Tree::In(..)
            | Tree::Matches(..) => Some(Kind::Bool),
            Tree::List(_) => Some(Kind::List),
            Tree::Compute(Arithmetic::Add, left, right) => left.kind().or_else(|| right.kind()),
            Tree::Compute(..) => Some(Kind::Number),
            Tree::Choose(_, yes, no) => yes.kind().filter(|kind| no.kind() == Some(*kind)),
            Tree::Call(function, _) => Some(function.kind()),
            Tree::Loop(of) => Some(if of.kind == LoopKind::Map { Kind::List } else { Kind::Bool }),
            Tree::Param(_) | Tree::State(_) | Tree::Local(_) | Tree::Field(..) | Tree::Index(..) => None,
        }
    }

    /// How a fault calls it: the words of the contract where they are short.
    pub(super) fn name(&self) -> String {
        match self {
            Tree::Param(name) => format!("params.{name}"),
            Tree::AllParams => "params".to_owned(),
            Tree::State(key) => state_name(key),
            Tree::AgentId => "agent.id".to_owned(),
            Tree::AgentRole => "agent.role".to_owned(),
            Tree::Action => "action".to_owned(),
            Tree::Confidence => "confidence".to_owned(),
            Tree::Field(operand, field) => format!("{}.{field}", operand.name()),
            Tree::Index(operand, _) => format!("{}[…]", operand.name()),
            Tree::Call(function, _) => format!("{}(…)", function.word()),
            Tree::Constant(json) => json.to_canonical().chars().take(NAME_CHARS_MAX).collect(),
            Tree::Local(_)
            | Tree::HasParam(_)
            | Tree::HasState(_)
            | Tree::HasField(..)
            | Tree::List(_)
            | Tree::Not(_)
            | Tree::Negate(_)
            | Tree::Both(..)
            | Tree::Either(..)
            | Tree::Choose(..)
            | Tree::Compare(..)
            | Tree::Compute(..)
            | Tree::In(..)
            | Tree::Matches(..)
            | Tree::Loop(_) => "(…)".to_owned(),
        }
    }
}

/// Longer constants are cut in messages.
const NAME_CHARS_MAX: usize = 60;

/// `state.risk` or `state["accounts/{id}/balance"]`, as the contract would write it.
pub(super) fn state_name(key: &str) -> String {
    let plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain { format!("state.{key}") } else { format!("state[\"{key}\"]") }
}
