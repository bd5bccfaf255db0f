//! Time, as a store reads it after its locks are taken.

use kernel::time::Instant;

/// Says what time it is.
pub trait Clock: Send + Sync {
    /// Now, UTC.
    fn now(&self) -> Instant;
}

/// The instant of a batch: now, and never before an instant the ledger has seen.
///
/// The second value says that the clock ran backwards, which someone should hear of.
pub fn decision_instant(now: Instant, last: Option<Instant>) -> (Instant, bool) {
    match last {
        Some(last) if now < last => (Instant::from_micros(last.micros().saturating_add(1)), true),
        Some(_) | None => (now, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_never_decreases() {
        let at = Instant::from_micros;
        assert_eq!(decision_instant(at(5), None), (at(5), false));
        assert_eq!(decision_instant(at(5), Some(at(5))), (at(5), false));
        assert_eq!(decision_instant(at(4), Some(at(5))), (at(6), true));
    }
}
