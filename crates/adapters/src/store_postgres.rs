//! A store in PostgreSQL, for many machines: any number of processes decide on it, and none of them owns anything.
//!
//! A batch begins by locking the one row that holds its tenant's ledger head, and everything else is read and written
//! under that lock. So READ COMMITTED suffices, indices are dense and in the order of commits, and no two batches can
//! wait for each other. The connection is our own (docs/design/0020-postgresql.md).

mod address;
mod connection;
mod copying;
mod fault;
mod load;
mod measure;
mod open_batch;
mod read;
mod remembered;
mod save;
mod schema;
mod scram;
mod sealer_lease;
mod settings;
mod stream;
mod value;
mod view;

pub use address::{Address, Server, Tls};
pub(crate) use copying::{PostgresContents, PostgresFilling, demand_finished, tenants};
pub use measure::RawPostgres;
pub use settings::{Settings, VERSION_TESTED};
pub use view::PostgresView;

use crate::store_sqlite::QUEUE_WAIT;
use connection::Connection;
use fault::{Problem, early_fault, fault};
use kernel::world::{Key, World};
use load::PostgresCache;
use open_batch::{BeginFault, Folded, KnownRows, Loaded, OpenBatch};
use remembered::Remembered;
use runtime::ports::clock::{Clock, decision_instant};
use runtime::ports::store::{
    BatchId, Committed, Fold, Forgotten, Reader, SealerLease, Steps, Store, StoreFault, demand_own,
};
use std::sync::Arc;
use std::time::{Duration, Instant as Moment};
use value::Value;
use values::time::Instant;

/// A reader's question is answered by then, or the connection counts as lost.
const READ_PATIENCE: Duration = Duration::from_secs(15);

/// The same of a question about a whole table.
const TABLE_PATIENCE: Duration = Duration::from_secs(60);

/// Beyond the server's own bounds: whoever does not hear from it by then has lost the connection.
const SLACK: Duration = Duration::from_secs(45);

/// How long a server may be away, or have no free connection, before whoever asks gives up: as long as it takes to come back
/// after a crash.
const RETURN_WAIT: Duration = Duration::from_secs(15);

/// How often it is looked for meanwhile.
const RETURN_EVERY: Duration = Duration::from_millis(100);

/// The last attempt to reach a server has at least so long.
const ATTEMPT_MIN: Duration = Duration::from_secs(1);

/// After a commit whose answer was lost the question is asked often, so each time is short.
const SETTLING_WAIT: Duration = Duration::from_secs(5);

/// Processes whose last batch is remembered. A process asks only about a commit it has just made.
const WRITERS_MAX: i64 = 1_024;

/// One process in so many forgets old writers.
const FORGETTING_EVERY: u8 = 32;

const MAKE_HEAD: &str = "INSERT INTO writkeeper.head(tenant) VALUES($1::text) ON CONFLICT (tenant) DO NOTHING";

const FORGET: &str = "DELETE FROM writkeeper.writer w USING writkeeper.head h WHERE h.tenant = $1::text AND \
                      w.number = h.number AND w.first_idx < (SELECT first_idx FROM writkeeper.writer o WHERE \
                      o.number = h.number ORDER BY first_idx DESC LIMIT 1 OFFSET $2::int8)";

/// A tenant of a store in PostgreSQL.
pub struct PostgresStore {
    address: Address,
    tenant: Arc<str>,
    clock: Arc<dyn Clock>,
    connection: Option<Connection>,
    cache: PostgresCache,
    /// How long a batch stands in line behind those of other processes.
    line: Duration,
    /// The tenant's number in the tables, once it is known.
    number: Option<i32>,
    /// Names this opening of the store; the batches it committed are looked up by it.
    process: [u8; 16],
    /// The latest instant a fold here has seen, also where nothing came of it.
    last_seen: Option<Instant>,
    remembered: Remembered,
    /// Whether rows that were not found are made without looking for them again.
    takes_for_new: bool,
}

impl PostgresStore {
    /// Opens a tenant of the store in a database, making its tables first where there are none.
    pub fn open(address: &Address, tenant: &str, clock: Arc<dyn Clock>) -> Result<PostgresStore, StoreFault> {
        PostgresStore::open_waiting(address, tenant, clock, QUEUE_WAIT)
    }

