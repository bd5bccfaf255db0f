//! Evaluation on exact decimals. Every step burns fuel, every fault is a sentence that names fields and never values.

use super::functions;
use super::tree::{Arithmetic, Comparison, Loop, LoopKind, Tree, state_name};
use super::value::{Fuel, List, Outcome, Value, compare, equal, fault};
use kernel::evaluator::Scope;
use std::borrow::Cow;
use values::decimal::Decimal;
use values::json::{Json, Object};

/// True or false, or why neither.
pub(super) fn holds(root: &Tree, scope: &Scope<'_>) -> Outcome<bool> {
    let mut machine = Machine { scope, fuel: Fuel::full(), locals: Vec::new() };
    let value = machine.value(root)?;
    if let Value::Bool(answer) = value {
        return Ok(answer);
    }
    fault(format!("the expression yields {}, not true or false", value.kind()))
}

struct Machine<'a> {
    scope: &'a Scope<'a>,
    fuel: Fuel,
    /// Loop variables, innermost last.
    locals: Vec<Value<'a>>,
}

impl<'a> Machine<'a> {
    fn value(&mut self, tree: &'a Tree) -> Outcome<Value<'a>> {
        self.fuel.burn(1)?;
        let scope = self.scope;
        match tree {
            Tree::Constant(json) => Ok(Value::from(json)),
            Tree::Param(name) => present(scope.params.get(name), || format!("params.{name}")),
            Tree::AllParams => Ok(Value::Object(scope.params)),
            Tree::State(key) => present(scope.state.get(key), || state_name(key)),
            Tree::AgentId => Ok(Value::Text(Cow::Borrowed(scope.agent.id))),
            Tree::AgentRole => Ok(Value::Text(Cow::Borrowed(scope.agent.role.word()))),
            Tree::Action => Ok(Value::Text(Cow::Borrowed(scope.action))),
            Tree::Confidence => scope.confidence.map(Value::Number).map_or_else(|| fault("`confidence` is absent"), Ok),
            Tree::Local(place) => {
                self.locals.get(*place).cloned().map_or_else(|| fault("a loop variable is unset"), Ok)
            }
            Tree::HasParam(name) => Ok(Value::Bool(is_there(scope.params.get(name)))),
            Tree::HasState(key) => Ok(Value::Bool(is_there(scope.state.get(key)))),
            Tree::HasField(operand, field) => {
                let members = self.object(operand)?;
                Ok(Value::Bool(is_there(members.get(field))))
            }
            Tree::Field(operand, field) => {
                let members = self.object(operand)?;
                present(members.get(field), || tree.name())
            }
            Tree::Index(operand, index) => self.index(operand, index),
            Tree::List(items) => {
                let values = self.values(items)?;
                Ok(Value::List(List::made(values)))
            }
            Tree::Not(operand) => Ok(Value::Bool(!self.truth(operand)?)),
            Tree::Negate(operand) => {
                let value = self.value(operand)?;
                let Value::Number(number) = value else { return wrong(operand, &value, "a number") };
                Ok(Value::Number(number.negated()))
            }
            Tree::Both(left, right) => self.absorbing(left, right, false),
            Tree::Either(left, right) => self.absorbing(left, right, true),
            Tree::Choose(condition, yes, no) => {
                let chosen = if self.truth(condition)? { yes } else { no };
                self.value(chosen)
            }
            Tree::Compare(comparison, left, right) => self.comparison(*comparison, left, right),
            Tree::Compute(arithmetic, left, right) => self.compute(*arithmetic, left, right),
            Tree::In(item, range) => self.is_in(item, range),
            Tree::Matches(text, pattern) => {
                let value = self.value(text)?;
                let Value::Text(subject) = &value else { return wrong(text, &value, "text") };
                self.fuel.burn_text(subject.len())?;
                match pattern.regex() {
                    Ok(regex) => Ok(Value::Bool(regex.is_match(subject))),
                    Err(problem) => fault(format!("the pattern `{}` {problem}", pattern.source())),
                }
            }
            Tree::Call(function, arguments) => {
                let values = self.values(arguments)?;
                functions::call(*function, &values, &mut self.fuel)
            }
            Tree::Loop(of) => self.run(of),
        }
    }

    fn values(&mut self, trees: &'a [Tree]) -> Outcome<Vec<Value<'a>>> {
        trees.iter().map(|tree| self.value(tree)).collect()
    }

    fn truth(&mut self, tree: &'a Tree) -> Outcome<bool> {
        let value = self.value(tree)?;
        if let Value::Bool(answer) = value { Ok(answer) } else { wrong(tree, &value, "true or false") }
    }

    fn object(&mut self, tree: &'a Tree) -> Outcome<&'a Object> {
        let value = self.value(tree)?;
        if let Value::Object(members) = value { Ok(members) } else { wrong(tree, &value, "an object") }
    }

    /// `&&` and `||` as CEL has them: the deciding value wins over a fault on the other side.
    fn absorbing(&mut self, left: &'a Tree, right: &'a Tree, deciding: bool) -> Outcome<Value<'a>> {
        let first = self.truth(left);
        if first == Ok(deciding) {
            return Ok(Value::Bool(deciding));
        }
        let second = self.truth(right)?;
        if second == deciding {
            return Ok(Value::Bool(deciding));
        }
        first.map(Value::Bool)
    }

    fn comparison(&mut self, comparison: Comparison, left: &'a Tree, right: &'a Tree) -> Outcome<Value<'a>> {
        let first = self.value(left)?;
        let second = self.value(right)?;
        match compare(comparison, &first, &second, &mut self.fuel)? {
            Some(answer) => Ok(Value::Bool(answer)),
            None => fault(format!(
                "`{}` is {} and `{}` is {}: they have no order",
                left.name(),
                first.kind(),
                right.name(),
                second.kind()
            )),
        }
    }

    fn compute(&mut self, arithmetic: Arithmetic, left: &'a Tree, right: &'a Tree) -> Outcome<Value<'a>> {
        match (self.value(left)?, self.value(right)?) {
            (Value::Number(first), Value::Number(second)) => {
                let names = || (left.name(), right.name());
                number(arithmetic, first, second, names).map(Value::Number)
            }
            (Value::Text(first), Value::Text(second)) if arithmetic == Arithmetic::Add => {
                self.fuel.burn_text(first.len().saturating_add(second.len()))?;
                Ok(Value::Text(Cow::Owned(first.into_owned() + &second)))
            }
            (Value::List(first), Value::List(second)) if arithmetic == Arithmetic::Add => {
                self.fuel.burn(first.len().saturating_add(second.len()))?;
                Ok(Value::List(List::made(first.iter().chain(second.iter()).collect())))
            }
            (first, second) => fault(format!(
                "`{}` is {} and `{}` is {}: `{}` has no meaning for them",
                left.name(),
                first.kind(),
                right.name(),
                second.kind(),
                arithmetic.sign()
            )),
        }
    }

