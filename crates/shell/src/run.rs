//! Runs nothing: finds the entry for a program and lets it speak.

use crate::answer::{Capability, Class, Span};
use crate::call::{Call, Options};
use crate::limits;
use crate::mark;
use crate::rules::{self, Files, Flag, Program, Style};
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};

/// Directories whose programs are the system's own.
const SYSTEM_BINS: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
    "/snap/bin/",
];

/// Words that, as the verb of a program nobody described, mean loss.
const LOSSES: &[&str] = &[
    "delete",
    "destroy",
    "purge",
    "wipe",
    "drop",
    "erase",
    "nuke",
    "terminate",
    "rm",
    "unregister",
    "del",
    "force-delete",
    "repo-delete",
    "deletefile",
    "delete-all",
    "remove-all",
];

/// Words that, as the verb of a program nobody described, only ask.
const QUESTIONS: &[&str] = &[
    "list",
    "ls",
    "get",
    "show",
    "describe",
    "status",
    "version",
    "info",
    "help",
    "search",
    "view",
    "inspect",
    "diff",
    "history",
    "whoami",
    "lookup",
    "ping",
    "validate",
    "check",
    "lint",
    "doctor",
    "config-validate",
];

/// Built-ins and interpreters for which `--help` behind another word is no question.
const EVALUATING: &[&str] = &[
    "eval",
    "source",
    ".",
    "let",
    "trap",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "read",
    "unset",
    "hash",
    "mapfile",
    "readarray",
    "compgen",
    "complete",
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
];

/// Programs that only hand on: if what they are given reaches other machines, that is who does.
const HANDING: &[&str] = &[
    "bash",
    "builtin",
    "caffeinate",
    "chronic",
    "command",
    "dash",
    "env",
    "eval",
    "exec",
    "find",
    "gtime",
    "gtimeout",
    "ionice",
    "nice",
    "nohup",
    "setsid",
    "sh",
    "stdbuf",
    "time",
    "timeout",
    "unbuffer",
    "xargs",
    "zsh",
];

/// Programs that a wildcard in a command's name is tried against.
const SHARP: &[&str] = &[
    "rm",
    "dd",
    "mv",
    "cp",
    "sh",
    "bash",
    "dash",
    "zsh",
    "chmod",
    "chown",
    "find",
    "curl",
    "wget",
    "shred",
    "truncate",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "mkfs",
    "mkfs.ext4",
    "mkfs.xfs",
    "wipefs",
    "cat",
    "sudo",
    "su",
    "python3",
    "perl",
    "env",
    "tee",
    "xargs",
    "git",
    "kill",
    "nc",
    "init",
];

