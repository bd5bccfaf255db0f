//! Where the characters of a scalar's value stand in the file, for each way YAML and JSON have to write one.

use contract::source::Place;
use std::ops::Range;

/// The bytes in the file that wrote these bytes of the value; none where that is not certain.
pub(super) fn in_source(source: &str, place: &Place, value: &str, span: &Range<usize>) -> Option<Range<usize>> {
    let raw = source.get(place.start..place.end)?;
    let pieces = match raw.chars().next()? {
        '\'' => single_quoted(raw)?,
        '"' => double_quoted(raw)?,
        '|' => literal_block(raw, value)?,
        '>' => folded(raw.split_once('\n')?.1, raw.find('\n')? + 1, value)?,
        _ if raw.trim_end() == value => vec![(0, value)],
        _ => folded(raw, 0, value)?,
    };
    let written: String = pieces.iter().map(|(_, text)| *text).collect();
    if written != value {
        return None;
    }
    let start = mapped(&pieces, span.start)?;
    // The last character is mapped, not the end: behind it may come an indentation.
    let last = value.get(..span.end)?.char_indices().next_back()?.0;
    let last_length = span.end - last;
    let end = mapped(&pieces, last)?.checked_add(last_length)?;
    let found = place.start + start..place.start + end;
    (found.start < found.end).then_some(())?;
    source.get(found.clone()).map(|_| found)
}

/// Stretches of the value with where each begins in the raw text, in order.
type Pieces<'v> = Vec<(usize, &'v str)>;

fn mapped(pieces: &Pieces<'_>, offset: usize) -> Option<usize> {
    let mut begins = 0;
    for (raw, text) in pieces {
        if offset < begins + text.len() {
            return Some(raw + (offset - begins));
        }
        begins += text.len();
    }
    None
}

/// `''` is a quote. Over several lines YAML folds, which is left uncertain.
fn single_quoted(raw: &str) -> Option<Pieces<'_>> {
    let inner = raw.strip_prefix('\'')?.trim_end().strip_suffix('\'')?;
    if inner.contains('\n') {
        return None;
    }
    let mut pieces = Pieces::new();
    let mut begins = 1;
    for part in inner.split_inclusive("''") {
        let kept = if part.ends_with("''") { part.get(..part.len() - 1)? } else { part };
        pieces.push((begins, kept));
        begins += part.len();
    }
    Some(pieces)
}

/// Escapes of one letter for one character are followed; longer ones are left uncertain unless they come later.
fn double_quoted(raw: &str) -> Option<Pieces<'_>> {
    let inner = raw.strip_prefix('"')?.trim_end().strip_suffix('"')?;
    if inner.contains('\n') {
        return None;
    }
    let mut pieces = Pieces::new();
    let mut position = 0;
    while let Some(rest) = inner.get(position..).filter(|rest| !rest.is_empty()) {
        let plain = rest.find('\\').unwrap_or(rest.len());
        pieces.push((1 + position, rest.get(..plain)?));
        let Some(escape) = rest.get(plain..).filter(|escape| !escape.is_empty()) else { break };
        let meant = match escape.chars().nth(1)? {
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            '"' => "\"",
            '\\' => "\\",
            '/' => "/",
            _ => return None,
        };
        pieces.push((1 + position + plain, meant));
        position += plain + 2;
    }
    Some(pieces)
}

/// Line by line, each behind the indentation of the first.
fn literal_block<'v>(raw: &str, value: &'v str) -> Option<Pieces<'v>> {
    let mut begins = raw.find('\n')? + 1;
    let body = raw.get(begins..)?;
    let first = body.lines().find(|line| !line.trim().is_empty())?;
    let first_value = value.lines().find(|line| !line.trim().is_empty())?;
    let indent = first.len().checked_sub(first_value.len())?;
    let mut pieces = Pieces::new();
    let mut raw_lines = body.split_inclusive('\n');
    for line in value.split_inclusive('\n') {
        let raw_line = raw_lines.next()?;
        let text = line.trim_end_matches('\n');
        if !text.is_empty() && raw_line.get(indent..)?.trim_end_matches(['\r', '\n']) != text {
            return None;
        }
        let from = if text.is_empty() { 0 } else { indent };
        pieces.push((begins + from, line));
        begins += raw_line.len();
    }
    Some(pieces)
}

/// Word by word: only the space between them is written otherwise.
fn folded<'v>(body: &str, body_begins: usize, value: &'v str) -> Option<Pieces<'v>> {
    let mut pieces = Pieces::new();
    let mut raw_words = words(body);
    let mut behind = 0;
    for (at, word) in words(value) {
        let (raw_at, raw_word) = raw_words.next()?;
        if raw_word != word {
            return None;
        }
        // Space takes the place of the word before it, so that it never points behind the text.
        let space = pieces.last().map_or(body_begins + raw_at, |(from, text): &(usize, &str)| from + text.len());
        pieces.push((space, value.get(behind..at)?));
        pieces.push((body_begins + raw_at, word));
        behind = at + word.len();
    }
    pieces.push((body_begins, value.get(behind..)?));
    Some(pieces)
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let base = text.as_ptr() as usize;
    text.split_whitespace().map(move |word| (word.as_ptr() as usize - base, word))
}
