//! Build tools: the target's name is all that shows.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::stream::Stream;
use crate::walk::Walker;

/// `make install` writes outside the project; a dry run writes nothing.
pub(crate) fn make(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    crate::act::handed::make_variables(walker, call);
    // A makefile on standard input is a text like any other.
    if let Some("-" | "/dev/stdin") = call.options.value("-f --file") {
        match &call.stdin {
            Stream::Text(text) => {
                let recipes: Vec<String> = text
                    .lines()
                    .filter(|line| line.starts_with('\t') || line.contains(";"))
                    .map(|line| {
                        line.rsplit(';').next().unwrap_or(line).trim().trim_start_matches(['@', '-', '+']).to_owned()
                    })
                    .collect();
                for recipe in recipes.iter().take(64) {
                    walker.inner(recipe, Stream::Absent, call.span);
                }
            }
            Stream::Remote => walker.remote_code("the makefile came from another machine".to_owned(), call.span),
            Stream::Absent | Stream::Secret | Stream::Opaque => {
                walker.report.unknown("DYNAMIC_CODE", "the makefile cannot be known", call.span)
            }
        }
    }
    // `make SHELL=… --eval=…` runs text.
    if let Some(text) = call.options.value("--eval -E") {
        let text = text.rsplit([';', ':', '\t']).next().unwrap_or(text).trim().to_owned();
        walker.inner(&text, Stream::Absent, call.span);
    }
    Stream::Opaque
}

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
