//! Events handed on to a stream: the ledger is the queue, and a cursor says how far the stream has it.
//!
//! Nothing here writes into the store, so whatever happens to the stream stops no decision. An event counts as handed on
//! when the stream has acknowledged it. Events of one flow are handed on one after the other; those of different flows
//! may be on their way together.

#[cfg(feature = "kafka")]
mod kafka;
mod nats;

#[cfg(feature = "kafka")]
pub use kafka::KafkaOptions;
pub use nats::NatsOptions;

use nats::NatsLink;
use runtime::Runtime;
use runtime::ports::store::StoredRecord;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use values::count::counted;
use values::json::Json;
use writkeeper::Error;
use writkeeper::event_cursor::{EventCursor, HandedOn};
use writkeeper::events::{self, CloudEvent};

/// Records read at once; the cursor is kept after so many.
const PAGE: usize = 256;

/// How soon `stop` is noticed.
const NOTICED_WITHIN: Duration = Duration::from_millis(100);

/// An acknowledgement that takes longer is not waited for.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(5);

/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Attempts where nobody waits for longer.
const ONCE_MAX: u32 = 3;

/// Room for names and headers within what a server takes.
const HEADERS_MAX: usize = 4_096;

/// Who takes events.
#[derive(Clone, Debug)]
pub enum Broker {
    /// NATS JetStream.
    Nats(NatsOptions),
    /// Kafka.
    #[cfg(feature = "kafka")]
    Kafka(KafkaOptions),
}

impl Broker {
    /// What the cursor is kept for.
    fn receiver(&self) -> String {
        match self {
            Broker::Nats(options) => options.receiver(),
            #[cfg(feature = "kafka")]
            Broker::Kafka(options) => options.receiver(),
        }
    }

    async fn connected(&self) -> Result<Link, String> {
        match self {
            Broker::Nats(options) => NatsLink::open(options).await.map(|link| Link::Nats(Box::new(link))),
            #[cfg(feature = "kafka")]
            Broker::Kafka(options) => kafka::KafkaLink::open(options).map(Link::Kafka),
        }
    }
}

/// A connection to who takes events.
enum Link {
    Nats(Box<NatsLink>),
    #[cfg(feature = "kafka")]
    Kafka(kafka::KafkaLink),
}

impl Link {
    /// Hands events on and waits until all of them are acknowledged; how many the stream had already, as far as it says so.
    async fn send(&self, wave: &[Outgoing]) -> Result<u64, String> {
        match self {
            Link::Nats(link) => link.send(wave).await,
            #[cfg(feature = "kafka")]
            Link::Kafka(link) => link.send(wave),
        }
    }

    /// Whether it is known that there has never been an event.
    fn is_new(&self) -> bool {
        match self {
            Link::Nats(link) => link.is_new(),
            #[cfg(feature = "kafka")]
            Link::Kafka(_) => false,
        }
    }
}

/// Where events go and from where.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// Who takes them.
    pub broker: Broker,
    /// The first entry; where the cursor is if not given.
    pub from: Option<u64>,
    /// Whether to end once the stream has everything.
    pub once: bool,
    /// The first pause after an attempt that failed; it doubles.
    pub pause: Duration,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayTally {
    /// Events that the stream has acknowledged.
    pub delivered: u64,
    /// Of those, ones that it had already.
    pub duplicates: u64,
    /// Entries whose bodies are erased, which no event tells of.
    pub erased: u64,
    /// The next entry.
    pub next: u64,
    /// Whether the stream lacks something that was committed.
    pub is_behind: bool,
}

/// What a person may want to hear.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Relayed {
    /// Everything before this entry is in the stream.
    UpTo(u64),
    /// Nothing is handed on for now; it is tried again.
    NotYet {
        /// The entry.
        index: u64,
        /// Why.
        problem: String,
    },
}

