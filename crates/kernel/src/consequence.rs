//! Consequences: what followed from a command without anyone asking for it. Each has a record of its own, before that of
//! the command.
//!
//! One function writes what the record says and one reads it.

use crate::contract::words;
use crate::escalation::{EscalationRow, EscalationState, GivenAnswer};
use crate::intent::IntentState;
use crate::stored::{answer_json, read_answer};
use crate::watched::Trip;
use values::json::{Json, Object};
use values::time::Instant;

words! {
    /// What followed, in one word: the kind of the record.
    ConsequenceKind {
        /// An intent went on.
        IntentMoved = "intent_moved",
        /// Nobody started an intent in time.
        IntentExpired = "intent_expired",
        /// Nobody answered a question in time.
        QuestionExpired = "question_expired",
        /// A question ended with its flow.
        QuestionAborted = "question_aborted",
        /// People are reminded of a question.
        QuestionReminded = "question_reminded",
        /// Others may answer a question too.
        QuestionRerouted = "question_rerouted",
        /// A monitor raised an alarm.
        MonitorTripped = "monitor_tripped",
    }
}

/// What followed from a command.
#[derive(Clone, PartialEq, Debug)]
pub enum Consequence {
    /// An intent went on.
    IntentMoved { step: IntentStep, flow: String, agent: String },
    /// Nobody started an intent in time; it is cancelled.
    IntentExpired { intent: String, flow: String, agent: String, valid_until: Instant },
    /// Nobody answered a question in time.
    QuestionExpired(QuestionEnd),
    /// A question ended with its flow.
    QuestionAborted(QuestionEnd),
    /// People are reminded of a question.
    QuestionReminded(QuestionNotice),
    /// Others may answer a question too.
    QuestionRerouted(QuestionNotice),
    /// A monitor raised an alarm.
    MonitorTripped(Box<Trip>),
}

/// A step an intent took.
#[derive(Clone, PartialEq, Debug)]
pub struct IntentStep {
    pub intent: String,
    pub from: IntentState,
    pub to: IntentState,
    pub epoch: u64,
    /// The question that now waits for a person.
    pub question: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<Instant>,
}

/// A question, and how it ended.
#[derive(Clone, PartialEq, Debug)]
pub struct QuestionEnd {
    pub question: String,
    pub state: EscalationState,
    /// The proposal it was about.
    pub proposal: String,
    pub answer: Option<GivenAnswer>,
}

/// What is needed to carry a message about a question to people.
#[derive(Clone, PartialEq, Debug)]
pub struct QuestionNotice {
    pub question: String,
    pub proposal: String,
    /// Groups whose members may answer now.
    pub approvers: Vec<String>,
    pub deadline: Option<Instant>,
}

impl Consequence {
    pub fn kind(&self) -> ConsequenceKind {
        match self {
            Consequence::IntentMoved { .. } => ConsequenceKind::IntentMoved,
            Consequence::IntentExpired { .. } => ConsequenceKind::IntentExpired,
            Consequence::QuestionExpired(_) => ConsequenceKind::QuestionExpired,
            Consequence::QuestionAborted(_) => ConsequenceKind::QuestionAborted,
            Consequence::QuestionReminded(_) => ConsequenceKind::QuestionReminded,
            Consequence::QuestionRerouted(_) => ConsequenceKind::QuestionRerouted,
            Consequence::MonitorTripped(_) => ConsequenceKind::MonitorTripped,
        }
    }

