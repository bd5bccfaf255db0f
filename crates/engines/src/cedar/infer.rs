//! Walks a policy's condition with the types of one action and finds what can only err when it is reached.
//!
//! Cedar's own validator would refuse whatever it cannot type, and most of what contracts look at (state, untyped
//! params) has no type. Here the unknown passes: only what is proven is reported.

use super::known::{Inferred, Known, Path};
use super::types::{Member, Presence, Record, Type};
use super::wording;
use crate::fault::CompileFault;
use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp, Var};
use std::collections::BTreeMap;

/// What was found in one policy for one action.
#[derive(Default, Debug)]
pub(super) struct Found {
    /// Parts that err whenever they are reached.
    pub(super) errors: Vec<CompileFault>,
    /// Parts that err for some proposals.
    pub(super) warnings: Vec<CompileFault>,
}

/// What every proposal of one action has in common.
pub(super) struct Surroundings {
    pub(super) action: String,
    pub(super) context: Type,
}

/// Looks through a condition.
pub(super) fn condition(expression: &Expr, surroundings: &Surroundings) -> Found {
    let mut walk = Walk { surroundings, found: Found::default() };
    let inferred = walk.infer(expression, &Known::nothing());
    walk.expect_bool(&inferred, expression);
    walk.found
}

struct Walk<'s> {
    surroundings: &'s Surroundings,
    found: Found,
}

