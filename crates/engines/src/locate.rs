//! From a part of an expression or a policy to the characters of the file that wrote it.

mod scalar;

use crate::compile::Problem;
use contract::read::{located, written};
use contract::source::{Diagnostic, Node, Place, Value};
use std::ops::Range;
use values::json::Json;

/// The diagnostic at its place: the offending part where that is certain, else the whole text it stands in.
pub(crate) fn locate(problem: Problem, root: &Node, source: &str) -> Diagnostic {
    let Problem { diagnostic, text } = problem;
    let Some((text, span)) = text else { return located(diagnostic, root) };
    let Some((node, written)) = written_text(root, &diagnostic.path) else { return located(diagnostic, root) };
    let whole = value_place(node, written, source);
    let place = span.and_then(|span| {
        let span = in_written(&text, written, &visible(&text, span)?)?;
        Some(place(source, scalar::in_source(source, &node.place, written, &span)?))
    });
    Diagnostic { place: place.unwrap_or(whole), ..diagnostic }
}

/// The text behind a path. In the short form `refuse: EXPRESSION` stands for `refuse.0.when`.
fn written_text<'n>(root: &'n Node, path: &str) -> Option<(&'n Node, &'n str)> {
    let (node, rest) = written(root, path);
    let Value::Scalar(Json::Text(text)) = &node.value else { return None };
    matches!(rest, "" | "0.when" | "zone.0.when").then_some((node, text.as_str()))
}

/// The whole value; of a block its first line, because a bar says nothing.
fn value_place(node: &Node, written: &str, source: &str) -> Place {
    let first = written.find(|next: char| !next.is_whitespace()).unwrap_or(0);
    let line = written.get(first..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim_end();
    let found = scalar::in_source(source, &node.place, written, &(first..first + line.len()));
    found.filter(|_| written.contains('\n')).map_or(node.place, |span| place(source, span))
}

/// The span with an end: where only the beginning is known, the word or the character that stands there.
fn visible(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    // Behind the last character there is nothing to underline, so the last one is.
    let last = text.trim_end().char_indices().next_back()?.0;
    let start = span.start.min(last);
    let rest = text.get(start..)?;
    let first = rest.chars().next()?.len_utf8();
    let word = rest.find(|next: char| !(next.is_alphanumeric() || next == '_')).unwrap_or(rest.len());
    let end = if span.end > start && span.start == start { span.end } else { start + word.max(first) };
    text.get(start..end).map(|_| start..end)
}

/// Compiling wrote `params.` before bare names. Taking every one out again must leave what was written.
fn in_written(text: &str, written: &str, span: &Range<usize>) -> Option<Range<usize>> {
    const ADDED: &str = "params.";
    let (mut from, mut to) = (0, 0);
    let (mut start, mut end) = (None, None);
    let mut previous = ' ';
    while let Some(next) = text.get(from..)?.chars().next() {
        let rest = written.get(to..)?;
        let begins = !(previous.is_alphanumeric() || previous == '_' || previous == '.');
        if begins && text.get(from..)?.starts_with(ADDED) && !rest.starts_with(ADDED) {
            // The prefix has no characters of its own: whatever begins in it begins at the name.
            start = start.or((span.start < from + ADDED.len() && span.start >= from).then_some(to));
            from += ADDED.len();
            previous = '.';
            continue;
        }
        if !rest.starts_with(next) {
            return None;
        }
        start = start.or((span.start == from).then_some(to));
        from += next.len_utf8();
        to += next.len_utf8();
        end = if span.end >= from { Some(to) } else { end };
        previous = next;
    }
    let (start, end) = (start?, end?);
    // A token that is all prefix, such as the dot in `params.amount`, stands for the name behind it.
    let end = if end > start { end } else { start + name_length(written.get(start..)?) };
    (to == written.len() && end > start).then_some(start..end)
}

fn name_length(text: &str) -> usize {
    text.find(|next: char| !(next.is_alphanumeric() || next == '_')).unwrap_or(text.len())
}

fn place(source: &str, span: Range<usize>) -> Place {
    let before = source.get(..span.start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        start: span.start,
        end: span.end,
    }
}

#[cfg(test)]
mod tests;
