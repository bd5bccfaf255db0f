//! Programs that run what their arguments say: a param there would choose or become a program.

use kernel::argument;

/// Programs that read one of their arguments as a program, wherever in a command they stand.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "busybox"];

/// Variables that decide what is run, by the end of their names.
const DECIDING: [&str; 7] = ["PATH", "PRELOAD", "AUDIT", "ENV", "OPT", "OPTIONS", "STARTUP"];

/// What stands behind a program's name.
#[derive(Clone, Copy)]
enum Behind {
    /// So many operands, then a program and its arguments.
    Program(usize),
    /// So many operands that are, or name, what is run, unless an option did; then data.
    Text(usize),
    /// The same, and options may stand anywhere.
    Anywhere(usize),
    /// Nothing but what is run.
    Everything,
}
use Behind::{Anywhere, Everything, Program, Text};

/// One program: what stands behind it, its options that take a value, and those whose value is run; with a `+` those that
/// run something besides the program, which is still to come.
type Row = (&'static str, Behind, &'static str, &'static str);

/// By name, without its folder and version.
const ROWS: &[Row] = &[
    ("env", Program(0), "-u -C -a --unset --chdir --argv0", "-S --split-string"),
    ("nice", Program(0), "-n --adjustment", ""),
    ("ionice", Program(0), "-c -n --class --classdata", ""),
    ("nohup", Program(0), "", ""),
    ("setsid", Program(0), "", ""),
    ("stdbuf", Program(0), "-i -o -e --input --output --error", ""),
    ("time", Program(0), "-f -o --format --output", ""),
    ("timeout", Program(1), "-s -k --signal --kill-after", ""),
    ("taskset", Program(1), "", ""),
    ("flock", Program(1), "-w -E --timeout --conflict-exit-code", "-c --command"),
    ("strace", Program(0), "-e -o -p -s -u -E", ""),
    (
        "xargs",
        Program(0),
        "-I -n -P -L -d -a -E -s --replace --max-args --max-procs --max-lines --delimiter --arg-file",
        "",
    ),
    (
        "sudo",
        Program(0),
        "-u -g -U -p -C -h -r -t -T -D --user --group --prompt --chdir --host --role --type",
        "-R --chroot",
    ),
    ("doas", Program(0), "-u", "-C"),
    ("setpriv", Program(0), "--reuid --regid --groups --securebits --inh-caps --ambient-caps --bounding-set", ""),
    ("chroot", Everything, "", ""),
    ("su", Everything, "", ""),
    ("runuser", Everything, "", ""),
    ("ssh", Everything, "", ""),
    ("watch", Everything, "", ""),
    ("parallel", Everything, "", ""),
    ("script", Everything, "", ""),
    ("pwsh", Everything, "", ""),
    ("python", Text(1), "-W -X", "-c -m"),
    ("pypy", Text(1), "-W -X", "-c -m"),
    ("perl", Text(1), "", "-e -E -M+ -m+ -I+"),
    ("ruby", Text(1), "-C -E", "-e -r+ -I+"),
    (
        "node",
        Text(1),
        "-C --conditions",
        "-e -p -r+ --eval --print --require+ --import+ --loader+ --experimental-loader+",
    ),
    (
        "nodejs",
        Text(1),
        "-C --conditions",
        "-e -p -r+ --eval --print --require+ --import+ --loader+ --experimental-loader+",
    ),
    ("deno", Text(2), "", "-c+ -r+ --config+ --preload+ --import-map+"),
    ("bun", Text(1), "", "-e -p -r+ --eval --print --preload+ run x exec"),
    ("php", Text(1), "", "-r -B -R -E -F -f -d+ -c+"),
    ("lua", Text(1), "", "-e -l+"),
    ("luajit", Text(1), "", "-e -l+"),
    ("tclsh", Text(1), "", ""),
    ("expect", Text(1), "", "-c -f"),
    ("julia", Text(1), "-t -p --threads --procs", "-e -E -L+ -J+ --eval --print --load+ --sysimage+ --project+"),
    ("Rscript", Text(1), "", "-e"),
    ("R", Anywhere(0), "", "-e -f --file"),
    ("osascript", Anywhere(1), "-s", "-e -l+"),
    ("awk", Text(1), "-v -F --assign --field-separator", "-f -e -i+ -l+ -E --file --source --include+ --load+ --exec"),
    ("gawk", Text(1), "-v -F --assign --field-separator", "-f -e -i+ -l+ -E --file --source --include+ --load+ --exec"),
    ("mawk", Text(1), "-v -F --assign --field-separator", "-f -e -E -W+ --file --exec"),
    ("nawk", Text(1), "-v -F", "-f"),
    ("sed", Anywhere(1), "-l --line-length", "-e -f --expression --file"),
    ("gsed", Anywhere(1), "-l --line-length", "-e -f --expression --file"),
    (
        "psql",
        Anywhere(0),
        "-d -h -p -U -v -o -F -R -P -T -L --dbname --host --port --username --set --variable",
        "-c -f --command --file",
    ),
    ("mysql", Anywhere(0), "-u -h -P -D -S -p --user --host --port --database", "-e --execute --init-command"),
    ("mariadb", Anywhere(0), "-u -h -P -D -S -p --user --host --port --database", "-e --execute --init-command"),
    ("sqlite", Anywhere(usize::MAX), "-separator -newline -nullvalue", "-cmd+ -init+"),
];

/// Whether everything behind this word is a shell's.
pub(super) fn is_shell(word: &str) -> bool {
    SHELLS.contains(&file_name(word))
}

/// For each word the program that would run it, or run what it names.
pub(super) fn runners(words: &[String]) -> Vec<Option<&str>> {
    let mut runners = vec![None; words.len()];
    let mut starts = vec![0];
    while let Some(start) = starts.pop() {
        let Some(name) = words.get(start).map(|word| file_name(word)) else { continue };
        if name == "find" {
            let launched = words.iter().enumerate().skip(start + 1);
            let launched =
                launched.filter(|(_, word)| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"));
            let launched: Vec<usize> = launched.map(|(index, _)| index + 1).collect();
            launched.iter().for_each(|index| mark(&mut runners, *index, name));
            starts.extend(launched);
            continue;
        }
        let Some(row) = ROWS.iter().find(|(known, ..)| *known == without_version(name)) else { continue };
        starts.extend(walk(words, start, name, row, &mut runners));
    }
    runners
}

/// Marks what one program runs; the place of the program it starts, if it does.
fn walk<'a>(
    words: &'a [String],
    start: usize,
    name: &'a str,
    (_, behind, valued, run): &Row,
    runners: &mut [Option<&'a str>],
) -> Option<usize> {
    let (mut operands, mut has_text, mut options) = (0, false, true);
    let mut awaited = None;
    for (index, word) in words.iter().enumerate().skip(start + 1) {
        if matches!(behind, Everything) {
            mark(runners, index, name);
            continue;
        }
        if let Some(value) = awaited.take() {
            has_text |= value == Value::Program;
            if value != Value::Data {
                mark(runners, index, name);
            }
            continue;
        }
        // `env -` is `env -i`.
        if word == "-" && matches!(behind, Program(_)) {
            continue;
        }
        if options && word == "--" {
            options = false;
            continue;
        }
        if options && (is_option(word) || lists(run, word)) {
            let (value, is_next) = option(word, valued, run);
            if is_next {
                awaited = Some(value);
            } else if value != Value::Data {
                mark(runners, index, name);
                has_text |= value == Value::Program;
            }
            continue;
        }
        match *behind {
            Program(_) if is_plain_assignment(word) => {}
            Program(before) if operands < before => operands += 1,
            Program(_) => {
                mark(runners, index, name);
                return Some(index);
            }
            Text(own) | Anywhere(own) => {
                let is_text = !has_text && operands < own;
                operands += 1;
                if is_text {
                    mark(runners, index, name);
                }
                if matches!(behind, Text(_)) && (has_text || operands >= own) {
                    return None;
                }
            }
            Everything => {}
        }
    }
    None
}

/// What the value of an option is to a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Data,
    /// What is run.
    Program,
    /// Run besides the program.
    Besides,
}

/// What an option's value is, and whether it is the next word.
fn option(word: &str, valued: &str, run: &str) -> (Value, bool) {
    let value_of = |name: &str| {
        let besides = lists(run, &format!("{name}+")).then_some(Value::Besides);
        let data = || lists(valued, name).then_some(Value::Data);
        if lists(run, name) { Some(Value::Program) } else { besides.or_else(data) }
    };
    if let Some(value) = value_of(word) {
        return (value, true);
    }
    if word.starts_with("--") {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        // Names may be cut short, and a param may become one.
        let is_short = run.split(' ').any(|option| option.starts_with(name));
        let unknown = if is_short || argument::params(name).next().is_some() { Value::Besides } else { Value::Data };
        return (value_of(name).unwrap_or(unknown), false);
    }
    // Letters in one word: the first that takes a value takes the rest of it, or the next word.
    for (at, letter) in word.char_indices().skip(1) {
        if let Some(value) = value_of(&format!("-{letter}")) {
            return (value, at + letter.len_utf8() == word.len());
        }
        if letter == '{' {
            return (Value::Besides, false);
        }
    }
    (Value::Data, false)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn lists(options: &str, word: &str) -> bool {
    options.split(' ').any(|option| option == word && !option.is_empty())
}

/// `NAME=value` before a program, where the name is written out and does not decide what is run.
fn is_plain_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let deciding = name.starts_with("LD_") || DECIDING.iter().any(|end| name.ends_with(end));
        argument::params(word).next().is_none() || argument::params(name).next().is_none() && !deciding
    })
}

