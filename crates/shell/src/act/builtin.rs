//! Builtins that change the shell itself.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{ANY_WORDS, Arg, Handed, State, Variable, Walker, Weight};

/// Options of the shell that have names.
const SHELL_OPTIONS: &[&str] = &[
    "allexport",
    "braceexpand",
    "emacs",
    "errexit",
    "errtrace",
    "functrace",
    "hashall",
    "histexpand",
    "history",
    "ignoreeof",
    "interactive-comments",
    "keyword",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "nolog",
    "notify",
    "nounset",
    "onecmd",
    "physical",
    "pipefail",
    "posix",
    "privileged",
    "verbose",
    "vi",
    "xtrace",
];

/// `cd`, `pushd`: where relative paths point from now on.
pub(crate) fn cd(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let target = call.options.operands.first().map(|operand| operand.text.clone());
    // With words or options that it does not take it goes nowhere.
    let certain = call.options.operands.len() < 2 && has_only(call, "LPe@") && target.as_deref() != Some("");
    let before = (!certain).then(|| walker.state.clone());
    if call.name == "pushd" && walker.state.left.len() < crate::limits::FIELDS_MAX {
        walker.state.left.push(walker.state.cwd.clone());
    }
    match target.as_deref() {
        // A word that may not be there: without it the way leads home.
        Some(_) if walker.unsure => walker.state.cwd = mark::OUTPUT.to_string(),
        None if call.name != "pushd" => {
            let home = walker.home();
            walker.enter(&home, false);
        }
        // `pushd` alone, and with a number, turns the stack.
        None => walker.state.cwd = mark::OUTPUT.to_string(),
        Some(text) if call.name == "pushd" && text.starts_with('+') => walker.state.cwd = mark::OUTPUT.to_string(),
        Some("-") => walker.state.cwd = mark::OUTPUT.to_string(),
        Some(path) if walker.ways.contains("cdable_vars") && walker.state.variables.contains_key(path) => {
            walker.state.cwd = mark::OUTPUT.to_string();
        }
        Some(path) if walker.state.variables.contains_key("CDPATH") && !path.starts_with(['/', '.', '~']) => {
            walker.state.cwd = mark::OUTPUT.to_string();
        }
        Some(path) => walker.enter(path, call.options.has("-P")),
    }
    perhaps(walker, before)
}

/// A built-in that refuses what it was told leaves everything as it was.
fn perhaps(walker: &mut Walker<'_>, before: Option<State>) -> Stream {
    if let Some(before) = before {
        walker.perhaps_ran(before);
    }
    Stream::Absent
}

/// Whether all options are among those that a built-in takes.
fn has_only(call: &Call<'_>, letters: &str) -> bool {
    let taken = |name: &str| {
        let mut rest = name.chars().skip(1);
        matches!((rest.next(), rest.next()), (Some(letter), None) if letters.contains(letter))
    };
    !call.options.open && call.options.given.iter().all(|opt| taken(&opt.name))
}

/// Whether a word can be the name of a variable or of an element of one.
fn is_name(word: &str) -> bool {
    let base = word.split(['[', mark::BRACKET]).next().unwrap_or_default();
    base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && base.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(crate) fn popd(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let before = (!call.args.is_empty()).then(|| walker.state.clone());
    // With nothing to go back to it goes nowhere.
    if let Some(folder) = walker.state.left.pop() {
        walker.state.cwd = folder;
    }
    perhaps(walker, before)
}

/// `eval`: the words together are a text.
pub(crate) fn eval(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Exec);
    let words: Vec<String> =
        call.args.iter().filter(|arg| arg.text != "--").map(|arg| mark::as_source(&arg.text)).collect();
    walker.inline(&words.join(" "), call.stdin.clone(), call.span)
}

/// `.` and `source`: a file is run in this shell.
pub(crate) fn source(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Exec);
    let Some(file) = call.args.iter().find(|arg| !arg.text.starts_with("--")) else { return Stream::Absent };
    let content = if file.text == "-" || file.text == "/dev/stdin" {
        Handed::Told(call.stdin.clone())
    } else {
        walker.handed_file(&file.text, file.span)
    };
    match content {
        Handed::Told(Stream::Text(text)) => walker.inline(&text, call.stdin.clone(), call.span),
        Handed::OnDisk(text) => {
            walker.report.raise(Class::Write, "LOCAL_PROGRAM", "runs a script in this shell", call.span);
            walker.within_file(&file.text, Weight::Typed, |walker| walker.inline(&text, call.stdin.clone(), call.span))
        }
        Handed::Unseen => {
            walker.unseen(&file.text, call.span);
            Stream::Opaque
        }
        Handed::Told(other @ (Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque)) => {
            crate::act::language::run_content(walker, other, &file.text.clone(), call)
        }
    }
}

