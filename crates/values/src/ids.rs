//! Names and digests. Every identifier that reaches a key or a record went through one of these parsers.

use crate::bugs::{self, Bug};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Longest identifier a caller may choose.
pub const IDENTIFIER_BYTES_MAX: usize = 128;

/// The tenant of everything until someone names another.
pub const TENANT_DEFAULT: &str = "default";

/// A full SHA-256 digest, printed as lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// SHA-256 of the bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// SHA-256 over parts, each preceded by its length: no two lists of parts collide.
    pub fn of_parts(parts: &[&[u8]]) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// From the raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// Reads what is printed: 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Digest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        let mut bytes = [0_u8; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Digest(bytes))
    }

    /// The raw bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 16 bytes in the form of a UUID (version 8, custom).
    pub fn to_uuid_text(self) -> String {
        let mut bytes = [0_u8; 16];
        for (target, source) in bytes.iter_mut().zip(self.0) {
            *target = source;
        }
        if let Some(byte) = bytes.get_mut(6) {
            *byte = (*byte & 0x0F) | 0x80;
        }
        if let Some(byte) = bytes.get_mut(8) {
            *byte = (*byte & 0x3F) | 0x80;
        }
        let mut text = String::with_capacity(36);
        for (index, byte) in bytes.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            push_hex(*byte, &mut text);
        }
        text
    }
}

impl Digest {
    /// What is printed, in memory the caller provides: digests are printed for every record.
    pub fn hex<'a>(&self, digits: &'a mut [u8; 64]) -> &'a str {
        let (pairs, _) = digits.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [hex_digit(byte >> 4), hex_digit(byte & 0x0F)];
        }
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

fn hex_digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + (nibble - 10),
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0_u8; 64];
        formatter.write_str(self.hex(&mut digits))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

fn push_hex(byte: u8, text: &mut String) {
    for nibble in [byte >> 4, byte & 0x0F] {
        text.push(char::from(hex_digit(nibble)));
    }
}

/// What is wrong with text that should be an identifier; `None` if nothing is.
///
/// Control, bidirectional and zero-width characters are refused because they make two names look the same.
pub fn identifier_problem(text: &str) -> Option<&'static str> {
    if text.len() > IDENTIFIER_BYTES_MAX {
        return Some("is longer than 128 bytes");
    }
    naming_problem(text)
}

/// What is wrong with text that names something and may be longer than an identifier.
pub fn naming_problem(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("is empty");
    }
    if text.chars().any(is_deceptive) {
        return Some("contains control, bidirectional or zero-width characters");
    }
    if text.trim() != text {
        return Some("starts or ends with a blank");
    }
    None
}

/// Whether two names may be one person's: blanks around them and the case of letters do not count.
///
/// The case fold is the simple one: each character to upper case and from there to lower case, so that `K` (Kelvin) is
/// `k` and `ß` is `ss`. Letters of two alphabets that look alike stay two letters.
pub fn is_same_person(one: &str, other: &str) -> bool {
    if bugs::on(Bug::W15NamesUnfolded) {
        return one == other;
    }
    folded(one) == folded(other)
}

/// A person's name as it is compared.
pub fn folded(name: &str) -> String {
    name.trim().chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Whether a character is invisible, moves the cursor, or turns the direction of text.
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{0300}'..='\u{036F}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether text is a reason code a contract may define: `RISK_TOO_HIGH`.
pub fn is_reason_code(text: &str) -> bool {
    let first_is_letter = text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    let all_fit = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    first_is_letter && all_fit && (3..=64).contains(&text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cannot_be_shifted_into_each_other() {
        assert_ne!(Digest::of_parts(&[b"a:b", b"c"]), Digest::of_parts(&[b"a", b"b:c"]));
        assert_ne!(Digest::of_parts(&[b"ab", b""]), Digest::of_parts(&[b"a", b"b"]));
    }

    #[test]
    fn a_person_is_known_by_any_spelling_of_the_name() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(is_same_person(one, other), expected, "{one:?} {other:?}");
            assert_eq!(is_same_person(other, one), expected, "{other:?} {one:?}");
        };
        check("ann", "ann", true);
        check("ann", "ANN", true);
        check("refund-bot", "Refund-Bot", true);
        check("refund-bot", " refund-bot\t", true);
        check("\u{212A}im", "kim", true);
        check("Stra\u{df}e", "STRASSE", true);
        check("\u{17F}am", "sam", true);
        check("ann", "anna", false);
        check("ann", "\u{430}nn", false);
    }

    #[test]
    fn deceptive_identifiers_are_refused() {
        assert_eq!(identifier_problem("refund-bot"), None);
        assert_eq!(identifier_problem("é"), None);
        for text in ["", " a", "a\u{200B}b", "a\u{202E}b", "a\nb", "e\u{0301}"] {
            assert!(identifier_problem(text).is_some(), "{text:?}");
        }
        assert!(identifier_problem(&"x".repeat(129)).is_some());
    }
}
