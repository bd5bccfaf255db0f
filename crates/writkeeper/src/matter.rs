//! One matter as records tell it: the decision about a proposal, the answers of people, and what became of the intent.

use crate::error::Error;
use kernel::agent::Actor;
use kernel::consequence::Consequence;
use kernel::person::person_key_text;
use kernel::proposal::Proposal;
use kernel::signed_answer::{AnswerStatement, instead_digest};
use ledger::envelope::Envelope;
use runtime::ports::store::{Reader, StoredRecord};
use std::collections::{BTreeMap, BTreeSet};
use values::ids::Digest;
use values::json::{Bounds, Json};

/// The ids that tie records together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matter {
    /// Whose proposal it is, where the record is a decision: agents choose such ids, so another one may have the same.
    pub agent: Option<String>,
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
                agent: owned(text(body, "agent")),
                proposal: owned(text(body, "proposal_id")),
                question: owned(inner("escalation", "id")),
                intent: owned(inner("intent", "id").or_else(|| inner("escalation", "intent"))),
            },
            "answer" => Matter {
                agent: None,
                proposal: owned(result.and_then(|result| text(result, "proposal"))),
                question: owned(command.and_then(|command| text(command, "question"))),
                intent: owned(inner("intent", "id")),
            },
            _ => {
                let asked = owned(command.and_then(|command| text(command, "intent")));
                let intent = Consequence::from_record(body).map_or(asked, Matter::intent_of);
                Matter { intent, ..Matter::default() }
            }
        }
    }

    /// The intent that time or another command moved; records about questions alone are no part of a matter.
    fn intent_of(consequence: Consequence) -> Option<String> {
        match consequence {
            Consequence::IntentMoved { step, .. } => Some(step.intent),
            Consequence::IntentExpired { intent, .. } => Some(intent),
            Consequence::QuestionExpired(_)
            | Consequence::QuestionAborted(_)
            | Consequence::QuestionReminded(_)
            | Consequence::QuestionRerouted(_)
            | Consequence::MonitorTripped(_) => None,
        }
    }

    /// Whether the text of a record holds one of the ids; one that holds none is no part, and need not be read.
    fn is_named_in(&self, text: &str) -> bool {
        self.ids().any(|id| text.contains(&Json::text(id.as_str()).to_canonical()))
    }

    fn ids(&self) -> impl Iterator<Item = &String> {
        [&self.proposal, &self.question, &self.intent].into_iter().flatten()
    }

    /// Which part of the matter a record is, if it is one; what was refused changed nothing and is none.
    pub fn part(&self, body: &Json) -> Option<Part> {
        let part = match text(body, "kind")? {
            "decision" => Part::Decision,
            "answer" if is_accepted(body) => Part::Answer,
            "outcome" | "settle" | "resolve" if is_accepted(body) => Part::Outcome,
            _ => match Consequence::from_record(body)? {
                Consequence::IntentMoved { .. } | Consequence::IntentExpired { .. } => Part::Outcome,
                Consequence::QuestionExpired(_)
                | Consequence::QuestionAborted(_)
                | Consequence::QuestionReminded(_)
                | Consequence::QuestionRerouted(_)
                | Consequence::MonitorTripped(_) => return None,
            },
        };
        let other = Matter::of(body);
        let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        let is_sent_again = same(&self.proposal, &other.proposal) && same(&self.agent, &other.agent);
        let fits = is_sent_again && part == Part::Decision
            || same(&self.question, &other.question)
            || same(&self.intent, &other.intent);
        fits.then_some(part)
    }

    /// Takes what another record of the matter names.
    pub fn learn(&mut self, body: &Json) {
        let other = Matter::of(body);
        self.agent = self.agent.take().or(other.agent);
        self.proposal = self.proposal.take().or(other.proposal);
        self.question = self.question.take().or(other.question);
        self.intent = self.intent.take().or(other.intent);
    }
}

/// Records read at once.
const PAGE: u64 = 512;

/// The other entries of the matter of each entry, in order: the decision, answers of people, what became of it. What is
/// told later names what came before, so all of them are found in one pass towards the end of the ledger.
pub fn companions(reader: &mut dyn Reader, entries: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
    let mut gathered = Vec::with_capacity(entries.len());
    for entry in entries {
        gathered.push(Gathered::before(reader, *entry)?);
    }
    let mut by_id: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (place, one) in gathered.iter().enumerate() {
        note(&mut by_id, &one.matter, place);
    }
    let mut next = entries.iter().min().map_or(u64::MAX, |first| first.saturating_add(1));
    while next < u64::MAX {
        let page = reader.records(next, PAGE as usize)?;
        let Some(last) = page.last() else { break };
        next = last.index + 1;
        for record in &page {
            let Some(body) = body(record) else { continue };
            let places =
                Matter::of(&body).ids().filter_map(|id| by_id.get(id)).flatten().copied().collect::<BTreeSet<_>>();
            for place in places {
                let Some(one) = gathered.get_mut(place).filter(|one| one.entry < record.index) else { continue };
                if one.matter.part(&body).is_some() {
                    one.matter.learn(&body);
                    one.found.push(record.index);
                    note(&mut by_id, &one.matter, place);
                }
            }
        }
    }
    Ok(gathered.into_iter().map(|one| one.found).collect())
}

/// Notes which matter the ids belong to.
fn note(by_id: &mut BTreeMap<String, BTreeSet<usize>>, matter: &Matter, place: usize) {
    for id in matter.ids() {
        by_id.entry(id.clone()).or_default().insert(place);
    }
}

/// One matter, and the entries of it that were found besides the one it was asked for by.
struct Gathered {
    entry: u64,
    matter: Matter,
    found: Vec<u64>,
}

impl Gathered {
    /// Backwards from an entry to the decision.
    fn before(reader: &mut dyn Reader, entry: u64) -> Result<Gathered, Error> {
        let own = reader.records(entry, 1)?;
        let Some(own) = own.first().and_then(body) else {
            return Ok(Gathered { entry, matter: Matter::default(), found: Vec::new() });
        };
        let mut matter = Matter::of(&own);
        let mut found = Vec::new();
        let mut end = if matter.part(&own) == Some(Part::Decision) { 0 } else { entry };
        while end > 0 {
            let start = end.saturating_sub(PAGE);
            for record in reader.records(start, usize::try_from(end - start).unwrap_or_default())?.iter().rev() {
                let Some((part, body)) = part_of(&matter, record) else { continue };
                matter.learn(&body);
                found.push(record.index);
                if part == Part::Decision {
                    end = 0;
                    break;
                }
            }
            end = end.min(start);
        }
        found.reverse();
        Ok(Gathered { entry, matter, found })
    }
}

fn body(record: &StoredRecord) -> Option<Json> {
    let (body, _) = record.body.as_ref()?;
    Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()
}

/// Which part of a matter a record is, with its body.
fn part_of(matter: &Matter, record: &StoredRecord) -> Option<(Part, Json)> {
    record.body.as_ref().filter(|(body, _)| matter.is_named_in(body))?;
    let body = body(record)?;
    Some((matter.part(&body)?, body))
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
