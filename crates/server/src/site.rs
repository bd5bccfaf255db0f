//! What all requests share.

use crate::following::Waits;
use crate::identity::cache::Cache;
use crate::identity::jwt::Verifier;
use crate::identity::logins::Logins;
use crate::options::ServeOptions;
use crate::rate::Rates;
use crate::readiness::Readiness;
use crate::tenants::Tenants;
use runtime::memory::ManualClock;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, watch};

/// Refused callers that are told of one by one; then only their number is kept.
const TOLD_MAX: u64 = 100;

/// Addresses with too many connections that are told of.
const CROWDS_MAX: usize = 64;

/// The service as every request sees it.
pub struct Site {
    /// How it was started.
    pub options: ServeOptions,
    /// The parts of the store that were asked for.
    pub tenants: Tenants,
    /// Who was known lately.
    pub cache: Cache,
    /// Who is signed in with a browser.
    pub logins: Logins,
    /// What callers have used.
    pub rates: Rates,
    /// Who vouches for people besides us.
    pub verifier: Option<Verifier>,
    /// Who waits for what becomes of a decision.
    pub waits: Waits,
    /// For tests: the clock that proposals set.
    pub lines: Option<Arc<ManualClock>>,
    /// Whether it is to end.
    pub ending: watch::Sender<bool>,
    /// Whether decisions were kept lately.
    pub readiness: Readiness,
    /// One look at the store for a probe at a time: anybody may ask, and a store that stands still would hold a thread for
    /// each of them.
    pub probing: Arc<Semaphore>,
    strangers: AtomicU64,
    crowds: Mutex<BTreeSet<IpAddr>>,
    is_told: AtomicBool,
    log: Mutex<Log>,
}

/// Is told what an operator should hear.
pub type Log = Box<dyn FnMut(&str) + Send>;

impl Site {
    /// Of its parts.
    pub fn new(
        options: ServeOptions,
        tenants: Tenants,
        lines: Option<Arc<ManualClock>>,
        verifier: Option<Verifier>,
        log: Log,
    ) -> Site {
        Site {
            tenants,
            lines,
            waits: Waits::default(),
            cache: Cache::default(),
            logins: Logins::default(),
            rates: Rates::new(options.rate),
            verifier,
            ending: watch::Sender::new(false),
            readiness: Readiness::default(),
            probing: Arc::new(Semaphore::new(1)),
            strangers: AtomicU64::new(0),
            crowds: Mutex::default(),
            is_told: AtomicBool::new(false),
            log: Mutex::new(log),
            options,
        }
    }

    /// Tells the operator.
    pub fn tell(&self, said: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log(said);
    }

    /// A connection too many came from one address. Of each address it is told once, and of the first ones only.
    pub fn crowd(&self, address: IpAddr, most: usize) {
        let mut known = self.crowds.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < CROWDS_MAX && known.insert(address) {
            self.tell(&format!(
                "{address} has {most} connections open, so no more are taken from there (--per-address)"
            ));
        }
    }

    /// Somebody came whom nobody knows. It is counted; of the first ones it is told, and never what they showed.
    pub fn stranger(&self, path: &str) {
        let count = self.strangers.fetch_add(1, Ordering::Relaxed);
        if count < TOLD_MAX {
            self.tell(&format!("refused somebody without a key that counts: {}", kernel::finding::visible(path)));
        } else if !self.is_told.swap(true, Ordering::Relaxed) {
            self.tell(&format!("refused {TOLD_MAX} callers without a key that counts; the next ones are only counted"));
        }
    }
}
