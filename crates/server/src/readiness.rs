//! Whether decisions are kept. A store that can be read may still take nothing, because its disk is full for example.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a decision that was not kept counts. Then the service is ready again, and the next decision says whether it is:
/// nobody sends one to a service that is not ready.
const COUNTS: Duration = Duration::from_secs(5);

/// A service that kept a decision so shortly before is only busy: a full queue refuses while others are kept.
const BUSY: Duration = Duration::from_secs(1);

/// What became of the latest decisions.
#[derive(Default)]
pub struct Readiness(Mutex<Latest>);

#[derive(Default)]
struct Latest {
    kept: Option<Instant>,
    refused: Option<(Instant, String)>,
    is_told: bool,
}

impl Latest {
    /// The latest decision that was not kept, unless the service was only busy.
    fn failure(&self) -> Option<&(Instant, String)> {
        let is_alone = |at: Instant| self.kept.is_none_or(|kept| at.saturating_duration_since(kept) >= BUSY);
        self.refused.as_ref().filter(|(at, _)| is_alone(*at))
    }
}

impl Readiness {
    /// A decision was kept.
    pub fn kept(&self, now: Instant) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.kept = Some(now);
        if latest.refused.is_some() {
            latest.refused = None;
            latest.is_told = false;
        }
    }

    /// A decision was not kept; whether an operator should hear of it, which is once until one is kept again.
    pub fn refused(&self, problem: &str, now: Instant) -> bool {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.refused = Some((now, problem.to_owned()));
        latest.failure().is_some() && !std::mem::replace(&mut latest.is_told, true)
    }

    /// Why no decision is kept at present.
    pub fn problem(&self, now: Instant) -> Option<String> {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = latest.failure().filter(|(at, _)| now.saturating_duration_since(*at) < COUNTS);
        recent.map(|(_, problem)| problem.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_not_ready_until_a_decision_is_kept_or_time_has_passed() {
        let (readiness, now) = (Readiness::default(), Instant::now());
        assert_eq!(readiness.problem(now), None);
        assert!(readiness.refused("the disk is full", now), "the first is told");
        assert!(!readiness.refused("the disk is full", now), "and the second is not");
        assert_eq!(readiness.problem(now).as_deref(), Some("the disk is full"));
        assert_eq!(readiness.problem(now + COUNTS), None);
        readiness.kept(now);
        assert_eq!(readiness.problem(now), None);
        assert!(readiness.refused("the disk is full", now + BUSY), "it is told again");
    }

    #[test]
    fn a_service_that_keeps_decisions_and_refuses_others_is_busy_and_ready() {
        let (readiness, now) = (Readiness::default(), Instant::now());
        readiness.kept(now);
        assert!(!readiness.refused("too many at once", now + BUSY / 2));
        assert_eq!(readiness.problem(now + BUSY / 2), None);
    }
}
