//! Delivering: every endpoint reads the ledger at its own pace, from its own cursor, in order.

use super::endpoints::Endpoint;
use super::folder::Folder;
use super::message::Message;
use crate::error::Error;
use crate::notices::{self, QuestionTold};
use adapters::webhook_post::{Posted, Target, WebhookPost};
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::ports::clock::Clock;
use runtime::ports::store::StoredRecord;
use runtime::{Minted, Runtime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Records read at once.
const PAGE: usize = 256;

/// How soon `stop` is noticed.
const NOTICED_WITHIN: Duration = Duration::from_millis(100);

/// The ledger is looked at after so long, even if nobody told of a commit.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// Attempts at a notice that its receiver refuses each time; then it is left out, or it would stand before all others
/// for ever.
const REFUSED_MAX: u32 = 8;

/// Attempts at a notice where nobody waits for longer.
const ONCE_MAX: u32 = 4;

/// Entries without a notice after which it is kept how far an endpoint has come. A cursor that is behind costs a few reads
/// at the next start; one that is kept at every commit would make the disk wait for it.
const KEPT_EVERY: u64 = 4_096;

/// Open questions that are looked at for where a new endpoint begins.
const OPEN_MAX: usize = 100_000;

/// How it is delivered.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to end once everybody has heard of everything.
    pub once: bool,
    /// The first pause after an attempt that failed; it doubles, up to five minutes.
    pub pause: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { once: false, pause: Duration::from_secs(1) }
    }
}

/// What a person may want to hear about a delivery. Nothing in it is secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// An endpoint has a notice.
    Delivered { host: String, kind: &'static str, question: String, index: u64 },
    /// An endpoint has no notice yet; it is tried again.
    NotYet { host: String, index: u64, problem: String },
    /// An endpoint refused a notice again and again, and it was left out.
    LeftOut { host: String, index: u64, problem: String },
    /// An endpoint wants nothing any more; it hears of nothing until the next start.
    Gone { host: String },
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Notices that an endpoint has.
    pub delivered: u64,
    /// Notices that were left out because the endpoint refused them, or wants none any more.
    pub left_out: u64,
    /// Endpoints that have not heard of everything.
    pub behind: u64,
}

/// A notifier: who is told, by whom, from where.
pub struct Delivery<'a> {
    /// Whose ledger.
    pub runtime: &'a Runtime,
    /// What time messages carry.
    pub clock: Arc<dyn Clock>,
    /// Key and cursors.
    pub folder: &'a Folder,
    /// Who posts.
    pub post: WebhookPost,
    /// Hears of what was done.
    pub heard: &'a (dyn Fn(&Told) + Sync),
}

/// How an endpoint came out of a notice.
enum Ended {
    /// It has it, or it was left out: on to the next.
    Past,
    /// No more of this endpoint: it is gone, or this run ends.
    Over,
}