    /// The same; `line` says how long a batch stands in line behind those of other processes.
    pub fn open_waiting(
        address: &Address,
        tenant: &str,
        clock: Arc<dyn Clock>,
        line: Duration,
    ) -> Result<PostgresStore, StoreFault> {
        let process = uuid::Uuid::now_v7().into_bytes();
        let connection = prepared(address, tenant, line, |connection| {
            schema::demand_whole(connection, tenant)?;
            if process.last().is_some_and(|byte| byte % FORGETTING_EVERY == 0) {
                connection.query(FORGET, &[Value::Text(tenant), Value::Int8(WRITERS_MAX)]).map_err(fault)?;
            }
            Ok(())
        })?;
        Ok(PostgresStore {
            address: address.clone(),
            tenant: Arc::from(tenant),
            clock,
            connection: Some(connection),
            cache: PostgresCache::default(),
            line,
            number: None,
            process,
            last_seen: None,
            remembered: Remembered::default(),
            takes_for_new: true,
        })
    }
}

/// Connects to a database that is usable, with tables of this version and a head for a tenant, and does something first. A
/// server that goes away meanwhile is waited for like one that is away.
fn prepared(
    address: &Address,
    tenant: &str,
    line: Duration,
    first: impl Fn(&mut Connection) -> Result<(), StoreFault>,
) -> Result<Connection, StoreFault> {
    if tenant.contains('\0') {
        return Err(StoreFault::Refused("a name contains the character U+0000".to_owned()));
    }
    let patience = line.saturating_add(SLACK).saturating_add(Duration::from_secs(30));
    let connected = || connect(address, patience, line, false);
    let (connection, ()) = waited_for(line, connected, |connection| {
        let settings = settings::Settings::read(connection)?;
        settings.demand_usable()?;
        settings.demand_writable()?;
        schema::migrate(connection)?;
        connection.query(MAKE_HEAD, &[Value::Text(tenant)]).map_err(fault)?;
        first(connection)
    })?;
    Ok(connection)
}

