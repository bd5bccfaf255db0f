//! Saving what a batch leaves behind: by the thread that folds it, or for large batches by one beside it, piece by piece.

use super::SharedConnection;
use super::open_batch::Saved;
use super::packed_records::Packed;
use super::place::Head;
use super::resident_thread::ResidentThread;
use super::save::Rows;
use kernel::stored::Kind;
use kernel::world::{Key, Row, RowChange, World};
use runtime::ports::store::{Steps, StoreFault, demand_own};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use values::sealed::Sealed;

/// Keys of a batch from which on another thread is worth it.
const SHARED_FROM: usize = 24;

/// Steps whose records and changes are saved together.
const PIECE_STEPS: usize = 32;

/// Pieces that may wait to be saved. Beyond that the fold waits.
const PIECES_MAX: usize = 8;

/// What some steps leave behind. Records are saved first: rows point at them.
struct Piece {
    records: Vec<Sealed>,
    rows: Rows,
}

impl Piece {
    fn save(self, connection: &Connection, head: &Head, saved: &mut Saved) -> Result<(), StoreFault> {
        let mut packed = Packed::default();
        self.records.iter().for_each(|sealed| packed.push(sealed));
        packed.append(connection, head.ledger, head.size.saturating_add(saved.records))?;
        saved.records = saved.records.saturating_add(self.records.len() as u64);
        saved.any_row |= !self.rows.is_empty();
        self.rows.save(connection)
    }
}

/// Folds a batch and saves it.
pub(super) struct Saver<'a> {
    pub(super) connection: &'a SharedConnection,
    pub(super) thread: &'a mut ResidentThread,
    pub(super) tenant: &'a Arc<str>,
    pub(super) head: Head,
}

impl Saver<'_> {
    /// Steps through a fold to its end. Gives back what was saved, and the rows of it that are worth caching.
    pub(super) fn run(
        mut self,
        keys: usize,
        world: &mut World,
        steps: &mut Steps<'_, '_>,
    ) -> Result<(Saved, Vec<RowChange>), StoreFault> {
        let mut saved = Saved::default();
        let records = if keys >= SHARED_FROM && self.thread.is_there() {
            saved = self.beside(world, steps)?;
            Vec::new()
        } else {
            steps.rest(world)
        };
        // Rows that nearly every step changes are left to the end, where each is saved once.
        let mut changed = Vec::new();
        let rows = self.changes(world, |_| false, &mut changed)?;
        Piece { records, rows }.save(&self.connection.lock(), &self.head, &mut saved)?;
        Ok((saved, changed))
    }

    /// Saves some steps on the other thread while the next ones are folded on this one.
    fn beside(&mut self, world: &mut World, steps: &mut Steps<'_, '_>) -> Result<Saved, StoreFault> {
        let saving = Saving::start(self.thread, self.connection.clone(), self.head);
        while let Some(records) = steps.take(world, PIECE_STEPS) {
            let rows = self.changes(world, Kind::is_shared, &mut Vec::new())?;
            if !saving.give(Piece { records, rows }) {
                break;
            }
        }
        saving.end()
    }

    /// The rows that were changed and not taken yet, except those of kinds to keep; rows worth caching are added to a list.
    fn changes(
        &self,
        world: &mut World,
        keep: impl Fn(Kind) -> bool,
        changed: &mut Vec<RowChange>,
    ) -> Result<Rows, StoreFault> {
        let (mut rows, mut problem) = (Rows::default(), None);
        let mut push = |key: &Key, row: &Row, record: usize| -> Result<(), StoreFault> {
            demand_own(self.tenant, [key])?;
            rows.push(key, row, self.head.ledger.place(self.head.size.saturating_add(record as u64))?)
        };
        world.hand_over(keep, |key, row, record| {
            if problem.is_none() {
                problem = push(key, row, record).err();
            }
            if key.entity.kind().is_shared() {
                changed.push(RowChange { key: key.clone(), row: row.clone(), record });
            }
        });
        problem.map_or(Ok(rows), Err)
    }
}

/// The other thread at work. Dropped early, as by a panic of the fold, it waits until that thread is done.
struct Saving {
    /// There until the end.
    pieces: Option<SyncSender<Piece>>,
    saved: Receiver<Result<Saved, StoreFault>>,
}

impl Saving {
    fn start(thread: &mut ResidentThread, connection: SharedConnection, head: Head) -> Saving {
        let (pieces, received) = sync_channel(PIECES_MAX);
        let (done, saved) = sync_channel(1);
        thread.order(Box::new(move || {
            let result = save_all(&connection.lock(), &head, received);
            // The store may be gone by now, and then nobody needs it.
            drop(connection);
            let _unheard = done.send(result);
        }));
        Saving { pieces: Some(pieces), saved }
    }

    /// Whether the other thread takes more.
    fn give(&self, piece: Piece) -> bool {
        self.pieces.as_ref().is_some_and(|pieces| pieces.send(piece).is_ok())
    }

    fn end(mut self) -> Result<Saved, StoreFault> {
        drop(self.pieces.take());
        let ended = |_| Err(StoreFault::Unavailable("the thread that saves has ended".to_owned()));
        self.saved.recv().unwrap_or_else(ended)
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        if self.pieces.take().is_some() {
            let _undone = self.saved.recv();
        }
    }
}

fn save_all(connection: &Connection, head: &Head, pieces: Receiver<Piece>) -> Result<Saved, StoreFault> {
    let mut saved = Saved::default();
    for piece in pieces {
        piece.save(connection, head, &mut saved)?;
    }
    Ok(saved)
}
