//! YAML that any reader understands the same way: plain keys where they are harmless, JSON for everything else.

use values::json::Json;

/// Longest comment taken over from a description.
const COMMENT_CHARS_MAX: usize = 100;

/// A key, in quotes unless it is a plain word.
pub(crate) fn key(text: &str) -> String {
    const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if starts_well && is_plain && !WORDS.contains(&text.to_lowercase().as_str()) {
        return text.to_owned();
    }
    quoted(text)
}

/// A value on one line: JSON with blanks.
pub(crate) fn flow(value: &Json) -> String {
    match value {
        Json::Text(text) => quoted(text),
        Json::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Json::Object(members) if members.is_empty() => "{}".to_owned(),
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", quoted(key), flow(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        scalar @ (Json::Null | Json::Bool(_) | Json::Number(_)) => scalar.to_canonical(),
    }
}

/// Text as the rest of a line: no break can end the comment early.
pub(crate) fn comment(text: &str) -> String {
    let one_line: String = text.chars().map(|next| if ends_line(next) { ' ' } else { next }).collect();
    let words: Vec<&str> = one_line.split_whitespace().collect();
    let joined = words.join(" ");
    if joined.chars().count() <= COMMENT_CHARS_MAX {
        return joined;
    }
    let start: String = joined.chars().take(COMMENT_CHARS_MAX).collect();
    format!("{start}…")
}

/// JSON escapes what must be escaped; what some readers of YAML take for a line break or a mark is escaped too.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for character in Json::text(text).to_canonical().chars() {
        if ends_line(character) {
            quoted.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            quoted.push(character);
        }
    }
    quoted
}

fn ends_line(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_comments_cannot_break_out() {
        assert_eq!(key("send_money"), "send_money");
        assert_eq!(key("yes"), "\"yes\"");
        assert_eq!(key("a: b"), "\"a: b\"");
        assert_eq!(key("1"), "\"1\"");
        assert_eq!(comment("a\n  b:\u{2028}c"), "a b: c");
        assert_eq!(quoted("a\u{2028}\u{85}\""), "\"a\\u2028\\u0085\\\"\"");
    }
}
