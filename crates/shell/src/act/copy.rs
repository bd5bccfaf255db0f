//! Copies and moves: `cp`, `mv`, `ln`, `install`, `dd`, `tee`, `rsync`, `scp`.

use crate::answer::{Capability, Class, Span};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};
use crate::zone::Zone;

/// Sources and target of a copy-like call.
fn split(call: &Call<'_>) -> (Vec<Arg>, Option<Arg>) {
    let operands = &call.options.operands;
    if let Some(directory) = call.options.find("-t --target-directory") {
        let target = directory.value.clone().map(|text| Arg::new(format!("{text}/"), directory.span));
        return (operands.clone(), target);
    }
    match operands.split_last() {
        Some((last, sources)) if !sources.is_empty() => (sources.to_vec(), Some(last.clone())),
        Some(_) | None => (operands.clone(), None),
    }
}

/// Whether the target is a directory that receives files, as far as the text shows.
fn into_directory(target: &str, sources: &[Arg]) -> bool {
    target.ends_with('/')
        || target == "."
        || target == ".."
        || sources.len() > 1
        || target.ends_with("/.")
        || target.ends_with(".d")
}

fn receive(walker: &mut Walker<'_>, target: &Arg, sources: &[Arg], how: How) {
    let below = if how == How::Link { How::Link } else { How::Create };
    if into_directory(&target.text, sources) && !crate::zone::is_device(&walker.resolve(&target.text)) {
        for source in sources {
            let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            walker.write_file(&format!("{}/{name}", target.text), below, target.span);
        }
    } else {
        walker.write_file(&target.text, how, target.span);
    }
}

/// Where sources come to lie: the target itself, below it, or either where nobody can tell.
fn landings(walker: &Walker<'_>, target: &Arg, sources: &[Arg], keeps_name: bool) -> Vec<(String, String)> {
    let path = walker.resolve(&target.text);
    let below = into_directory(&target.text, sources) || walker.view.links.is_some_and(|links| links.is_folder(&path));
    let mut found = Vec::new();
    for source in sources.iter().take(LANDINGS_MAX) {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if !keeps_name && (below || walker.made.may_be_folder(&path)) {
            found.push((source.text.clone(), format!("{}/{name}", target.text)));
        }
        if keeps_name || !below {
            found.push((source.text.clone(), target.text.clone()));
        }
    }
    found
}

/// Sources of one call whose new places are remembered.
const LANDINGS_MAX: usize = 16;

pub(crate) fn cp(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let (sources, target) = split(call);
    let mut content = Stream::Absent;
    let mut nothing = false;
    for source in &sources {
        content = walker.read_file(&source.text, source.span);
        nothing |= source.text == "/dev/null" || source.text == "/dev/zero";
    }
    if let Some(target) = target {
        receive(walker, &target, &sources, if nothing { How::Empty } else { How::Overwrite });
        if let [source] = sources.as_slice() {
            walker.same_program(&source.text, &target.text);
        }
        let path = walker.resolve(&target.text);
        let from: Vec<String> = sources.iter().map(|source| walker.resolve(&source.text)).collect();
        let written = from.iter().any(|source| walker.state.files.contains_key(source));
        if content == Stream::Opaque && !written {
            // A second copy of what was there is no more unknown than the first.
            walker.state.files.remove(&path);
        } else {
            walker.put(path, content, false);
        }
        let links = call.name != "install" && call.options.has("-s --symbolic-link -l --link");
        let with_links = call.options.has("-a --archive -d -P --no-dereference -r -R --recursive");
        for (source, name) in landings(walker, &target, &sources, call.options.has("-T --no-target-directory")) {
            if links {
                let source = walker.resolve(&source);
                walker.linked(&name, &source, true);
            } else if with_links && call.name != "install" {
                walker.placed(&name, &source);
            }
        }
    }
    Stream::Absent
}

pub(crate) fn mv(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let (sources, target) = split(call);
    let mut content = None;
    for source in &sources {
        let path = walker.resolve(&source.text);
        if let Some(known) = walker.state.files.remove(&path) {
            content = Some(known);
        }
        walker.write_file(&source.text, How::Move, source.span);
    }
    if let Some(target) = target {
        if target.text == "/dev/null" {
            walker.report.raise(Class::Destructive, "REMOVES", "moves data to `/dev/null`", target.span);
        }
        receive(walker, &target, &sources, How::Overwrite);
        let path = walker.resolve(&target.text);
        taken_away(walker, &sources, &path, target.span);
        match content {
            Some(content) => walker.put(path, content, false),
            None => _ = walker.state.files.remove(&path),
        }
        for (source, name) in landings(walker, &target, &sources, call.options.has("-T --no-target-directory")) {
            walker.placed(&name, &source);
        }
    }
    Stream::Absent
}

