//! From CEL's syntax to our tree: names are resolved, macros recognised, everything unknown is refused.

use super::names::{self, Root};
use super::pattern::Pattern;
use super::tree::{Arithmetic, Comparison, Function, Kind, Loop, LoopKind, Style, Tree};
use super::{When, literal, macros};
use crate::fault::CompileFault;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, SelectExpr, SourceInfo, operators};
use kernel::evaluator::Reads;
use kernel::template::Template;
use values::json::Json;

/// Deeper expressions are refused, so that evaluation cannot exhaust the stack.
const DEPTH_MAX: usize = 96;

type Lowered<T = Tree> = Result<T, CompileFault>;

/// What the expression becomes, and what it looks at.
pub(super) fn lower(expression: &IdedExpr, info: &SourceInfo, text: &str, when: When) -> Lowered<(Tree, Reads)> {
    let mut lowering = Lowering { info, text, when, reads: Reads::default(), locals: Vec::new(), depth: 0 };
    let root = lowering.tree(expression)?;
    lowering.expect(&root, Kind::Bool, expression, "the expression")?;
    Ok((root, lowering.reads))
}

struct Lowering<'s> {
    info: &'s SourceInfo,
    text: &'s str,
    when: When,
    reads: Reads,
    /// Loop variables in scope, innermost last.
    locals: Vec<String>,
    depth: usize,
}

