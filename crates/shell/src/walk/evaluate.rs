//! Texts that a shell evaluates although no program is called: arithmetic, subscripts, prompts, and what variables with
//! attributes do to the values they are given.

use super::expand::Fields;
use super::{Arg, Variable, Walker};
use crate::answer::{Capability, Span};
use crate::mark;
use crate::quote;
use crate::stream::Stream;
use crate::touch::How;

/// Variables whose value a shell expands before it shows or opens it, substitutions included.
const EXPANDED: &[&str] = &["PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV", "MAILPATH"];

/// Variables that the shell sets by itself: what a text assigns to them is not what they hold.
pub(crate) const DYNAMIC: &[&str] = &[
    "_",
    "BASHOPTS",
    "BASHPID",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "COPROC",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "OLDPWD",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SRANDOM",
    "UID",
];

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
            let name = self.referred(name);
            if !mark::is_literal(&name) || name.contains('[') {
                self.unknown_text("what is evaluated as a number", span);
            }
            let values = match self.state.variables.get(&name) {
                Some(Variable::Scalar(value)) => vec![value.clone()],
                Some(Variable::List(values) | Variable::Scattered(values)) => values.clone(),
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

    /// A text that runs in this shell at some later time, perhaps often: what it sets has no certain value any more.
    pub(crate) fn deferred(&mut self, text: &str, span: Span) {
        let before = self.state.clone();
        self.inline(text, Stream::Opaque, span);
        self.perhaps_often(&before);
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
                (Variable::List(_) | Variable::Scattered(_), true) => {}
                (_, false) => {
                    let target = self.referred(&target);
                    if !mark::is_literal(&target) {
                        self.unknown_text("which variable is set", span);
                    }
                    if target == name || self.state.references.contains_key(&target) {
                        self.state.variables.insert(target, Variable::Scalar(mark::OUTPUT.to_string()));
                    } else {
                        self.bind(&target, value, span);
                    }
                }
            }
            return;
        }
        let (base, subscript) = name.split_once('[').map_or((name.as_str(), ""), |(base, rest)| (base, rest));
        self.evaluated(subscript, span);
        if self.state.integers.contains(base) {
            match &value {
                Variable::Scalar(text) => self.evaluated(text, span),
                Variable::List(items) | Variable::Scattered(items) => {
                    items.iter().for_each(|item| self.evaluated(item, span))
                }
            }
        }
        let value = self.attributed(base, value);
        let value = match (value, subscript.is_empty(), self.state.variables.get(base)) {
            (value, true, _) => value,
            (Variable::Scalar(text), false, before) => {
                let index = subscript.strip_suffix(']').unwrap_or(subscript);
                let items = match before {
                    Some(Variable::List(items) | Variable::Scattered(items)) => items.clone(),
                    Some(Variable::Scalar(first)) => vec![first.clone()],
                    None => Vec::new(),
                };
                placed(items, matches!(before, Some(Variable::Scattered(_))), index, text)
            }
            (value @ (Variable::List(_) | Variable::Scattered(_)), false, _) => value,
        };
        self.state.doubtful.remove(base);
        self.state.variables.insert(base.to_owned(), value);
    }

    /// `unset name[index]`: what is left is not in the places where it was.
    pub(crate) fn unset_element(&mut self, name: &str, span: Span) {
        let base = name.split('[').next().unwrap_or(name);
        let base = self.referred(base);
        self.evaluated(name, span);
        if let Some(Variable::List(items) | Variable::Scattered(items)) = self.state.variables.get(&base).cloned() {
            let words: Vec<Arg> = items.into_iter().map(|item| Arg::new(item, span)).collect();
            self.name_words(&words);
        }
        self.state.variables.insert(base, Variable::Scattered(vec![mark::OUTPUT.to_string()]));
    }

    /// What a variable makes of a value by its attributes, and whether it takes it at all.
    fn attributed(&mut self, base: &str, value: Variable) -> Variable {
        let unknown = || Variable::Scalar(mark::OUTPUT.to_string());
        if let Some(own) = self.state.variables.get(base).filter(|own| **own != value).cloned()
            && self.state.fixed.contains(base)
        {
            return self.one_of(&own, &value);
        }
        match value {
            Variable::Scalar(text) if self.state.integers.contains(base) => {
                // What is no number leaves the variable as it was.
                let number = crate::arithmetic::evaluate(&text).map(|number| number.to_string());
                match (number, self.state.variables.get(base).cloned()) {
                    (Some(number), _) => Variable::Scalar(number),
                    (None, Some(own)) => self.one_of(&own, &Variable::Scalar(mark::NUMBER.to_string())),
                    (None, None) => Variable::Scalar(mark::NUMBER.to_string()),
                }
            }
            // Whether the attribute was set is not certain either, so neither spelling is.
            Variable::Scalar(text) if self.state.folded.contains(base) && text.chars().any(char::is_alphabetic) => {
                unknown()
            }
            Variable::List(_) | Variable::Scattered(_) if self.state.folded.contains(base) => unknown(),
            value @ (Variable::Scalar(_) | Variable::List(_) | Variable::Scattered(_)) => value,
        }
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
            Variable::List(items) | Variable::Scattered(items) => items.clone(),
        };
        // A shell that keeps a history writes it there when it ends.
        if let ("HISTFILE", Some(file)) = (name, texts.first()) {
            self.write_file(file, How::Append, span);
        }
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
        let base = name.split('[').next().unwrap_or(name).trim_end_matches('+');
        let is_list = matches!(self.state.variables.get(base), Some(Variable::List(_) | Variable::Scattered(_)));
        let before = (!declares_surely(words, is_list)).then(|| self.state.clone());
        self.declared_surely(words, name, value, span);
        if let Some(before) = before {
            self.perhaps_ran(before);
        }
    }

    fn declared_surely(&mut self, words: &[Arg], name: &str, value: Variable, span: Span) {
        let has = |letter: char| {
            let options =
                words.iter().skip(1).filter(|word| word.text.starts_with('-') && !word.text.starts_with("--"));
            options.into_iter().any(|word| word.text.contains(letter))
        };
        let verb = words.first().map(|word| word.text.as_str()).unwrap_or_default();
        let declares = matches!(verb, "declare" | "typeset" | "local");
        let refers = has('n') && declares;
        let base = name.split('[').next().unwrap_or(name).trim_end_matches('+').to_owned();
        if has('g') && verb != "local" {
            if self.assign_hidden(&base, &value) {
                self.expanded_variable(name, &value, span);
                return;
            }
        } else if declares && !self.localise(name, has('I')) && verb == "local" {
            // Outside of a function `local` is an error in some shells and an assignment in others.
            let value = match self.state.variables.get(&base).cloned() {
                Some(own) if own != value => self.one_of(&own, &value),
                Some(_) | None => value,
            };
            self.assign(name, value, span);
            return;
        }
        if let (true, Variable::Scalar(target)) = (refers, &value) {
            self.refer(name, target, span);
            return;
        }
        self.attributes(words, &base);
        self.assign(name, value, span);
        if verb == "export" && !has('n') || declares && has('x') {
            self.state.handed_on.insert(base.clone());
        }
        if has('r') && declares || verb == "readonly" {
            self.state.fixed.insert(base);
        }
    }

    /// `declare -i name`, `declare +l name`: what the variable does to values from now on.
    pub(crate) fn attributes(&mut self, words: &[Arg], base: &str) {
        for word in words.iter().skip(1) {
            let Some(letters) = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { continue };
            if letters.contains('i') {
                self.state.integers.insert(base.to_owned());
            }
            if letters.contains(['l', 'u', 'c']) {
                self.state.folded.insert(base.to_owned());
            }
        }
    }

    /// `declare -n name=target`; without a target the first value will be it.
    pub(crate) fn refer(&mut self, name: &str, target: &str, span: Span) {
        self.evaluated(target, span);
        let target = if mark::is_literal(target) { target.to_owned() } else { mark::OUTPUT.to_string() };
        self.state.references.insert(name.to_owned(), target);
    }
}

