//! Commands that are handed to programs as text, under an option or inside a value.

use crate::answer::{Capability, Class, Span};
use crate::call::Call;
use crate::code::Language;
use crate::mark;
use crate::rules::environment::Use;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Variable, Walker};

/// Values that follow one of the options, attached with `=` or as the next word.
pub(crate) fn values(args: &[Arg], names: &[&str]) -> Vec<Arg> {
    let mut found = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if names.contains(&arg.text.as_str()) {
            found.extend(args.get(at + 1).cloned());
        } else if let Some((name, value)) = arg.text.split_once('=')
            && names.contains(&name)
        {
            found.push(Arg::new(value, arg.span));
        }
    }
    found
}

/// Walks a text that a program runs.
pub(crate) fn run(walker: &mut Walker<'_>, text: &str, span: Span) {
    walker.report.can(Capability::Exec);
    walker.inner(text, Stream::Opaque, span);
}

/// Settings of package managers that run programs, and those that say with whom they talk.
const RUN_BY_MANAGERS: &[&str] =
    &["script-shell", "shell", "node-options", "git", "editor", "viewer", "browser", "init-module", "onload-script"];
const TALKED_BY_MANAGERS: &[&str] = &[
    "registry",
    "proxy",
    "https-proxy",
    "noproxy",
    "cafile",
    "ca",
    "strict-ssl",
    "userconfig",
    "globalconfig",
    "index-url",
    "extra-index-url",
    "index",
    "default-index",
    "find-links",
    "trusted-host",
    "global.index-url",
    "global.extra-index-url",
    "global.proxy",
    "global.trusted-host",
    "npmregistryserver",
];

/// Where packages come from unless somebody says otherwise.
const USUAL: &[&str] = &["https://registry.npmjs.org", "https://pypi.org/simple", "https://registry.yarnpkg.com"];

/// `npm config set key value`, and the same as an option of one call.
pub(crate) fn manager_settings(walker: &mut Walker<'_>, call: &Call<'_>) {
    let texts = call.options.texts();
    let stored: &[&str] = match texts.as_slice() {
        ["config" | "c", "set" | "edit", rest @ ..] => rest,
        ["set", rest @ ..] if call.name == "npm" => rest,
        _ => &[],
    };
    if let ["pkg", "set", scripts @ ..] = texts.as_slice() {
        for (key, value) in scripts.iter().filter_map(|script| script.split_once('=')) {
            if key.starts_with("scripts") || key.starts_with("bin") {
                run(walker, value, call.span);
            }
        }
    }
    if let ["set-script", _, script, ..] = texts.as_slice() {
        run(walker, script, call.span);
    }
    for (at, word) in stored.iter().enumerate() {
        let (key, value) = word.split_once('=').unwrap_or((word, stored.get(at + 1).copied().unwrap_or_default()));
        let key = key.to_ascii_lowercase();
        if key.contains("auth") || key.contains("password") {
            walker.report.can_because(Capability::Credentials, format!("`{key}` concerns passwords"), call.span);
        }
        if RUN_BY_MANAGERS.contains(&key.as_str()) || leads(&key, value) {
            walker.report.can_because(
                Capability::Persistence,
                format!("`{key}` makes `{}` use `{}` later", call.name, mark::shown(value)),
                call.span,
            );
        }
    }
    for (at, arg) in call.args.iter().enumerate().take_while(|(_, arg)| arg.text != "--") {
        let Some(option) = arg.text.strip_prefix("--") else {
            if matches!(arg.text.as_str(), "-i" | "-f") && matches!(call.name, "pip" | "pip3" | "uv") {
                walker.report.talks(&arg.text);
            }
            continue;
        };
        let next = call.args.get(at + 1).map(|next| next.text.as_str()).unwrap_or_default();
        let (key, value) = option.split_once('=').unwrap_or((option, next));
        if RUN_BY_MANAGERS.contains(&key) && !matches!(key, "shell" | "git" | "browser") || leads(key, value) {
            walker.report.talks(&format!("--{key}"));
        }
    }
}

fn leads(key: &str, value: &str) -> bool {
    (TALKED_BY_MANAGERS.contains(&key) || key.ends_with(":registry")) && !USUAL.contains(&value.trim_end_matches('/'))
}

