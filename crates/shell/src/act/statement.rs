//! What functions and clauses of SQL do to files and programs of the machine.

use crate::answer::{Capability, Span};
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::Walker;

/// Calls and clauses of one statement that are looked at.
const CALLS_MAX: usize = 64;

/// What a function does with its arguments.
#[derive(Clone, Copy)]
enum Does {
    Writes,
    Reads,
    /// Runs its second argument.
    Edits,
    Loads,
}

const FUNCTIONS: &[(&str, Does)] = &[
    ("writefile", Does::Writes),
    ("lo_export", Does::Loads),
    ("readfile", Does::Reads),
    ("read_text", Does::Reads),
    ("read_blob", Does::Reads),
    ("read_csv", Does::Reads),
    ("read_csv_auto", Does::Reads),
    ("load_file", Does::Reads),
    ("pg_read_file", Does::Reads),
    ("fsdir", Does::Reads),
    ("edit", Does::Edits),
    ("load_extension", Does::Loads),
    ("fts3_tokenizer", Does::Loads),
    ("xp_cmdshell", Does::Loads),
    ("sys_exec", Does::Loads),
    ("sys_eval", Does::Loads),
];

/// Clauses with a file behind them.
const CLAUSES: &[&str] = &["attach database", "attach", "into outfile", "into dumpfile"];

/// Looks at every function and clause.
pub(crate) fn judge(walker: &mut Walker<'_>, text: &str, span: Span) {
    let plain = without_comments(text);
    let lower = plain.to_ascii_lowercase();
    for (name, does) in FUNCTIONS {
        for at in words(&lower, name) {
            let behind =
                plain.get(at + name.len()..).unwrap_or_default().trim_start_matches(['"', '`', ']']).trim_start();
            if let Some(arguments) = behind.strip_prefix('(') {
                function(walker, name, *does, arguments, span);
            }
        }
    }
    // A name of the database may stand between the two words.
    for at in words(&lower, "vacuum") {
        let behind = lower.get(at + 6..).unwrap_or_default();
        if let Some(into) = words(behind, "into").first() {
            file_of_clause(walker, plain.get(at + 6 + into + 4..).unwrap_or_default(), span);
        }
    }
    for clause in CLAUSES {
        for at in words(&lower, clause) {
            let behind = plain.get(at + clause.len()..).unwrap_or_default().trim_start();
            if !behind.to_ascii_lowercase().starts_with("database") {
                file_of_clause(walker, behind, span);
            }
        }
    }
}

/// The file that a clause names; what is put together is not known.
fn file_of_clause(walker: &mut Walker<'_>, behind: &str, span: Span) {
    match literal(behind.trim_start()) {
        Some((file, rest)) if !rest.trim_start().starts_with("||") => walker.write_file(&file, How::Create, span),
        Some(_) | None => {
            let bare = behind.trim_start();
            let ends = bare.is_empty() || bare.starts_with([';', ')']);
            if !ends {
                walker.report.unknown("DYNAMIC_CODE", "which file the statement opens cannot be known", span);
            }
        }
    }
}

fn function(walker: &mut Walker<'_>, name: &str, does: Does, arguments: &str, span: Span) {
    let first = literal(arguments.trim_start()).filter(|(_, rest)| rest.trim_start().starts_with([',', ')']));
    let unclear = |walker: &mut Walker<'_>| {
        walker.report.unknown("DYNAMIC_CODE", format!("what `{name}` is given cannot be known"), span)
    };
    match (does, first) {
        (Does::Writes, Some((file, _))) => walker.write_file(&file, How::Overwrite, span),
        (Does::Reads, Some((file, _))) => _ = walker.read_file(&file, span),
        (Does::Edits, _) => {
            walker.report.can(Capability::Exec);
            let command = arguments.split_once(',').and_then(|(_, rest)| literal(rest.trim_start()));
            if let Some((command, _)) = command {
                walker.inner(&command, Stream::Opaque, span);
            }
            walker.report.unknown("DYNAMIC_CODE", "`edit` runs a program", span);
        }
        (Does::Loads, _) => {
            walker.report.can(Capability::Exec);
            unclear(walker);
        }
        (Does::Writes | Does::Reads, None) => unclear(walker),
    }
}

/// Where a word stands alone.
fn words(text: &str, word: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = text.get(..*at).and_then(|before| before.chars().next_back());
            let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
        .take(CALLS_MAX)
        .collect()
}

/// A quoted text at the start, and what follows it.
fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            out.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
            chars.next();
            out.push(c);
        } else {
            return Some((out, text.get(at + 1..).unwrap_or_default()));
        }
    }
    None
}

/// Comments are blanks.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(rest.get(..at).unwrap_or_default());
        out.push(' ');
        let behind = rest.get(at + 2..).unwrap_or_default();
        rest = behind.find("*/").and_then(|end| behind.get(end + 2..)).unwrap_or_default();
    }
    out.push_str(rest);
    mark::as_source(&out)
}

#[cfg(test)]
mod asked {
    use crate::testing::asked;
    use crate::testing::free;

    #[test]
    fn files_and_programs_in_statements() {
        asked(&[
            "sqlite3 src/d.db \"select writefile('.cl'||'aude/settings.json','x')\"",
            "sqlite3 src/d.db \"select readfile('.env')\"",
            "sqlite3 src/d.db \"select edit('x','cp README.md .claude/settings.json')\"",
            "sqlite3 src/d.db \"attach '.writ'||'keeper/guard.db' as g; delete from g.agent where 1\"",
            "sqlite3 -init .env src/d.db",
            "sqlite3 src/d.db 'select load_extension(\"x\")'",
            "sqlite3 src/d.db \"vacuum /* */ main into '../out/p'\"",
            "sqlite3 src/d.db \"VACUUM INTO char(46)\"",
            "sqlite3 src/d.db '.outp ../out/p' 'select 1'",
            "sqlite3 src/d.db \"select WriteFile ('../out/p', 1)\"",
            "sqlite3 src/d.db '.read .env'",
            "sqlite3 -cmd \"select readfile('.env')\" src/d.db",
            "sqlite3 src/d.db '.output \"\\x2e\"'",
        ]);
        free(&[
            "sqlite3 src/d.db \"select * from t where x = 'edit'\"",
            "sqlite3 src/d.db .schema",
            "sqlite3 src/d.db \"insert into a values(1)\"",
        ]);
    }
}
