//! Findings in words. What to do about one is worded by the door, which may know a command for it.

use kernel::finding::Finding;

/// Code, message and what to do, if anything.
pub fn sentence(finding: &Finding, fix: &str) -> String {
    let found = format!("{}: {}", finding.code.as_str(), finding.message());
    if fix.is_empty() { found } else { format!("{found}; {fix}") }
}

/// One finding a line; lines after the first are indented below a word such as `error:`.
pub fn sentences(findings: &[Finding], fix: impl Fn(&Finding) -> String) -> String {
    let lines: Vec<String> = findings.iter().map(|finding| sentence(finding, &fix(finding))).collect();
    lines.join("\n       ")
}
