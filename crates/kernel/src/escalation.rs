//! Escalations: questions to people. Bound to exact bytes, answered once, by someone entitled to.

use crate::advice::Advice;
use crate::contract::{Impact, words};
use crate::intent::DoubtDecision;
use ledger::ed25519::PublicKey;
use std::collections::BTreeSet;
use values::ids::{Digest, is_same_person};
use values::json::{Json, Object};
use values::time::Instant;

/// Who may answer where a contract names no approvers.
pub const OPERATORS: &str = "operators";

/// Where state keeps the groups of people; only operators write it.
pub const PEOPLE: &str = "people/";

/// When a question without a deadline is due: after everything else, at the end of the year 9999. Nobody is told so.
const NEVER: Instant = Instant::from_micros(253_402_300_799_000_000);

words! {
    /// Where a question stands.
    EscalationState {
        /// Waiting for an answer.
        Open = "OPEN",
        /// Accepted as it was.
        Overridden = "OVERRIDDEN",
        /// Another proposal took its place.
        Modified = "MODIFIED",
        /// A person said no.
        Aborted = "ABORTED",
        /// Nobody answered in time.
        Expired = "EXPIRED",
        /// It is known what became of an intent in doubt.
        Resolved = "RESOLVED",
    }
}

words! {
    /// What is asked.
    QuestionKind {
        /// Whether something may happen.
        Proposal = "proposal",
        /// Whether something happened.
        Doubt = "doubt",
        /// What an agent wants to know; nothing follows from the answer but the answer.
        Request = "request",
    }
}

words! {
    /// What a person can say. Any other text is refused.
    HumanDecision {
        /// Accept as it is.
        Override = "OVERRIDE",
        /// Accept something else instead.
        Modify = "MODIFY",
        /// No.
        Abort = "ABORT",
    }
}

/// A question to people.
#[derive(Clone, PartialEq, Debug)]
pub struct EscalationRow {
    /// What is asked.
    pub kind: QuestionKind,
    /// Where it stands.
    pub state: EscalationState,
    /// Who asked.
    pub agent: String,
    /// Who proposed or asked it in the name of the agent, where it was not the agent itself.
    pub by: Option<String>,
    /// In which flow.
    pub flow: String,
    /// The proposal's id.
    pub proposal_id: String,
    /// The exact proposal; for a doubt the exact intent.
    pub proposal: Json,
    /// SHA-256 of the exact canonical bytes a person is shown.
    pub digest: Digest,
    /// Digest of the contract it was judged under.
    pub contract: Digest,
    /// The codes that made it a question.
    pub reasons: Vec<String>,
    /// How much it may hurt.
    pub impact: Impact,
    /// Groups whose members may answer.
    pub approvers: Vec<String>,
    /// How many must agree.
    pub quorum: u64,
    /// Whether only signed answers count.
    pub signed: bool,
    /// When it was asked.
    pub asked_at: Instant,
    /// After this the safe default counts. Time does not answer whether something happened: such a question has none.
    pub deadline: Option<Instant>,
    /// When people are to be reminded; nothing once they were.
    pub remind: Option<Instant>,
    /// Who else may answer, and from when on.
    pub reroute: Option<Reroute>,
    /// Who agreed so far.
    pub votes: Vec<Vote>,
    /// Who answered and what came of it, once it is over.
    pub answer: Option<GivenAnswer>,
    /// Where the door says the values came from; kept because the answer judges again.
    pub provenance: Json,
    /// Id of the intent an acceptance will make, or of the intent in doubt.
    pub intent: String,
    /// What validators and judges said; it counts again at the answer, as long as the contract is the same.
    pub advice: Vec<Advice>,
    /// What the agent says, where it asked of its own accord.
    pub request: Option<AgentRequest>,
}

/// Why an agent asks of its own accord, and what a person should know.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentRequest {
    pub reason: String,
    pub context: Object,
}

impl EscalationRow {
    /// The digest of the exact bytes a person is shown: the proposal, and the contract it was judged under.
    pub fn digest_of(proposal: &Json, contract: Digest) -> Digest {
        Digest::of_parts(&[b"writkeeper/question/v1", contract.bytes(), proposal.to_canonical().as_bytes()])
    }

    /// The digest of what a person is shown under a contract: what the agent says is part of it.
    pub fn shown_digest(&self, contract: Digest) -> Digest {
        let Some(request) = &self.request else { return EscalationRow::digest_of(&self.proposal, contract) };
        let said = Json::object([
            ("reason", Json::text(request.reason.as_str())),
            ("context", Json::Object(request.context.clone())),
            ("proposal", self.proposal.clone()),
            ("impact", Json::text(self.impact.word())),
        ]);
        Digest::of_parts(&[b"writkeeper/request/v1", contract.bytes(), said.to_canonical().as_bytes()])
    }