/// Hands events on until `stop` or, with `once`, until the stream has everything or cannot be reached now.
pub fn relay(
    location: &str,
    runtime: &Runtime,
    options: &RelayOptions,
    heard: &dyn Fn(&Relayed),
    stop: &AtomicBool,
) -> Result<RelayTally, Error> {
    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let tasks = tasks.map_err(|error| Error::Unavailable(format!("no threads for the relay: {error}")))?;
    let receiver = format!("{} {}", options.broker.receiver(), runtime.tenant());
    let cursor = EventCursor::open(location, &receiver)?;
    let origin = log_of(runtime)?;
    let next = first(runtime, options.from, cursor.handed_on()?, &origin)?;
    let tally = RelayTally { next, ..RelayTally::default() };
    let mut relay = Relay { runtime, options, heard, stop, cursor, origin, tally, failed: 0, kept: None };
    tasks.block_on(relay.run())?;
    Ok(relay.tally)
}

/// The name of the log, which makes ids of events other than those of any other store.
fn log_of(runtime: &Runtime) -> Result<String, Error> {
    let origin = match runtime.read(kernel::world::Entity::Tenant)? {
        Some(kernel::world::Row::Tenant(row)) => row.origin().map(str::to_owned),
        Some(_) | None => None,
    };
    origin.ok_or_else(|| Error::LogUnnamed(runtime.tenant().to_string()))
}

/// The entry to begin with: the one that was asked for, else the one behind what was handed on of the same log.
fn first(runtime: &Runtime, from: Option<u64>, handed_on: Option<HandedOn>, origin: &str) -> Result<u64, Error> {
    let size = runtime.size()?;
    if let Some(from) = from {
        let problem = || Error::Usage(format!("the ledger has {}, none from {from} on", counted(size, "entry")));
        return (from <= size).then_some(from).ok_or_else(problem);
    }
    let Some(HandedOn { next, log }) = handed_on else { return Ok(0) };
    if log != origin {
        return Err(another_log(next, &log, origin));
    }
    if next > size {
        let (next, size) = (counted(next, "entry"), counted(size, "entry"));
        let problem = format!("{next} of log `{origin}` were handed on, and the ledger has {size}");
        return Err(Error::OtherLedger(problem));
    }
    Ok(next)
}

/// A ledger whose log has another name than what was handed on.
fn another_log(next: u64, log: &str, origin: &str) -> Error {
    let next = counted(next, "entry");
    Error::OtherLedger(format!("{next} of log `{log}` were handed on, and the log of this ledger is `{origin}`"))
}

struct Relay<'a> {
    runtime: &'a Runtime,
    options: &'a RelayOptions,
    heard: &'a dyn Fn(&Relayed),
    stop: &'a AtomicBool,
    cursor: EventCursor,
    origin: String,
    tally: RelayTally,
    /// Attempts that failed since the last success.
    failed: u32,
    /// The entry the cursor on the disk names.
    kept: Option<u64>,
}

/// One event on its way.
struct Outgoing {
    index: u64,
    /// Events with the same key keep their order.
    order: String,
    /// The log's name and the index.
    id: String,
    event: CloudEvent,
}