    fn index(&mut self, operand: &'a Tree, index: &'a Tree) -> Outcome<Value<'a>> {
        match (self.value(operand)?, self.value(index)?) {
            (Value::List(items), Value::Number(place)) => {
                let found = place.to_i64().and_then(|place| usize::try_from(place).ok()).and_then(|at| items.get(at));
                match found {
                    Some(value) => Ok(value),
                    None => fault(format!("`{}` has no item at `{}`", operand.name(), index.name())),
                }
            }
            (Value::Object(members), Value::Text(key)) => {
                present(members.get(key.as_ref()), || format!("{}[{}]", operand.name(), index.name()))
            }
            (other, key) => {
                fault(format!("`{}` is {} and cannot be indexed by {}", operand.name(), other.kind(), key.kind()))
            }
        }
    }

    fn is_in(&mut self, item: &'a Tree, range: &'a Tree) -> Outcome<Value<'a>> {
        let wanted = self.value(item)?;
        let value = self.value(range)?;
        if let Value::Object(members) = value {
            let Value::Text(key) = wanted else { return Ok(Value::Bool(false)) };
            // Null counts as absent, as it does for `has`.
            return Ok(Value::Bool(is_there(members.get(key.as_ref()))));
        }
        let Value::List(items) = &value else { return wrong(range, &value, "a list or an object") };
        self.fuel.burn(items.len())?;
        for candidate in items.iter() {
            if equal(&wanted, &candidate, &mut self.fuel)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    /// What a loop runs over: the items of a list, or the keys of an object.
    fn items(&mut self, range: &'a Tree) -> Outcome<List<'a>> {
        let value = self.value(range)?;
        if let Value::Object(members) = value {
            self.fuel.burn(members.len())?;
            return Ok(List::made(members.keys().map(|key| Value::Text(Cow::Borrowed(key.as_str()))).collect()));
        }
        if let Value::List(items) = value { Ok(items) } else { wrong(range, &value, "a list or an object") }
    }

    fn run(&mut self, of: &'a Loop) -> Outcome<Value<'a>> {
        let items = self.items(&of.range)?;
        let answer = match of.kind {
            LoopKind::All => self.quantify(of, &items, false),
            LoopKind::Exists => self.quantify(of, &items, true),
            LoopKind::ExistsOne => self.exactly_one(of, &items),
            LoopKind::Map => self.map(of, &items),
        };
        self.locals.truncate(of.local);
        answer
    }

    fn enter(&mut self, of: &'a Loop, item: Value<'a>) -> Outcome<()> {
        self.locals.truncate(of.local);
        self.locals.push(item);
        self.fuel.burn(1)
    }

    /// `all` and `exists`: one deciding element wins over faults of the others.
    fn quantify(&mut self, of: &'a Loop, items: &List<'a>, deciding: bool) -> Outcome<Value<'a>> {
        let mut first_fault = None;
        for item in items.iter() {
            self.enter(of, item)?;
            match self.truth(&of.body) {
                Ok(answer) if answer == deciding => return Ok(Value::Bool(deciding)),
                Ok(_) => {}
                Err(problem) => {
                    first_fault.get_or_insert(problem);
                }
            }
        }
        first_fault.map_or(Ok(Value::Bool(!deciding)), Err)
    }

    fn exactly_one(&mut self, of: &'a Loop, items: &List<'a>) -> Outcome<Value<'a>> {
        let mut count = 0_usize;
        for item in items.iter() {
            self.enter(of, item)?;
            count += usize::from(self.truth(&of.body)?);
        }
        Ok(Value::Bool(count == 1))
    }

    fn map(&mut self, of: &'a Loop, items: &List<'a>) -> Outcome<Value<'a>> {
        let mut mapped = Vec::new();
        for item in items.iter() {
            self.enter(of, item)?;
            let wanted = match &of.only_if {
                Some(condition) => self.truth(condition)?,
                None => true,
            };
            if wanted {
                mapped.push(self.value(&of.body)?);
            }
        }
        Ok(Value::List(List::made(mapped)))
    }
}

