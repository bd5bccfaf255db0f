//! What cannot be known of a decision under another contract.

use kernel::advice::{Needed, needed};
use kernel::command::Submission;
use kernel::finding::{Effect, Finding, Gate};
use kernel::outcome::Answer;

/// Why nobody can tell how a decision would have come out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unknown {
    /// Its body was erased.
    Erased,
    /// It holds a secret that is not kept.
    Secret,
    /// It needs the advice of somebody who was not asked then.
    Advice,
    /// It was judged under rules that this program does not know.
    Rules,
    /// It depends on another one that is unknown.
    Behind,
}

impl Unknown {
    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Unknown::Erased => "the record was erased",
            Unknown::Secret => "a secret parameter is not kept",
            Unknown::Advice => "a validator or judge was not asked then",
            Unknown::Rules => "the rules of then are not known to this program",
            Unknown::Behind => "it depends on something unknown",
        }
    }
}

/// Whether anybody has to be asked at all.
pub(super) fn may_lack_advice(submission: &Submission) -> bool {
    let line = std::iter::once(&submission.contract).chain(&submission.ancestors);
    line.into_iter().any(|line| !line.contract.validators.is_empty() || !line.contract.judges.is_empty())
}

/// Whether the answer rests on somebody who did not say anything then: another plug-in under the same name is somebody
/// else. What is refused for another reason is refused whatever they would have said.
pub(super) fn lacks_advice(before: &Submission, after: &Submission, answer: &Answer) -> bool {
    let refused = |finding: &Finding| finding.effect == Effect::Reject && finding.gate != Gate::Validators;
    if answer.findings.iter().any(refused) {
        return false;
    }
    let asked = needed(before);
    let was_asked = |now: &Needed<'_>| {
        let same = |then: &Needed<'_>| {
            then.kind == now.kind && then.name == now.name && then.plugin.source == now.plugin.source
        };
        asked.iter().any(same) && after.advice.iter().any(|advice| now.is_met_by(advice))
    };
    needed(after).iter().any(|now| !was_asked(now))
}
