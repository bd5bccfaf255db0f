//! Bands: the mean, sum or share of a rolling window must stay between two bounds. Exact; no floats.

use super::settings::Over;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};
use std::collections::VecDeque;
use values::decimal::Decimal;
use values::time::Instant;

/// Values that a window by count keeps.
const COUNT_MAX: u64 = 1_000;

/// Entries that a window by time keeps; beyond that the two closest neighbours become one under the later instant.
const ENTRIES_MAX: usize = 64;

/// A mean or share of fewer values in a window by time says nothing.
const AT_LEAST: u64 = 10;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Band {
    measure: Measure,
    window: RollingWindow,
    at_least: u64,
    min: Option<Decimal>,
    max: Option<Decimal>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    Mean,
    Sum,
    Share,
}

/// The latest values, by count or by time.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RollingWindow {
    over: Over,
    /// Oldest first: the instant, how many values, their sum.
    entries: VecDeque<(Instant, u64, Decimal)>,
    count: u64,
    sum: Decimal,
}

impl RollingWindow {
    pub(super) fn new(settings: &mut Settings, unset: u64) -> Result<RollingWindow, SettingFault> {
        let over = settings.over(COUNT_MAX, unset)?;
        Ok(RollingWindow { over, entries: VecDeque::new(), count: 0, sum: Decimal::ZERO })
    }

    /// Takes a value; whether it could. What is over is forgotten first. Where the rest and the value cannot be summed
    /// exactly, the window begins anew with the value: the sum is always that of the entries.
    pub(super) fn push(&mut self, value: Decimal, at: Instant) -> bool {
        // By count no instant matters, and none is kept.
        let kept = if let Over::Time(_) = self.over { at } else { Instant::PURE_DEFAULT };
        let fits = self.take(value, kept).is_some();
        if !fits {
            self.entries = VecDeque::from([(kept, 1, value)]);
            (self.sum, self.count) = (value, 1);
        }
        fits
    }

    /// Nothing where a sum cannot be held; the window is no longer whole then.
    fn take(&mut self, value: Decimal, at: Instant) -> Option<()> {
        match self.over {
            Over::Count(max) => {
                while self.count >= max {
                    self.drop_oldest()?;
                }
            }
            Over::Time(time) => {
                while self.entries.front().is_some_and(|(then, _, _)| then.plus(time) <= at) {
                    self.drop_oldest()?;
                }
            }
        }
        self.sum = self.sum.checked_add(value)?;
        self.entries.push_back((at, 1, value));
        self.count = self.count.saturating_add(1);
        if let Over::Time(_) = self.over { self.merge() } else { Some(()) }
    }

    /// How exact a monitor over it is, before what it does.
    pub(super) fn guarantee(&self, trips: &str) -> String {
        match self.over {
            Over::Count(_) => format!("exact: {trips}"),
            Over::Time(_) => format!(
                "exact up to {ENTRIES_MAX} values in a window: {trips}; beyond that neighbours merge under the later \
                 instant, and a value may count for up to one more window"
            ),
        }
    }

    fn drop_oldest(&mut self) -> Option<()> {
        let (_, count, sum) = self.entries.pop_front()?;
        self.count = self.count.saturating_sub(count);
        self.sum = if self.entries.is_empty() { Decimal::ZERO } else { self.sum.checked_sub(sum)? };
        Some(())
    }

    fn merge(&mut self) -> Option<()> {
        if self.entries.len() <= ENTRIES_MAX {
            return Some(());
        }
        let gaps = self.entries.iter().zip(self.entries.iter().skip(1)).map(|(one, two)| two.0.since(one.0));
        let closest = gaps.enumerate().min_by_key(|(_, gap)| *gap).map_or(0, |(place, _)| place);
        let (_, count, sum) = self.entries.remove(closest)?;
        let (_, into, total) = self.entries.get_mut(closest)?;
        *into = into.saturating_add(count);
        *total = total.checked_add(sum)?;
        Some(())
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether so many values are there that they say something.
    pub(super) fn is_full(&self, at_least: u64) -> bool {
        match self.over {
            Over::Count(max) => self.count >= max,
            Over::Time(_) => self.count >= at_least,
        }
    }

    pub(super) fn sum(&self) -> Decimal {
        self.sum
    }

    /// The mean, rounded where it has no end; nothing of no values.
    pub(super) fn mean(&self) -> Option<Decimal> {
        self.sum.checked_div(Decimal::from(self.count))
    }

    pub(super) fn save(&self, slots: &mut Slots) {
        // In another order the same values may not add up exactly, so the sum is kept and not made again.
        slots.decimal(self.sum);
        slots.count(self.entries.len() as u64);
        for (at, count, sum) in &self.entries {
            if let Over::Time(_) = self.over {
                slots.integer(at.micros());
                slots.count(*count);
            }
            slots.decimal(*sum);
        }
    }

    pub(super) fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.sum = slots.next_decimal()?;
        for _ in 0..slots.next_length(COUNT_MAX)? {
            let (at, count) = match self.over {
                Over::Time(_) => (Instant::from_micros(slots.next_integer()?), slots.next_count()?),
                Over::Count(_) => (Instant::PURE_DEFAULT, 1),
            };
            let sum = slots.next_decimal()?;
            self.count = self.count.checked_add(count)?;
            self.entries.push_back((at, count, sum));
        }
        Some(())
    }
}