/// Whether the options are ones with which something is declared; others are shown, or refused.
fn declares_surely(words: &[Arg], is_list: bool) -> bool {
    let letters = match words.first().map(|word| word.text.as_str()) {
        Some("export") => "n",
        Some("readonly") => "aA",
        Some(_) | None => "aAgiIlnrtux",
    };
    let has = |letter: char| words.iter().skip(1).any(|word| word.text.starts_with('-') && word.text.contains(letter));
    let one_kind = !(has('a') && has('A'));
    one_kind
        && words.iter().skip(1).all(|word| match word.text.strip_prefix(['-', '+']) {
            Some("-") => true,
            Some(given) => {
                given.chars().all(|letter| letters.contains(letter))
                    && !given.is_empty()
                    && !(is_list && given.contains('A'))
            }
            None => !word.text.starts_with(mark::is_hole),
        })
}

/// An element put into a list: in its place where that is certain.
pub(crate) fn placed(mut items: Vec<String>, scattered: bool, index: &str, text: String) -> Variable {
    let plain = index.len() == 1 || !index.starts_with('0');
    let at = index.parse::<usize>().ok().filter(|at| plain && *at < crate::limits::FIELDS_MAX);
    match at.filter(|_| !scattered) {
        Some(at) if at < items.len() => {
            items.get_mut(at).into_iter().for_each(|item| item.clone_from(&text));
            Variable::List(items)
        }
        Some(at) if at == items.len() => {
            items.push(text);
            Variable::List(items)
        }
        Some(_) | None => {
            if items.len() < crate::limits::FIELDS_MAX {
                items.push(text);
            } else {
                items = vec![mark::OUTPUT.to_string()];
            }
            Variable::Scattered(items)
        }
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
        if let Some(end) = quote::end_of_quoted(text, i) {
            i = end + 1;
            continue;
        }
        match byte {
            b'[' => depth += 1,
            b']' if depth == 0 => return i,
            b']' => depth -= 1,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}
