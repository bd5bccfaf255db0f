//! Intents as values: what one permits, where it stands, and everything that happened to it.

use crate::error::Error;
use crate::happening::{Entry, object};
use crate::history::History;
use kernel::flow::ProposalState;
use kernel::intent::{IntentRow, IntentState, Order, proposal_state};
use kernel::result::ResultRecord;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use values::json::{Json, Object};
use values::time::Instant;

/// Where an intent stands.
#[derive(Clone, PartialEq, Debug)]
pub struct IntentSummary {
    pub id: String,
    pub state: IntentState,
    pub agent: String,
    pub flow: String,
    pub proposal: String,
    pub effect_key: String,
    pub accepted_at: Instant,
    pub valid_until: Instant,
    /// Claims so far.
    pub epoch: u64,
    /// How often nobody knew what became of it.
    pub doubts: u64,
    /// The question that is open about it.
    pub question: Option<String>,
    /// The intent that this one undoes.
    pub undoes: Option<String>,
    /// The intent that undoes this one.
    pub undone_by: Option<String>,
    /// What it permits, without the params that the ledger withholds; nothing where its host performs it and owes no
    /// report.
    pub order: Option<Order>,
}

impl IntentSummary {
    /// Of the row of an intent.
    pub fn of(id: &str, row: &IntentRow) -> IntentSummary {
        let kept = row.facts.to_kept();
        let running = row.running.as_deref();
        IntentSummary {
            id: id.to_owned(),
            state: row.state,
            agent: kept.agent,
            flow: kept.flow,
            proposal: kept.proposal,
            effect_key: kept.effect_key,
            accepted_at: row.accepted_at,
            valid_until: kept.valid_until,
            epoch: running.map_or(0, |running| running.epoch),
            doubts: running.map_or(0, |running| running.doubts),
            question: running.and_then(|running| running.question.clone()),
            undoes: running.and_then(|running| running.undoes.clone()),
            undone_by: running.and_then(|running| running.undone_by.clone()),
            order: running.map(|running| running.order.clone()),
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Object {
        object([
            ("id", Json::text(self.id.as_str())),
            ("state", Json::text(self.state.word())),
            ("agent", Json::text(self.agent.as_str())),
            ("flow", Json::text(self.flow.as_str())),
            ("proposal", Json::text(self.proposal.as_str())),
            ("effect_key", Json::text(self.effect_key.as_str())),
            ("valid_until", Json::text(self.valid_until.to_string())),
            ("accepted_at", Json::text(self.accepted_at.to_string())),
            ("epoch", Json::from(self.epoch)),
            ("doubts", Json::from(self.doubts)),
            ("question", Json::from(self.question.clone())),
            ("undoes", Json::from(self.undoes.clone())),
            ("undone_by", Json::from(self.undone_by.clone())),
            ("order", self.order.as_ref().map_or(Json::Null, Order::to_json)),
        ])
    }
}

/// One intent with everything that happened to it.
#[derive(Clone, PartialEq, Debug)]
pub struct IntentPage {
    pub intent: IntentSummary,
    /// Where the proposal stands that it came from.
    pub proposal_state: ProposalState,
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// Whether later entries are left out.
    pub more: bool,
    /// What the other side answered last.
    pub result: Option<ResultRecord>,
}

impl IntentPage {
    /// Entries of a timeline at most.
    const ENTRIES_MAX: usize = 10_000;

    /// Of the row of an intent.
    pub fn of(runtime: &Runtime, id: &str, row: &IntentRow) -> Result<IntentPage, Error> {
        let intent = IntentSummary::of(id, row);
        let undo = match &intent.undone_by {
            Some(undo) => match runtime.read(Entity::Intent(undo.clone()))? {
                Some(Row::Intent(undo)) => Some(undo.state),
                Some(_) | None => None,
            },
            None => None,
        };
        let (mut entries, mut more) = (Vec::new(), false);
        let mut history = History::since(runtime, Some(row.accepted_at))?;
        while let Some((index, body)) = history.next_entry()? {
            let Some(entry) = Entry::from_record(index, &body) else { continue };
            if entry.happened.intent() != Some(id) {
                continue;
            }
            if entries.len() >= IntentPage::ENTRIES_MAX {
                more = true;
                break;
            }
            entries.push(entry);
        }
        let proposal_state = proposal_state(row.state, undo);
        Ok(IntentPage { intent, proposal_state, entries, more, result: runtime.result(id, row)? })
    }

    /// When it ended, as the ledger tells it.
    pub fn ended_at(&self) -> Option<Instant> {
        let ends =
            |entry: &&Entry| entry.refused.is_empty() && entry.happened.intent_state() == Some(self.intent.state);
        let ended = self.entries.iter().find(ends);
        ended.map(|entry| entry.at)
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let mut members = self.intent.to_json();
        members.extend(object([
            ("proposal_state", Json::text(self.proposal_state.word())),
            ("timeline", Json::List(self.entries.iter().map(Entry::to_json).collect())),
            ("more", Json::Bool(self.more)),
            ("result", self.result.as_ref().map(ResultRecord::to_answer).unwrap_or_default()),
        ]));
        Json::Object(members)
    }
}
