//! DDM: the rate of errors against the lowest it has been, in standard deviations.

use super::running_mean::RunningMean;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ddm {
    warm_start: f64,
    warning_threshold: f64,
    drift_threshold: f64,
    rate: RunningMean,
    /// Rate and deviation where their sum was lowest; infinite before the warm start is over.
    lowest: [f64; 2],
}

pub(super) const ONLY_ERRORS: &str = "takes 1 for an error and 0 for none";

/// Why a value is neither an error nor none.
pub(super) fn is_no_error(input: &Input) -> Option<&'static str> {
    (input.float != 0.0 && input.float != 1.0).then_some(ONLY_ERRORS)
}

impl Ddm {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<Ddm, SettingFault> {
        Ok(Ddm {
            warm_start: super::float(settings.count("warm_start", (0, u64::from(u32::MAX)), 30)?),
            warning_threshold: settings.not_negative("warning_threshold", 2.0)?,
            drift_threshold: settings.not_negative("drift_threshold", 3.0)?,
            rate: RunningMean::default(),
            lowest: [f64::INFINITY, f64::INFINITY],
        })
    }

    fn deviation(&self) -> f64 {
        let rate = self.rate.mean;
        // Rounding may bring a rate of ones above 1.
        (rate * (1.0 - rate) / self.rate.count).max(0.0).sqrt()
    }
}

impl Detect for Ddm {
    fn update(&mut self, input: &Input) -> Signal {
        self.rate.update(input.float);
        if self.rate.count <= self.warm_start {
            return Signal::QUIET;
        }
        let (rate, deviation) = (self.rate.mean, self.deviation());
        let [lowest_rate, lowest_deviation] = self.lowest;
        if rate + deviation <= lowest_rate + lowest_deviation {
            self.lowest = [rate, deviation];
        }
        let [lowest_rate, lowest_deviation] = self.lowest;
        let above = |times: f64| rate + deviation > lowest_rate + times * lowest_deviation;
        let drift = above(self.drift_threshold);
        Signal { drift, warning: !drift && above(self.warning_threshold) }
    }

    fn reading(&self) -> Option<Reading> {
        let [rate, deviation] = self.lowest;
        let threshold = rate + self.drift_threshold * deviation;
        threshold.is_finite().then(|| Reading::of(self.rate.mean + self.deviation(), threshold, self.rate.count))
    }

    fn guarantee(&self) -> String {
        "none: how often it is wrong depends on the rate of errors, so it only warns".to_owned()
    }

    fn save(&self, slots: &mut Slots) {
        self.rate.save(slots);
        slots.numbers(self.lowest);
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.rate.load(slots)?;
        self.lowest = slots.next_numbers()?;
        Some(())
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        is_no_error(input)
    }
}
