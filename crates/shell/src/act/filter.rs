//! Programs whose output is known when their input is: where disguises are made, and undone.

use crate::answer::Capability;
use crate::call::Call;
use crate::decode;
use crate::mark;
use crate::quote;
use crate::sensitive;
use crate::stream::Stream;
use crate::walk::Walker;

pub(crate) fn echo(_walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut words = call.texts();
    let (mut newline, mut escapes) = (true, false);
    while let Some(first) = words.first() {
        let flags = first
            .strip_prefix('-')
            .filter(|flags| !flags.is_empty() && flags.chars().all(|c| matches!(c, 'n' | 'e' | 'E')));
        let Some(flags) = flags else { break };
        newline &= !flags.contains('n');
        escapes = flags.contains('e') || (escapes && !flags.contains('E'));
        words.remove(0);
    }
    let text = mark::as_source(&words.join(" "));
    let text = if escapes { quote::unescape(&text) } else { text };
    Stream::text(if newline { text + "\n" } else { text })
}

pub(crate) fn printf(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut texts = call.texts();
    let mut variable = None;
    // Of several the last one counts.
    while let Some(name) = texts.first().and_then(|text| text.strip_prefix("-v")) {
        let taken = if name.is_empty() { 2 } else { 1 };
        variable = if name.is_empty() { texts.get(1).map(|name| (*name).to_owned()) } else { Some(name.to_owned()) };
        texts.drain(..taken.min(texts.len()));
    }
    if texts.first() == Some(&"--") {
        texts.remove(0);
    }
    let Some((format, arguments)) = texts.split_first() else { return Stream::Opaque };
    let text = formatted(&mark::as_source(format), arguments);
    if let Some(name) = variable {
        let text = if walker.unsure { mark::OUTPUT.to_string() } else { text };
        walker.assign(&name, crate::walk::Variable::Scalar(text), call.span);
        return Stream::Absent;
    }
    Stream::text(text)
}

/// `printf`: the format is used again while arguments are left.
fn formatted(format: &str, arguments: &[&str]) -> String {
    let mut out = String::new();
    let mut left = arguments.iter();
    for round in 0..64 {
        let before = left.len();
        let mut chars = format.chars().peekable();
        let mut literal = String::new();
        while let Some(c) = chars.next() {
            if c != '%' {
                literal.push(c);
                if c == '\\' {
                    literal.extend(chars.next());
                }
                continue;
            }
            out.push_str(&quote::unescape(&std::mem::take(&mut literal)));
            let mut spec = String::new();
            let kind = loop {
                match chars.next() {
                    // The time, in a format of its own.
                    Some('(') => return mark::OUTPUT.to_string(),
                    Some(c) if c.is_ascii_alphabetic() || c == '%' => break Some(c),
                    Some(c) => spec.push(c),
                    None => break None,
                }
            };
            match kind {
                Some('%') => out.push('%'),
                Some('b') => out.push_str(&quote::unescape(left.next().unwrap_or(&""))),
                Some('c') => out.extend(left.next().and_then(|text| text.chars().next())),
                _ if spec.contains(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '+' | ' ' | '#' | '.')) => {
                    return mark::OUTPUT.to_string();
                }
                Some('s' | 'q' | 'Q') => {
                    let value = left.next().unwrap_or(&"");
                    match spec.split_once('.').map(|(_, width)| width.parse::<usize>()) {
                        Some(Ok(width)) => out.extend(value.chars().take(width)),
                        Some(Err(_)) => return mark::OUTPUT.to_string(),
                        None => out.push_str(value),
                    }
                }
                Some(_) => {
                    let value = left.next().unwrap_or(&"");
                    let decimal = matches!(kind, Some('d' | 'i' | 'u'))
                        && spec.is_empty()
                        && value.bytes().all(|byte| byte.is_ascii_digit())
                        && (value.len() == 1 || !value.starts_with('0'));
                    if decimal { out.push_str(value) } else { out.push(mark::NUMBER) }
                }
                None => {}
            }
        }
        out.push_str(&quote::unescape(&literal));
        if left.len() == 0 || left.len() == before {
            break;
        }
        if round == 63 {
            out.push(mark::OUTPUT);
        }
    }
    mark::as_source(&out)
}

/// The bytes a filter works on: its files, or its standard input.
fn input(walker: &mut Walker<'_>, call: &Call<'_>, skip: usize) -> Stream {
    let mut out = Stream::Absent;
    let files = call.options.operands.iter().skip(skip);
    let mut any = false;
    for file in files {
        any = true;
        let content = if file.text == "-" { call.stdin.clone() } else { walker.read_file(&file.text, file.span) };
        out = out.then(content);
    }
    if any { out } else { call.stdin.clone() }
}

