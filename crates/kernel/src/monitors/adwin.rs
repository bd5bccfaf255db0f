//! ADWIN: a window that grows while nothing changes and drops its old end when two parts of it differ.

use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};
use std::collections::VecDeque;

/// Rows of buckets that a window can have: 2⁶⁰ values are never seen.
const ROWS_MAX: u64 = 60;

/// Values summed up: of a bucket, or of a part of the window.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Part {
    count: f64,
    total: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
}

impl Part {
    fn mean(&self) -> f64 {
        self.total / self.count
    }

    /// What the squares of two parts lack of those of both together.
    fn between(&self, other: &Part) -> f64 {
        let apart = self.mean() - other.mean();
        self.count * other.count * apart * apart / (self.count + other.count)
    }

    fn add(&mut self, bucket: &Part) {
        let between = if self.count > 0.0 { bucket.squares + self.between(bucket) } else { 0.0 };
        self.squares += between;
        self.count += bucket.count;
        self.total += bucket.total;
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Adwin {
    delta: f64,
    clock: u64,
    max_buckets: usize,
    min_window_length: f64,
    grace_period: f64,
    ticks: u64,
    window: Part,
    /// Row n holds buckets of 2ⁿ values, the oldest first; later rows are older.
    rows: Vec<VecDeque<Part>>,
    /// Of the latest check: the difference of means and its bound where they were closest.
    closest: [f64; 2],
}

impl Adwin {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<Adwin, SettingFault> {
        let counts = u64::from(u32::MAX);
        let max_buckets = settings_count(settings, "max_buckets", (1, 64), 5)?;
        Ok(Adwin {
            delta: settings.probability("delta", 0.002)?,
            clock: settings.count("clock", (1, counts), 32)?,
            max_buckets,
            min_window_length: super::float(settings.count("min_window_length", (1, counts), 5)?),
            grace_period: super::float(settings.count("grace_period", (0, counts), 10)?),
            ticks: 0,
            window: Part::default(),
            rows: vec![VecDeque::new()],
            closest: [0.0, 1.0],
        })
    }

    fn insert(&mut self, value: f64) {
        if let Some(row) = self.rows.first_mut() {
            row.push_back(Part { count: 1.0, total: value, squares: 0.0 });
        }
        self.window.count += 1.0;
        if self.window.count > 1.0 {
            let before = self.window.count - 1.0;
            let apart = value - self.window.total / before;
            self.window.squares += before * apart * apart / self.window.count;
        }
        self.window.total += value;
        self.compress();
    }

    /// A row that is too long hands its two oldest buckets, as one, to the next.
    fn compress(&mut self) {
        let mut index = 0;
        loop {
            let Some(row) = self.rows.get_mut(index) else { return };
            if row.len() <= self.max_buckets {
                return;
            }
            let (Some(one), Some(two)) = (row.pop_front(), row.pop_front()) else { return };
            let count = one.count + two.count;
            let squares = one.squares + two.squares + one.between(&two);
            let merged = Part { count, total: one.total + two.total, squares };
            index += 1;
            match self.rows.get_mut(index) {
                Some(next) => next.push_back(merged),
                None => self.rows.push(VecDeque::from([merged])),
            }
        }
    }

    fn drop_oldest(&mut self) {
        while self.rows.len() > 1 && self.rows.last().is_some_and(VecDeque::is_empty) {
            self.rows.pop();
        }
        let Some(oldest) = self.rows.last_mut().and_then(VecDeque::pop_front) else { return };
        self.window.count -= oldest.count;
        self.window.total -= oldest.total;
        if self.window.count > 0.0 {
            self.window.squares -= oldest.squares + oldest.between(&self.window);
        }
        while self.rows.len() > 1 && self.rows.last().is_some_and(VecDeque::is_empty) {
            self.rows.pop();
        }
    }

    /// How far apart the means of two parts may be.
    fn bound(&self, older: f64, newer: f64) -> f64 {
        let surprise = libm::log(2.0 * libm::log(self.window.count) / self.delta);
        let variance = self.window.squares / self.window.count;
        let least = self.min_window_length - 1.0;
        let inverse = 1.0 / (older - least) + 1.0 / (newer - least);
        (2.0 * inverse * variance * surprise).max(0.0).sqrt() + 2.0 / 3.0 * surprise * inverse
    }

    /// Whether some cut separates two parts whose means differ too much.
    fn is_cut(&mut self) -> bool {
        let all = self.window;
        let mut older = Part::default();
        let mut closest: Option<[f64; 2]> = None;
        let mut cut = false;
        for bucket in self.rows.iter().rev().flatten() {
            older.add(bucket);
            let newer = Part { count: all.count - older.count, total: all.total - older.total, squares: 0.0 };
            if newer.count <= 0.0 {
                break;
            }
            if newer.count < self.min_window_length || older.count < self.min_window_length {
                continue;
            }
            let apart = (older.mean() - newer.mean()).abs();
            let bound = self.bound(older.count, newer.count);
            if closest.is_none_or(|[most, of]| apart / bound > most / of) {
                closest = Some([apart, bound]);
            }
            if apart > bound {
                cut = true;
                break;
            }
        }
        self.closest = closest.unwrap_or(self.closest);
        cut
    }
}

fn settings_count(
    settings: &mut Settings,
    key: &'static str,
    bounds: (u64, u64),
    unset: u64,
) -> Result<usize, SettingFault> {
    settings.count(key, bounds, unset).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

impl Detect for Adwin {
    fn update(&mut self, input: &Input) -> Signal {
        self.ticks += 1;
        self.insert(input.float);
        if !self.ticks.is_multiple_of(self.clock) || self.window.count <= self.grace_period {
            return Signal::QUIET;
        }
        let drift = self.is_cut();
        let at_alarm = self.closest;
        // What is left is judged again until no cut is found.
        let mut again = drift;
        while again {
            self.drop_oldest();
            again = self.window.count > 0.0 && self.is_cut();
        }
        self.closest = at_alarm;
        Signal::drift(drift)
    }

    fn reading(&self) -> Option<Reading> {
        let [apart, bound] = self.closest;
        (self.window.count > 0.0).then(|| Reading::of(apart, bound, self.window.count))
    }

    fn guarantee(&self) -> String {
        format!(
            "each check is wrong with probability at most {} for independent values within 0 and 1; nothing is \
             promised over time, so it only warns",
            super::short(self.delta)
        )
    }

    fn save(&self, slots: &mut Slots) {
        slots.count(self.ticks);
        slots.numbers([self.window.count, self.window.total, self.window.squares]);
        slots.numbers(self.closest);
        slots.count(self.rows.len() as u64);
        for row in &self.rows {
            slots.count(row.len() as u64);
            row.iter().for_each(|bucket| slots.numbers([bucket.total, bucket.squares]));
        }
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.ticks = slots.next_count()?;
        let [count, total, squares] = slots.next_numbers()?;
        self.window = Part { count, total, squares };
        self.closest = slots.next_numbers()?;
        let rows = slots.next_length(ROWS_MAX)?;
        self.rows = Vec::new();
        let mut count = 1.0;
        for _ in 0..rows {
            let length = slots.next_length(self.max_buckets as u64)?;
            let bucket = |[total, squares]: [f64; 2]| Part { count, total, squares };
            self.rows.push((0..length).map(|_| slots.next_numbers().map(bucket)).collect::<Option<_>>()?);
            count *= 2.0;
        }
        Some(())
    }
}
