//! `amount <= 25` means `params.amount <= 25`: a small tokenizer that knows where a name stands for a param.

use std::collections::BTreeSet;

/// Names expressions give a meaning of their own; a param of the short form cannot have one of them.
pub(crate) const RESERVED: &[&str] =
    &["params", "state", "agent", "action", "confidence", "true", "false", "null", "in"];

/// The expression with `params.` before every bare name of a param.
///
/// Names inside quotes, behind a dot and before a parenthesis are left alone.
pub(super) fn qualify(expression: &str, names: &BTreeSet<String>) -> String {
    let mut qualified = String::with_capacity(expression.len() + 16);
    let mut rest = expression;
    let mut behind_dot = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => quoted_length(rest, first),
            _ if starts_name(first) => rest.find(|next| !continues_name(next)).unwrap_or(rest.len()),
            // The letters of `1e3` and `0x1F` are no names.
            _ if first.is_ascii_digit() => rest.find(|next| !continues_name(next)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let called = behind.trim_start().starts_with('(');
        if starts_name(first) && !behind_dot && !called && names.contains(token) && !opens_text(token, behind) {
            qualified.push_str("params.");
        }
        qualified.push_str(token);
        if !first.is_whitespace() {
            behind_dot = first == '.';
        }
        rest = behind;
    }
    qualified
}

fn starts_name(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

fn continues_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// `r"…"` and `b"…"` are text, whatever a param is called.
fn opens_text(token: &str, behind: &str) -> bool {
    matches!(token, "r" | "R" | "b" | "B" | "rb" | "br") && behind.starts_with(['"', '\''])
}

fn quoted_length(text: &str, quote: char) -> usize {
    let triple: String = [quote; 3].iter().collect();
    if text.starts_with(&triple) {
        return closing(text, 3, &triple);
    }
    closing(text, 1, &quote.to_string())
}

/// Bytes up to and with the closing quotes; the whole rest if there are none, which the compiler then refuses.
fn closing(text: &str, opened: usize, quotes: &str) -> usize {
    let mut position = opened;
    while let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(quotes) {
            return position + quotes.len();
        }
        let mut characters = rest.chars();
        position += characters.next().map_or(0, char::len_utf8);
        if rest.starts_with('\\') {
            position += characters.next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: &str) {
        let names = ["amount", "iban", "r", "size"].map(str::to_owned).into();
        assert_eq!(qualify(expression, &names), expected);
        assert_eq!(qualify(expected, &names), expected, "qualifying twice changes nothing");
    }

    #[test]
    fn bare_names_of_params_are_qualified() {
        check("amount <= 25", "params.amount <= 25");
        check("amount<=25&&iban!=''", "params.amount<=25&&params.iban!=''");
        check("[amount, -amount]", "[params.amount, -params.amount]");
        check("iban.size() > 2", "params.iban.size() > 2");
        check("amount == 1e3", "params.amount == 1e3");
    }

    #[test]
    fn everything_else_is_left_alone() {
        check("params.amount > 1", "params.amount > 1");
        check("state.amount > amount", "state.amount > params.amount");
        check("state . amount", "state . amount");
        check("size(amount) > 2", "size(params.amount) > 2");
        check("'amount \\' amount' == \"amount\"", "'amount \\' amount' == \"amount\"");
        check("'''amount ' amount''' == iban", "'''amount ' amount''' == params.iban");
        check("r'amount' == iban", "r'amount' == params.iban");
        check("amounts + my_amount + amount2", "amounts + my_amount + amount2");
        check("'open amount", "'open amount");
        check("'é' == iban", "'é' == params.iban");
    }
}
