//! Folding a batch and saving it: at once, part by part, or with a crew.
//!
//! A large batch is folded by one thread, its records are written out and packed by a second, and the one that holds the
//! connection loads what the next part needs and saves what the others hand over. All of it is one transaction: what one
//! of them cannot do undoes the others' work.

use super::hot::HotRows;
use super::load;
use super::resident_thread::{ResidentThread, Work};
use super::save::{Packed, Rows, append};
use kernel::record::Record;
use kernel::time::Instant;
use kernel::world::{Changed, Key, Row, World};
use runtime::ports::clock::{Clock, decision_instant};
use runtime::ports::store::{Fold, Part, Parts, PieceFold, Pieces, StoreFault, seal};
use rusqlite::Connection;
use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Keys of a batch from which on other threads are worth it.
const SHARED_FROM: usize = 24;

/// Parts that are loaded before the ones before them are folded, so that nobody has to wait for the next.
const AHEAD: usize = 2;

/// Those who help with large batches.
#[derive(Debug)]
pub(super) struct Crew {
    folder: ResidentThread,
    sealer: ResidentThread,
}

impl Default for Crew {
    fn default() -> Crew {
        Crew { folder: ResidentThread::named("folder"), sealer: ResidentThread::named("sealer") }
    }
}

/// A batch on its way into the file.
pub(super) struct Batch<'a> {
    pub(super) connection: &'a Connection,
    pub(super) clock: &'a dyn Clock,
    pub(super) hot: &'a mut HotRows,
    /// Index of its first record.
    pub(super) first: u64,
    /// The latest instant anybody has seen.
    pub(super) last: Option<Instant>,
    pub(super) clock_ran_backwards: bool,
    /// Records that were appended.
    pub(super) count: u64,
    /// Whether any row was saved.
    any_row: bool,
    /// Rows worth remembering.
    pub(super) changed: Vec<Changed>,
    /// Rows that were loaded already and that nearly every part asks for.
    known: HashSet<Key>,
}

/// What is handed over to the thread that holds the connection.
enum Piece {
    Rows(Result<Rows, StoreFault>),
    Records(Vec<Packed>),
    /// A part is folded.
    Part,
    /// All is folded; what was not handed over is in here.
    Folded(World),
    /// Another thread fell over.
    Panic(Box<dyn Any + Send>),
}

/// A part that is loaded.
struct Loaded {
    rows: Vec<(Key, Option<Row>)>,
    at: Instant,
    fold: PieceFold,
}

