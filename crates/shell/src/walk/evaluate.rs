//! Texts that a shell evaluates although no program is called: arithmetic, subscripts, prompts, and what variables with
//! attributes do to the values they are given.

use crate::answer::{Capability, Span};
use crate::mark;
use crate::quote;
use crate::stream::Stream;

use super::expand::Fields;
use super::{Arg, Variable, Walker};

/// Variables whose value a shell expands before it shows or opens it, substitutions included.
const EXPANDED: &[&str] = &["PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV", "MAILPATH"];

/// Links from one name to another that are followed.
const REFERENCES_MAX: usize = 8;

impl Walker<'_> {
    /// A text that is evaluated as arithmetic, or a name whose subscript is: substitutions inside of it run, also those
    /// in the values of variables that it names.
    pub(crate) fn evaluated(&mut self, text: &str, span: Span) {
        let text = mark::as_source(text);
        if text.bytes().all(|byte| byte.is_ascii_digit()) || !self.step(span) || !self.deeper() {
            return;
        }
        if text.contains([mark::REMOTE, mark::HIDDEN]) {
            self.unknown_text("what is evaluated as a number", span);
        }
        if text.contains(['$', '`']) {
            let expanded = self.as_quoted(&text, span);
            if text.contains('\\') {
                // What a backslash hides in this round is there in the next.
                self.as_quoted(&text.replace('\\', ""), span);
            }
            if expanded != text {
                self.evaluated(&expanded, span);
            }
        }
        for name in names(&text) {
            let values = match self.state.variables.get(name) {
                Some(Variable::Scalar(value)) => vec![value.clone()],
                Some(Variable::List(values)) => values.clone(),
                None => Vec::new(),
            };
            for value in values.iter().filter(|value| *value != &text) {
                self.evaluated(value, span);
            }
        }
        self.shallower();
    }

    /// A text that is expanded as a prompt or as a list of words: substitutions inside of it run.
    pub(crate) fn prompted(&mut self, text: &str, span: Span) {
        let text = mark::as_source(text);
        if text.contains([mark::OUTPUT, mark::UNSET, mark::REMOTE, mark::HIDDEN]) {
            self.unknown_text("a text that the shell expands", span);
        }
        if !self.deeper() {
            return;
        }
        self.as_quoted(&text, span);
        if text.contains('\\') {
            self.as_quoted(&quote::unescape(&text), span);
            self.as_quoted(&text.replace('\\', ""), span);
        }
        self.shallower();
    }

    fn unknown_text(&mut self, what: &str, span: Span) {
        self.report.can(Capability::Exec);
        self.report.unknown("DYNAMIC_CODE", format!("{what} cannot be known"), span);
    }

    fn as_quoted(&mut self, text: &str, span: Span) -> String {
        let mut fields = Fields::default();
        self.scan_quoted(text, span, &mut fields, true);
        fields.into_joined()
    }

    /// Gives a variable a value, by whatever built-in: what a shell expands or evaluates then is walked.
    pub(crate) fn assign(&mut self, name: &str, value: Variable, span: Span) {
        self.expanded_variable(name, &value, span);
        self.bind(name, value, span);
    }

    /// The same without looking at what the name means to the shell.
    pub(crate) fn bind(&mut self, name: &str, value: Variable, span: Span) {
        let name = mark::as_source(name);
        if let Some(target) = self.state.references.get(&name).cloned() {
            match (&value, target.is_empty()) {
                // The first value of a reference is the name it refers to.
                (Variable::Scalar(text), true) => {
                    self.evaluated(text, span);
                    self.state.references.insert(name, text.clone());
                }
                (Variable::List(_), true) => {}
                (_, false) => {
                    let target = self.referred(&target);
                    self.evaluated(&target, span);
                    self.state.variables.insert(target, value);
                }
            }
            return;
        }
        let (base, subscript) = name.split_once('[').map_or((name.as_str(), ""), |(base, rest)| (base, rest));
        self.evaluated(subscript, span);
        if self.state.integers.contains(base) {
            match &value {
                Variable::Scalar(text) => self.evaluated(text, span),
                Variable::List(items) => items.iter().for_each(|item| self.evaluated(item, span)),
            }
        }
        let value = match (value, subscript.is_empty(), self.state.variables.get(base)) {
            (value, true, _) => value,
            (Variable::Scalar(text), false, Some(Variable::List(items))) if items.len() < crate::limits::FIELDS_MAX => {
                Variable::List([items.clone(), vec![text]].concat())
            }
            (Variable::Scalar(text), false, _) => Variable::List(vec![text]),
            (value @ Variable::List(_), false, _) => value,
        };
        self.state.variables.insert(base.to_owned(), value);
    }

    /// The name at the end of a chain of references.
    pub(crate) fn referred(&self, name: &str) -> String {
        let mut name = name.to_owned();
        for _ in 0..REFERENCES_MAX {
            match self.state.references.get(&name) {
                Some(next) if !next.is_empty() => name.clone_from(next),
                Some(_) | None => return name,
            }
        }
        mark::OUTPUT.to_string()
    }

    /// Variables that mean something to the shell itself.
    pub(crate) fn expanded_variable(&mut self, name: &str, value: &Variable, span: Span) {
        let texts = match value {
            Variable::Scalar(text) => vec![text.clone()],
            Variable::List(items) => items.clone(),
        };
        if EXPANDED.contains(&name) {
            texts.iter().for_each(|text| self.prompted(text, span));
        }
        if name.starts_with("BASH_FUNC_") {
            for text in texts {
                self.report.can(Capability::Exec);
                self.inner(text.trim_start_matches(['(', ')', ' ']), Stream::Opaque, span);
            }
        } else if name.starts_with("BASH_ALIASES") || name.starts_with("BASH_CMDS") {
            self.report.can(Capability::Exec);
            self.report.unknown("DYNAMIC_COMMAND", format!("`{name}` makes a name mean another program"), span);
        }
    }

    /// One `name=value` of `declare` or a relative, after its options.
    pub(crate) fn declared(&mut self, words: &[Arg], name: &str, value: Variable, span: Span) {
        let has = |letter: char| {
            let options =
                words.iter().skip(1).filter(|word| word.text.starts_with('-') && !word.text.starts_with("--"));
            options.into_iter().any(|word| word.text.contains(letter))
        };
        let refers =
            has('n') && matches!(words.first().map(|word| word.text.as_str()), Some("declare" | "typeset" | "local"));
        if let (true, Variable::Scalar(target)) = (refers, &value) {
            self.refer(name, target, span);
            return;
        }
        if has('i') {
            self.state.integers.insert(name.split('[').next().unwrap_or(name).to_owned());
        }
        self.assign(name, value, span);
    }

    /// `declare -n name=target`; without a target the first value will be it.
    pub(crate) fn refer(&mut self, name: &str, target: &str, span: Span) {
        self.evaluated(target, span);
        let target = if mark::is_literal(target) { target.to_owned() } else { mark::OUTPUT.to_string() };
        self.state.references.insert(name.to_owned(), target);
    }
}

/// Words of a text that can be names of variables.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Where the subscript that begins at the start of a text ends: brackets inside of it come in pairs.
pub(crate) fn end_of_subscript(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut i, mut depth) = (0usize, 0usize);
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => i = quote::skip_single(bytes, i + 1).unwrap_or(bytes.len()),
            b'"' => i = quote::skip_double(text, i + 1).unwrap_or(bytes.len()),
            b'`' => i = quote::skip_backquote(bytes, i + 1).unwrap_or(bytes.len()),
            b'$' if bytes.get(i + 1) == Some(&b'(') => i = quote::end_of_command(text, i + 2).unwrap_or(bytes.len()),
            b'[' => depth += 1,
            b']' if depth == 0 => return i,
            b']' => depth -= 1,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}
