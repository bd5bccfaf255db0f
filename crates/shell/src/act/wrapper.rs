//! Programs that run the command they are given: what is judged is that command.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::run::wrapped;
use crate::stream::Stream;
use crate::walk::{Arg, Variable, Walker};

/// How one wrapper is written.
pub(crate) struct Wrap {
    pub name: &'static str,
    /// Options that take a value.
    pub valued: &'static str,
    /// Operands before the command.
    pub skip: usize,
    /// Options whose value is a shell text to run.
    pub shell: &'static str,
    /// Whether all words together are one shell text.
    pub joined: bool,
}

const fn wrap(name: &'static str, valued: &'static str, skip: usize) -> Wrap {
    Wrap { name, valued, skip, shell: "", joined: false }
}

const fn shell(name: &'static str, valued: &'static str, skip: usize, shell: &'static str) -> Wrap {
    Wrap { name, valued, skip, shell, joined: false }
}

/// Every wrapper; a row here and its name in `rules/wrappers.rs` or `rules/privilege.rs` is all it takes.
pub(crate) const WRAPS: &[Wrap] = &[
    wrap(
        "sudo",
        "-u -g -U -p -C -h -r -t -T -D -R --user --group --prompt --chdir --chroot --host --role --type --close-from --other-user --command-timeout",
        0,
    ),
    wrap("sudoedit", "-u -g", 99),
    wrap("doas", "-u -C", 0),
    wrap("pkexec", "--user", 0),
    wrap("gosu", "", 1),
    wrap("su-exec", "", 1),
    wrap("dzdo", "-u -g", 0),
    wrap("please", "-u", 0),
    wrap("run0", "-u --user -g --group -D --chdir", 0),
    wrap(
        "setpriv",
        "--reuid --regid --ruid --euid --rgid --egid --groups --securebits --inh-caps --ambient-caps --bounding-set --pdeathsig",
        0,
    ),
    shell("su", "-c --command -s --shell -g --group -G -w", 99, "-c --command"),
    shell("runuser", "-c --command -s --shell -u --user -g --group", 0, "-c --command"),
    wrap("nsenter", "-t --target -S --setuid -G --setgid", 0),
    wrap("unshare", "--map-user --map-group --root -R --wd -w -S --setuid -G --setgid", 0),
    wrap("chroot", "--userspec --groups", 1),
    wrap("fakechroot", "", 0),
    wrap("capsh", "--user --uid --gid --caps --drop", 99),
    wrap("nice", "-n --adjustment", 0),
    wrap("ionice", "-c -n -p --class --classdata", 0),
    wrap("chrt", "-T -P -D", 1),
    wrap("taskset", "", 1),
    wrap("numactl", "-m -N -C -p -i --membind --cpunodebind --physcpubind --preferred --interleave", 0),
    wrap("cpulimit", "-l --limit -p", 0),
    wrap("prlimit", "-p --pid", 0),
    wrap("nohup", "", 0),
    wrap("setsid", "", 0),
    wrap("timeout", "-s --signal -k --kill-after", 1),
    wrap("gtimeout", "-s --signal -k --kill-after", 1),
    wrap("stdbuf", "-i -o -e --input --output --error", 0),
    wrap("unbuffer", "", 0),
    wrap("time", "-f --format -o --output", 0),
    wrap("gtime", "-f --format -o --output", 0),
    wrap("strace", "-e -o -p -s -u -E -P -I -a -b -O -S -X", 0),
    wrap("ltrace", "-e -o -p -s -u -l -n -a", 0),
    wrap("perf", "", 1),
    wrap("valgrind", "", 0),
    wrap("catchsegv", "", 0),
    wrap("rlwrap", "-a -b -c -f -H -s -P", 0),
    wrap("setarch", "", 1),
    wrap("linux32", "", 0),
    wrap("linux64", "", 0),
    wrap("i386", "", 0),
    wrap("x86_64", "", 0),
    wrap("arch", "", 0),
    wrap("caffeinate", "-t -w", 0),
    wrap("xvfb-run", "-n -e -f -p -s -w --server-args --server-num", 0),
    wrap("dbus-run-session", "--config-file", 0),
    wrap("dbus-launch", "", 0),
    wrap("fakeroot", "-l -s -i -b", 0),
    wrap("proot", "-r -b -w -q -v -k -p", 0),
    wrap("firejail", "", 0),
    wrap("bwrap", "--bind --ro-bind --dev --proc --tmpfs --chdir --setenv --unsetenv --uid --gid --symlink --dir", 0),
    wrap(
        "systemd-run",
        "-u --unit -p --property --slice -M --machine -H --host --on-calendar --on-active --on-boot --uid --gid --working-directory -E --setenv --description --nice",
        0,
    ),
    wrap("systemd-inhibit", "--what --who --why --mode", 0),
    wrap("systemd-cat", "-t -p --identifier --priority", 0),
    wrap("sshpass", "-p -f -d -P", 0),
    wrap("torsocks", "", 0),
    wrap("torify", "", 0),
    wrap("proxychains", "-f", 0),
    wrap("proxychains4", "-f", 0),
    wrap("tsocks", "", 0),
    wrap("chronic", "", 0),
    wrap("ts", "", 99),
    wrap("mispipe", "", 0),
    wrap("ifne", "", 0),
    wrap("pee", "", 0),
    wrap("softlimit", "-m -d -s -l -a -p -o -c -t", 0),
    wrap("chpst", "-u -U -e -n -l -L -m -d -o -p -f -c -t", 0),
    wrap("setuidgid", "", 1),
    wrap("envdir", "", 1),
    wrap("tini", "", 0),
    wrap("dumb-init", "", 0),
    wrap("entr", "", 0),
    wrap("watchexec", "-w -e -f -i -d --watch --exts --filter --ignore --delay-run", 0),
    wrap("nodemon", "-w -e -i --watch --ext --ignore", 0),
    wrap("direnv", "", 2),
    wrap("dotenv", "-e -f --file", 0),
    wrap("dotenvx", "-f", 1),
    wrap("aws-vault", "-d --duration", 2),
    wrap("chamber", "", 2),
    wrap("teller", "", 1),
    wrap("op", "--env-file --account", 1),
    wrap("doppler", "-p -c --project --config --token", 1),
    wrap("infisical", "--env --path", 1),
    wrap("busybox", "", 0),
    wrap("toybox", "", 0),
    wrap("command", "", 0),
    wrap("builtin", "", 0),
    wrap("exec", "-a", 0),
    wrap("nocorrect", "", 0),
    wrap("noglob", "", 0),
    wrap("then", "", 0),
    wrap("do", "", 0),
    shell("flock", "-w --timeout --wait -E --conflict-exit-code -c --command", 1, "-c --command"),
    shell("script", "-c --command -E -I -O -B -T -m -o", 99, "-c --command"),
    Wrap { name: "watch", valued: "-n --interval -q --equexit", skip: 0, shell: "", joined: true },
    Wrap { name: "viddy", valued: "-n --interval", skip: 0, shell: "", joined: true },
    wrap("ld.so", "--library-path --preload", 0),
    wrap("ld-linux-x86-64.so", "--library-path --preload", 0),
    wrap("tsp", "-L -N", 0),
    wrap("nq", "", 0),
    wrap("logsave", "", 1),
    wrap("gdb", "-p -x -ex -c", 99),
];

