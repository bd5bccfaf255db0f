//! Archives: what is packed, what is unpacked over what.

use crate::act::patch;
use crate::answer::{Capability, Class};
use crate::call::{Call, Options};
use crate::rules::Style;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};

const TAR_VALUED: &str = "-f --file -C --directory -T --files-from -X --exclude-from --exclude -b --blocking-factor -I --use-compress-program --transform --xform --strip-components --owner --group --mode --mtime -N --newer -g --listed-incremental --checkpoint --checkpoint-action --to-command --rsh-command --index-file -V --label -L -K --one-top-level";

pub(crate) fn tar(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    // `tar xzf file` has its options without a dash.
    let mut args: Vec<Arg> = call.args.to_vec();
    if let Some(first) = args.first_mut()
        && !first.text.starts_with('-')
        && first.text.chars().all(|c| c.is_ascii_alphabetic())
    {
        first.text.insert(0, '-');
    }
    let options = Options::parse(&args, TAR_VALUED, Style::Gnu, false);
    if options.has("-t --list --test-label -d --diff --compare") {
        return Stream::Opaque;
    }
    walker.report.raise(Class::Write, "WRITES", "packs or unpacks an archive", call.span);
    for opt in &options.given {
        let value = opt.value.clone().unwrap_or_default();
        let command = match opt.name.as_str() {
            "--to-command" | "--use-compress-program" | "-I" | "--rsh-command" => Some(value.clone()),
            "--checkpoint-action" => value.strip_prefix("exec=").map(ToOwned::to_owned),
            _ => None,
        };
        if let Some(command) = command.filter(|command| {
            !matches!(
                command.split_whitespace().next().unwrap_or_default(),
                "zstd" | "pigz" | "xz" | "gzip" | "lz4" | "bzip2" | "pbzip2" | "brotli" | "lzop" | "pixz" | "zstdmt"
            )
        }) {
            walker.report.can(Capability::Exec);
            walker.inner(&command, Stream::Opaque, opt.span);
        }
    }
    let saved = walker.state.cwd.clone();
    if let Some(directory) = options.value("-C --directory") {
        walker.state.cwd = walker.resolve(directory);
    }
    let removes = options.has("--remove-files --recursive-unlink --unlink-first");
    let creates = options.has("-c -r -u -A --create --append --update --catenate --concatenate");
    for operand in &options.operands {
        if creates {
            walker.read_file(&operand.text, operand.span);
        }
        if removes && creates {
            walker.write_file(&operand.text, How::RemoveTree, operand.span);
        }
    }
    if options.has("-x --extract --get") {
        unpack(walker, call, &options, &saved);
    }
    if options.has("--delete") {
        walker.report.raise(Class::Destructive, "REMOVES", "removes entries of an archive", call.span);
    }
    walker.state.cwd = saved;
    if creates && let Some(file) = options.value("-f --file") {
        walker.write_file(file, How::Overwrite, call.span);
    }
    unpacked(&call.stdin)
}

/// `tar -x`, from the folder `tar` was started in into the one it was told.
fn unpack(walker: &mut Walker<'_>, call: &Call<'_>, options: &Options, started_in: &str) {
    let target = walker.state.cwd.clone();
    walker.state.cwd = started_in.to_owned();
    let is_seen = match options.value("-f --file") {
        _ if options.has("--transform --xform") => {
            walker.not_seen("which names the files get", call.span);
            false
        }
        Some("-") | None => patch::unpacked_stream(walker, &call.stdin, &target, call.span),
        Some(file) => patch::unpacked(walker, file, &target, call.span),
    };
    // Entries that are seen are judged one by one.
    if is_seen {
        walker.report.may_write(&target);
    } else {
        walker.report.writes(&target);
    }
    walker.state.cwd.clone_from(&target);
    if let Some(file) = options.value("-f --file").filter(|_| options.has("-C --directory")) {
        // What is unpacked into a folder is not what a build made there.
        walker.placed(&target, file);
    }
    if let Some(folder) = options.value("--one-top-level") {
        walker.may_write(folder, call.span);
    }
    if matches!(target.as_str(), "/" | "/etc" | "/usr" | "/bin") {
        walker.report.can(Capability::Privilege);
    }
}

pub(crate) fn zip(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    for text in crate::act::handed::values(call.args, &["-TT", "--unzip-command"]) {
        crate::act::handed::run(walker, &text.text, text.span);
    }
    if let Some((archive, files)) = call.options.operands.split_first() {
        walker.write_file(&archive.text, How::Create, archive.span);
        for file in files {
            walker.read_file(&file.text, file.span);
            if call.options.has("-m --move") {
                walker.write_file(&file.text, How::RemoveTree, file.span);
            }
        }
    }
    if call.options.has("-d --delete") {
        walker.report.raise(Class::Destructive, "REMOVES", "removes entries of an archive", call.span);
    }
    Stream::Opaque
}

/// `gzip -d` as a filter keeps the kind of its input; on files it replaces them.
pub(crate) fn compress(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let to_output = call.options.has("-c --stdout --to-stdout -t --test -l --list");
    for operand in &call.options.operands {
        if to_output {
            walker.read_file(&operand.text, operand.span);
        } else {
            walker.write_file(&operand.text, How::Modify, operand.span);
        }
    }
    unpacked(&call.stdin)
}

/// A literal that went through a packer is still a literal, only unreadable.
fn unpacked(input: &Stream) -> Stream {
    match input {
        Stream::Text(text) if crate::mark::is_literal(text) || text.contains(crate::mark::HIDDEN) => {
            Stream::text(crate::mark::HIDDEN.to_string())
        }
        other @ (Stream::Absent | Stream::Text(_) | Stream::Remote | Stream::Secret | Stream::Opaque) => {
            other.blurred()
        }
    }
}
