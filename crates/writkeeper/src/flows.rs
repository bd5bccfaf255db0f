//! Flows as values: how one stands, the latest of them, and everything that happened in one.

use crate::error::Error;
use crate::flow_names;
use crate::happening::{Entry, Happening, object};
use crate::history::History;
use kernel::consequence::Consequence;
use kernel::escalation::EscalationRow;
use kernel::flow::{FlowState, Latest, ProposalState, status};
use kernel::intent::IntentRow;
use kernel::stored::Kind;
use kernel::world::{Entity, FlowRow, Row};
use runtime::Runtime;
use std::collections::BTreeSet;
use values::json::{Json, Object};
use values::time::Instant;

/// Flows read at once.
const PAGE: usize = 512;

/// How a flow stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowSummary {
    pub id: String,
    /// What its agent's host calls it.
    pub name: Option<String>,
    /// Whether it takes proposals.
    pub state: FlowState,
    /// Where its latest proposal stands; nothing where there was none.
    pub status: Option<ProposalState>,
    pub agent: String,
    pub opened_at: Option<Instant>,
    /// The flow it came out of.
    pub parent: Option<String>,
    /// The first of its line; nothing if that is itself.
    pub root: Option<String>,
    /// Intents that are not over, oldest first.
    pub open_intents: Vec<String>,
    /// Questions that nobody answered yet, oldest first.
    pub open_questions: Vec<String>,
    /// Proposals judged in it.
    pub proposals: u64,
    /// Of those, rejected ones that count as retries.
    pub rejected: u64,
    /// Tokens its proposals reported.
    pub tokens: u64,
}

impl FlowSummary {
    /// Of the row of a flow.
    pub fn of(runtime: &Runtime, id: &str, row: &FlowRow) -> Result<FlowSummary, Error> {
        Ok(FlowSummary {
            id: id.to_owned(),
            name: flow_names::name_of(runtime, &row.agent, id)?,
            state: row.state,
            status: status_of(runtime, row)?,
            agent: row.agent.clone(),
            opened_at: row.opened_at,
            parent: row.parent().map(str::to_owned),
            root: row.root().map(str::to_owned),
            open_intents: row.intents.clone(),
            open_questions: row.questions.clone(),
            proposals: row.steps,
            rejected: row.rejected,
            tokens: row.tokens,
        })
    }

    /// For programs.
    pub fn to_json(&self) -> Object {
        object([
            ("flow", Json::text(self.id.as_str())),
            ("name", Json::from(self.name.clone())),
            ("state", Json::text(self.state.word())),
            ("status", Json::from(self.status.map(|status| status.word().to_owned()))),
            ("agent", Json::text(self.agent.as_str())),
            ("opened_at", Json::from(self.opened_at.map(|at| at.to_string()))),
            ("parent", Json::from(self.parent.clone())),
            ("root", Json::from(self.root.clone())),
            ("open_intents", Json::texts(self.open_intents.iter().map(String::as_str))),
            ("open_questions", Json::texts(self.open_questions.iter().map(String::as_str))),
            ("proposals", Json::from(self.proposals)),
            ("rejected", Json::from(self.rejected)),
            ("tokens", Json::from(self.tokens)),
        ])
    }
}

/// The latest flows, newest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowList {
    pub flows: Vec<FlowSummary>,
    /// How many there are in all.
    pub all: usize,
}

impl FlowList {
    /// The latest flows, of one agent if one is named. Only as many as are wanted are held.
    pub fn of(runtime: &Runtime, agent: Option<&str>, limit: usize) -> Result<FlowList, Error> {
        let mut latest: BTreeSet<(Option<Instant>, String)> = BTreeSet::new();
        let mut all = 0_usize;
        let mut after: Option<String> = None;
        loop {
            let page = runtime.scan(Kind::Flow, after.as_deref(), PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.entity.parts().0.to_owned());
            for (key, row) in &page {
                let Row::Flow(row) = row else { continue };
                if agent.is_none_or(|agent| *agent == row.agent) {
                    latest.insert((row.opened_at, key.entity.parts().0.to_owned()));
                    all += 1;
                }
                if latest.len() > limit {
                    latest.pop_first();
                }
            }
        }
        let mut flows = Vec::with_capacity(latest.len());
        for (_, name) in latest.into_iter().rev() {
            if let Some(Row::Flow(row)) = runtime.read(Entity::Flow(name.clone()))? {
                flows.push(FlowSummary::of(runtime, &name, &row)?);
            }
        }
        Ok(FlowList { flows, all })
    }
}

/// Which part of a timeline is wanted.
///
/// ```
/// use writkeeper::flows::Span;
/// let first = Span::default();
/// let next = Span { from: Some(1_234), ..first };
/// assert_eq!(next.limit, Span::LIMIT);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Index of the ledger to begin with; nothing is the beginning of the flow.
    pub from: Option<u64>,
    /// Entries at most.
    pub limit: usize,
}

impl Span {
    /// Entries of a timeline where nobody says how many.
    pub const LIMIT: usize = 1_000;
}

impl Default for Span {
    fn default() -> Span {
        Span { from: None, limit: Span::LIMIT }
    }
}

/// What happened in a flow, told from the records.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    pub flow: FlowSummary,
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// Where to go on, if there is more: [`Span::from`] of the next part.
    pub next: Option<u64>,
}

