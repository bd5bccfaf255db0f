//! EDDM: the distance between errors against the largest it has been.

use super::ddm::is_no_error;
use super::running_mean::RunningMean;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Eddm {
    warm_start: f64,
    alpha: f64,
    beta: f64,
    distances: RunningMean,
    /// Sum of squared deviations of the distances.
    squares: f64,
    seen: f64,
    last_error: f64,
    largest: f64,
    /// How far the distances are from the largest; what counts until the next error.
    level: f64,
    warning: bool,
}

impl Eddm {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<Eddm, SettingFault> {
        let warm_start = super::float(settings.count("warm_start", (0, u64::from(u32::MAX)), 30)?);
        let alpha = settings.number("alpha", "a number", |_| true)?.unwrap_or(0.95);
        let beta = settings.number("beta", "a number", |_| true)?.unwrap_or(0.9);
        if alpha < beta {
            return Err(SettingFault::of("alpha", "`alpha` must not be below `beta`: warnings come before drift"));
        }
        Ok(Eddm {
            warm_start,
            alpha,
            beta,
            distances: RunningMean::default(),
            squares: 0.0,
            seen: 0.0,
            last_error: 0.0,
            largest: -1.0,
            level: 1.0,
            warning: false,
        })
    }

    fn note_error(&mut self) {
        let (distance, before) = (self.seen - self.last_error, self.distances.mean);
        self.distances.update(distance);
        self.squares += (distance - before) * (distance - self.distances.mean);
        self.last_error = self.seen;
    }

    /// Mean distance and two standard deviations.
    fn reach(&self) -> f64 {
        let variance = if self.distances.count > 1.0 { self.squares / (self.distances.count - 1.0) } else { 0.0 };
        self.distances.mean + 2.0 * variance.max(0.0).sqrt()
    }
}

impl Detect for Eddm {
    fn update(&mut self, input: &Input) -> Signal {
        self.seen += 1.0;
        let mut drift = false;
        if input.float == 1.0 {
            self.note_error();
            let reach = self.reach();
            if self.seen <= self.warm_start {
                // Too early to compare with anything.
            } else if reach > self.largest {
                self.largest = reach;
            } else if self.distances.count > self.warm_start {
                self.level = reach / self.largest;
                drift = self.level < self.beta;
                // A drift leaves a warning as it was.
                self.warning = if drift { self.warning } else { self.level < self.alpha };
            }
        }
        Signal { drift, warning: self.warning }
    }

    fn reading(&self) -> Option<Reading> {
        (self.distances.count > self.warm_start).then(|| Reading::of(self.level, self.beta, self.seen))
    }

    /// It alarms when the distances shrink.
    fn falls(&self) -> bool {
        true
    }

    fn guarantee(&self) -> String {
        "none: it warns often where errors come at random, so it only warns".to_owned()
    }

    fn save(&self, slots: &mut Slots) {
        self.distances.save(slots);
        slots.numbers([self.squares, self.seen, self.last_error, self.largest, self.level]);
        slots.flag(self.warning);
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.distances.load(slots)?;
        [self.squares, self.seen, self.last_error, self.largest, self.level] = slots.next_numbers()?;
        self.warning = slots.next_flag()?;
        Some(())
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        is_no_error(input)
    }
}
