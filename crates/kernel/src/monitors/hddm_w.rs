//! HDDM-W: an exponentially weighted mean before and after a cut, by McDiarmid's inequality.

use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct HddmW {
    drift_confidence: f64,
    warning_confidence: f64,
    lambda: f64,
    two_sided: bool,
    all: Sample,
    rise: Cut,
    fall: Cut,
}

/// A weighted mean, and the sum of squared weights that bounds it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sample {
    mean: Option<f64>,
    weights: f64,
}

impl Sample {
    const EMPTY: Sample = Sample { mean: None, weights: 1.0 };

    fn update(&mut self, value: f64, lambda: f64) {
        self.mean = Some(self.mean.map_or(value, |mean| lambda * value + (1.0 - lambda) * mean));
        let rest = 1.0 - lambda;
        self.weights = lambda * lambda + rest * rest * self.weights;
    }

    fn mean(&self) -> f64 {
        self.mean.unwrap_or(0.0)
    }
}

/// The mean up to where its bound was most extreme, and what came after.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cut {
    extreme: f64,
    before: Sample,
    after: Sample,
}

fn bound(weights: f64, confidence: f64) -> f64 {
    (weights * libm::log(1.0 / confidence) / 2.0).sqrt()
}

impl Cut {
    fn new(extreme: f64) -> Cut {
        Cut { extreme, before: Sample::EMPTY, after: Sample::EMPTY }
    }

    fn place(&mut self, extreme: f64, all: Sample) {
        *self = Cut { extreme, before: all, after: Sample::EMPTY };
    }

    /// How far the mean has moved in a direction, and how far it may; nothing before there are two parts.
    fn moved(&self, direction: f64, confidence: f64) -> Option<(f64, f64)> {
        let (before, after) = self.before.mean.zip(self.after.mean)?;
        Some((direction * (after - before), bound(self.before.weights + self.after.weights, confidence)))
    }

    fn has_moved(&self, direction: f64, confidence: f64) -> bool {
        self.moved(direction, confidence).is_some_and(|(moved, bound)| moved > bound)
    }
}

impl HddmW {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<HddmW, SettingFault> {
        let fits = |number: f64| (0.0..=1.0).contains(&number);
        Ok(HddmW {
            drift_confidence: settings.probability("drift_confidence", 0.001)?,
            warning_confidence: settings.probability("warning_confidence", 0.005)?,
            lambda: settings.number("lambda_val", "a number from 0 to 1", fits)?.unwrap_or(0.05),
            two_sided: settings.flag("two_sided_test")?,
            all: Sample::EMPTY,
            rise: Cut::new(f64::INFINITY),
            fall: Cut::new(f64::NEG_INFINITY),
        })
    }
}

impl Detect for HddmW {
    fn update(&mut self, input: &Input) -> Signal {
        let (value, lambda) = (input.float, self.lambda);
        self.all.update(value, lambda);
        let margin = bound(self.all.weights, self.drift_confidence);
        let (low, high) = (self.all.mean() - margin, self.all.mean() + margin);
        if high < self.rise.extreme {
            self.rise.place(high, self.all);
        } else {
            self.rise.after.update(value, lambda);
        }
        if low > self.fall.extreme {
            self.fall.place(low, self.all);
        } else {
            self.fall.after.update(value, lambda);
        }
        let mut drift = self.rise.has_moved(1.0, self.drift_confidence);
        let mut warning = !drift && self.rise.has_moved(1.0, self.warning_confidence);
        if self.two_sided {
            let fallen = self.fall.has_moved(-1.0, self.drift_confidence);
            warning = warning || !fallen && self.fall.has_moved(-1.0, self.warning_confidence);
            drift = drift || fallen;
        }
        Signal { drift, warning }
    }

    fn reading(&self) -> Option<Reading> {
        let rise = self.rise.moved(1.0, self.drift_confidence);
        let fall = if self.two_sided { self.fall.moved(-1.0, self.drift_confidence) } else { None };
        // What is farther beyond its bound, or nearer to it, is told. Each begins anew at its own extreme, so one may be missing.
        let (statistic, threshold) = match (rise, fall) {
            (Some(rise), Some(fall)) if fall.0 - fall.1 > rise.0 - rise.1 => fall,
            (Some(rise), _) => rise,
            (None, fall) => fall?,
        };
        // Older values weigh next to nothing.
        Some(Reading::of(statistic, threshold, (2.0 / self.lambda.max(f64::EPSILON)).min(1e6)))
    }

    fn guarantee(&self) -> String {
        format!(
            "each comparison is wrong with probability at most {} for independent values within 0 and 1; over many \
             comparisons nothing is promised, so it only warns",
            super::short(self.drift_confidence)
        )
    }

    fn save(&self, slots: &mut Slots) {
        let sample = |sample: &Sample, slots: &mut Slots| {
            slots.flag(sample.mean.is_some());
            slots.numbers([sample.mean(), sample.weights]);
        };
        sample(&self.all, slots);
        for cut in [&self.rise, &self.fall] {
            slots.number(cut.extreme);
            sample(&cut.before, slots);
            sample(&cut.after, slots);
        }
    }

    /// Its bound holds for values from 0 to 1 only.
    fn refuses(&self, input: &Input) -> Option<&'static str> {
        (!(0.0..=1.0).contains(&input.float)).then_some("takes numbers from 0 to 1")
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        fn sample(slots: &mut Slots) -> Option<Sample> {
            let is_any = slots.next_flag()?;
            let [mean, weights] = slots.next_numbers()?;
            Some(Sample { mean: is_any.then_some(mean), weights })
        }
        self.all = sample(slots)?;
        for cut in [&mut self.rise, &mut self.fall] {
            *cut = Cut { extreme: slots.next_number()?, before: sample(slots)?, after: sample(slots)? };
        }
        Some(())
    }
}