    /// Whether this is what was asked. A row that was changed in the store shows something else than its digest covers.
    pub fn is_as_asked(&self) -> bool {
        self.shown_digest(self.contract) == self.digest
    }

    /// Whether time has answered it.
    pub fn is_late(&self, at: Instant) -> bool {
        self.deadline.is_some_and(|deadline| at > deadline)
    }

    /// When time does something to it next: a reminder, another group, the end. Nothing is due once it is over; what has
    /// no end is due last of all, so that it is listed among the open ones.
    pub fn due(&self) -> Option<Instant> {
        let reroute = self.reroute.as_ref().filter(|reroute| !reroute.told).map(|reroute| reroute.at);
        let next = [self.remind, reroute, Some(self.deadline.unwrap_or(NEVER))].into_iter().flatten().min();
        next.filter(|_| self.state == EscalationState::Open)
    }

    /// Groups whose members may answer at an instant. Where a contract names none, not just anyone may.
    pub fn entitled(&self, at: Instant) -> Vec<&str> {
        let named = self.approvers.iter().map(String::as_str);
        let named: Vec<&str> = if self.approvers.is_empty() { vec![OPERATORS] } else { named.collect() };
        let later = self.reroute.as_ref().filter(|reroute| at >= reroute.at).map(|reroute| reroute.to.as_str());
        named.into_iter().chain(later).collect()
    }
}

/// Whether a question is a person's own: they bear the agent's name, or proposed or asked it in the name of the agent.
pub fn is_own_question(person: &str, agent: &str, by: Option<&str>) -> bool {
    let by = by.map(|by| by.strip_prefix("operator:").unwrap_or(by));
    is_same_person(person, agent) || by.is_some_and(|by| is_same_person(person, by))
}

/// Why a person who is in these groups may not answer a question at an instant; nothing where they may.
pub fn hindrance(row: &EscalationRow, person: &str, groups: &BTreeSet<String>, at: Instant) -> Option<&'static str> {
    if is_own_question(person, &row.agent, row.by.as_deref()) {
        Some("nobody approves what they proposed")
    } else if !row.entitled(at).into_iter().any(|group| groups.contains(group)) {
        Some("they are in none of the groups that may")
    } else {
        None
    }
}

/// Someone else who may answer, from some time on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reroute {
    /// From when on.
    pub at: Instant,
    /// The group.
    pub to: String,
    /// Whether a record says so already.
    pub told: bool,
}

/// One person's agreement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vote {
    /// Digest of what they agreed to: the proposal in question, or the one that is to happen instead.
    pub digest: Digest,
    /// Who.
    pub person: String,
    /// When.
    pub at: Instant,
}

/// How a question ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenAnswer {
    /// What was said; `None` when time answered.
    pub decision: Option<HumanDecision>,
    /// By whom.
    pub person: Option<String>,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Instant,
    /// The intent that came of it.
    pub intent: Option<String>,
    /// What was said about a doubt.
    pub doubt: Option<DoubtDecision>,
    /// The user of the operating system who typed it, where the door checked nothing itself.
    pub os_user: Option<String>,
    /// By what the door made sure who it is.
    pub login: Option<String>,
    /// The key it was signed with.
    pub key: Option<PublicKey>,
}

impl GivenAnswer {
    /// Time or evidence ended it; nobody said anything.
    pub fn by_nobody(reason: String, at: Instant) -> GivenAnswer {
        GivenAnswer {
            decision: None,
            person: None,
            reason,
            at,
            intent: None,
            doubt: None,
            os_user: None,
            login: None,
            key: None,
        }
    }
}

/// The machine; `None` is refused: a question is answered once.
pub fn transition(state: EscalationState, decision: Option<HumanDecision>) -> Option<EscalationState> {
    match (state, decision) {
        (EscalationState::Open, Some(HumanDecision::Override)) => Some(EscalationState::Overridden),
        (EscalationState::Open, Some(HumanDecision::Modify)) => Some(EscalationState::Modified),
        (EscalationState::Open, Some(HumanDecision::Abort)) => Some(EscalationState::Aborted),
        (EscalationState::Open, None) => Some(EscalationState::Expired),
        (
            EscalationState::Overridden
            | EscalationState::Modified
            | EscalationState::Aborted
            | EscalationState::Expired
            | EscalationState::Resolved,
            Some(HumanDecision::Override | HumanDecision::Modify | HumanDecision::Abort) | None,
        ) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w15_an_unknown_decision_is_no_decision() {
        for text in ["approve", "yes", "override", "OVERRIDE ", ""] {
            assert_eq!(HumanDecision::from_word(text), None, "{text}");
        }
    }

    #[test]
    fn a_question_is_answered_once() {
        let over = transition(EscalationState::Open, Some(HumanDecision::Abort)).unwrap();
        assert_eq!(transition(over, Some(HumanDecision::Override)), None);
        assert_eq!(transition(over, None), None);
    }
}
