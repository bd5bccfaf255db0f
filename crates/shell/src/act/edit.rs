//! Editors and stream editors.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::Walker;

pub(crate) fn sed(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let in_place =
        call.options.given.iter().any(|opt| opt.name == "-i" || opt.name == "-I" || opt.name.starts_with("--in-pl"));
    let mut scripts: Vec<String> = call
        .options
        .given
        .iter()
        .filter(|opt| opt.name == "-e" || opt.name.len() > 2 && "--expression".starts_with(&opt.name))
        .filter_map(|opt| opt.value.clone())
        .collect();
    let from_file = call.options.has("-f --file");
    let skip = usize::from(scripts.is_empty() && !from_file);
    if skip == 1 {
        scripts.extend(call.options.operands.first().map(|operand| operand.text.clone()));
    }
    let from_files = crate::act::sed::files(walker, call);
    crate::act::sed::backup(walker, call);
    let whole = scripts.iter().chain(&from_files).cloned().collect::<Vec<_>>().join("\n");
    for script in scripts.iter().chain(&from_files) {
        commands(walker, script, call);
    }
    let mut source = call.stdin.clone();
    let mut input = Stream::Absent;
    for operand in call.options.operands.iter().skip(skip) {
        if in_place {
            walker.write_file(&operand.text, How::Modify, operand.span);
        } else {
            source = walker.read_file(&operand.text, operand.span);
            input = input.then(source.clone());
        }
    }
    let input = if call.options.operands.len() > skip { input } else { call.stdin.clone() };
    crate::act::sed::judge(walker, &whole, &input, call.span);
    if from_file {
        return source.blurred();
    }
    match (source, scripts.as_slice()) {
        (Stream::Text(text), scripts) => scripts
            .iter()
            .try_fold(text, |text, script| substituted(&text, script))
            .map_or(Stream::Opaque, Stream::text),
        (other, _) => other.blurred(),
    }
}

/// `e` runs commands, `w` writes files.
fn commands(walker: &mut Walker<'_>, script: &str, call: &Call<'_>) {
    for line in script.split(['\n', ';']) {
        let line = behind_address(line.trim());
        if let Some(command) = line.strip_prefix("e ") {
            walker.report.can(Capability::Exec);
            walker.inner(command, Stream::Absent, call.span);
        } else if let Some(path) = written(line) {
            walker.write_file(path, How::Overwrite, call.span);
        } else if let Some((_, replacement, flags)) = substitution(line) {
            let flags = flags.trim_end_matches('}');
            if let Some((before, path)) = flags.split_once('w') {
                if before.chars().all(|c| c.is_ascii_alphanumeric()) && !path.trim().is_empty() {
                    walker.write_file(path.trim(), How::Overwrite, call.span);
                }
            } else if flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric()) {
                walker.report.can(Capability::Exec);
                walker.report.raise(Class::Write, "EXEC", "`sed` runs what it produces", call.span);
                walker.inner(&replacement, Stream::Absent, call.span);
            }
        }
    }
}

/// `w FILE`, with or without the blank.
fn written(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['w', 'W'])?;
    let path = rest.trim();
    (!path.is_empty() && (rest.starts_with(' ') || !path.contains(' '))).then_some(path)
}

/// What stands behind line numbers, patterns and an opening brace.
fn behind_address(line: &str) -> &str {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_ascii_digit() || c.is_whitespace() || matches!(c, ',' | '$' | '!' | '+' | '~' | '{')
        });
        let Some(pattern) = rest.strip_prefix('/') else { return rest };
        let mut escaped = false;
        let end = pattern.char_indices().find(|(_, c)| {
            let ends = *c == '/' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((at, _)) = end else { return rest };
        rest = pattern.get(at + 1..).unwrap_or_default().trim_start_matches(['I', 'M']);
    }
}

/// `s/a/b/flags` taken apart.
fn substitution(script: &str) -> Option<(String, String, String)> {
    let rest = script.strip_prefix('s')?;
    let mark = rest.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace())?;
    let mut parts: Vec<String> = vec![String::new()];
    let mut chars = rest.chars().skip(1);
    while let Some(c) = chars.next() {
        if c == '\\' {
            let part = parts.last_mut()?;
            part.push(c);
            part.extend(chars.next());
        } else if c == mark && parts.len() < 3 {
            parts.push(String::new());
        } else {
            parts.last_mut()?.push(c);
        }
    }
    match parts.as_slice() {
        [pattern, replacement, flags] => Some((pattern.clone(), replacement.clone(), flags.clone())),
        _ => None,
    }
}

/// The result of a substitution whose pattern is plain text.
fn substituted(text: &str, script: &str) -> Option<String> {
    let (pattern, replacement, flags) = substitution(&mark::as_source(script))?;
    let unescaped = |part: &str| part.replace("\\/", "/").replace("\\.", ".").replace("\\ ", " ").replace("\\-", "-");
    let plain = unescaped(&pattern);
    let replacement = unescaped(&replacement);
    if plain.is_empty()
        || plain.contains(['*', '[', '^', '$', '\\'])
        || (plain.contains('.') && !pattern.contains("\\."))
        || replacement.contains(['&', '\\'])
    {
        return None;
    }
    Some(if flags.contains('g') {
        text.replace(&plain, &replacement)
    } else {
        text.split_inclusive('\n').map(|line| line.replacen(&plain, &replacement, 1)).collect()
    })
}

