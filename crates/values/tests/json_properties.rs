//! What must hold for every value and for any bytes at the strict door.

#[path = "oracle/door.rs"]
mod door;

use proptest::prelude::*;
use values::decimal::Decimal;
use values::json::Json;

/// A character a JSON string may hold, with the troublesome ones likely.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => proptest::char::range('a', 'f'),
        2 => proptest::char::range('\u{1}', '\u{2f}'),
        1 => prop::sample::select(vec!['"', '\\', '/', '\u{7f}', '\u{80}', 'é', '\u{fb33}', '\u{ffff}', '😂', '\u{10ffff}']),
        1 => any::<char>().prop_filter("U+0000 is refused", |character| *character != '\0'),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(character(), 0..8).prop_map(|characters| characters.into_iter().collect())
}

fn number() -> impl Strategy<Value = Decimal> {
    let digits = prop_oneof![any::<i64>(), -1000..1000_i64, -9_007_199_254_740_999..9_007_199_254_740_999_i64];
    (digits, -28..=12_i64).prop_filter_map("beyond 28 digits", |(digits, power)| {
        Decimal::from_parts(digits < 0, &digits.unsigned_abs().to_string(), "", power)
    })
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number().prop_map(Json::from_decimal),
        text().prop_map(Json::Text),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::List),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(Json::Object),
        ]
    })
}

/// Writes the value with blanks and escapes that the canonical text would not have.
fn write_freely(value: &Json, choices: &mut impl Iterator<Item = u8>, text: &mut String) {
    let mut choose = |modulus: u8| choices.next().map_or(0, |choice| choice % modulus);
    match value {
        Json::Null | Json::Bool(_) => value.write_canonical(text),
        Json::Number(number) if choose(2) == 0 => text.push_str(&number.to_string()),
        Json::Number(_) => value.write_canonical(text),
        Json::Text(string) => write_text_freely(string, choices, text),
        Json::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { " ,\n" } else { "\t" });
                write_freely(item, choices, text);
            }
            text.push_str("\r\n]");
        }
        Json::Object(members) => {
            text.push('{');
            for (index, (key, member)) in members.iter().rev().enumerate() {
                text.push_str(if index > 0 { ", " } else { " " });
                write_text_freely(key, choices, text);
                text.push_str(" : ");
                write_freely(member, choices, text);
            }
            text.push_str(" }");
        }
    }
}

fn write_text_freely(string: &str, choices: &mut impl Iterator<Item = u8>, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        let plain = character >= ' ' && character != '"' && character != '\\';
        if plain && choices.next().is_none_or(|choice| choice % 2 == 0) {
            text.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04X}"));
            }
        }
    }
    text.push('"');
}

/// One small damage to a document: replaces, inserts, removes or repeats.
fn damage(document: &mut Vec<u8>, (kind, place, byte): (u8, prop::sample::Index, u8)) {
    let place = place.index(document.len() + 1);
    match kind % 4 {
        0 => document.insert(place, byte),
        1 if place < document.len() => drop(document.remove(place)),
        2 if place < document.len() => document.splice(place..=place, [byte]).for_each(drop),
        3 => document.extend_from_within(place..),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_text_is_a_fixed_point(value in value()) {
        let canonical = value.to_canonical();
        let again = Json::parse(canonical.as_bytes());
        prop_assert_eq!(again.as_ref(), Ok(&value), "{}", canonical);
        prop_assert_eq!(again.map(|again| again.to_canonical()), Ok(canonical));
    }

    #[test]
    fn spelling_does_not_matter(value in value(), choices in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut document = String::new();
        write_freely(&value, &mut choices.into_iter(), &mut document);
        prop_assert_eq!(Json::parse(document.as_bytes()), Ok(value), "{}", document);
    }

    #[test]
    fn a_second_implementation_agrees(value in value(), choices in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut document = String::new();
        write_freely(&value, &mut choices.into_iter(), &mut document);
        prop_assert_eq!(door::objection(document.as_bytes()), None, "{}", document);
    }

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(door::objection(&bytes), None);
    }

    #[test]
    fn random_words_of_json_are_answered(words in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"", "\\u0061", "\\ud83d", "\\ude02", "\\", "0", "1", "-", ".",
        "e", "E", "+", "9007199254740993", "true", "fals", "null", " ", "\n", "\u{feff}", "é", "\u{0}",
    ]), 0..24)) {
        prop_assert_eq!(door::objection(words.concat().as_bytes()), None);
    }

    #[test]
    fn random_numbers_are_answered(number in "-?[0-9]{1,24}(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,4})?") {
        prop_assert_eq!(door::objection(number.as_bytes()), None, "{}", number);
    }

    #[test]
    fn damaged_documents_are_answered(
        value in value(),
        damages in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut document = value.to_canonical().into_bytes();
        damages.into_iter().for_each(|one| damage(&mut document, one));
        prop_assert_eq!(door::objection(&document), None, "{}", String::from_utf8_lossy(&document));
    }
}
