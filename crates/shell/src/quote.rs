//! Quotes, escapes and the ends of nested constructs, by plain scanning.

/// The end (exclusive) of a `$(…)` body that starts at `from`, just after the opening bracket.
///
/// `case` patterns have an unmatched bracket; they are recognised by their keyword.
pub fn end_of_command(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut i, mut depth, mut cases) = (from, 1usize, 0usize);
    let mut word_start = true;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => i = skip_single(bytes, i + 1)?,
            b'"' => i = skip_double(text, i + 1)?,
            b'`' => i = skip_backquote(bytes, i + 1)?,
            b'#' if word_start => i = skip_comment(bytes, i),
            b'(' => depth += 1,
            b')' if cases > 0 && depth == 1 => {}
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            b'c' if word_start && is_word(bytes, i, b"case") => cases += 1,
            b'e' if word_start && is_word(bytes, i, b"esac") => cases = cases.saturating_sub(1),
            _ => {}
        }
        word_start = matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(');
        i += 1;
    }
    None
}

/// The end (exclusive) of a `${…}` body that starts at `from`.
pub fn end_of_parameter(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut i, mut depth) = (from, 1usize);
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => i = skip_single(bytes, i + 1)?,
            b'"' => i = skip_double(text, i + 1)?,
            b'`' => i = skip_backquote(bytes, i + 1)?,
            b'$' if bytes.get(i + 1) == Some(&b'(') => i = end_of_command(text, i + 2)?,
            b'{' if i.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'$') => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// The end (exclusive) of a `$((…))` body that starts at `from`.
pub fn end_of_arithmetic(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut i, mut depth) = (from, 0usize);
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => i = skip_single(bytes, i + 1)?,
            b'"' => i = skip_double(text, i + 1)?,
            b'`' => i = skip_backquote(bytes, i + 1)?,
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            b')' => return (bytes.get(i + 1) == Some(&b')')).then_some(i),
            _ => {}
        }
        i += 1;
    }
    None
}

/// The last byte of what is quoted, escaped or substituted from a place on; `None` if nothing begins there. What never
/// ends goes on to the end of the text.
pub(crate) fn end_of_quoted(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = match (bytes.get(start)?, bytes.get(start + 1)) {
        (b'\\', _) => Some(start + 1),
        (b'\'', _) => skip_single(bytes, start + 1),
        (b'"', _) => skip_double(text, start + 1),
        (b'`', _) => skip_backquote(bytes, start + 1),
        (b'$', Some(b'(')) => end_of_command(text, start + 2),
        (b'$', Some(b'{')) => end_of_parameter(text, start + 2),
        _ => return None,
    };
    Some(end.unwrap_or(bytes.len()))
}

/// Position of the closing quote.
pub fn skip_single(bytes: &[u8], from: usize) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| *byte == b'\'').map(|offset| from + offset)
}

/// Position of the closing double quote, nested substitutions skipped.
pub fn skip_double(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut i = from;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'"' => return Some(i),
            b'`' => i = skip_backquote(bytes, i + 1)?,
            b'$' if bytes.get(i + 1) == Some(&b'(') => i = end_of_command(text, i + 2)?,
            b'$' if bytes.get(i + 1) == Some(&b'{') => i = end_of_parameter(text, i + 2)?,
            _ => {}
        }
        i += 1;
    }
    None
}

/// Position of the closing back-quote.
pub fn skip_backquote(bytes: &[u8], from: usize) -> Option<usize> {
    let mut i = from;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'`' => return Some(i),
            _ => {}
        }
        i += 1;
    }
    None
}

fn skip_comment(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |offset| from + offset - 1)
}

fn is_word(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    bytes.get(at..at + word.len()) == Some(word)
        && bytes.get(at + word.len()).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b')'))
}

/// Decodes the escapes of `$'…'`, `echo -e` and `printf`; `\c` ends the text.
pub fn unescape(text: &str) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let Some(kind) = chars.next() else {
            out.push(b'\\');
            break;
        };
        let code = match kind {
            'x' => digits(&mut chars, 16, 2),
            'u' => digits(&mut chars, 16, 4),
            'U' => digits(&mut chars, 16, 8),
            '0'..='7' => {
                let first = kind.to_digit(8).unwrap_or(0);
                let longest = if kind == '0' { 3 } else { 2 };
                let mut value = first;
                for _ in 0..longest {
                    match chars.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => {
                            value = value * 8 + digit;
                            chars.next();
                        }
                        None => break,
                    }
                }
                Some(value & 0xFF)
            }
            _ => None,
        };
        match (kind, code) {
            ('u' | 'U', Some(value)) => {
                out.extend_from_slice(char::from_u32(value).unwrap_or('\u{FFFD}').encode_utf8(&mut [0; 4]).as_bytes())
            }
            (_, Some(value)) => out.push(u8::try_from(value & 0xFF).unwrap_or(b'?')),
            (_, None) => match simple_escape(kind) {
                Some(byte) => out.push(byte),
                None if kind == 'c' => break,
                None => {
                    out.push(b'\\');
                    out.extend_from_slice(kind.encode_utf8(&mut [0; 4]).as_bytes());
                }
            },
        }
    }
    String::from_utf8_lossy(&out).replace('\0', "\u{1}")
}

const fn simple_escape(kind: char) -> Option<u8> {
    Some(match kind {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'v' => 11,
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '?' => b'?',
        _ => return None,
    })
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, longest: usize) -> Option<u32> {
    let mut value = None;
    for _ in 0..longest {
        match chars.peek().and_then(|c| c.to_digit(radix)) {
            Some(digit) => {
                value = Some(value.unwrap_or(0u32).wrapping_mul(radix).wrapping_add(digit));
                chars.next();
            }
            None => break,
        }
    }
    value
}