/// Applies a change to known text and keeps the kind of anything else.
fn changed(stream: Stream, change: impl FnOnce(&str) -> Option<String>) -> Stream {
    match stream {
        Stream::Text(text) => match change(&text) {
            Some(text) => Stream::text(text),
            // A literal that cannot be read any more is hidden, not merely unknown.
            None if mark::is_literal(&text) => Stream::text(mark::HIDDEN.to_string()),
            None => Stream::Opaque,
        },
        other @ (Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque) => other.blurred(),
    }
}

pub(crate) fn cat(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    input(walker, call, 0)
}

pub(crate) fn base64(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let wide = call.name.contains("32");
    let decodes = call.options.has("-d -D --decode -di -id") || call.name.contains("decode");
    let source = match call.options.value("-i") {
        Some(path) => walker.read_file(path, call.span),
        None => input(walker, call, 0),
    };
    if decodes {
        changed(source, |text| if wide { decode::base32(text) } else { decode::base64(text) })
    } else {
        source.blurred()
    }
}

pub(crate) fn openssl(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.texts();
    let decodes =
        texts.contains(&"-d") && (texts.contains(&"base64") || texts.contains(&"-base64") || texts.contains(&"-a"));
    let ciphered = texts
        .iter()
        .any(|text| text.starts_with("-aes") || text.starts_with("-des") || *text == "-k" || text.starts_with("-pass"));
    for (at, text) in texts.iter().enumerate() {
        let value = texts.get(at + 1).copied().unwrap_or_default().to_owned();
        match *text {
            "-in" | "-inkey" | "-CA" | "-CAkey" => {
                walker.read_file(&value, call.span);
            }
            "-out" | "-keyout" => walker.write_file(&value, crate::touch::How::Overwrite, call.span),
            "-connect" => walker.report.can(Capability::Network),
            _ => {}
        }
    }
    if matches!(texts.first(), Some(&"s_client" | &"s_server" | &"ocsp")) {
        walker.report.can(Capability::Network);
        return Stream::Remote;
    }
    if decodes && !ciphered {
        return changed(call.stdin.clone(), decode::base64);
    }
    if texts.contains(&"-d") { changed(call.stdin.clone(), |_| None) } else { call.stdin.blurred() }
}

pub(crate) fn xxd(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let reverses = call
        .args
        .iter()
        .any(|arg| matches!(arg.text.as_str(), "-r" | "-rp" | "-pr" | "-r-p" | "-revert" | "--reverse"));
    let source = input(walker, call, 0);
    if let [_, target] = call.options.operands.as_slice() {
        walker.write_file(&target.text, crate::touch::How::Overwrite, target.span);
    }
    if reverses { changed(source, decode::hex) } else { source.blurred() }
}

pub(crate) fn rev(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    changed(input(walker, call, 0), |text| {
        Some(text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect())
    })
}

pub(crate) fn tac(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    changed(input(walker, call, 0), |text| Some(text.lines().rev().map(|line| line.to_owned() + "\n").collect()))
}

pub(crate) fn tr(_walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = &call.options;
    let sets: Vec<Vec<char>> = options.operands.iter().map(|set| characters(&mark::as_source(&set.text))).collect();
    changed(call.stdin.clone(), |text| {
        let complement = options.has("-c -C --complement");
        let first = sets.first()?;
        let holds = |c: char| first.contains(&c) != complement;
        if options.has("-d --delete") {
            return Some(text.chars().filter(|c| !holds(*c)).collect());
        }
        let Some(second) = sets.get(1) else {
            return options.has("-s --squeeze-repeats").then(|| squeezed(text, first));
        };
        if complement {
            return None;
        }
        let last = *second.last()?;
        Some(
            text.chars()
                .map(|c| {
                    first.iter().position(|from| *from == c).map_or(c, |at| second.get(at).copied().unwrap_or(last))
                })
                .collect(),
        )
    })
}

fn squeezed(text: &str, set: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !(set.contains(&c) && out.ends_with(c)) {
            out.push(c);
        }
    }
    out
}

/// A `tr` set: ranges, escapes and classes.
fn characters(set: &str) -> Vec<char> {
    let set = set
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n")
        .replace("[:alpha:]", "A-Za-z")
        .replace("[:alnum:]", "A-Za-z0-9")
        .replace("[:punct:]", "!-/:-@");
    let chars: Vec<char> = quote::unescape(&set).chars().collect();
    let mut out = Vec::new();
    let mut i = 0usize;
    while let Some(&c) = chars.get(i) {
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(&high)) if high >= c && u32::from(high) - u32::from(c) < 512 => {
                out.extend(c..=high);
                i += 3;
            }
            _ => {
                out.push(c);
                i += 1;
            }
        }
    }
    out
}

