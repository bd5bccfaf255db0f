//! Build tools: the target's name is all that shows.

use crate::answer::{Capability, Class, Span};
use crate::call::Call;
use crate::stream::Stream;
use crate::walk::Walker;

/// `make install` writes outside the project; a dry run writes nothing.
pub(crate) fn make(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    crate::act::handed::make_variables(walker, call);
    // A makefile on standard input, or out of a command, is a text like any other.
    let file = call.options.value("-f --file --makefile --justfile").map(ToOwned::to_owned);
    let content = match file.as_deref() {
        Some("-" | "/dev/stdin") => Some(call.stdin.clone()),
        Some(file) if file.starts_with("/dev/fd/") => Some(walker.read_file(file, call.span)),
        Some(_) | None => None,
    };
    match content {
        None => {
            written_before(walker, file.as_deref(), call);
            crate::act::makefile::on_disk(walker, file.as_deref(), call);
        }
        Some(Stream::Text(text)) => makefile(walker, &text, call.span),
        Some(Stream::Remote) => walker.remote_code("the makefile came from another machine".to_owned(), call.span),
        Some(Stream::Absent | Stream::Secret | Stream::Opaque) => {
            walker.report.unknown("DYNAMIC_CODE", "the makefile cannot be known", call.span)
        }
    }
    // `make --eval=…` reads one more makefile.
    for text in crate::act::handed::values(call.args, &["--eval", "-E"]) {
        makefile(walker, &text.text, text.span);
    }
    Stream::Opaque
}

/// A makefile that this text wrote. Which of its targets are made is not followed, so only catastrophes count.
fn written_before(walker: &mut Walker<'_>, file: Option<&str>, call: &Call<'_>) {
    let names = file.map_or_else(|| vec!["GNUmakefile", "makefile", "Makefile"], |file| vec![file]);
    for name in names {
        let path = walker.resolve(name);
        let text = match walker.state.files.get(&path).cloned() {
            Some(Stream::Text(text)) => text,
            Some(Stream::Remote | Stream::Secret | Stream::Opaque) => {
                walker.report.unknown("DYNAMIC_CODE", "the makefile is written by the same command", call.span);
                continue;
            }
            Some(Stream::Absent) | None => continue,
        };
        let before = walker.report.class;
        makefile(walker, &text, call.span);
        if walker.report.class < Class::Catastrophic {
            walker.report.class = before;
        }
    }
}

/// Recipes behind a tab or a semicolon, and what `$(shell …)` runs.
fn makefile(walker: &mut Walker<'_>, text: &str, span: Span) {
    if text.lines().count() > MAKEFILE_LINES_MAX {
        walker.report.unknown("TOO_MANY", "the makefile has more lines than are followed", span);
    }
    for line in text.lines().take(MAKEFILE_LINES_MAX) {
        let recipe = match line.strip_prefix('\t') {
            Some(recipe) => Some(recipe),
            None => line.split_once(':').and_then(|(_, rest)| rest.split_once(';')).map(|(_, recipe)| recipe),
        };
        match recipe {
            Some(recipe) => {
                let recipe = recipe.trim_start().trim_start_matches(['@', '-', '+']).replace("$$", "$");
                walker.inner(&recipe, Stream::Absent, span);
            }
            None => crate::act::handed::make_shell(walker, line, span),
        }
    }
}

/// Lines of a makefile that are looked at.
const MAKEFILE_LINES_MAX: usize = 128;

/// Framework commands that reset a database.
pub(crate) fn migrate(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.options.texts();
    let loses = texts.iter().any(|text| {
        matches!(
            *text,
            "flush"
                | "reset_db"
                | "sqlflush"
                | "db:drop"
                | "dropdb"
                | "clean"
                | "drop-all"
                | "dropAll"
                | "fresh"
                | "purge"
                | "reset"
                | "drop"
                | "delete"
                | "undo:all"
                | "db:migrate:undo:all"
                | "nuke"
        )
    });
    let gentle = texts.is_empty() || call.options.has("--dry-run --sql --help");
    if loses
        && !gentle
        && !matches!(
            call.name,
            "hugo"
                | "mkdocs"
                | "gulp"
                | "grunt"
                | "webpack"
                | "vite"
                | "jupyter"
                | "metro"
                | "expo"
                | "ng"
                | "gatsby"
                | "hexo"
                | "mdbook"
                | "mvn"
        )
    {
        walker.report.raise(
            Class::Destructive,
            "LOSES",
            format!("`{} {}` drops data", call.name, texts.first().copied().unwrap_or_default()),
            call.span,
        );
    }
    if call.name == "hdfs" && call.args.iter().any(|arg| matches!(arg.text.as_str(), "-rm" | "-rmr" | "-expunge")) {
        walker.report.raise(Class::Destructive, "LOSES", "removes files of a cluster", call.span);
    }
    walker.report.can(Capability::Exec);
    Stream::Opaque
}