    /// What its record says happened.
    pub fn to_json(&self) -> Json {
        match self {
            Consequence::IntentMoved { step, flow, agent } => {
                let mut members = step.members();
                members.insert("flow".to_owned(), Json::text(flow.as_str()));
                members.insert("agent".to_owned(), Json::text(agent.as_str()));
                Json::Object(members)
            }
            Consequence::IntentExpired { intent, flow, agent, valid_until } => Json::object([
                ("intent", Json::text(intent.as_str())),
                ("flow", Json::text(flow.as_str())),
                ("agent", Json::text(agent.as_str())),
                ("valid_until", Json::text(valid_until.to_string())),
            ]),
            Consequence::QuestionExpired(end) | Consequence::QuestionAborted(end) => end.to_json(),
            Consequence::QuestionReminded(notice) | Consequence::QuestionRerouted(notice) => notice.to_json(),
            Consequence::MonitorTripped(trip) => trip.to_json(),
        }
    }

    /// What the body of a record tells of; `None` if it is no record of a consequence.
    pub fn from_record(body: &Json) -> Option<Consequence> {
        let kind = ConsequenceKind::from_word(body.get("kind")?.as_text()?)?;
        let said = body.get("result")?;
        let text = |key: &str| Some(said.get(key)?.as_text()?.to_owned());
        Some(match kind {
            ConsequenceKind::IntentMoved => {
                Consequence::IntentMoved { step: IntentStep::read(said)?, flow: text("flow")?, agent: text("agent")? }
            }
            ConsequenceKind::IntentExpired => Consequence::IntentExpired {
                intent: text("intent")?,
                flow: text("flow")?,
                agent: text("agent")?,
                valid_until: Instant::parse(said.get("valid_until")?.as_text()?)?,
            },
            ConsequenceKind::QuestionExpired => Consequence::QuestionExpired(QuestionEnd::read(said)?),
            ConsequenceKind::QuestionAborted => Consequence::QuestionAborted(QuestionEnd::read(said)?),
            ConsequenceKind::QuestionReminded => Consequence::QuestionReminded(QuestionNotice::read(said)?),
            ConsequenceKind::QuestionRerouted => Consequence::QuestionRerouted(QuestionNotice::read(said)?),
            ConsequenceKind::MonitorTripped => Consequence::MonitorTripped(Box::new(Trip::read(said)?)),
        })
    }
}

