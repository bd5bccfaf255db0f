//! Page–Hinkley: how far the sum of deviations from the mean has moved from its extreme.

use super::running_mean::RunningMean;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct PageHinkley {
    min_instances: f64,
    delta: f64,
    threshold: f64,
    alpha: f64,
    mode: &'static str,
    mean: RunningMean,
    rises: f64,
    falls: f64,
    rises_min: f64,
    falls_max: f64,
}

impl PageHinkley {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<PageHinkley, SettingFault> {
        let any = |_: f64| true;
        Ok(PageHinkley {
            min_instances: super::float(settings.count("min_instances", (0, u64::from(u32::MAX)), 30)?),
            delta: settings.number("delta", "a number", any)?.unwrap_or(0.005),
            threshold: settings.not_negative("threshold", 50.0)?,
            alpha: settings.number("alpha", "a number", any)?.unwrap_or(1.0 - 0.0001),
            mode: settings.word("mode", &["up", "down", "both"], "both")?,
            mean: RunningMean::default(),
            rises: 0.0,
            falls: 0.0,
            rises_min: f64::INFINITY,
            falls_max: -1.0,
        })
    }

    /// How far the sums have risen and fallen.
    fn moved(&self) -> (f64, f64) {
        (self.rises - self.rises_min, self.falls_max - self.falls)
    }
}

impl Detect for PageHinkley {
    fn update(&mut self, input: &Input) -> Signal {
        self.mean.update(input.float);
        let deviation = input.float - self.mean.mean;
        self.rises = self.alpha * self.rises + deviation - self.delta;
        self.falls = self.alpha * self.falls + deviation + self.delta;
        self.rises_min = self.rises_min.min(self.rises);
        self.falls_max = self.falls_max.max(self.falls);
        if self.mean.count < self.min_instances {
            return Signal::QUIET;
        }
        let (rise, fall) = self.moved();
        let up = self.mode != "down" && rise > self.threshold;
        let down = self.mode != "up" && fall > self.threshold;
        Signal::drift(up || down)
    }

    fn reading(&self) -> Option<Reading> {
        let (rise, fall) = self.moved();
        let statistic = match self.mode {
            "up" => rise,
            "down" => fall,
            _ => rise.max(fall),
        };
        (self.mean.count > 0.0).then(|| Reading::of(statistic, self.threshold, self.mean.count))
    }

    fn guarantee(&self) -> String {
        "none: how often it is wrong depends on the series, so it only warns".to_owned()
    }

    fn save(&self, slots: &mut Slots) {
        self.mean.save(slots);
        slots.numbers([self.rises, self.falls, self.rises_min, self.falls_max]);
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.mean.load(slots)?;
        [self.rises, self.falls, self.rises_min, self.falls_max] = slots.next_numbers()?;
        Some(())
    }
}
