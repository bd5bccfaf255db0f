//! The one kind of expression whose meaning can be read off its text: a param compared with a number.

use values::decimal::Decimal;

/// `params.PARAM OPERATOR NUMBER`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison<'a> {
    pub param: &'a str,
    pub operator: Operator,
    pub number: Decimal,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    fn from_text(text: &str) -> Option<Operator> {
        match text {
            "<" => Some(Operator::Less),
            "<=" => Some(Operator::LessOrEqual),
            ">" => Some(Operator::Greater),
            ">=" => Some(Operator::GreaterOrEqual),
            _ => None,
        }
    }

    /// Whether larger values hold.
    pub fn points_up(self) -> bool {
        match self {
            Operator::Greater | Operator::GreaterOrEqual => true,
            Operator::Less | Operator::LessOrEqual => false,
        }
    }

    /// Whether the number itself does not hold.
    fn is_strict(self) -> bool {
        match self {
            Operator::Less | Operator::Greater => true,
            Operator::LessOrEqual | Operator::GreaterOrEqual => false,
        }
    }
}

impl Comparison<'_> {
    /// Reads the text; `None` for every other expression.
    pub fn parse(text: &str) -> Option<Comparison<'_>> {
        let rest = text.trim().strip_prefix("params.")?;
        let name_end = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_')?;
        let (param, rest) = rest.split_at_checked(name_end)?;
        let rest = rest.trim_start();
        let operator_end = rest.find(|next| !matches!(next, '<' | '>' | '='))?;
        let (operator, number) = rest.split_at_checked(operator_end)?;
        Some(Comparison { param, operator: Operator::from_text(operator)?, number: Decimal::parse(number.trim())? })
    }

    /// The comparisons that an expression joins with `&&`; none where anything else could change what they mean. Parts
    /// that are no comparison are left out.
    pub fn joined(text: &str) -> Vec<Comparison<'_>> {
        let is_plain = !text.contains("||") && !text.contains(['(', '[', '{', '"', '\'', '?', '!']);
        let parts = text.split("&&").filter(|_| is_plain);
        parts.filter_map(Comparison::parse).collect()
    }

    /// Whether no value makes both true.
    pub fn excludes(&self, other: &Comparison<'_>) -> bool {
        let only = Some(other.number);
        let apart =
            if other.operator.points_up() { self.never_within(only, None) } else { self.never_within(None, only) };
        let touch = self.number == other.number && other.operator.is_strict();
        self.param == other.param && self.operator.points_up() != other.operator.points_up() && (apart || touch)
    }

    /// Whether everything that makes `other` true makes this true.
    pub fn covers(&self, other: &Comparison<'_>) -> bool {
        if self.param != other.param || self.operator.points_up() != other.operator.points_up() {
            return false;
        }
        if self.number == other.number {
            return !self.operator.is_strict() || other.operator.is_strict();
        }
        (self.number < other.number) == self.operator.points_up()
    }

    /// Whether no value between the bounds makes it true.
    pub fn never_within(&self, min: Option<Decimal>, max: Option<Decimal>) -> bool {
        let beyond = |bound: Decimal| {
            if self.operator.is_strict() && bound == self.number {
                return true;
            }
            if self.operator.points_up() { bound < self.number } else { bound > self.number }
        };
        if self.operator.points_up() { max.is_some_and(beyond) } else { min.is_some_and(beyond) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_comparisons_are_understood() {
        let check = |text: &str, understood: bool| assert_eq!(Comparison::parse(text).is_some(), understood, "{text}");
        check("params.amount <= 25", true);
        check("params.a>-1.5", true);
        check("amount <= 25", false);
        check("params.a <= 25 || true", false);
        check("params.a == 25", false);
        check("params.a.b <= 25", false);
        check("params.a <= 1e3", false);
    }

    #[test]
    fn comparisons_that_contradict_each_other_are_found() {
        let check = |text: &str, expected: bool| {
            let joined = Comparison::joined(text);
            let found = joined.iter().any(|one| joined.iter().any(|other| one.excludes(other)));
            assert_eq!(found, expected, "{text}");
        };
        check("params.a <= 25 && params.a >= 30", true);
        check("params.a >= 30 && params.c == 'x' && params.a <= 25", false);
        check("params.a >= 30 && params.c == 1 && params.a <= 25", true);
        check("params.a <= 25 && params.a >= 25", false);
        check("params.a <= 25 && params.a > 25", true);
        check("params.a < 25 && params.a >= 25", true);
        check("params.a <= 25 && params.b >= 30", false);
        check("params.a <= 25 || params.a >= 30", false);
        check("!(params.a <= 25 && params.a >= 30)", false);
    }

    #[test]
    fn wider_comparisons_cover_narrower_ones() {
        let check = |wide: &str, narrow: &str, expected: bool| {
            let (wide, narrow) = (Comparison::parse(wide).unwrap(), Comparison::parse(narrow).unwrap());
            assert_eq!(wide.covers(&narrow), expected, "{wide:?} {narrow:?}");
        };
        check("params.a <= 50", "params.a <= 25", true);
        check("params.a <= 25", "params.a <= 50", false);
        check("params.a <= 25", "params.a < 25", true);
        check("params.a < 25", "params.a <= 25", false);
        check("params.a > 1", "params.a > 2", true);
        check("params.a > 1", "params.b > 2", false);
        check("params.a > 1", "params.a < 9", false);
    }
}
