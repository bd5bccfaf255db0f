//! Rolling windows against the whole history: whatever fits and is taken, no window ever holds more than its maximum.

use kernel::budget::{ENTRIES_MAX, Window};
use proptest::prelude::*;
use values::decimal::Decimal;
use values::time::{Duration, Instant};

const PER: Duration = Duration::from_secs(600);

/// Everything that was ever taken, newest last.
type History = Vec<(Instant, i64)>;

fn at(seconds: i64) -> Instant {
    Instant::from_micros(seconds * 1_000_000)
}

fn cents(count: i64) -> Decimal {
    Decimal::from(count).checked_div(Decimal::from(100)).unwrap_or(Decimal::ZERO)
}

/// What the window of this length that ends at an instant holds.
fn held(history: &History, end: Instant) -> i64 {
    let within = |taken_at: Instant| taken_at > end.minus(PER) && taken_at <= end;
    history.iter().filter(|(taken_at, _)| within(*taken_at)).map(|(_, amount)| amount).sum()
}

fn fullest(history: &History) -> i64 {
    history.iter().map(|(end, _)| held(history, *end)).max().unwrap_or_default()
}

/// Entries in the window that ends at an instant.
fn entries(history: &History, end: Instant) -> usize {
    history.iter().filter(|(taken_at, _)| *taken_at > end.minus(PER)).count()
}

fn gap() -> impl Strategy<Value = i64> {
    prop_oneof![3 => 0..4_i64, 1 => 0..700_i64]
}

fn check_in_order(takes: Vec<(i64, i64)>, max: i64) -> Result<(), TestCaseError> {
    let (mut window, mut history, mut now, mut exact) = (Window::default(), History::new(), 0, true);
    for (later, amount) in takes {
        now += later;
        let fits = window.fits(at(now), PER, cents(amount), cents(max));
        let truly = held(&history, at(now)) + amount <= max;
        prop_assert!(!fits || truly, "{} more at {} is too much", amount, now);
        if exact {
            prop_assert_eq!(fits, truly, "{} more at {}", amount, now);
        }
        if fits {
            window.take(at(now), PER, cents(amount));
            history.push((at(now), amount));
            exact &= entries(&history, at(now)) <= ENTRIES_MAX;
        }
    }
    prop_assert!(fullest(&history) <= max);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// In order of time: exact while no window holds more entries than are kept, and never too much beyond.
    #[test]
    fn no_window_ever_holds_more_than_its_maximum(
        takes in prop::collection::vec((gap(), 1..500_i64), 1..220),
        max in 200..20_000_i64,
    ) {
        check_in_order(takes, max)?;
    }

    /// With more entries than are kept, at a pace that keeps the window full while the oldest leave it.
    #[test]
    fn a_crowded_window_never_holds_more(
        takes in prop::collection::vec((1..9_i64, 1..4_i64), 300..420),
        max in 150..260_i64,
    ) {
        check_in_order(takes, max)?;
    }

    /// In any order: what comes late is not judged as if nothing had been there.
    #[test]
    fn no_window_holds_more_in_any_order(
        takes in prop::collection::vec((0..3000_i64, 1..50_i64), 1..300),
        max in 200..3_000_i64,
    ) {
        let (mut window, mut history) = (Window::default(), History::new());
        for (second, amount) in takes {
            if window.fits(at(second), PER, cents(amount), cents(max)) {
                window.take(at(second), PER, cents(amount));
                history.push((at(second), amount));
            }
        }
        prop_assert!(fullest(&history) <= max);
    }

    /// With more entries than are kept and a line that comes late now and then: what was forgotten still counts.
    #[test]
    fn what_is_forgotten_is_not_free(
        takes in prop::collection::vec((prop_oneof![12 => 1..30_i64, 1 => -1500..0_i64], 1..5_i64), 200..320),
        max in 60..200_i64,
    ) {
        let (mut window, mut history, mut now) = (Window::default(), History::new(), 0);
        for (step, amount) in takes {
            let second = now + step;
            now = now.max(second);
            if window.fits(at(second), PER, cents(amount), cents(max)) {
                window.take(at(second), PER, cents(amount));
                history.push((at(second), amount));
            }
        }
        prop_assert!(fullest(&history) <= max);
    }

    /// What did not happen is given back once, and never from something else.
    #[test]
    fn giving_back_leaves_the_rest(
        takes in prop::collection::vec((0..60_i64, 1..500_i64, any::<bool>()), 1..150),
    ) {
        let (mut window, mut history, mut now) = (Window::default(), History::new(), 0);
        let (mut taken, mut exact) = (History::new(), true);
        for (later, amount, happened) in takes {
            now += later;
            window.take(at(now), PER, cents(amount));
            history.push((at(now), amount));
            taken.push((at(now), amount));
            if !happened && let Some((taken_at, amount)) = history.first().copied() {
                history.remove(0);
                window.give_back(taken_at, cents(amount));
            }
            let (used, truly) = (window.used(at(now), PER), cents(held(&history, at(now))));
            prop_assert!(used.is_none_or(|used| used >= truly), "{:?} of {} counted at {}", used, truly, now);
            exact &= entries(&taken, at(now)) <= ENTRIES_MAX;
            if exact {
                prop_assert_eq!(used, Some(truly), "at {}", now);
            }
        }
    }
}