impl Relay<'_> {
    async fn run(&mut self) -> Result<(), Error> {
        let mut open: Option<Link> = None;
        while !self.is_stopped() {
            let Some(stream) = open.take() else {
                match self.options.broker.connected().await {
                    Ok(connected) => {
                        self.demand_continued(&connected)?;
                        open = Some(connected);
                    }
                    Err(problem) if !self.may_try_again(&problem) => return self.give_up(),
                    Err(_) => {}
                }
                continue;
            };
            let page = match self.page() {
                Ok(page) => page,
                Err(fault @ (Error::OtherLedger(_) | Error::LogUnnamed(_))) => return Err(fault),
                Err(fault) if self.options.once => return Err(fault),
                Err(fault) => {
                    open = Some(stream);
                    self.may_try_again(&fault.to_string());
                    continue;
                }
            };
            if page.is_empty() {
                open = Some(stream);
                self.keep()?;
                if self.options.once {
                    return Ok(());
                }
                self.wait_for_more();
                continue;
            }
            match self.hand_on(&stream, &page).await {
                Ok(()) => {
                    self.failed = 0;
                    self.keep()?;
                    open = Some(stream);
                }
                // A new connection knows best whether the server is back.
                Err(problem) if !self.may_try_again(&problem) => return self.give_up(),
                Err(_) => {}
            }
        }
        self.keep()
    }

    /// Refuses a stream that lacks what it was handed on before: it was removed, and whoever reads it would miss that.
    fn demand_continued(&self, link: &Link) -> Result<(), Error> {
        let next = self.tally.next;
        if !link.is_new() || next <= self.options.from.unwrap_or_default() {
            return Ok(());
        }
        let handed_on = counted(next, "entry");
        Err(Error::OtherLedger(format!("{handed_on} of log `{}` were handed on, and the stream is new", self.origin)))
    }

    /// What comes next, of the log that this began with: after a restore another one may lie there.
    fn page(&self) -> Result<Vec<StoredRecord>, Error> {
        let origin = log_of(self.runtime)?;
        if origin != self.origin {
            return Err(another_log(self.tally.next, &self.origin, &origin));
        }
        Ok(self.runtime.records(self.tally.next, PAGE)?)
    }

    /// Hands a page on, in waves of events of different flows, and moves behind it.
    async fn hand_on(&mut self, link: &Link, page: &[StoredRecord]) -> Result<(), String> {
        let (mut wave, mut orders): (Vec<Outgoing>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        let mut erased = 0;
        for record in page {
            let Some(outgoing) = self.outgoing(record) else {
                erased += 1;
                continue;
            };
            if !orders.insert(outgoing.order.clone()) {
                self.send(link, &wave).await?;
                wave.clear();
                orders = BTreeSet::from([outgoing.order.clone()]);
                self.tally.next = outgoing.index;
            }
            wave.push(outgoing);
        }
        self.send(link, &wave).await?;
        self.tally.erased += erased;
        self.tally.next = page.last().map_or(self.tally.next, |last| last.index.saturating_add(1));
        (self.heard)(&Relayed::UpTo(self.tally.next));
        Ok(())
    }

    async fn send(&mut self, link: &Link, wave: &[Outgoing]) -> Result<(), String> {
        self.tally.duplicates += link.send(wave).await?;
        self.tally.delivered += wave.len() as u64;
        Ok(())
    }

    fn outgoing(&self, record: &StoredRecord) -> Option<Outgoing> {
        let event = events::of(record)?;
        let (agent, flow) = events::whose(self.runtime, &event);
        let order = flow.or(agent).unwrap_or_default();
        let id = format!("{}/{}", self.origin, event.index);
        Some(Outgoing { index: event.index, order, id, event })
    }

    fn keep(&mut self) -> Result<(), Error> {
        if self.kept == Some(self.tally.next) {
            return Ok(());
        }
        self.kept = Some(self.tally.next);
        self.cursor.keep(&HandedOn { next: self.tally.next, log: self.origin.clone() })
    }

    /// Says why nothing is handed on, and waits; whether it is worth another attempt.
    fn may_try_again(&mut self, problem: &str) -> bool {
        self.failed = self.failed.saturating_add(1);
        if self.failed == 1 {
            (self.heard)(&Relayed::NotYet { index: self.tally.next, problem: problem.to_owned() });
        }
        if self.options.once && self.failed >= ONCE_MAX {
            return false;
        }
        let doubled = 1_u32.checked_shl(self.failed.saturating_sub(1)).unwrap_or(u32::MAX);
        let until = Instant::now() + self.options.pause.saturating_mul(doubled).min(PAUSE_MAX);
        while !self.is_stopped() && Instant::now() < until {
            std::thread::sleep(NOTICED_WITHIN.min(until.saturating_duration_since(Instant::now())));
        }
        true
    }

    fn give_up(&mut self) -> Result<(), Error> {
        self.tally.is_behind = true;
        self.keep()
    }

    fn wait_for_more(&self) {
        while !self.is_stopped() {
            let beyond = self.runtime.commits().wait_beyond(self.tally.next, Instant::now() + NOTICED_WITHIN);
            if beyond > self.tally.next {
                return;
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// The bytes of an event. One that no server takes says so instead of its data; the ledger has it.
fn payload(event: &CloudEvent, bytes_max: usize) -> Vec<u8> {
    let bytes = event.to_json().to_canonical().into_bytes();
    if bytes.len() <= bytes_max {
        return bytes;
    }
    let data = [("left_out_bytes".to_owned(), Json::from(bytes.len() as u64))].into();
    CloudEvent { data, ..event.clone() }.to_json().to_canonical().into_bytes()
}
