//! Numbers and bytes as the text formats write them: one text for one value, anything else is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A decimal without sign, blanks or leading zeroes.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if digits_only && !padded { text.parse().ok() } else { None }
}

/// Standard base64 with padding.
pub(crate) fn to_base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Reads standard base64; missing padding and stray bits behind the last byte are refused.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Whether text holds a character below U+0020 other than a newline; notes must not.
pub(super) fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte < 0x20 && byte != b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_for_one_number() {
        for (text, expected) in [("0", Some(0)), ("10", Some(10)), ("18446744073709551615", Some(u64::MAX))] {
            assert_eq!(decimal(text), expected, "{text}");
        }
        for text in ["", "00", "01", "+1", "-1", " 1", "1 ", "1_0", "0x1", "18446744073709551616", "١"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn one_text_for_the_same_bytes() {
        assert_eq!(from_base64("AA=="), Some(vec![0]));
        for text in ["AA", "AA=", "AB==", "AA==\n", " AA==", "A A=", "AA==AA==", "_-8="] {
            assert_eq!(from_base64(text), None, "{text:?}");
        }
    }
}
