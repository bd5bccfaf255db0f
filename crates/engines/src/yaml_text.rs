//! A value as YAML a person can read. Reading it again yields the same value.

use crate::yaml;
use values::json::Json;

/// Keys of contracts in the order people expect; all others follow in their own order.
const FIRST: [&str; 14] = [
    "writkeeper",
    "id",
    "version",
    "agent",
    "role",
    "mission",
    "mode",
    "parent",
    "priority",
    "name",
    "kind",
    "proposal",
    "type",
    "required",
];

/// Writes a value in block style.
pub fn write(value: &Json) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Json, indent: usize, text: &mut String) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            let mut ordered: Vec<(&String, &Json)> = members.iter().collect();
            ordered.sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
            for (key, member) in ordered {
                pad(indent, text);
                text.push_str(&scalar_text(key));
                text.push(':');
                nested(member, indent, text);
            }
        }
        Json::List(items) if !items.is_empty() => {
            for item in items {
                pad(indent, text);
                text.push('-');
                nested(item, indent, text);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
            pad(indent, text);
            text.push_str(&inline(value));
            text.push('\n');
        }
    }
}

fn nested(value: &Json, indent: usize, text: &mut String) {
    let short = inline(value);
    let flat = is_flat(value) && short.len() + indent <= 100;
    match value {
        Json::Object(members) if !members.is_empty() && !flat => {
            text.push('\n');
            block(value, indent + 2, text);
        }
        Json::List(items) if !items.is_empty() && !flat => {
            text.push('\n');
            block(value, indent + 2, text);
        }
        Json::Text(lines) if is_literal_block(lines) => {
            text.push_str(" |\n");
            for line in lines.lines() {
                pad(indent + 2, text);
                text.push_str(line);
                text.push('\n');
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
            text.push(' ');
            text.push_str(&short);
            text.push('\n');
        }
    }
}

/// Text over several lines that a literal block keeps byte for byte.
fn is_literal_block(text: &str) -> bool {
    let printable =
        |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']) && !line.chars().any(is_unprintable);
    // Asked of the whole text: `lines` takes a `\r` before its line's end away, and so would a reader.
    !text.contains('\r')
        && text.ends_with('\n')
        && !text.ends_with("\n\n")
        && text.lines().count() > 1
        && text.lines().all(printable)
}

/// Characters that readers may drop, refuse or take for the end of a line.
fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

/// Containers of plain values fit on one line.
fn is_flat(value: &Json) -> bool {
    let plain = |item: &Json| !matches!(item, Json::List(_) | Json::Object(_));
    match value {
        Json::List(items) => items.iter().all(plain),
        Json::Object(members) => members.len() <= 4 && members.values().all(plain),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => true,
    }
}

fn inline(value: &Json) -> String {
    match value {
        Json::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(members) if members.is_empty() => "{}".to_owned(),
        Json::Object(members) => {
            let pairs: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", scalar_text(key), inline(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Json::Text(text) => scalar_text(text),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_canonical(),
    }
}

/// Plain where that reads back as the same text, else in double quotes as JSON.
fn scalar_text(text: &str) -> String {
    let unremarkable = |character: char| character.is_ascii_alphanumeric() || "_-./ ".contains(character);
    let plain = !text.is_empty() && text.trim() == text && text.chars().all(unremarkable) && !text.starts_with('-');
    let same = || yaml::parse(text).is_ok_and(|node| node.to_json() == Json::text(text));
    if plain && same() { text.to_owned() } else { quoted(text) }
}

/// JSON's form, with escapes also for what JSON may hold as it is and YAML may not.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for character in Json::text(text).to_canonical().chars() {
        if is_unprintable(character) {
            quoted.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            quoted.push(character);
        }
    }
    quoted
}

fn pad(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use values::decimal::Decimal;

    fn values() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i32>().prop_map(|number| Json::Number(Decimal::from(number))),
            "[ -~\\n\\r\\té\\x7f\\u{85}\\u{a0}\\u{2028}\\u{2029}\\u{feff}😀]{0,12}".prop_map(Json::Text),
            prop::sample::select(vec!["true", "null", "1.5", "1e3", "0x10", "~", "a: b", "- a", "#x", "*x", "&x"])
                .prop_map(Json::text),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Json::List),
                prop::collection::btree_map("[a-z #:\\-\\r\\x7f\\u{85}\\u{2028}]{1,6}", inner, 0..5)
                    .prop_map(Json::Object),
            ]
        })
    }

    #[test]
    fn line_ends_and_unprintable_text_read_back() {
        for text in [
            "a\r\nb\r\n",
            "a\nb\r\n",
            "a\rb\nc\n",
            "a\u{7f}\nb\n",
            "a\u{85}\nb\n",
            "a\u{2028}\nb\n",
            "\u{2028}\u{85}\u{7f}\r",
            "\u{feff}a",
            "a\u{1}b",
            "😀\nb\n",
        ] {
            for value in
                [Json::text(text), Json::object([("key", Json::text(text))]), Json::object([(text, Json::Null)])]
            {
                let written = write(&value);
                assert_eq!(yaml::parse(&written).map(|node| node.to_json()), Ok(value), "{written:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in values()) {
            let text = write(&value);
            let node = yaml::parse(&text).map_err(|diagnostic| TestCaseError::fail(format!("{diagnostic}\n{text}")))?;
            prop_assert_eq!(node.to_json(), value, "{}", text);
        }
    }
}
