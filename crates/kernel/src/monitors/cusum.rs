//! CUSUM: the sum of what values exceed the expected by, never below zero. For numbers with a known mean and deviation, or
//! for a rate that must be told from another one.

use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots, float, short};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cusum {
    steps: Steps,
    h: f64,
    rise: f64,
    fall: f64,
    seen: u64,
}

/// What a value adds.
#[derive(Clone, PartialEq, Debug)]
enum Steps {
    /// Deviations of the mean less an allowance.
    Gaussian { mu0: f64, sigma: f64, k: f64, mode: &'static str },
    /// Log likelihood ratios of two rates, for a one and for a zero.
    Bernoulli { one: f64, zero: f64 },
}

/// What the mean of a discrete random walk overshoots a line by, in deviations (Siegmund 1985).
const OVERSHOOT: f64 = 1.166;

impl Cusum {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<Cusum, SettingFault> {
        let rate = |number: f64| number > 0.0 && number < 1.0;
        let expected = settings.number("p0", "a number between 0 and 1", rate)?;
        let feared = settings.number("p1", "a number between 0 and 1", rate)?;
        let h = settings.number("h", "a number above 0", |number| number > 0.0)?;
        let (steps, h) = match (expected, feared) {
            (None, None) => (gaussian(settings)?, h.unwrap_or(8.0)),
            (Some(p0), Some(p1)) if p0 < p1 => {
                let arl = settings.number("arl", "a number above 1", |number| number > 1.0)?;
                if h.is_some() && arl.is_some() {
                    return Err(SettingFault::of("arl", "`h` and `arl` say the same; give one of them"));
                }
                let (one, zero) = (libm::log(p1 / p0), libm::log((1.0 - p1) / (1.0 - p0)));
                (Steps::Bernoulli { one, zero }, h.unwrap_or_else(|| libm::log(arl.unwrap_or(10_000.0))))
            }
            (Some(p0), Some(p1)) => {
                let problem = format!("`p1` {p1} must be above `p0` {p0}: it is the rate to be noticed");
                return Err(SettingFault::of("p1", problem));
            }
            (Some(_), None) => return Err(SettingFault::of("p1", "`p0` needs `p1`, the rate to be noticed")),
            (None, Some(_)) => return Err(SettingFault::of("p0", "`p1` needs `p0`, the expected rate")),
        };
        Ok(Cusum { steps, h, rise: 0.0, fall: 0.0, seen: 0 })
    }
}

fn gaussian(settings: &mut Settings) -> Result<Steps, SettingFault> {
    Ok(Steps::Gaussian {
        mu0: settings.number("mu0", "a number", |_| true)?.unwrap_or(0.0),
        sigma: settings.positive("sigma", 1.0)?,
        k: settings.number("k", "a number from 0", |number| number >= 0.0)?.unwrap_or(0.5),
        mode: settings.word("mode", &["up", "down", "both"], "up")?,
    })
}

/// Siegmund's approximation of the mean run length on one side while nothing changes.
fn run_length(k: f64, h: f64) -> f64 {
    let b = h + OVERSHOOT;
    if k == 0.0 {
        return b * b;
    }
    (libm::exp(2.0 * k * b) - 2.0 * k * b - 1.0) / (2.0 * k * k)
}

impl Detect for Cusum {
    fn update(&mut self, input: &Input) -> Signal {
        self.seen += 1;
        match &self.steps {
            Steps::Bernoulli { one, zero } => {
                self.rise = self.rise.max(0.0) + if input.float == 1.0 { *one } else { *zero };
                Signal::drift(self.rise >= self.h)
            }
            Steps::Gaussian { mu0, sigma, k, mode } => {
                let deviation = (input.float - mu0) / sigma;
                self.rise = (self.rise + deviation - k).max(0.0);
                self.fall = (self.fall - deviation - k).max(0.0);
                Signal::drift(*mode != "down" && self.rise >= self.h || *mode != "up" && self.fall >= self.h)
            }
        }
    }

    fn reading(&self) -> Option<Reading> {
        let statistic = match &self.steps {
            Steps::Bernoulli { .. } | Steps::Gaussian { mode: "up", .. } => self.rise.max(0.0),
            Steps::Gaussian { mode: "down", .. } => self.fall,
            Steps::Gaussian { .. } => self.rise.max(self.fall),
        };
        (self.seen > 0).then(|| Reading::of(statistic, self.h, float(self.seen)))
    }

    fn guarantee(&self) -> String {
        match &self.steps {
            Steps::Bernoulli { .. } => format!(
                "on average at least {} values between false alarms (Lorden's bound), for independent values",
                short(libm::exp(self.h).round())
            ),
            Steps::Gaussian { k, mode, .. } => {
                let sides = if *mode == "both" { 2.0 } else { 1.0 };
                format!(
                    "on average about {} values between false alarms (Siegmund's approximation), for independent normal \
                     values",
                    short((run_length(*k, self.h) / sides).round())
                )
            }
        }
    }

    fn save(&self, slots: &mut Slots) {
        slots.numbers([self.rise, self.fall]);
        slots.count(self.seen);
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        [self.rise, self.fall] = slots.next_numbers()?;
        self.seen = slots.next_count()?;
        Some(())
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        match self.steps {
            Steps::Bernoulli { .. } => super::ddm::is_no_error(input),
            Steps::Gaussian { .. } => None,
        }
    }
}
