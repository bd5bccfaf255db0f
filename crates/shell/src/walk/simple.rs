//! Simple commands: assignments, words, redirections, then the program.

use super::redirect::Plan;
use super::{Arg, State, Variable, Walker, evaluate};
use crate::answer::{Capability, Span};
use crate::limits::{FIELDS_MAX, VALUE_BYTES_MAX, WORDS_MAX};
use crate::mark;
use crate::rules::environment::{self, Use};
use crate::stream::Stream;
use crate::touch::How;
use brush_parser::ast::{
    self, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem, IoRedirect, ProcessSubstitutionKind,
};

/// Programs whose `name=value` operands are assignments.
const DECLARING: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

/// Built-ins that a shell may take for part of its own grammar.
pub(super) const SPECIAL: &[&str] = &[
    ":", ".", "source", "eval", "exec", "set", "shift", "trap", "unset", "times", "return", "exit", "break", "continue",
];

impl Walker<'_> {
    pub(crate) fn simple(&mut self, simple: &ast::SimpleCommand, stdin: Stream) -> Stream {
        let outer = (std::mem::take(&mut self.unordered), std::mem::take(&mut self.unsure));
        let before = (!self.state.doubtful.is_empty()).then(|| self.state.clone());
        let mut out = self.simple_alone(simple, stdin.clone());
        if self.unsure {
            out = match before {
                Some(before) => crate::run::one_of(out, self.simple_without(simple, stdin, before)),
                None => out,
            };
            out = if matches!(out, Stream::Text(_)) { out.blurred() } else { out };
        }
        (self.unordered, self.unsure) = outer;
        out
    }

    /// The same once more, with the variables empty that may not be set.
    fn simple_without(&mut self, simple: &ast::SimpleCommand, stdin: Stream, before: State) -> Stream {
        let after = std::mem::replace(&mut self.state, before);
        let nothing = Variable::Scalar(String::new());
        let doubtful = std::mem::take(&mut self.state.doubtful);
        for name in &doubtful {
            if name == "@" {
                self.state.positional = Some(Vec::new());
            } else if let Some(value) = self.state.variables.get_mut(name) {
                value.clone_from(&nothing);
            }
        }
        let listed = self.report.listed();
        let out = self.simple_alone(simple, stdin);
        self.report.unlist_repeated(listed);
        // What it did not set is in doubt as before.
        self.state.variables.retain(|name, value| !(doubtful.contains(name) && *value == nothing));
        self.join(&after);
        out
    }

    fn simple_alone(&mut self, simple: &ast::SimpleCommand, stdin: Stream) -> Stream {
        let mut words: Vec<Arg> = Vec::new();
        let mut assignments: Vec<(String, Variable)> = Vec::new();
        let mut redirects: Vec<IoRedirect> = Vec::new();
        let mut sinks: Vec<ast::SubshellCommand> = Vec::new();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        // In bash `x=1 cmd $x` the word sees the old value, so assignments wait until words are expanded,
        // unless there is no command at all.
        let bare = simple.word_or_name.is_none();
        let before = is_redirected(simple).then(|| self.state.clone());
        for item in prefix {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    let entry = self.assigned(assignment);
                    if bare {
                        self.bind(&entry.0, entry.1.clone(), Span::default());
                    }
                    assignments.push(entry);
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect.clone()),
                CommandPrefixOrSuffixItem::Word(word) => words.extend(self.word(word)),
                CommandPrefixOrSuffixItem::ProcessSubstitution(kind, shell) => {
                    self.process_substitution(kind, shell, &mut words, &mut sinks)
                }
            }
        }
        if let Some(name) = &simple.word_or_name {
            words.extend(self.word(name));
        }
        let declaring = words.first().is_some_and(|first| DECLARING.contains(&first.text.as_str()));
        for item in suffix {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    if declaring {
                        let span = self.span_of(word.loc.as_ref());
                        self.declared_word(&words, assignment, span);
                    } else {
                        words.extend(self.word(word));
                    }
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect.clone()),
                CommandPrefixOrSuffixItem::Word(word) => words.extend(self.word(word)),
                CommandPrefixOrSuffixItem::ProcessSubstitution(kind, shell) => {
                    self.process_substitution(kind, shell, &mut words, &mut sinks)
                }
            }
        }
        let span = self.command_span(simple, &words);
        if redirects.len() > FIELDS_MAX || words.len() > WORDS_MAX {
            self.report.unknown("TOO_MANY", "the command has more words or redirections than are judged", span);
            redirects.truncate(FIELDS_MAX);
            words.truncate(WORDS_MAX);
        }
        let mut plan = self.redirects(&redirects, stdin);
        for (name, value) in &assignments {
            self.notable_variable(name, value, span);
        }
        if !self.step(span) {
            return Stream::Opaque;
        }
        self.connected_shell_call(&words, &mut plan, span);
        let had_words = !words.is_empty();
        let out = self.run_with(words, assignments, plan.stdin.clone(), span);
        self.fill_sinks(&sinks, &out);
        if let Some(before) = before.filter(|_| plan.may_fail) {
            self.perhaps_ran(before);
        }
        self.deliver(&plan, out, had_words)
    }

    fn declared_word(&mut self, words: &[Arg], assignment: &ast::Assignment, span: Span) {
        let (name, value) = self.assigned(assignment);
        self.notable_variable(&name, &value, span);
        self.named_variable(words, &value);
        self.declared(words, &name, value, span);
    }

    /// An exported variable reaches programs, and some write to what it names.
    fn named_variable(&mut self, words: &[Arg], value: &Variable) {
        let exported = words.first().is_some_and(|first| first.text == "export");
        if let (true, Variable::Scalar(text)) = (exported, value) {
            self.name_words(&[Arg::new(text.clone(), Span::default())]);
        }
    }

    /// What is written into `>(…)` is read by the commands inside, which change nothing outside of them.
    fn fill_sinks(&mut self, sinks: &[ast::SubshellCommand], out: &Stream) {
        for shell in sinks {
            let saved = self.state.clone();
            self.state.forked();
            self.list(&shell.list, out.blurred());
            let after = std::mem::replace(&mut self.state, saved);
            self.state.may_have_written(after);
        }
    }

    /// Runs with the assignments before the command in force, and takes them back afterwards.
    fn run_with(&mut self, words: Vec<Arg>, assignments: Vec<(String, Variable)>, stdin: Stream, span: Span) -> Stream {
        if words.is_empty() || assignments.is_empty() {
            return self.named(words, stdin, span);
        }
        // Some programs write to what a variable names, also those that only look: `GIT_TRACE=PATH git status`.
        for (_, value) in &assignments {
            if let Variable::Scalar(text) = value {
                self.name_words(&[Arg::new(text.clone(), span)]);
            }
        }
        // What is exported in the same breath stays.
        if words.iter().any(|word| matches!(word.text.as_str(), "export" | "readonly")) {
            assignments.iter().for_each(|(name, value)| self.bind(name, value.clone(), span));
            self.state.handed_on.extend(assignments.into_iter().map(|(name, _)| name));
            return self.named(words, stdin, span);
        }
        // In some shells, and in some modes of this one, what stands before these stays too.
        let special = words.first().is_some_and(|first| SPECIAL.contains(&first.text.as_str()));
        let kept = if special { assignments.clone() } else { Vec::new() };
        let names: Vec<String> = assignments.iter().map(|(name, _)| name.clone()).collect();
        let saved = self.state.variables.clone();
        let handed_on = self.state.handed_on.clone();
        self.state.handed_on.extend(names.iter().cloned());
        self.state.variables.extend(assignments);
        let out = self.named(words, stdin, span);
        self.state.handed_on = handed_on;
        // A function may have set others.
        for name in names {
            match saved.get(&name) {
                Some(before) => self.state.variables.insert(name, before.clone()),
                None => self.state.variables.remove(&name),
            };
        }
        if !kept.is_empty() {
            let mut other = self.state.clone();
            other.variables.extend(kept);
            self.join(&other);
        }
        out
    }

    /// A shell whose input or output is another machine obeys that machine.
    fn connected_shell_call(&mut self, words: &[Arg], plan: &mut Plan, span: Span) {
        let name = words.first().map(|word| word.text.rsplit('/').next().unwrap_or_default()).unwrap_or_default();
        self.state.connection |= plan.connected && name == "exec";
        plan.stays_open = name == "exec" && words.len() == 1;
        let connected = plan.connected || (plan.duplicated && self.state.connection);
        if connected && matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash") {
            self.remote_code("a shell is connected to another machine".to_owned(), span);
        }
    }

    fn command_span(&self, simple: &ast::SimpleCommand, words: &[Arg]) -> Span {
        if let Some(origin) = self.origin {
            return origin;
        }
        let start = simple.word_or_name.as_ref().map(|word| self.span_of(word.loc.as_ref()));
        match (start, words.last()) {
            (Some(start), Some(last)) => Span { start: start.start, end: last.span.end.max(start.end) },
            (Some(start), None) => start,
            (None, _) => Span::default(),
        }
    }

    /// `<(command)` becomes a file whose content is the command's output.
    fn process_substitution(
        &mut self,
        kind: &ProcessSubstitutionKind,
        shell: &ast::SubshellCommand,
        words: &mut Vec<Arg>,
        sinks: &mut Vec<ast::SubshellCommand>,
    ) {
        let span = self.span_of(Some(&shell.loc));
        self.substitutions += 1;
        let path = format!("/dev/fd/{}", 62 + self.substitutions);
        match kind {
            ProcessSubstitutionKind::Read => {
                let content = self.captured(shell);
                self.state.files.insert(path.clone(), content);
            }
            ProcessSubstitutionKind::Write => sinks.push(shell.clone()),
        }
        words.push(Arg::new(path, span));
    }

    fn assigned(&mut self, assignment: &ast::Assignment) -> (String, Variable) {
        let (name, index) = match &assignment.name {
            AssignmentName::VariableName(name) => (name.clone(), None),
            AssignmentName::ArrayElementName(name, index) => {
                self.arithmetic(index, Span::default());
                (name.clone(), Some(index.clone()))
            }
        };
        let name =
            if self.state.references.contains_key(&name) && assignment.append { self.referred(&name) } else { name };
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let text = self.word_valued(word);
                match (self.state.variables.get(&name), assignment.append, &index) {
                    (Some(Variable::Scalar(before)), true, None) => {
                        Variable::Scalar(bounded(format!("{before}{text}")))
                    }
                    (Some(Variable::List(items)), true, None) => {
                        let first = format!("{}{text}", items.first().map(String::as_str).unwrap_or_default());
                        evaluate::placed(items.clone(), false, "0", bounded(first))
                    }
                    (Some(Variable::Scattered(_)), true, None) | (Some(_), true, Some(_)) => {
                        Variable::Scattered(vec![mark::OUTPUT.to_string()])
                    }
                    (before, _, Some(index)) => {
                        let (items, scattered) = match before {
                            Some(Variable::List(items)) => (items.clone(), false),
                            Some(Variable::Scattered(items)) => (items.clone(), true),
                            Some(Variable::Scalar(first)) => (vec![first.clone()], false),
                            None => (Vec::new(), false),
                        };
                        evaluate::placed(items, scattered, index, text)
                    }
                    (_, _, None) => Variable::Scalar(text),
                }
            }
            AssignmentValue::Array(entries) => {
                let before = self.state.variables.get(&name).filter(|_| assignment.append).cloned();
                let mut scattered = matches!(before, Some(Variable::Scattered(_)));
                let mut items = match before {
                    Some(Variable::List(before) | Variable::Scattered(before)) => before,
                    Some(Variable::Scalar(first)) => vec![first],
                    None => Vec::new(),
                };
                let outer = (std::mem::take(&mut self.unordered), std::mem::take(&mut self.unsure));
                for (index, word) in entries {
                    if let Some(index) = index {
                        self.arithmetic(&index.value, Span::default());
                        scattered = true;
                    }
                    let words = self.word(word);
                    // What may be several words or none moves those behind it.
                    scattered |= words.iter().any(|arg| !mark::is_literal(&arg.text));
                    items.extend(words.into_iter().map(|arg| arg.text));
                }
                scattered |= self.unordered || self.unsure;
                (self.unordered, self.unsure) = outer;
                if items.len() > FIELDS_MAX {
                    (items, scattered) = (vec![mark::OUTPUT.to_string()], true);
                }
                if scattered { Variable::Scattered(items) } else { Variable::List(items) }
            }
        };
        (name, value)
    }

    /// Variables that make other programs run code or load libraries.
    pub fn notable_variable(&mut self, name: &str, value: &Variable, span: Span) {
        let text = match value {
            Variable::Scalar(text) => text.clone(),
            Variable::List(items) | Variable::Scattered(items) => items.join(" "),
        };
        self.expanded_variable(name, value, span);
        // Git appends what it does to the file that such a variable names, whatever it is told to do.
        if name.starts_with("GIT_TRACE") && text.starts_with('/') {
            self.write_file(&text, How::Append, span);
        }
        if environment::steers(name, &text) {
            self.report.talks(&format!("{name}="));
        }
        let Some(used) = environment::of(name) else { return };
        match used {
            Use::Programs | Use::Modules | Use::Tool | Use::Options(_) | Use::OnlyOptions(_) => {
                self.report.can(Capability::Exec);
            }
            Use::Loads | Use::Starts | Use::Runs => {
                let sentence = format!("`{name}` makes other programs run `{}`", mark::shown(&text));
                self.report.can_because(Capability::Exec, sentence, span);
                if used == Use::Runs && text.contains(' ') {
                    self.inner(text.trim_start_matches(['|', '-']), Stream::Opaque, span);
                }
            }
            Use::Prompts => {
                self.report.can_because(Capability::Persistence, "`PROMPT_COMMAND` runs before every prompt", span);
                self.apart(&text, Stream::Absent, span);
            }
            Use::Writes | Use::Home | Use::Reaches => {}
        }
    }
}

fn is_redirected(simple: &ast::SimpleCommand) -> bool {
    let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
    prefix.chain(suffix).any(|item| matches!(item, CommandPrefixOrSuffixItem::IoRedirect(_)))
}

fn bounded(text: String) -> String {
    if text.len() > VALUE_BYTES_MAX { mark::OUTPUT.to_string() } else { text }
}
