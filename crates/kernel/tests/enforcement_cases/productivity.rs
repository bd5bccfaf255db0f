//! What each step moved.

use super::{check, json, text};
use kernel::detectors::productivity::{Evidence, Settings, judge};
use serde_json::Value;

#[test]
fn given_rows() {
    check("productivity.jsonl", 57, &[], |row| {
        let input = &row["input"];
        let settings = Settings::read("productivity", Some(&json(&input["policy"])));
        let deltas: Option<Vec<u64>> = input["deltas"].as_array().unwrap().iter().map(Value::as_u64).collect();
        let ours = match (settings, deltas) {
            (Ok(settings), Some(deltas)) => judge(&Evidence { deltas }, &settings).word().to_owned(),
            (Ok(_) | Err(_), _) => "error".to_owned(),
        };
        let expect = &row["expect"];
        Some((ours, if expect.get("error").is_some() { "error".to_owned() } else { text(&expect["verdict"]) }))
    });
}
