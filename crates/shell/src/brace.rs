//! Brace expansion: `{a,b}` and `{1..9}`, quote-aware and bounded.

use crate::limits::FIELDS_MAX;
use crate::quote;

/// Longest word whose braces are expanded.
const WORD_BYTES_MAX: usize = 4096;

/// All texts the raw word stands for; the word itself when it has no braces.
pub fn expand(raw: &str) -> Vec<String> {
    // A word this long is data; expanding it would copy it hundreds of times.
    if !raw.contains('{') || raw.len() > WORD_BYTES_MAX {
        return vec![raw.to_owned()];
    }
    let mut out = vec![];
    let mut queue = vec![raw.to_owned()];
    let mut rounds = 0usize;
    while let Some(text) = queue.pop() {
        rounds += 1;
        match (rounds <= 4 * FIELDS_MAX && out.len() + queue.len() < FIELDS_MAX).then(|| first_group(&text)).flatten() {
            Some((start, end, choices)) => {
                let before = text.get(..start).unwrap_or_default();
                let after = text.get(end..).unwrap_or_default();
                // Last choice first, so that the queue pops them in order.
                queue.extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
            None => out.push(text),
        }
    }
    out.truncate(FIELDS_MAX);
    out
}

/// The first group that expands: where it starts, where it ends, and its choices.
fn first_group(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = text.as_bytes();
    let mut i = 0usize;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => i = quote::skip_single(bytes, i + 1)?,
            b'"' => i = quote::skip_double(text, i + 1)?,
            b'`' => i = quote::skip_backquote(bytes, i + 1)?,
            b'$' if bytes.get(i + 1) == Some(&b'{') => i = quote::end_of_parameter(text, i + 2)?,
            b'$' if bytes.get(i + 1) == Some(&b'(') => i = quote::end_of_command(text, i + 2)?,
            b'{' => {
                if let Some(found) = group(text, i) {
                    return Some(found);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

fn group(text: &str, start: usize) -> Option<(usize, usize, Vec<String>)> {
    let bytes = text.as_bytes();
    let (mut i, mut depth, mut from) = (start + 1, 1usize, start + 1);
    let mut choices: Vec<String> = Vec::new();
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => i = quote::skip_single(bytes, i + 1)?,
            b'"' => i = quote::skip_double(text, i + 1)?,
            b'`' => i = quote::skip_backquote(bytes, i + 1)?,
            b'$' if bytes.get(i + 1) == Some(&b'{') => i = quote::end_of_parameter(text, i + 2)?,
            b'$' if bytes.get(i + 1) == Some(&b'(') => i = quote::end_of_command(text, i + 2)?,
            b'{' => depth += 1,
            b',' if depth == 1 => {
                choices.push(text.get(from..i)?.to_owned());
                from = i + 1;
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    let last = text.get(from..i)?;
                    if choices.is_empty() {
                        return range(last).map(|choices| (start, i + 1, choices));
                    }
                    choices.push(last.to_owned());
                    return Some((start, i + 1, choices));
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// `1..9`, `a..f`, with an optional step.
fn range(body: &str) -> Option<Vec<String>> {
    let mut parts = body.split("..");
    let (first, last, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let stride = step.map_or(Some(1), |step| step.parse::<i64>().ok())?.unsigned_abs().max(1);
    let single = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| chars.next().is_none() && c.is_ascii_alphabetic())
    };
    let (low, high, letters) = match (first.parse::<i64>(), last.parse::<i64>(), single(first), single(last)) {
        (Ok(low), Ok(high), _, _) => (low, high, false),
        (_, _, Some(low), Some(high)) => (i64::from(u32::from(low)), i64::from(u32::from(high)), true),
        _ => return None,
    };
    let count = (low.abs_diff(high) / stride + 1).min(FIELDS_MAX as u64);
    let mut values = Vec::new();
    for index in 0..count {
        let offset = i64::try_from(index * stride).ok()?;
        let value = if low <= high { low.checked_add(offset)? } else { low.checked_sub(offset)? };
        values.push(if letters {
            u32::try_from(value).ok().and_then(char::from_u32)?.to_string()
        } else {
            value.to_string()
        });
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(raw: &str, expected: &[&str]) {
        assert_eq!(super::expand(raw), expected);
    }

    #[test]
    fn groups() {
        check("{rm,-rf,/}", &["rm", "-rf", "/"]);
        check("a{b,c{d,e}}f", &["abf", "acdf", "acef"]);
        check("{1..3}", &["1", "2", "3"]);
        check("{c..a}", &["c", "b", "a"]);
        check("{}", &["{}"]);
        check("'{a,b}'", &["'{a,b}'"]);
        check("${x,,}", &["${x,,}"]);
        check("{a}", &["{a}"]);
    }
}
