//! One batch on its way into the database: a transaction under the locked head of its tenant.

use super::connection::{Answers, Connection};
use super::fault::{Problem, commit_fault, early_fault, fault};
use super::load::{self, Asked, PostgresCache, Rows};
use super::save::{Piece, integer};
use super::value::{Column, Found, Value};
use crate::row_key;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row, RowChange, World};
use runtime::crash::{around, commit_is_doubted};
use runtime::ports::store::{BatchId, FORGET_AT_ONCE, Forgotten, Steps, StoreFault, demand_own};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use values::time::Instant;

/// Steps whose records and changes are sent together, so that the server saves them while the next ones are folded.
const PIECE_STEPS: usize = 64;

/// How long the server waits for the next words of an open transaction. Longer than any fold takes: a process that stands
/// still for so long loses its transaction, and the others go on.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// A server has so much time for a statement once it has the lock.
const STATEMENT_MAX: Duration = Duration::from_secs(30);

/// Everything that is read and written stands under the lock on this row, so each statement may see the latest commit.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Ends with the transaction: nothing of a session is used. A commit that may be lost with the machine is no commit.
const BOUND: &str = "SELECT set_config('lock_timeout', $1::text, true), set_config('statement_timeout', $2::text, true), \
                     set_config('idle_in_transaction_session_timeout', $3::text, true), \
                     CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') \
                     THEN set_config('synchronous_commit', 'on', true) END, \
                     current_setting('synchronous_standby_names')";

const LOCK_HEAD: &str =
    "SELECT number, size, last_instant, batch FROM writkeeper.head WHERE tenant = $1::text FOR UPDATE";

const PUT_HEAD: &str = "UPDATE writkeeper.head SET size = $2::int8, last_instant = $3::int8, batch = $4::bytea \
                        WHERE number = $1::int4";

/// Remembers the batch, so that a commit whose answer was lost can be looked up.
const PUT_WRITER: &str = "INSERT INTO writkeeper.writer(number, process, batch, first_idx) VALUES($1::int4, $2::bytea, \
                          $3::bytea, $4::int8) ON CONFLICT (number, process) DO UPDATE SET batch = excluded.batch, \
                          first_idx = excluded.first_idx";

/// A commit that waits for a standby must wait: given up, it would be told as if the standby had it.
const WAIT_FOR_EVER: &str = "SELECT set_config('statement_timeout', '0', true)";

/// Nothing was written here, and what was read may be on this server's disk only: a server that came back from a crash
/// shows commits that no standby has. A commit that waits for the standbys says that they have all of it; where there are
/// none it waits for nothing.
const WAIT_FOR_STANDBYS: &str = "SELECT CASE WHEN current_setting('synchronous_standby_names') = '' \
                                 THEN set_config('synchronous_commit', 'off', true) END";

/// Where the ledger of a tenant ends.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) number: i32,
    pub(super) size: u64,
    pub(super) last: Option<Instant>,
    /// The batch that was committed last.
    pub(super) batch: Vec<u8>,
}

impl Head {
    fn read(found: &[Found]) -> Result<Head, StoreFault> {
        let missing = || StoreFault::Corrupt("the head of the ledger is missing".to_owned());
        let found = found.first().ok_or_else(missing)?;
        let number = i32::try_from(found.integer(0).map_err(fault)?).map_err(|_| missing())?;
        let size = u64::try_from(found.integer(1).map_err(fault)?);
        let size = size.map_err(|_| StoreFault::Corrupt("the ledger has a negative size".to_owned()))?;
        let last = found.optional(2).map_err(fault)?.map(Instant::from_micros);
        Ok(Head { number, size, last, batch: found.bytes(3).unwrap_or_default().to_vec() })
    }
}

/// A transaction that holds the head. Dropped before its commit, it leaves nothing.
pub(super) struct OpenBatch<'a> {
    pub(super) connection: &'a mut Connection,
    tenant: &'a Arc<str>,
    pub(super) head: Head,
    /// The standbys that a commit waits for, if any.
    standbys: String,
    pub(super) is_over: bool,
}

/// What a batch loads.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) rows: Rows,
    pub(super) due: Option<Vec<String>>,
}