/// Unwraps by the table.
pub(crate) fn unwrap(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let stem = call.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let named = |name: &str| WRAPS.iter().find(|wrap| wrap.name == name);
    let Some(wrap) = named(call.name).or_else(|| named(stem)) else { return Stream::Opaque };
    let options = wrapped(call.args, wrap.valued);
    if let Some(text) = options.value(wrap.shell).filter(|_| !wrap.shell.is_empty()) {
        let text = text.to_owned();
        return walker.inner(&text, call.stdin.clone(), call.span);
    }
    if let ("logsave", Some(file)) = (call.name, options.operands.first()) {
        walker.write_file(&file.text, crate::touch::How::Overwrite, file.span);
    }
    let skip = if options.before_dashes.is_some() && wrap.skip == 99 { 0 } else { wrap.skip };
    let command: Vec<Arg> = options.operands.get(skip..).unwrap_or_default().to_vec();
    if command.is_empty() {
        // `su user -c text` has its option behind the operand.
        if let Some(at) = call
            .args
            .iter()
            .position(|arg| !wrap.shell.is_empty() && wrap.shell.split(' ').any(|name| arg.text == name))
            && let Some(text) = call.args.get(at + 1)
        {
            let text = text.text.clone();
            return walker.inner(&text, call.stdin.clone(), call.span);
        }
        return bare(walker, call);
    }
    // Some wrappers repeat `--` or carry assignments before the command.
    let command: Vec<Arg> = command
        .into_iter()
        .skip_while(|arg| {
            arg.text == "--"
                || (wrap.skip > 0 && arg.text.starts_with('-'))
                || (is_assignment(&arg.text) && takes_assignments(call.name))
        })
        .collect();
    // `flock FILE -c TEXT`: the option stands behind the operand.
    let behind = options.operands.get(skip..).unwrap_or_default();
    if let [option, text, ..] = behind
        && !wrap.shell.is_empty()
        && wrap.shell.split(' ').any(|name| name == option.text)
    {
        let text = text.text.clone();
        return walker.inner(&text, call.stdin.clone(), call.span);
    }
    if wrap.joined {
        let text = command.iter().map(|arg| mark::as_source(&arg.text)).collect::<Vec<_>>().join(" ");
        return walker.inner(&text, call.stdin.clone(), call.span);
    }
    // Where these are words of the grammar, what they stand before may be a function.
    if matches!(call.name, "time" | "then" | "do" | "nocorrect" | "noglob") {
        let certain = command.first().is_some_and(|first| walker.state.perhaps.insert(first.text.clone()));
        let name = command.first().map(|first| first.text.clone()).unwrap_or_default();
        let out = walker.named(command, call.stdin.clone(), call.span);
        if certain {
            walker.state.perhaps.remove(&name);
        }
        return out;
    }
    walker.run(command, call.stdin.clone(), call.span)
}

