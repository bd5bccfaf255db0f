//! Git: global options that run programs, then the subcommand.

use crate::act::{git_tree, handed};
use crate::answer::{Capability, Class, Span};
use crate::call::{Call, Options};
use crate::mark;
use crate::rules::Style;
use crate::rules::git::{GLOBAL_VALUED, SUBCOMMANDS, Subcommand};
use crate::run::wrapped;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};

/// Settings whose value git runs.
const RUNS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.gitproxy",
    "core.askpass",
    "core.hookspath",
    "diff.external",
    "sequence.editor",
    "credential.helper",
    "gpg.program",
    "web.browser",
    "interactive.difffilter",
    "init.templatedir",
    "uploadpack.packobjectshook",
    "core.alternaterefscommand",
    "gpg.ssh.defaultkeycommand",
    "imap.tunnel",
    "instaweb.httpd",
    "sendemail.smtpserver",
    "sendemail.sendmailcmd",
    "sendemail.tocmd",
    "sendemail.cccmd",
    "sendemail.headercmd",
];

/// The same for settings with a name in the middle, which may have points of its own.
const RUNS_NAMED: &[(&str, &str)] = &[
    ("", ".uploadpack"),
    ("", ".receivepack"),
    ("", ".textconv"),
    ("", ".cmd"),
    ("", ".helper"),
    ("pager.", ""),
    ("difftool.", ""),
    ("mergetool.", ""),
    ("filter.", ""),
    ("alias.", ""),
    ("browser.", ".path"),
    ("diff.", ".command"),
    ("gpg.", ".program"),
    ("lfs.", ""),
    ("man.", ".path"),
    ("merge.", ".driver"),
    ("remote.", ".vcs"),
    ("tar.", ".command"),
    ("trailer.", ".command"),
];

/// Settings that say from where further settings come, or by which way git talks.
const LEADS: &[(&str, &str)] = &[
    ("include.path", ""),
    ("includeif.", ".path"),
    ("core.attributesfile", ""),
    ("core.worktree", ""),
    ("url.", "insteadof"),
    ("http.", "proxy"),
    ("https.", "proxy"),
    ("http.", "sslverify"),
    ("http.", "sslcainfo"),
    ("remote.", ".proxy"),
];

/// Settings that say where a push goes.
const PUSHES: &[(&str, &str)] = &[
    ("remote.", "url"),
    ("remote.pushdefault", ""),
    ("branch.", ".remote"),
    ("branch.", ".pushremote"),
    ("url.", "insteadof"),
];

fn fits(key: &str, patterns: &[(&str, &str)]) -> bool {
    patterns
        .iter()
        .any(|(start, end)| key.len() >= start.len() + end.len() && key.starts_with(start) && key.ends_with(end))
}

/// Whether git runs what a setting holds.
fn is_run(key: &str, value: &str) -> bool {
    RUNS.contains(&key) || fits(key, RUNS_NAMED) || key.starts_with("submodule.") && value.starts_with('!')
}

/// Programs that only show text.
const PAGERS: &[&str] =
    &["cat", "less", "more", "delta", "bat", "", "true", "false", "less -r", "less -frx", "most", "diff-so-fancy"];

pub(crate) fn git(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let globals = wrapped(call.args, GLOBAL_VALUED);
    for opt in &globals.given {
        let value = opt.value.clone().unwrap_or_default();
        match opt.name.as_str() {
            "-c" | "--config-env" => {
                let (key, text) = value.split_once('=').unwrap_or((&value, ""));
                setting(walker, &key.to_ascii_lowercase(), text, opt.span);
                if opt.name == "--config-env" {
                    walker.report.unknown("DYNAMIC_CODE", format!("`{key}` is set by a variable"), opt.span);
                }
            }
            "--exec-path" if opt.value.is_some() => exec(walker, "takes its programs from another directory", opt.span),
            _ => {}
        }
    }
    let Some((sub, rest)) = globals.operands.split_first() else { return Stream::Opaque };
    if !mark::is_literal(&sub.text) {
        walker.report.unknown("DYNAMIC_COMMAND", "which git command runs cannot be known", sub.span);
        return Stream::Opaque;
    }
    let saved = walker.state.cwd.clone();
    let before = std::mem::replace(&mut walker.report.class, Class::Read);
    for directory in globals.given.iter().filter(|opt| opt.name == "-C").filter_map(|opt| opt.value.as_deref()) {
        walker.state.cwd = walker.resolve(directory);
    }
    let out = match SUBCOMMANDS.iter().find(|entry| entry.names.split(' ').any(|name| name == sub.text)) {
        Some(entry) => subcommand(walker, entry, &sub.text, rest, call),
        None => {
            walker.report.can(Capability::Exec);
            walker.report.unknown(
                "UNKNOWN_PROGRAM",
                format!("`git {}` is an alias or an extension", sub.text),
                sub.span,
            );
            Stream::Opaque
        }
    };
    if walker.report.class > Class::Read {
        git_tree::changed(walker, &globals, &sub.text, rest, &call.stdin);
    }
    walker.report.class = walker.report.class.max(before);
    walker.state.cwd = saved;
    out
}