impl Walker<'_> {
    /// Judges one simple command whose words are expanded: an alias, a function or a program.
    pub fn named(&mut self, words: Vec<Arg>, stdin: Stream, span: Span) -> Stream {
        let words = without_nothing(words);
        let Some(first) = words.first().cloned() else { return Stream::Absent };
        let name = &first.text;
        let is_certain = !self.state.perhaps.contains(name);
        match (self.state.aliases.remove(name), self.state.functions.get(name).cloned()) {
            (None, None) => self.run(words, stdin, span),
            (None, Some(bodies)) if is_certain => {
                let arguments = words.iter().skip(1).map(|word| word.text.clone()).collect();
                self.call_either(name, &bodies, arguments, stdin, span)
            }
            (None, Some(bodies)) => {
                let before = self.state.clone();
                let arguments = words.iter().skip(1).map(|word| word.text.clone()).collect();
                let out = self.call_either(name, &bodies, arguments, stdin.clone(), span);
                let after = std::mem::replace(&mut self.state, before);
                self.state.functions.remove(name);
                let other = self.run(words.clone(), stdin, span);
                self.join(&after);
                one_of(out, other)
            }
            // Shells that nobody types into do not follow aliases, unless they are told to.
            (Some(text), _) => {
                let before = self.state.clone();
                let out = self.aliased(text.clone(), &words, stdin.clone(), span);
                let after = std::mem::replace(&mut self.state, before);
                let other = self.named(words.clone(), stdin, span);
                self.join(&after);
                self.state.aliases.insert(name.clone(), text);
                one_of(out, other)
            }
        }
    }

    /// Judges a program that is given by its words.
    pub fn run(&mut self, words: Vec<Arg>, stdin: Stream, span: Span) -> Stream {
        let words = without_nothing(words);
        let Some(first) = words.first().cloned() else { return Stream::Absent };
        let span = if span == Span::default() { first.span } else { span };
        if !mark::is_literal(&first.text) {
            return self.dynamic(&first, &words, stdin, span);
        }
        let argv: Vec<String> = words.iter().map(|word| mark::shown(&word.text)).collect();
        if first.text.contains('/') {
            let path = self.resolve(&first.text);
            self.report.started(&path, argv.clone());
        }
        self.report.ran(argv);
        // What this program alone does decides whether it may be handed anything.
        let before = std::mem::replace(&mut self.report.class, Class::Read);
        let mut could = std::mem::take(&mut self.report.capabilities);
        let inner = std::mem::replace(&mut self.talked, false);
        let outer = std::mem::replace(&mut self.was_read, false);
        let out = self.judged(&first, &words, stdin, span);
        if self.report.class > Class::Read {
            self.name_words(words.get(1..).unwrap_or_default());
            self.works_elsewhere();
        }
        let name = last_name(&first.text);
        self.secret_words(&name, words.get(1..).unwrap_or_default());
        self.swept_words(&name, words.get(1..).unwrap_or_default());
        let talks = self.report.capabilities.contains(&Capability::Network);
        let was_read = std::mem::replace(&mut self.was_read, outer);
        let hands_on = was_read || HANDING.contains(&name.as_str());
        if talks && !(self.talked && hands_on) && !self.report.is_brought {
            self.report.talks(&name);
        }
        self.talked = inner || talks && !self.report.is_brought;
        self.report.class = self.report.class.max(before);
        could.append(&mut self.report.capabilities);
        self.report.capabilities = could;
        out
    }

    /// A program that decides for itself what it writes does so where it runs.
    fn works_elsewhere(&mut self) {
        let own = crate::path::normalise(self.view.cwd, "/");
        let cwd = &self.state.cwd;
        let is_below = |inner: &str, outer: &str| {
            inner.strip_prefix(outer.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // In a container, or on another machine, there is no border of this workspace.
        if matches!(cwd.as_str(), crate::act::container::INSIDE | crate::act::wrapper::REMOTE_LOGIN) {
            return;
        }
        let elsewhere = cwd.starts_with('/') && !mark::has_hole(cwd) && !is_below(cwd, &own) && !is_below(&own, cwd);
        if elsewhere && self.report.capabilities.contains(&Capability::Exec) {
            let cwd = cwd.clone();
            self.report.may_write(&cwd);
        }
    }

    /// Judges a tool that another program brings along. Listed is what was typed, which is that program.
    pub fn run_unlisted(&mut self, words: Vec<Arg>, stdin: Stream, span: Span) -> Stream {
        let before = std::mem::replace(&mut self.report.is_quiet, true);
        let brought = std::mem::replace(&mut self.report.is_brought, true);
        let out = self.run(words, stdin, span);
        self.report.is_quiet = before;
        self.report.is_brought = brought;
        out
    }

    /// Judges a program by its entry.
    fn judged(&mut self, first: &Arg, words: &[Arg], stdin: Stream, span: Span) -> Stream {
        let path = first.text.as_str();
        let name = last_name(path);
        let resolved = if path.contains('/') { self.resolve(path) } else { String::new() };
        let is_system = |path: &str| SYSTEM_BINS.iter().any(|bin| path.starts_with(bin));
        let local = path.contains('/') && !is_system(&resolved);
        // A link elsewhere to a program of the system is that program, whatever it is called.
        let linked = !local && !is_system(&crate::path::normalise(path, &self.state.cwd));
        let name = if linked && path.contains('/') { last_name(&resolved) } else { name };
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        if local && let Some(out) = self.local_program(first, words, &stdin, span) {
            return out;
        }
        if name == "$" {
            // A prompt copied along with the command.
            return self.named(words.get(1..).unwrap_or_default().to_vec(), stdin, span);
        }
        // A program called in capitals runs on a file system that ignores case, and so do its verbs.
        let shouting = path.chars().any(|c| c.is_ascii_uppercase()) && !path.chars().any(|c| c.is_ascii_lowercase());
        let args: Vec<Arg> = words
            .iter()
            .skip(1)
            .map(
                |word| {
                    if shouting { Arg { text: word.text.to_ascii_lowercase(), ..word.clone() } } else { word.clone() }
                },
            )
            .collect();
        self.environment(name, span);
        self.runs_what_was_written(name, &args, span);
        self.options_that_run(name, &args, span);
        self.local_packages(name, &args);
        crate::act::typing::typed(self, name, &args, &stdin, span);
        match rules::lookup(name) {
            // `./test` need not be `test`: the entry counts only where it adds caution, or in a `bin` directory.
            Some(program) if local && !resolved.rsplit('/').nth(1).is_some_and(|parent| parent.ends_with("bin")) => {
                let saved = self.report.clone();
                let out = self.apply(program, name, &args, stdin, span);
                if self.report.class < Class::Destructive {
                    self.report = saved;
                    self.undescribed(name, local, &args, span);
                }
                out
            }
            Some(program) => self.apply(program, name, &args, stdin, span),
            None => self.undescribed(name, local, &args, span),
        }
    }

    /// The program itself is unknown.
    fn dynamic(&mut self, first: &Arg, words: &[Arg], stdin: Stream, span: Span) -> Stream {
        self.report.can(Capability::Exec);
        let shown = mark::shown(&first.text);
        if first.text.contains(mark::REMOTE) {
            self.remote_code(format!("`{shown}` runs what another machine sent"), first.span);
            return Stream::Opaque;
        }
        if first.text.contains(mark::HIDDEN) {
            self.report.raise(
                Class::Catastrophic,
                "HIDDEN_CODE",
                "text that was encoded to be unreadable is run",
                first.span,
            );
            return Stream::Opaque;
        }
        self.report.unknown("DYNAMIC_COMMAND", format!("which program `{shown}` is cannot be known"), first.span);
        self.name_words(words.get(1..).unwrap_or_default());
        for name in self.readings(&first.text) {
            if self.guesses >= limits::GUESSES_MAX {
                break;
            }
            self.guesses += 1;
            let mut words = words.to_vec();
            if let Some(word) = words.first_mut() {
                word.text = name;
            }
            self.named(words, stdin.clone(), span);
        }
        // `$SUDO rm …`: the variable may be a wrapper or empty, so the rest is judged as a command too.
        if first.loose && words.len() > 1 {
            self.named(words.get(1..).unwrap_or_default().to_vec(), stdin, span);
        }
        Stream::Opaque
    }

    /// Programs a half-known name can mean: with its variables empty, or with its wildcards matched.
    fn readings(&self, name: &str) -> Vec<String> {
        let bare: String = name.chars().filter(|c| *c != mark::UNSET).collect();
        // A lone `*` is the first file of a directory, not a disguise.
        let says_something = bare.chars().any(|c| c.is_alphanumeric() || c == '/');
        if !says_something || mark::has_hole(&bare) {
            return Vec::new();
        }
        if !mark::has_wild(&bare) {
            return vec![bare];
        }
        let matched = |program: &&&str| {
            ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", ""]
                .iter()
                .any(|bin| crate::glob::matches(&bare, &format!("{bin}{program}")))
        };
        SHARP.iter().filter(matched).map(|program| (*program).to_owned()).collect()
    }

    /// Code from another machine is run here.
    pub fn remote_code(&mut self, sentence: String, span: Span) {
        self.report.can(Capability::Network);
        self.report.can(Capability::Exec);
        self.report.raise(Class::Catastrophic, "REMOTE_CODE", sentence, span);
    }

    fn aliased(&mut self, text: String, words: &[Arg], stdin: Stream, span: Span) -> Stream {
        let mut line = text;
        for word in words.iter().skip(1) {
            line.push(' ');
            line.push_str(&quoted(&word.text));
        }
        self.inline(&line, stdin, span)
    }

    /// A program given by a path of its own: a file this text wrote, fetched or will build.
    fn local_program(&mut self, first: &Arg, words: &[Arg], stdin: &Stream, span: Span) -> Option<Stream> {
        let path = self.resolve(&first.text);
        self.report.can(Capability::Exec);
        if let Some(program) = self.state.programs.get(&path).cloned() {
            let mut words = words.to_vec();
            if let Some(word) = words.first_mut() {
                word.text = program;
            }
            let out = self.run(words, stdin.clone(), span);
            // Where a text was written as well, which of the two lies there is not known.
            if !self.state.files.contains_key(&path) {
                return Some(out);
            }
        }
        let Some(written) = self.state.files.get(&path).cloned() else {
            // A program that was compiled is no text; what it does is not claimed to be known.
            let crate::view::Content::Seen(text) = self.looks_at(&path)?.text(&path) else { return None };
            let text = mark::cleaned(&text).into_owned();
            let saved = self.state.positional.replace(words.iter().skip(1).map(|word| word.text.clone()).collect());
            self.may_write_words(words.get(1..).unwrap_or_default());
            let out = crate::act::language::run_on_disk(self, &text, &first.text, stdin, span);
            self.state.positional = saved;
            return Some(out);
        };
        match written {
            Stream::Text(text) => {
                let saved = self.state.positional.replace(words.iter().skip(1).map(|word| word.text.clone()).collect());
                let out = self.program_text(&text, stdin.clone(), span);
                self.state.positional = saved;
                Some(out)
            }
            Stream::Remote => {
                self.remote_code(format!("`{}` came from another machine", mark::shown(&first.text)), first.span);
                Some(Stream::Opaque)
            }
            Stream::Opaque => {
                self.report.unknown(
                    "DYNAMIC_CODE",
                    format!("`{}` is written by the same command that runs it", mark::shown(&first.text)),
                    first.span,
                );
                None
            }
            Stream::Absent | Stream::Secret => None,
        }
    }

    /// Notes that `target` is now another name for the program at `source`.
    pub fn same_program(&mut self, source: &str, target: &str) {
        let (source, target) = (self.resolve(source), self.resolve(target));
        if SYSTEM_BINS.iter().any(|bin| source.starts_with(bin)) {
            self.state.programs.insert(target, source);
        }
    }

    /// A program without an entry.
    fn undescribed(&mut self, name: &str, local: bool, args: &[Arg], span: Span) -> Stream {
        let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        if texts.iter().any(|text| matches!(*text, "--help" | "--version" | "-h" | "--usage"))
            || matches!(texts.as_slice(), ["-V" | "-v" | "version" | "help", ..])
        {
            return Stream::Opaque;
        }
        self.report.can(Capability::Exec);
        self.undescribed_class(name, local, &texts, span);
        if self.report.class > Class::Read {
            self.may_write_words(args);
        }
        Stream::Opaque
    }

    fn undescribed_class(&mut self, name: &str, local: bool, texts: &[&str], span: Span) {
        if name.is_empty() {
            self.report.unknown("UNKNOWN_PROGRAM", "the program has no name", span);
            return;
        }
        if name.starts_with('!') {
            self.report.unknown("DYNAMIC_COMMAND", "which command of the history is run cannot be known", span);
            return;
        }
        let verbs: Vec<&&str> = texts
            .iter()
            .filter(|text| {
                !text.starts_with('-') && text.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_')
            })
            .take(4)
            .collect();
        let loses = verbs
            .iter()
            .any(|verb| LOSSES.contains(*verb) || verb.starts_with("delete-") || verb.starts_with("delete_"))
            || texts
                .iter()
                .any(|text| matches!(*text, "--delete" | "--purge" | "--destroy" | "--wipe" | "--delete-all"));
        let script = [
            ".sh", ".py", ".pl", ".rb", ".js", ".ts", ".bash", ".zsh", ".php", ".lua", ".run", ".ksh", ".csh", ".awk",
            ".bin", ".out",
        ]
        .iter()
        .any(|end| name.ends_with(end));
        if loses && !local {
            self.report.raise(Class::Destructive, "LOSES", format!("`{name}` is told to delete something"), span);
        } else if local || script || (texts.is_empty() && !self.is_nested()) {
            // Without arguments it is told to act on nothing: as good or bad as any script of the project.
            self.report.raise(Class::Write, "LOCAL_PROGRAM", format!("runs the local program `{name}`"), span);
        } else if verbs.iter().take(3).any(|verb| {
            QUESTIONS.contains(*verb)
                || verb.starts_with("list")
                || verb.starts_with("get-")
                || verb.starts_with("describe-")
        }) {
            self.report.raise(Class::Read, "QUESTION", format!("`{name}` is asked a question"), span);
        } else {
            self.report.unknown("UNKNOWN_PROGRAM", format!("what `{name}` does is not known"), span);
        }
    }

    /// Applies an entry.
    pub fn apply(&mut self, program: &'static Program, name: &str, args: &[Arg], stdin: Stream, span: Span) -> Stream {
        if asks_for_help(args)
            && !matches!(name, "echo" | "printf" | "[" | "test")
            && !(args.len() > 1 && EVALUATING.contains(&name))
        {
            return Stream::Opaque;
        }
        let options = Options::parse(args, program.valued, program.style, false);
        let call = Call { name, args, stdin, span, options };
        let before = self.report.class;
        for capability in program.capabilities {
            self.report.can(*capability);
        }
        let verb = if program.verbs.is_empty() { None } else { best_verb(program, &call.options.texts()) };
        let flags = verb.map_or(program.flags, |verb| verb.flags);
        let softened = flags.iter().chain(program.flags).any(|flag| flag.softens && call.options.has(flag.names));
        if softened {
            self.report.class = before;
            return program.act.map_or(Stream::Opaque, |_| Stream::Opaque);
        }
        let (class, about, capabilities) = verb.map_or((program.class, program.about, &[] as &[Capability]), |verb| {
            (verb.class, verb.about, verb.capabilities)
        });
        for capability in capabilities {
            self.report.can(*capability);
        }
        let words = verb
            .map(|_| call.options.texts().iter().take(2).map(|text| mark::shown(text)).collect::<Vec<_>>().join(" "))
            .unwrap_or_default();
        self.report.raise(
            class,
            if class >= Class::Destructive { "LOSES" } else { "WRITES" },
            format!("`{}` {about}", format!("{name} {words}").trim_end()),
            span,
        );
        for flag in flags.iter().chain(if verb.is_some() { program.flags } else { &[] }) {
            self.flag(flag, &call);
        }
        let cwd = self.state.cwd.clone();
        let asks = class == Class::Read && program.class > Class::Read;
        let moved = self.outputs(program, &call, asks);
        let out = match program.act {
            Some(act) => act(self, &call),
            None => self.operands(program.files, &call),
        };
        if moved {
            self.state.cwd = cwd;
        }
        out
    }

    fn flag(&mut self, flag: &Flag, call: &Call<'_>) {
        if let Some(opt) = call.options.find(flag.names) {
            let span = opt.span;
            self.report.raise(
                flag.class,
                if flag.class >= Class::Destructive { "LOSES" } else { "WRITES" },
                format!("`{} {}` {}", call.name, opt.name, flag.about),
                span,
            );
            for capability in flag.capabilities {
                self.report.can(*capability);
            }
        }
    }

    /// Paths among the operands; what they hold flows to the output.
    pub fn operands(&mut self, files: Files, call: &Call<'_>) -> Stream {
        let operands = &call.options.operands;
        match files {
            Files::None => call.stdin.blurred(),
            Files::Read | Files::ReadAfterFirst => {
                // What `jq` is told first is no path, although `.env` looks like one.
                let filters =
                    matches!(call.name, "jq" | "gojq" | "jaq") && !call.options.has("-f --from-file -n --null-input");
                let skip = usize::from(files == Files::ReadAfterFirst || filters);
                let mut out = Stream::Absent;
                let only_names = matches!(call.name, "stat" | "gstat" | "du" | "namei" | "lsattr" | "getfacl");
                for operand in operands.iter().skip(skip) {
                    if only_names {
                        self.list_file(&operand.text, operand.span);
                    } else {
                        out = out.then(self.read_file(&operand.text, operand.span));
                    }
                }
                let out = if operands.len() > skip { out } else { call.stdin.clone() };
                out.blurred()
            }
            Files::Create | Files::Write | Files::Remove => {
                let how = match files {
                    Files::Create => How::Create,
                    Files::Remove => How::Remove,
                    Files::Write | Files::None | Files::Read | Files::ReadAfterFirst | Files::CopyLike => {
                        How::Overwrite
                    }
                };
                for operand in operands {
                    self.write_file(&operand.text, how, operand.span);
                    if matches!(call.name, "mkdir" | "gmkdir") {
                        let path = self.resolve(&operand.text);
                        self.made.folder(path);
                    }
                    if matches!(call.name, "rmdir" | "grmdir") {
                        let path = self.resolve_entry(&operand.text);
                        self.made.gone(&path);
                    }
                }
                Stream::Absent
            }
            Files::CopyLike => {
                if let Some((last, sources)) = operands.split_last() {
                    for source in sources {
                        self.read_file(&source.text, source.span);
                    }
                    self.write_file(&last.text, How::Overwrite, last.span);
                }
                Stream::Absent
            }
        }
    }

    /// A script found in a file or a pipe: its first line may name another interpreter.
    pub fn program_text(&mut self, text: &str, stdin: Stream, span: Span) -> Stream {
        if let Some(language) = crate::code::Language::of_script(text) {
            self.code(language, text, span);
            return Stream::Opaque;
        }
        self.inner(text, stdin, span)
    }
}

/// An unquoted expansion to nothing leaves no word behind.
fn without_nothing(mut words: Vec<Arg>) -> Vec<Arg> {
    while words.first().is_some_and(|first| first.text.is_empty() && first.loose) {
        words.remove(0);
    }
    words
}

/// What one of two commands prints.
pub(crate) fn one_of(first: Stream, second: Stream) -> Stream {
    if first == second { first } else { first.then(second).blurred() }
}

/// The name of a program without its folder.
fn last_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

fn asks_for_help(args: &[Arg]) -> bool {
    match args {
        [only] => matches!(only.text.as_str(), "--help" | "--version"),
        [_, last] => last.text == "--help",
        _ => false,
    }
}

/// The subcommand whose pattern says most.
fn best_verb(program: &'static Program, operands: &[&str]) -> Option<&'static rules::Verb> {
    let mut best: Option<(usize, &'static rules::Verb)> = None;
    for verb in program.verbs {
        if let Some(weight) = verb.matched(operands) {
            // Of two that fit equally well the more cautious one speaks.
            if best.is_none_or(|(heaviest, other)| (weight, verb.class) > (heaviest, other.class)) {
                best = Some((weight, verb));
            }
        }
    }
    best.map(|(_, verb)| verb)
}

/// Quotes a value so that a shell reads it back unchanged.
pub(crate) fn quoted(text: &str) -> String {
    let safe = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '_' | '.' | '/' | '=' | ':' | ',' | '@' | '%' | '+')
            || mark::is_hole(c)
            || mark::is_wild(c)
    };
    if !text.is_empty() && text.chars().all(safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Options of a wrapper end where its command begins.
pub(crate) fn wrapped(args: &[Arg], valued: &str) -> Options {
    Options::parse(args, valued, Style::Gnu, true)
}
