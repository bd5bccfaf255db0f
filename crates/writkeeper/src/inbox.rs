//! The inbox: what waits for people, most urgent first, and what a person must see before answering.

mod card;
mod pages;
mod snoozed;
mod surroundings;

pub use card::{AmendedLimit, AskingRule, BudgetUse, Card, UndoPlan, shown_proposal};
pub use pages::{Cursor, RowPage};
pub use snoozed::{PutOff, put_off, snooze_of, snoozed_by};
pub use surroundings::{AskedGroup, Changed, LOOKED_BACK, Sibling, Surroundings};

use crate::error::Error;
use crate::happening::object;
use crate::history::History;
use kernel::agent::Actor;
use kernel::change::ActKind;
use kernel::contract::Impact;
use kernel::escalation::{AgentRequest, EscalationRow, EscalationState, GivenAnswer, QuestionKind};
use kernel::event::Event;
use kernel::flow::FlowState;
use kernel::handed::Handed;
use kernel::outcome::Verdict;
use kernel::person::person_key_text;
use kernel::proposal::Proposal;
use kernel::record::RecordKind;
use kernel::snooze::Snooze;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::collections::BTreeMap;
use values::ids::Digest;
use values::json::Json;
use values::time::{Duration, Instant};

/// A question as the store keeps it, with its id.
pub type QuestionRow = (String, Box<EscalationRow>);

/// Which questions are wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct InboxQuery<'a> {
    /// Whose list it is: what they put off is not on it. Nobody's in particular where nobody is named.
    pub person: Option<&'a str>,
    /// Behind the last question of another page.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: usize,
}

impl Default for InboxQuery<'_> {
    fn default() -> Self {
        InboxQuery { person: None, after: None, limit: Inbox::LIMIT }
    }
}

/// What waits for people.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inbox {
    /// Most urgent first.
    pub questions: Vec<Question>,
    /// Behind which question to go on, where there are more.
    pub next: Option<Cursor>,
    /// Open questions that whoever looks has put off; they are not among these.
    pub snoozed: usize,
}

impl Inbox {
    /// Questions where nobody says how many, and the most of one page.
    pub const LIMIT: usize = 1_000;

    /// What waits at an instant.
    pub fn of(runtime: &Runtime, query: &InboxQuery<'_>, now: Instant) -> Result<Inbox, Error> {
        let hidden = query.person.map(|person| put_off(runtime, person, now)).transpose()?.unwrap_or_default();
        let page = RowPage::of(runtime, query.after.as_ref(), query.limit.clamp(1, Inbox::LIMIT), now)?;
        let shown = page.rows.iter().filter(|(id, _)| !hidden.iter().any(|hidden| hidden.id == *id));
        let questions = shown.map(|(id, row)| Question::of(runtime, id, row, now)).collect::<Result<_, _>>()?;
        Ok(Inbox { questions, next: page.next(), snoozed: hidden.len() })
    }

    /// What a person put off, most urgent first.
    pub fn snoozed_by(runtime: &Runtime, person: &str, now: Instant) -> Result<Inbox, Error> {
        let hidden = put_off(runtime, person, now)?;
        let question = |one: &PutOff| {
            let question = Question::of(runtime, &one.id, &one.row, now)?;
            Ok::<_, Error>(Question { snoozed: Some(one.snooze), ..question })
        };
        let questions = hidden.iter().map(question).collect::<Result<_, _>>()?;
        Ok(Inbox { questions, next: None, snoozed: hidden.len() })
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("questions", Json::List(self.questions.iter().map(Question::to_json).collect())),
            ("more", Json::Bool(self.next.is_some())),
            ("next", Json::from(self.next.as_ref().map(ToString::to_string))),
            ("snoozed", Json::from(self.snoozed as u64)),
        ])
    }
}

/// A question with everything that an answer is for.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    pub id: String,
    pub kind: QuestionKind,
    pub state: EscalationState,
    pub agent: String,
    /// Who proposed or asked it in the name of the agent, where it was not the agent itself.
    pub by: Option<String>,
    pub flow: String,
    pub proposal_id: String,
    /// The intent an acceptance will make, or the intent in doubt.
    pub intent: String,
    /// Digest of exactly what is shown, under the contract in force: what an answer is bound to.
    pub digest: Digest,
    /// The contract it would be answered under now.
    pub contract: Digest,
    /// The contract it was asked under.
    pub asked_under: Digest,
    /// Whether its row was changed in the store since; where something is withheld here, that cannot be told.
    pub is_altered: bool,
    /// The codes that made it a question.
    pub reasons: Vec<String>,
    /// What the agent says, where it asked of its own accord.
    pub request: Option<AgentRequest>,
    pub impact: Impact,
    /// Groups whose members may answer, as the contract names them.
    pub approvers: Vec<String>,
    /// Groups whose members may answer now: where the contract names none, and after the question went to others too.
    pub entitled: Vec<String>,
    /// How many must say the same.
    pub quorum: u64,
    /// Whether only signed answers count.
    pub signed: bool,
    pub asked_at: Instant,
    /// After this the safe default counts; whether something happened is not answered by time.
    pub deadline: Option<Instant>,
    /// How its flow ended, if nothing can be accepted in it any more.
    pub flow_over: Option<FlowState>,
    /// Who voted so far.
    pub votes: Vec<String>,
    /// What they said, gathered by what it is for.
    pub agreed: Vec<Agreement>,
    /// Who is expected to answer, where somebody handed it over.
    pub handed: Option<Handed>,
    /// For how long whoever looks put it off; nothing where nobody in particular looks.
    pub snoozed: Option<Snooze>,
    /// How it ended.
    pub answer: Option<GivenAnswer>,
    pub card: Card,
}