pub(crate) fn head(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let first = call.name == "head";
    let bytes = call.options.value("-c --bytes").map(str::to_owned);
    let lines = call.options.value("-n --lines").map(str::to_owned).or_else(|| {
        call.args.iter().find_map(|arg| {
            arg.text
                .strip_prefix('-')
                .filter(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
                .map(ToOwned::to_owned)
        })
    });
    changed(input(walker, call, 0), |text| {
        if let Some(count) = bytes {
            let count: usize = count.parse().ok()?;
            return text
                .get(if first { 0..count.min(text.len()) } else { text.len().saturating_sub(count)..text.len() })
                .map(ToOwned::to_owned);
        }
        let all: Vec<&str> = text.lines().collect();
        let count = lines.map_or(Some(10), |count| count.trim_start_matches('+').parse().ok())?;
        let kept = if first { all.get(..all.len().min(count)) } else { all.get(all.len().saturating_sub(count)..) };
        kept.map(|kept| kept.iter().map(|line| format!("{line}\n")).collect())
    })
}

pub(crate) fn cut(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let range = call.options.value("-c -b -f --characters --bytes --fields").map(str::to_owned);
    let by_field = call.options.has("-f --fields");
    let delimiter = call.options.value("-d --delimiter").and_then(|text| text.chars().next()).unwrap_or('\t');
    changed(input(walker, call, 0), |text| {
        let ranges = ranges(range.as_deref()?)?;
        let keeps = |at: usize| ranges.iter().any(|(low, high)| (*low..=*high).contains(&at));
        let line = |line: &str| -> String {
            if by_field {
                line.split(delimiter)
                    .enumerate()
                    .filter(|(at, _)| keeps(at + 1))
                    .map(|(_, field)| field)
                    .collect::<Vec<_>>()
                    .join(&delimiter.to_string())
            } else {
                line.chars().enumerate().filter(|(at, _)| keeps(at + 1)).map(|(_, c)| c).collect()
            }
        };
        Some(text.lines().map(|text| line(text) + "\n").collect())
    })
}

fn ranges(text: &str) -> Option<Vec<(usize, usize)>> {
    text.split(',')
        .map(|part| match part.split_once('-') {
            Some((low, high)) => Some((
                if low.is_empty() { 1 } else { low.parse().ok()? },
                if high.is_empty() { usize::MAX } else { high.parse().ok()? },
            )),
            None => part.parse().ok().map(|at| (at, at)),
        })
        .collect()
}

/// Lookups whose answer is the name itself.
pub(crate) fn which(_walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let names: Vec<&str> = call.texts().into_iter().filter(|text| !text.starts_with('-')).collect();
    match names.as_slice() {
        [only] if mark::is_literal(only) => {
            Stream::text(format!("/usr/bin/{}\n", only.rsplit('/').next().unwrap_or(only)))
        }
        _ => Stream::Opaque,
    }
}

pub(crate) fn pwd(walker: &mut Walker<'_>, _call: &Call<'_>) -> Stream {
    Stream::text(format!("{}\n", walker.state.cwd))
}

pub(crate) fn basename(_walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let Some(path) = call.options.operands.first() else { return Stream::Opaque };
    let text = path.text.trim_end_matches('/');
    match call.name {
        "dirname" => Stream::text(
            text.rsplit_once('/').map_or(".", |(head, _)| if head.is_empty() { "/" } else { head }).to_owned() + "\n",
        ),
        _ => {
            let name = text.rsplit('/').next().unwrap_or_default();
            let suffix = call.options.operands.get(1).map(|suffix| suffix.text.as_str()).unwrap_or_default();
            Stream::text(name.strip_suffix(suffix).unwrap_or(name).to_owned() + "\n")
        }
    }
}

pub(crate) fn realpath(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let lines: Vec<String> = call.options.operands.iter().map(|operand| walker.resolve(&operand.text) + "\n").collect();
    if lines.is_empty() { Stream::Opaque } else { Stream::text(lines.concat()) }
}

pub(crate) fn seq(_walker: &mut Walker<'_>, _call: &Call<'_>) -> Stream {
    Stream::text(format!("{}\n", mark::NUMBER))
}

/// Printing the environment prints what is secret in it.
pub(crate) fn printenv(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for operand in &call.options.operands {
        if sensitive::is_secret_variable(&operand.text) {
            walker.report.can_because(Capability::Credentials, format!("prints `{}`", operand.text), operand.span);
        }
    }
    Stream::Opaque
}

/// `ls` and friends name entries; a variable holds "some of them".
pub(crate) fn ls(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for operand in &call.options.operands {
        walker.list_file(&operand.text, operand.span);
    }
    match call.options.operands.as_slice() {
        [] => Stream::text(format!("{}\n", mark::ITEM)),
        several if several.iter().all(|operand| mark::has_wild(&operand.text)) => {
            Stream::text(several.iter().map(|operand| operand.text.clone() + "\n").collect::<String>())
        }
        _ => Stream::text(format!("{}\n", mark::ITEM)),
    }
}

/// `mktemp` yields a path nobody else has.
pub(crate) fn mktemp(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let folder = call.options.value("-p --tmpdir").filter(|folder| !folder.is_empty()).map(ToOwned::to_owned);
    let template = call.options.operands.first().filter(|_| !call.options.has("-t")).cloned();
    let folder = match (folder, template) {
        _ if call.options.has("-u --dry-run") => return Stream::Opaque,
        (None, None) => return Stream::text(format!("{}/{}\n", mark::TEMP, mark::NUMBER)),
        (Some(folder), _) => folder,
        (None, Some(template)) => match template.text.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/"),
            None => ".".to_owned(),
        },
    };
    walker.may_write(&folder, call.span);
    let path = walker.resolve(&folder);
    match crate::zone::of(&path, "/", walker.view.home) {
        crate::zone::Zone::Temp => Stream::text(format!("{}/{}\n", mark::TEMP, mark::NUMBER)),
        crate::zone::Zone::Root
        | crate::zone::Zone::System
        | crate::zone::Zone::Home
        | crate::zone::Zone::Ancestor
        | crate::zone::Zone::History
        | crate::zone::Zone::Device
        | crate::zone::Zone::MaybeRoot
        | crate::zone::Zone::Ordinary => Stream::text(format!("{path}/{}\n", mark::NUMBER)),
    }
}

