//! Lists, pipelines and compound commands.

use super::merge::either;
use super::{ANY_WORDS, State, Variable, Walker};
use crate::answer::{Class, Span};
use crate::limits::{CHAIN_MAX, LOOP_ROUNDS_MAX};
use crate::mark;
use crate::stream::Stream;
use brush_parser::ast::{self, AndOr, Command, CompoundCommand, ExtendedTestExpr, SeparatorOperator};
use std::rc::Rc;

/// `time -o FILE command` where `time` was taken for a word of the grammar: many shells run the program of that name.
fn as_program_time(command: &Command) -> Option<Command> {
    let Command::Simple(simple) = command else { return None };
    let word = simple.word_or_name.as_ref()?;
    // What is quoted or expanded may be an option as well.
    let may_be_option = simple.prefix.is_none() && word.value.starts_with(['-', '$', '"', '\'', '\\', '`']);
    if !may_be_option {
        return None;
    }
    let mut simple = simple.clone();
    let time = ast::Word { value: "time".to_owned(), loc: word.loc.clone() };
    let option = simple.word_or_name.replace(time)?;
    let suffix = simple.suffix.get_or_insert_with(|| ast::CommandSuffix(Vec::new()));
    suffix.0.insert(0, ast::CommandPrefixOrSuffixItem::Word(option));
    Some(Command::Simple(simple))
}

