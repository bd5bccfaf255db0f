//! What a host is told where the runtime gave no decision.

use kernel::outcome::Answer;

/// Everything found, in words, with what the operator can do about it.
pub fn sentences(answer: &Answer) -> String {
    let told = answer.findings.iter().map(|finding| match finding.fix_operator() {
        fix if fix.is_empty() => format!("{}: {}", finding.code.as_str(), finding.message()),
        fix => format!("{}: {}; {fix}", finding.code.as_str(), finding.message()),
    });
    told.collect::<Vec<_>>().join("\n       ")
}