fn exec(walker: &mut Walker<'_>, what: &str, span: Span) {
    walker.report.can_because(Capability::Exec, format!("git {what}"), span);
    walker.report.raise(Class::Write, "EXEC", format!("git {what}"), span);
}

/// A setting given on the command line or stored.
fn setting(walker: &mut Walker<'_>, key: &str, value: &str, span: Span) {
    if let Some(command) = value.strip_prefix("ext::").or_else(|| key.split_once("ext::").map(|(_, command)| command)) {
        exec(walker, "runs a command as its transport", span);
        walker.inner(command, Stream::Opaque, span);
    }
    if key.starts_with("protocol.") {
        exec(walker, "lets a transport run commands", span);
        walker.report.unknown("DYNAMIC_CODE", format!("`{key}` lets addresses run commands"), span);
    }
    let runs = is_run(key, value);
    if fits(key, PUSHES) {
        walker.made.pushes_elsewhere = true;
    }
    if fits(key, LEADS) {
        exec(walker, &format!("is led elsewhere by `{key}`"), span);
        walker.report.talks(&format!("{key}="));
    }
    if key.starts_with("credential.") {
        walker.report.can_because(Capability::Credentials, format!("`{key}` says where passwords are kept"), span);
    }
    if !runs || PAGERS.contains(&value.to_ascii_lowercase().as_str()) {
        return;
    }
    let command = value.strip_prefix('!').or_else(|| (!key.starts_with("alias.")).then_some(value));
    match command {
        Some(text)
            if !matches!(text, "store" | "cache" | "osxkeychain" | "manager" | "manager-core" | "libsecret")
                && !key.ends_with("hookspath") =>
        {
            exec(walker, &format!("runs `{}`", mark::shown(text)), span);
            walker.inner(text, Stream::Opaque, span);
        }
        Some(_) => {
            exec(walker, &format!("takes programs from `{}`", mark::shown(value)), span);
            if key.ends_with("hookspath") && value != "/dev/null" {
                walker.report.unknown("DYNAMIC_CODE", format!("git runs what lies in `{}`", mark::shown(value)), span);
            }
        }
        // An alias without `!` is another git command.
        None => {
            let words: Vec<Arg> =
                std::iter::once("git").chain(value.split_whitespace()).map(|word| Arg::new(word, span)).collect();
            walker.run(words, Stream::Absent, span);
        }
    }
}