/// A wrapper without a command: a shell of another user, or nothing at all.
fn bare(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let shells = matches!(
        call.name,
        "su" | "sudo" | "doas" | "pkexec" | "nsenter" | "unshare" | "runuser" | "chroot" | "script"
    );
    let edits = matches!(call.name, "sudoedit");
    let lists = call.options.has("-l --list -k -K -v --version -h --help");
    if edits {
        for operand in &call.options.operands {
            walker.write_file(&operand.text, crate::touch::How::Modify, operand.span);
        }
    } else if shells && !lists && (call.options.has("-i -s --login --shell -") || !matches!(call.name, "sudo" | "doas"))
    {
        return crate::act::language::shell_stdin(walker, call);
    }
    Stream::Opaque
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn takes_assignments(name: &str) -> bool {
    matches!(name, "sudo" | "doas" | "dzdo" | "run0")
}

const ENV_VALUED: &str = "-u --unset -C --chdir -S --split-string -P --block-signal --default-signal -a --argv0";

/// `env`: assignments, then a command; `-S` splits one word into many.
pub(crate) fn env(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = wrapped(call.args, ENV_VALUED);
    let mut words: Vec<Arg> = Vec::new();
    if let Some(split) = options.find("-S --split-string") {
        let text = split.value.clone().unwrap_or_default();
        words.extend(walker.split_words(&unescaped(&text), split.span));
        if text.contains("\\c") || text.contains("${") {
            walker.report.unknown("DYNAMIC_CODE", "which words `env -S` makes cannot be known", split.span);
        }
    }
    words.extend(options.operands.iter().cloned());
    let mut set = Vec::new();
    let mut rest = words.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        if first.text == "-" || first.text == "--" {
            rest = tail;
        } else if first.text.contains('=') && !first.text.starts_with('=') {
            if let Some((name, value)) = first.text.split_once('=') {
                set.push((name.to_owned(), Variable::Scalar(value.to_owned())));
                walker.notable_variable(name, &Variable::Scalar(value.to_owned()), first.span);
                walker.name_words(&[Arg::new(value, first.span)]);
            }
            rest = tail;
        } else {
            break;
        }
    }
    if rest.is_empty() {
        return Stream::Opaque;
    }
    let saved = (walker.state.variables.clone(), walker.state.cwd.clone());
    let handed_on = walker.state.handed_on.clone();
    walker.state.handed_on.extend(set.iter().map(|(name, _)| name.clone()));
    walker.state.variables.extend(set);
    if let Some(directory) = options.value("-C --chdir") {
        walker.state.cwd = walker.resolve(directory);
    }
    let out = walker.run(rest.to_vec(), call.stdin.clone(), call.span);
    (walker.state.variables, walker.state.cwd) = saved;
    walker.state.handed_on = handed_on;
    out
}

