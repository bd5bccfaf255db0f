//! Patches and archives that are unpacked: judged by the files they would write.

use crate::answer::{Class, Span};
use crate::call::{Call, Options};
use crate::mark;
use crate::rules::Style;
use crate::stream::Stream;
use crate::touch::How;
use crate::view::{Content, Member};
use crate::walk::{Arg, Handed, Walker};

/// Files of one patch, and entries of one archive, that are judged one by one.
const FILES_MAX: usize = 200;

/// Where the names in a patch lead.
struct Frame {
    /// The folder they are relative to.
    folder: String,
    /// Leading parts that are cut off each name; without a number every way of reading it counts.
    strip: Option<usize>,
}

/// `git apply` and `git am`.
pub(crate) fn git(walker: &mut Walker<'_>, root: &str, args: &[Arg], stdin: &Stream) {
    let valued = "-p --directory --exclude --include -C --whitespace -S? --patch-format --build-fake-ancestor";
    let options = Options::parse(args, valued, Style::Gnu, false);
    let strip = options.value("-p").and_then(|given| given.parse().ok()).unwrap_or(1);
    let folder = options.value("--directory").map_or_else(|| root.to_owned(), |below| format!("{root}/{below}"));
    let frame = Frame { folder, strip: Some(strip) };
    if options.operands.is_empty() && !options.has("--continue --skip --abort --quit --retry -r --show-current-patch") {
        applied_stream(walker, stdin, &frame, Span::default());
    }
    for operand in options.operands.clone() {
        applied_file(walker, &operand, stdin, &frame);
    }
}

/// `patch`.
pub(crate) fn patch(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = &call.options;
    let folder = options.value("-d --directory").unwrap_or(".");
    let folder = walker.resolve(folder);
    let strip = options.value("-p --strip").and_then(|given| given.parse().ok());
    let frame = Frame { folder, strip };
    if let Some(original) = options.operands.first() {
        walker.write_file(&original.text, How::Append, original.span);
    }
    let file =
        options.value("-i --input").map(|text| Arg::new(text, call.span)).or_else(|| options.operands.get(1).cloned());
    match file {
        Some(file) => applied_file(walker, &file, &call.stdin, &frame),
        None => applied_stream(walker, &call.stdin, &frame, call.span),
    }
    Stream::Opaque
}

fn applied_file(walker: &mut Walker<'_>, file: &Arg, stdin: &Stream, frame: &Frame) {
    if matches!(file.text.as_str(), "-" | "/dev/stdin") {
        return applied_stream(walker, stdin, frame, file.span);
    }
    match walker.handed_file(&file.text, file.span) {
        Handed::OnDisk(text) => applied(walker, &text, frame, file.span),
        Handed::Unseen => walker.unseen(&file.text, file.span),
        Handed::Told(content) => applied_stream(walker, &content, frame, file.span),
    }
}

fn applied_stream(walker: &mut Walker<'_>, content: &Stream, frame: &Frame, span: Span) {
    if let Some(file) = walker.input.take().filter(|_| *content == Stream::Opaque) {
        return applied_file(walker, &Arg::new(file, span), content, frame);
    }
    match content {
        Stream::Text(text) => applied(walker, text, frame, span),
        Stream::Remote => {
            walker.report.unknown("UNSEEN", "the patch comes from another machine", span);
        }
        Stream::Opaque | Stream::Secret if walker.is_printed_by(&["git"]) => {}
        Stream::Opaque | Stream::Secret => walker.not_seen("the patch", span),
        Stream::Absent if walker.view.is_typed_into => walker.not_seen("a patch that is typed", span),
        Stream::Absent => {}
    }
}

