//! Words of ordinary programs that are commands, or texts in small languages that can run commands.

use crate::act::handed::{run, tcl, values};
use crate::answer::{Capability, Class, Span};
use crate::call::{Call, Options};
use crate::mark;
use crate::rules::Style;
use crate::rules::environment::HARMLESS;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};
use crate::zone::{self, Zone};

/// Commands in one text that are followed.
const COMMANDS_MAX: usize = 8;

/// Values put into a measured command that are followed.
const VALUES_MAX: usize = 16;

/// Parts of settings of cargo that name programs, or say from where code comes.
const CARGO_SETTINGS: &[&str] = &[
    "runner",
    "linker",
    "rustc",
    "rustdoc",
    "wrapper",
    "alias",
    "credential",
    "source",
    "registr",
    "patch",
    "include",
    "env",
    "proxy",
    "\\",
];

/// What programs are handed in options and operands that their rows do not speak of.
pub(crate) fn handed(walker: &mut Walker<'_>, name: &str, args: &[Arg], span: Span) {
    match name {
        "bat" | "batcat" | "ag" | "ack" | "ack-grep" => pagers(walker, name, args),
        "less" | "more" | "most" | "zless" | "zmore" | "bzless" | "xzless" | "pager" => first_commands(walker, args),
        "fzf" | "sk" => finder(walker, args),
        "expect" => {
            let attached = args.iter().filter(|arg| arg.text.len() > 2 && arg.text.starts_with("-c"));
            let attached = attached.map(|arg| Arg::new(arg.text.trim_start_matches("-c"), arg.span));
            for text in values(args, &["-c"]).into_iter().chain(attached) {
                tcl(walker, &text.text, text.span);
            }
        }
        "cargo" => cargo_settings(walker, args),
        "pytest" | "py.test" => emptied(walker, args),
        "getent" if args.iter().any(|arg| matches!(arg.text.as_str(), "shadow" | "gshadow")) => {
            walker.read_file("/etc/shadow", span);
        }
        _ => {}
    }
}

fn pagers(walker: &mut Walker<'_>, name: &str, args: &[Arg]) {
    for pager in values(args, &["--pager"]) {
        if !HARMLESS.contains(&pager.text.as_str()) {
            run(walker, &pager.text, pager.span);
            let sentence = format!("`{name} --pager` runs `{}`", mark::shown(&pager.text));
            walker.report.unknown("DYNAMIC_CODE", sentence, pager.span);
        }
    }
}

/// `less +COMMAND`: what is typed first.
fn first_commands(walker: &mut Walker<'_>, args: &[Arg]) {
    for arg in args.iter().filter(|arg| arg.text.starts_with('+')) {
        if let Some((_, command)) = arg.text.split_once(['!', '|', '#']) {
            run(walker, command, arg.span);
            walker.report.unknown("DYNAMIC_CODE", "a pager is told to run a command", arg.span);
        } else if !mark::is_literal(&arg.text) {
            walker.report.unknown("DYNAMIC_CODE", "what a pager is told cannot be known", arg.span);
        }
    }
}

fn finder(walker: &mut Walker<'_>, args: &[Arg]) {
    for preview in values(args, &["--preview"]) {
        run(walker, &preview.text, preview.span);
    }
    for bind in values(args, &["--bind"]) {
        let runs = ["execute", "become", "reload", "transform", "preview"].iter().any(|verb| bind.text.contains(verb));
        if runs || !mark::is_literal(&bind.text) {
            walker.report.can(Capability::Exec);
            walker.report.unknown("DYNAMIC_CODE", "a key is bound to a command", bind.span);
        }
    }
}

fn cargo_settings(walker: &mut Walker<'_>, args: &[Arg]) {
    let own = args.split(|arg| arg.text == "--").next().unwrap_or_default();
    for setting in values(own, &["--config"]) {
        let text = setting.text.to_ascii_lowercase();
        // Without a value it names a file of settings.
        let says_more = !text.contains('=') || CARGO_SETTINGS.iter().any(|part| text.contains(part));
        if says_more || !mark::is_literal(&text) {
            let sentence = format!("`cargo --config {}` says what is run", mark::shown(&setting.text));
            walker.report.unknown("DYNAMIC_CODE", sentence, setting.span);
        }
    }
}

/// `pytest --basetemp` empties the folder before it begins.
fn emptied(walker: &mut Walker<'_>, args: &[Arg]) {
    for folder in values(args, &["--basetemp"]) {
        let path = walker.resolve(&folder.text);
        if zone::of(&path, &walker.state.cwd, walker.view.home) != Zone::Temp {
            walker.write_file(&folder.text, How::RemoveTree, folder.span);
        }
    }
}

