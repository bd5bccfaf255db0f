//! Rolling windows: at most so much in any window of this length.

use crate::decimal::Decimal;
use crate::time::{Duration, Instant};

/// Entries a window keeps; up to so many events it is exact.
pub const ENTRIES_MAX: usize = 64;

/// What was taken and when, newest last.
///
/// When full, the two closest neighbours merge under the later instant: amounts then count longer than they
/// should, never shorter, so no window ever admits more than its maximum.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Window {
    entries: Vec<(Instant, Decimal)>,
}

impl Window {
    /// Sum of what still counts at an instant; `None` on overflow, which the caller must treat as full.
    pub fn used(&self, at: Instant, per: Duration) -> Option<Decimal> {
        let start = at.minus(per);
        self.entries
            .iter()
            .filter(|(taken_at, _)| *taken_at > start)
            .try_fold(Decimal::ZERO, |sum, (_, amount)| sum.checked_add(*amount))
    }

    /// Whether so much more fits.
    pub fn fits(&self, at: Instant, per: Duration, amount: Decimal, max: Decimal) -> bool {
        self.used(at, per).and_then(|used| used.checked_add(amount)).is_some_and(|total| total <= max)
    }

    /// Takes an amount. What has left the window is forgotten.
    pub fn take(&mut self, at: Instant, per: Duration, amount: Decimal) {
        let start = at.minus(per);
        self.entries.retain(|(taken_at, _)| *taken_at > start);
        let position = self.entries.partition_point(|(taken_at, _)| *taken_at <= at);
        self.entries.insert(position, (at, amount));
        if self.entries.len() > ENTRIES_MAX {
            self.merge_closest();
        }
    }

    /// Gives an amount back; used when what was taken did not happen.
    pub fn give_back(&mut self, taken_at: Instant, amount: Decimal) {
        // The first entry not older than the taking holds it: entries merge only under the later instant.
        let found = self.entries.iter_mut().find(|(at, held)| *at >= taken_at && *held >= amount);
        if let Some((_, held)) = found {
            *held = held.checked_sub(amount).unwrap_or(Decimal::ZERO);
        }
        self.entries.retain(|(_, held)| !held.is_zero());
    }

    fn merge_closest(&mut self) {
        let gaps = self.entries.windows(2).enumerate().filter_map(|(index, pair)| match pair {
            [(earlier, _), (later, _)] => Some((later.since(*earlier), index)),
            _ => None,
        });
        let Some((_, index)) = gaps.min() else { return };
        let earlier = self.entries.remove(index);
        if let Some((_, amount)) = self.entries.get_mut(index) {
            // Amounts that do not add up are kept at the larger: too much counted is safe.
            *amount = amount.checked_add(earlier.1).unwrap_or(*amount).max(earlier.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(seconds: i64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn what_left_the_window_is_free_again() {
        let mut window = Window::default();
        window.take(at(0), HOUR, Decimal::from(60));
        assert!(!window.fits(at(3599), HOUR, Decimal::from(50), Decimal::from(100)));
        assert!(window.fits(at(3600), HOUR, Decimal::from(50), Decimal::from(100)));
    }

    #[test]
    fn a_full_window_counts_longer_never_shorter() {
        let mut window = Window::default();
        for second in 0..1_000 {
            if window.fits(at(second), HOUR, Decimal::from(1), Decimal::from(100)) {
                window.take(at(second), HOUR, Decimal::from(1));
            }
        }
        assert_eq!(window.used(at(1_000), HOUR), Some(Decimal::from(100)));
        assert!(window.entries.len() <= ENTRIES_MAX);
    }

    #[test]
    fn what_did_not_happen_is_given_back() {
        let mut window = Window::default();
        window.take(at(1), HOUR, Decimal::from(60));
        window.take(at(2), HOUR, Decimal::from(30));
        window.give_back(at(1), Decimal::from(60));
        assert_eq!(window.used(at(3), HOUR), Some(Decimal::from(30)));
    }
}