/// Escapes of `env -S`, as the blanks and quotes of a shell. A blank inside of quotes stays in its word.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut quote: Option<char> = None;
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', Some('\'')) => {
                out.push(c);
            }
            ('\\', quote) => match chars.next() {
                Some('_') => out.push(' '),
                Some(c @ ('t' | 'n' | 'r' | 'f' | 'v')) => out.push(if c == 'n' {
                    '\n'
                } else if c == 't' {
                    '\t'
                } else {
                    ' '
                }),
                Some(c @ ('#' | '$' | '"' | '\'' | '\\')) if quote.is_none() || matches!(c, '"' | '$' | '\\') => {
                    out.push('\\');
                    out.push(c);
                }
                Some(c) => out.push(c),
                None => {}
            },
            ('\'' | '"', None) => {
                quote = Some(c);
                out.push(c);
            }
            (c, open) => {
                if open == Some(c) {
                    quote = None;
                }
                out.push(c);
            }
        }
    }
    out
}

/// `command -v` and `-V` only look a name up.
pub(crate) fn command(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = wrapped(call.args, "");
    // `command -v name` looks up; nobody looks up `--hard`.
    let only_names = options.operands.iter().all(|operand| !operand.text.starts_with('-'));
    if options.has("-v -V") && only_names {
        return crate::act::filter::which(walker, call);
    }
    unwrap(walker, call)
}

/// Elevation: the command runs with more rights than the caller has.
pub(crate) fn elevate(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can_because(
        Capability::Privilege,
        format!("`{}` runs with the rights of another user", call.name),
        call.span,
    );
    unwrap(walker, call)
}

/// `ssh host command`: the words after the host are one shell text on another machine.
pub(crate) fn ssh(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    const VALUED: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w --host --ssh-key --zone --project --region --instance";
    let options = wrapped(call.args, VALUED);
    let user_root = options.value("-l") == Some("root")
        || options
            .operands
            .first()
            .is_some_and(|host| host.text.starts_with("root@") || host.text.contains("://root@"));
    if user_root {
        walker.report.can_because(Capability::Privilege, "logs in as root", call.span);
    }
    if let Some(value) =
        options.given.iter().filter(|opt| opt.name == "-o").filter_map(|opt| opt.value.as_deref()).find(|value| {
            value.to_ascii_lowercase().starts_with("proxycommand")
                || value.to_ascii_lowercase().starts_with("localcommand")
        })
    {
        let text = value.split_once(['=', ' ']).map(|(_, text)| text.to_owned()).unwrap_or_default();
        walker.inner(&text, Stream::Absent, call.span);
    }
    if let Some(identity) = options.find("-i") {
        walker.report.reads(&walker.resolve(identity.value.as_deref().unwrap_or_default()));
    }
    // Options may also stand behind the host.
    let behind = wrapped(options.operands.get(1..).unwrap_or_default(), VALUED);
    let words = behind.operands.as_slice();
    if words.is_empty() {
        if let Stream::Text(text) = &call.stdin {
            let text = text.clone();
            remote(walker, &text, call);
        }
        return Stream::Remote;
    }
    let text = words.iter().map(|arg| mark::as_source(&arg.text)).collect::<Vec<_>>().join(" ");
    remote(walker, &text, call);
    Stream::Remote
}

/// Where a command on another machine is taken to run.
pub(crate) const REMOTE_LOGIN: &str = "/home/remote/login";

