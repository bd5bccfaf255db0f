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
    let command =
        if options.operands.is_empty() { vec![Arg::new("echo", call.span)] } else { options.operands.clone() };
    let delimiter =
        options.value("-d --delimiter").map(|text| crate::quote::unescape(text).chars().next().unwrap_or('\n'));
    let by_line = options.has("-L -l --max-lines");
    let lines = replace.is_some() || by_line || options.has("-0 --null") || delimiter.is_some();
    let items = items(&input, lines, delimiter);
    if items.is_empty() {
        return walker.run_perhaps(command, call.span);
    }
    if items.len() > WORDS_MAX {
        walker.report.unknown("TOO_MANY", "more items than are judged", call.span);
    }
    if let Some(text) = replace {
        return replaced(walker, call, &command, &items, &text);
    }
    // Lines are taken apart into words, unless something else parts them.
    let in_words = by_line && delimiter.is_none() && !options.has("-0 --null");
    let size =
        |names: &str| options.find(names).map(|opt| opt.value.as_deref().and_then(|n| n.parse().ok()).unwrap_or(1));
    let size: Option<usize> = size("-n --max-args").or_else(|| size("-L -l --max-lines"));
    let words_of = |batch: &[String]| -> Vec<Arg> {
        let split = |item: &String| -> Vec<Arg> {
            if in_words {
                item.split_whitespace().map(|word| loose(&word.replace(['\'', '"'], ""), call)).collect()
            } else {
                vec![loose(item, call)]
            }
        };
        let given = batch.iter().flat_map(split).take(WORDS_MAX);
        command.iter().cloned().chain(given).collect()
    };
    let Some(size) = size else { return walker.run_perhaps(words_of(&items), call.span) };
    let mut out = Stream::Absent;
    let (followed, rest) = items.split_at(items.len().min(LOOP_ROUNDS_MAX));
    for batch in followed.chunks(size.max(1)) {
        out = out.then(walker.run_perhaps(words_of(batch), call.span));
    }
    if !rest.is_empty() {
        walker.run_perhaps(words_of(rest), call.span);
    }
    out
}

/// `xargs -I{} …`: one call for each item.
fn replaced(walker: &mut Walker<'_>, call: &Call<'_>, command: &[Arg], items: &[String], text: &str) -> Stream {
    let mut out = Stream::Absent;
    let is_used = command.iter().any(|word| word.text.contains(text));
    for item in items.iter().take(LOOP_ROUNDS_MAX) {
        let mut words: Vec<Arg> = command.to_vec();
        if is_used {
            for word in &mut words {
                word.text = word.text.replace(text, item);
            }
        } else {
            words.push(loose(item, call));
        }
        out = out.then(walker.run_perhaps(words, call.span));
    }
    if items.len() > LOOP_ROUNDS_MAX {
        let mut words = command.to_vec();
        words.extend(items.iter().skip(LOOP_ROUNDS_MAX).take(WORDS_MAX).map(|item| loose(item, call)));
        walker.run_perhaps(words, call.span);
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
fn items(input: &Stream, lines: bool, delimiter: Option<char>) -> Vec<String> {
    match (input, delimiter) {
        (Stream::Text(text), Some(delimiter)) => {
            text.split([delimiter, '\u{1}']).filter(|item| !item.trim().is_empty()).map(ToOwned::to_owned).collect()
        }
        (input, _) => items_of(input, lines),
    }
}

fn items_of(input: &Stream, lines: bool) -> Vec<String> {
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
        items(&call.stdin, true, None)
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
            walker.run_perhaps(words, call.span);
        }
    }
    out
}

#[cfg(test)]
mod asked {
    use crate::testing::asked;
    use crate::testing::free;

    #[test]
    fn items_that_are_commands() {
        asked(&[
            "echo 'cp README.md .claude/settings.json' | xargs -L1 env",
            "echo 'cp README.md .claude/settings.json' | xargs -L1 nice",
            "echo 'cp README.md .claude/settings.json' | xargs -n3 timeout 5",
        ]);
        free(&["ls | xargs -L1 echo"]);
    }
}
