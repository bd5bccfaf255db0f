//! What recorded commands remove from a store: bodies, and the rows of forgotten keys.
//!
//! Idempotency keys are forgotten once they are older than they are kept: a recorded command says up to when, and from
//! then on they read as never used. Their rows are removed afterwards, piece by piece, which changes no answer.

use crate::ports::store::StoreFault;
use crate::runtime::Runtime;
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::event::Event;
use kernel::world::{Entity, Row, TenantRow};
use std::sync::{MutexGuard, PoisonError};
use values::time::{Duration, Instant};

/// Keys are forgotten a day at a time, so that a ledger has one such entry a day.
const FORGET_EVERY: Duration = Duration::from_secs(86_400);

/// How often it is looked whether there is something to forget.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);

/// Pieces of one pass of time; the next pass goes on.
const PIECES_A_PASS: usize = 16;

/// How far keys were looked for and rows removed.
#[derive(Debug, Default)]
pub(crate) struct Forgetting {
    looked_at: Option<Instant>,
    sweep: Option<Sweep>,
}

/// Rows of forgotten keys on their way out.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sweep {
    /// Answers before this entry are forgotten.
    before: u64,
    after: Option<Vec<u8>>,
}

/// What a part of a sweep came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swept {
    /// Rows that are gone.
    pub removed: u64,
    /// Whether there are no more.
    pub is_over: bool,
}

impl Runtime {
    /// Removes the bodies of entries, from one up to, not including, another; how many there were. The caller has recorded
    /// that it happens.
    pub fn erase(&self, from: u64, to: u64) -> Result<u64, StoreFault> {
        self.inner.writer.erase(from, to)
    }

    /// Forgets what is old enough, if that was not done for a day, and removes some rows of what is forgotten; how many.
    pub(crate) fn tick_keys(&self, now: Instant) -> Result<u64, StoreFault> {
        if self.service().is_some() {
            // The service does it.
            return Ok(0);
        }
        if self.is_forgetting_due(now)? {
            let event = self.by_itself(Act::Upkeep(Upkeep::ForgetKeys { because: None }))?;
            if matches!(event.as_deref(), Some(Event::KeysForgotten { .. })) {
                self.sweep_anew()?;
            }
        }
        if self.forgetting().sweep.is_none() {
            return Ok(0);
        }
        Ok(self.sweep(PIECES_A_PASS)?.removed)
    }

    /// Goes through the rows of keys from the first one on, with the next [`Runtime::sweep`].
    pub fn sweep_anew(&self) -> Result<(), StoreFault> {
        let Some(before) = self.tenant_row()?.keys_before else { return Ok(()) };
        let before = self.first_at(before)?;
        self.forgetting().sweep = Some(Sweep { before, after: None });
        Ok(())
    }

    /// Removes rows of forgotten keys, at most so many pieces; other commands go in between.
    pub fn sweep(&self, pieces: usize) -> Result<Swept, StoreFault> {
        let mut removed = 0;
        for _ in 0..pieces {
            let Some(sweep) = self.forgetting().sweep.clone() else { break };
            let piece = self.inner.writer.forget(sweep.before, sweep.after.as_deref())?;
            removed += piece.removed;
            let mut forgetting = self.forgetting();
            // Somebody may have begun anew meanwhile, for more keys.
            if forgetting.sweep.as_ref() == Some(&sweep) {
                forgetting.sweep = piece.next.map(|next| Sweep { after: Some(next), ..sweep });
            }
        }
        Ok(Swept { removed, is_over: self.forgetting().sweep.is_none() })
    }

    fn is_forgetting_due(&self, now: Instant) -> Result<bool, StoreFault> {
        let looked_at = self.forgetting().looked_at.replace(now);
        if looked_at.is_some_and(|at| now < at.plus(LOOK_EVERY)) {
            self.forgetting().looked_at = looked_at;
            return Ok(false);
        }
        let row = self.tenant_row()?;
        let before = row.forgettable(now);
        if row.keys_before.is_some_and(|earlier| before < earlier.plus(FORGET_EVERY)) {
            return Ok(false);
        }
        // A ledger without an old entry has nothing to forget.
        Ok(self.first_at(before)? > 0)
    }

    fn tenant_row(&self) -> Result<TenantRow, StoreFault> {
        Ok(match self.read(Entity::Tenant)? {
            Some(Row::Tenant(row)) => row,
            Some(_) | None => TenantRow::default(),
        })
    }

    fn forgetting(&self) -> MutexGuard<'_, Forgetting> {
        self.inner.forgetting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
