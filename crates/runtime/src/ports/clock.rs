//! Time, as a store reads it after its locks are taken.

use crate::ports::store::StoreFault;
use values::time::Instant;

/// Says what time it is.
pub trait Clock: Send + Sync {
    /// Now, UTC.
    fn now(&self) -> Instant;
}

/// The instant of a batch: now, and never before an instant the ledger has seen.
///
/// The second value says that the clock ran backwards, which someone should hear of. A clock behind
/// [`Instant::DECISIONS_END`] is refused before anything is written: no later decision could be earlier again.
pub fn decision_instant(now: Instant, last: Option<Instant>) -> Result<(Instant, bool), StoreFault> {
    if now >= Instant::DECISIONS_END {
        let end = Instant::DECISIONS_END;
        let problem = format!("the clock says {now}, and no decision is taken from {end} on; set the clock");
        return Err(StoreFault::Unavailable(problem));
    }
    Ok(match last {
        Some(last) if now < last => (Instant::from_micros(last.micros().saturating_add(1)), true),
        Some(_) | None => (now, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_never_decreases() {
        let at = Instant::from_micros;
        assert_eq!(decision_instant(at(5), None), Ok((at(5), false)));
        assert_eq!(decision_instant(at(5), Some(at(5))), Ok((at(5), false)));
        assert_eq!(decision_instant(at(4), Some(at(5))), Ok((at(6), true)));
        let late = decision_instant(Instant::DECISIONS_END, None).map_err(|fault| fault.to_string());
        assert!(late.is_err_and(|problem| problem.contains("set the clock")));
    }
}
