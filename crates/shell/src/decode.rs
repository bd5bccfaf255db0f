//! Decoders for texts that hide other texts.

/// Base64, both alphabets, padding optional, white space ignored.
pub fn base64(text: &str) -> Option<String> {
    let mut bits = 0u32;
    let mut count = 0u32;
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0x00FF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xFF).unwrap_or(0));
        }
    }
    Some(cleaned(&out))
}

/// Base32.
pub fn base32(text: &str) -> Option<String> {
    let (mut bits, mut count) = (0u32, 0u32);
    let mut out = Vec::new();
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a',
            b'2'..=b'7' => byte - b'2' + 26,
            b'=' => break,
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0x000F_FFFF;
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xFF).unwrap_or(0));
        }
    }
    Some(cleaned(&out))
}

/// Pairs of hexadecimal digits; separators, `0x` and `\x` are ignored.
pub fn hex(text: &str) -> Option<String> {
    let digits: String = text
        .replace("\\x", "")
        .replace("0x", "")
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, ':' | ',' | '-'))
        .collect();
    let bytes = digits.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 2);
    for pair in bytes.chunks(2) {
        let pair = std::str::from_utf8(pair).ok()?;
        if pair.len() < 2 {
            break;
        }
        out.push(u8::from_str_radix(pair, 16).ok()?);
    }
    Some(cleaned(&out))
}

/// Letters moved by thirteen.
pub fn rot13(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='m' | 'A'..='M' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
            'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
            other => other,
        })
        .collect()
}

fn cleaned(bytes: &[u8]) -> String {
    crate::mark::cleaned(&String::from_utf8_lossy(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn decoders() {
        assert_eq!(super::base64("cm0gLXJmIC8=").as_deref(), Some("rm -rf /"));
        assert_eq!(super::base64("cm0gLXJmIC8").as_deref(), Some("rm -rf /"));
        assert_eq!(super::base64("!"), None);
        assert_eq!(super::base32("OJWSALLSMYQC6===").as_deref(), Some("rm -rf /"));
        assert_eq!(super::hex("726d202d7266202f").as_deref(), Some("rm -rf /"));
        assert_eq!(super::rot13("ez -es /"), "rm -rf /");
    }
}
