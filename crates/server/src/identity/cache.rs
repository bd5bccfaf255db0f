//! Who was recognized lately, for less than a second: a key that is revoked by another process stops within it, and what
//! this process changes is forgotten at once.

use super::Caller;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use values::ids::Digest;

/// How long it counts that somebody was recognized.
const COUNTS: Duration = Duration::from_millis(500);

/// Who is remembered at once.
const KNOWN_MAX: usize = 10_000;

/// What was found out about something that was shown.
#[derive(Clone)]
pub enum Known {
    /// Who it is.
    Caller(Caller),
    /// Nobody.
    Nobody,
}

/// Who was recognized lately, by the hash of what they showed.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<Digest, (Known, Instant)>>);

impl Cache {
    /// What is still known.
    pub fn get(&self, hash: &Digest, now: Instant) -> Option<Known> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, since) = known.get(hash)?;
        (now.saturating_duration_since(*since) < COUNTS).then(|| found.clone())
    }

    /// Remembers what was found out.
    pub fn keep(&self, hash: Digest, found: Known, now: Instant) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.retain(|_, (_, since)| now.saturating_duration_since(*since) < COUNTS);
        }
        if known.len() < KNOWN_MAX {
            known.insert(hash, (found, now));
        }
    }

    /// Something about keys, tokens or tenants was changed.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