/// `export`, `declare` and their relatives, when words came from expansions.
pub(crate) fn declare(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let words: Vec<Arg> = std::iter::once(Arg::new(call.name, call.span)).chain(call.args.iter().cloned()).collect();
    let keeps = call.name == "readonly" || call.options.has("-r");
    let hands_on = call.name == "export" || call.options.has("-x");
    for operand in &call.options.operands {
        if hands_on && call.options.has("-f") {
            // `export -nf name` takes it back.
            if call.options.has("-n") {
                walker.state.exported.remove(&operand.text);
            } else {
                walker.state.exported.insert(operand.text.clone());
            }
            continue;
        }
        if keeps && call.options.has("-f") {
            walker.state.fixed.insert(format!("{}()", operand.text));
            continue;
        }
        // A sign of equality inside a subscript is none of an assignment.
        let text = mark::as_source(&operand.text);
        let name_end = text
            .find('[')
            .map_or(0, |at| text.get(at..).and_then(|rest| rest.rfind("]=")).map_or(text.len(), |end| at + end));
        let at = text.get(name_end..).and_then(|rest| rest.find('=')).map(|at| name_end + at);
        if let Some((name, value)) = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?))) {
            if value.starts_with('(') {
                // A list in quotes is read once more.
                walker.prompted(value, operand.span);
            }
            let value = Variable::Scalar(value.to_owned());
            walker.notable_variable(name, &value, operand.span);
            walker.declared(&words, name.trim_end_matches('+'), value, operand.span);
            continue;
        }
        if hands_on && call.options.has("-n") {
            walker.state.handed_on.remove(&text);
        } else if hands_on {
            walker.state.handed_on.insert(text.clone());
        }
        let declares = matches!(call.name, "declare" | "typeset" | "local");
        if declares && !call.options.has("-g -p -f -F") {
            walker.localise(&text, call.options.has("-I"));
        }
        if call.name == "readonly" || declares && call.options.has("-r") {
            walker.state.fixed.insert(text.clone());
        }
        if call.options.has("-n") && call.name != "export" {
            let known = match walker.state.variables.get(&text) {
                Some(Variable::Scalar(target)) => target.clone(),
                Some(Variable::List(_) | Variable::Scattered(_)) | None => String::new(),
            };
            walker.refer(&text, &known, operand.span);
        } else if text.contains('[') {
            walker.evaluated(&text, operand.span);
        } else if declares && call.options.has("-i -l -u -c") {
            walker.attributes(&words, &text);
        } else if let Some(Variable::Scalar(value)) = walker.state.variables.get(&operand.text).cloned()
            && call.name == "export"
        {
            walker.name_words(&[Arg::new(value, operand.span)]);
        }
    }
    Stream::Opaque
}

pub(crate) fn alias(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for operand in &call.options.operands {
        if let Some((name, value)) = operand.text.split_once('=') {
            walker.state.aliases.insert(name.to_owned(), value.to_owned());
        }
    }
    Stream::Absent
}

pub(crate) fn unalias(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for operand in &call.options.operands {
        walker.state.aliases.remove(&operand.text);
    }
    Stream::Absent
}

pub(crate) fn unset(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let certain = has_only(call, "vfn") && call.options.given.len() < 2;
    let before = (!certain).then(|| walker.state.clone());
    for operand in &call.options.operands {
        if call.options.has("-n") {
            walker.state.references.remove(&operand.text);
            continue;
        }
        if call.options.has("-f") {
            if walker.state.fixed.contains(&format!("{}()", operand.text)) {
                walker.state.perhaps.insert(operand.text.clone());
            } else {
                walker.state.functions.remove(&operand.text);
                walker.state.perhaps.remove(&operand.text);
            }
        } else if operand.text.contains(['[', mark::BRACKET]) {
            walker.unset_element(&mark::as_source(&operand.text), operand.span);
        } else if !walker.uncovered(&operand.text) {
            // Where no variable has the name, the function is meant.
            if walker.state.functions.contains_key(&operand.text) {
                walker.state.perhaps.insert(operand.text.clone());
            }
            walker.bind(&operand.text, Variable::Scalar(String::new()), operand.span);
        }
    }
    perhaps(walker, before)
}