/// Rows that are there: those that were loaded, and those that were sent since. Nobody else writes under the lock of the head.
///
/// Rows that nobody asked for are named by ids that were minted, so they are taken for new. If one is there all the same,
/// the database refuses the batch, and it is done again with nothing taken for new.
pub(super) struct KnownRows {
    /// Nothing where no row may be taken for new.
    there: Option<HashSet<Key>>,
}

impl KnownRows {
    /// Of a batch that loaded these.
    pub(super) fn of(rows: &Rows, takes_for_new: bool) -> KnownRows {
        let found = rows.iter().filter(|(key, row)| row.is_some() && !key.entity.kind().is_shared());
        KnownRows { there: takes_for_new.then(|| found.map(|(key, _)| key.clone()).collect()) }
    }

    /// Whether a row that is to be sent is new.
    fn is_fresh(&mut self, key: &Key) -> bool {
        let Some(there) = &mut self.there else { return false };
        !key.entity.kind().is_shared() && there.insert(key.clone())
    }
}

/// What the steps of a batch came to.
pub(super) struct Folded {
    pub(super) records: u64,
    /// Whether there is anything to commit.
    pub(super) any: bool,
    /// Rows that are worth caching.
    pub(super) changed: Vec<RowChange>,
    /// The leaf of the last record.
    pub(super) leaf: Option<String>,
}

impl<'a> OpenBatch<'a> {
    /// Begins a transaction, locks the head of a tenant, and loads what a batch needs; mostly in one round trip.
    ///
    /// `known` is the number of the tenant once it is known. What is cached counts only if the head is the one that was
    /// committed here.
    pub(super) fn begin(
        connection: &'a mut Connection,
        tenant: &'a Arc<str>,
        line: Duration,
        (known, mut keys): (Option<i32>, Vec<Key>),
        cache: &mut PostgresCache,
    ) -> Result<(OpenBatch<'a>, Loaded), BeginFault> {
        let range = keys.extract_if(.., |key| key.entity == Entity::DueIntents).last();
        let mut loaded = Loaded::default();
        let shared: Vec<Key> = keys.extract_if(.., |key| key.entity.kind().is_shared()).collect();
        let mut early = load::split(shared.clone(), cache, &mut loaded.rows);
        early.extend(keys.iter().cloned());
        let asked = Asked::of(early)?;
        state_beginning(connection, tenant, line);
        let together = known.filter(|_| asked.is_small());
        if let Some(number) = together {
            asked.state(connection, number);
        }
        let answers = connection.ask();
        let mut open = OpenBatch {
            connection,
            tenant,
            head: Head { number: 0, size: 0, last: None, batch: Vec::new() },
            standbys: String::new(),
            is_over: false,
        };
        let mut answers = answers?;
        open.standbys = answers.take(1).first().map_or(Ok(""), |bound| bound.text(4))?.to_owned();
        open.head = Head::read(&answers.take(2))?;
        let number = open.head.number;
        let is_own = cache.validate(open.head.batch.clone());
        match together {
            Some(_) if is_own => asked.read(answers.found.into_iter().skip(3), &mut loaded.rows)?,
            None if is_own => asked.fetch(open.connection, number, &mut loaded.rows)?,
            Some(_) | None => {
                // Somebody else has committed: what was cached says nothing any more.
                loaded.rows.clear();
                keys.extend(shared);
                Asked::of(keys)?.fetch(open.connection, number, &mut loaded.rows)?;
            }
        }
        loaded.rows.iter().for_each(|(key, row)| cache.remember(key, row));
        if range.is_some() {
            loaded.due = Some(load::due_intents(open.connection, tenant, number, &mut loaded.rows)?);
        }
        Ok((open, loaded))
    }

    /// Steps through a fold to its end and sends what it leaves, piece by piece.
    pub(super) fn fold(
        &mut self,
        world: &mut World,
        steps: &mut Steps<'_, '_>,
        mut known: KnownRows,
    ) -> Result<Folded, StoreFault> {
        let (mut records, mut any, mut changed, mut leaf) = (0_u64, false, Vec::new(), None);
        loop {
            let taken = steps.take(world, PIECE_STEPS);
            let is_last = taken.is_none();
            let mut piece = Piece::new();
            let mut sealed = taken.unwrap_or_default();
            sealed.iter().for_each(|sealed| piece.push_record(sealed));
            // Rows that nearly every step changes are left to the end, where each is saved once.
            self.push_changes(world, is_last, (&mut piece, &mut known), &mut changed)?;
            any |= !piece.is_empty();
            piece.state(self.connection, self.head.number, self.head.size.saturating_add(records))?;
            records = records.saturating_add(sealed.len() as u64);
            leaf = sealed.pop().map(|sealed| sealed.leaf).or(leaf);
            if is_last {
                return Ok(Folded { records, any, changed, leaf });
            }
            if self.connection.unsent() > 0 {
                self.connection.send().map_err(early_fault)?;
            }
        }
    }

