//! Parts of an expression that can never be evaluated, or never be true, by what the schema declares of the params.

use super::Expression;
use super::tree::{Arithmetic, Comparison, Function, Kind, LoopKind, Tree};
use crate::declared;
use crate::fault::{CompileFault, only_place};
use values::decimal::Decimal;
use values::json::Json;

/// What is wrong with a part of an expression.
#[derive(Debug)]
pub(crate) enum Impossible {
    /// Every proposal would be refused because of it.
    Unevaluable(CompileFault),
    /// It has the same value for every proposal.
    Constant(CompileFault),
}

/// The first part of an expression that makes no sense for the declared params, if there is one.
pub(crate) fn impossible(expression: &Expression, text: &str, params: &Json) -> Option<Impossible> {
    let look = Look { params, text };
    look.truth(&expression.root).or_else(|| look.below(&expression.root))
}

struct Look<'a> {
    /// The schema of the params.
    params: &'a Json,
    text: &'a str,
}

impl Look<'_> {
    /// What a value is. A param that may be several things, or is declared elsewhere, is unknown.
    fn kind(&self, tree: &Tree) -> Option<Kind> {
        if let Tree::Param(name) = tree {
            return match declared::kinds(self.params, name).as_slice() {
                ["number" | "integer"] => Some(Kind::Number),
                ["string"] => Some(if declared::is_decimal(self.params, name) { Kind::Number } else { Kind::Text }),
                ["boolean"] => Some(Kind::Bool),
                ["array"] => Some(Kind::List),
                ["object"] => Some(Kind::Object),
                _ => None,
            };
        }
        if let Tree::Compute(Arithmetic::Add, left, right) = tree {
            return self.kind(left).or_else(|| self.kind(right));
        }
        if let Tree::Choose(_, yes, no) = tree {
            return self.kind(yes).filter(|kind| self.kind(no) == Some(*kind));
        }
        tree.kind()
    }

    /// The first part, seen from a node downwards.
    fn below(&self, tree: &Tree) -> Option<Impossible> {
        self.own(tree).or_else(|| children(tree).into_iter().find_map(|child| self.below(child)))
    }

    fn own(&self, tree: &Tree) -> Option<Impossible> {
        match tree {
            Tree::Compare(comparison, left, right) => self.compare(*comparison, left, right),
            Tree::In(item, range) => self.is_in(item, range),
            Tree::Compute(arithmetic, left, right) => self.compute(*arithmetic, left, right),
            Tree::Matches(subject, _) => self.demand(subject, Kind::Text),
            Tree::Negate(operand) => self.demand(operand, Kind::Number),
            Tree::Not(operand) => self.truth(operand),
            Tree::Both(left, right) | Tree::Either(left, right) => self.truth(left).or_else(|| self.truth(right)),
            Tree::Choose(condition, _, _) => self.truth(condition),
            Tree::Field(operand, _) | Tree::HasField(operand, _) => self.demand(operand, Kind::Object),
            Tree::Call(function, arguments) => self.call(*function, arguments),
            Tree::Loop(of) => match self.kind(&of.range) {
                None | Some(Kind::List | Kind::Object) => None,
                Some(kind) => Some(self.wrong(&of.range, kind, "a list or an object")),
            },
            Tree::Constant(_)
            | Tree::Param(_)
            | Tree::AllParams
            | Tree::State(_)
            | Tree::AgentId
            | Tree::AgentRole
            | Tree::Action
            | Tree::Confidence
            | Tree::Local(_)
            | Tree::HasParam(_)
            | Tree::HasState(_)
            | Tree::Index(..)
            | Tree::List(_) => None,
        }
    }

    fn truth(&self, tree: &Tree) -> Option<Impossible> {
        let kind = self.kind(tree).filter(|kind| *kind != Kind::Bool)?;
        Some(self.wrong(tree, kind, "true or false"))
    }

    fn demand(&self, tree: &Tree, wanted: Kind) -> Option<Impossible> {
        let kind = self.kind(tree).filter(|kind| *kind != wanted)?;
        Some(self.wrong(tree, kind, wanted.word()))
    }

    fn wrong(&self, tree: &Tree, kind: Kind, wanted: &str) -> Impossible {
        let problem = format!("`{}` is {}, not {wanted}, so this can never be evaluated", tree.name(), kind.word());
        Impossible::Unevaluable(self.fault(&[tree], problem))
    }

    fn compare(&self, comparison: Comparison, left: &Tree, right: &Tree) -> Option<Impossible> {
        let (first, second) = (self.kind(left)?, self.kind(right)?);
        let has_order = first == second && matches!(first, Kind::Bool | Kind::Number | Kind::Text);
        let what = format!("`{}` is {} and `{}` is {}", left.name(), first.word(), right.name(), second.word());
        let fault = |end: &str| self.fault(&[left, right], format!("{what}: {end}"));
        match comparison {
            Comparison::Equal if first != second => {
                Some(Impossible::Constant(fault("they are never equal, so this is never true")))
            }
            Comparison::NotEqual if first != second => {
                Some(Impossible::Constant(fault("they are never equal, so this is always true")))
            }
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual
                if !has_order =>
            {
                Some(Impossible::Unevaluable(fault("they have no order, so this can never be evaluated")))
            }
            Comparison::Equal
            | Comparison::NotEqual
            | Comparison::Less
            | Comparison::LessOrEqual
            | Comparison::Greater
            | Comparison::GreaterOrEqual => None,
        }
    }

    /// A value is in no list whose items are all something else.
    fn is_in(&self, item: &Tree, range: &Tree) -> Option<Impossible> {
        let kind = self.kind(item)?;
        let kinds: Vec<Option<Kind>> = if let Tree::List(items) = range {
            items.iter().map(|listed| self.kind(listed)).collect()
        } else if let Tree::Constant(Json::List(items)) = range {
            items.iter().map(|listed| Some(Kind::of(listed))).collect()
        } else {
            let kind = self.kind(range).filter(|kind| !matches!(kind, Kind::List | Kind::Object))?;
            return Some(self.wrong(range, kind, "a list or an object"));
        };
        let differs = |listed: &Option<Kind>| listed.is_some_and(|listed| listed != kind);
        if kinds.is_empty() || !kinds.iter().all(differs) {
            return None;
        }
        let problem = format!("`{}` is {}, which none of the list is, so this is never true", item.name(), kind.word());
        Some(Impossible::Constant(self.fault(&[item], problem)))
    }

    fn compute(&self, arithmetic: Arithmetic, left: &Tree, right: &Tree) -> Option<Impossible> {
        let fits = |kind: Kind| match arithmetic {
            Arithmetic::Add => matches!(kind, Kind::Number | Kind::Text | Kind::List),
            Arithmetic::Subtract | Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => {
                kind == Kind::Number
            }
        };
        let kinds = (self.kind(left), self.kind(right));
        let misfit = [kinds.0, kinds.1].into_iter().flatten().any(|kind| !fits(kind));
        let mixed = matches!(kinds, (Some(first), Some(second)) if first != second);
        if !misfit && !mixed {
            return None;
        }
        let said = |tree: &Tree, kind: Option<Kind>| kind.map(|kind| format!("`{}` is {}", tree.name(), kind.word()));
        let what: Vec<String> = [said(left, kinds.0), said(right, kinds.1)].into_iter().flatten().collect();
        let end = format!("`{}` has no meaning for that, so this can never be evaluated", arithmetic.sign());
        Some(Impossible::Unevaluable(self.fault(&[left, right], format!("{}: {end}", what.join(" and ")))))
    }

    /// Functions of text and of numbers; the others take more than one kind.
    fn call(&self, function: Function, arguments: &[Tree]) -> Option<Impossible> {
        let wanted = match function {
            Function::StartsWith
            | Function::EndsWith
            | Function::LowerAscii
            | Function::UpperAscii
            | Function::Trim
            | Function::Split
            | Function::Replace => Kind::Text,
            Function::Abs | Function::Floor | Function::Ceil | Function::Round => Kind::Number,
            Function::Size
            | Function::Contains
            | Function::Substring
            | Function::Min
            | Function::Max
            | Function::Int
            | Function::Double
            | Function::Text => return None,
        };
        arguments.iter().find_map(|argument| self.demand(argument, wanted))
    }

    /// A fault at the one param it is about. A number in quotes is the mistake people make.
    fn fault(&self, about: &[&Tree], problem: String) -> CompileFault {
        let span = about.iter().find_map(|tree| {
            let Tree::Param(name) = tree else { return None };
            only_place(self.text, "params.", name)
        });
        let quoted = about.iter().find_map(|tree| {
            let Tree::Constant(Json::Text(text)) = tree else { return None };
            Decimal::parse(text).map(|_| text)
        });
        let help = quoted.map(|number| format!("write the number without quotes: `{number}`"));
        CompileFault { problem, help, span }
    }
}