/// `hyperfine`: each operand is a shell text, and so are those that run before and after.
pub(crate) fn hyperfine(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    const VALUED: &str = "-w --warmup -r --runs -m --min-runs -M --max-runs -p --prepare -s --setup -c --cleanup -C --conclude -S --shell -n --command-name --style -u --time-unit --sort --output --input --reference --reference-name --export-json --export-csv --export-markdown --export-asciidoc --export-orgmode";
    let mut args: Vec<Arg> = Vec::new();
    let mut lists: Vec<(String, String)> = Vec::new();
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            "-L" | "--parameter-list" => {
                let name = rest.next().map(|name| name.text.clone()).unwrap_or_default();
                lists.push((name, rest.next().map(|list| list.text.clone()).unwrap_or_default()));
            }
            // A name and two numbers.
            "-P" | "--parameter-scan" => drop(rest.by_ref().take(3).count()),
            _ => args.push(arg.clone()),
        }
    }
    let options = Options::parse(&args, VALUED, Style::Gnu, false);
    let texts = options.given.iter().filter(|opt| {
        matches!(
            opt.name.as_str(),
            "-p" | "--prepare" | "-s" | "--setup" | "-c" | "--cleanup" | "-C" | "--conclude" | "--reference"
        )
    });
    let mut texts: Vec<Arg> = texts.map(|opt| Arg::new(opt.value.as_deref().unwrap_or_default(), opt.span)).collect();
    texts.extend(options.operands.iter().cloned());
    if options.value("-S --shell").is_some_and(|shell| !matches!(shell, "none" | "default" | "sh" | "bash" | "zsh")) {
        walker.report.unknown("DYNAMIC_CODE", "commands are run by a program of the caller's choice", call.span);
    }
    for text in texts.iter().filter(|text| !text.text.is_empty()) {
        measured(walker, text, &lists);
    }
    Stream::Opaque
}

/// One command, with each value of the list in its place.
fn measured(walker: &mut Walker<'_>, text: &Arg, lists: &[(String, String)]) {
    let used: Vec<&(String, String)> =
        lists.iter().filter(|(name, _)| text.text.contains(&format!("{{{name}}}"))).collect();
    match used.as_slice() {
        [] => run(walker, &text.text, text.span),
        [(name, list)] if list.split(',').count() <= VALUES_MAX => {
            for value in list.split(',') {
                run(walker, &text.text.replace(&format!("{{{name}}}"), value), text.span);
            }
        }
        _ => walker.report.unknown("TOO_MANY", "more values in a command than are followed", text.span),
    }
}

/// `concurrently`: each operand is a shell text, `npm:NAME` a script of the project.
pub(crate) fn concurrently(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    const VALUED: &str = "-n --names -c --prefix-colors -p --prefix -m --max-processes -l --prefix-length -t --timestamp-format --restart-tries --restart-after --kill-signal --ks --kill-timeout -s --success --name-separator --hide --teardown --default-input-target --pad-prefix?";
    let options = Options::parse(call.args, VALUED, Style::Gnu, false);
    let mut texts = values(call.args, &["--teardown"]);
    texts.extend(options.operands.iter().cloned());
    if options.has("-P --passthrough-arguments") {
        walker.report.unknown("DYNAMIC_CODE", "commands are put together out of words", call.span);
    }
    for text in texts {
        let script = ["npm", "pnpm", "yarn", "bun", "node"].iter().find_map(|manager| {
            text.text.strip_prefix(manager)?.strip_prefix(':').map(|script| format!("{manager} run {script}"))
        });
        run(walker, script.as_deref().unwrap_or(&text.text), text.span);
    }
    Stream::Opaque
}

/// `dc`: a `!` hands the rest of its line to a shell.
pub(crate) fn dc(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = Options::parse(call.args, "-e --expression -f --file", Style::Gnu, false);
    let mut told = false;
    for opt in &options.given {
        let value = opt.value.clone().unwrap_or_default();
        if matches!(opt.name.as_str(), "-e" | "--expression") {
            told = true;
            calculation(walker, &Stream::Text(value), opt.span);
        } else if matches!(opt.name.as_str(), "-f" | "--file") {
            told = true;
            let content = walker.read_file(&value, opt.span);
            calculation(walker, &content, opt.span);
        }
    }
    for operand in &options.operands {
        told = true;
        let content = walker.read_file(&operand.text, operand.span);
        calculation(walker, &content, operand.span);
    }
    if !told {
        calculation(walker, &call.stdin, call.span);
    }
    Stream::Opaque
}

fn calculation(walker: &mut Walker<'_>, content: &Stream, span: Span) {
    match content {
        Stream::Text(text) => {
            // `!<`, `!=` and `!>` compare.
            let behind = text.match_indices('!').filter_map(|(at, _)| text.get(at + 1..));
            let commands: Vec<&str> = behind.filter(|rest| !rest.starts_with(['<', '=', '>'])).collect();
            for command in commands.iter().take(COMMANDS_MAX) {
                run(walker, command.lines().next().unwrap_or_default(), span);
            }
            if !commands.is_empty() || !mark::is_literal(text) {
                walker.report.unknown("DYNAMIC_CODE", "a calculation runs commands", span);
            }
        }
        Stream::Remote => walker.remote_code("a calculation came from another machine".to_owned(), span),
        Stream::Opaque => {
            walker.report.can(Capability::Exec);
            walker.report.raise(Class::Write, "CODE", "runs a calculation that can run commands", span);
        }
        Stream::Absent | Stream::Secret => {}
    }
}