fn mark<'a>(runners: &mut [Option<&'a str>], index: usize, name: &'a str) {
    if let Some(place) = runners.get_mut(index) {
        *place = Some(name);
    }
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// `python` of `python3.12`.
fn without_version(name: &str) -> &str {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words with a bar are run by the program named before it; the others by nobody.
    #[track_caller]
    fn check(command: &str) {
        let expected: Vec<&str> = command.split('~').map(str::trim).collect();
        let words: Vec<String> =
            expected.iter().map(|word| word.split_once('|').map_or(*word, |(_, word)| word).to_owned()).collect();
        let found: Vec<String> = runners(&words)
            .into_iter()
            .zip(&words)
            .map(|(runner, word)| runner.map_or(word.clone(), |runner| format!("{runner}|{word}")))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn launchers_run_what_stands_behind_their_options() {
        check("pack ~ {order} ~ -c ~ {order}");
        for launcher in ["env", "nice", "nohup", "setsid", "stdbuf", "xargs", "sudo", "doas", "time"] {
            check(&format!("/usr/bin/{launcher} ~ {launcher}|{{order}} ~ x"));
            check(&format!("{launcher} ~ {launcher}|pack ~ {{order}}"));
        }
        check("nice ~ -n ~ 5 ~ nice|{order}");
        check("timeout ~ -k ~ 1 ~ 5s ~ timeout|{order} ~ x");
        check("timeout ~ {seconds} ~ timeout|pack ~ {order}");
        check("env ~ A={order} ~ env|pack ~ {order}");
        check("env ~ env|PATH={order} ~ pack");
        check("env ~ env|{order}=1 ~ pack");
        check("env ~ -S ~ env|pack {order}");
        check("env ~ env|-Spack {order}");
        check("env ~ env|--split-string=pack {order}");
        check("env ~ env|--split={order}");
        check("env ~ - ~ env|{order}");
        check("env ~ -- ~ env|nice ~ nice|timeout ~ 5 ~ timeout|{order}");
        check("env ~ env|python3 ~ -c ~ python3|{order} ~ {order}");
        check("sudo ~ -u ~ ann ~ sudo|awk ~ awk|{order}");
        check("ssh ~ ssh|host ~ ssh|pack ~ ssh|{order}");
        check("su ~ su|ann ~ su|-c ~ su|pack {order}");
        check("watch ~ watch|pack ~ watch|{order}");
        check("find ~ {folder} ~ -exec ~ find|{order} ~ ; ~ -name ~ {order} ~ -ok ~ find|perl ~ -e ~ perl|{order}");
    }

    #[test]
    fn interpreters_run_texts_and_files_and_nothing_behind() {
        check("python3.12 ~ python3.12|pack.py ~ -c ~ {order}");
        check("python ~ python|{order}");
        check("python ~ -W ~ ignore ~ -m ~ python|{order}");
        check("python ~ -Ic ~ python|{order} ~ {order}");
        check("python ~ python|-c{order}");
        check("python ~ python|-{order}");
        check("perl ~ -lane ~ perl|print {order} ~ {order}");
        check("perl ~ perl|-M{order} ~ -e ~ perl|1");
        check("perl ~ perl|-MJSON ~ perl|{order}");
        check("node ~ -r ~ node|./first.js ~ node|{order} ~ {order}");
        check("gawk ~ -i ~ gawk|inplace ~ gawk|/{order}/");
        check("ruby ~ -e ~ ruby|p ARGV ~ {order}");
        check("node ~ node|--eval={order}");
        check("node ~ --title={order} ~ node|pack.js ~ --eval={order}");
        check("deno ~ deno|eval ~ deno|{order}");
        check("deno ~ deno|run ~ --allow-net ~ deno|pack.ts ~ {order}");
        check("bun ~ run ~ bun|{order}");
        check("php ~ -r ~ php|{order} ~ {order}");
        check("lua5.4 ~ -e ~ lua5.4|{order}");
        check("awk ~ -v ~ o={order} ~ awk|$1 == o ~ {order}");
        check("gawk ~ -F, ~ gawk|/{order}/ ~ file");
        check("awk ~ -f ~ awk|pack.awk ~ {order}");
        check("sed ~ -n ~ sed|s/{order}/x/ ~ {order} ~ -e ~ sed|{order}");
        check("sed ~ -ne ~ sed|p ~ {order}");
        check("psql ~ -d ~ shop ~ -v ~ o={order} ~ -c ~ psql|select {order}");
        check("mysql ~ -uroot ~ shop ~ mysql|-eselect {order}");
        check("sqlite3 ~ sqlite3|shop.db ~ sqlite3|select {order}");
        check("osascript ~ -e ~ osascript|{order} ~ {order}");
        check("Rscript ~ -e ~ Rscript|{order}");
        check("R ~ --no-save ~ -e ~ R|{order}");
        check("tclsh ~ tclsh|pack.tcl ~ {order}");
    }
}
