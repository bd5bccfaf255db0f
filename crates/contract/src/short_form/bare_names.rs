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
    while let Some((first, token, behind)) = next_token(rest) {
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

/// The expression as the short form writes it: without `params.` before names of params.
pub(crate) fn shorten(expression: &str) -> String {
    let mut short = String::with_capacity(expression.len());
    let mut rest = expression;
    let mut behind_dot = false;
    while let Some((first, token, behind)) = next_token(rest) {
        let param = behind.strip_prefix('.').filter(|_| token == "params" && !behind_dot);
        if let Some(param) = param.filter(|param| is_bare(param)) {
            rest = param;
            continue;
        }
        short.push_str(token);
        if !first.is_whitespace() {
            behind_dot = first == '.';
        }
        rest = behind;
    }
    short
}

/// Whether the text begins with a name that needs no `params.` before it.
fn is_bare(text: &str) -> bool {
    let Some((first, name, behind)) = next_token(text) else { return false };
    starts_name(first) && !RESERVED.contains(&name) && !behind.trim_start().starts_with('(')
}

/// The first character, the token it begins, and the rest.
fn next_token(text: &str) -> Option<(char, &str, &str)> {
    let first = text.chars().next()?;
    let length = match first {
        '"' | '\'' => quoted_length(text, first),
        _ if starts_name(first) => text.find(|next| !continues_name(next)).unwrap_or(text.len()),
        // The letters of `1e3` and `0x1F` are no names.
        _ if first.is_ascii_digit() => text.find(|next| !continues_name(next)).unwrap_or(text.len()),
        _ => first.len_utf8(),
    };
    let (token, behind) = text.split_at_checked(length).unwrap_or((text, ""));
    Some((first, token, behind))
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
    fn names_are_shown_bare() {
        let check = |expression: &str, expected: &str| assert_eq!(shorten(expression), expected);
        check("params.amount <= 25", "amount <= 25");
        check("params.iban.size() > 2 && size(params.iban) > 1", "iban.size() > 2 && size(iban) > 1");
        check("state.params.amount == params.amount", "state.params.amount == amount");
        check(
            "params.size() > 1 && params['odd name'] == params.state",
            "params.size() > 1 && params['odd name'] == params.state",
        );
        check("'params.amount' == params.iban", "'params.amount' == iban");
        check("has(params.iban) || params . amount > 1", "has(iban) || params . amount > 1");
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