/// `read`: variables take what comes in, unless nothing comes in time.
pub(crate) fn read(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let named = call.options.operands.iter().all(|operand| is_name(&operand.text));
    let certain = named && has_only(call, "adeinNprsu");
    let before = (!certain).then(|| walker.state.clone());
    read_surely(walker, call);
    perhaps(walker, before)
}

fn read_surely(walker: &mut Walker<'_>, call: &Call<'_>) {
    let names: Vec<String> = if call.options.operands.is_empty() {
        vec!["REPLY".to_owned()]
    } else {
        call.options.operands.iter().map(|operand| operand.text.clone()).collect()
    };
    // Who reads a part of a line, or one of several lines, gets something that depends on what was read before.
    let partly = call.options.has("-d -n -N -u -i -e");
    let line = match &call.stdin {
        Stream::Text(text) if partly || text.lines().count() > 1 => blurred(text),
        Stream::Text(text) => plain_line(text, call.options.has("-r")),
        other @ (Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque) => match other {
            Stream::Absent => mark::OUTPUT.to_string(),
            Stream::Text(_) | Stream::Remote | Stream::Secret | Stream::Opaque => other.value(),
        },
    };
    // Other separators cut elsewhere.
    let separated = match walker.state.variables.get("IFS") {
        Some(Variable::Scalar(text)) => text.contains(|c| !matches!(c, ' ' | '\t' | '\n')),
        Some(Variable::List(_) | Variable::Scattered(_)) => true,
        None => false,
    };
    if let Some(name) = call.options.value("-a") {
        let items =
            if separated { vec![blurred(&line)] } else { line.split_whitespace().map(ToOwned::to_owned).collect() };
        let name = name.to_owned();
        walker.assign(&name, if separated { Variable::Scattered(items) } else { Variable::List(items) }, call.span);
        return;
    }
    let mut words = line.split_whitespace();
    for (at, name) in names.iter().enumerate() {
        let value = if separated && names.len() > 1 {
            blurred(&line)
        } else if at + 1 == names.len() {
            words.by_ref().collect::<Vec<_>>().join(" ")
        } else {
            words.next().unwrap_or_default().to_owned()
        };
        walker.assign(name, Variable::Scalar(value), call.span);
    }
}

/// Some part of a text.
fn blurred(text: &str) -> String {
    if text.contains(mark::REMOTE) { mark::REMOTE.to_string() } else { mark::OUTPUT.to_string() }
}

/// The only line of a text; without `-r` a backslash quotes what follows it.
fn plain_line(text: &str, raw: bool) -> String {
    let line = text.lines().next().unwrap_or_default();
    if raw || !line.contains('\\') {
        return line.to_owned();
    }
    let mut chars = line.chars();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    // What a backslash joins here was a separator before, so words are not cut the same way.
    if line.contains("\\ ") { blurred(line) } else { out }
}

/// `mapfile`: lines become a list.
pub(crate) fn mapfile(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let name = call.options.operands.first().map_or_else(|| "MAPFILE".to_owned(), |operand| operand.text.clone());
    let items = match &call.stdin {
        Stream::Text(text) if text.lines().count() > crate::limits::FIELDS_MAX || call.options.has("-d -u") => {
            vec![blurred(text)]
        }
        Stream::Text(text) => text.lines().map(ToOwned::to_owned).collect(),
        Stream::Absent => vec![mark::OUTPUT.to_string()],
        other @ (Stream::Remote | Stream::Secret | Stream::Opaque) => vec![other.value()],
    };
    let before = (!has_only(call, "dnOstuCc") || !is_name(&name)).then(|| walker.state.clone());
    let scattered = call.options.has("-s -n -O -d -u") || !matches!(call.stdin, Stream::Text(_));
    walker.assign(&name, if scattered { Variable::Scattered(items) } else { Variable::List(items) }, call.span);
    if let Some(text) = call.options.value("-C") {
        walker.report.can(Capability::Exec);
        let text = format!("{} {} {}", mark::as_source(text), mark::NUMBER, mark::OUTPUT);
        walker.deferred(&text, call.span);
    }
    perhaps(walker, before)
}