impl<'a> Batch<'a> {
    /// A batch whose first record will stand at an index.
    pub(super) fn new(
        connection: &'a Connection,
        clock: &'a dyn Clock,
        hot: &'a mut HotRows,
        first: u64,
        last: Option<Instant>,
    ) -> Batch<'a> {
        let (changed, known) = (Vec::new(), HashSet::new());
        let (clock_ran_backwards, count, any_row) = (false, 0, false);
        Batch { connection, clock, hot, first, last, clock_ran_backwards, count, any_row, changed, known }
    }

    /// Whether nothing was changed at all.
    pub(super) fn is_nothing(&self) -> bool {
        self.count == 0 && !self.any_row
    }

    /// Reads the instant, after the lock was taken.
    fn instant(&mut self) -> Result<Instant, StoreFault> {
        let (at, ran_backwards) = decision_instant(self.clock.now(), self.last)?;
        self.last = Some(at);
        self.clock_ran_backwards |= ran_backwards;
        Ok(at)
    }

    fn load(&mut self, mut keys: Vec<Key>) -> Result<Vec<(Key, Option<Row>)>, StoreFault> {
        keys.retain(|key| !HotRows::is_for(key.entity.kind()) || self.known.insert(key.clone()));
        load::rows(self.connection, keys, self.hot)
    }

    fn world(&self, rows: Vec<(Key, Option<Row>)>) -> World {
        let mut world = World::seeded_slice(self.hot.seed(), rows.len().saturating_mul(2));
        rows.into_iter().for_each(|(key, row)| world.load_unknown(key, row));
        world
    }

    /// Folds, then saves.
    pub(super) fn at_once(&mut self, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<(), StoreFault> {
        let rows = self.load(keys)?;
        let mut world = self.world(rows);
        let at = self.instant()?;
        let records = fold(&mut world, at).into_iter().map(Packed::of).collect();
        self.save(Piece::Folded(world))?;
        self.save(Piece::Records(records))
    }

    /// Folds and saves part after part, with a crew from the first large one on.
    pub(super) fn in_parts(&mut self, crew: &mut Crew, parts: &mut Parts<'_>) -> Result<(), StoreFault> {
        let (mut world, mut records) = (self.world(Vec::new()), Vec::new());
        let mut keys = 0;
        while let Some(part) = parts() {
            keys += part.keys.len();
            let loaded = self.loaded(part)?;
            if keys >= SHARED_FROM {
                let sealed = records.iter().map(|record| Packed::of(seal(record))).collect();
                self.save(Piece::Records(sealed))?;
                return self.shared(crew, world, loaded, parts);
            }
            loaded.rows.into_iter().for_each(|(key, row)| world.load_unknown(key, row));
            (loaded.fold)(&mut world, loaded.at, &mut records);
        }
        let sealed = records.iter().map(|record| Packed::of(seal(record))).collect();
        self.save(Piece::Folded(world))?;
        self.save(Piece::Records(sealed))
    }

    fn loaded(&mut self, part: Part) -> Result<Loaded, StoreFault> {
        Ok(Loaded { rows: self.load(part.keys)?, at: self.instant()?, fold: part.fold })
    }

    /// Loads part after part, has them folded by another thread, and saves what it hands over.
    fn shared(&mut self, crew: &mut Crew, world: World, part: Loaded, parts: &mut Parts<'_>) -> Result<(), StoreFault> {
        let (to_writer, pieces) = channel();
        let (to_sealer, records) = channel();
        let (orders, ordered) = channel();
        let sealed = to_writer.clone();
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let hands = Hands { first: self.first, count, to_writer, to_sealer };
        let folding: Work = Box::new(move || fold_all(world, ordered, hands));
        let sealing: Work = Box::new(move || guarded(&sealed, || seal_all(&records, &sealed)));
        // Whoever cannot have a thread has to wait until all is ordered, so nothing is ordered later.
        let has_crew = crew.folder.is_there() && crew.sealer.is_there();
        let mut outcome = Flow::of(orders, part);
        if has_crew {
            crew.folder.order(folding);
            crew.sealer.order(sealing);
            self.flow(&mut outcome, &pieces, parts);
        } else {
            outcome.end();
            folding();
            sealing();
        }
        outcome.end();
        // To the end, also where nothing is saved any more: what was lent for the folds is free only then.
        for piece in pieces {
            outcome.take(self, piece);
        }
        outcome.into_result()
    }

    /// Orders part after part and saves what comes back, until there is none.
    fn flow(&mut self, flow: &mut Flow, pieces: &Receiver<Piece>, parts: &mut Parts<'_>) {
        while !flow.has_failed() {
            if flow.outstanding < AHEAD
                && let Some(part) = parts()
            {
                match self.loaded(part) {
                    Ok(part) => flow.order(part),
                    Err(fault) => flow.fault = Some(fault),
                }
                continue;
            }
            if flow.outstanding == 0 {
                return;
            }
            let Ok(piece) = pieces.recv() else { return };
            flow.take(self, piece);
        }
    }

    fn save(&mut self, piece: Piece) -> Result<(), StoreFault> {
        match piece {
            Piece::Rows(rows) => {
                let rows = rows?;
                self.any_row |= !rows.is_empty();
                rows.save(self.connection)
            }
            Piece::Records(records) => {
                append(self.connection, &records, self.first.saturating_add(self.count))?;
                self.count += records.len() as u64;
                Ok(())
            }
            Piece::Folded(world) => self.save_rest(world),
            Piece::Part => Ok(()),
            Piece::Panic(fault) => resume_unwind(fault),
        }
    }

    /// Saves what was not handed over.
    fn save_rest(&mut self, mut world: World) -> Result<(), StoreFault> {
        let mut rows = Rows::default();
        let mut changes = world.take_changes();
        for changed in &changes {
            rows.push(&changed.key, &changed.row, self.first.saturating_add(changed.record as u64))?;
        }
        self.save(Piece::Rows(Ok(rows)))?;
        changes.retain(|changed| HotRows::is_for(changed.key.entity.kind()));
        self.changed = changes;
        Ok(())
    }
}