/// What is moved among temporary files is gone from where it was, and soon for good.
fn taken_away(walker: &mut Walker<'_>, sources: &[Arg], target: &str, span: Span) {
    let zone = |walker: &Walker<'_>, path: &str| crate::zone::of(path, &walker.state.cwd, walker.view.home);
    let is_here = |walker: &Walker<'_>, path: &str| {
        let own = crate::path::normalise(walker.view.cwd, "/");
        path.strip_prefix(own.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if zone(walker, target) != Zone::Temp || is_here(walker, target) {
        return;
    }
    for source in sources {
        let path = walker.resolve_entry(&source.text);
        if is_here(walker, &path) && !crate::build_output::holds(&path, &walker.view) {
            let sentence =
                format!("takes `{}` out of the project, to where files are temporary", mark::shown(&source.text));
            walker.report.raise(Class::Destructive, "MOVES", sentence, span);
        }
    }
}

pub(crate) fn ln(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let (sources, target) = split(call);
    let symbolic = call.options.has("-s --symbolic");
    match target {
        Some(target) => {
            receive(walker, &target, &sources, How::Link);
            // The new name now means the old file.
            if let [source] = sources.as_slice() {
                walker.same_program(&source.text, &target.text);
                let path = walker.resolve(&target.text);
                let real = walker.resolve(&source.text);
                let content = walker.state.files.get(&real).cloned();
                if let Some(content) = content {
                    walker.put(path, content, false);
                }
            }
            let keeps_name = call.options.has("-T --no-target-directory -n --no-dereference -h");
            for (source, name) in landings(walker, &target, &sources, keeps_name) {
                walker.linked(&name, &linked_text(walker, call, &source), symbolic);
            }
        }
        None => {
            for source in &sources {
                let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
                walker.write_file(&name, How::Link, source.span);
                walker.linked(&name, &source.text, symbolic);
            }
        }
    }
    Stream::Absent
}

/// `ln -sr` writes the link so that it leads to what the source means from here.
fn linked_text(walker: &Walker<'_>, call: &Call<'_>, source: &str) -> String {
    if call.options.has("-r --relative") { walker.resolve(source) } else { source.to_owned() }
}

pub(crate) fn install(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if call.options.has("-d --directory") {
        for operand in &call.options.operands {
            walker.write_file(&operand.text, How::Create, operand.span);
        }
        return Stream::Absent;
    }
    cp(walker, call)
}

pub(crate) fn dd(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut content = call.stdin.clone();
    let mut blank = false;
    let mut target = None;
    for arg in call.args {
        if let Some(path) = arg.text.strip_prefix("if=") {
            blank = matches!(path, "/dev/zero" | "/dev/null" | "/dev/urandom" | "/dev/random");
            content = walker.read_file(path, arg.span);
        } else if let Some(path) = arg.text.strip_prefix("of=") {
            target = Some((path.to_owned(), arg.span));
        }
    }
    let Some((path, span)) = target else { return if blank { Stream::Opaque } else { content } };
    let fresh = call.args.iter().any(|arg| arg.text.starts_with("seek="))
        || path.ends_with(".img")
        || path.ends_with(".iso")
        || path.ends_with(".bin");
    walker.write_file(&path, if blank && !fresh { How::Empty } else { How::Overwrite }, span);
    let resolved = walker.resolve(&path);
    walker.put(resolved, content, false);
    Stream::Absent
}

pub(crate) fn tee(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let append = call.options.has("-a --append");
    for operand in &call.options.operands {
        walker.write_file(&operand.text, if append { How::Append } else { How::Overwrite }, operand.span);
        let path = walker.resolve(&operand.text);
        if !crate::zone::is_sink(&path) {
            walker.put(path, call.stdin.clone(), append);
        }
    }
    call.stdin.clone()
}

/// Whether an operand names another machine: `host:path`, `user@host:path`, `rsync://…`.
fn is_remote(text: &str) -> bool {
    text.contains("://") || text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

pub(crate) fn rsync(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if call.options.has("-n --dry-run --list-only") {
        return Stream::Opaque;
    }
    let (sources, target) = split(call);
    let deletes = call.options.given.iter().any(|opt| opt.name.starts_with("--del") || opt.name == "--force");
    if call.options.operands.iter().any(|operand| is_remote(&operand.text)) {
        walker.report.can(Capability::Network);
    }
    if let Some(shell) = call.options.value("-e --rsh") {
        let inner: Vec<Arg> = shell.split_whitespace().map(|word| Arg::new(word, call.span)).collect();
        if inner.first().is_some_and(|first| !first.text.ends_with("ssh")) {
            walker.run(inner, Stream::Absent, call.span);
        }
    }
    if call.options.value("--rsync-path").is_some_and(|path| path.contains("sudo")) {
        walker.report.can(Capability::Privilege);
    }
    for source in &sources {
        if !is_remote(&source.text) {
            walker.read_file(&source.text, source.span);
        }
        if call.options.has("--remove-source-files --remove-sent-files") {
            walker.write_file(&source.text, How::RemoveTree, source.span);
        }
    }
    if let Some(target) = target {
        match (is_remote(&target.text), deletes) {
            (true, true) => walker.report.raise(
                Class::Destructive,
                "REMOVES",
                format!("deletes what `{}` has and the source has not", mark::shown(&target.text)),
                target.span,
            ),
            (true, false) => walker.report.raise(Class::Write, "WRITES", "copies to another machine", target.span),
            (false, true) => walker.write_file(&target.text, How::RemoveTree, target.span),
            (false, false) => walker.write_file(&target.text, How::Create, target.span),
        }
        if !is_remote(&target.text) {
            for source in sources.iter().filter(|source| !is_remote(&source.text)).take(LANDINGS_MAX) {
                let name =
                    if source.text.ends_with('/') { "" } else { source.text.rsplit('/').next().unwrap_or_default() };
                walker.placed(format!("{}/{name}", target.text).trim_end_matches('/'), &source.text);
            }
        }
    }
    Stream::Opaque
}

pub(crate) fn scp(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Network);
    let (sources, target) = split(call);
    for source in &sources {
        if !is_remote(&source.text) {
            walker.read_file(&source.text, source.span);
        }
    }
    if let Some(target) = target.filter(|target| !is_remote(&target.text)) {
        walker.write_file(&target.text, How::Create, target.span);
        let path = walker.resolve(&target.text);
        walker.state.files.insert(path, Stream::Remote);
    }
    Stream::Opaque
}