fn subcommand(walker: &mut Walker<'_>, entry: &Subcommand, name: &str, args: &[Arg], call: &Call<'_>) -> Stream {
    let options = Options::parse(args, entry.valued, Style::Gnu, false);
    // In `-Otouch` and `grep -h` there is no question for help.
    if args.iter().any(|arg| arg.text == "--help") || matches!(args, [only] if only.text == "-h") {
        return Stream::Opaque;
    }
    let texts = options.texts();
    let before = walker.report.class;
    let mut class = entry.class;
    let mut about = entry.about;
    for verb in entry.verbs {
        if verb.matched(&texts).is_some() {
            class = verb.class;
            about = verb.about;
        }
    }
    if (entry.asks)(&options) {
        class = Class::Read;
    }
    for capability in entry.capabilities {
        walker.report.can(*capability);
    }
    walker.report.raise(
        class,
        if class >= Class::Destructive { "LOSES" } else { "WRITES" },
        format!("`git {name}` {about}"),
        call.span,
    );
    let softened = entry.flags.iter().any(|flag| flag.softens && options.has(flag.names));
    for flag in entry.flags.iter().filter(|flag| !flag.softens) {
        let needs: Vec<&str> = flag.names.split('&').collect();
        if needs.iter().all(|names| options.has(names.trim())) {
            walker.report.raise(
                flag.class,
                if flag.class >= Class::Destructive { "LOSES" } else { "WRITES" },
                format!("`git {name} {}` {}", needs.join(" ").split(' ').next().unwrap_or_default(), flag.about),
                call.span,
            );
        }
    }
    special(walker, name, &options, args, call);
    handed(walker, name, &options, args);
    if softened {
        walker.report.cap_class(before, Class::Write);
    }
    for opt in &options.given {
        outputs(walker, opt.name.as_str(), opt.value.as_deref().unwrap_or_default(), opt.span);
    }
    if matches!(name, "ls-files" | "ls-tree" | "diff" | "status") {
        let paths = options.operands.iter().filter(|_| name == "ls-files");
        let listed: String = paths.map(|path| format!("{}/{}\n", path.text, mark::PICK)).collect();
        Stream::text(if listed.is_empty() { format!("{}\n", mark::PICK) } else { listed })
    } else if matches!(name, "ls-remote" | "fetch") {
        Stream::Remote
    } else {
        Stream::Opaque
    }
}

/// Options that many subcommands share and that write or run something.
fn outputs(walker: &mut Walker<'_>, name: &str, value: &str, span: Span) {
    match name {
        "--output" => walker.write_file(value, How::Overwrite, span),
        "--upload-pack" | "--receive-pack" | "--exec" => {
            exec(walker, &format!("runs `{}`", mark::shown(value)), span);
            walker.inner(value, Stream::Opaque, span);
        }
        "--export-marks" | "--export-pack-edges" | "--index-output" | "--build-fake-ancestor" => {
            walker.write_file(value, How::Overwrite, span)
        }
        "--object-dir" => walker.may_write(value, span),
        "--ext-diff" | "--textconv" | "--open-files-in-pager" => {
            exec(walker, "runs a program from its configuration", span)
        }
        _ => {}
    }
}

/// Commands and files that subcommands are handed.
fn handed(walker: &mut Walker<'_>, name: &str, options: &Options, args: &[Arg]) {
    let mut texts = handed::values(args, &["--upload-pack", "--receive-pack", "--upload-pa", "--receive-pa"]);
    if name == "clone" {
        texts.extend(handed::values(args, &["-u"]));
    }
    if !matches!(name, "rebase" | "submodule" | "bisect" | "difftool") {
        texts.extend(handed::values(args, &["--exec"]));
    }
    if matches!(name, "clone" | "init" | "init-db") {
        for folder in handed::values(args, &["--template"]).iter().filter(|folder| !folder.text.is_empty()) {
            exec(walker, "takes hooks from a folder", folder.span);
            walker.report.unknown("DYNAMIC_CODE", "git runs hooks that a template holds", folder.span);
        }
        // `clone -c key=value` stores a setting.
        for stored in handed::values(args, &["-c", "--config"]).iter().filter(|_| name == "clone") {
            let (key, value) = stored.text.split_once('=').unwrap_or((&stored.text, ""));
            setting(walker, &key.to_ascii_lowercase(), value, stored.span);
        }
    }
    let transports =
        options.operands.iter().filter_map(|operand| Some(Arg::new(operand.text.strip_prefix("ext::")?, operand.span)));
    texts.extend(transports);
    for text in texts {
        exec(walker, &format!("runs `{}`", mark::shown(&text.text)), text.span);
        walker.inner(&text.text, Stream::Opaque, text.span);
        walker.report.unknown("DYNAMIC_CODE", "git runs a program of the caller's choice", text.span);
    }
    files(walker, name, options);
    match name {
        "push" => push(walker, options),
        "remote" if options.operands.len() > 2 => {
            walker.made.pushes_elsewhere = true;
            let verb = options.operands.first().map(|verb| verb.text.as_str()).unwrap_or_default();
            if matches!(verb, "add" | "set-url") {
                later_pushes(walker, options.operands.first().map(|verb| verb.span).unwrap_or_default());
            }
        }
        "interpret-trailers" if options.has("--in-place") => {
            for operand in &options.operands {
                walker.write_file(&operand.text, How::Modify, operand.span);
            }
        }
        "diagnose" | "bugreport" => {
            walker.report.raise(Class::Write, "WRITES", format!("`git {name}` writes a report"), Span::default());
            for folder in handed::values(args, &["-o", "--output-directory"]) {
                walker.write_file(&folder.text, How::Create, folder.span);
            }
        }
        _ => {}
    }
}