    fn push_changes(
        &self,
        world: &mut World,
        is_last: bool,
        (piece, known): (&mut Piece, &mut KnownRows),
        changed: &mut Vec<RowChange>,
    ) -> Result<(), StoreFault> {
        let mut problem = None;
        let mut push = |key: &Key, row: &Row, record: usize| -> Result<(), StoreFault> {
            demand_own(self.tenant, [key])?;
            let index = self.head.size.saturating_add(record as u64);
            if known.is_fresh(key) { piece.push_fresh(key, row, index) } else { piece.push_row(key, row, index) }
        };
        world.hand_over(
            |kind: Kind| !is_last && kind.is_shared(),
            |key, row, record| {
                if problem.is_none() {
                    problem = push(key, row, record).err();
                }
                if key.entity.kind().is_shared() {
                    changed.push(RowChange { key: key.clone(), row: row.clone(), record });
                }
            },
        );
        problem.map_or(Ok(()), Err)
    }

    /// Makes it durable. What was sent and not answered yet is answered first, and only if all of it went well the
    /// server commits.
    pub(super) fn commit(
        mut self,
        records: u64,
        at: Instant,
        batch: BatchId,
        process: &[u8; 16],
    ) -> Result<(), StoreFault> {
        let (number, name) = (Value::Int4(self.head.number), batch.0.to_be_bytes());
        let size = integer(self.head.size.saturating_add(records))?;
        let head = [number, Value::Int8(size), Value::Int8(at.micros()), Value::Bytes(&name)];
        self.connection.statement(PUT_HEAD, &head);
        let writer = [number, Value::Bytes(process), Value::Bytes(&name), Value::Int8(integer(self.head.size)?)];
        self.connection.statement(PUT_WRITER, &writer);
        self.connection.statement(WAIT_FOR_EVER, &[]);
        if commit_is_doubted("before") {
            return Err(StoreFault::Ambiguous("made to fail before the commit".to_owned()));
        }
        self.is_over = true;
        self.connection.statement("COMMIT", &[]);
        let committed = around("store.transact", || self.connection.ask());
        match committed {
            // Somebody ended the wait for a standby: it is committed here, and perhaps nowhere else.
            Ok(Answers { warning: Some(warning), .. }) => return Err(StoreFault::Ambiguous(warning)),
            Ok(answers) if answers.tags.last().is_some_and(|tag| tag == "COMMIT") => {}
            Ok(_) => return Err(StoreFault::Unavailable("the transaction was undone before its commit".to_owned())),
            Err(problem) => {
                let fault = commit_fault(self.waited_for(problem));
                if !matches!(fault, StoreFault::Ambiguous(_)) {
                    self.connection.roll_back();
                }
                return Err(fault);
            }
        }
        if commit_is_doubted("after") {
            return Err(StoreFault::Ambiguous("made to fail after the commit".to_owned()));
        }
        Ok(())
    }

    /// Ends a transaction that wrote nothing, once everything it read survives the loss of this server.
    pub(super) fn confirm(mut self) -> Result<(), StoreFault> {
        self.connection.statement(WAIT_FOR_EVER, &[]);
        self.connection.statement(WAIT_FOR_STANDBYS, &[]);
        self.is_over = true;
        self.connection.statement("COMMIT", &[]);
        // no crash point: nothing is written
        match self.connection.ask() {
            Ok(Answers { warning: Some(warning), .. }) => Err(StoreFault::Conflict(warning)),
            Ok(_) => Ok(()),
            Err(problem) => {
                let fault = early_fault(self.waited_for(problem));
                self.connection.roll_back();
                Err(fault)
            }
        }
    }

    /// A server that does not answer a commit waits for standbys itself, where it is told to.
    fn waited_for(&self, problem: Problem) -> Problem {
        if !self.connection.is_silent() || self.standbys.is_empty() {
            return problem;
        }
        Problem::Away(format!("commits wait for standbys ({}), and none has answered", self.standbys))
    }