/// One thing that was said about a question, by everyone who said exactly it.
#[derive(Clone, PartialEq, Debug)]
pub struct Agreement {
    /// The word, as it was said.
    pub decision: String,
    /// The proposal that is to happen instead.
    pub instead: Option<Proposal>,
    pub people: Vec<String>,
    /// Whether it was said under the contract that counts.
    pub counts: bool,
}

impl Question {
    /// Of the row of a question, at an instant.
    pub fn of(runtime: &Runtime, id: &str, row: &EscalationRow, now: Instant) -> Result<Question, Error> {
        let contract = contract_in_force(runtime, row)?;
        let card = Card::of(runtime, id, row, now)?;
        Ok(Question {
            id: id.to_owned(),
            kind: row.kind,
            state: row.state,
            agent: row.agent.clone(),
            by: row.by.clone(),
            flow: row.flow.clone(),
            proposal_id: row.proposal_id.clone(),
            intent: row.intent.clone(),
            digest: if row.kind == QuestionKind::Request { row.digest } else { row.shown_digest(contract) },
            contract,
            asked_under: row.contract,
            is_altered: card.is_whole && !row.is_as_asked(),
            reasons: row.reasons.clone(),
            impact: row.impact,
            approvers: row.approvers.clone(),
            entitled: row.entitled(now).into_iter().map(str::to_owned).collect(),
            quorum: row.quorum,
            signed: row.signed,
            asked_at: row.asked_at,
            deadline: row.deadline,
            flow_over: flow_over(runtime, row)?,
            votes: row.votes.iter().map(|vote| vote.person.clone()).collect(),
            agreed: agreements(runtime, id, row, contract)?,
            handed: handed(runtime, id)?,
            snoozed: None,
            answer: row.answer.clone(),
            request: row.request.clone(),
            card,
        })
    }

    /// With what a person who looks did about it.
    pub fn seen_by(self, runtime: &Runtime, person: &str, now: Instant) -> Result<Question, Error> {
        let snoozed = if self.is_open() { snooze_of(runtime, &self.id, person, now)? } else { None };
        Ok(Question { snoozed, ..self })
    }

    /// Whether it waits for an answer.
    pub fn is_open(&self) -> bool {
        self.state == EscalationState::Open
    }

    /// How long people have, if it has an end; negative once its time is over.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.since(now))
    }

    /// For programs: the question, and its card.
    pub fn to_json(&self) -> Json {
        let answer = self.answer.as_ref().map_or(Json::Null, |answer| {
            Json::object([
                ("decision", Json::from(answer.decision.map(|decision| decision.word().to_owned()))),
                ("doubt", Json::from(answer.doubt.map(|doubt| doubt.word().to_owned()))),
                ("person", Json::from(answer.person.clone())),
                ("reason", Json::text(answer.reason.as_str())),
                ("at", Json::text(answer.at.to_string())),
                ("intent", Json::from(answer.intent.clone())),
                ("os_user", Json::from(answer.os_user.clone())),
                ("login", Json::from(answer.login.clone())),
                ("key", Json::from(answer.key.as_ref().map(person_key_text))),
            ])
        });
        let mut members = self.card.to_json();
        members.extend(object([
            ("id", Json::text(self.id.as_str())),
            ("kind", Json::text(self.kind.word())),
            ("intent", Json::text(self.intent.as_str())),
            ("state", Json::text(self.state.word())),
            ("agent", Json::text(self.agent.as_str())),
            ("flow", Json::text(self.flow.as_str())),
            ("flow_over", Json::from(self.flow_over.map(|state| state.word().to_owned()))),
            ("proposal_id", Json::text(self.proposal_id.as_str())),
            ("digest", Json::text(self.digest.to_string())),
            ("contract", Json::text(self.contract.to_string())),
            ("asked_under", Json::text(self.asked_under.to_string())),
            ("reasons", Json::texts(self.reasons.iter().map(String::as_str))),
            ("impact", Json::text(self.impact.word())),
            ("approvers", Json::texts(self.approvers.iter().map(String::as_str))),
            ("entitled", Json::texts(self.entitled.iter().map(String::as_str))),
            ("quorum", Json::from(self.quorum)),
            ("signed", Json::Bool(self.signed)),
            ("votes", Json::texts(self.votes.iter().map(String::as_str))),
            ("agreed", Json::List(self.agreed.iter().map(Agreement::to_json).collect())),
            ("asked_at", Json::text(self.asked_at.to_string())),
            ("deadline", Json::from(self.deadline.map(|deadline| deadline.to_string()))),
            ("answer", answer),
        ]));
        members.extend(self.handed.as_ref().map(|handed| ("handed".to_owned(), handed.to_json())));
        members.extend(self.snoozed.as_ref().map(|snoozed| ("snoozed".to_owned(), snoozed.to_json())));
        members.extend(self.by.as_deref().map(|by| ("by".to_owned(), Json::text(by))));
        members.extend(self.is_altered.then(|| ("altered".to_owned(), Json::Bool(true))));
        if let Some(request) = &self.request {
            let said =
                [("reason", Json::text(request.reason.as_str())), ("context", Json::Object(request.context.clone()))];
            members.insert("request".to_owned(), Json::object(said));
        }
        Json::Object(members)
    }
}

