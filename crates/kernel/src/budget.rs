//! Rolling windows: at most so much in any window of this length.

use crate::stored::instant_of;
use std::fmt::Write as _;
use values::decimal::Decimal;
use values::json::{Json, Members};
use values::time::{Duration, Instant};

/// Entries a window keeps; up to so many events it is exact.
pub const ENTRIES_MAX: usize = 64;

/// What was taken and when, newest last.
///
/// When full, the two closest neighbours merge under the later instant: amounts then count longer than they
/// should, never shorter, so no window ever admits more than its maximum.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    entries: Vec<(Instant, Decimal)>,
    /// INVARIANT: the exact sum of the entries, or `None` where that cannot be held.
    total: Option<Decimal>,
    /// Entries up to this instant may have been forgotten; a window that reaches back so far counts as full.
    forgotten: Option<Instant>,
}

impl Default for Window {
    fn default() -> Window {
        Window { entries: Vec::new(), total: Some(Decimal::ZERO), forgotten: None }
    }
}

impl Window {
    /// Sum of what still counts at an instant; `None` on overflow, which the caller must treat as full.
    pub fn used(&self, at: Instant, per: Duration) -> Option<Decimal> {
        let start = at.minus(per);
        if self.forgotten.is_some_and(|forgotten| forgotten > start) {
            return None;
        }
        // Entries stand in order of time: what has left stands in front, and mostly nothing has.
        let left = self.entries.partition_point(|(taken_at, _)| *taken_at <= start);
        let (gone, live) = self.entries.split_at_checked(left)?;
        match self.total {
            Some(total) => gone.iter().try_fold(total, |sum, (_, amount)| sum.checked_sub(*amount)),
            None => live.iter().try_fold(Decimal::ZERO, |sum, (_, amount)| sum.checked_add(*amount)),
        }
    }

    /// Whether so much more fits.
    pub fn fits(&self, at: Instant, per: Duration, amount: Decimal, max: Decimal) -> bool {
        self.used(at, per).and_then(|used| used.checked_add(amount)).is_some_and(|total| total <= max)
    }

    /// Takes an amount. When the entries are many, what has left the window is forgotten.
    pub fn take(&mut self, at: Instant, per: Duration, amount: Decimal) {
        if self.entries.len() >= ENTRIES_MAX {
            self.forget_before(at.minus(per));
        }
        let position = self.entries.partition_point(|(taken_at, _)| *taken_at <= at);
        self.entries.insert(position, (at, amount));
        self.total = self.total.and_then(|total| total.checked_add(amount));
        if self.entries.len() > ENTRIES_MAX {
            self.merge_closest();
        }
        if self.total.is_none() {
            self.recount();
        }
    }

    /// Instants may come out of order, so nothing is forgotten without a mark.
    fn forget_before(&mut self, start: Instant) {
        let left = self.entries.partition_point(|(taken_at, _)| *taken_at <= start);
        for (taken_at, gone) in self.entries.drain(..left) {
            self.total = self.total.and_then(|total| total.checked_sub(gone));
            self.forgotten = self.forgotten.max(Some(taken_at));
        }
    }

    /// Gives an amount back; used when what was taken did not happen.
    pub fn give_back(&mut self, taken_at: Instant, amount: Decimal) {
        // What is forgotten already must not be taken from what came later.
        if self.forgotten.is_some_and(|forgotten| taken_at <= forgotten) {
            return;
        }
        // The first entries not older than the taking hold it: entries merge only under the later instant, and those of
        // one instant cannot be told apart. What is left is then never older than what was really left.
        let mut left = amount;
        let start = self.entries.partition_point(|(at, _)| *at < taken_at);
        for (_, held) in self.entries.iter_mut().skip(start) {
            let part = left.min(*held);
            *held = held.checked_sub(part).unwrap_or(Decimal::ZERO);
            left = left.checked_sub(part).unwrap_or(Decimal::ZERO);
            if left.is_zero() {
                break;
            }
        }
        self.entries.retain(|(_, held)| !held.is_zero());
        self.recount();
    }

    /// Appends what a store keeps.
    pub(crate) fn write(&self, text: &mut String) {
        Members::object(text, |members| {
            members.list("entries", &self.entries, |(at, amount), text| {
                let _ = write!(text, "[{},\"", at.micros());
                amount.write(text);
                text.push_str("\"]");
            });
            match self.forgotten {
                Some(at) => members.whole("forgotten", at.micros()),
                None => members.null("forgotten"),
            }
        });
    }

