//! Binary floats stay out of judgement.

use super::{Finding, SourceFile};

/// What amounts pass through on their way to a verdict.
const JUDGING: &[&str] = &["crates/values/src/", "crates/ledger/src/", "crates/kernel/src/", "crates/contract/src/"];

/// RFC 8785 prints doubles and the door asks whether that changes a number; monitors compute statistics.
const FLOATS_ALLOWED: &[&str] = &[
    // Hashes of the Python reference, which prints its floats; nothing judges by them.
    "crates/kernel/src/compat.rs",
    "crates/values/src/json/canonical.rs",
    "crates/values/src/json/parse.rs",
    "crates/kernel/src/monitors.rs",
    "crates/kernel/src/monitors/",
];

/// Amounts, limits and budgets are decimals; a double would change them.
pub fn floats_in_kernel(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(rust) = &file.rust else { return };
    let is_judging = JUDGING.iter().any(|folder| file.path.starts_with(folder));
    if !is_judging || FLOATS_ALLOWED.iter().any(|allowed| file.path.starts_with(allowed)) {
        return;
    }
    for (index, line) in rust.code.lines().enumerate() {
        let mut words = line.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        if words.any(|word| word == "f32" || word == "f64") {
            findings.push(Finding { line: index + 1, message: "a binary float in judgement".to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::rows::broken;

    #[test]
    fn floats() {
        let text = "//! Numbers.\nfn half(value: f64) -> f64 { value / 2.0 }\n";
        assert_eq!(broken("crates/kernel/src/budget.rs", text), ["floats"]);
        assert!(broken("crates/kernel/src/monitors/cusum.rs", text).is_empty());
        assert!(broken("crates/values/src/json/canonical.rs", text).is_empty());
        assert!(broken("crates/app/src/bench.rs", text).is_empty());
        assert!(broken("crates/kernel/src/budget.rs", "//! No f64 here.\n").is_empty());
    }
}