/// On another machine home and working directory are not ours.
fn remote(walker: &mut Walker<'_>, text: &str, call: &Call<'_>) {
    let saved = std::mem::replace(&mut walker.state.cwd, REMOTE_LOGIN.to_owned());
    walker.inner(text, call.stdin.clone(), call.span);
    walker.state.cwd = saved;
    walker.report.raise(Class::Write, "REMOTE", "runs a command on another machine", call.span);
}

/// `npx tool args`: a tool that is described does what it always does, any other may write what it is handed.
pub(crate) fn fetched(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = wrapped(call.args, "-p --package -c --call -w --workspace --from --with --python");
    if let Some(text) = options.value("-c --call") {
        return walker.inner(text, call.stdin.clone(), call.span);
    }
    packaged(walker, call, &options.operands)
}

fn packaged(walker: &mut Walker<'_>, call: &Call<'_>, words: &[Arg]) -> Stream {
    let Some((tool, rest)) = words.split_first() else { return Stream::Opaque };
    // `prettier@3` is `prettier`.
    let name = tool.text.split('@').next().unwrap_or_default().to_owned();
    if !name.is_empty() && !name.contains('/') && crate::rules::lookup(&name).is_some() {
        let mut words = words.to_vec();
        if let Some(first) = words.first_mut() {
            first.text = name;
        }
        return walker.run_unlisted(words, call.stdin.clone(), call.span);
    }
    walker.may_write_words(rest);
    Stream::Opaque
}

/// Package runners and environment managers: `poetry run cmd`, `npx cmd`, `bundle exec cmd`.
pub(crate) fn runner(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    crate::act::handed::manager_settings(walker, call);
    let verbs = ["run", "exec", "--", "x", "dlx"];
    let at = call.args.iter().position(|arg| verbs.contains(&arg.text.as_str()));
    let Some(at) = at else { return Stream::Opaque };
    let rest = wrapped(
        call.args.get(at + 1..).unwrap_or_default(),
        "-p --package --with --python -n --name --project --extra --group -w --env -e --config -c",
    )
    .operands;
    if matches!(call.name, "npm" | "pnpm" | "yarn" | "bun")
        && call.args.get(at).is_some_and(|verb| matches!(verb.text.as_str(), "exec" | "x" | "dlx"))
    {
        let behind = call.args.get(at + 1..).unwrap_or_default();
        let mut texts = crate::act::handed::values(behind, &["-c"]);
        texts.extend(crate::act::handed::values(call.args, &["--call"]));
        for text in texts {
            crate::act::handed::run(walker, &text.text, text.span);
        }
        // One word with blanks in it is a text for a shell.
        if let [only] = rest.as_slice()
            && only.text.contains(' ')
        {
            crate::act::handed::run(walker, &only.text, only.span);
        }
        return packaged(walker, call, &rest);
    }
    let known = rest
        .first()
        .is_some_and(|first| crate::rules::lookup(first.text.rsplit('/').next().unwrap_or_default()).is_some());
    if known
        && matches!(
            call.name,
            "poetry"
                | "pipenv"
                | "uv"
                | "pdm"
                | "hatch"
                | "rye"
                | "bundle"
                | "conda"
                | "mamba"
                | "micromamba"
                | "mise"
                | "asdf"
                | "rtx"
                | "pixi"
                | "nix"
                | "op"
                | "doppler"
                | "direnv"
                | "aws-vault"
                | "dotenv"
                | "pipx"
                | "npm"
                | "pnpm"
                | "yarn"
                | "bun"
                | "rye-run"
        )
        && call.args.get(at).is_some_and(|verb| verb.text != "x")
        && !matches!(call.name, "npm" | "pnpm" | "yarn" | "bun")
    {
        return walker.run(rest, call.stdin.clone(), call.span);
    }
    Stream::Opaque
}

#[cfg(test)]
mod asked {
    use crate::testing::asked;

    #[test]
    fn escapes_of_split_words() {
        asked(&["env -S 'cp\\_README.md\\_.claude/settings.json'", "env -S 'sh -c \"rm\\t-rf\\t../out\"'"]);
    }
}
