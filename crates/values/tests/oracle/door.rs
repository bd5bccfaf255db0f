//! What must hold for any bytes at the strict door, judged by a second reader; shared by tests and fuzzing.

use values::json::{Json, Problem, Refusal};

/// Explains what is wrong with the door's answer to these bytes, if anything is.
pub fn objection(bytes: &[u8]) -> Option<String> {
    match Json::parse(bytes) {
        Ok(value) => objection_to_admission(bytes, &value),
        Err(refusal) => objection_to_refusal(bytes, &refusal),
    }
}

fn objection_to_admission(bytes: &[u8], value: &Json) -> Option<String> {
    let canonical = value.to_canonical();
    match Json::parse(canonical.as_bytes()) {
        Ok(again) if again == *value && again.to_canonical() == canonical => {}
        Ok(again) => return Some(format!("{canonical} is read back as {}", again.to_canonical())),
        Err(refusal) => return Some(format!("the canonical text {canonical} is refused: {refusal}")),
    }
    let other = match serde_json::from_slice::<serde_json::Value>(bytes) {
        Ok(other) => other,
        Err(error) => return Some(format!("admitted as {canonical}, but the second reader says: {error}")),
    };
    match serde_json_canonicalizer::to_string(&other) {
        Ok(text) if text == canonical => None,
        Ok(text) => Some(format!("canonical text {canonical}, but the second implementation says {text}")),
        Err(error) => Some(format!("the second implementation cannot write {canonical}: {error}")),
    }
}

fn objection_to_refusal(bytes: &[u8], refusal: &Refusal) -> Option<String> {
    if refusal.offset > bytes.len() || refusal.line == 0 || refusal.column == 0 {
        return Some(format!("{refusal:?} points outside of {} bytes", bytes.len()));
    }
    // Only what no JSON reader may accept must be refused by both; the rest is our own strictness.
    let grammar = match &refusal.problem {
        Problem::NotUtf8 | Problem::Unexpected { .. } | Problem::Truncated | Problem::TrailingData => true,
        Problem::LoneSurrogate | Problem::ByteOrderMark => true,
        Problem::TooLong { .. } | Problem::TooDeep { .. } | Problem::TooManyNodes { .. } => false,
        Problem::KeyTooLong { .. } | Problem::DuplicateKey { .. } => false,
        Problem::NumberNotExact | Problem::Nul => false,
    };
    if grammar && serde_json::from_slice::<serde_json::Value>(bytes).is_ok() {
        return Some(format!("refused ({refusal}), but the second reader accepts it"));
    }
    None
}