/// Files that subcommands write by their operands.
fn files(walker: &mut Walker<'_>, name: &str, options: &Options) {
    let first = options.operands.first().cloned();
    match (name, first) {
        ("merge-file", Some(file)) if !options.has("-p --stdout") => {
            walker.write_file(&file.text, How::Overwrite, file.span)
        }
        ("pack-objects", Some(base)) => walker.may_write(&format!("{}-{}.pack", base.text, mark::OUTPUT), base.span),
        ("mailinfo" | "mailsplit", _) => {
            for file in &options.operands {
                walker.may_write(&file.text, file.span);
            }
            for opt in options.given.iter().filter(|opt| opt.name.starts_with("-o")) {
                walker.may_write(opt.value.as_deref().unwrap_or_default(), opt.span);
            }
        }
        ("checkout-index", _) => {
            for opt in options.given.iter().filter(|opt| opt.name == "--prefix") {
                walker.may_write(opt.value.as_deref().unwrap_or_default(), opt.span);
            }
        }
        ("mv", _) => {
            if let Some((target, sources)) = options.operands.split_last() {
                for source in sources.iter().take(16) {
                    let entry = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                    walker.placed(&target.text, &source.text);
                    walker.placed(&format!("{}/{entry}", target.text.trim_end_matches('/')), &source.text);
                }
            }
        }
        _ => {}
    }
}

/// Where a push goes: to a remote of the project, or to an address that the command names.
fn push(walker: &mut Walker<'_>, options: &Options) {
    let named = options.value("--repo").map(ToOwned::to_owned);
    let named = named.or_else(|| options.operands.first().map(|operand| operand.text.clone())).unwrap_or_default();
    let is_address = named.contains(['/', ':', '~', '\\']) || named.starts_with('.') || !mark::is_literal(&named);
    if is_address || walker.made.pushes_elsewhere {
        walker.report.talks("push to an address");
    }
}

/// A stored address: a later push goes there without naming it.
fn later_pushes(walker: &mut Walker<'_>, span: Span) {
    walker.report.can_because(Capability::Network, "says where later pushes go", span);
    walker.report.talks("push to an address");
}

/// What only code can say.
fn special(walker: &mut Walker<'_>, name: &str, options: &Options, args: &[Arg], call: &Call<'_>) {
    let destroy = |walker: &mut Walker<'_>, what: &str| {
        walker.report.raise(Class::Destructive, "LOSES", format!("`git {name}` {what}"), call.span)
    };
    match name {
        "checkout" if checkout_overwrites(options) => destroy(walker, "overwrites files with no way back"),
        "restore" if !options.has("--staged -S") || options.has("--worktree -W") => {
            destroy(walker, "overwrites files with no way back")
        }
        "push" if options.operands.iter().skip(1).any(|reference| reference.text.starts_with(['+', ':'])) => {
            destroy(walker, "rewrites or removes a shared branch")
        }
        "branch" if options.operands.len() > 1 && options.has("-f --force") => {
            destroy(walker, "moves a branch by force")
        }
        "gc" if options.value("--prune").is_some_and(|when| when != "never") => {
            destroy(walker, "drops unreachable history")
        }
        "grep" => {
            if let Some(arg) =
                args.iter().find(|arg| arg.text.starts_with("-O") || arg.text.starts_with("--open-files-in-pager"))
            {
                exec(walker, "runs a pager of the caller's choice", arg.span);
                let text = arg.text.trim_start_matches("-O").trim_start_matches("--open-files-in-pager=").to_owned();
                walker.inner(&text, Stream::Opaque, arg.span);
                if !PAGERS.contains(&text.as_str()) {
                    walker.report.unknown("DYNAMIC_CODE", "git runs a program of the caller's choice", arg.span);
                }
            }
        }
        "config" => config(walker, options, call),
        "bisect" if options.operands.first().is_some_and(|verb| verb.text == "run") => {
            walker.report.can(Capability::Exec);
            walker.run(options.operands.get(1..).unwrap_or_default().to_vec(), Stream::Absent, call.span);
        }
        "submodule" if options.operands.first().is_some_and(|verb| verb.text == "foreach") => {
            walker.report.can(Capability::Exec);
            let text = options.operands.iter().skip(1).map(|arg| arg.text.clone()).collect::<Vec<_>>().join(" ");
            walker.inner(&text, Stream::Absent, call.span);
        }
        "rebase" | "difftool" => {
            if let Some(text) = options.value("-x --exec --extcmd") {
                walker.report.can(Capability::Exec);
                walker.inner(text, Stream::Absent, call.span);
            }
        }
        "clone" if options.operands.iter().any(|url| url.text.starts_with("ext::")) => {
            exec(walker, "runs a command as its transport", call.span)
        }
        "rm" if options.has("-r") && !options.has("--cached") => destroy(walker, "removes a tree from disk"),
        _ => {}
    }
    if matches!(name, "mv" | "rm") {
        for operand in &options.operands {
            let path = walker.resolve(&operand.text);
            walker.report.writes(&path);
        }
    }
}