impl Lowering<'_> {
    fn tree(&mut self, expression: &IdedExpr) -> Lowered {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.refuse(expression, format!("is nested deeper than {DEPTH_MAX} levels"));
        }
        let tree = match &expression.expr {
            Expr::Literal(value) => literal::constant(value, literal::source(self.info, self.text, expression.id))
                .map_err(|problem| CompileFault::at(literal::span(self.info, expression.id), problem))?,
            Expr::Ident(name) => self.identifier(expression, name)?,
            Expr::Select(select) => self.select(expression, select)?,
            Expr::Call(call) => self.call(expression, call)?,
            Expr::Comprehension(of) => self.comprehension(expression, of)?,
            Expr::List(list) => {
                let items = list.elements.iter().map(|item| self.tree(item)).collect::<Lowered<Vec<Tree>>>()?;
                folded(items)
            }
            Expr::Map(_) | Expr::Struct(_) => return self.refuse(expression, "objects cannot be written here"),
            Expr::Unspecified => return self.refuse(expression, "is incomplete"),
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn boxed(&mut self, expression: &IdedExpr) -> Lowered<Box<Tree>> {
        self.tree(expression).map(Box::new)
    }

    /// A part that must be true or false.
    fn condition(&mut self, expression: &IdedExpr) -> Lowered<Box<Tree>> {
        let tree = self.tree(expression)?;
        let name = format!("`{}`", tree.name());
        self.expect(&tree, Kind::Bool, expression, &name)?;
        Ok(Box::new(tree))
    }

    fn identifier(&mut self, expression: &IdedExpr, name: &str) -> Lowered {
        if let Some(place) = self.locals.iter().rposition(|local| local == name) {
            return Ok(Tree::Local(place));
        }
        match Root::from_word(name) {
            Some(Root::Params) => {
                self.reads.all_params = true;
                Ok(Tree::AllParams)
            }
            Some(Root::Action) => Ok(Tree::Action),
            Some(Root::Confidence) => {
                self.reads.confidence = true;
                Ok(Tree::Confidence)
            }
            Some(Root::State) => {
                self.refuse(expression, "`state` can only be read by key: `state.key` or `state[\"a/{param}/b\"]`")
            }
            Some(Root::Agent) => self.refuse(expression, "`agent` has only `agent.id` and `agent.role`"),
            None => self.refuse(expression, names::unknown(name, &self.locals)),
        }
    }

    /// The well-known name a member is selected from, unless a loop variable hides it.
    fn root(&self, operand: &IdedExpr) -> Option<Root> {
        let Expr::Ident(name) = &operand.expr else { return None };
        if self.locals.contains(name) { None } else { Root::from_word(name) }
    }

    fn select(&mut self, expression: &IdedExpr, select: &SelectExpr) -> Lowered {
        if let Some(root) = self.root(&select.operand) {
            return self.member(expression, root, &select.field, select.test);
        }
        let operand = self.boxed(&select.operand)?;
        Ok(match select.test {
            true => Tree::HasField(operand, select.field.clone()),
            false => Tree::Field(operand, select.field.clone()),
        })
    }

    fn member(&mut self, expression: &IdedExpr, root: Root, key: &str, test: bool) -> Lowered {
        match (root, key) {
            (Root::Params, _) => {
                self.reads.params.insert(key.to_owned());
                Ok(if test { Tree::HasParam(key.to_owned()) } else { Tree::Param(key.to_owned()) })
            }
            (Root::State, _) => {
                let template = match Template::parse(key) {
                    Ok(template) => template,
                    Err(problem) => return self.refuse(expression, format!("state key `{key}` {problem}")),
                };
                self.reads.state.insert(template);
                Ok(if test { Tree::HasState(key.to_owned()) } else { Tree::State(key.to_owned()) })
            }
            (Root::Agent, "id" | "role") if test => Ok(Tree::Constant(Json::Bool(true))),
            (Root::Agent, "id") => Ok(Tree::AgentId),
            (Root::Agent, "role") => Ok(Tree::AgentRole),
            (Root::Agent, _) => {
                self.refuse(expression, format!("`agent.{key}` is not known; there are `agent.id` and `agent.role`"))
            }
            (Root::Action | Root::Confidence, _) => self.refuse(expression, format!("`{}` has no fields", root.word())),
        }
    }

    fn call(&mut self, expression: &IdedExpr, call: &CallExpr) -> Lowered {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_NOT, [operand]) => Ok(Tree::Not(self.condition(operand)?)),
            (operators::LOGICAL_AND, [left, right]) => Ok(Tree::Both(self.condition(left)?, self.condition(right)?)),
            (operators::LOGICAL_OR, [left, right]) => Ok(Tree::Either(self.condition(left)?, self.condition(right)?)),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                Ok(Tree::Choose(self.condition(condition)?, self.boxed(yes)?, self.boxed(no)?))
            }
            (operators::NEGATE, [operand]) => {
                let inner = self.tree(operand)?;
                self.expect(&inner, Kind::Number, operand, &format!("`{}`", inner.name()))?;
                Ok(Tree::Negate(Box::new(inner)))
            }
            (operators::IN, [item, range]) => self.is_in(expression, item, range),
            (operators::INDEX, [operand, index]) => self.index(expression, operand, index),
            (name, [left, right]) if call.target.is_none() => match (comparison(name), arithmetic(name)) {
                (Some(comparison), _) => self.comparison(expression, comparison, left, right),
                (None, Some(arithmetic)) => self.compute(expression, arithmetic, left, right),
                (None, None) => self.function(expression, call),
            },
            _ => self.function(expression, call),
        }
    }

    fn is_in(&mut self, expression: &IdedExpr, item: &IdedExpr, range: &IdedExpr) -> Lowered {
        match (self.root(range), literal::text(item)) {
            (Some(root @ (Root::Params | Root::State)), Some(key)) => self.member(expression, root, key, true),
            (Some(Root::State), None) => self.refuse(item, names::DYNAMIC_STATE_KEY),
            _ => Ok(Tree::In(self.boxed(item)?, self.boxed(range)?)),
        }
    }

    fn index(&mut self, expression: &IdedExpr, operand: &IdedExpr, index: &IdedExpr) -> Lowered {
        match (self.root(operand), literal::text(index)) {
            (Some(root), Some(key)) => self.member(expression, root, key, false),
            (Some(Root::State), None) => self.refuse(index, names::DYNAMIC_STATE_KEY),
            _ => Ok(Tree::Index(self.boxed(operand)?, self.boxed(index)?)),
        }
    }

    fn comparison(
        &mut self,
        expression: &IdedExpr,
        comparison: Comparison,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Lowered {
        let (left, right) = (self.boxed(left)?, self.boxed(right)?);
        let ordered = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if let (true, Some(first), Some(second)) = (ordered, left.kind(), right.kind())
            && (first != second || !matches!(first, Kind::Bool | Kind::Number | Kind::Text))
        {
            let problem = format!("{} and {} have no order", first.word(), second.word());
            return self.refuse(expression, problem);
        }
        Ok(Tree::Compare(comparison, left, right))
    }

    fn compute(&mut self, expression: &IdedExpr, arithmetic: Arithmetic, left: &IdedExpr, right: &IdedExpr) -> Lowered {
        let (left, right) = (self.boxed(left)?, self.boxed(right)?);
        let fits = |kind: Kind| match arithmetic {
            Arithmetic::Add => matches!(kind, Kind::Number | Kind::Text | Kind::List),
            Arithmetic::Subtract | Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => {
                kind == Kind::Number
            }
        };
        let kinds: Vec<Kind> = [&left, &right].into_iter().filter_map(|side| side.kind()).collect();
        let mixed = matches!(kinds.as_slice(), [first, second] if first != second);
        if mixed || !kinds.iter().copied().all(fits) {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            let problem = format!("`{}` has no meaning for {}", arithmetic.sign(), words.join(" and "));
            return self.refuse(expression, problem);
        }
        Ok(Tree::Compute(arithmetic, left, right))
    }

    fn function(&mut self, expression: &IdedExpr, call: &CallExpr) -> Lowered {
        let name = call.func_name.as_str();
        let operands: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        if name == "matches" {
            return self.matches(expression, &operands);
        }
        let Some(function) = Function::from_word(name) else {
            return self.refuse(expression, names::unknown_function(name));
        };
        let styled = match function.style() {
            Style::Either => true,
            Style::Global => call.target.is_none(),
            Style::Receiver => call.target.is_some(),
        };
        if !styled {
            let right = if function.style() == Style::Global { "(x)" } else { "x." };
            let problem = match function.style() {
                Style::Global | Style::Either => format!("write `{name}{right}`, not `x.{name}()`"),
                Style::Receiver => format!("write `{right}{name}(…)`, not `{name}(x, …)`"),
            };
            return self.refuse(expression, problem);
        }
        let (least, most) = function.arguments();
        if operands.len() < least || operands.len() > most {
            let problem = format!("`{name}` takes another number of arguments than {}", call.args.len());
            return self.refuse(expression, problem);
        }
        let arguments = operands.into_iter().map(|operand| self.tree(operand)).collect::<Lowered<Vec<Tree>>>()?;
        Ok(Tree::Call(function, arguments))
    }

    fn matches(&mut self, expression: &IdedExpr, operands: &[&IdedExpr]) -> Lowered {
        let [text, pattern] = operands else {
            return self.refuse(expression, "`matches` takes a text and a pattern");
        };
        let Some(source) = literal::text(pattern) else {
            return self.refuse(pattern, "the pattern of `matches` must be written out, not computed");
        };
        let text = self.boxed(text)?;
        let compiled = Pattern::of(source);
        match compiled.problem(self.when) {
            None => Ok(Tree::Matches(text, compiled)),
            Some(problem) => self.refuse(pattern, format!("the pattern `{source}` {problem}")),
        }
    }

    fn comprehension(&mut self, expression: &IdedExpr, of: &ComprehensionExpr) -> Lowered {
        let Some(parts) = macros::recognise(of) else {
            return self.refuse(expression, "only all, exists, exists_one, filter and map can loop");
        };
        if Root::from_word(&of.iter_var).is_some() || self.locals.contains(&of.iter_var) {
            let problem = format!("the loop variable `{}` hides another name; choose a new one", of.iter_var);
            return self.refuse(expression, problem);
        }
        let range = self.tree(&of.iter_range)?;
        let local = self.locals.len();
        self.locals.push(of.iter_var.clone());
        let body = match parts.kind {
            LoopKind::Map => self.tree(parts.body)?,
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => *self.condition(parts.body)?,
        };
        let only_if = match parts.only_if {
            Some(condition) => Some(*self.condition(condition)?),
            None => None,
        };
        self.locals.pop();
        Ok(Tree::Loop(Box::new(Loop { kind: parts.kind, range, local, body, only_if })))
    }

    fn expect(&self, tree: &Tree, wanted: Kind, expression: &IdedExpr, name: &str) -> Lowered<()> {
        match tree.kind() {
            Some(kind) if kind != wanted => {
                let wanted = if wanted == Kind::Bool { "true or false" } else { wanted.word() };
                self.refuse(expression, format!("{name} is {}, not {wanted}", kind.word()))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn refuse<T>(&self, expression: &IdedExpr, problem: impl Into<String>) -> Lowered<T> {
        Err(CompileFault::at(literal::span(self.info, expression.id), problem))
    }
}

/// A list of constants is a constant: membership in it then costs no allocation.
fn folded(items: Vec<Tree>) -> Tree {
    if !items.iter().all(|item| matches!(item, Tree::Constant(_))) {
        return Tree::List(items);
    }
    let constants =
        items.into_iter().filter_map(|item| if let Tree::Constant(json) = item { Some(json) } else { None });
    Tree::Constant(Json::List(constants.collect()))
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        operators::EQUALS => Comparison::Equal,
        operators::NOT_EQUALS => Comparison::NotEqual,
        operators::LESS => Comparison::Less,
        operators::LESS_EQUALS => Comparison::LessOrEqual,
        operators::GREATER => Comparison::Greater,
        operators::GREATER_EQUALS => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn arithmetic(name: &str) -> Option<Arithmetic> {
    Some(match name {
        operators::ADD => Arithmetic::Add,
        operators::SUBSTRACT => Arithmetic::Subtract,
        operators::MULTIPLY => Arithmetic::Multiply,
        operators::DIVIDE => Arithmetic::Divide,
        operators::MODULO => Arithmetic::Remainder,
        _ => return None,
    })
}