/// `sg group command`; a search tool has the same name.
pub(crate) fn group(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let searches = ["run", "scan", "test", "new", "lsp", "completions", "help"];
    let first = call.args.first().map(|arg| arg.text.as_str()).unwrap_or_default();
    if let Some(text) = values(call.args, &["-c"]).first() {
        run(walker, &text.text, text.span);
    } else if let [_, text] | [_, _, text] = call.options.operands.as_slice()
        && !searches.contains(&first)
        && (first == "-" || !first.starts_with('-'))
    {
        run(walker, &text.text, text.span);
    }
    Stream::Opaque
}

/// `gdb -ex command`: a debugger has a language of its own, and Python.
pub(crate) fn debugger(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let named = |given: &str, long: &str| {
        given.starts_with('-') && {
            let given = given.trim_start_matches('-');
            // Any beginning of a long option will do.
            given.len() > 1 && long.starts_with(given)
        }
    };
    let commands = |given: &str| {
        matches!(given.trim_start_matches('-'), "ex" | "iex")
            || ["eval-command", "init-eval-command", "early-init-eval-command"].iter().any(|long| named(given, long))
    };
    let names: Vec<&str> = call
        .args
        .iter()
        .map(|arg| arg.text.split('=').next().unwrap_or_default())
        .filter(|name| commands(name))
        .collect();
    for arg in values(call.args, &names) {
        walker.report.can(Capability::Exec);
        walker.report.raise(Class::Write, "CODE", "a debugger runs commands", arg.span);
        let text = arg.text.trim_start();
        let (verb, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        match verb {
            "shell" | "pipe" | "|" => run(walker, rest, arg.span),
            _ if text.starts_with(['!', '|']) => run(walker, text.trim_start_matches(['!', '|']), arg.span),
            "python" | "py" | "python-interactive" | "pi" => walker.code(Language::Python, rest, arg.span),
            "set" | "dump" | "append" | "save" | "tee" | "gcore" | "generate-core-file" => {
                for word in rest.split_whitespace().filter(|word| word.contains(['/', '.'])) {
                    walker.write_file(word, How::Overwrite, arg.span);
                }
            }
            // A debugger hands the words to a shell.
            "run" | "r" | "start" | "starti" if !rest.is_empty() => run(walker, &format!("true {rest}"), arg.span),
            "bt" | "backtrace" | "run" | "r" | "start" | "starti" | "quit" | "q" | "info" | "thread" | "frame"
            | "list" | "break" | "b" | "continue" | "c" | "next" | "step" | "where" | "x" | "disassemble" => {}
            _ => walker.report.unknown(
                "DYNAMIC_CODE",
                format!("what `{}` does in a debugger", mark::shown(text)),
                arg.span,
            ),
        }
    }
    if !values(call.args, &["-x", "--command", "-command"]).is_empty() {
        walker.report.can(Capability::Exec);
        walker.report.raise(Class::Write, "CODE", "a debugger runs a file of commands", call.span);
    }
    if let Some(at) = call.args.iter().position(|arg| matches!(arg.text.as_str(), "--args" | "-args" | "--arg")) {
        return walker.run(call.args.get(at + 1..).unwrap_or_default().to_vec(), call.stdin.clone(), call.span);
    }
    crate::act::wrapper::unwrap(walker, call)
}

/// Variables of `make`: recipes run them, and `$(shell …)` runs at once.
pub(crate) fn make_variables(walker: &mut Walker<'_>, call: &Call<'_>) {
    for arg in call.args.iter().filter(|arg| !arg.text.starts_with('-')) {
        if let Some((_, value)) = arg.text.split_once('=') {
            make_variable(walker, value, arg.span);
        }
    }
    let own = walker.state.variables.clone();
    let scalars = own.iter().filter_map(|(name, value)| match value {
        Variable::Scalar(text) => Some((name.as_str(), text.as_str())),
        Variable::List(_) | Variable::Scattered(_) => None,
    });
    for (name, text) in scalars {
        let is_jobs = text.strip_prefix("-j").is_some_and(|jobs| jobs.chars().all(|c| c.is_ascii_digit()));
        if matches!(name, "MAKEFLAGS" | "GNUMAKEFLAGS" | "MFLAGS" | "MAKEFILES") && !is_jobs {
            walker.report.unknown("DYNAMIC_CODE", format!("`{name}` changes what is built"), call.span);
        }
        // A makefile takes variables of the environment, and prefers them when told to.
        let is_shell = text.contains(['$', ';', '|', '&', '`', '<', '>', '\n']) || name == "RM" || name == "SHELL";
        let is_used = crate::rules::environment::of(name)
            .is_some_and(|used| !matches!(used, Use::Starts | Use::Prompts | Use::Reaches));
        if call.options.has("-e --environment-overrides") || is_shell || is_used {
            make_variable(walker, text, call.span);
        }
    }
}

/// `$(shell …)` runs when it is read.
pub(crate) fn make_shell(walker: &mut Walker<'_>, value: &str, span: Span) {
    for (at, _) in value.match_indices("$(shell ").chain(value.match_indices("${shell ")).take(8) {
        let rest = value.get(at + 8..).unwrap_or_default();
        let end = rest.rfind([')', '}']).unwrap_or(rest.len());
        run(walker, rest.get(..end).unwrap_or_default(), span);
    }
    if value.matches("shell ").count() > 8 {
        walker.report.unknown("TOO_MANY", "more commands in a variable than are followed", span);
    }
}

fn make_variable(walker: &mut Walker<'_>, value: &str, span: Span) {
    let value = mark::as_source(value);
    make_shell(walker, &value, span);
    let plain = value.trim_start();
    if plain.contains(['$', ';', '|', '&', '`', '<', '>', '\n']) {
        run(walker, plain, span);
        walker.report.unknown("DYNAMIC_CODE", "a variable of a makefile holds shell text", span);
    } else if plain.contains(' ') && !plain.starts_with('-') {
        // Most such values are lists of words: only what is certain to do harm counts.
        let before = walker.report.class;
        run(walker, plain, span);
        if walker.report.class < Class::Destructive {
            walker.report.class = before;
        }
    }
}

/// `man -P pager page`, `man -l file`.
pub(crate) fn manual(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let valued = "-P --pager -r --prompt -C --config-file -M --manpath -m --systems -S -s --sections -e --extension -L --locale -R --recode -E --encoding -p --preprocessor";
    let options = crate::call::Options::parse(call.args, valued, crate::rules::Style::Gnu, false);
    for opt in &options.given {
        let value = opt.value.clone().unwrap_or_default();
        let is_pager = opt.name == "-P" || opt.name.len() > 3 && "--pager".starts_with(&opt.name);
        let is_other = matches!(opt.name.as_str(), "-C" | "--config-file" | "-H") || opt.name.starts_with("--ht");
        if is_pager && !crate::rules::environment::HARMLESS.contains(&value.as_str()) {
            run(walker, &value, opt.span);
        }
        if is_other || is_pager && !crate::rules::environment::HARMLESS.contains(&value.as_str()) {
            walker.report.unknown("DYNAMIC_CODE", format!("`man {}` says what is run", opt.name), opt.span);
        }
    }
    for operand in &options.operands {
        if options.has("-l --local-file") || operand.text.contains('/') {
            walker.read_file(&operand.text, operand.span);
        }
    }
    Stream::Opaque
}

/// Tcl: `exec` runs a program, and its text is not followed further.
pub(crate) fn tcl(walker: &mut Walker<'_>, text: &str, span: Span) {
    walker.report.unknown("DYNAMIC_CODE", "what this Tcl code does is not followed", span);
    for (at, _) in text.match_indices("exec ").take(8) {
        let line = text.get(at + 5..).unwrap_or_default();
        run(walker, line.split(['\n', ']', '}']).next().unwrap_or_default(), span);
    }
}

/// Perl's `open` with a pipe at one end of the name.
pub(crate) fn piped_opens(walker: &mut Walker<'_>, text: &str, span: Span) {
    if text.matches("open").count() > 16 {
        walker.report.unknown("TOO_MANY", "the code opens more than is followed", span);
    }
    for (at, _) in text.match_indices("open").take(16) {
        let call = text.get(at + 4..).unwrap_or_default();
        let Some(start) = call.find(['"', '\'']) else { continue };
        let quote = call.get(start..=start).unwrap_or("\"");
        let name = call.get(start + 1..).and_then(|rest| rest.split(quote).next()).unwrap_or_default().trim();
        if let Some(command) = name.strip_prefix('|').or_else(|| name.strip_suffix('|')) {
            run(walker, command.trim_matches('-'), span);
        }
    }
}