/// Endings that name a source file rather than a branch.
const SOURCE_ENDINGS: &[&str] = &[
    ".rs", ".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".c", ".h", ".cpp", ".java", ".rb", ".txt", ".md", ".json",
    ".yaml", ".yml", ".toml", ".html", ".css", ".sh", ".lock", ".xml", ".sql", ".php",
];

/// Whether an operand is a path rather than a branch, as far as the text shows.
pub(crate) fn path_like(text: &str) -> bool {
    text == "."
        || text.starts_with("./")
        || text.starts_with("../")
        || text.contains(mark::STAR)
        || text.starts_with(":/")
        || SOURCE_ENDINGS.iter().any(|end| text.ends_with(end))
}

fn checkout_overwrites(options: &Options) -> bool {
    let creates = options.has("-b -B --orphan --detach -d");
    let after_dashes = options.before_dashes.is_some_and(|before| options.operands.len() > before);
    let named = match options.operands.as_slice() {
        [] => false,
        [only] => path_like(&only.text),
        [_, _, ..] => !creates,
    };
    after_dashes || options.has("-f --force --pathspec-from-file") || (named && !creates)
}

fn config(walker: &mut Walker<'_>, options: &Options, call: &Call<'_>) {
    let words: Vec<&Arg> = options
        .operands
        .iter()
        .filter(|operand| !matches!(operand.text.as_str(), "get" | "set" | "list" | "unset"))
        .collect();
    let asks = options.has("--get --get-all --get-regexp --list -l --show-origin --get-urlmatch")
        || options.operands.first().is_some_and(|first| matches!(first.text.as_str(), "get" | "list"));
    let key = words.first().map(|word| word.text.to_ascii_lowercase()).unwrap_or_default();
    if key.starts_with("credential.") || key.contains("token") || key.contains("password") {
        walker.report.can_because(Capability::Credentials, format!("`{key}` concerns passwords"), call.span);
    }
    if asks || (words.len() < 2 && !options.has("--unset --unset-all --remove-section --edit -e")) {
        return;
    }
    walker.report.raise(Class::Write, "WRITES", format!("changes the setting `{key}`"), call.span);
    if let Some(file) = options.value("-f --file") {
        walker.write_file(file, How::Modify, call.span);
    }
    walker.made.pushes_elsewhere |= fits(&key, PUSHES);
    if let Some(value) = words.get(1) {
        if fits(&key, &[("remote.", "url")]) {
            later_pushes(walker, value.span);
        }
        // An alias without `!` is another git command.
        let alias = key.starts_with("alias.") && !value.text.starts_with('!');
        let stored_command = is_run(&key, &value.text) && !alias || fits(&key, LEADS) || key.starts_with("protocol.");
        if stored_command && !PAGERS.contains(&value.text.as_str()) {
            walker.report.can_because(
                Capability::Persistence,
                format!("`{key}` makes git run `{}` later", mark::shown(&value.text)),
                value.span,
            );
            setting(walker, &key, &value.text, value.span);
        }
    }
}
