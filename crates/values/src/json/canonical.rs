//! RFC 8785 (JCS): one text per value.

use super::{Json, Object};
use crate::decimal::Decimal;
use std::fmt::Write;

/// Any decimal with at most this many significant digits survives the way through a double and back.
const DIGITS_ALWAYS_EXACT: u32 = 15;

/// Whether the canonical (ECMAScript) text of the number denotes exactly the number.
pub fn is_exact(value: Decimal) -> bool {
    let digits = value.mantissa().unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
    if digits <= DIGITS_ALWAYS_EXACT {
        return true;
    }
    let Ok(double) = value.to_string().parse::<f64>() else { return false };
    let mut buffer = ryu_js::Buffer::new();
    decimal_of_ecmascript(buffer.format(double)) == Some(value)
}

pub(super) fn write(value: &Json, text: &mut String) {
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) => write_number(*number, text),
        Json::Text(string) => write_text(string, text),
        Json::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Json::Object(members) => write_object(members, text),
    }
}

/// Appends the canonical text of an object.
pub fn write_object(members: &Object, text: &mut String) {
    text.push('{');
    if members.keys().all(|key| key.is_ascii()) {
        write_members(members.iter(), text);
    } else {
        // RFC 8785 orders by UTF-16 units, which differs from UTF-8 order above the basic plane.
        let mut ordered: Vec<_> = members.iter().collect();
        ordered.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
        write_members(ordered.into_iter(), text);
    }
    text.push('}');
}

fn write_members<'a>(members: impl Iterator<Item = (&'a String, &'a Json)>, text: &mut String) {
    for (index, (key, value)) in members.enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_text(key, text);
        text.push(':');
        write(value, text);
    }
}

fn write_number(number: Decimal, text: &mut String) {
    // Between 1e-6 and 1e21 ECMAScript prints plain digits, and the shortest digits of an exact number are its own.
    let plain = number.is_integer() || number.fraction_digits() <= 6;
    if plain && number.mantissa().unsigned_abs() < 10_u128.pow(21) {
        number.write(text);
        return;
    }
    match number.to_string().parse::<f64>() {
        Ok(double) => text.push_str(ryu_js::Buffer::new().format(double)),
        Err(_) => number.write(text),
    }
}

fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

pub(super) fn write_text(string: &str, text: &mut String) {
    text.push('"');
    // Nearly all text is plain; looking at a whole chunk without a way out lets the compiler use wide registers.
    if string.as_bytes().chunks(32).all(|chunk| chunk.iter().fold(true, |plain, byte| plain & is_plain(*byte))) {
        text.push_str(string);
        text.push('"');
        return;
    }
    write_escaped(string, text);
    text.push('"');
}

fn write_escaped(string: &str, text: &mut String) {
    let mut clean_from = 0;
    for (position, byte) in string.bytes().enumerate() {
        if is_plain(byte) {
            continue;
        }
        text.push_str(string.get(clean_from..position).unwrap_or_default());
        clean_from = position + 1;
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            0x08 => text.push_str("\\b"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            0x0C => text.push_str("\\f"),
            b'\r' => text.push_str("\\r"),
            _ => {
                let _ = write!(text, "\\u{byte:04x}");
            }
        }
    }
    text.push_str(string.get(clean_from..).unwrap_or_default());
}

fn decimal_of_ecmascript(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.trim_start_matches('+').parse().ok()?),
        None => (text, 0_i64),
    };
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits_only(whole) || !digits_only(fraction) {
        return None;
    }
    Decimal::from_parts(mantissa.starts_with('-'), whole, fraction, exponent)
}
