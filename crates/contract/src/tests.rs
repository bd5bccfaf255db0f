//! The tests a contract carries: `given`, and rows that change one thing each and say what they expect.

use crate::cursor::{Fields, Report, Spot};
use crate::keys;
use crate::source::{Node, Place, Value};
use kernel::contract::Origin;
use kernel::nearest::nearest;
use values::ids;
use values::json::{Json, Object};
use values::time::Instant;

/// The tests in a contract's file.
#[derive(Clone, PartialEq, Debug)]
pub struct Tests {
    /// What every row starts from.
    pub given: Json,
    /// The rows; each is judged in a fresh world.
    pub rows: Vec<Row>,
}

/// One case and what is expected of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What it shows, in words.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// `given` with the row's changes; under `before`, cases judged first in the same world, each `given` with its own.
    pub case: Json,
    /// What is expected.
    pub expect: Expect,
}

/// A verdict and codes that must be among its reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expect {
    /// `ACCEPT`, `REJECT` or `ESCALATE`.
    pub verdict: String,
    /// Codes; none means any.
    pub codes: Vec<String>,
}

/// What a row lets a validator or a judge say; `failed` is no answer at all.
const ADVICE_WORDS: &[&str] = &["pass", "reject", "escalate", "failed"];

const VERDICTS: &[&str] = &["ACCEPT", "REJECT", "ESCALATE"];

pub(super) fn read(spot: &Spot<'_>, report: &mut Report) -> Tests {
    let mut tests = Tests { given: Json::Object(Object::new()), rows: Vec::new() };
    let Some(fields) = spot.fields(&keys::TESTS, report) else { return tests };
    if let Some(given) = fields.get("given")
        && let Some(case) = given.fields(&keys::TEST_CASE, report)
    {
        check_case(&case, report);
        tests.given = given.node.to_json();
    }
    let rows = fields.require("rows", report).map(|spot| spot.items(report)).unwrap_or_default();
    tests.rows = rows.iter().enumerate().filter_map(|(index, item)| row(item, index, &tests.given, report)).collect();
    tests
}

fn row(spot: &Spot<'_>, index: usize, given: &Json, report: &mut Report) -> Option<Row> {
    let fields = spot.fields(&keys::TEST_ROW, report)?;
    check_case(&fields, report);
    let name = match fields.get("name") {
        Some(name) => name.some_text(report)?.to_owned(),
        None => format!("row {}", index + 1),
    };
    let before = fields.get("before").map(|spot| spot.items(report)).unwrap_or_default();
    let before: Vec<Json> = before
        .iter()
        .filter_map(|item| {
            check_case(&item.fields(&keys::TEST_CASE, report)?, report);
            Some(Json::Object(merged(given, item.node)))
        })
        .collect();
    let expect = fields.require("expect", report).and_then(|spot| expect(&spot, report))?;
    let mut case = merged(given, spot.node);
    if !before.is_empty() {
        case.insert("before".to_owned(), Json::List(before));
    }
    Some(Row { name, place: spot.node.place, case: Json::Object(case), expect })
}

/// Shapes only: what a proposal holds is judged by the gates, and showing that a wrong one is refused is a good test.
fn check_case(fields: &Fields<'_>, report: &mut Report) {
    for key in ["params", "state", "advice"] {
        if let Some(spot) = fields.get(key) {
            spot.entries(report);
        }
    }
    if let Some(spot) = fields.get("provenance") {
        for (_, origin) in spot.entries(report) {
            origin.word(Origin::WORDS, Origin::from_word, report);
        }
    }
    if let Some(spot) = fields.get("advice") {
        for (_, said) in spot.entries(report) {
            let fits = match &said.node.value {
                Value::Scalar(Json::Text(word)) => ADVICE_WORDS.contains(&word.as_str()),
                Value::Scalar(Json::Number(_)) => true,
                Value::Scalar(_) | Value::List(_) | Value::Map(_) => false,
            };
            if !fits {
                let help = format!("write one of {}, or the score of a judge", ADVICE_WORDS.join(", "));
                said.fail(report, format!("`{}` is no advice", said.path), Some(&help));
            }
        }
    }
    if let Some(spot) = fields.get("snapshot") {
        let fits = match &spot.node.value {
            Value::Scalar(Json::Null) | Value::Map(_) => true,
            Value::Scalar(Json::Text(text)) => text == "current",
            Value::Scalar(_) | Value::List(_) => false,
        };
        if !fits {
            let help = "write `current`, `null`, or a map of state as it was";
            spot.fail(report, format!("`{}` is no snapshot", spot.path), Some(help));
        }
    }
    if let Some(spot) = fields.get("at")
        && let Some(text) = spot.text(report)
        && Instant::parse(text).is_none()
    {
        let help = "write a time with its offset: `2026-01-01T12:00:00Z`";
        spot.fail(report, format!("`{text}` is no instant"), Some(help));
    }
}