impl Timeline {
    /// Of the row of a flow. What a later part tells of is named by earlier records, so every part reads from the
    /// beginning of the flow on.
    pub fn of(runtime: &Runtime, id: &str, row: &FlowRow, span: Span) -> Result<Timeline, Error> {
        let mut members = Members::of(id);
        let mut timeline = Timeline { flow: FlowSummary::of(runtime, id, row)?, entries: Vec::new(), next: None };
        let mut history = History::since(runtime, row.opened_at)?;
        while let Some((index, body)) = history.next_entry()? {
            let Some(entry) = Entry::from_record(index, &body) else { continue };
            if !members.has(&entry.happened) || span.from.is_some_and(|from| index < from) {
                continue;
            }
            if timeline.entries.len() >= span.limit {
                timeline.next = Some(index);
                break;
            }
            timeline.entries.push(entry);
        }
        Ok(timeline)
    }

    /// For programs: the flow, its `timeline`, and `next` where there is more.
    pub fn to_json(&self) -> Json {
        let mut members = self.flow.to_json();
        members.insert("timeline".to_owned(), Json::List(self.entries.iter().map(Entry::to_json).collect()));
        members.insert("next".to_owned(), self.next.map_or(Json::Null, Json::from));
        Json::Object(members)
    }
}

/// What belongs to a flow, collected on the way: later records name only these.
struct Members<'f> {
    flow: &'f str,
    questions: BTreeSet<String>,
    intents: BTreeSet<String>,
}

impl Members<'_> {
    fn of(flow: &str) -> Members<'_> {
        Members { flow, questions: BTreeSet::new(), intents: BTreeSet::new() }
    }

    fn has_question(&self, happened: &Happening) -> bool {
        happened.question().is_some_and(|question| self.questions.contains(question))
    }

    /// Whether it happened in the flow; then what it names belongs to the flow as well.
    fn has(&mut self, happened: &Happening) -> bool {
        let is_intent = |intent: &String| self.intents.contains(intent);
        let is_own = match happened {
            Happening::Decided(decision) => decision.flow == self.flow,
            Happening::FlowOpened { flow, parent, .. } => flow == self.flow || parent.as_deref() == Some(self.flow),
            Happening::FlowEnded { flow, .. }
            | Happening::SessionExtended { flow, .. }
            | Happening::Released { flow, .. }
            | Happening::Noted { flow, .. } => flow == self.flow,
            Happening::Asked { inquiry, .. } => inquiry.flow == self.flow,
            Happening::Reserved(reservation) => reservation.flow == self.flow,
            Happening::SnapshotTaken { flow, .. } => flow.as_deref() == Some(self.flow),
            Happening::Claimed { intent, .. }
            | Happening::Started { intent, .. }
            | Happening::Observed { intent, .. }
            | Happening::Resolved { intent, .. }
            | Happening::Settled { intent, .. }
            | Happening::UndoOrdered { intent, .. } => is_intent(intent),
            Happening::ResultRecorded(result) => is_intent(&result.intent),
            Happening::Answered(_) => self.has_question(happened),
            Happening::Followed(consequence) => match consequence.as_ref() {
                Consequence::IntentMoved { flow, .. } | Consequence::IntentExpired { flow, .. } => flow == self.flow,
                Consequence::QuestionExpired(_)
                | Consequence::QuestionAborted(_)
                | Consequence::QuestionReminded(_)
                | Consequence::QuestionRerouted(_) => self.has_question(happened),
                // It is about the agent; what tripped it may lie in any flow.
                Consequence::MonitorTripped(_) => false,
            },
        };
        if is_own {
            self.intents.extend(happened.intent().map(str::to_owned));
            if let Happening::Decided(decision) = happened {
                self.questions.extend(decision.answer.question.as_ref().map(|question| question.id.clone()));
            }
            if let Happening::Asked { question, .. } = happened {
                self.questions.insert(question.clone());
            }
            if let Happening::UndoOrdered { undo, .. } = happened {
                self.intents.insert(undo.clone());
            }
        }
        is_own
    }
}

/// Where the latest proposal of a flow stands; nothing where there was none.
pub fn status_of(runtime: &Runtime, row: &FlowRow) -> Result<Option<ProposalState>, Error> {
    let Some(latest) = &row.latest else { return Ok(None) };
    let question = match latest {
        Latest::Question(name) => question(runtime, name)?,
        Latest::Intent(_) | Latest::Rejected | Latest::Done => None,
    };
    let answered = question.as_ref().and_then(|question| question.answer.as_ref()?.intent.clone());
    let name = match latest {
        Latest::Intent(name) => Some(name.clone()),
        Latest::Question(_) | Latest::Rejected | Latest::Done => answered,
    };
    let performed = match &name {
        Some(name) => intent(runtime, name)?,
        None => None,
    };
    let undone_by = performed.as_ref().and_then(|row| row.running.as_ref()?.undone_by.clone());
    let undo = match &undone_by {
        Some(name) => intent(runtime, name)?,
        None => None,
    };
    let state = |row: Option<Box<IntentRow>>| row.map(|row| row.state);
    Ok(Some(status(latest, question.map(|question| question.state), state(performed), state(undo))))
}

fn question(runtime: &Runtime, name: &str) -> Result<Option<Box<EscalationRow>>, Error> {
    match runtime.read(Entity::Escalation(name.to_owned()))? {
        Some(Row::Escalation(row)) => Ok(Some(row)),
        Some(_) | None => Ok(None),
    }
}

fn intent(runtime: &Runtime, name: &str) -> Result<Option<Box<IntentRow>>, Error> {
    match runtime.read(Entity::Intent(name.to_owned()))? {
        Some(Row::Intent(row)) => Ok(Some(row)),
        Some(_) | None => Ok(None),
    }
}