impl Band {
    pub(super) fn new(kind: MonitorKind, settings: &mut Settings) -> Result<Band, SettingFault> {
        let measure = if kind == MonitorKind::Sum {
            Measure::Sum
        } else if kind == MonitorKind::Share {
            Measure::Share
        } else {
            Measure::Mean
        };
        let (min, max) = (settings.decimal("min")?, settings.decimal("max")?);
        let window = RollingWindow::new(settings, 20)?;
        let at_least_given = settings.has("at_least");
        let at_least = settings.count("at_least", (1, COUNT_MAX), AT_LEAST)?;
        if let Over::Count(over) = window.over
            && at_least_given
            && at_least > over
        {
            let problem = format!("`at_least` {at_least} is more than the {over} values of the window");
            return Err(SettingFault::of("at_least", problem));
        }
        match (min, max) {
            (None, None) => Err(SettingFault::of("max", "`max` or `min` is missing: the band has no bound")),
            (Some(min), Some(max)) if min > max => {
                Err(SettingFault::of("min", format!("`min` {min} must not be above `max` {max}")))
            }
            (_, _) => Ok(Band { measure, window, at_least, min, max }),
        }
    }

    /// What a bound comes to for the sum of the window: exact where a mean would be rounded.
    fn for_sum(&self, bound: Decimal) -> Option<Decimal> {
        match self.measure {
            Measure::Sum => Some(bound),
            Measure::Mean | Measure::Share => bound.checked_mul(Decimal::from(self.window.count())),
        }
    }

    /// A bound that does not fit is beyond every sum on its own side of zero.
    fn is_above(&self, bound: Decimal) -> bool {
        self.for_sum(bound).map_or(bound.is_negative(), |bound| self.window.sum() > bound)
    }

    fn is_below(&self, bound: Decimal) -> bool {
        self.for_sum(bound).map_or(!bound.is_negative(), |bound| self.window.sum() < bound)
    }
}

impl Detect for Band {
    fn update(&mut self, input: &Input) -> Signal {
        let Some(value) = input.exact else { return Signal::QUIET };
        if !self.window.push(value, input.at) {
            return Signal::drift(true);
        }
        let full = self.window.is_full(self.at_least);
        // A sum only grows by what is yet to come, so a maximum need not wait.
        let ready = full || self.measure == Measure::Sum;
        let above = ready && self.max.is_some_and(|max| self.is_above(max));
        let below = full && self.min.is_some_and(|min| self.is_below(min));
        Signal::drift(above || below)
    }

    fn reading(&self) -> Option<Reading> {
        let statistic = match self.measure {
            Measure::Sum => self.window.sum(),
            Measure::Mean | Measure::Share => self.window.mean()?,
        };
        let threshold = if self.falls() { self.min } else { self.max };
        Some(Reading::exact(statistic, threshold?, self.window.count()))
    }

    /// The upper bound is told unless there is none, or the lower one is passed.
    fn falls(&self) -> bool {
        self.min.is_some_and(|min| self.max.is_none() || self.is_below(min))
    }

    fn guarantee(&self) -> String {
        self.window.guarantee("it trips when and only when the bound is passed")
    }

    fn save(&self, slots: &mut Slots) {
        self.window.save(slots);
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.window.load(slots)
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        match self.measure {
            Measure::Share => super::ddm::is_no_error(input),
            Measure::Mean | Measure::Sum if input.exact.is_none() => Some("takes numbers of at most 28 digits"),
            Measure::Mean | Measure::Sum => None,
        }
    }
}
