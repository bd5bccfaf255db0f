//! The handle: a store with all its checks, and a runtime in front of it.

mod context;
mod deciding;
mod enrolment;
mod handing;
mod own_flow;
mod people;
mod performing;
mod reading;
pub(crate) mod server;
mod snoozing;

pub use enrolment::{Admitted, Enrolment};
pub use people::GivenWords;
pub use performing::{PerformerReport, TakenIntent, Taker};

use crate::error::Error;
use crate::history::instant_of;
use crate::restored::{self, KeysNotice};
use adapters::advisor::PluginAdvisor;
use adapters::location::{Location, open_store, view_store};
use adapters::store_sqlite::Waits;
use adapters::system_clock::SystemClock;
use client::Address;
use kernel::evaluator::Compiled;
use kernel::outcome::Verdict;
use runtime::ports::advisor::Advisor;
use runtime::ports::clock::Clock;
use runtime::ports::store::Store;
use runtime::{Answered, Options, Pending, Runtime, served_store};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::time::{Duration, Instant};

/// A clock further ahead of the last decision than this is worth a word.
const JUMP: Duration = Duration::from_secs(24 * 3_600);

/// How a store is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// Which clock the embedded store reads.
    pub clock: Arc<dyn Clock>,
    /// How long a writer stands in line behind other processes before it says that the store is unavailable.
    pub wait: Option<std::time::Duration>,
    /// The contract that strangers are refused under; see [`Options::strangers`].
    pub strangers: Option<Arc<Compiled>>,
    /// Where the signing keys are looked for besides the folder beside the store.
    pub keys: Option<PathBuf>,
    /// Whether a store is made where there is none.
    pub create: bool,
    /// Whose part of the store it is.
    pub tenant: Arc<str>,
    /// The key or token that a server is shown.
    pub key: Option<String>,
    /// The authorities that a server's certificate is believed from, as PEM; without them the well-known ones.
    pub authorities: Option<Vec<u8>>,
    /// Asks validators and judges; without one, programs and addresses are asked.
    pub advisor: Option<Arc<dyn Advisor>>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            clock: Arc::new(SystemClock),
            wait: None,
            strangers: None,
            keys: None,
            create: true,
            tenant: Arc::from(TENANT_DEFAULT),
            key: None,
            authorities: None,
            advisor: None,
        }
    }
}

impl OpenOptions {
    fn adapted(&self) -> adapters::location::OpenOptions {
        let usual = adapters::location::OpenOptions::default();
        let waits = Waits { line: self.wait.unwrap_or(usual.waits.line), ..usual.waits };
        adapters::location::OpenOptions { waits, ..usual }
    }
}

/// Something a person should hear about a store that was opened all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Whether published entries are missing cannot be told, or they are and the store is only looked at.
    Keys(KeysNotice),
    /// The clock is far ahead of the last decision. Instants never decrease along a ledger, so a clock that is ahead for
    /// a moment is ahead for ever.
    ClockAhead {
        /// What the clock says.
        now: Instant,
        /// When the last decision was made.
        last: Instant,
    },
}

impl Notice {
    /// Of a clock, if it is far ahead of the last decision.
    pub fn of_clock(runtime: &Runtime, now: Instant) -> Result<Option<Notice>, Error> {
        let Some(last) = runtime.size()?.checked_sub(1) else { return Ok(None) };
        let last = runtime.records(last, 1)?.pop().and_then(|record| instant_of(&record.leaf));
        Ok(last.filter(|last| now.since(*last) > JUMP).map(|last| Notice::ClockAhead { now, last }))
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Keys(notice) => notice.fmt(formatter),
            Notice::ClockAhead { now, last } => {
                write!(formatter, "the clock says {now}, more than a day after the last decision at {last}")
            }
        }
    }
}

/// A store that is open for deciding.
///
/// Handles may be shared between threads. Dropping the last one serves what waits and closes the store.
pub struct Keeper {
    runtime: Runtime,
    clock: Arc<dyn Clock>,
    location: String,
    notices: Vec<Notice>,
}

/// Opens a store: a path, `sqlite:PATH`, `postgres://USER@HOST:PORT/DATABASE`, or `memory:` for one that is forgotten. A
/// file, and tables in a database, are made where there are none.
/// `https://HOST`, `http://127.0.0.1:PORT` and `unix:PATH` are servers, which need a key ([`OpenOptions::key`]).
///
/// ```
/// let keeper = writkeeper::open("memory:")?;
/// assert_eq!(keeper.runtime().size()?, 0);
/// # Ok::<(), writkeeper::Error>(())
/// ```
pub fn open(location: &str) -> Result<Keeper, Error> {
    Keeper::open(location, &OpenOptions::default())
}