/// `set -- a b` replaces the positional parameters.
pub(crate) fn set(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut certain = true;
    let mut rest = call.args.iter();
    let mut words: Option<Vec<&Arg>> = None;
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        match text.strip_prefix(['-', '+']) {
            Some("-") | Some("") => {
                words = Some(rest.by_ref().collect());
                // A single dash alone leaves them as they are.
                words = words.filter(|words| text == "--" || !words.is_empty());
            }
            Some(letters) => {
                certain &= letters.chars().all(|letter| "abefhkmnptuvxBCEHPTo".contains(letter));
                let option = if letters.ends_with('o') { rest.next() } else { None };
                certain &= option.is_none_or(|option| SHELL_OPTIONS.contains(&option.text.as_str()));
                let keeps = letters.contains('C') || option.is_some_and(|option| option.text == "noclobber");
                if letters.contains('k') || option.is_some_and(|option| option.text == "keyword") {
                    walker.report.unknown("DYNAMIC_CODE", "changes which words are assignments", call.span);
                }
                walker.state.keeps_files |= keeps || !mark::is_literal(text);
            }
            None => words = Some(std::iter::once(arg).chain(rest.by_ref()).collect()),
        }
    }
    let before = (!certain).then(|| walker.state.clone());
    if let Some(words) = words {
        let known = !walker.unordered && !words.iter().any(|word| word.loose);
        walker.state.doubtful.remove("@");
        walker.state.doubtful.extend(walker.unsure.then(|| "@".to_owned()));
        let texts = words.iter().map(|word| word.text.clone()).collect();
        walker.state.positional = Some(if known { texts } else { vec![ANY_WORDS.to_owned()] });
    }
    if call.args.iter().any(|arg| arg.text == "history") {
        walker.report.raise(Class::Write, "HISTORY", "changes whether history is kept", call.span);
    }
    perhaps(walker, before);
    Stream::Opaque
}

pub(crate) fn shift(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let unknown = || Some(vec![ANY_WORDS.to_owned()]);
    let count = match call.args {
        [] => 1,
        [only] => match only.text.parse::<usize>() {
            Ok(count) => count,
            Err(_) => {
                walker.state.positional = unknown();
                return Stream::Absent;
            }
        },
        [_, ..] => {
            walker.state.positional = unknown();
            return Stream::Absent;
        }
    };
    if let Some(items) = &mut walker.state.positional
        && *items != [ANY_WORDS]
        && count <= items.len()
    {
        // Where there are fewer than that, none is dropped; a wildcard may be many of them.
        let wild = items.drain(..count).any(|item| mark::has_wild(&item));
        if wild {
            walker.state.positional = unknown();
        }
    }
    Stream::Absent
}

/// `trap text SIGNAL`: the text runs later in this shell.
pub(crate) fn trap(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    match call.options.operands.as_slice() {
        [text, signals @ ..] if text.text == "-" => walker.clear_traps(signals),
        [text, signals @ ..] if !signals.is_empty() => {
            walker.set_trap(&mark::as_source(&text.text), signals, text.span);
        }
        signals => walker.clear_traps(signals),
    }
    Stream::Absent
}

/// `bind -x`, `complete -C`, `enable -f`: text or code hooked into the shell.
pub(crate) fn hook(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if let Some(opt) = call.options.find("-x -C -f") {
        walker.report.can_because(
            Capability::Exec,
            format!("`{} {}` hooks code into the shell", call.name, opt.name),
            opt.span,
        );
        let text = opt.value.clone().unwrap_or_default();
        let text = text.split_once(':').map_or(text.clone(), |(_, rest)| rest.trim_matches([' ', '"']).to_owned());
        walker.apart(&text, Stream::Absent, call.span);
    }
    Stream::Opaque
}

/// `compgen`, `complete`: words and programs that complete what is typed.
pub(crate) fn complete(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for opt in &call.options.given {
        let text = mark::as_source(opt.value.as_deref().unwrap_or_default());
        match opt.name.as_str() {
            "-W" => walker.prompted(&text, opt.span),
            "-C" => {
                walker.report.can(Capability::Exec);
                walker.inner(&text, Stream::Opaque, opt.span);
            }
            "-F" => {
                walker.report.can(Capability::Exec);
                if !walker.state.functions.contains_key(&text) {
                    walker.report.unknown("DYNAMIC_COMMAND", format!("what `{text}` does is not known"), opt.span);
                }
                walker.named(vec![Arg::new(text, opt.span)], Stream::Opaque, opt.span);
            }
            _ => {}
        }
    }
    Stream::Opaque
}