/// Every file that a patch names is changed.
fn applied(walker: &mut Walker<'_>, text: &str, frame: &Frame, span: Span) {
    let mut seen = 0usize;
    let mut link: Option<String> = None;
    for line in text.lines() {
        if let Some(target) = link.as_ref().zip(line.strip_prefix('+')).filter(|_| !line.starts_with("+++")) {
            let (name, target) = (target.0.clone(), target.1.to_owned());
            walker.write_file(&name, How::Link, span);
            walker.linked(&name, &target, true);
            link = None;
        }
        let header = line.strip_prefix("diff --git ");
        let named: Vec<&str> = if let Some(both) = header {
            link = None;
            halves(both)
        } else if let Some(name) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            vec![name]
        } else if let Some(name) =
            ["rename from ", "rename to ", "copy to ", "Index: "].iter().find_map(|head| line.strip_prefix(head))
        {
            // These stand without the part that is cut off.
            let name = unquoted(name);
            write(walker, frame, &name, span);
            continue;
        } else {
            if line.starts_with("new file mode 120000") || line.starts_with("new mode 120000") {
                link = Some(String::new());
            }
            continue;
        };
        for name in named {
            let name = unquoted(name.split('\t').next().unwrap_or(name).trim_end());
            if name == "/dev/null" {
                continue;
            }
            seen += 1;
            if seen > FILES_MAX * 3 {
                walker.report.unknown("TOO_MANY", "the patch names more files than are judged", span);
                return;
            }
            for path in readings(&name, frame.strip) {
                write(walker, frame, &path, span);
                if let Some(link) = link.as_mut().filter(|_| line.starts_with("+++ ")) {
                    *link = if path.starts_with('/') { path } else { format!("{}/{path}", frame.folder) };
                }
            }
        }
    }
}

fn write(walker: &mut Walker<'_>, frame: &Frame, path: &str, span: Span) {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", frame.folder) };
    walker.write_file(&path, How::Append, span);
}

/// `a/x b/x`: both names, as far as blanks let them be told apart.
fn halves(both: &str) -> Vec<&str> {
    let middle = both.len() / 2;
    match (both.get(..middle), both.get(middle..)) {
        (Some(first), Some(second)) if second.starts_with(' ') => vec![first, second.trim_start()],
        _ => both.split(' ').collect(),
    }
}

/// Names with odd characters stand in quotes; their escapes are read as far as they hide a path.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return name.to_owned() };
    let mut out = String::new();
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        let mut code = 0u32;
        let mut digits = 0;
        while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(8)).filter(|_| digits < 3) {
            code = code * 8 + digit;
            digits += 1;
            letters.next();
        }
        match char::from_u32(code).filter(|_| digits > 0) {
            Some(letter) => out.push(letter),
            None => out.extend(letters.next()),
        }
    }
    out
}

/// The paths a name means. `patch` without a number guesses, so each of its guesses counts.
fn readings(name: &str, strip: Option<usize>) -> Vec<String> {
    let parts: Vec<&str> = name.split('/').collect();
    let without = |count: usize| parts.get(count..).filter(|rest| !rest.is_empty()).map(|rest| rest.join("/"));
    match strip {
        Some(count) => without(count).or_else(|| parts.last().map(|last| (*last).to_owned())).into_iter().collect(),
        None => [without(0), without(1), parts.last().map(|last| (*last).to_owned())].into_iter().flatten().collect(),
    }
}

/// Entries of an archive that is unpacked into a folder; whether they are seen.
pub(crate) fn unpacked(walker: &mut Walker<'_>, archive: &str, into: &str, span: Span) -> bool {
    let path = walker.resolve(archive);
    if let Some(content) = walker.state.files.get(&path).cloned() {
        match content {
            Stream::Remote => walker.report.unknown("UNSEEN", "the archive comes from another machine", span),
            Stream::Text(_) | Stream::Secret | Stream::Opaque if walker.is_printed_by(PACKERS) => {}
            Stream::Text(_) | Stream::Secret | Stream::Opaque => walker.not_seen("the archive", span),
            Stream::Absent => {}
        }
        return false;
    }
    let found = walker.looks_at(&path).map(|links| links.members(&path));
    match found {
        Some(Content::Seen(members)) => {
            placed(walker, &members, into, span);
            return true;
        }
        Some(Content::Unseen) => walker.unseen(archive, span),
        // A command before this one may make it.
        Some(Content::Missing) if walker.is_preceded() && !walker.is_printed_by(PACKERS) => {
            walker.not_seen("the archive", span);
        }
        Some(Content::Missing) | None => {}
    }
    false
}

