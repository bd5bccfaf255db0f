//! HDDM-A: the mean of all values against the lowest and highest it has been, by Hoeffding's inequality.

use super::running_mean::RunningMean;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct HddmA {
    drift_confidence: f64,
    warning_confidence: f64,
    two_sided: bool,
    all: RunningMean,
    lowest: RunningMean,
    highest: RunningMean,
}

impl HddmA {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<HddmA, SettingFault> {
        Ok(HddmA {
            drift_confidence: settings.probability("drift_confidence", 0.001)?,
            warning_confidence: settings.probability("warning_confidence", 0.005)?,
            two_sided: settings.flag("two_sided_test")?,
            all: RunningMean::default(),
            lowest: RunningMean::default(),
            highest: RunningMean::default(),
        })
    }

    fn bound(&self, count: f64) -> f64 {
        (1.0 / (2.0 * count) * libm::log(1.0 / self.drift_confidence)).sqrt()
    }

    /// How far the mean of all must be from that of the first part.
    fn epsilon(&self, first: RunningMean, confidence: f64) -> f64 {
        let inverse = (self.all.count - first.count) / first.count * (1.0 / self.all.count);
        (inverse / 2.0 * libm::log(2.0 / confidence)).sqrt()
    }

    fn has_risen(&self, confidence: f64) -> bool {
        self.lowest.count != self.all.count && self.all.mean - self.lowest.mean >= self.epsilon(self.lowest, confidence)
    }

    fn has_fallen(&self, confidence: f64) -> bool {
        self.highest.count != self.all.count
            && self.highest.mean - self.all.mean >= self.epsilon(self.highest, confidence)
    }
}

impl Detect for HddmA {
    fn update(&mut self, input: &Input) -> Signal {
        self.all.update(input.float);
        let all = self.bound(self.all.count);
        if self.lowest.count == 0.0 || self.lowest.mean + self.bound(self.lowest.count) >= self.all.mean + all {
            self.lowest = self.all;
        }
        if self.highest.count == 0.0 || self.highest.mean - self.bound(self.highest.count) <= self.all.mean - all {
            self.highest = self.all;
        }
        let mut drift = self.has_risen(self.drift_confidence);
        let mut warning = !drift && self.has_risen(self.warning_confidence);
        if self.two_sided {
            let fallen = self.has_fallen(self.drift_confidence);
            warning = warning || !fallen && self.has_fallen(self.warning_confidence);
            drift = drift || fallen;
        }
        Signal { drift, warning }
    }

    fn reading(&self) -> Option<Reading> {
        let rise = (self.all.mean - self.lowest.mean, self.epsilon(self.lowest, self.drift_confidence));
        let fall = (self.highest.mean - self.all.mean, self.epsilon(self.highest, self.drift_confidence));
        let (statistic, threshold) = if self.two_sided && fall.0 > rise.0 { fall } else { rise };
        (self.all.count > 0.0).then(|| Reading::of(statistic, threshold, self.all.count))
    }

    fn guarantee(&self) -> String {
        format!(
            "each comparison is wrong with probability at most {} for independent values within 0 and 1; over many \
             comparisons nothing is promised, so it only warns",
            super::short(self.drift_confidence)
        )
    }

    fn save(&self, slots: &mut Slots) {
        [self.all, self.lowest, self.highest].iter().for_each(|mean| mean.save(slots));
    }

    /// Its bound holds for values from 0 to 1 only.
    fn refuses(&self, input: &Input) -> Option<&'static str> {
        (!(0.0..=1.0).contains(&input.float)).then_some("takes numbers from 0 to 1")
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.all.load(slots)?;
        self.lowest.load(slots)?;
        self.highest.load(slots)
    }
}
