//! Programs outside that are asked: a predicate that cannot answer refuses, a judge that cannot answer abstains.

use super::{Compared, text};
use kernel::advice::{AdviceKind, AdviceVerdict, Opinion};
use serde_json::Value;

/// What our validators would send in the place of a predicate or a judge that behaves like this; `None` if it fails.
fn sent(behaviour: &str) -> Option<Vec<u8>> {
    let verdict = |word: &str| format!(r#"{{"verdict":"{word}","version":"1"}}"#).into_bytes();
    match behaviour {
        "admit" | "agree" => Some(verdict("pass")),
        "refuse" | "disagree" => Some(verdict("reject")),
        "true" | "false" | "null" => Some(behaviour.as_bytes().to_vec()),
        "none" => Some(b"null".to_vec()),
        "string" | "str" => Some(b"\"yes\"".to_vec()),
        "dict" | "list" | "int" => Some(if behaviour == "int" { b"1".to_vec() } else { b"[]".to_vec() }),
        _ if behaviour.starts_with("raise") || matches!(behaviour, "timeout" | "abstain") => Some(Vec::new()),
        _ => None,
    }
}

fn said(row: &Value, kind: AdviceKind) -> Option<Option<AdviceVerdict>> {
    let bytes = sent(row.pointer("/input/behaviour")?.as_str()?)?;
    Some(Opinion::read(kind, &bytes).ok().map(|opinion| opinion.verdict))
}

/// Whether a predicate lets pass.
pub fn predicate(row: &Value) -> Option<Compared> {
    let passes = said(row, AdviceKind::Validator)? == Some(AdviceVerdict::Pass);
    let expected = row.pointer("/expect/admitted")?;
    Some(Compared::new(format!("admitted {passes}"), format!("admitted {expected}")))
}

/// What a judge says; one that fails has said nothing.
pub fn judge(row: &Value) -> Option<Compared> {
    let stance = match said(row, AdviceKind::Judge)? {
        Some(AdviceVerdict::Pass) => "AGREE",
        Some(AdviceVerdict::Reject | AdviceVerdict::Escalate) => "DISAGREE",
        None => "ABSTAIN",
    };
    Some(Compared::new(stance, text(row.pointer("/expect/stance")?)))
}
