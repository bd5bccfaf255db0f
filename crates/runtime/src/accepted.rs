//! What was accepted, as the ledger tells it: a worker performs that and nothing else.
//!
//! The row of an intent lies in a file that others may be able to write. Whoever alters the record of the decision as well
//! alters what checkpoints sign, and `verify` says so.

use crate::ports::store::StoreFault;
use crate::runtime::Runtime;
use kernel::intent::{IntentRow, Order};
use kernel::world::{Entity, Row};
use values::json::{Bounds, Json};
use values::time::Instant;

/// Records read at once.
const PAGE: usize = 16;

/// Records looked through at one instant: those of one batch.
const SEARCHED_MAX: usize = 65_536;

impl Runtime {
    /// How the row of an intent differs from what was accepted, if it does.
    pub fn alteration(&self, name: &str, row: &IntentRow) -> Result<Option<String>, StoreFault> {
        let Some(running) = &row.running else { return Ok(None) };
        // A service answers for its own rows.
        if self.service().is_some() {
            return Ok(None);
        }
        let order = &running.order;
        if order.id != name
            || row.facts.effect_key() != order.effect_key
            || row.facts.valid_until() != order.valid_until
            || running.undoes != order.undoes
        {
            return Ok(Some("its row contradicts itself".to_owned()));
        }
        match &order.undoes {
            None => {
                let accepted = self.accepted(name, row.accepted_at)?;
                Ok(different(accepted.as_ref().map(Order::digest) == Some(order.digest()), accepted.is_some()))
            }
            Some(original) => self.alteration_of_undo(original, order),
        }
    }

    /// What undoes is exactly the contract's request with the params of what happened.
    fn alteration_of_undo(&self, original: &str, order: &Order) -> Result<Option<String>, StoreFault> {
        let Some(Row::Intent(row)) = self.read(Entity::Intent(original.to_owned()))? else {
            return Ok(different(false, false));
        };
        let accepted = self.accepted(original, row.accepted_at)?;
        Ok(different(accepted.as_ref().is_some_and(|accepted| accepted.is_undone_by(order)), accepted.is_some()))
    }

    /// The order of an intent by the record of the decision that made it.
    fn accepted(&self, name: &str, at: Instant) -> Result<Option<Order>, StoreFault> {
        let mut next = self.first_at(at)?;
        let end = next.saturating_add(SEARCHED_MAX as u64);
        while next < end {
            let page = self.records(next, PAGE)?;
            let Some(last) = page.last() else { break };
            next = last.index.saturating_add(1);
            for record in page {
                if made_at(&record.leaf).is_none_or(|made| made > at) {
                    return Ok(None);
                }
                let Some((body, _)) = record.body.filter(|(body, _)| body.contains(name)) else { continue };
                let body = Json::parse_within(body.as_bytes(), &Bounds::OWN).unwrap_or_default();
                if let Some(order) = Order::from_record(&body).filter(|order| order.id == name) {
                    return Ok(Some(order));
                }
            }
        }
        Ok(None)
    }
}

fn different(is_same: bool, is_recorded: bool) -> Option<String> {
    match (is_same, is_recorded) {
        (true, _) => None,
        (false, true) => Some("its row is not what its decision accepted".to_owned()),
        (false, false) => Some("the ledger holds no decision that accepted it".to_owned()),
    }
}

fn made_at(leaf: &str) -> Option<Instant> {
    Instant::parse(Json::parse(leaf.as_bytes()).ok()?.get("at")?.as_text()?)
}
