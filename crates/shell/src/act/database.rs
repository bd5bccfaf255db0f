//! Databases: the statement decides, not the client.

use crate::answer::{Capability, Class, Span};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Handed, Walker};

/// `psql`, `mysql`, `sqlite3` and other clients of SQL.
pub(crate) fn sql(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut statements: Vec<String> = call
        .options
        .given
        .iter()
        .filter(|opt| {
            matches!(
                opt.name.as_str(),
                "-c" | "-e" | "-q" | "-Q" | "--command" | "--execute" | "--query" | "--sql" | "-cmd" | "-s"
            )
        })
        .filter_map(|opt| opt.value.clone())
        .collect();
    if matches!(call.name, "sqlite3" | "sqlite" | "duckdb" | "litecli") {
        if let Some(file) = call.options.operands.first() {
            let path = walker.resolve(&file.text);
            walker.report.reads(&path);
            walker.report.writes(&path);
        }
        statements.extend(call.options.operands.iter().skip(1).map(|operand| operand.text.clone()));
    }
    if matches!(call.name, "bq" | "clickhouse-client" | "clickhouse" | "cqlsh" | "snowsql" | "usql") {
        statements.extend(
            call.options
                .operands
                .iter()
                .filter(|operand| operand.text.contains(' '))
                .map(|operand| operand.text.clone()),
        );
    }
    let file = call.options.value("-f --file").map(str::to_owned);
    if let Some(path) = &file {
        let content = walker.handed_file(path, call.span);
        walker.report.raise(
            Class::Write,
            "WRITES",
            format!("runs the statements in `{}`", mark::shown(path)),
            call.span,
        );
        match content {
            Handed::Told(Stream::Text(text)) | Handed::OnDisk(text) => statements.push(text),
            Handed::Unseen => walker.unseen(path, call.span),
            Handed::Told(Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque) => {}
        }
    }
    initial(walker, call, &mut statements);
    match &call.stdin {
        Stream::Text(text) => statements.push(text.clone()),
        Stream::Remote | Stream::Secret | Stream::Opaque if statements.is_empty() && file.is_none() => {
            walker.report.raise(Class::Write, "WRITES", "runs statements from its input", call.span)
        }
        Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque => {}
    }
    let lists = call.options.has("-l --list --version -V");
    if statements.is_empty() && file.is_none() && !lists {
        walker.report.raise(Class::Write, "INTERACTIVE", format!("`{}` opens a database", call.name), call.span);
    }
    for statement in &statements {
        judge(walker, statement, call.span);
        crate::act::statement::judge(walker, statement, call.span);
        written(walker, statement, call.span);
    }
    Stream::Opaque
}

/// `sqlite3 -init FILE` runs a file first; `-cmd TEXT` is a statement.
fn initial(walker: &mut Walker<'_>, call: &Call<'_>, statements: &mut Vec<String>) {
    if !matches!(call.name, "sqlite3" | "sqlite" | "duckdb" | "litecli") {
        return;
    }
    for file in crate::act::handed::values(call.args, &["-init", "--init"]) {
        statements.extend(crate::act::sed::program_file(walker, &file.text, call));
    }
    statements.extend(crate::act::handed::values(call.args, &["-cmd", "--cmd"]).into_iter().map(|arg| arg.text));
}

/// Commands of clients that read a file, or run what is in it.
const READING: &[&str] = &[".read", ".import", ".restore", ".load", "\\i", "\\ir", "\\include", "source"];

/// Commands of clients that write a file.
const SAVING: &[&str] = &[
    ".backup", ".save", ".clone", ".output", ".once", ".log", ".open", ".cd", "\\o", "\\w", "\\g", "\\T", "tee",
    "\\cd", "\\out",
];

/// Words of SQL behind which a file stands that is written.
const INTO: &[&str] = &["INTO OUTFILE", "INTO DUMPFILE", "VACUUM", "ATTACH", "EXPORT DATABASE", "WRITEFILE", " TO "];