impl Walker<'_> {
    pub(crate) fn list(&mut self, list: &ast::CompoundList, stdin: Stream) -> Stream {
        let mut out = Stream::Absent;
        let mut before: Option<State> = None;
        for ast::CompoundListItem(item, separator) in &list.0 {
            if self.is_spent() {
                return Stream::Opaque;
            }
            if self.left && before.is_none() {
                before = Some(self.state.clone());
            }
            let forks = self.forks;
            let apart = matches!(separator, SeparatorOperator::Async);
            self.forks |= apart;
            // What runs beside this shell runs in one of its own; what it did may be done or not.
            let own = apart.then(|| self.state.clone());
            if apart {
                self.state.forked();
            }
            if apart {
                self.begin(item);
            }
            out = out.then(self.and_or(item, stdin.clone()));
            if let Some(own) = own {
                let written = self.state.files.iter().filter(|(path, content)| own.files.get(*path) != Some(*content));
                self.beside.extend(written.map(|(path, _)| path.clone()));
                let after = std::mem::replace(&mut self.state, own);
                self.state.may_have_written(after);
            }
            self.forks = forks;
        }
        if let Some(before) = before {
            // Whether this part was reached is not known.
            self.join(&before);
        }
        out
    }

    /// Both sides of `&&` and `||` are walked: which one runs is not known here.
    pub(super) fn and_or(&mut self, list: &ast::AndOrList, stdin: Stream) -> Stream {
        let before = self.state.stayed.len();
        let mut out = self.pipeline(&list.first, stdin.clone());
        // Behind `cd x &&` the shell is in x.
        let entered = before == 0
            && changes_folder(&list.first)
            && list.additional.iter().all(|next| matches!(next, AndOr::And(_)));
        let stayed = if entered { std::mem::take(&mut self.state.stayed) } else { Vec::new() };
        let mut skipped: Vec<State> = Vec::new();
        let mut certain = always_succeeds(&list.first);
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) => {
                    if skipped.len() < CHAIN_MAX {
                        skipped.push(self.state.clone());
                    } else {
                        self.report.unknown("TOO_MANY", "more commands behind `&&` than are followed", Span::default());
                    }
                    let next = self.pipeline(pipeline, stdin.clone());
                    out = out.then(if certain { next } else { self.perhaps_printed(next) });
                    certain &= always_succeeds(pipeline);
                }
                AndOr::Or(pipeline) if always_fails(&list.first) => out = self.pipeline(pipeline, stdin.clone()),
                AndOr::Or(pipeline) => {
                    let before = self.state.clone();
                    let other = self.pipeline(pipeline, stdin.clone());
                    // After `a || b` the state is that of a or that of b.
                    let after = std::mem::replace(&mut self.state, before);
                    self.join(&after);
                    out = self.either_printed(out, other);
                    certain = false;
                }
            }
        }
        // Whether the right side of `&&` ran is not known either.
        for before in skipped {
            self.join(&before);
        }
        self.state.stayed.extend(stayed);
        out
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, stdin: Stream) -> Stream {
        let timed = pipeline.timed.as_ref().and_then(|_| pipeline.seq.first()).and_then(as_program_time);
        if let [only] = pipeline.seq.as_slice() {
            return self.command(timed.as_ref().unwrap_or(only), stdin);
        }
        let forks = self.forks;
        self.forks = true;
        let mut flow = stdin;
        for (at, command) in pipeline.seq.iter().enumerate() {
            let command = timed.as_ref().filter(|_| at == 0).unwrap_or(command);
            // Every stage runs in a shell of its own, but files it writes stay.
            let saved = self.state.clone();
            self.state.forked();
            flow = self.command(command, flow);
            let after = self.ways.contains("lastpipe").then(|| self.state.clone());
            self.state.returned(saved);
            if let Some(after) = after {
                // The last stage runs in this shell, perhaps.
                self.join(&after);
            }
        }
        self.forks = forks;
        flow
    }

    pub(crate) fn command(&mut self, command: &Command, stdin: Stream) -> Stream {
        let out = self.any_command(command, stdin);
        self.spring();
        out
    }

    fn any_command(&mut self, command: &Command, stdin: Stream) -> Stream {
        match command {
            Command::Simple(simple) => self.simple(simple, stdin),
            Command::Compound(compound, redirects) => self.redirected(compound, redirects.as_ref(), stdin),
            Command::Function(function) => {
                let name = function.fname.value.clone();
                let body = Rc::new(function.body.clone());
                let known = self.state.functions.entry(name.clone()).or_default();
                // One that keeps its body may not take this one.
                if !self.state.fixed.contains(&format!("{name}()")) || known.len() >= LOOP_ROUNDS_MAX {
                    known.clear();
                }
                known.push(Rc::clone(&body));
                // Built-ins that are part of the grammar are found before functions, by some shells.
                if super::simple::SPECIAL.contains(&name.as_str()) {
                    self.state.perhaps.insert(name.clone());
                } else {
                    self.state.perhaps.remove(&name);
                }
                if name.starts_with("command_not_found_handle") {
                    // The shell calls it by itself, for whatever name it does not know.
                    self.call(&name, &body, vec![mark::OUTPUT.to_string()], Stream::Absent, Span::default());
                }
                Stream::Absent
            }
            Command::ExtendedTest(test, redirects) => {
                self.extended_test(&test.expr, 0);
                if let Some(redirects) = redirects {
                    self.redirects(&redirects.0, Stream::Absent);
                }
                Stream::Absent
            }
        }
    }

    pub(crate) fn redirected(
        &mut self,
        compound: &CompoundCommand,
        redirects: Option<&ast::RedirectList>,
        stdin: Stream,
    ) -> Stream {
        let Some(redirects) = redirects else { return self.compound(compound, stdin) };
        let plan = self.redirects(&redirects.0, stdin);
        let before = plan.may_fail.then(|| self.state.clone());
        let out = self.compound(compound, plan.stdin.clone());
        if let Some(before) = before {
            self.perhaps_ran(before);
        }
        self.deliver(&plan, out, true)
    }

    fn compound(&mut self, compound: &CompoundCommand, stdin: Stream) -> Stream {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, stdin),
            CompoundCommand::Subshell(shell) => {
                let saved = self.state.clone();
                self.state.forked();
                let out = self.list(&shell.list, stdin);
                self.state.returned(saved);
                out
            }
            CompoundCommand::ForClause(clause) => self.for_each(clause, stdin),
            CompoundCommand::ArithmeticForClause(clause) => {
                for expr in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expr.value, Span::default());
                }
                self.rounds(None, &clause.body.list, stdin)
            }
            CompoundCommand::CaseClause(clause) => self.case(clause, stdin),
            CompoundCommand::IfClause(clause) => self.if_else(clause, stdin),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => self.repeat(clause, stdin),
            CompoundCommand::Arithmetic(arithmetic) => {
                self.arithmetic(&arithmetic.expr.value, Span::default());
                Stream::Absent
            }
            CompoundCommand::Coprocess(coprocess) => {
                let forks = std::mem::replace(&mut self.forks, true);
                let saved = self.state.clone();
                self.state.forked();
                self.command(&coprocess.body, stdin);
                let after = std::mem::replace(&mut self.state, saved);
                self.state.may_have_written(after);
                self.forks = forks;
                Stream::Absent
            }
        }
    }

    fn for_each(&mut self, clause: &ast::ForClauseCommand, stdin: Stream) -> Stream {
        let mut values = Vec::new();
        match &clause.values {
            Some(words) => {
                let outer = std::mem::take(&mut self.unsure);
                for word in words {
                    values.extend(self.word(word).into_iter().map(|arg| arg.text));
                }
                if std::mem::replace(&mut self.unsure, outer) {
                    values.push(mark::OUTPUT.to_string());
                }
            }
            None => {
                values = self.state.positional.clone().unwrap_or_else(|| vec![mark::UNSET.to_string()]);
                if values == [ANY_WORDS] {
                    values = vec![mark::OUTPUT.to_string()];
                }
            }
        }
        let more = values.len() > LOOP_ROUNDS_MAX;
        // The worst target may stand last in a long list, so vital places are walked first.
        values.sort_by_key(|value| !crate::zone::of(&self.resolve(value), &self.state.cwd, self.view.home).is_vital());
        values.truncate(LOOP_ROUNDS_MAX);
        if more {
            values.push(mark::OUTPUT.to_string());
        }
        // A value that is not known, or a wildcard, may be many or none.
        let certain = !values.is_empty() && values.iter().all(|value| mark::is_literal(value));
        let before = self.state.clone();
        let mut out = Stream::Absent;
        let left = std::mem::replace(&mut self.left, false);
        for value in values {
            self.iterate(&clause.variable_name, &value);
            out = out.then(self.list(&clause.body.list, stdin.clone()));
            if !mark::is_literal(&value) && !self.is_spent() && self.has_moved(&before, &clause.variable_name) {
                self.join(&before);
                self.iterate(&clause.variable_name, &value);
                out = out.then(self.list(&clause.body.list, stdin.clone()));
            }
        }
        self.left = left;
        if !certain {
            self.join(&before);
        }
        out
    }

    /// Gives the variable of a loop its next value; one that is another name becomes a name of something else.
    fn iterate(&mut self, name: &str, value: &str) {
        if self.state.references.contains_key(name) {
            self.refer(name, value, Span::default());
        } else {
            self.assign(name, Variable::Scalar(value.to_owned()), Span::default());
        }
    }

    /// A body that runs any number of times, none included: the second round meets what the first one left behind.
    fn rounds(&mut self, condition: Option<&ast::CompoundList>, body: &ast::CompoundList, stdin: Stream) -> Stream {
        let left = std::mem::replace(&mut self.left, false);
        let before = self.state.clone();
        let mut out = Stream::Absent;
        for _ in 0..2 {
            if let Some(condition) = condition {
                self.list(condition, stdin.clone());
            }
            out = out.then(self.list(body, stdin.clone()));
            let moved = self.has_moved(&before, "");
            self.join(&before);
            if !moved || self.is_spent() {
                break;
            }
        }
        self.left = left;
        out
    }

    /// Whether anything but `name` changed that a second round of a loop would see.
    fn has_moved(&self, before: &State, name: &str) -> bool {
        let own = &self.state;
        own.cwd != before.cwd
            || own.positional != before.positional
            || own.aliases != before.aliases
            || own.references != before.references
            || !own.has_same_functions(before)
            || own.variables.iter().any(|(key, value)| key != name && before.variables.get(key) != Some(value))
    }

    fn repeat(&mut self, clause: &ast::WhileOrUntilClauseCommand, stdin: Stream) -> Stream {
        let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
        let lines: Vec<Stream> = match &stdin {
            Stream::Text(text) if text.lines().count() <= LOOP_ROUNDS_MAX => {
                text.lines().map(|line| Stream::text(format!("{line}\n"))).collect()
            }
            Stream::Absent | Stream::Text(_) | Stream::Remote | Stream::Secret | Stream::Opaque => vec![stdin.clone()],
        };
        let [only] = lines.as_slice() else {
            let left = std::mem::replace(&mut self.left, false);
            let before = self.state.clone();
            let mut out = Stream::Absent;
            for line in lines {
                self.list(condition, line.clone());
                out = out.then(self.list(&body.list, line));
            }
            self.left = left;
            self.join(&before);
            return out;
        };
        self.rounds(Some(condition), &body.list, only.clone())
    }

    fn if_else(&mut self, clause: &ast::IfClauseCommand, stdin: Stream) -> Stream {
        self.list(&clause.condition, stdin.clone());
        let before = self.state.clone();
        let mut out = self.list(&clause.then, stdin.clone());
        let mut after = std::mem::replace(&mut self.state, before);
        for branch in clause.elses.iter().flatten() {
            if let Some(condition) = &branch.condition {
                self.list(condition, stdin.clone());
            }
            let before = self.state.clone();
            let other = self.list(&branch.body, stdin.clone());
            out = either(out, other);
            let this = std::mem::replace(&mut self.state, after);
            self.join(&this);
            after = std::mem::replace(&mut self.state, before);
        }
        let fallthrough = std::mem::replace(&mut self.state, after);
        if clause.elses.as_ref().is_none_or(|branches| branches.iter().all(|branch| branch.condition.is_some())) {
            self.join(&fallthrough);
            return self.perhaps_printed(out);
        }
        out
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand, stdin: Stream) -> Stream {
        let value = self.word_joined(&clause.value);
        let mut out = Stream::Absent;
        let before = self.state.clone();
        let mut after: Option<State> = None;
        for item in &clause.cases {
            for pattern in &item.patterns {
                self.word_joined(pattern);
            }
            let decided = mark::is_literal(&value)
                && item
                    .patterns
                    .iter()
                    .all(|pattern| !pattern.value.contains(['*', '?', '[', '$', '`', '\'', '"', '\\', '(']))
                // Where `nocasematch` is set, letters of either case are the same.
                && !item.patterns.iter().any(|pattern| pattern.value.to_lowercase() == value.to_lowercase());
            if decided {
                continue;
            }
            self.state = before.clone();
            if let Some(body) = &item.cmd {
                let branch = self.list(body, stdin.clone());
                out = either(out, branch);
            }
            if let Some(other) = after.take() {
                self.join(&other);
            }
            after = Some(self.state.clone());
        }
        self.state = before;
        if let Some(after) = after {
            self.join(&after);
        }
        self.perhaps_printed(out)
    }

    fn extended_test(&mut self, expr: &ExtendedTestExpr, depth: usize) {
        if depth > crate::limits::COMPOUND_MAX {
            self.report.unknown("TOO_DEEP", "the test is nested too deeply", Span::default());
            return;
        }
        match expr {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                self.extended_test(a, depth + 1);
                self.extended_test(b, depth + 1);
            }
            ExtendedTestExpr::Not(a) | ExtendedTestExpr::Parenthesized(a) => self.extended_test(a, depth + 1),
            ExtendedTestExpr::UnaryTest(test, word) => {
                let text = self.word_joined(word);
                if matches!(test.to_string().as_str(), "-v" | "-R") {
                    self.evaluated(&text, Span::default());
                }
            }
            ExtendedTestExpr::BinaryTest(test, left, right) => {
                let numbers = matches!(test.to_string().as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
                for word in [left, right] {
                    let text = self.word_joined(word);
                    if numbers {
                        self.evaluated(&text, Span::default());
                    }
                }
            }
        }
    }

    /// Calls a function by name: each body that the name may mean.
    pub(crate) fn call_either(
        &mut self,
        name: &str,
        bodies: &[Rc<ast::FunctionBody>],
        arguments: Vec<String>,
        stdin: Stream,
        span: Span,
    ) -> Stream {
        let [body] = bodies else {
            let before = self.state.clone();
            let mut after: Option<State> = None;
            let mut out = Stream::Absent;
            for body in bodies {
                self.state = before.clone();
                out = either(out, self.call(name, body, arguments.clone(), stdin.clone(), span));
                if let Some(other) = after.take() {
                    self.join(&other);
                }
                after = Some(self.state.clone());
            }
            return out;
        };
        self.call(name, body, arguments, stdin, span)
    }

    /// Calls a function defined earlier in the text.
    pub(crate) fn call(
        &mut self,
        name: &str,
        body: &Rc<ast::FunctionBody>,
        arguments: Vec<String>,
        stdin: Stream,
        span: Span,
    ) -> Stream {
        if self.calls.len() >= crate::limits::DEPTH_MAX {
            self.report.unknown("TOO_DEEP", "functions call each other too deeply to follow", span);
            return Stream::Opaque;
        }
        if self.calls.iter().any(|(active, text)| active == name && Rc::ptr_eq(text, body)) {
            if self.forks {
                self.report.raise(
                    Class::Catastrophic,
                    "FORK_BOMB",
                    format!("`{name}` starts copies of itself without end"),
                    span,
                );
            } else {
                self.report.unknown("RECURSION", format!("`{name}` calls itself"), span);
            }
            return Stream::Opaque;
        }
        self.calls.push((name.to_owned(), Rc::clone(body)));
        let forks = std::mem::replace(&mut self.forks, false);
        let left = std::mem::replace(&mut self.left, false);
        let arguments = if self.unordered { vec![ANY_WORDS.to_owned()] } else { arguments };
        let saved = self.state.positional.replace(arguments);
        let doubtful = self.state.doubtful.remove("@");
        self.state.doubtful.extend(self.unsure.then(|| "@".to_owned()));
        self.open_scope();
        let ast::FunctionBody(compound, redirects) = &**body;
        let out = self.redirected(compound, redirects.as_ref(), stdin);
        self.close_scope();
        self.state.positional = saved;
        self.state.doubtful.remove("@");
        self.state.doubtful.extend(doubtful.then(|| "@".to_owned()));
        self.left = left;
        self.forks = forks;
        self.calls.pop();
        out
    }
}

/// `cd x`: nothing else decides where the shell is afterwards.
fn changes_folder(pipeline: &ast::Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
    let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
    !pipeline.bang && matches!(name, Some("cd" | "pushd"))
}

/// Programs behind which `&&` goes on, as far as anybody can tell: `cd x && pwd`.
fn always_succeeds(pipeline: &ast::Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
    let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
    !pipeline.bang
        && matches!(name, Some("cd" | "pushd" | "true" | ":" | "echo" | "printf" | "pwd" | "mkdir" | "export"))
}

/// `false || x` always runs x.
fn always_fails(pipeline: &ast::Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
    let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
    simple.prefix.is_none() && matches!((name, pipeline.bang), (Some("false"), false) | (Some("true" | ":"), true))
}
