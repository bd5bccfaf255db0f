//! The machine's clock.

use runtime::ports::clock::Clock;
use std::time::{SystemTime, UNIX_EPOCH};
use values::time::Instant;

/// The machine's clock, in whole microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Instant::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}
