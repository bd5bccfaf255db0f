//! Programs that run a command for each item: `xargs`, `parallel`.

use crate::call::Call;
use crate::limits::{LOOP_ROUNDS_MAX, WORDS_MAX};
use crate::mark;
use crate::run::{quoted, wrapped};
use crate::stream::Stream;
use crate::walk::{Arg, Walker};

const XARGS_VALUED: &str = "-i? -l? -e? -n -L -P -s -I -J -a -d -E -R -S --max-args --max-lines --max-procs --max-chars --arg-file --delimiter --process-slot-var";

pub(crate) fn xargs(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = wrapped(call.args, XARGS_VALUED);
    let input = match options.value("-a --arg-file") {
        Some(path) => walker.read_file(path, call.span),
        None => call.stdin.clone(),
    };
    let replace = options
        .given
        .iter()
        .find(|opt| matches!(opt.name.as_str(), "-I" | "-J" | "-i" | "--replace"))
        .map(|opt| opt.value.clone().filter(|value| !value.is_empty()).unwrap_or_else(|| "{}".to_owned()));
    // `-i%` keeps its value attached, which looks like a cluster of options.
    let replace = replace.map(|text| if text == "{}" { attached(call.args).unwrap_or(text) } else { text });
    let command = if options.operands.is_empty() { vec![Arg::new("echo", call.span)] } else { options.operands };
    let lines = replace.is_some()
        || options
            .given
            .iter()
            .any(|opt| matches!(opt.name.as_str(), "-0" | "--null" | "-d" | "--delimiter" | "-L" | "-l"));
    let items = items(&input, lines);
    let one_by_one =
        replace.is_some() || options.given.iter().any(|opt| matches!(opt.name.as_str(), "-n" | "-L" | "--max-args"));
    if items.is_empty() {
        return walker.run(command, Stream::Absent, call.span);
    }
    let mut out = Stream::Absent;
    if items.len() > WORDS_MAX {
        walker.report.unknown("TOO_MANY", "more items than are judged", call.span);
    }
    if !one_by_one {
        let mut words = command;
        words.extend(items.iter().take(WORDS_MAX).map(|item| loose(item, call)));
        return walker.run(words, Stream::Absent, call.span);
    }
    for item in items.iter().take(LOOP_ROUNDS_MAX) {
        let mut words: Vec<Arg> = command.clone();
        match replace.as_ref().filter(|text| command.iter().any(|word| word.text.contains(text.as_str()))) {
            Some(text) => {
                for word in &mut words {
                    word.text = word.text.replace(text.as_str(), item);
                }
            }
            None => words.push(loose(item, call)),
        }
        out = out.then(walker.run(words, Stream::Absent, call.span));
    }
    if items.len() > LOOP_ROUNDS_MAX {
        let mut words = command;
        words.extend(items.iter().skip(LOOP_ROUNDS_MAX).take(WORDS_MAX).map(|item| loose(item, call)));
        walker.run(words, Stream::Absent, call.span);
    }
    out
}

fn attached(args: &[Arg]) -> Option<String> {
    args.iter().find_map(|arg| {
        arg.text
            .strip_prefix("-i")
            .or_else(|| arg.text.strip_prefix("--replace="))
            .filter(|rest| !rest.is_empty())
            .map(ToOwned::to_owned)
    })
}

fn loose(item: &str, call: &Call<'_>) -> Arg {
    Arg { text: item.to_owned(), span: call.span, loose: true }
}

/// The items on an input; one mark when they cannot be known.
fn items(input: &Stream, lines: bool) -> Vec<String> {
    match input {
        Stream::Text(text) if lines => {
            text.split(['\n', '\u{1}']).map(str::trim).filter(|item| !item.is_empty()).map(ToOwned::to_owned).collect()
        }
        Stream::Text(text) => text.split_whitespace().map(|item| item.replace(['\'', '"'], "")).collect(),
        Stream::Absent | Stream::Opaque => vec![mark::ITEM.to_string()],
        Stream::Remote => vec![mark::REMOTE.to_string()],
        Stream::Secret => vec![mark::SECRET.to_string()],
    }
}

const PARALLEL_VALUED: &str = "-j --jobs -S --sshlogin -a --arg-file -I -n -N --max-args -L --colsep -C -d --delimiter --delay --timeout --joblog --results --tmpdir --retries --load --memfree --nice --basefile --workdir --wd --env --tagstring -k";

/// `parallel` hands each line to a shell.
pub(crate) fn parallel(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = wrapped(call.args, PARALLEL_VALUED);
    let at = options.operands.iter().position(|word| word.text.starts_with(":::"));
    let (template, listed) = match at {
        Some(at) => options.operands.split_at(at),
        None => (options.operands.as_slice(), [].as_slice()),
    };
    let items: Vec<String> = if at.is_some() {
        let files = listed.first().is_some_and(|word| word.text.starts_with("::::"));
        if files {
            vec![mark::ITEM.to_string()]
        } else {
            listed.iter().filter(|word| !word.text.starts_with(":::")).map(|word| word.text.clone()).collect()
        }
    } else {
        items(&call.stdin, true)
    };
    if options.has("--dry-run --dryrun") {
        return Stream::Opaque;
    }
    let mut out = Stream::Absent;
    for item in items.iter().take(LOOP_ROUNDS_MAX) {
        // The template is shell text; the item is quoted unless it is the command itself.
        let mut line = template.iter().map(|word| word.text.clone()).collect::<Vec<_>>().join(" ");
        if template.is_empty() {
            line.clone_from(item);
        } else if ["{}", "{.}", "{/}", "{//}", "{1}"].iter().any(|text| line.contains(text)) {
            for text in ["{}", "{.}", "{/}", "{//}", "{1}"] {
                line = line.replace(text, &quoted(item));
            }
        } else {
            line.push(' ');
            line.push_str(&quoted(item));
        }
        out = out.then(walker.inner(&line, Stream::Absent, call.span));
        // `bash -c {}` runs the item itself.
        if template.len() > 2 && template.iter().any(|word| word.text == "-c") {
            let words: Vec<Arg> =
                template.iter().map(|word| Arg { text: word.text.replace("{}", item), ..word.clone() }).collect();
            walker.run(words, Stream::Absent, call.span);
        }
    }
    out
}
