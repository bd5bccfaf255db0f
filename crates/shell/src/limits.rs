//! Bounds. Text comes from an agent, so every size it controls has a ceiling and a refusal.

/// A command longer than this is not read at all; no person reviews 64 KiB of shell.
pub const INPUT_BYTES_MAX: usize = 64 * 1024;

/// All text handed to the grammar for one answer, nested texts included: keeps the total time linear.
pub const WORK_BYTES_MAX: usize = 2 * INPUT_BYTES_MAX;

/// Nested brackets in raw text. The tokenizer recurses once per substitution.
pub const BRACKETS_MAX: usize = 96;

/// Nested compound commands. The grammar uses about 8 KiB of stack for each.
pub const COMPOUND_MAX: usize = 20;

/// Operators that separate commands, and substitutions, in one text.
pub const SEPARATORS_MAX: usize = 4096;

/// Runs of blanks in one text: about as many words as 64 KiB of prose have.
pub const BLANKS_MAX: usize = 12_000;

/// Here-documents in one text; the tokenizer looks at all pending tags on each line.
pub const HERE_DOCS_MAX: usize = 64;

/// Text within text: substitutions, `sh -c`, decoded pipes.
pub const DEPTH_MAX: usize = 10;

/// Simple commands and paths judged for one answer, loops and functions unrolled.
pub const STEPS_MAX: usize = 2500;

/// Programs tried for half-known names in one answer.
pub const GUESSES_MAX: usize = 40;

/// Fields produced by one word.
pub const FIELDS_MAX: usize = 256;

/// Words of one command; more are generated, not typed.
pub const WORDS_MAX: usize = 4096;

/// Bytes of one statically known value; `a=$a$a` must not grow without end.
pub const VALUE_BYTES_MAX: usize = INPUT_BYTES_MAX;

/// Rounds of a loop that are unrolled; further values are walked as "some item".
pub const LOOP_ROUNDS_MAX: usize = 8;

/// Commands behind `&&` in one chain: each may be where it ended.
pub const CHAIN_MAX: usize = 64;

/// Paths and argv kept in an answer.
pub const KEPT_MAX: usize = 256;

/// Paths kept of what programs were handed in one answer.
pub const NAMED_MAX: usize = 1024;

/// Words looked up as paths in one answer, the same ones again included.
pub const LOOKS_MAX: usize = 4096;

/// Reasons kept in an answer; nobody reads more.
pub const REASONS_MAX: usize = 64;

/// Why a text was refused before the grammar saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Longer than [`INPUT_BYTES_MAX`].
    Long,
    /// Brackets nested deeper than [`BRACKETS_MAX`].
    Deep,
    /// More separators or here-documents than allowed.
    Many,
}

/// One pass over the bytes, before anything that recurses or allocates by structure.
///
/// Quotes are ignored on purpose: a scan that trusts quotes can be lied to.
pub fn refuse(text: &str) -> Option<Refusal> {
    if text.len() > INPUT_BYTES_MAX {
        return Some(Refusal::Long);
    }
    let (mut depth, mut separators, mut here_docs, mut blanks) = (0usize, 0usize, 0usize, 0usize);
    let mut previous = 0u8;
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' | b'`' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b';' | b'&' | b'|' | b'\n' => separators += 1,
            b'<' if previous == b'<' => here_docs += 1,
            b' ' | b'\t' if !matches!(previous, b' ' | b'\t') => blanks += 1,
            _ => {}
        }
        // Back-quotes cannot nest without backslashes, so every second one closes.
        if byte == b'`' {
            depth = depth.saturating_sub(1);
            separators += 1;
        }
        separators += usize::from(byte == b'(');
        if depth > BRACKETS_MAX {
            return Some(Refusal::Deep);
        }
        previous = byte;
    }
    (separators > SEPARATORS_MAX || here_docs > HERE_DOCS_MAX || blanks > BLANKS_MAX).then_some(Refusal::Many)
}