/// Files that statements and a client's own commands write.
fn written(walker: &mut Walker<'_>, text: &str, span: Span) {
    let bare = |word: &str| word.trim_matches(['"', '\'', ';', ')', '(']).to_owned();
    for line in text.lines() {
        let line = line.trim();
        let mut words = line.split_whitespace();
        if line.starts_with(['.', '\\'])
            && let Some((_, command)) = line.split_once('|')
        {
            let quote = line.split('|').next().and_then(|before| before.chars().next_back());
            let end = quote.filter(|quote| matches!(quote, '\'' | '"')).and_then(|quote| command.rfind(quote));
            crate::act::handed::run(walker, command.get(..end.unwrap_or(command.len())).unwrap_or_default(), span);
        }
        let verb = words.next().unwrap_or_default();
        // A client knows its commands by their first letters too.
        let is_one =
            |known: &&str| **known == *verb || verb.starts_with('.') && verb.len() > 2 && known.starts_with(verb);
        let file = words.last().map(bare);
        if let Some(file) = file.as_deref().filter(|file| READING.iter().any(&is_one) && !file.starts_with('|')) {
            let content = walker.read_file(file, span);
            if content != Stream::Opaque || ".load".starts_with(verb) || walker.is_written_below(file) {
                walker.report.unknown("DYNAMIC_CODE", format!("what is in `{}`", mark::shown(file)), span);
            }
        }
        let file = file.filter(|_| SAVING.iter().any(is_one));
        if file.as_deref().is_some_and(|file| file.contains('\\')) {
            walker.report.unknown("DYNAMIC_CODE", "which file a client writes cannot be known", span);
        }
        match file {
            Some(file) if matches!(file.as_str(), "stdout" | "off" | "on" | "") => {}
            Some(file) if file.starts_with('|') => {
                let command = line.split_once('|').map(|(_, command)| command.to_owned()).unwrap_or_default();
                walker.report.can(Capability::Exec);
                walker.inner(&command, Stream::Opaque, span);
            }
            Some(file) => walker.write_file(&file, How::Overwrite, span),
            None => {}
        }
    }
    let upper = text.to_ascii_uppercase();
    for word in INTO {
        for (at, _) in upper.match_indices(word).take(8) {
            let behind = text.get(at + word.len()..).unwrap_or_default();
            let quoted = behind.split(['\'', '"']).nth(1).filter(|file| !file.is_empty() && !file.contains('\n'));
            let near = behind
                .find(['\'', '"'])
                .is_some_and(|at| at < 80 && !behind.get(..at).unwrap_or_default().contains(';'));
            let is_file = |file: &&str| *word != " TO " || file.contains(['/', '.']);
            if let Some(file) = quoted.filter(is_file).filter(|_| near) {
                walker.write_file(file, How::Overwrite, span);
            }
        }
    }
}

/// `.shell` and `.system`, which a client also knows by their first letters.
fn is_shell(verb: &str) -> bool {
    verb.len() > 2 && [".shell", ".system"].iter().any(|command| command.starts_with(verb))
}

/// Classifies each statement of a text by its first words.
fn judge(walker: &mut Walker<'_>, text: &str, span: Span) {
    for statement in text.split(';') {
        let line = statement.trim();
        if let Some(command) = line
            .strip_prefix("\\!")
            .or_else(|| line.strip_prefix(".shell "))
            .or_else(|| line.split_once(char::is_whitespace).filter(|(verb, _)| is_shell(verb)).map(|(_, rest)| rest))
            .or_else(|| line.strip_prefix("system "))
        {
            walker.report.can(Capability::Exec);
            walker.inner(command.trim(), Stream::Absent, span);
            continue;
        }
        let words: Vec<String> = line
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .take(400)
            .map(str::to_ascii_uppercase)
            .collect();
        let all: Vec<&str> = words.iter().map(String::as_str).collect();
        let has = |word: &str| all.contains(&word);
        let class = match all.as_slice() {
            [] => Class::Read,
            ["DROP" | "TRUNCATE", ..] => Class::Destructive,
            ["DELETE", ..] if !has("WHERE") => Class::Destructive,
            ["UPDATE", ..] if !has("WHERE") => Class::Destructive,
            ["ALTER", rest @ ..] if rest.contains(&"DROP") => Class::Destructive,
            ["WITH", ..] if (has("DELETE") || has("UPDATE")) && !has("WHERE") => Class::Destructive,
            [
                "SELECT" | "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC" | "PRAGMA" | "VALUES" | "TABLE" | "USE" | "LIST"
                | "ANALYZE" | "WITH" | "D" | "DT" | "L" | "DU" | "DI" | "TABLES" | "SCHEMA" | "HEADERS" | "MODE"
                | "DATABASES",
                ..,
            ] if !has("INTO") => Class::Read,
            _ if mark::has_hole(line) && line.chars().all(|c| mark::is_hole(c) || c.is_whitespace()) => Class::Unknown,
            _ => Class::Write,
        };
        let upper = line.to_ascii_uppercase();
        if has("PROGRAM") && has("COPY")
            || upper.contains("XP_CMDSHELL")
            || upper.contains("PG_READ_FILE")
            || upper.contains("INTO OUTFILE")
            || upper.contains("LOAD_EXTENSION")
        {
            walker.report.can_because(Capability::Exec, "the statement reaches the database host", span);
        }
        if matches!(all.first(), Some(&"GRANT" | &"REVOKE"))
            || (has("USER") || has("ROLE")) && matches!(all.first(), Some(&"CREATE" | &"ALTER" | &"DROP"))
        {
            walker.report.can_because(Capability::Privilege, "the statement changes who may do what", span);
        }
        walker.report.raise(
            class,
            if class >= Class::Destructive { "LOSES" } else { "WRITES" },
            format!("statement `{}`", shortened(line)),
            span,
        );
    }
}