/// Search: the pattern is no path, `-f FILE` and the rest are.
pub(crate) fn grep(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let skip = usize::from(!call.options.has("-e -f --regexp --file"));
    if let Some(program) = call.options.find("--pre --hostname-bin") {
        let text = program.value.clone().unwrap_or_default();
        walker.report.can_because(Capability::Exec, format!("`{}` runs `{text}`", program.name), program.span);
        walker.report.raise(crate::answer::Class::Write, "EXEC", "runs a program for each file", program.span);
        walker.inner(&text, Stream::Opaque, call.span);
        // Each file is handed to it: what an interpreter does then is up to the file.
        if !text.contains('/') && !crate::rules::environment::HARMLESS.contains(&text.as_str()) {
            let sentence = format!("what `{}` does with each file is not known", mark::shown(&text));
            walker.report.unknown("DYNAMIC_CODE", sentence, program.span);
        }
    }
    let pattern = call.options.operands.first().map(|operand| operand.text.clone());
    let invert =
        call.options.given.iter().any(|opt| !matches!(opt.name.as_str(), "-i" | "-F" | "-E" | "-e" | "-a" | "--color"));
    let source = input(walker, call, skip);
    match (source, pattern) {
        // A plain word keeps the lines that hold it.
        (Stream::Text(text), Some(pattern))
            if skip == 1 && !invert && pattern.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '/') =>
        {
            Stream::text(
                text.lines().filter(|line| line.contains(&pattern)).map(|line| format!("{line}\n")).collect::<String>(),
            )
        }
        (Stream::Text(text), _) if text.contains([mark::ITEM, mark::PICK]) => {
            Stream::text(text.replace(mark::ITEM, &mark::PICK.to_string()))
        }
        (other, _) => other.blurred(),
    }
}

/// Filters that keep or reorder whole lines of names.
pub(crate) fn lines(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if let Some(output) = call.options.find("-o --output") {
        let path = output.value.clone().unwrap_or_default();
        let span = output.span;
        let source_blank = call.options.operands.iter().all(|operand| operand.text == "/dev/null")
            && !call.options.operands.is_empty();
        walker.write_file(
            &path,
            if source_blank { crate::touch::How::Empty } else { crate::touch::How::Overwrite },
            span,
        );
        for extra in call.options.given.iter().filter(|opt| opt.name == "-o" || opt.name == "--output").skip(1) {
            let path = extra.value.clone().unwrap_or_default();
            walker.write_file(
                &path,
                if source_blank { crate::touch::How::Empty } else { crate::touch::How::Overwrite },
                extra.span,
            );
        }
    }
    if call.options.has("--compress-program") {
        walker.report.can(Capability::Exec);
    }
    input(walker, call, 0)
}

/// `uniq in out` writes its second operand.
pub(crate) fn uniq(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if let [input, output, ..] = call.options.operands.as_slice() {
        walker.read_file(&input.text, input.span);
        walker.write_file(&output.text, crate::touch::How::Overwrite, output.span);
        return Stream::Absent;
    }
    input(walker, call, 0)
}

/// The same line without end: one is as good as many.
pub(crate) fn yes(_walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let text = call.texts().join(" ");
    Stream::text(mark::as_source(if text.is_empty() { "y" } else { &text }) + "\n")
}
