//! Work for tokens. The ratio is compared with twelve digits: theirs is a double, ours a decimal.

use super::{check, json, text};
use kernel::detectors::efficiency::{Evidence, Settings, judge};
use serde_json::Value;

#[test]
fn given_rows() {
    check("efficiency.jsonl", 40, &[], |row| Some((ours(&row["input"]), theirs(&row["expect"]))));
}

fn ours(input: &Value) -> String {
    let settings = Settings::read("efficiency", Some(&json(&input["policy"])));
    let (Ok(settings), Some(work), Some(tokens)) = (settings, input["work"].as_u64(), input["tokens"].as_u64()) else {
        return "error".to_owned();
    };
    let evidence = Evidence { work, tokens };
    let ratio: f64 = evidence.ratio().to_string().parse().unwrap();
    format!("{} {ratio:.12e}", judge(&evidence, &settings).word())
}

fn theirs(expect: &Value) -> String {
    if expect.get("error").is_some() {
        return "error".to_owned();
    }
    let ratio = expect["evidence"]["ratio"].as_f64().unwrap();
    format!("{} {ratio:.12e}", text(&expect["verdict"]))
}
