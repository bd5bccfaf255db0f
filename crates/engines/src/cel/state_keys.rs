//! The keys of state that an expression names, found in its text without parsing it: a process that judges one call has to
//! know the keys of every action beforehand and evaluates the expressions of one.

use kernel::template::Template;
use std::collections::BTreeSet;

/// The keys, or nothing where the text is not plain enough to say so by reading it from left to right.
pub(crate) fn named(text: &str) -> Option<BTreeSet<Template>> {
    if !text.contains("state") {
        return Some(BTreeSet::new());
    }
    // Escapes, comments and long quotes are for the parser.
    if text.contains('\\') || ["//", "\"\"\"", "'''"].iter().any(|other| text.contains(other)) {
        return None;
    }
    let (mut keys, mut rest, mut before) = (BTreeSet::new(), text, ' ');
    while let Some(letter) = rest.chars().next() {
        if matches!(letter, '"' | '\'') {
            // A letter before a quote says how to read it.
            let (_, after) = quoted(rest).filter(|_| !is_word(before))?;
            (rest, before) = (after, letter);
        } else if is_word(letter) {
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let (word, after) = rest.split_at_checked(end)?;
            if word == "state" && before != '.' {
                keys.insert(Template::parse(key(after)?).ok()?);
            }
            (rest, before) = (after, letter);
        } else {
            before = if letter.is_whitespace() { before } else { letter };
            rest = rest.get(letter.len_utf8()..)?;
        }
    }
    Some(keys)
}

/// What stands right behind `state`: `.key` or `["key"]`.
fn key(after: &str) -> Option<&str> {
    if let Some(member) = after.strip_prefix('.') {
        let end = member.find(|letter| !is_word(letter)).unwrap_or(member.len());
        return member.get(..end).filter(|key| !key.is_empty());
    }
    let (key, after) = quoted(after.strip_prefix('[')?)?;
    after.starts_with(']').then_some(key)
}

/// The text in the quotes that this begins with, and what follows them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    text.get(1..)?.split_once(quote)
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel;
    use kernel::evaluator::ExpressionEvaluator as _;

    fn check(text: &str, expected: Option<&[&str]>) {
        let named = named(text);
        let words = named.as_ref().map(|keys| keys.iter().map(Template::as_str).collect::<Vec<_>>());
        assert_eq!(words.as_deref(), expected, "{text}");
        if let (Some(named), Ok(compiled)) = (named, cel::compile(text)) {
            assert_eq!(named, compiled.reads().state, "{text}");
        }
    }

    #[test]
    fn what_is_named_is_what_is_read() {
        check("params.amount <= 5", Some(&[]));
        check("has(state.break_glass) && params.at < state.break_glass", Some(&["break_glass"]));
        check("state['a/{order}'] > 1 || state.b.c == 2", Some(&["a/{order}", "b"]));
        check("state[\"a\"] > state.b", Some(&["a", "b"]));
        check("params.state == 'state.a' && params.text != \"state.b\"", Some(&[]));
        check("params . state == 1", Some(&[]));
        check("params.statement == 1 && params.my_state == 2", Some(&[]));
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_parser() {
        check("state [ 'a' ] > 1", None);
        check("state .a > 1", None);
        check("size(state) > 1", None);
        check("state['a' + 'b'] > 1", None);
        check("state['a\\'b'] > 1", None);
        check("r'a' == params.state", None);
        check("params.list.exists(state, state.a)", None);
        check("params.a > 1 // state.b", None);
        check("'open state", None);
    }

    #[test]
    fn the_templates_are_plain() {
        for template in contract::TEMPLATES {
            let contract = crate::load::load(template.text).unwrap().compiled.contract;
            for action in contract.actions.values() {
                let rules = action.refuse.iter().chain(action.ask.rules()).map(|rule| &rule.when);
                for text in rules.chain(&action.allow) {
                    assert_eq!(named(text), Some(cel::compile(text).unwrap().reads().state.clone()), "{text}");
                }
            }
        }
    }
}
