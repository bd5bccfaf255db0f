//! One matter as records tell it: the decision about a proposal, the answers of people, and what became of the intent.

use kernel::agent::Actor;
use kernel::person::person_key_text;
use kernel::proposal::Proposal;
use kernel::signed_answer::{AnswerStatement, instead_digest};
use ledger::envelope::Envelope;
use values::ids::Digest;
use values::json::Json;

/// The ids that tie records together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matter {
    /// The proposal's id.
    pub proposal: Option<String>,
    /// The question to people.
    pub question: Option<String>,
    /// The intent, or the one a question may become.
    pub intent: Option<String>,
}

/// What a record says about a matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The proposal was judged.
    Decision,
    /// A person answered.
    Answer,
    /// What became of the intent.
    Outcome,
}

impl Matter {
    /// What a record names.
    pub fn of(body: &Json) -> Matter {
        let inner = |key: &str, member: &str| text(body.get(key)?, member);
        let (command, result) = (body.get("command"), body.get("result"));
        match text(body, "kind").unwrap_or_default() {
            "decision" => Matter {
                proposal: owned(text(body, "proposal_id")),
                question: owned(inner("escalation", "id")),
                intent: owned(inner("intent", "id").or_else(|| inner("escalation", "intent"))),
            },
            "answer" => Matter {
                proposal: owned(result.and_then(|result| text(result, "proposal"))),
                question: owned(command.and_then(|command| text(command, "question"))),
                intent: owned(inner("intent", "id")),
            },
            _ => Matter {
                proposal: None,
                question: None,
                intent: owned(command.or(result).and_then(|told| text(told, "intent"))),
            },
        }
    }

    /// Whether the text of a record holds one of the ids; one that holds none is no part, and need not be read.
    pub fn is_named_in(&self, text: &str) -> bool {
        let mut ids = [&self.proposal, &self.question, &self.intent].into_iter().flatten();
        ids.any(|id| text.contains(&Json::text(id.as_str()).to_canonical()))
    }

    /// Which part of the matter a record is, if it is one; what was refused changed nothing and is none.
    pub fn part(&self, body: &Json) -> Option<Part> {
        let part = match text(body, "kind")? {
            "decision" => Part::Decision,
            "answer" if is_accepted(body) => Part::Answer,
            "outcome" | "settle" | "resolve" if is_accepted(body) => Part::Outcome,
            "intent_moved" | "intent_expired" => Part::Outcome,
            _ => return None,
        };
        let other = Matter::of(body);
        let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        let fits = same(&self.proposal, &other.proposal) && part == Part::Decision
            || same(&self.question, &other.question)
            || same(&self.intent, &other.intent);
        fits.then_some(part)
    }

    /// Takes what another record of the matter names.
    pub fn learn(&mut self, body: &Json) {
        let other = Matter::of(body);
        self.proposal = self.proposal.take().or(other.proposal);
        self.question = self.question.take().or(other.question);
        self.intent = self.intent.take().or(other.intent);
    }
}

/// What can be said of a signature under a recorded answer from the record alone. Whether the key was the person's at
/// that time is known only to someone who has the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signature {
    /// The answer is not signed.
    None,
    /// It fits what was said; the key as people files write it.
    Holds(String),
    /// It does not fit what was said.
    Wrong,
}

/// Checks the signature of a recorded answer against everything the record says.
pub fn signature(body: &Json, origin: &str) -> Signature {
    let Some(recorded) = body.get("command").and_then(|command| command.get("signature")) else {
        return Signature::None;
    };
    let held = Envelope::from_json(recorded).ok().and_then(|envelope| {
        let key = envelope.named_keys().next()?.clone();
        // A log that was started later is not part of what was signed.
        let origins = [Some(origin.to_owned()), None];
        let fits =
            |origin: Option<String>| statement(body, origin).is_some_and(|said| said.check(&envelope, &key).is_ok());
        origins.into_iter().any(fits).then(|| person_key_text(&key))
    });
    held.map_or(Signature::Wrong, Signature::Holds)
}

/// What the person of a recorded answer must have signed.
fn statement(body: &Json, origin: Option<String>) -> Option<AnswerStatement> {
    let command = body.get("command")?;
    let said = |key: &str| text(command, key).map(str::to_owned);
    let instead = match command.get("modified").and_then(|modified| modified.get("proposal")) {
        None => None,
        Some(proposal) => Some(instead_digest(&Proposal::from_json(proposal.clone()).ok()?)),
    };
    Some(AnswerStatement {
        tenant: text(body, "tenant")?.to_owned(),
        origin,
        question: said("question")?,
        person: person(body)?,
        digest: Digest::parse(text(command, "digest")?)?,
        decision: said("decision")?,
        instead,
        reason: said("reason")?,
    })
}

/// Who answered, as the record names them.
pub fn person(body: &Json) -> Option<String> {
    match Actor::parse(text(body, "actor")?)? {
        Actor::Operator(name) => Some(name),
        Actor::Monitor(_) | Actor::Agent(_) | Actor::Kernel => None,
    }
}

fn is_accepted(body: &Json) -> bool {
    text(body, "verdict") == Some("ACCEPT")
}

fn text<'j>(json: &'j Json, key: &str) -> Option<&'j str> {
    json.get(key).and_then(Json::as_text)
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}