impl Delivery<'_> {
    /// Tells all endpoints, until `stop` or, with `once`, until all have heard of everything or cannot now.
    pub fn run(&self, endpoints: &[Endpoint], options: &Options, stop: &AtomicBool) -> Result<Tally, Error> {
        let tally = Mutex::new(Tally::default());
        let fault = Mutex::new(None);
        std::thread::scope(|scope| {
            for endpoint in endpoints {
                let (tally, fault) = (&tally, &fault);
                let told = Teller { delivery: self, endpoint, options, stop, tally };
                scope.spawn(move || {
                    if let Err(error) = told.tell() {
                        // The place where cursors are kept, or the store, is broken for all of them.
                        stop.store(true, Ordering::SeqCst);
                        *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                });
            }
        });
        match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// One endpoint being told.
struct Teller<'a> {
    delivery: &'a Delivery<'a>,
    endpoint: &'a Endpoint,
    options: &'a Options,
    stop: &'a AtomicBool,
    tally: &'a Mutex<Tally>,
}

impl Teller<'_> {
    fn tell(&self) -> Result<(), Error> {
        let mut cursor = self.begin()?;
        let mut kept = cursor;
        while !self.is_stopped() {
            let page = match self.delivery.runtime.records(cursor, PAGE) {
                Ok(page) => page,
                Err(fault) if self.options.once => return Err(fault.into()),
                // The store may be back at the next look.
                Err(_) => {
                    self.wait(LOOK_AGAIN);
                    continue;
                }
            };
            let Some(last) = page.last() else {
                if self.options.once {
                    return self.delivery.folder.keep_cursor(self.endpoint, cursor);
                }
                self.wait_for_more(cursor);
                continue;
            };
            let end = last.index.saturating_add(1);
            for record in page {
                match self.tell_of(&record)? {
                    Ended::Past => {}
                    Ended::Over => return Ok(()),
                }
            }
            cursor = end;
            if cursor.saturating_sub(kept) >= KEPT_EVERY {
                self.delivery.folder.keep_cursor(self.endpoint, cursor)?;
                kept = cursor;
            }
        }
        Ok(())
    }

    /// Where an endpoint goes on, or begins: with the oldest question that still waits for an answer. What is over by then
    /// is nobody's concern any more.
    fn begin(&self) -> Result<u64, Error> {
        let runtime = self.delivery.runtime;
        let size = runtime.size()?;
        // A store that was restored may be shorter than what the endpoint has heard of.
        if let Some(cursor) = self.delivery.folder.cursor(self.endpoint)? {
            return Ok(cursor.min(size));
        }
        let open = runtime.due(Kind::Escalation, values::time::Instant::from_micros(i64::MAX), OPEN_MAX)?;
        let asked = |row: &Row| if let Row::Escalation(row) = row { Some(row.asked_at) } else { None };
        let cursor = match open.iter().filter_map(|(_, row)| asked(row)).min() {
            Some(oldest) => runtime.first_at(oldest)?,
            None => size,
        };
        self.delivery.folder.keep_cursor(self.endpoint, cursor)?;
        Ok(cursor)
    }

    fn tell_of(&self, record: &StoredRecord) -> Result<Ended, Error> {
        let Some(told) = notices::of(record).filter(|told| self.endpoint.hears_of(told)) else {
            return Ok(Ended::Past);
        };
        if !self.concerns(&told)? {
            return Ok(Ended::Past);
        }
        let ended = self.deliver(&told);
        if matches!(ended, Ended::Past) {
            self.delivery.folder.keep_cursor(self.endpoint, told.index().saturating_add(1))?;
        }
        Ok(ended)
    }

    /// Whether the question is one of the groups the endpoint is told for. Where nobody knows any more, it is told.
    fn concerns(&self, told: &QuestionTold) -> Result<bool, Error> {
        if self.endpoint.is_for_all() {
            return Ok(true);
        }
        let row = self.delivery.runtime.read(Entity::Escalation(told.question.clone()))?;
        let Some(Row::Escalation(row)) = row else {
            return Ok(told.groups.as_ref().is_none_or(|groups| self.endpoint.is_for(groups)));
        };
        let own: Vec<String> = match &told.groups {
            Some(groups) => groups.clone(),
            // How it ended concerns everybody who was asked.
            None => row.entitled(self.delivery.clock.now()).into_iter().map(str::to_owned).collect(),
        };
        Ok(self.endpoint.is_for(&own))
    }

    /// Tries until the endpoint has it, refuses it for good, or this run ends.
    fn deliver(&self, told: &QuestionTold) -> Ended {
        let (host, index) = (self.endpoint.host().to_owned(), told.index());
        let body = told.to_json().to_canonical();
        let key = self.delivery.folder.key();
        let id = Message::id(&key.public(), told.tenant(), index);
        let (mut attempts, mut refused) = (0_u32, 0_u32);
        loop {
            let problem = match self.post(&id, &body) {
                Posted::Delivered => {
                    self.count(|tally| tally.delivered += 1);
                    let (kind, question) = (told.kind.word(), told.question.clone());
                    (self.delivery.heard)(&Told::Delivered { host, kind, question, index });
                    return Ended::Past;
                }
                Posted::Gone => {
                    self.count(|tally| tally.behind += 1);
                    (self.delivery.heard)(&Told::Gone { host });
                    return Ended::Over;
                }
                Posted::Refused(status) => {
                    refused = refused.saturating_add(1);
                    format!("HTTP {status}")
                }
                Posted::NotNow(problem) => problem,
            };
            attempts = attempts.saturating_add(1);
            if refused >= REFUSED_MAX {
                self.count(|tally| tally.left_out += 1);
                (self.delivery.heard)(&Told::LeftOut { host, index, problem });
                return Ended::Past;
            }
            if attempts == 1 {
                (self.delivery.heard)(&Told::NotYet { host: host.clone(), index, problem });
            }
            let [seed, _] = Minted::seeds();
            let is_last = self.options.once && refused == 0 && attempts >= ONCE_MAX;
            if is_last || !self.wait(pause(self.options.pause, attempts, seed)) {
                self.count(|tally| tally.behind += 1);
                return Ended::Over;
            }
        }
    }

    fn post(&self, id: &str, body: &str) -> Posted {
        let seconds = self.delivery.clock.now().micros().div_euclid(1_000_000);
        let message = Message::sign(self.delivery.folder.key(), id.to_owned(), seconds, body);
        let headers = [
            ("content-type", "application/cloudevents+json"),
            ("webhook-id", message.id.as_str()),
            ("webhook-timestamp", message.timestamp.as_str()),
            ("webhook-signature", message.signature.as_str()),
        ];
        let target = Target { url: self.endpoint.url(), host: self.endpoint.host(), by_tls: self.endpoint.by_tls() };
        self.delivery.post.post(target, &headers, body)
    }

    fn count(&self, count: impl FnOnce(&mut Tally)) {
        count(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Waits until there are more records than these.
    fn wait_for_more(&self, cursor: u64) {
        let until = Instant::now() + LOOK_AGAIN;
        while !self.is_stopped() && Instant::now() < until {
            if self.delivery.runtime.commits().wait_beyond(cursor, Instant::now() + NOTICED_WITHIN) > cursor {
                return;
            }
        }
    }

    /// Waits for so long; whether this run goes on.
    fn wait(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_stopped() || left.is_zero() {
                return !self.is_stopped();
            }
            std::thread::sleep(left.min(NOTICED_WITHIN));
        }
    }
}

/// How long to wait after so many attempts that failed: twice as long after each, and by chance between half of that and
/// all of it, so that notifiers that failed together do not come back together.
fn pause(first: Duration, attempts: u32, chance: u64) -> Duration {
    let whole = first.saturating_mul(1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX)).min(PAUSE_MAX);
    let half = whole / 2;
    let part = u32::try_from(chance % 1_024).unwrap_or(0);
    half + half * part / 1_024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_lie_between_half_and_all_of_it() {
        let first = Duration::from_secs(1);
        for (attempts, whole) in [(1, 1), (2, 2), (5, 16), (9, 256), (10, 300), (33, 300), (u32::MAX, 300)] {
            let whole = Duration::from_secs(whole);
            assert_eq!(pause(first, attempts, 0), whole / 2, "{attempts}");
            let longest = pause(first, attempts, 1_023);
            assert!(longest > whole * 9 / 10 && longest < whole, "{attempts}: {longest:?}");
        }
    }
}