fn expect(spot: &Spot<'_>, report: &mut Report) -> Option<Expect> {
    let text = spot.some_text(report)?;
    let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let verdict = words.next().unwrap_or_default();
    if !VERDICTS.contains(&verdict) {
        let help = nearest(verdict, VERDICTS.iter().copied())
            .map_or("start with ACCEPT, REJECT or ESCALATE".to_owned(), |near| format!("did you mean `{near}`?"));
        spot.fail(report, format!("`{verdict}` is no verdict"), Some(&help));
        return None;
    }
    let codes: Vec<String> = words.map(str::to_owned).collect();
    for code in codes.iter().filter(|code| !ids::is_reason_code(code)) {
        spot.fail(report, format!("`{code}` is no reason code"), Some("codes look like `LIMIT_EXCEEDED`"));
    }
    Some(Expect { verdict: verdict.to_owned(), codes })
}

/// `params`, `state` and `advice` key by key, where a null removes the key; everything else replaces.
fn merged(given: &Json, row: &Node) -> Object {
    let mut case = given.as_object().cloned().unwrap_or_default();
    let Json::Object(changes) = row.to_json() else { return case };
    for (key, change) in changes {
        match (key.as_str(), change) {
            ("name" | "expect" | "before", _) => {}
            ("params" | "state" | "advice", Json::Object(members)) => merge(case.entry(key).or_default(), members),
            (_, change) => {
                case.insert(key, change);
            }
        }
    }
    case
}

fn merge(target: &mut Json, changes: Object) {
    let mut members = target.as_object().cloned().unwrap_or_default();
    for (key, change) in changes {
        if change == Json::Null {
            members.remove(&key);
        } else {
            members.insert(key, change);
        }
    }
    *target = Json::Object(members);
}

#[cfg(test)]
mod rows {
    use super::*;

    /// Rows as `name case expectation`, and the errors.
    fn check(text: &str, expected: &[&str]) {
        let node = Node::from_json(&Json::parse(text.as_bytes()).unwrap());
        let mut report = Report::default();
        let tests = read(&Spot { node: &node, path: "tests".to_owned() }, &mut report);
        let rows = tests.rows.iter().map(|row| {
            let codes = row.expect.codes.join("+");
            format!("{} {} {} {codes}", row.name, row.case.to_canonical(), row.expect.verdict)
        });
        let errors = report.errors.iter().map(|error| format!("{}: {}", error.path, error.message));
        assert_eq!(rows.chain(errors).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rows_change_what_is_given() {
        check(
            r#"{"given": {"action": "a", "params": {"x": 1, "y": 2}, "state": {"s": 1}, "provenance": {"x": "user"}},
               "rows": [
                 {"expect": "ACCEPT"},
                 {"name": "n", "params": {"x": null, "z": 3}, "state": {"t": 2}, "provenance": {}, "expect": "REJECT A_B, C_D"},
                 {"name": "b", "before": [{"params": {"x": 9}}], "snapshot": null, "expect": "ESCALATE"}]}"#,
            &[
                r#"row 1 {"action":"a","params":{"x":1,"y":2},"provenance":{"x":"user"},"state":{"s":1}} ACCEPT "#,
                r#"n {"action":"a","params":{"y":2,"z":3},"provenance":{},"state":{"s":1,"t":2}} REJECT A_B+C_D"#,
                r#"b {"action":"a","before":[{"action":"a","params":{"x":9,"y":2},"provenance":{"x":"user"},"state":{"s":1}}],"params":{"x":1,"y":2},"provenance":{"x":"user"},"snapshot":null,"state":{"s":1}} ESCALATE "#,
            ],
        );
    }

    #[test]
    fn rows_say_when_a_proposal_was_made_and_until_when_it_counts() {
        check(
            r#"{"given": {"created_at": "2026-01-01T12:00:00Z"},
               "rows": [{"valid_until": "2026-01-01T12:00:05Z", "idempotency_key": "k", "expect": "ACCEPT"},
                 {"before": [{"idempotency_key": "k"}], "created_at": null, "expect": "REJECT"}]}"#,
            &[
                r#"row 1 {"created_at":"2026-01-01T12:00:00Z","idempotency_key":"k","valid_until":"2026-01-01T12:00:05Z"} ACCEPT "#,
                r#"row 2 {"before":[{"created_at":"2026-01-01T12:00:00Z","idempotency_key":"k"}],"created_at":null} REJECT "#,
            ],
        );
    }

    #[test]
    fn mistakes_in_rows_are_errors() {
        check(
            r#"{"rows": [{"expct": "ACCEPT"}, {"expect": "ACEPT"}, {"expect": "REJECT no"},
                {"snapshot": "old", "provenance": {"x": "mail"}, "at": "today", "expect": "ACCEPT"}]}"#,
            &[
                "row 3 {} REJECT no",
                r#"row 4 {"at":"today","provenance":{"x":"mail"},"snapshot":"old"} ACCEPT "#,
                "tests.rows.0.expct: unknown key `expct` in `tests.rows.0`",
                "tests.rows.0: `tests.rows.0` has no `expect`",
                "tests.rows.1.expect: `ACEPT` is no verdict",
                "tests.rows.2.expect: `no` is no reason code",
                "tests.rows.3.provenance.x: `tests.rows.3.provenance.x` cannot be `mail`",
                "tests.rows.3.snapshot: `tests.rows.3.snapshot` is no snapshot",
                "tests.rows.3.at: `today` is no instant",
            ],
        );
    }
}