    /// Reads back what `Window::write` wrote; `None` is damage.
    pub fn from_json(json: &Json) -> Option<Window> {
        let entry = |item: &Json| {
            let [at, amount] = item.as_list()? else { return None };
            Some((Instant::from_micros(at.as_number()?.to_i64()?), Decimal::parse(amount.as_text()?)?))
        };
        let entries: Vec<_> = json.get("entries")?.as_list()?.iter().map(entry).collect::<Option<_>>()?;
        let mut window = Window { entries, total: None, forgotten: instant_of(json, "forgotten") };
        window.recount();
        Some(window)
    }

    fn recount(&mut self) {
        self.total = self.entries.iter().try_fold(Decimal::ZERO, |sum, (_, amount)| sum.checked_add(*amount));
    }

    fn merge_closest(&mut self) {
        let gaps = self.entries.windows(2).enumerate().filter_map(|(index, pair)| match pair {
            [(earlier, _), (later, _)] => Some((later.since(*earlier), index)),
            _ => None,
        });
        let Some((_, index)) = gaps.min() else { return };
        let earlier = self.entries.remove(index);
        let Some((_, amount)) = self.entries.get_mut(index) else { return };
        // What was taken fitted a maximum that can be held, so the sum can be held too.
        *amount = amount.checked_add(earlier.1).unwrap_or((*amount).max(earlier.1));
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
    fn instants_out_of_order_admit_nothing_more() {
        let (max, day) = (Decimal::from(100), Duration::from_secs(86_400));
        let mut window = Window::default();
        window.take(at(0), day, Decimal::from(100));
        window.take(at(86_401), day, Decimal::from(1));
        assert!(!window.fits(at(2), day, Decimal::from(99), max));
        for second in 0..200 {
            window.take(at(200_000 + second), day, Decimal::from(1));
        }
        assert!(!window.fits(at(2), day, Decimal::from(99), max), "what was forgotten counts as full");
    }

    #[test]
    fn what_did_not_happen_is_given_back() {
        let mut window = Window::default();
        window.take(at(1), HOUR, Decimal::from(60));
        window.take(at(2), HOUR, Decimal::from(30));
        window.give_back(at(1), Decimal::from(60));
        assert_eq!(window.used(at(3), HOUR), Some(Decimal::from(30)));
    }

    #[test]
    fn takings_of_one_instant_are_given_back_from_that_instant() {
        let mut window = Window::default();
        for amount in [3, 5, 2] {
            window.take(at(1), HOUR, Decimal::from(amount));
        }
        window.take(at(2), HOUR, Decimal::from(9));
        for amount in [2, 3, 5] {
            window.give_back(at(1), Decimal::from(amount));
        }
        assert_eq!(window.used(at(3_601), HOUR), Some(Decimal::from(9)), "what came later still counts");
        assert_eq!(window.used(at(3), HOUR), Some(Decimal::from(9)));
    }

    #[test]
    fn a_line_that_comes_late_finds_its_window_as_it_was() {
        let mut window = Window::default();
        window.take(at(0), HOUR, Decimal::from(60));
        window.take(at(3600), HOUR, Decimal::from(1));
        assert!(!window.fits(at(10), HOUR, Decimal::from(50), Decimal::from(100)));
        assert_eq!(window.used(at(10), HOUR), Some(Decimal::from(61)), "nothing is forgotten while there is room");
    }

    #[test]
    fn a_window_is_kept_as_it_was() {
        let check = |window: &Window, expected: &str| {
            let mut text = String::new();
            window.write(&mut text);
            assert_eq!(text, expected);
            assert_eq!(Window::from_json(&Json::parse(text.as_bytes()).unwrap()).as_ref(), Some(window));
        };
        let mut window = Window::default();
        check(&window, r#"{"entries":[],"forgotten":null}"#);
        window.take(at(1), HOUR, Decimal::parse("0.10").unwrap());
        window.take(at(2), HOUR, Decimal::from(3));
        check(&window, r#"{"entries":[[1000000,"0.1"],[2000000,"3"]],"forgotten":null}"#);
        window.forget_before(at(1));
        check(&window, r#"{"entries":[[2000000,"3"]],"forgotten":1000000}"#);
        for damage in [r#"{"entries":[[1]]}"#, r#"{"entries":[[1,3]]}"#, r#"{}"#] {
            assert_eq!(Window::from_json(&Json::parse(damage.as_bytes()).unwrap()), None, "{damage}");
        }
    }

    #[test]
    fn what_left_the_window_is_not_given_back_by_what_came_later() {
        let mut window = Window::default();
        window.take(at(0), HOUR, Decimal::from(60));
        for second in 4_000..4_000 + ENTRIES_MAX as i64 {
            window.take(at(second), HOUR, Decimal::from(70));
        }
        let used = window.used(at(4_100), HOUR);
        window.give_back(at(0), Decimal::from(60));
        assert_eq!(window.used(at(4_100), HOUR), used);
    }
}
