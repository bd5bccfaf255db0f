//! Events handed on to NATS JetStream: the ledger is the queue, and a cursor says how far the stream has it.
//!
//! Nothing here writes into the store, so whatever happens to the stream stops no decision. An event counts as handed on
//! when JetStream has acknowledged it. Events of one flow are handed on one after the other; those of different flows
//! may be on their way together.

use async_nats::jetstream::{self, stream::Config};
use async_nats::{ConnectOptions, HeaderMap};
use runtime::Runtime;
use runtime::ports::store::StoredRecord;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use values::json::Json;
use writkeeper::Error;
use writkeeper::event_cursor::EventCursor;
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

/// Room for subject and headers within what a server takes.
const HEADERS_MAX: usize = 4_096;

/// Where events go and from where.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// The server, such as `nats://127.0.0.1:4222` or `tls://nats.example`.
    pub url: String,
    /// The stream; it is made where there is none.
    pub stream: String,
    /// What every subject begins with.
    pub prefix: String,
    /// User and password.
    pub login: Option<(String, String)>,
    /// A file with the authorities that a server's certificate is checked with.
    pub authorities: Option<PathBuf>,
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
    let tasks = tasks.map_err(|error| Error::Unavailable(format!("no threads for NATS: {error}")))?;
    let receiver = format!("{} {} {} {}", options.url, options.stream, options.prefix, runtime.tenant());
    let cursor = EventCursor::open(location, &receiver)?;
    let next = match options.from {
        Some(from) => from,
        // A store that was restored may be shorter than what was handed on.
        None => cursor.next()?.unwrap_or_default().min(runtime.size()?),
    };
    let origin = match runtime.read(kernel::world::Entity::Tenant)? {
        Some(kernel::world::Row::Tenant(row)) => row.origin().map(str::to_owned),
        Some(_) | None => None,
    };
    let origin = origin.unwrap_or_else(|| events::source(runtime.tenant()));
    let tally = RelayTally { next, ..RelayTally::default() };
    let mut relay = Relay { runtime, options, heard, stop, cursor, origin, tally, failed: 0, kept: None };
    tasks.block_on(relay.run())?;
    Ok(relay.tally)
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
    subject: String,
    id: String,
    event: CloudEvent,
}

impl Relay<'_> {
    async fn run(&mut self) -> Result<(), Error> {
        let mut open: Option<(async_nats::Client, jetstream::Context)> = None;
        while !self.is_stopped() {
            let Some(stream) = open.take() else {
                match self.connected().await {
                    Ok(connected) => open = Some(connected),
                    Err(problem) if !self.may_try_again(&problem) => return self.give_up(),
                    Err(_) => {}
                }
                continue;
            };
            let page = match self.runtime.records(self.tally.next, PAGE) {
                Ok(page) => page,
                Err(fault) if self.options.once => return Err(fault.into()),
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

    async fn connected(&self) -> Result<(async_nats::Client, jetstream::Context), String> {
        let mut options = ConnectOptions::new().name("writkeeper").connection_timeout(ACKNOWLEDGED_WITHIN);
        if let Some((user, password)) = self.options.login.clone() {
            options = options.user_and_password(user, password);
        }
        if let Some(file) = &self.options.authorities {
            options = options.add_root_certificates(file.clone()).require_tls(true);
        }
        let client = options.connect(self.options.url.as_str()).await.map_err(|error| error.to_string())?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ACKNOWLEDGED_WITHIN);
        let config = Config {
            name: self.options.stream.clone(),
            subjects: vec![format!("{}.>", self.options.prefix)],
            ..Config::default()
        };
        context.get_or_create_stream(config).await.map_err(|error| format!("stream: {error}"))?;
        Ok((client, context))
    }

    /// Hands a page on, in waves of events of different flows, and moves behind it.
    async fn hand_on(
        &mut self,
        (client, context): &(async_nats::Client, jetstream::Context),
        page: &[StoredRecord],
    ) -> Result<(), String> {
        let bytes_max = client.max_payload().saturating_sub(HEADERS_MAX);
        let (mut wave, mut orders): (Vec<Outgoing>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        let mut erased = 0;
        for record in page {
            let Some(outgoing) = self.outgoing(record) else {
                erased += 1;
                continue;
            };
            if !orders.insert(outgoing.order.clone()) {
                self.send(context, bytes_max, &wave).await?;
                wave.clear();
                orders = BTreeSet::from([outgoing.order.clone()]);
                self.tally.next = outgoing.index;
            }
            wave.push(outgoing);
        }
        self.send(context, bytes_max, &wave).await?;
        self.tally.erased += erased;
        self.tally.next = page.last().map_or(self.tally.next, |last| last.index.saturating_add(1));
        (self.heard)(&Relayed::UpTo(self.tally.next));
        Ok(())
    }

    async fn send(&mut self, context: &jetstream::Context, bytes_max: usize, wave: &[Outgoing]) -> Result<(), String> {
        let mut sent = Vec::with_capacity(wave.len());
        for outgoing in wave {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", outgoing.id.as_str());
            headers.insert("Content-Type", "application/cloudevents+json");
            let bytes = payload(&outgoing.event, bytes_max);
            let published = context.publish_with_headers(outgoing.subject.clone(), headers, bytes.into()).await;
            sent.push(published.map_err(|error| error.to_string())?);
        }
        for acknowledged in sent {
            let acknowledged = acknowledged.await.map_err(|error| error.to_string())?;
            self.tally.delivered += 1;
            self.tally.duplicates += u64::from(acknowledged.duplicate);
        }
        Ok(())
    }

    fn outgoing(&self, record: &StoredRecord) -> Option<Outgoing> {
        let event = events::of(record)?;
        let (agent, flow) = events::whose(self.runtime, &event);
        let order = flow.or(agent).unwrap_or_default();
        let subject = format!("{}.{}.{}", self.options.prefix, token(&event.tenant), token(&event.kind));
        let id = format!("{}/{}", self.origin, event.index);
        Some(Outgoing { index: event.index, order, subject, id, event })
    }

    fn keep(&mut self) -> Result<(), Error> {
        if self.kept == Some(self.tally.next) {
            return Ok(());
        }
        self.kept = Some(self.tally.next);
        self.cursor.keep(self.tally.next)
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

/// A name as one token of a subject: what separates tokens, stands for others or is no plain letter is written in hex.
fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => token.push(char::from(byte)),
            other => token.push_str(&format!("%{other:02X}")),
        }
    }
    token
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_is_one_token_and_two_names_are_two() {
        let rows = [
            ("default", "default"),
            ("a.b", "a%2Eb"),
            ("a*", "a%2A"),
            (">", "%3E"),
            ("ä b", "%C3%A4%20b"),
            ("%2E", "%252E"),
        ];
        for (name, token) in rows {
            assert_eq!(super::token(name), token);
        }
    }
}