/// Programs whose archives hold what lay here before.
const PACKERS: &[&str] = &["git", "tar", "gtar", "bsdtar", "zip", "npm", "cargo"];

/// An archive that comes through a pipe.
pub(crate) fn unpacked_stream(walker: &mut Walker<'_>, content: &Stream, into: &str, span: Span) -> bool {
    if let Some(file) = walker.input.take().filter(|_| *content == Stream::Opaque) {
        return unpacked(walker, &file, into, span);
    }
    match content {
        Stream::Remote => walker.report.unknown("UNSEEN", "the archive comes from another machine", span),
        Stream::Text(_) | Stream::Secret | Stream::Opaque if !walker.is_printed_by(PACKERS) => {
            walker.not_seen("the archive", span);
        }
        Stream::Text(_) | Stream::Secret | Stream::Opaque | Stream::Absent => {}
    }
    false
}

fn placed(walker: &mut Walker<'_>, members: &[Member], into: &str, span: Span) {
    if members.len() > FILES_MAX {
        // Ordinary names lie below the folder, and only the others are looked at one by one.
        walker.report.may_write(into);
    }
    let odd = |member: &&Member| members.len() <= FILES_MAX || is_odd(member);
    for member in members.iter().filter(odd).take(FILES_MAX) {
        let path = if member.name.starts_with('/') { member.name.clone() } else { format!("{into}/{}", member.name) };
        match &member.link {
            Some(target) => {
                walker.write_file(&path, How::Link, span);
                walker.linked(&path, target, true);
            }
            None => walker.write_file(&path, How::Overwrite, span),
        }
    }
    if members.iter().filter(odd).count() > FILES_MAX {
        walker.report.unknown("TOO_MANY", "the archive holds more odd names than are judged", span);
    }
}

/// Names that may lead out of the folder or to what steers a host: links, hidden names, ways up.
fn is_odd(member: &Member) -> bool {
    member.link.is_some() || member.name.starts_with('/') || member.name.split('/').any(|part| part.starts_with('.'))
}

/// `unzip`: options may stand behind the archive.
pub(crate) fn unzip(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = Options::parse(call.args, "-d -x -P", Style::Gnu, false);
    let into = walker.resolve(options.value("-d").unwrap_or("."));
    if let Some(archive) = options.operands.first() {
        let found = walker.looks_at(&walker.resolve(&archive.text)).is_some_and(|links| {
            let path = walker.resolve(&archive.text);
            links.exists(&path)
        });
        let name = if found { archive.text.clone() } else { format!("{}.zip", archive.text) };
        unpacked(walker, &name, &into, archive.span);
    }
    walker.report.raise(Class::Write, "WRITES", format!("unpacks into `{}`", mark::shown(&into)), call.span);
    Stream::Opaque
}

/// `cpio -i < archive`: its own form is not looked into.
pub(crate) fn cpio(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options =
        Options::parse(call.args, "-F --file -D --directory -H --format -O -I -R --owner -E", Style::Gnu, false);
    if options.has("-i --extract") && !options.has("-t --list") {
        match options.value("-F --file -I") {
            Some(file) => {
                let (file, into) = (file.to_owned(), options.value("-D --directory").unwrap_or(".").to_owned());
                let into = walker.resolve(&into);
                unpacked(walker, &file, &into, call.span);
            }
            None => {
                let into = walker.resolve(options.value("-D --directory").unwrap_or("."));
                unpacked_stream(walker, &call.stdin, &into, call.span);
            }
        }
    }
    Stream::Opaque
}
