//! Marks: private-use characters that stand, inside a value, for what cannot be known.
//!
//! A value is one string. Keeping the unknown *inside* the string means that a half-known path
//! (`/etc/` + something) is still judged by its known half.

/// A variable that the text never assigned; it may be empty.
pub const UNSET: char = '\u{E000}';
/// Output of a command that cannot be evaluated here.
pub const OUTPUT: char = '\u{E001}';
/// Bytes that came from another machine.
pub const REMOTE: char = '\u{E002}';
/// Any entry below the directory before it.
pub const ITEM: char = '\u{E003}';
/// Some entry below the directory before it, narrowed by a test.
pub const PICK: char = '\u{E004}';
/// The directory for temporary files.
pub const TEMP: char = '\u{E005}';
/// A secret.
pub const SECRET: char = '\u{E006}';
/// A number or other short word that is never empty.
pub const NUMBER: char = '\u{E007}';
/// Literal bytes of this text that were encoded in a way not undone here.
pub const HIDDEN: char = '\u{E008}';
/// An active `*`.
pub const STAR: char = '\u{E010}';
/// An active `?`.
pub const QUESTION: char = '\u{E011}';
/// An active `[`.
pub const BRACKET: char = '\u{E012}';

const FIRST: char = '\u{E000}';
const LAST: char = '\u{E01F}';

/// Whether the character stands for something unknown (not a wildcard).
pub fn is_hole(c: char) -> bool {
    (UNSET..=HIDDEN).contains(&c)
}

/// Whether the character is an active wildcard.
pub fn is_wild(c: char) -> bool {
    (STAR..=BRACKET).contains(&c)
}

/// Whether any part of the value is unknown.
pub fn has_hole(value: &str) -> bool {
    !value.is_ascii() && value.chars().any(is_hole)
}

/// Whether the value has active wildcards.
pub fn has_wild(value: &str) -> bool {
    !value.is_ascii() && value.chars().any(is_wild)
}

/// Whether every part of the value is known text.
pub fn is_literal(value: &str) -> bool {
    value.is_ascii() || !value.chars().any(|c| (FIRST..=LAST).contains(&c))
}

/// Input must not be able to write marks itself.
pub fn cleaned(input: &str) -> std::borrow::Cow<'_, str> {
    if is_literal(input) && !input.contains('\0') {
        return input.into();
    }
    // Same width in bytes for the marks, so that spans still point at the original text.
    input
        .chars()
        .map(|c| {
            if (FIRST..=LAST).contains(&c) {
                '\u{FFFD}'
            } else if c == '\0' {
                '\u{1}'
            } else {
                c
            }
        })
        .collect::<String>()
        .into()
}

/// Turns active wildcards back into the characters a shell would see when it reads the value again.
pub fn as_source(value: &str) -> String {
    value
        .chars()
        .map(|c| match c {
            STAR => '*',
            QUESTION => '?',
            BRACKET => '[',
            other => other,
        })
        .collect()
}

/// For people: the unknown becomes a visible placeholder.
pub fn shown(value: &str) -> String {
    if value.is_ascii() {
        return value.to_owned();
    }
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            STAR => out.push('*'),
            QUESTION => out.push('?'),
            BRACKET => out.push('['),
            REMOTE => out.push_str("<remote>"),
            SECRET => out.push_str("<secret>"),
            TEMP => out.push_str("$TMPDIR"),
            ITEM | PICK => out.push_str("<item>"),
            c if is_hole(c) => out.push_str("<unknown>"),
            c => out.push(c),
        }
    }
    out
}
