//! KSWIN: a Kolmogorov–Smirnov test of the latest values against a random choice of those before them.

use super::mersenne::Mersenne;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots, WINDOW_MAX};
use std::collections::VecDeque;

/// Distances of distributions up to this are never a drift, however unlikely.
const DISTANCE_MIN: f64 = 0.1;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Kswin {
    alpha: f64,
    window_size: usize,
    stat_size: usize,
    chance: Mersenne,
    window: VecDeque<f64>,
    /// Of the latest test; nothing before there was one.
    probability: Option<f64>,
}

impl Kswin {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<Kswin, SettingFault> {
        let fits = |number: f64| (0.0..=1.0).contains(&number);
        let alpha = settings.number("alpha", "a number from 0 to 1", fits)?.unwrap_or(0.005);
        let window_size = settings.count("window_size", (2, WINDOW_MAX), 100)?;
        let stat_size = settings.count("stat_size", (1, WINDOW_MAX), 30)?;
        let seed = settings.count("seed", (0, u64::MAX), 0)?;
        if window_size < stat_size.saturating_mul(2) {
            let problem = format!("`stat_size` {stat_size} must be at most half of `window_size` {window_size}");
            return Err(SettingFault::of("stat_size", problem));
        }
        Ok(Kswin {
            alpha,
            window_size: usize::try_from(window_size).unwrap_or(usize::MAX),
            stat_size: usize::try_from(stat_size).unwrap_or(usize::MAX),
            chance: Mersenne::new(seed),
            window: VecDeque::new(),
            probability: None,
        })
    }

    /// The latest values, and as many of those before, each in order.
    fn samples(&mut self) -> (Vec<f64>, Vec<f64>) {
        let before = self.window_size - self.stat_size;
        let (bound, count) = (u32::try_from(before).unwrap_or(u32::MAX), u32::try_from(self.stat_size).unwrap_or(0));
        let drawn = self.chance.sample(bound, count);
        let mut earlier: Vec<f64> =
            drawn.iter().filter_map(|place| self.window.get(*place as usize).copied()).collect();
        let mut latest: Vec<f64> = self.window.iter().skip(before).copied().collect();
        earlier.sort_by(f64::total_cmp);
        latest.sort_by(f64::total_cmp);
        (earlier, latest)
    }
}

/// The largest difference of two equally long sorted samples' ranks at any value.
fn distance(one: &[f64], two: &[f64]) -> u64 {
    let rank = |sample: &[f64], value: f64| sample.partition_point(|other| *other <= value);
    let differ = |value: &f64| rank(one, *value).abs_diff(rank(two, *value));
    one.iter().chain(two).map(differ).max().unwrap_or(0) as u64
}

/// How likely two samples of this length of one distribution are to be this far apart or farther: the share of lattice
/// paths that leave a band, by reflection.
fn probability(length: u64, distance: u64) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    let mut outside = 0.0;
    for fold in (0..=length / distance).rev() {
        let reach = fold * distance;
        let mut share = 1.0;
        for step in 0..distance {
            let (above, below) = (length.checked_sub(reach + step), length + reach + step + 1);
            share = above.map_or(0.0, super::float) * share / super::float(below);
        }
        outside = share * (1.0 - outside);
    }
    (2.0 * outside).clamp(0.0, 1.0)
}

impl Detect for Kswin {
    fn update(&mut self, input: &Input) -> Signal {
        if self.window.len() >= self.window_size {
            self.window.pop_front();
        }
        self.window.push_back(input.float);
        if self.window.len() < self.window_size {
            return Signal::QUIET;
        }
        let (earlier, latest) = self.samples();
        let (length, far) = (self.stat_size as u64, distance(&earlier, &latest));
        let likely = probability(length, far);
        self.probability = Some(likely);
        Signal::drift(likely <= self.alpha && super::float(far) / super::float(length) > DISTANCE_MIN)
    }

    fn reading(&self) -> Option<Reading> {
        self.probability.map(|likely| Reading::of(likely, self.alpha, super::float(self.window_size as u64)))
    }

    /// It alarms when the probability is small.
    fn falls(&self) -> bool {
        true
    }

    fn guarantee(&self) -> String {
        format!(
            "each test is wrong with probability at most {}; it tests at every value, so it is wrong far more often \
             over time, and it only warns",
            super::short(self.alpha)
        )
    }

    fn save(&self, slots: &mut Slots) {
        slots.flag(self.probability.is_some());
        slots.number(self.probability.unwrap_or_default());
        slots.count(self.window.len() as u64);
        self.window.iter().for_each(|value| slots.number(*value));
        // Nothing was drawn before the window was full: the seed says it all.
        if self.probability.is_some() {
            self.chance.save(slots);
        }
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        let tested = slots.next_flag()?;
        let likely = slots.next_number()?;
        self.probability = tested.then_some(likely);
        let length = slots.next_length(self.window_size as u64)?;
        self.window = (0..length).map(|_| slots.next_number()).collect::<Option<_>>()?;
        if tested { self.chance.load(slots) } else { Some(()) }
    }
}