fn shortened(text: &str) -> String {
    mark::shown(text).chars().take(60).collect()
}

/// `redis-cli`: the first word is the command.
pub(crate) fn redis(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut lines: Vec<String> =
        vec![call.options.operands.iter().map(|operand| operand.text.clone()).collect::<Vec<_>>().join(" ")];
    lines.extend(call.stdin.known().unwrap_or_default().lines().map(ToOwned::to_owned));
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let command = line.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        let class = match command.as_str() {
            "FLUSHALL" | "FLUSHDB" | "SHUTDOWN" | "DEL" | "UNLINK" | "SWAPDB" | "DEBUG" => Class::Destructive,
            "GET" | "MGET" | "KEYS" | "SCAN" | "INFO" | "PING" | "TTL" | "TYPE" | "EXISTS" | "LRANGE" | "HGETALL"
            | "HGET" | "SMEMBERS" | "ZRANGE" | "DBSIZE" | "MONITOR" | "SLOWLOG" | "CLIENT" | "STRLEN" | "LLEN"
            | "SCARD" | "MEMORY" | "TIME" | "LASTSAVE" => Class::Read,
            _ => Class::Write,
        };
        walker.report.raise(class, "LOSES", format!("`{command}`"), call.span);
        if matches!(command.as_str(), "CONFIG" | "SLAVEOF" | "REPLICAOF" | "MODULE" | "EVAL") {
            walker.report.can(Capability::Exec);
        }
    }
    Stream::Opaque
}

/// `mongo`, `mongosh`: method calls decide.
pub(crate) fn mongo(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let mut text: String = call.options.given.iter().filter_map(|opt| opt.value.clone()).collect::<Vec<_>>().join("\n");
    text.push_str(call.stdin.known().unwrap_or_default());
    let losing = [
        "dropDatabase",
        ".drop(",
        "deleteMany",
        "remove(",
        "dropIndexes",
        "dropUser",
        "shutdownServer",
        "deleteOne",
        "dropCollection",
    ];
    if losing.iter().any(|name| text.contains(name)) {
        walker.report.raise(Class::Destructive, "LOSES", "the script removes data", call.span);
    } else {
        walker.report.raise(Class::Write, "WRITES", "runs a database script", call.span);
    }
    Stream::Opaque
}

/// Dumps and restores: a dump writes a file, a restore replaces a database.
pub(crate) fn restore(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if call.options.has("-c --clean --drop -C") {
        walker.report.raise(Class::Destructive, "LOSES", "drops what is there before restoring", call.span);
    }
    for operand in &call.options.operands {
        walker.read_file(&operand.text, operand.span);
    }
    Stream::Absent
}

pub(crate) fn dump(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if let Some(path) = call.options.value("-f --file -o --out --result-file -r").map(str::to_owned) {
        walker.write_file(&path, How::Overwrite, call.span);
    }
    Stream::Opaque
}
