//! Calls that nobody makes: they try out a wired command line. They are judged like any other, and nothing of them is kept
//! or runs.

use kernel::outcome::Verdict;
use runtime::Minted;

/// How their sessions are called; hosts name sessions by ids of their own.
const SESSION: &str = "writkeeper-probe-";

/// What an answer to a probe begins with.
const SAID: &str = "Writkeeper answers a probe, and nothing runs";

/// A session for one probe.
pub fn session() -> String {
    format!("{SESSION}{}", Minted::id())
}

/// Whether a session is one of a probe.
pub fn is_probe(session: &str) -> bool {
    session.starts_with(SESSION)
}

/// What the host is told: what would have been decided.
pub fn said(verdict: Verdict, codes: &[&str]) -> String {
    let codes = codes.iter().map(|code| format!(" {code}")).collect::<String>();
    format!("{SAID}: it would be {}{codes}.", verdict.word())
}

/// Whether an answer that a host reads says that this would have been decided, for this reason.
pub fn says(output: &str, verdict: Verdict, code: &str) -> bool {
    output.contains(&format!("{SAID}: it would be {} {code}", verdict.word()))
}

/// Whether an answer that a host reads is one to a probe at all.
pub fn is_answered(output: &str) -> bool {
    output.contains(SAID)
}