/// `hash -p program name`: from now on the name means that program.
pub(crate) fn hash(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if let Some(program) = call.options.value("-p") {
        walker.report.can(Capability::Exec);
        let program = crate::run::quoted(program);
        for operand in &call.options.operands {
            walker.state.aliases.insert(operand.text.clone(), program.clone());
        }
    }
    Stream::Opaque
}

/// `test -v name`: the subscript of the name is evaluated.
pub(crate) fn test(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for pair in call.args.windows(2) {
        if let [option, name] = pair
            && (matches!(option.text.as_str(), "-v" | "-R") || !mark::is_literal(&option.text))
            && name.text.contains(['[', mark::BRACKET])
        {
            walker.evaluated(&name.text, name.span);
        }
    }
    Stream::Absent
}

/// `let`, and built-ins that are given names: each word is evaluated.
pub(crate) fn evaluated(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for arg in call.args {
        walker.evaluated(&arg.text, arg.span);
    }
    if let ("getopts", Some(name)) = (call.name, call.options.operands.get(1)) {
        for name in [name.text.as_str(), "OPTARG"] {
            walker.assign(name, Variable::Scalar(mark::OUTPUT.to_string()), call.span);
        }
    }
    Stream::Absent
}

/// `history -c` forgets what was typed; with `-w` and `-a` it is written to a file.
pub(crate) fn history(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let kept = match walker.state.variables.get("HISTFILE") {
        Some(Variable::Scalar(text)) => Some(text.clone()),
        Some(Variable::List(_) | Variable::Scattered(_)) => Some(mark::OUTPUT.to_string()),
        None => None,
    };
    let file = call.options.operands.first().map(|operand| operand.text.clone()).or(kept);
    if call.name == "fc" && !call.options.has("-l") {
        let editor = mark::as_source(call.options.value("-e").unwrap_or_default());
        walker.inner(&format!("{editor} {}", mark::OUTPUT), Stream::Absent, call.span);
        walker.report.unknown("DYNAMIC_COMMAND", "runs what was typed before", call.span);
    }
    if let (Some(file), "history") = (file, call.name) {
        if call.options.has("-w -a") {
            walker.write_file(&file, How::Overwrite, call.span);
        } else if call.options.has("-r -n") {
            walker.read_file(&file, call.span);
        }
    }
    if call.options.has("-c -w -d -a -r") {
        walker.report.raise(Class::Write, "HISTORY", "changes the history of the shell", call.span);
    }
    Stream::Secret
}

/// `getopts`, `let`, `wait` and others: no output, no effect outside the shell.
pub(crate) fn quiet(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.left |= matches!(call.name, "return" | "break" | "continue");
    if call.name == "shopt" {
        walker.ways.extend(call.args.iter().map(|arg| arg.text.clone()));
        if call.args.iter().any(|arg| arg.text == "nocaseglob" || mark::has_hole(&arg.text)) {
            walker.report.unknown("DYNAMIC_CODE", "changes which names a wildcard means", call.span);
        }
    }
    Stream::Absent
}

impl Walker<'_> {
    /// Splits a text into words the way a shell does, expansions included.
    pub fn split_words(&mut self, text: &str, span: crate::answer::Span) -> Vec<Arg> {
        let mut words = Vec::new();
        let mut current = String::new();
        let mut quote: Option<char> = None;
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match (quote, c) {
                (None | Some('"'), '\\') => {
                    current.push(c);
                    current.extend(chars.next());
                }
                (None, ' ' | '\t' | '\n') => {
                    if !current.is_empty() {
                        words.extend(self.expand(&std::mem::take(&mut current), span));
                    }
                }
                (None, '\'' | '"') => {
                    quote = Some(c);
                    current.push(c);
                }
                (Some(open), c) if open == c => {
                    quote = None;
                    current.push(c);
                }
                (_, c) => current.push(c),
            }
        }
        if !current.is_empty() {
            words.extend(self.expand(&current, span));
        }
        words
    }
}