impl Walk<'_> {
    fn infer(&mut self, expression: &Expr, known: &Known) -> Inferred {
        // What is never reached may say what it likes.
        if known.is_never() {
            return Inferred::of(Type::Unknown);
        }
        match expression.expr_kind() {
            ExprKind::Lit(literal) => Inferred::of(literal_type(literal)),
            ExprKind::Var(variable) => Inferred::of(self.variable(*variable)),
            ExprKind::Slot(_) | ExprKind::Unknown(_) => Inferred::of(Type::Unknown),
            ExprKind::If { test_expr, then_expr, else_expr } => self.choice(test_expr, then_expr, else_expr, known),
            ExprKind::And { left, right } => self.both(left, right, known),
            ExprKind::Or { left, right } => self.either(left, right, known),
            ExprKind::UnaryApp { op, arg } => self.unary(*op, expression, arg, known),
            ExprKind::BinaryApp { op, arg1, arg2 } => self.binary(*op, expression, (arg1, arg2), known),
            ExprKind::ExtensionFunctionApp { fn_name, args } => {
                self.function(&fn_name.to_string(), expression, args, known)
            }
            ExprKind::GetAttr { expr, attr } => self.attribute(expression, expr, attr, known),
            ExprKind::HasAttr { expr, attr } => self.has(expr, [attr.as_str()].into_iter(), known),
            ExprKind::ExtHasAttr { expr, attrs } => self.has(expr, attrs.iter().map(|attr| attr.as_str()), known),
            ExprKind::Like { expr, .. } => {
                self.operand(expr, &Type::Text(None), known);
                Inferred::of(Type::Bool(None))
            }
            ExprKind::Is { expr, .. } => {
                self.operand(expr, &Type::Entity(None), known);
                Inferred::of(Type::Bool(None))
            }
            ExprKind::Set(items) => {
                let kinds: Vec<Type> = items.iter().map(|item| self.infer(item, known).kind).collect();
                let item = kinds.into_iter().reduce(Type::common).unwrap_or(Type::Unknown);
                Inferred::of(Type::Set(Box::new(item)))
            }
            ExprKind::Record(members) => {
                let typed = members.iter().map(|(name, value)| {
                    let kind = self.infer(value, known).kind;
                    (name.to_string(), Member { kind, presence: Presence::Always })
                });
                let members: BTreeMap<String, Member> = typed.collect();
                Inferred::of(Type::Record(Record { members, open: false }))
            }
        }
    }

    fn variable(&self, variable: Var) -> Type {
        match variable {
            Var::Principal | Var::Resource => Type::Entity(None),
            Var::Action => Type::Entity(Some(self.surroundings.action.clone())),
            Var::Context => self.surroundings.context.clone(),
        }
    }

    fn both(&mut self, left: &Expr, right: &Expr, known: &Known) -> Inferred {
        let first = self.infer(left, known);
        self.expect_bool(&first, left);
        let second = self.infer(right, &known.and(&first.when_true));
        self.expect_bool(&second, right);
        let answer = match (first.answer(), second.answer()) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            (Some(true) | None, None) | (None, Some(true)) => None,
        };
        let when_false = first.when_false.or(&first.when_true.and(&second.when_false));
        Inferred::condition(answer, first.when_true.and(&second.when_true), when_false)
    }

    fn either(&mut self, left: &Expr, right: &Expr, known: &Known) -> Inferred {
        let first = self.infer(left, known);
        self.expect_bool(&first, left);
        let second = self.infer(right, &known.and(&first.when_false));
        self.expect_bool(&second, right);
        let answer = match (first.answer(), second.answer()) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            (Some(false) | None, None) | (None, Some(false)) => None,
        };
        let when_true = first.when_true.or(&first.when_false.and(&second.when_true));
        Inferred::condition(answer, when_true, first.when_false.and(&second.when_false))
    }

    fn choice(&mut self, test: &Expr, yes: &Expr, no: &Expr, known: &Known) -> Inferred {
        let asked = self.infer(test, known);
        self.expect_bool(&asked, test);
        let then = self.infer(yes, &known.and(&asked.when_true));
        let otherwise = self.infer(no, &known.and(&asked.when_false));
        let when_true = asked.when_true.and(&then.when_true).or(&asked.when_false.and(&otherwise.when_true));
        let when_false = asked.when_true.and(&then.when_false).or(&asked.when_false.and(&otherwise.when_false));
        let kind = match asked.answer() {
            Some(true) => then.kind,
            Some(false) => otherwise.kind,
            None => then.kind.common(otherwise.kind),
        };
        Inferred { kind, when_true, when_false }
    }

    fn unary(&mut self, operator: UnaryOp, whole: &Expr, operand: &Expr, known: &Known) -> Inferred {
        match operator {
            UnaryOp::Not => {
                let inner = self.infer(operand, known);
                self.expect_bool(&inner, operand);
                let answer = inner.answer().map(|answer| !answer);
                Inferred::condition(answer, inner.when_false, inner.when_true)
            }
            UnaryOp::Neg => {
                let kind = self.infer(operand, known).kind;
                self.expect_long(&kind, operand, whole);
                Inferred::of(Type::Long)
            }
            UnaryOp::IsEmpty => {
                self.operand(operand, &Type::Set(Box::new(Type::Unknown)), known);
                Inferred::of(Type::Bool(None))
            }
        }
    }

    fn binary(&mut self, operator: BinaryOp, whole: &Expr, (left, right): (&Expr, &Expr), known: &Known) -> Inferred {
        let (first, second) = (self.infer(left, known).kind, self.infer(right, known).kind);
        let list = Type::Set(Box::new(Type::Unknown));
        let answer = match operator {
            BinaryOp::Eq => {
                self.expect_alike(whole, (left, &first), (right, &second));
                same(&first, &second)
            }
            BinaryOp::Less | BinaryOp::LessEq => {
                let wrong = |kind: &Type| !matches!(kind, Type::Long | Type::Unknown);
                if wrong(&first) || wrong(&second) {
                    self.found.errors.push(wording::no_order(whole, (left, &first), (right, &second)));
                }
                None
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                self.expect_long(&first, left, whole);
                self.expect_long(&second, right, whole);
                return Inferred::of(Type::Long);
            }
            BinaryOp::In => {
                self.expect(&first, &Type::Entity(None), left);
                // Entities have no parents here, so `in` asks for the entity itself.
                if second.differs(&list) { same(&first, &second) } else { self.listed(right, &first, known) }
            }
            BinaryOp::Contains => {
                self.expect(&first, &list, left);
                if let Type::Set(item) = &first {
                    self.expect_alike(whole, (left, item), (right, &second));
                }
                self.listed(left, &second, known)
            }
            BinaryOp::ContainsAll | BinaryOp::ContainsAny => {
                self.expect(&first, &list, left);
                self.expect(&second, &list, right);
                None
            }
            BinaryOp::GetTag => return Inferred::of(Type::Unknown),
            BinaryOp::HasTag => None,
        };
        Inferred::condition(answer, Known::nothing(), Known::nothing())
    }

    /// Whether a value that is always the same stands in a list written out.
    fn listed(&mut self, list: &Expr, wanted: &Type, known: &Known) -> Option<bool> {
        let ExprKind::Set(items) = list.expr_kind() else { return None };
        let reported = (self.found.errors.len(), self.found.warnings.len());
        let answers: Vec<Option<bool>> = items.iter().map(|item| same(&self.infer(item, known).kind, wanted)).collect();
        // The items have been looked through before; once is enough.
        self.found.errors.truncate(reported.0);
        self.found.warnings.truncate(reported.1);
        if answers.contains(&Some(true)) {
            return Some(true);
        }
        answers.iter().all(|answer| *answer == Some(false)).then_some(false)
    }

    fn function(&mut self, name: &str, whole: &Expr, arguments: &[Expr], known: &Known) -> Inferred {
        let kinds: Vec<Type> = arguments.iter().map(|argument| self.infer(argument, known).kind).collect();
        match name {
            "decimal" => {
                if let ([argument], [kind]) = (arguments, kinds.as_slice()) {
                    self.found.errors.extend(wording::no_decimal(whole, argument, kind));
                }
                Inferred::of(Type::Decimal)
            }
            "lessThan" | "lessThanOrEqual" | "greaterThan" | "greaterThanOrEqual" => {
                for (argument, kind) in arguments.iter().zip(&kinds) {
                    self.expect(kind, &Type::Decimal, argument);
                }
                Inferred::of(Type::Bool(None))
            }
            _ => Inferred::of(Type::Unknown),
        }
    }

    fn attribute(&mut self, whole: &Expr, holder: &Expr, name: &str, known: &Known) -> Inferred {
        let record = match self.infer(holder, known).kind {
            Type::Record(record) => record,
            Type::Unknown | Type::Entity(_) => return Inferred::of(Type::Unknown),
            other @ (Type::Bool(_) | Type::Long | Type::Decimal | Type::Text(_) | Type::Set(_)) => {
                self.found.errors.push(wording::no_members(whole, holder, &other));
                return Inferred::of(Type::Unknown);
            }
        };
        let guarded = path_of(whole).is_some_and(|path| known.holds(&path));
        match record.members.get(name) {
            Some(member) => {
                if member.presence == Presence::Optional && !guarded {
                    self.found.warnings.push(wording::unguarded(whole, holder, name));
                }
                Inferred::of(member.kind.clone())
            }
            None => {
                if !record.open && !guarded {
                    self.found.errors.push(wording::absent(whole, holder, name));
                }
                Inferred::of(Type::Unknown)
            }
        }
    }

    fn has<'n>(&mut self, holder: &Expr, names: impl Iterator<Item = &'n str>, known: &Known) -> Inferred {
        let mut kind = self.infer(holder, known).kind;
        if !matches!(kind, Type::Entity(_)) {
            self.expect(&kind, &Type::Record(Record::default()), holder);
        }
        let mut path = path_of(holder);
        let mut paths = Vec::new();
        let mut always = true;
        for name in names {
            if let Some(path) = &mut path {
                path.push(name.to_owned());
                paths.push(path.clone());
            }
            let guarded = path.as_ref().is_some_and(|path| known.holds(path));
            let (below, there) = match kind {
                Type::Record(record) => match record.members.get(name) {
                    Some(member) => (member.kind.clone(), member.presence == Presence::Always),
                    None if record.open => (Type::Unknown, false),
                    None => return Inferred::of(Type::Bool(Some(false))),
                },
                Type::Unknown | Type::Bool(_) | Type::Long | Type::Decimal => (Type::Unknown, false),
                Type::Text(_) | Type::Entity(_) | Type::Set(_) => (Type::Unknown, false),
            };
            always &= there || guarded;
            kind = below;
        }
        Inferred::condition(always.then_some(true), Known::these(paths), Known::nothing())
    }

    fn operand(&mut self, operand: &Expr, wanted: &Type, known: &Known) {
        let kind = self.infer(operand, known).kind;
        self.expect(&kind, wanted, operand);
    }

    fn expect_bool(&mut self, inferred: &Inferred, expression: &Expr) {
        self.expect(&inferred.kind, &Type::Bool(None), expression);
    }

    fn expect(&mut self, kind: &Type, wanted: &Type, expression: &Expr) {
        if kind.differs(wanted) {
            self.found.errors.push(wording::mismatch(expression, kind, wanted));
        }
    }

    fn expect_long(&mut self, kind: &Type, expression: &Expr, whole: &Expr) {
        if kind.differs(&Type::Long) {
            self.found.errors.push(wording::no_arithmetic(whole, expression, kind));
        }
    }

    /// Values of two kinds are never equal: that errs silently, by never (or always) forbidding.
    fn expect_alike(&mut self, whole: &Expr, left: (&Expr, &Type), right: (&Expr, &Type)) {
        if left.1.differs(right.1) {
            self.found.errors.push(wording::never_equal(whole, left, right));
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Bool(value) => Type::Bool(Some(*value)),
        Literal::Long(_) => Type::Long,
        Literal::String(text) => Type::Text(Some(text.to_string())),
        Literal::EntityUID(entity) => Type::Entity(Some(entity.to_string())),
    }
}

/// Whether two values that are always the same are equal.
fn same(left: &Type, right: &Type) -> Option<bool> {
    match (left, right) {
        (Type::Text(Some(left)), Type::Text(Some(right))) | (Type::Entity(Some(left)), Type::Entity(Some(right))) => {
            Some(left == right)
        }
        (Type::Bool(Some(left)), Type::Bool(Some(right))) => Some(left == right),
        _ => None,
    }
}

/// `context.params.note` as `[params, note]`.
fn path_of(expression: &Expr) -> Option<Path> {
    if let ExprKind::Var(Var::Context) = expression.expr_kind() {
        return Some(Path::new());
    }
    let ExprKind::GetAttr { expr, attr } = expression.expr_kind() else { return None };
    let mut path = path_of(expr)?;
    path.push(attr.to_string());
    Some(path)
}