impl IntentStep {
    /// As records tell it.
    pub(crate) fn members(&self) -> Object {
        let members = [
            ("intent", Json::text(self.intent.as_str())),
            ("from", Json::text(self.from.word())),
            ("state", Json::text(self.to.word())),
            ("epoch", Json::from(self.epoch)),
            ("question", Json::from(self.question.clone())),
            ("retry_at", Json::from(self.retry_at.map(|at| at.to_string()))),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    pub(crate) fn read(json: &Json) -> Option<IntentStep> {
        let state = |key: &str| IntentState::from_word(json.get(key)?.as_text()?);
        Some(IntentStep {
            intent: json.get("intent")?.as_text()?.to_owned(),
            from: state("from")?,
            to: state("state")?,
            epoch: u64::try_from(json.get("epoch")?.as_number()?.to_i64()?).ok()?,
            question: text_or_null(json, "question")?,
            retry_at: instant_or_null(json, "retry_at")?,
        })
    }
}

impl QuestionEnd {
    pub(crate) fn of(question: &str, row: &EscalationRow) -> QuestionEnd {
        QuestionEnd {
            question: question.to_owned(),
            state: row.state,
            proposal: row.proposal_id.clone(),
            answer: row.answer.clone(),
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::object([
            ("question", Json::text(self.question.as_str())),
            ("state", Json::text(self.state.word())),
            ("proposal", Json::text(self.proposal.as_str())),
            ("answer", self.answer.as_ref().map_or(Json::Null, answer_json)),
        ])
    }

    pub(crate) fn read(json: &Json) -> Option<QuestionEnd> {
        let answer = json.get("answer")?;
        Some(QuestionEnd {
            question: json.get("question")?.as_text()?.to_owned(),
            state: EscalationState::from_word(json.get("state")?.as_text()?)?,
            proposal: json.get("proposal")?.as_text()?.to_owned(),
            answer: if *answer == Json::Null { None } else { Some(read_answer(answer)?) },
        })
    }
}

impl QuestionNotice {
    fn to_json(&self) -> Json {
        Json::object([
            ("question", Json::text(self.question.as_str())),
            ("proposal", Json::text(self.proposal.as_str())),
            ("approvers", Json::texts(self.approvers.iter().map(String::as_str))),
            ("deadline", Json::from(self.deadline.map(|deadline| deadline.to_string()))),
        ])
    }

    fn read(json: &Json) -> Option<QuestionNotice> {
        let names = json.get("approvers")?.as_list()?.iter().map(|name| Some(name.as_text()?.to_owned()));
        Some(QuestionNotice {
            question: json.get("question")?.as_text()?.to_owned(),
            proposal: json.get("proposal")?.as_text()?.to_owned(),
            approvers: names.collect::<Option<_>>()?,
            deadline: instant_or_null(json, "deadline")?,
        })
    }
}

pub(crate) fn text_or_null(json: &Json, key: &str) -> Option<Option<String>> {
    let value = json.get(key)?;
    if *value == Json::Null { Some(None) } else { Some(Some(value.as_text()?.to_owned())) }
}

fn instant_or_null(json: &Json, key: &str) -> Option<Option<Instant>> {
    match text_or_null(json, key)? {
        Some(text) => Some(Some(Instant::parse(&text)?)),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Instant = Instant::PURE_DEFAULT;

    fn record(kind: &str, result: Json) -> Json {
        Json::object([("kind", Json::text(kind)), ("result", result)])
    }

    #[test]
    fn a_consequence_is_read_back_as_it_was_written() {
        let name = |text: &str| text.to_owned();
        let step = |question: Option<&str>, retry_at: Option<Instant>| Consequence::IntentMoved {
            step: IntentStep {
                intent: name("i"),
                from: IntentState::InFlight,
                to: IntentState::InDoubt,
                epoch: 3,
                question: question.map(str::to_owned),
                retry_at,
            },
            flow: name("f"),
            agent: name("bot"),
        };
        let end = |answer: Option<GivenAnswer>| QuestionEnd {
            question: name("q"),
            state: EscalationState::Expired,
            proposal: name("p"),
            answer,
        };
        let notice = |deadline: Option<Instant>| QuestionNotice {
            question: name("q"),
            proposal: name("p"),
            approvers: vec![name("desk"), name("till")],
            deadline,
        };
        let expired = (name("i"), name("f"), name("bot"));
        for consequence in [
            step(Some("q"), None),
            step(None, Some(AT)),
            Consequence::IntentExpired { intent: expired.0, flow: expired.1, agent: expired.2, valid_until: AT },
            Consequence::QuestionExpired(end(Some(GivenAnswer::by_nobody(name("nobody answered in time"), AT)))),
            Consequence::QuestionAborted(end(None)),
            Consequence::QuestionReminded(notice(Some(AT))),
            Consequence::QuestionRerouted(notice(None)),
        ] {
            let body = record(consequence.kind().word(), consequence.to_json());
            assert_eq!(Consequence::from_record(&body), Some(consequence));
        }
    }

    #[test]
    fn what_is_no_consequence_is_not_read_as_one() {
        let moved = r#"{"agent":"bot","epoch":1,"flow":"f","from":"READY","intent":"i","question":null,"retry_at":null,"state":"CLAIMED"}"#;
        let read =
            |kind: &str, text: &str| Consequence::from_record(&record(kind, Json::parse(text.as_bytes()).unwrap()));
        assert!(read("intent_moved", moved).is_some());
        assert_eq!(read("claim", moved), None);
        assert_eq!(read("intent_moved", &moved.replace("CLAIMED", "CALMED")), None);
        assert_eq!(read("intent_moved", &moved.replace(r#""epoch":1"#, r#""epoch":-1"#)), None);
        assert_eq!(read("question_expired", moved), None);
    }
}