/// Where the work of several threads stands.
struct Flow {
    orders: Option<Sender<Loaded>>,
    /// Parts that are ordered and not folded yet.
    outstanding: usize,
    fault: Option<StoreFault>,
    panicked: Option<Box<dyn Any + Send>>,
}

impl Flow {
    fn of(orders: Sender<Loaded>, part: Loaded) -> Flow {
        let mut flow = Flow { orders: Some(orders), outstanding: 0, fault: None, panicked: None };
        flow.order(part);
        flow
    }

    fn order(&mut self, part: Loaded) {
        // It only fails if the other thread fell over, and then that is told.
        let _told = self.orders.as_ref().map(|orders| orders.send(part));
        self.outstanding += 1;
    }

    /// Nothing more is ordered.
    fn end(&mut self) {
        self.orders = None;
    }

    fn has_failed(&self) -> bool {
        self.fault.is_some() || self.panicked.is_some()
    }

    fn take(&mut self, batch: &mut Batch<'_>, piece: Piece) {
        match piece {
            Piece::Panic(fault) => self.panicked = Some(fault),
            Piece::Part => self.outstanding = self.outstanding.saturating_sub(1),
            piece @ (Piece::Rows(_) | Piece::Records(_) | Piece::Folded(_)) => {
                if !self.has_failed() {
                    self.fault = batch.save(piece).err();
                }
            }
        }
    }

    fn into_result(self) -> Result<(), StoreFault> {
        match (self.panicked, self.fault) {
            (Some(fault), _) => resume_unwind(fault),
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(()),
        }
    }
}

/// Takes from the fold and gives to the others.
struct Hands {
    first: u64,
    count: usize,
    to_writer: Sender<Piece>,
    to_sealer: Sender<Folded>,
}

/// Records and the rows that may point at them. They stay together: a later part that asks for a stored answer must find its
/// record in the file.
struct Folded {
    records: Vec<Record>,
    rows: Result<Rows, StoreFault>,
}

impl Pieces for Hands {
    fn count(&self) -> usize {
        self.count
    }

    fn hand_over(&mut self, world: &mut World, records: Vec<Record>) {
        self.count += records.len();
        let mut rows = Ok(Rows::default());
        world.hand_over(HotRows::is_for, |key, row, record| {
            let index = self.first.saturating_add(record as u64);
            if let Ok(pushed) = &mut rows
                && let Err(fault) = pushed.push(key, row, index)
            {
                rows = Err(fault);
            }
        });
        // It only fails if the other thread fell over, and then that is told.
        let _told = self.to_sealer.send(Folded { records, rows });
    }
}

/// Folds part after part. What was ordered is dropped before the others hear that this is over.
fn fold_all(mut world: World, ordered: Receiver<Loaded>, mut hands: Hands) {
    let to_writer = hands.to_writer.clone();
    guarded(&to_writer, move || {
        for Loaded { rows, at, fold } in ordered {
            rows.into_iter().for_each(|(key, row)| world.load_unknown(key, row));
            fold(&mut world, at, &mut hands);
            send(&hands.to_writer, Piece::Part);
        }
        send(&hands.to_writer, Piece::Folded(world));
    });
}

fn seal_all(folded: &Receiver<Folded>, to_writer: &Sender<Piece>) {
    for Folded { records, rows } in folded {
        let packed = records.iter().map(|record| Packed::of(seal(record))).collect();
        send(to_writer, Piece::Records(packed));
        send(to_writer, Piece::Rows(rows));
    }
}

/// Does work, and tells whoever saves if it falls over.
fn guarded(to_writer: &Sender<Piece>, work: impl FnOnce()) {
    if let Err(fault) = catch_unwind(AssertUnwindSafe(work)) {
        send(to_writer, Piece::Panic(fault));
    }
}

/// Hands a piece over. Nobody receives it any more if saving fell over, and then nothing is saved.
fn send(to_writer: &Sender<Piece>, piece: Piece) {
    let _unsaved = to_writer.send(piece);
}
