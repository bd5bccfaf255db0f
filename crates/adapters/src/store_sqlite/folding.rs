//! Folding the batches of a chain: by the thread that holds the connection as long as they are small, then by one beside it,
//! which also writes records and rows out and hands them over piece by piece.

use super::load::Found;
use super::packed_records::Packed;
use super::resident_thread::ResidentThread;
use super::save::Rows;
use kernel::record::Record;
use kernel::stored::Kind;
use kernel::world::{Changed, Key, Row, World};
use runtime::ports::store::{BatchFold, Pieces, StoreFault, seal};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use values::time::Instant;

/// A batch that is loaded. Everything before it is saved.
pub(super) struct Loaded {
    pub(super) rows: Found,
    pub(super) at: Instant,
    pub(super) fold: BatchFold,
}

impl Loaded {
    /// Folds it over what the batches before it left.
    fn fold(self, world: &mut World, first: u64, pieces: &mut dyn Pieces) -> Left {
        self.rows.into_iter().for_each(|(key, row)| world.load_unknown(key, row));
        (self.fold)(world, self.at, pieces);
        let left = left_behind(world, first);
        // Whoever needs the rest loads it again: nothing is loaded before this is saved.
        world.forget(Kind::is_shared);
        left
    }
}

/// What a fold leaves behind, in the order of the batches.
pub(super) enum Piece {
    /// Records and the rows that may point at them. Records are saved first: a later batch that asks for a stored answer
    /// must find its record in the file.
    Folded(Packed, Result<Rows, StoreFault>),
    /// A batch is folded.
    End(Left),
    /// A fold panicked.
    Panic(Box<dyn Any + Send>),
}

/// What a batch did not hand over piece by piece. Rows that nearly every command changes are here: they are saved once.
pub(super) struct Left {
    pub(super) records: Packed,
    pub(super) rows: Result<Rows, StoreFault>,
    /// Those of them that are worth remembering.
    pub(super) changed: Vec<Changed>,
}

/// Rows that were not handed over. `first` is the index of the chain's first record.
pub(super) fn left_behind(world: &mut World, first: u64) -> Left {
    let (mut rows, mut changed) = (Ok(Rows::default()), Vec::new());
    world.hand_over(
        |_| false,
        |key, row, record| {
            push(&mut rows, key, row, first.saturating_add(record as u64));
            if key.entity.kind().is_shared() {
                changed.push(Changed { key: key.clone(), row: row.clone(), record });
            }
        },
    );
    Left { records: Packed::default(), rows, changed }
}

fn push(rows: &mut Result<Rows, StoreFault>, key: &Key, row: &Row, index: u64) {
    if let Ok(pushed) = rows
        && let Err(fault) = pushed.push(key, row, index)
    {
        *rows = Err(fault);
    }
}

fn packed(records: &[Record]) -> Packed {
    let mut packed = Packed::default();
    records.iter().for_each(|record| packed.push(&seal(record)));
    packed
}

/// Who folds the batches of a chain.
pub(super) struct Folder<'a> {
    thread: &'a mut ResidentThread,
    first: u64,
    place: Place,
}

enum Place {
    /// Here, when the next piece is asked for.
    Here { world: World, count: u64, ordered: VecDeque<Loaded> },
    /// On another thread.
    Beside { orders: Sender<Loaded>, pieces: Receiver<Piece> },
}

impl Folder<'_> {
    /// Folds over a world. `first` is the index of the chain's first record, `thread` for when a batch is large.
    pub(super) fn here(world: World, first: u64, thread: &mut ResidentThread) -> Folder<'_> {
        Folder { thread, first, place: Place::Here { world, count: 0, ordered: VecDeque::new() } }
    }

    /// Has a batch folded.
    pub(super) fn order(&mut self, loaded: Loaded, is_large: bool) {
        if is_large && self.thread.is_there() {
            self.move_beside();
        }
        match &mut self.place {
            Place::Here { ordered, .. } => ordered.push_back(loaded),
            // It only fails if the other thread fell over, and then that is told.
            Place::Beside { orders, .. } => drop(orders.send(loaded)),
        }
    }

    fn move_beside(&mut self) {
        let Place::Here { world, count, ordered } = &mut self.place else { return };
        // What was ordered here is folded here.
        if !ordered.is_empty() {
            return;
        }
        let (to_writer, pieces) = channel();
        let (orders, received) = channel();
        let hands = Hands { first: self.first, count: *count, to_writer };
        let world = std::mem::take(world);
        self.thread.order(Box::new(move || fold_all(world, received, hands)));
        self.place = Place::Beside { orders, pieces };
    }

    /// The next piece; `None` if there will be none.
    pub(super) fn piece(&mut self) -> Option<Piece> {
        match &mut self.place {
            Place::Here { world, count, ordered } => {
                let mut numbered = Numbered { before: *count, records: Vec::new() };
                let left = ordered.pop_front()?.fold(world, self.first, &mut numbered);
                *count += numbered.records.len() as u64;
                Some(Piece::End(Left { records: packed(&numbered.records), ..left }))
            }
            Place::Beside { pieces, .. } => pieces.recv().ok(),
        }
    }
}

impl Drop for Folder<'_> {
    /// Waits until nobody folds any more. What is not saved by now is thrown away.
    fn drop(&mut self) {
        let nothing = Place::Here { world: World::slice(), count: 0, ordered: VecDeque::new() };
        if let Place::Beside { orders, pieces } = std::mem::replace(&mut self.place, nothing) {
            drop(orders);
            pieces.into_iter().for_each(drop);
        }
    }
}

/// Keeps the records of a batch that so many others of its chain stand before.
struct Numbered {
    before: u64,
    records: Vec<Record>,
}

impl Pieces for Numbered {
    fn count(&self) -> usize {
        place(self.before).saturating_add(self.records.len())
    }

    fn hand_over(&mut self, _world: &mut World, mut records: Vec<Record>) {
        self.records.append(&mut records);
    }
}

/// Takes from the fold, writes out and packs, and gives to the thread that holds the connection.
struct Hands {
    first: u64,
    count: u64,
    to_writer: Sender<Piece>,
}

impl Hands {
    fn give(&self, piece: Piece) {
        // Nobody receives it any more if saving failed, and then nothing is saved.
        let _unsaved = self.to_writer.send(piece);
    }
}

impl Pieces for Hands {
    fn count(&self) -> usize {
        place(self.count)
    }

    fn hand_over(&mut self, world: &mut World, records: Vec<Record>) {
        self.count += records.len() as u64;
        let mut rows = Ok(Rows::default());
        world.hand_over(Kind::is_shared, |key, row, record| {
            push(&mut rows, key, row, self.first.saturating_add(record as u64));
        });
        self.give(Piece::Folded(packed(&records), rows));
    }
}

fn place(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Folds batch after batch. What was lent for a fold is dropped before its end is told.
fn fold_all(mut world: World, ordered: Receiver<Loaded>, mut hands: Hands) {
    let to_writer = hands.to_writer.clone();
    let folding = catch_unwind(AssertUnwindSafe(move || {
        for loaded in ordered {
            let left = loaded.fold(&mut world, hands.first, &mut hands);
            hands.give(Piece::End(left));
        }
    }));
    if let Err(panic) = folding {
        // Behind what the batches before it left: they are whole.
        let _unsaved = to_writer.send(Piece::Panic(panic));
    }
}
