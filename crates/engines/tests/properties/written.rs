//! The same JSON in other words: keys turned round, blanks, escapes, numbers with exponents.

use values::json::Json;

/// Other bytes that mean the same value; the seed chooses which.
pub fn otherwise(json: &Json, seed: u64) -> Vec<u8> {
    let mut text = String::new();
    write(json, &mut Choices(seed | 1), &mut text);
    text.into_bytes()
}

struct Choices(u64);

impl Choices {
    fn of(&mut self, ways: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % ways
    }
}

fn write(json: &Json, choices: &mut Choices, text: &mut String) {
    blank(choices, text);
    match json {
        Json::Null | Json::Bool(_) => text.push_str(&json.to_canonical()),
        Json::Number(_) => number(&json.to_canonical(), choices, text),
        Json::Text(value) => quoted(value, choices, text),
        Json::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write(item, choices, text);
            }
            text.push(']');
        }
        Json::Object(members) => {
            text.push('{');
            let turned = choices.of(2) == 0;
            let members: Vec<_> = if turned { members.iter().rev().collect() } else { members.iter().collect() };
            for (index, (key, value)) in members.into_iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                blank(choices, text);
                quoted(key, choices, text);
                blank(choices, text);
                text.push(':');
                write(value, choices, text);
            }
            text.push('}');
        }
    }
    blank(choices, text);
}

fn blank(choices: &mut Choices, text: &mut String) {
    text.push_str(["", "", " ", "\n", "\t", "\r\n "][choices.of(6) as usize]);
}

fn number(canonical: &str, choices: &mut Choices, text: &mut String) {
    text.push_str(canonical);
    let (plain, fraction) = (!canonical.contains(['e', 'E']), canonical.contains('.'));
    match choices.of(4) {
        0 if plain && fraction => text.push_str("00"),
        0 if plain => text.push_str(".0"),
        1 if plain => text.push_str("e0"),
        2 if plain => text.push_str("E+00"),
        _ => {}
    }
}

fn quoted(value: &str, choices: &mut Choices, text: &mut String) {
    text.push('"');
    for character in value.chars() {
        if choices.of(5) == 0 {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04X}"));
            }
        } else {
            let canonical = Json::text(character.to_string()).to_canonical();
            text.push_str(canonical.trim_start_matches('"').trim_end_matches('"'));
        }
    }
    text.push('"');
}