impl Agreement {
    fn to_json(&self) -> Json {
        let instead = self.instead.as_ref().map_or(Json::Null, |instead| instead.to_json(instead.params.clone()));
        Json::object([
            ("decision", Json::text(self.decision.as_str())),
            ("instead", instead),
            ("people", Json::texts(self.people.iter().map(String::as_str))),
            ("counts", Json::Bool(self.counts)),
        ])
    }
}

/// To whom a question was handed last.
pub fn handed(runtime: &Runtime, id: &str) -> Result<Option<Handed>, Error> {
    Ok(match runtime.read(Entity::State(Handed::key(id)))? {
        Some(Row::State(row)) => Handed::from_json(&row.value),
        Some(_) | None => None,
    })
}

/// The digest of the contract a question would be answered under now.
pub fn contract_in_force(runtime: &Runtime, row: &EscalationRow) -> Result<Digest, Error> {
    // What is over stays under the contract it was asked under, and so does whether something happened.
    if row.due().is_none() || row.kind == QuestionKind::Doubt {
        return Ok(row.contract);
    }
    let contract = runtime.line_for(&row.agent, &row.flow)?.contract;
    Ok(if contract.contract.agent == row.agent { contract.digest } else { row.contract })
}

/// How the flow of a question ended, if nothing can be accepted in it any more: it was aborted, or one above it was. In
/// one that was closed an answer still counts.
fn flow_over(runtime: &Runtime, row: &EscalationRow) -> Result<Option<FlowState>, Error> {
    let mut line = vec![row.flow.clone()];
    while let Some(name) = line.pop() {
        let Some(Row::Flow(flow)) = runtime.read(Entity::Flow(name.clone()))? else { continue };
        if flow.state == FlowState::Aborted {
            return Ok(Some(flow.state));
        }
        // The flow of the question knows all above it.
        if name == row.flow {
            line.extend(flow.above);
        }
    }
    Ok(None)
}

/// The votes of a question, gathered by what they are for. A vote alone only holds a digest, so the records tell.
fn agreements(runtime: &Runtime, id: &str, row: &EscalationRow, in_force: Digest) -> Result<Vec<Agreement>, Error> {
    if row.votes.is_empty() {
        return Ok(Vec::new());
    }
    let mut said: BTreeMap<String, Json> = BTreeMap::new();
    let mut history = History::since(runtime, Some(row.asked_at))?;
    while let Some(body) = history.next_body()? {
        let text = |key: &str| body.get(key).and_then(Json::as_text).unwrap_or_default();
        let of_question = body.get("command").and_then(|command| command.get("question")).and_then(Json::as_text);
        // Whoever agreed has agreed, also where nothing could come of it at that moment.
        let is_counted = text("verdict") == Verdict::Accept.word() || Event::from_record(&body).is_some();
        if RecordKind::of(&body) != Some(RecordKind::Change(ActKind::Answer)) || !is_counted || of_question != Some(id)
        {
            continue;
        }
        if let (Some(Actor::Operator(person)), Some(command)) = (Actor::parse(text("actor")), body.get("command")) {
            said.insert(person, command.clone());
        }
    }
    let mut gathered: Vec<(Digest, Agreement)> = Vec::new();
    for vote in &row.votes {
        if let Some((_, known)) = gathered.iter_mut().find(|(digest, _)| *digest == vote.digest) {
            known.people.push(vote.person.clone());
            continue;
        }
        let command = said.get(&vote.person);
        let text = |key: &str| command.and_then(|command| command.get(key)).and_then(Json::as_text);
        let instead = command.and_then(|command| command.get("modified")?.get("proposal")).cloned();
        let agreement = Agreement {
            decision: text("decision").unwrap_or("something else").to_owned(),
            instead: instead.and_then(|instead| Proposal::from_json(instead).ok()),
            people: vec![vote.person.clone()],
            counts: text("contract") == Some(in_force.to_string().as_str()),
        };
        gathered.push((vote.digest, agreement));
    }
    Ok(gathered.into_iter().map(|(_, agreement)| agreement).collect())
}
