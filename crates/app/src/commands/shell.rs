//! `writkeeper shell …`

use crate::cli::{ClassifyArgs, ShellCommand};
use crate::commands::lines::Lines;
use crate::exit::Exit;
use serde::Serialize;
use serde_json::{Value, json};
use shell::{Classification, View};
use std::io::Write;

/// Runs one of the shell tools.
pub fn run(command: &ShellCommand) -> anyhow::Result<Exit> {
    match command {
        ShellCommand::Classify(args) => classify(args),
    }
}

fn classify(args: &ClassifyArgs) -> anyhow::Result<Exit> {
    let place = Place::of(args.cwd.clone(), args.home.clone());
    let mut lines = Lines::open(args.commands.as_deref())?;
    let mut output = std::io::stdout().lock();
    while let Some((_, line)) = lines.next_filled_line()? {
        let answer = classify_line(&String::from_utf8_lossy(line), &place.view());
        writeln!(output, "{answer}")?;
    }
    Ok(Exit::Fine)
}

/// Where commands would run.
pub struct Place {
    cwd: String,
    home: String,
}

impl Place {
    /// What was named, else where we are and whose home it is.
    pub fn of(cwd: Option<String>, home: Option<String>) -> Place {
        let here = || std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
        let cwd = cwd.unwrap_or_else(here);
        let home = home.filter(|home| home.starts_with('/')).unwrap_or_else(|| "/root".to_owned());
        Place { cwd: if cwd.starts_with('/') { cwd } else { "/".to_owned() }, home }
    }

    /// As the classifier takes it.
    pub fn view(&self) -> View<'_> {
        View { hosts: guard::hooks::host_files(), ..View::new(&self.cwd, &self.home) }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a Value,
    #[serde(flatten)]
    answer: &'a Classification,
}

/// Answers one line `{"id": …, "command": "…"}`.
///
/// A line that is no such object is answered with `"error"`, so that lines out match lines in.
fn classify_line(line: &str, view: &View<'_>) -> String {
    let parsed: Result<Value, _> = serde_json::from_str(line);
    let null = Value::Null;
    let Ok(value) = parsed else {
        return error(&null, "the line is not JSON");
    };
    let id = value.get("id").unwrap_or(&null);
    let Some(command) = value.get("command").and_then(Value::as_str) else {
        return error(id, "the line has no text in `command`");
    };
    let answer = shell::classify(command, view);
    serde_json::to_string(&Line { id, answer: &answer })
        .unwrap_or_else(|_| error(id, "the answer could not be written"))
}

fn error(id: &Value, message: &str) -> String {
    json!({ "id": id, "class": "unknown", "capabilities": [], "reasons": [], "reads": [], "writes": [], "error": message }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line() {
        let out = classify_line(r#"{"id":7,"command":"cat ../x > y"}"#, &View::new("/w/app", "/home/user"));
        assert_eq!(
            out,
            r#"{"id":7,"class":"write","capabilities":[],"reasons":["WRITES: changes `y`"],"reads":["/w/x"],"writes":["/w/app/y"]}"#
        );
        assert!(classify_line("nonsense", &View::default()).contains("error"));
        assert!(classify_line(r#"{"id":1}"#, &View::default()).contains("error"));
    }
}