fn children(tree: &Tree) -> Vec<&Tree> {
    match tree {
        Tree::Constant(_)
        | Tree::Param(_)
        | Tree::AllParams
        | Tree::State(_)
        | Tree::AgentId
        | Tree::AgentRole
        | Tree::Action
        | Tree::Confidence
        | Tree::Local(_)
        | Tree::HasParam(_)
        | Tree::HasState(_) => Vec::new(),
        Tree::HasField(one, _) | Tree::Field(one, _) | Tree::Not(one) | Tree::Negate(one) | Tree::Matches(one, _) => {
            vec![one]
        }
        Tree::Index(one, other)
        | Tree::Both(one, other)
        | Tree::Either(one, other)
        | Tree::Compare(_, one, other)
        | Tree::Compute(_, one, other)
        | Tree::In(one, other) => vec![one, other],
        Tree::Choose(condition, yes, no) => vec![condition, yes, no],
        Tree::List(items) | Tree::Call(_, items) => items.iter().collect(),
        Tree::Loop(of) => match of.kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne | LoopKind::Map => {
                [&of.range, &of.body].into_iter().chain(&of.only_if).collect()
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::compile;
    use crate::testing::json;

    const PARAMS: &str = r#"{"type": "object", "properties": {
        "cost": {"type": "number"}, "count": {"type": ["integer", "null"]}, "exact": {"type": "string", "format": "decimal"},
        "name": {"type": "string"}, "urgent": {"type": "boolean"}, "ids": {"type": "array"}, "to": {"type": "object"},
        "mixed": {"type": ["string", "number"]}, "any": {}}}"#;

    /// `error:` or `warning:` with the sentence, or `fine`.
    fn check(text: &str, expected: &str) {
        let found = match impossible(&compile(text).unwrap(), text, &json(PARAMS)) {
            None => "fine".to_owned(),
            Some(Impossible::Unevaluable(fault)) => format!("error: {}", fault.problem),
            Some(Impossible::Constant(fault)) => format!("warning: {}", fault.problem),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn numbers_in_quotes() {
        let text = "params.cost <= \"20\"";
        check(
            text,
            "error: `params.cost` is a number and `\"20\"` is text: they have no order, so this can never be evaluated",
        );
        let Some(Impossible::Unevaluable(fault)) = impossible(&compile(text).unwrap(), text, &json(PARAMS)) else {
            panic!("it cannot be evaluated")
        };
        assert_eq!((fault.help.as_deref(), fault.span), (Some("write the number without quotes: `20`"), Some(7..11)));
        check(
            "params.cost == \"20\"",
            "warning: `params.cost` is a number and `\"20\"` is text: they are never equal, so this is never true",
        );
        check(
            "params.name != 7",
            "warning: `params.name` is text and `7` is a number: they are never equal, so this is always true",
        );
        check("params.exact <= 20", "fine");
        check(
            "params.exact <= \"20\"",
            "error: `params.exact` is a number and `\"20\"` is text: they have no order, so this can never be evaluated",
        );
        check("params.cost <= 20 && params.name == \"20\"", "fine");
    }

    #[test]
    fn lists_objects_and_truth() {
        check(
            "params.ids <= 3",
            "error: `params.ids` is a list and `3` is a number: they have no order, so this can never be evaluated",
        );
        check("size(params.ids) <= 3", "fine");
        check(
            "params.cost in [\"a\", \"b\"]",
            "warning: `params.cost` is a number, which none of the list is, so this is never true",
        );
        check("params.name in [\"a\", \"b\"]", "fine");
        check("params.cost in params.ids", "fine");
        check(
            "3 in params.cost",
            "error: `params.cost` is a number, not a list or an object, so this can never be evaluated",
        );
        check("params.name.startsWith(\"a\")", "fine");
        check(
            "params.cost.startsWith(\"a\")",
            "error: `params.cost` is a number, not text, so this can never be evaluated",
        );
        check("params.urgent", "fine");
        check("params.name", "error: `params.name` is text, not true or false, so this can never be evaluated");
        check(
            "params.urgent && params.cost",
            "error: `params.cost` is a number, not true or false, so this can never be evaluated",
        );
        check("params.to.city == \"x\"", "fine");
        check(
            "params.name.city == \"x\"",
            "error: `params.name` is text, not an object, so this can never be evaluated",
        );
        check("params.ids.all(id, id < 3)", "fine");
        check(
            "params.name.all(id, id < 3)",
            "error: `params.name` is text, not a list or an object, so this can never be evaluated",
        );
    }

    #[test]
    fn what_may_be_several_things_is_not_judged() {
        for text in ["params.mixed <= 3", "params.any <= 3", "state.risk <= 3", "params.count <= 3", "confidence > 0.5"]
        {
            check(text, "fine");
        }
        check(
            "params.name * 2 > 3",
            "error: `params.name` is text and `2` is a number: `*` has no meaning for that, so this can never be evaluated",
        );
        check("params.cost + params.count > 3", "fine");
    }
}
