//! JSON lines in, JSON lines out.

use serde::Serialize;

use crate::answer::Classification;
use crate::view::View;

#[derive(Serialize)]
struct Line<'a> {
    id: &'a serde_json::Value,
    #[serde(flatten)]
    answer: &'a Classification,
}

/// Answers one line `{"id": …, "command": "…"}`.
///
/// A line that is no such object is answered with `"error"`, so that lines out match lines in.
#[must_use]
pub fn classify_line(line: &str, view: &View<'_>) -> String {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
    let null = serde_json::Value::Null;
    let Ok(value) = parsed else {
        return error(&null, "the line is not JSON");
    };
    let id = value.get("id").unwrap_or(&null);
    let Some(command) = value.get("command").and_then(serde_json::Value::as_str) else {
        return error(id, "the line has no text in `command`");
    };
    let answer = crate::classify(command, view);
    serde_json::to_string(&Line { id, answer: &answer })
        .unwrap_or_else(|_| error(id, "the answer could not be written"))
}

fn error(id: &serde_json::Value, message: &str) -> String {
    serde_json::json!({ "id": id, "class": "unknown", "capabilities": [], "reasons": [], "reads": [], "writes": [], "error": message }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line() {
        let out = classify_line(r#"{"id":7,"command":"cat ../x > y"}"#, &View::new("/w/app", "/home/me"));
        assert_eq!(
            out,
            r#"{"id":7,"class":"write","capabilities":[],"reasons":["WRITES: changes `y`"],"reads":["/w/x"],"writes":["/w/app/y"]}"#
        );
        assert!(classify_line("nonsense", &View::default()).contains("error"));
        assert!(classify_line(r#"{"id":1}"#, &View::default()).contains("error"));
    }
}