/// `vim`, `ex`, `ed`, `emacs`: they open files, and run what `-c` or `--eval` says.
pub(crate) fn editor(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for operand in &call.options.operands {
        if !operand.text.starts_with('+') {
            walker.write_file(&operand.text, How::Create, operand.span);
        }
    }
    let commands: Vec<String> = call
        .options
        .given
        .iter()
        .filter(|opt| matches!(opt.name.as_str(), "-c" | "--cmd" | "--eval" | "-eval" | "--execute" | "-S"))
        .filter_map(|opt| opt.value.clone())
        .chain(call.args.iter().filter_map(|arg| arg.text.strip_prefix('+').map(ToOwned::to_owned)))
        .collect();
    let typed = call.stdin.known().unwrap_or_default().to_owned();
    for command in commands.iter().flat_map(|command| command.split(['|', '\n'])).chain(typed.lines()) {
        saved(walker, command, call);
    }
    for command in commands.iter().flat_map(|command| command.split('|')).chain(typed.lines()) {
        let command = command.trim().trim_start_matches(':');
        if let Some(shell) = command
            .split_once('!')
            .filter(|(before, _)| {
                before.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '%' | ',' | '$' | ' ' | '.'))
            })
            .map(|(_, shell)| shell.to_owned())
        {
            walker.report.can(Capability::Exec);
            walker.inner(&shell, Stream::Opaque, call.span);
        } else if command.contains("shell-command")
            || command.contains("system(")
            || command.contains("call-process")
            || command.contains("(term ")
        {
            walker.report.can(Capability::Exec);
            let text = command.split('"').nth(1).or_else(|| command.split('\'').nth(1)).unwrap_or_default().to_owned();
            walker.inner(&text, Stream::Opaque, call.span);
        }
    }
    Stream::Absent
}

/// Commands of editors that write, by any beginning that they take.
const SAVING: &[&str] = &[
    "w",
    "wr",
    "wri",
    "writ",
    "write",
    "wq",
    "x",
    "xi",
    "xit",
    "exi",
    "exit",
    "sav",
    "save",
    "saveas",
    "up",
    "upd",
    "update",
    "wn",
    "wp",
    "e",
    "ed",
    "edi",
    "edit",
    "f",
    "file",
    "sp",
    "split",
    "vs",
    "vsplit",
    "new",
    "tabe",
    "tabedit",
    "redir",
    "mks",
    "mksession",
    "mkv",
    "mkview",
    "mkexrc",
    "wv",
    "wundo",
    "W",
    "cd",
    "chd",
    "chdir",
    "lcd",
    "tcd",
];

/// `:w FILE` and its relatives, and the literals of code for an editor.
fn saved(walker: &mut Walker<'_>, command: &str, call: &Call<'_>) {
    let text = command.trim().trim_start_matches(':');
    if text.starts_with('(') || text.contains("writefile(") {
        let literals = text.split(['"', '\'']).skip(1).step_by(2);
        for literal in literals.filter(|literal| literal.contains(['/', '.']) && !literal.contains(' ')).take(16) {
            walker.may_write(literal, call.span);
        }
        return;
    }
    let bare = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '%' | ',' | '$' | '.' | ' '));
    let verb: String = bare.chars().take_while(char::is_ascii_alphabetic).collect();
    let rest = bare.get(verb.len()..).unwrap_or_default().trim_start_matches(['!', '>', ' ', '=']);
    if !SAVING.contains(&verb.as_str())
        || rest.is_empty()
        || bare.get(verb.len()..).is_some_and(|r| r.starts_with(" !"))
    {
        return;
    }
    for word in rest.split_whitespace().filter(|word| !word.starts_with('+')).take(4) {
        walker.may_write(word.trim_start_matches(['>', '!']), call.span);
    }
}

/// `awk`: programs in files and on standard input, before those on the command line.
pub(crate) fn awk(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let valued = "-F -v -f --field-separator --assign --file -e --source -i --include -l --load -E --exec";
    let options = crate::call::Options::parse(call.args, valued, crate::rules::Style::Gnu, true);
    for opt in &options.given {
        let Some(value) = opt.value.as_deref() else { continue };
        // Any beginning of a long option will do.
        let long = ["--file", "--exec", "--source", "--load", "--include"];
        let name = long.into_iter().find(|long| opt.name.len() > 2 && long.starts_with(&opt.name));
        match name.unwrap_or(&opt.name) {
            "-f" | "--file" | "-E" | "--exec" => {
                if let Some(text) = crate::act::sed::program_file(walker, value, call) {
                    walker.awk_program(&text, &call.stdin, opt.span);
                }
            }
            "-e" | "--source" => walker.awk_program(value, &call.stdin, opt.span),
            "-l" | "--load" => walker.report.unknown("DYNAMIC_CODE", "`awk` loads a library", opt.span),
            "-i" | "--include" if value != "inplace" => {
                walker.report.unknown("DYNAMIC_CODE", "`awk` loads another program", opt.span)
            }
            _ => {}
        }
    }
    crate::act::language::awk(walker, call)
}
