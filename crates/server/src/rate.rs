//! How much one caller may ask for: requests a second, and requests at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use values::ids::Digest;

/// Requests of one caller that are worked on at once.
const IN_FLIGHT_MAX: usize = 2_048;

/// Requests of one caller that read at once; more of them wait without a thread. Reading may look through many rows, so
/// whoever asks for it again and again must not take every thread there is.
const READING_MAX: usize = 8;

/// Callers that are remembered; those who were silent longest are forgotten, and begin with a full measure.
const CALLERS_MAX: usize = 10_000;

/// What every caller has used.
pub struct Rates {
    rate: u32,
    callers: Mutex<HashMap<Digest, Used>>,
}

struct Used {
    /// Requests that are left now.
    left: f64,
    seen: Instant,
    in_flight: Arc<AtomicUsize>,
    reading: Arc<Semaphore>,
    streams: Arc<AtomicUsize>,
}

/// A stream of events that is open; it counts until this is dropped.
pub struct OpenStream(Arc<AtomicUsize>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request that is worked on: whatever works on it keeps this until it is done, also where nobody waits any more.
pub struct Admission {
    in_flight: Arc<AtomicUsize>,
    reading: Arc<Semaphore>,
    turn: Option<OwnedSemaphorePermit>,
}

impl Admission {
    /// Waits until it may read.
    pub async fn reading(mut self) -> Admission {
        self.turn = self.reading.clone().acquire_owned().await.ok();
        self
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Rates {
    /// So many requests a second for each caller.
    pub fn new(rate: u32) -> Rates {
        Rates { rate: rate.max(1), callers: Mutex::new(HashMap::new()) }
    }

    /// So many requests a second.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Takes a request, or says how long to wait.
    pub fn admit(&self, caller: Digest, now: Instant) -> Result<Admission, Duration> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= CALLERS_MAX && !callers.contains_key(&caller) {
            let longest = callers.iter().min_by_key(|(_, used)| used.seen).map(|(caller, _)| *caller);
            longest.map(|caller| callers.remove(&caller));
        }
        let full = f64::from(self.rate);
        let used = callers.entry(caller).or_insert_with(|| Used {
            left: full,
            seen: now,
            in_flight: Arc::new(AtomicUsize::new(0)),
            reading: Arc::new(Semaphore::new(READING_MAX)),
            streams: Arc::default(),
        });
        used.left = (used.left + now.saturating_duration_since(used.seen).as_secs_f64() * full).min(full);
        used.seen = now;
        if used.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - used.left) / full));
        }
        if used.in_flight.load(Ordering::Relaxed) >= IN_FLIGHT_MAX {
            return Err(Duration::from_secs(1));
        }
        used.left -= 1.0;
        used.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(Admission { in_flight: used.in_flight.clone(), reading: used.reading.clone(), turn: None })
    }

    /// Opens a stream for a caller that was admitted, unless it has so many open.
    pub fn stream(&self, caller: Digest, most: usize) -> Option<OpenStream> {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever was forgotten since begins anew.
        let streams = callers.get(&caller).map(|used| used.streams.clone()).unwrap_or_default();
        // Only here is one added, under the lock.
        if streams.load(Ordering::Relaxed) >= most {
            return None;
        }
        streams.fetch_add(1, Ordering::Relaxed);
        Some(OpenStream(streams))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_gets_its_rate_and_no_more_and_others_are_not_touched() {
        let (rates, start) = (Rates::new(2), Instant::now());
        let [ann, bob] = ["ann", "bob"].map(Digest::of);
        let check = |caller: Digest, after: u64, expected: bool| {
            let admitted = rates.admit(caller, start + Duration::from_millis(after));
            assert_eq!(admitted.is_ok(), expected, "after {after} ms");
        };
        check(ann, 0, true);
        check(ann, 0, true);
        check(ann, 0, false);
        check(bob, 0, true);
        check(ann, 400, false);
        check(ann, 500, true);
        check(ann, 500, false);
        check(ann, 60_000, true);
    }

    #[test]
    fn a_caller_has_so_many_streams_open_and_another_as_many() {
        let (rates, now) = (Rates::new(100), Instant::now());
        let [ann, bob] = ["ann", "bob"].map(Digest::of);
        for caller in [ann, bob] {
            drop(rates.admit(caller, now));
        }
        let mut open: Vec<_> = (0..2).map(|_| rates.stream(ann, 2).unwrap()).collect();
        assert!(rates.stream(ann, 2).is_none() && rates.stream(bob, 2).is_some());
        open.pop();
        assert!(rates.stream(ann, 2).is_some());
    }

    #[tokio::test]
    async fn a_caller_reads_so_often_at_once_and_another_reads_meanwhile() {
        let (rates, now) = (Rates::new(100), Instant::now());
        let [ann, bob] = ["ann", "bob"].map(Digest::of);
        let admitted = |caller| rates.admit(caller, now).ok().unwrap();
        let mut reading = Vec::new();
        for _ in 0..READING_MAX {
            reading.push(admitted(ann).reading().await);
        }
        let soon = Duration::from_millis(1);
        assert!(tokio::time::timeout(soon, admitted(ann).reading()).await.is_err(), "one too many");
        drop(admitted(bob).reading().await);
        reading.pop();
        drop(admitted(ann).reading().await);
    }
}