fn wrong<T>(tree: &Tree, value: &Value<'_>, wanted: &str) -> Outcome<T> {
    fault(format!("`{}` is {}, not {wanted}", tree.name(), value.kind()))
}

fn is_there(value: Option<&Json>) -> bool {
    !matches!(value, None | Some(Json::Null))
}

fn present<'a>(value: Option<&'a Json>, name: impl FnOnce() -> String) -> Outcome<Value<'a>> {
    match value {
        Some(json) => Ok(Value::from(json)),
        None => fault(format!("`{}` is absent", name())),
    }
}

/// Faults name the operands and never show them: a param may be a secret.
fn number(
    arithmetic: Arithmetic,
    left: Decimal,
    right: Decimal,
    names: impl FnOnce() -> (String, String),
) -> Outcome<Decimal> {
    let sign = arithmetic.sign();
    let refused = |problem: &str| {
        let (left, right) = names();
        fault(format!("`{left}` {sign} `{right}` {problem}"))
    };
    let result = match arithmetic {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Remainder if right.is_zero() => return fault("division by zero"),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder if left.is_integer() && right.is_integer() => left.checked_rem(right),
        Arithmetic::Remainder => return refused("needs whole numbers"),
    };
    match result {
        Some(number) => Ok(number),
        None => refused("has more than 28 digits"),
    }
}