impl Keeper {
    /// Opens a store for deciding. A store that lost published entries is refused: what it forgot would be done again.
    pub fn open(location: &str, options: &OpenOptions) -> Result<Keeper, Error> {
        if is_server(location) {
            return Keeper::of_server(location, options);
        }
        if !options.create {
            demand_store(location)?;
        }
        let store = Keeper::store(location, options)?;
        let mut keeper = Keeper::start(location, store, options)?;
        if place(location)? != Location::Memory {
            let noticed = keeper.demand_whole(options)?;
            keeper.notices.extend(noticed.into_iter().map(Notice::Keys));
        }
        Ok(keeper)
    }

    /// Opens a store that must be there for looking at it: makes nothing, waits for no writer, and refuses nothing.
    pub fn view(location: &str, options: &OpenOptions) -> Result<Keeper, Error> {
        if is_server(location) {
            return Keeper::of_server(location, options);
        }
        demand_store(location)?;
        let mut keeper = Keeper::start(location, Keeper::view_store(location, options)?, options)?;
        match keeper.demand_whole(options) {
            Ok(noticed) => keeper.notices.extend(noticed.into_iter().map(Notice::Keys)),
            // Looking does no harm.
            Err(Error::Restored(loss)) => keeper.notices.push(Notice::Keys(KeysNotice::Lost(loss))),
            Err(error) => return Err(error),
        }
        Ok(keeper)
    }

    /// Nothing that was published of this tenant is missing. Each tenant has its own log, with keys of its own.
    fn demand_whole(&self, options: &OpenOptions) -> Result<Vec<KeysNotice>, Error> {
        if *options.tenant == *TENANT_DEFAULT {
            return restored::demand_whole(&self.location, options.keys.as_deref(), &self.runtime);
        }
        let folder = restored::keys_of_tenant(&self.location, &options.tenant);
        let noticed = restored::demand_covered(&self.location, &folder, &self.runtime, true)?;
        Ok(noticed.into_iter().collect())
    }

    /// The store itself, without a runtime in front of it.
    pub fn store(location: &str, options: &OpenOptions) -> Result<Box<dyn Store>, Error> {
        let store = open_store(&place(location)?, &options.tenant, options.clock.clone(), options.adapted());
        store.map_err(|fault| Error::unopened(location, &fault))
    }

    /// The store itself for reading only, which works where nothing can be written.
    pub fn view_store(location: &str, options: &OpenOptions) -> Result<Box<dyn Store>, Error> {
        if is_server(location) {
            return Ok(served_store(server::connect(location, options)?));
        }
        let store = view_store(&place(location)?, &options.tenant, options.clock.clone(), options.adapted());
        store.map_err(|fault| Error::unopened(location, &fault))
    }

    /// Opens the part of a server's store that the key is for. The server checks its store itself.
    fn of_server(location: &str, options: &OpenOptions) -> Result<Keeper, Error> {
        let service = server::connect(location, options)?;
        let (clock, strangers) = (options.clock.clone(), options.strangers.clone());
        let runtime = Runtime::remote(service, Options { strangers, ..Options::default() });
        let runtime = runtime.map_err(|fault| server::unreached(location, &fault))?;
        Ok(Keeper { runtime, clock, location: location.to_owned(), notices: Vec::new() })
    }

    fn start(location: &str, store: Box<dyn Store>, options: &OpenOptions) -> Result<Keeper, Error> {
        let advisor = options.advisor.clone().or_else(|| Some(Arc::new(PluginAdvisor)));
        let clock = options.clock.clone();
        let options = Options { strangers: options.strangers.clone(), advisor, ..Options::default() };
        let runtime = Runtime::start(store, options).map_err(|fault| Error::unopened(location, &fault))?;
        Ok(Keeper { runtime, clock, location: location.to_owned(), notices: Vec::new() })
    }

    /// Notes a clock that is far ahead of the last decision.
    pub fn check_clock(&mut self, now: Instant) -> Result<(), Error> {
        self.notices.extend(Notice::of_clock(&self.runtime, now)?);
        Ok(())
    }

    /// The runtime, which every door calls.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// What the clock of the store says.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The runtime alone.
    pub fn into_runtime(self) -> Runtime {
        self.runtime
    }

    /// Where the store lies.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// What a person should hear about the store.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

/// Whether there is a store.
pub fn demand_store(location: &str) -> Result<(), Error> {
    let is_there = || place(location)?.is_there().map_err(|fault| Error::unopened(location, &fault));
    if is_server(location) || is_there()? { Ok(()) } else { Err(Error::StoreMissing(location.to_owned())) }
}

/// Whether a location is a server, which keeps its store elsewhere.
pub fn is_server(location: &str) -> bool {
    Address::is_meant(location)
}

/// Where a store lies, read from its name.
pub fn place(location: &str) -> Result<Location, Error> {
    location.parse().map_err(|fault| Error::unopened(location, &fault))
}

/// Waits until a change is carried out; a refusal is an error.
pub fn carried_out(pending: Pending) -> Result<Answered, Error> {
    let answered = pending.wait();
    match answered.answer.verdict {
        Verdict::Accept => Ok(answered),
        Verdict::Reject | Verdict::Escalate => Err(Error::of_answer(&answered)),
    }
}