    /// Whether a batch of this process is the last one it committed.
    pub(super) fn is_committed(&mut self, batch: BatchId, process: &[u8; 16]) -> Result<bool, StoreFault> {
        const SQL: &str =
            "SELECT 1 FROM writkeeper.writer WHERE number = $1::int4 AND process = $2::bytea AND batch = $3::bytea";
        let name = batch.0.to_be_bytes();
        let values = [Value::Int4(self.head.number), Value::Bytes(process), Value::Bytes(&name)];
        Ok(!self.connection.query(SQL, &values).map_err(fault)?.is_empty())
    }

    /// Removes stored answers of chosen keys that stand before an index, of the next rows after a place.
    pub(super) fn forget(mut self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        const FIND: &str = "SELECT name, idx FROM writkeeper.idempotency WHERE number = $1::int4 AND name > $2::bytea \
                            ORDER BY name LIMIT $3::int8";
        const REMOVE: &str = "DELETE FROM writkeeper.idempotency i USING unnest($2::bytea[]) AS o(name) \
                              WHERE i.number = $1::int4 AND i.name = o.name";
        let (number, most) = (Value::Int4(self.head.number), Value::Int8(FORGET_AT_ONCE as i64));
        let values = [number, Value::Bytes(after.unwrap_or_default()), most];
        let rows = self.connection.query(FIND, &values).map_err(fault)?;
        let (mut old, mut removed) = (Column::bytes(), 0);
        for row in &rows {
            let name = row.bytes(0).unwrap_or_default();
            let is_old = u64::try_from(row.integer(1).map_err(fault)?).is_ok_and(|index| index < before);
            let found = row_key::decode_name(Kind::Idempotency, name);
            if is_old && found.is_some_and(|entity| entity.is_chosen_key()) {
                old.push(name);
                removed += 1;
            }
        }
        if removed > 0 {
            self.connection.query(REMOVE, &[number, Value::Column(&old)]).map_err(fault)?;
        }
        self.is_over = true;
        around("store.erase", || self.connection.run("COMMIT")).map_err(commit_fault)?;
        let last = rows.last().and_then(|row| row.bytes(0)).filter(|_| rows.len() == FORGET_AT_ONCE);
        Ok(Forgotten { removed, next: last.map(<[u8]>::to_vec) })
    }

    /// Removes bodies and salts; leaves stay.
    pub(super) fn erase(mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        const SQL: &str = "WITH erased AS (UPDATE writkeeper.ledger SET body = NULL, salt = NULL WHERE number = $1::int4 \
                           AND idx >= $2::int8 AND idx < $3::int8 AND body IS NOT NULL RETURNING 1) \
                           SELECT count(*) FROM erased";
        let place = |index: u64| Value::Int8(i64::try_from(index).unwrap_or(i64::MAX));
        let values = [Value::Int4(self.head.number), place(from), place(to)];
        let erased = self.connection.query(SQL, &values).map_err(fault)?;
        let erased = erased.first().map(|found| found.integer(0)).transpose().map_err(fault)?.unwrap_or_default();
        self.is_over = true;
        let committed = around("store.erase", || self.connection.run("COMMIT"));
        committed.map_err(commit_fault)?;
        Ok(u64::try_from(erased).unwrap_or_default())
    }
}

impl Drop for OpenBatch<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.roll_back();
        }
    }
}

/// What went wrong while a batch began: on the connection, or with what was found.
#[derive(Debug)]
pub(super) enum BeginFault {
    Connection(Problem),
    Store(StoreFault),
}

impl From<Problem> for BeginFault {
    fn from(problem: Problem) -> BeginFault {
        BeginFault::Connection(problem)
    }
}

impl From<StoreFault> for BeginFault {
    fn from(fault: StoreFault) -> BeginFault {
        BeginFault::Store(fault)
    }
}

fn state_beginning(connection: &mut Connection, tenant: &str, line: Duration) {
    let millis = |time: Duration| time.as_millis().max(1).to_string();
    connection.statement(BEGIN, &[]);
    let (line, statement, silence) = (millis(line), millis(line.saturating_add(STATEMENT_MAX)), millis(SILENCE_MAX));
    connection.statement(BOUND, &[Value::Text(&line), Value::Text(&statement), Value::Text(&silence)]);
    connection.statement(LOCK_HEAD, &[Value::Text(tenant)]);
}
