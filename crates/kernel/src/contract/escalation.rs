//! How people are asked.

use super::members::Members;
use super::shape::{Direction, Holds, shape};
use super::words;
use values::json::Json;
use values::time::Duration;

shape! {
    /// How people are asked.
    ESCALATION = "escalation" {
        "budget": Direction::Unclear, Holds::Map(&ESCALATION_BUDGET);
        "approvers": Direction::SetWidens;
        "quorum": Direction::MoreNarrows;
        "timeout": Direction::Unclear, Holds::Map(&ESCALATION_TIMEOUT);
        "on_exhausted": Direction::Words(&["PASSIVE", "ABORT"]);
        "valid_after": Direction::MoreWidens;
        "signed": Direction::Presence;
    }
}

shape! {
    /// How often people are asked.
    ESCALATION_BUDGET = "escalation_budget" { "max": Direction::MoreWidens; "per": Direction::MoreNarrows; }
}

shape! {
    /// What time does to a question. Whom a question is passed on to may answer it.
    ESCALATION_TIMEOUT = "escalation_timeout" {
        "remind": Direction::Neutral;
        "reroute": Direction::PresenceWidens;
        "to": Direction::PresenceWidens;
        "after": Direction::MoreWidens;
        "then": Direction::Unclear;
    }
}

words! {
    /// What an exhausted escalation budget does to the agent.
    OnExhausted {
        /// It may read, and nothing else, until an operator says otherwise.
        Passive = "PASSIVE",
        /// Only this proposal is refused.
        Abort = "ABORT",
    }
}

words! {
    /// What an unanswered escalation becomes.
    TimeoutAnswer {
        /// It is over.
        Abort = "ABORT",
    }
}

/// How people are asked.
#[derive(Clone, PartialEq, Debug)]
pub struct Escalation {
    /// How often in a window.
    pub budget_max: u64,
    /// The window.
    pub budget_per: Duration,
    /// Groups whose members may answer.
    pub approvers: Vec<String>,
    /// How many must agree.
    pub quorum: u64,
    /// What time does to a question.
    pub timeout: EscalationTimeout,
    /// What an empty budget does.
    pub on_exhausted: OnExhausted,
    /// For how long what a person approved may be started.
    pub valid_after: Duration,
    /// Whether an answer counts only with the signature of whoever gives it.
    pub signed: bool,
}

impl Default for Escalation {
    /// What a contract means that says nothing about questions.
    fn default() -> Escalation {
        Escalation {
            budget_max: 20,
            budget_per: Duration::from_secs(3600),
            approvers: Vec::new(),
            quorum: 1,
            timeout: EscalationTimeout::default(),
            on_exhausted: OnExhausted::Abort,
            valid_after: Duration::from_secs(15 * 60),
            signed: false,
        }
    }
}

impl Escalation {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let timeout = &self.timeout;
        let mut ladder = Members::default();
        ladder.put_some("remind", timeout.remind.map(|length| length.to_string()));
        ladder.put_some("reroute", timeout.reroute.map(|length| length.to_string()));
        ladder.put_some("to", timeout.reroute_to.as_deref());
        ladder.put("after", Json::text(timeout.after.to_string()));
        ladder.put("then", Json::text(timeout.then.word()));
        let budget = [("max", self.budget_max.into()), ("per", Json::text(self.budget_per.to_string()))];
        let mut object = Members::default();
        object.put("budget", Json::object(budget));
        object.put("approvers", Json::texts(self.approvers.iter().map(String::as_str)));
        object.put("quorum", self.quorum.into());
        object.put("timeout", ladder.done());
        object.put("on_exhausted", Json::text(self.on_exhausted.word()));
        object.put("valid_after", Json::text(self.valid_after.to_string()));
        object.put_some("signed", self.signed.then_some(true));
        object.done()
    }
}

/// What time does to a question.
#[derive(Clone, PartialEq, Debug)]
pub struct EscalationTimeout {
    /// Say it again.
    pub remind: Option<Duration>,
    /// Ask someone else.
    pub reroute: Option<Duration>,
    /// Whom.
    pub reroute_to: Option<String>,
    /// Give up.
    pub after: Duration,
    /// And then.
    pub then: TimeoutAnswer,
}

impl Default for EscalationTimeout {
    /// A question that nobody answers in a quarter of an hour is over.
    fn default() -> EscalationTimeout {
        EscalationTimeout {
            remind: None,
            reroute: None,
            reroute_to: None,
            after: Duration::from_secs(15 * 60),
            then: TimeoutAnswer::Abort,
        }
    }
}
