//! Where a flow stands: where its latest proposal stands, looked up.

use crate::store;
use kernel::escalation::EscalationRow;
use kernel::flow::{Latest, ProposalState, status};
use kernel::intent::IntentRow;
use kernel::world::{Entity, FlowRow, Row};
use runtime::Runtime;

/// Where the latest proposal stands; nothing where there was none.
pub fn of(runtime: &Runtime, row: &FlowRow) -> anyhow::Result<Option<ProposalState>> {
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

fn question(runtime: &Runtime, name: &str) -> anyhow::Result<Option<Box<EscalationRow>>> {
    match runtime.read(Entity::Escalation(name.to_owned())).map_err(store::unread)? {
        Some(Row::Escalation(row)) => Ok(Some(row)),
        Some(_) | None => Ok(None),
    }
}

fn intent(runtime: &Runtime, name: &str) -> anyhow::Result<Option<Box<IntentRow>>> {
    match runtime.read(Entity::Intent(name.to_owned())).map_err(store::unread)? {
        Some(Row::Intent(row)) => Ok(Some(row)),
        Some(_) | None => Ok(None),
    }
}
