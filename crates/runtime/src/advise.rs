//! Asking everyone whose advice a proposal needs, before it is queued and on the caller's own thread.

use crate::ports::advisor::Advisor;
use kernel::advice::{Advice, Needed, needed};
use kernel::command::Submission;

/// The submission with an answer, or its absence, to every question.
///
/// What was said before is kept where it answers exactly one of the questions of now, so that a command which is
/// formed again under the same contract asks nobody twice.
pub fn advised(submission: Submission, advisor: Option<&dyn Advisor>) -> Submission {
    if submission.contract.contract.validators.is_empty()
        && submission.contract.contract.judges.is_empty()
        && submission.ancestors.is_empty()
    {
        return submission;
    }
    let questions = needed(&submission);
    let known = |question: &Needed<'_>| submission.advice.iter().find(|advice| question.is_met_by(advice)).cloned();
    let kept: Vec<Option<Advice>> = questions.iter().map(known).collect();
    let heard: Vec<Advice> = std::thread::scope(|scope| {
        let asked: Vec<_> = questions
            .iter()
            .zip(kept)
            .map(|(question, kept)| match (kept, advisor) {
                (Some(kept), _) => Answering::Known(kept),
                (None, None) => Answering::Known(question.heard(Err("this process asks no plug-ins".to_owned()))),
                // They take as long as the slowest of them, not as long as all of them.
                (None, Some(advisor)) => {
                    Answering::Asked(scope.spawn(move || advisor.ask(question.plugin, &question.question)))
                }
            })
            .collect();
        let heard = questions.iter().zip(asked).map(|(question, answering)| match answering {
            Answering::Known(advice) => advice,
            Answering::Asked(thread) => {
                let answer = thread.join().unwrap_or_else(|_| Err("asking it failed".to_owned()));
                question.heard(answer)
            }
        });
        heard.collect()
    });
    submission.advised(heard)
}

enum Answering<'scope> {
    Known(Advice),
    Asked(std::thread::ScopedJoinHandle<'scope, Result<Vec<u8>, String>>),
}
