//! Expands words: braces, tildes, quotes, parameters, substitutions, splitting, wildcards.

use super::{Arg, Walker};
use crate::answer::Span;
use crate::brace;
use crate::limits::{FIELDS_MAX, VALUE_BYTES_MAX};
use crate::mark;
use crate::quote;
use crate::stream::Stream;
use brush_parser::ast;

/// Fields under construction.
#[derive(Default)]
pub(crate) struct Fields {
    /// Characters besides white space that split unquoted values.
    separators: String,
    /// Whether `@(…)` and its relatives are patterns here.
    extended: bool,
    done: Vec<(String, bool)>,
    current: String,
    /// Whether `current` exists even if empty, as after `""`.
    open: bool,
    /// Where in `current` the values of variables stand that may not be set.
    doubts: Vec<std::ops::Range<usize>>,
    /// Whether `current` came from an unquoted expansion of something unknown.
    loose: bool,
}

impl Fields {
    pub(crate) fn push(&mut self, text: &str) {
        self.open = true;
        if self.current.len() + text.len() <= VALUE_BYTES_MAX {
            self.current.push_str(text);
        } else {
            self.current = mark::OUTPUT.to_string();
        }
    }

    /// What was pushed since then may not be there. Alone that is a word less; beside other text it is another word.
    pub(crate) fn doubt(&mut self, (done, from): (usize, usize)) {
        let from = match self.done.get_mut(done) {
            // It was split: the field it began in is done.
            Some((text, _)) => {
                if from > 0 {
                    text.truncate(from);
                    text.push(mark::UNSET);
                }
                0
            }
            None => from,
        };
        if from < self.current.len() {
            self.doubts.push(from..self.current.len());
        }
    }

    /// How far the fields have come.
    pub(crate) fn reached(&self) -> (usize, usize) {
        (self.done.len(), self.current.len())
    }

    fn settle_doubts(&mut self) {
        let doubts = std::mem::take(&mut self.doubts);
        let whole = |range: &std::ops::Range<usize>| range.start == 0 && range.end == self.current.len();
        if doubts.iter().any(whole) {
            return;
        }
        for range in doubts.into_iter().rev() {
            let fits = range.end <= self.current.len()
                && self.current.is_char_boundary(range.start)
                && self.current.is_char_boundary(range.end);
            if fits {
                self.current.replace_range(range, mark::UNSET.encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn end(&mut self) {
        self.settle_doubts();
        if self.open && self.done.len() < FIELDS_MAX {
            self.done.push((std::mem::take(&mut self.current), self.loose));
        } else if let (true, Some(last)) = (self.open, self.done.last_mut()) {
            // What is beyond the bound may be anything.
            *last = (mark::OUTPUT.to_string(), true);
        }
        self.current.clear();
        self.open = false;
        self.loose = false;
    }

    /// An unquoted expansion: white space separates fields.
    pub(crate) fn push_split(&mut self, text: &str) {
        let separators = std::mem::take(&mut self.separators);
        for (index, part) in text.split(|c| matches!(c, ' ' | '\t' | '\n') || separators.contains(c)).enumerate() {
            if index > 0 {
                self.end();
            }
            if !part.is_empty() {
                self.push(&activated(part));
                self.loose |= mark::has_hole(part);
            }
        }
        self.separators = separators;
    }

    /// Values that stay separate fields even in quotes, as `"$@"` does.
    pub(crate) fn push_list(&mut self, items: &[String], quoted: bool) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.end();
            }
            if quoted { self.push(item) } else { self.push_split(item) }
        }
    }
}

/// Whether a group of patterns begins here: `@(`, `+(`, `!(`, `?(`, `*(`.
fn opens_group(bytes: &[u8], i: usize) -> bool {
    matches!(bytes.get(i), Some(b'@' | b'+' | b'!' | b'?' | b'*')) && bytes.get(i + 1) == Some(&b'(')
}

/// A wildcard for a group of patterns; one that can begin with a point says so.
fn any_of(body: &str) -> String {
    if body.contains('.') { format!("{}!:]{}", mark::BRACKET, mark::STAR) } else { mark::STAR.to_string() }
}

/// Wildcards that come out of an unquoted expansion act as wildcards.
fn activated(text: &str) -> String {
    let bytes = text.as_bytes();
    if let Some(at) = (0..bytes.len()).find(|at| opens_group(bytes, *at)) {
        let (before, rest) = (text.get(..at).unwrap_or_default(), text.get(at + 2..).unwrap_or_default());
        let (body, after) = rest.rsplit_once(')').unwrap_or((rest, ""));
        return format!("{}{}{}", activated(before), any_of(body), after);
    }
    if !text.contains(['*', '?', '[']) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '*' => mark::STAR,
            '?' => mark::QUESTION,
            '[' => mark::BRACKET,
            other => other,
        })
        .collect()
}