/// Asks the first questions over a connection, and again over another one where the server went away in between.
fn waited_for<T>(
    line: Duration,
    connected: impl Fn() -> Result<Connection, StoreFault>,
    ask: impl Fn(&mut Connection) -> Result<T, StoreFault>,
) -> Result<(Connection, T), StoreFault> {
    let end = Moment::now() + RETURN_WAIT.min(line);
    loop {
        let mut connection = connected()?;
        match ask(&mut connection) {
            Ok(found) => return Ok((connection, found)),
            Err(StoreFault::Unavailable(_)) if connection.is_broken() && Moment::now() < end => {
                std::thread::sleep(RETURN_EVERY);
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// Connects. A server that is away, is starting or has no free connection is waited for; one that was there before also until
/// it or another one takes writes again.
fn connect(address: &Address, patience: Duration, line: Duration, was_there: bool) -> Result<Connection, StoreFault> {
    let end = Moment::now() + RETURN_WAIT.min(line);
    let mut hello = RETURN_WAIT;
    loop {
        let problem = match Connection::open(address, patience, hello) {
            Ok(connection) if was_there && connection.is_standby() => {
                Problem::Lost(format!("`{address}`: the server has become a standby"))
            }
            Ok(connection) => return Ok(connection),
            Err(problem) => problem,
        };
        let may_return = match &problem {
            Problem::Said(said) => said.is_starting(),
            Problem::Away(_) => true,
            Problem::Lost(_) => was_there,
            Problem::Unreadable(_) => false,
        };
        if !may_return || Moment::now() >= end {
            return Err(fault(problem));
        }
        std::thread::sleep(RETURN_EVERY);
        hello = end.saturating_duration_since(Moment::now()).max(ATTEMPT_MIN);
    }
}

/// Begins a batch, over the connection that is kept or a new one.
fn begun<'a>(
    slot: &'a mut Option<Connection>,
    (address, tenant, line): (&Address, &'a Arc<str>, Duration),
    (number, keys): (Option<i32>, Vec<Key>),
    cache: &mut PostgresCache,
) -> Result<(OpenBatch<'a>, Loaded), StoreFault> {
    let connection = match slot.take().filter(|kept| !kept.is_broken()) {
        Some(kept) => kept,
        None => {
            let patience = line.saturating_add(SLACK).saturating_add(Duration::from_secs(30));
            connect(address, patience, line, true)?
        }
    };
    OpenBatch::begin(slot.insert(connection), tenant, line, (number, keys), cache).map_err(|problem| match problem {
        BeginFault::Connection(problem) => early_fault(problem),
        BeginFault::Store(fault) => fault,
    })
}

impl Store for PostgresStore {
    fn tenant(&self) -> &Arc<str> {
        &self.tenant
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        demand_own(&self.tenant, &keys)?;
        // After anything that went wrong no row is taken for new: perhaps that is what was wrong.
        let takes_for_new = std::mem::replace(&mut self.takes_for_new, false);
        // Put back only if nothing failed: after an error or a panic nothing cached is trusted.
        let mut cache = std::mem::take(&mut self.cache);
        let place = (&self.address, &self.tenant, self.line);
        let (mut open, Loaded { rows, due }) = begun(&mut self.connection, place, (self.number, keys), &mut cache)?;
        self.number = Some(open.head.number);
        self.remembered.demand_continued(&mut open)?;
        let first = open.head.size;
        let last = open.head.last.max(self.last_seen);
        let (at, clock_ran_backwards) = decision_instant(self.clock.now(), last)?;
        self.last_seen = Some(at);
        let known = KnownRows::of(&rows, takes_for_new);
        let mut world = World::seeded_slice(cache.seed(), rows.len());
        rows.into_iter().for_each(|(key, row)| world.load(key, row));
        if let Some(names) = due {
            world.load_due_intents(names);
        }
        let Folded { records, any, changed, leaf } = open.fold(&mut world, &mut Steps::new(fold, at), known)?;
        if any {
            open.commit(records, at, batch, &self.process)?;
            self.remembered.note(first.saturating_add(records), leaf);
            cache.stamp(batch.0.to_be_bytes().to_vec());
        } else {
            // What is answered from the store alone was acknowledged once, and must outlive this server too.
            open.confirm()?;
        }
        cache.take_over(changed);
        self.cache = cache;
        self.takes_for_new = true;
        Ok(Committed { at, first, clock_ran_backwards })
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        self.cache = PostgresCache::default();
        // A server that is still at it holds the head: whoever has the lock knows that it is over.
        self.connection = None;
        let line = self.line.min(SETTLING_WAIT);
        let place = (&self.address, &self.tenant, line);
        let mut cache = PostgresCache::default();
        let (mut open, _) = begun(&mut self.connection, place, (None, Vec::new()), &mut cache)?;
        let is_committed = open.is_committed(batch, &self.process)?;
        if is_committed {
            // It waited for standbys and nobody knows whether they have it: whoever is told now waits again.
            open.confirm()?;
        }
        Ok(is_committed)
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        let place = (&self.address, &self.tenant, self.line);
        let mut cache = PostgresCache::default();
        let (mut open, _) = begun(&mut self.connection, place, (None, Vec::new()), &mut cache)?;
        self.remembered.demand_continued(&mut open)?;
        let erased = open.erase(from, to)?;
        // What is erased stays in dead rows until they are swept; a role that may not sweep leaves it to the database.
        if erased > 0
            && let Some(connection) = &mut self.connection
        {
            let _left = runtime::crash::around("store.truncate", || connection.run("VACUUM writkeeper.ledger"));
        }
        Ok(erased)
    }

    fn forget(&mut self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        let place = (&self.address, &self.tenant, self.line);
        let mut cache = PostgresCache::default();
        let (mut open, _) = begun(&mut self.connection, place, (None, Vec::new()), &mut cache)?;
        self.remembered.demand_continued(&mut open)?;
        open.forget(before, after)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::PostgresReader::of(&self.address, &self.tenant)))
    }

    fn sealer_lease(&mut self) -> Option<&mut dyn SealerLease> {
        Some(self)
    }
}