impl Walker<'_> {
    /// The fields one word of the grammar becomes.
    pub(crate) fn word(&mut self, word: &ast::Word) -> Vec<Arg> {
        let span = self.span_of(word.loc.as_ref());
        self.expand(&word.value, span)
    }

    /// A word in a place that does not split: assignments, here-strings, redirections.
    pub(crate) fn word_joined(&mut self, word: &ast::Word) -> String {
        let span = self.span_of(word.loc.as_ref());
        self.joined(&word.value, span).0
    }

    /// The same for what a variable is given: one that may not be set gives it nothing, perhaps.
    pub(crate) fn word_valued(&mut self, word: &ast::Word) -> String {
        let span = self.span_of(word.loc.as_ref());
        let (text, whole) = self.joined(&word.value, span);
        if whole { self.text_or_nothing(text) } else { text }
    }

    /// The text, and whether a variable that may not be set is part of it.
    fn joined(&mut self, raw: &str, span: Span) -> (String, bool) {
        let mut fields = Fields { extended: true, ..Fields::default() };
        let outer = std::mem::replace(&mut self.unordered, false);
        self.scan(raw, span, &mut fields, true);
        let unordered = std::mem::replace(&mut self.unordered, outer);
        let doubtful = !fields.doubts.is_empty();
        fields.end();
        let texts: Vec<String> = fields.done.into_iter().map(|(text, _)| text).collect();
        if unordered && (texts.len() > 1 || texts.iter().any(|text| text.contains(' '))) {
            let words: Vec<Arg> = texts.into_iter().map(|text| Arg::new(text, span)).collect();
            self.name_words(&words);
            return (mark::OUTPUT.to_string(), doubtful);
        }
        (texts.join(" "), doubtful)
    }

    pub(crate) fn expand(&mut self, raw: &str, span: Span) -> Vec<Arg> {
        let plain = |byte: u8| {
            !matches!(
                byte,
                b'\''
                    | b'"'
                    | b'\\'
                    | b'$'
                    | b'`'
                    | b'~'
                    | b'{'
                    | b'*'
                    | b'?'
                    | b'['
                    | b'<'
                    | b'>'
                    | b'('
                    | b'@'
                    | b'+'
                    | b'!'
            )
        };
        if raw.bytes().all(plain) {
            return vec![Arg::new(raw, span)];
        }
        let mut args = Vec::new();
        let separators = match self.state.variables.get("IFS") {
            Some(super::Variable::Scalar(text)) => text.clone(),
            Some(super::Variable::List(_) | super::Variable::Scattered(_)) | None => String::new(),
        };
        let texts = brace::expand(raw);
        let more = texts.len() >= FIELDS_MAX;
        for text in texts {
            let mut fields = Fields { separators: separators.clone(), extended: true, ..Fields::default() };
            self.scan(&text, span, &mut fields, false);
            self.unsure |= !fields.doubts.is_empty();
            fields.end();
            args.extend(fields.done.into_iter().map(|(text, loose)| Arg { text, span, loose }));
        }
        if more || args.len() > FIELDS_MAX {
            // What is beyond the bound may be anything.
            args.truncate(FIELDS_MAX - 1);
            args.push(Arg { text: mark::OUTPUT.to_string(), span, loose: true });
        }
        args
    }

    /// A here-document body: parameters and substitutions expand, quotes are text.
    pub(crate) fn here_document(&mut self, raw: &str, location: Option<&brush_parser::SourceSpan>) -> String {
        let span = self.span_of(location);
        let mut fields = Fields::default();
        self.scan_quoted(raw, span, &mut fields, true);
        fields.end();
        fields.done.into_iter().map(|(text, _)| text).collect()
    }

    /// Scans unquoted text. `joined` turns off splitting.
    pub(crate) fn scan(&mut self, raw: &str, span: Span, fields: &mut Fields, joined: bool) {
        let bytes = raw.as_bytes();
        let mut i = self.tilde(raw, fields);
        let mut literal = i;
        while let Some(&byte) = bytes.get(i) {
            let group = fields.extended && opens_group(bytes, i);
            let special = group || matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | b'*' | b'?' | b'[');
            if !special {
                i += 1;
                continue;
            }
            if literal < i {
                fields.push(raw.get(literal..i).unwrap_or_default());
            }
            i = match byte {
                _ if group => self.group(raw, i, span, fields),
                b'\\' => {
                    let next = raw.get(i + 1..).and_then(|rest| rest.chars().next());
                    if let Some(c) = next.filter(|c| *c != '\n') {
                        fields.push(c.encode_utf8(&mut [0; 4]));
                    }
                    i + 1 + next.map_or(0, char::len_utf8)
                }
                b'\'' => {
                    let end = quote::skip_single(bytes, i + 1).unwrap_or(bytes.len());
                    fields.push(raw.get(i + 1..end).unwrap_or_default());
                    end + 1
                }
                b'"' => {
                    let end = quote::skip_double(raw, i + 1).unwrap_or(bytes.len());
                    fields.open = true;
                    self.scan_quoted(raw.get(i + 1..end).unwrap_or_default(), span, fields, false);
                    end + 1
                }
                b'$' => self.dollar(raw, i, span, fields, joined),
                b'`' => self.backquote(raw, i, span, fields, joined),
                b'*' => self.wild(mark::STAR, i, fields, joined),
                b'?' => self.wild(mark::QUESTION, i, fields, joined),
                _ => {
                    // `[` is a wildcard only when something closes it.
                    let closes = raw.get(i + 2..).is_some_and(|rest| rest.contains(']'));
                    if closes { self.wild(mark::BRACKET, i, fields, joined) } else { self.wild('[', i, fields, joined) }
                }
            };
            literal = i;
        }
        if literal < bytes.len() {
            fields.push(raw.get(literal..).unwrap_or_default());
        }
    }

    /// `@(a|b)`: a pattern that can mean any name; what runs inside of it runs.
    fn group(&mut self, raw: &str, i: usize, span: Span, fields: &mut Fields) -> usize {
        let end = quote::end_of_command(raw, i + 2).unwrap_or(raw.len());
        let body = raw.get(i + 2..end).unwrap_or_default().to_owned();
        if body.contains(['$', '`']) && self.deeper() {
            self.scan(&body, span, &mut Fields::default(), true);
            self.shallower();
        }
        fields.push(&any_of(&body));
        end + 1
    }

    fn wild(&self, mark: char, i: usize, fields: &mut Fields, _joined: bool) -> usize {
        fields.push(mark.encode_utf8(&mut [0; 4]));
        i + 1
    }

    /// Scans text inside double quotes, or a here-document body.
    pub(crate) fn scan_quoted(&mut self, raw: &str, span: Span, fields: &mut Fields, here_document: bool) {
        let bytes = raw.as_bytes();
        let (mut i, mut literal) = (0usize, 0usize);
        while let Some(&byte) = bytes.get(i) {
            if !matches!(byte, b'\\' | b'$' | b'`') {
                i += 1;
                continue;
            }
            if literal < i {
                fields.push(raw.get(literal..i).unwrap_or_default());
            }
            i = match byte {
                b'\\' => {
                    let next = raw.get(i + 1..).and_then(|rest| rest.chars().next());
                    match next {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '\\')) => fields.push(c.encode_utf8(&mut [0; 4])),
                        Some('"') if !here_document => fields.push("\""),
                        Some(c) => {
                            fields.push("\\");
                            fields.push(c.encode_utf8(&mut [0; 4]));
                        }
                        None => fields.push("\\"),
                    }
                    i + 1 + next.map_or(0, char::len_utf8)
                }
                b'$' => self.dollar_quoted(raw, i, span, fields),
                _ => {
                    let end = quote::skip_backquote(bytes, i + 1).unwrap_or(bytes.len());
                    let body = unbackquote(raw.get(i + 1..end).unwrap_or_default());
                    let value = self.substituted(&body, span).value();
                    fields.push(&value);
                    end + 1
                }
            };
            literal = i;
        }
        if literal < bytes.len() {
            fields.push(raw.get(literal..).unwrap_or_default());
        }
    }

    fn backquote(&mut self, raw: &str, i: usize, span: Span, fields: &mut Fields, joined: bool) -> usize {
        let end = quote::skip_backquote(raw.as_bytes(), i + 1).unwrap_or(raw.len());
        let body = unbackquote(raw.get(i + 1..end).unwrap_or_default());
        let value = self.substituted(&body, span).value();
        if joined {
            fields.push(&value)
        } else {
            fields.push_split(&value)
        }
        end + 1
    }

    /// What `$(…)` yields: the body is walked in a shell of its own.
    pub(crate) fn substituted(&mut self, body: &str, span: Span) -> Stream {
        if let Some(path) = body.trim().strip_prefix('<').filter(|rest| !rest.starts_with(['<', '(', '&'])) {
            let args = self.expand(path.trim(), span);
            if let [only] = args.as_slice() {
                return self.read_file(&only.text, span);
            }
        }
        let origin = self.origin;
        self.origin = Some(origin.unwrap_or(span));
        let forks = std::mem::replace(&mut self.forks, false);
        let out = self.apart(body, Stream::Absent, span);
        self.forks = forks;
        self.origin = origin;
        out
    }

    /// What `~` means and where `cd` goes by itself.
    pub(crate) fn home(&self) -> String {
        match self.state.variables.get("HOME") {
            Some(super::Variable::Scalar(text)) if !self.state.doubtful.contains("HOME") => text.clone(),
            Some(_) => mark::OUTPUT.to_string(),
            None => self.view.home.to_owned(),
        }
    }

    /// `~`, `~/…`, `~user`, `~+` at the start of a word.
    fn tilde(&self, raw: &str, fields: &mut Fields) -> usize {
        let Some(rest) = raw.strip_prefix('~') else { return 0 };
        let name: String = rest.chars().take_while(|c| *c != '/').collect();
        let home = match name.as_str() {
            "" => self.home(),
            "+" if self.state.variables.contains_key("PWD") => mark::OUTPUT.to_string(),
            "+" => self.state.cwd.clone(),
            "-" => mark::OUTPUT.to_string(),
            "root" => "/root".to_owned(),
            user if user.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')) => {
                format!("/home/{user}")
            }
            _ => return 0,
        };
        fields.push(&home);
        1 + name.len()
    }
}

/// Inside back-quotes a backslash quotes itself, `$` and the back-quote.
fn unbackquote(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && matches!(chars.peek(), Some('\\' | '`' | '$')) {
            continue_with(&mut chars, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

fn continue_with(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    if let Some(c) = chars.next() {
        out.push(c);
    }
}

impl Fields {
    /// All fields as one text.
    pub(crate) fn into_joined(mut self) -> String {
        self.end();
        self.done.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" ")
    }
}
