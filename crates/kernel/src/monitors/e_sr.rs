//! Mixture e-Shiryaev–Roberts: bets at several stakes that a mean is above what it may be. While it is not, no way of
//! betting gains on average, so the winnings reach `arl` no sooner than after `arl` values on average.

use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots, float, short};

/// The stakes; those that could lose everything on one value are left out.
const STAKES: [f64; 7] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0];

#[derive(Clone, PartialEq, Debug)]
pub(super) struct ESr {
    /// The mean that is no alarm, on the scale from 0 to 1.
    m0: f64,
    arl: f64,
    low: f64,
    high: f64,
    falls: bool,
    winnings: Vec<f64>,
    seen: u64,
}

impl ESr {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<ESr, SettingFault> {
        let m0 = settings.number("m0", "a number", |_| true)?;
        let arl = settings.number("arl", "a number above 1", |number| number > 1.0)?.unwrap_or(10_000.0);
        let low = settings.number("low", "a number", |_| true)?.unwrap_or(0.0);
        let high = settings.number("high", "a number", |_| true)?.unwrap_or(1.0);
        let falls = settings.word("mode", &["up", "down"], "up")? == "down";
        let Some(m0) = m0 else {
            return Err(SettingFault::of("m0", "`m0` is missing: the mean that is still no alarm"));
        };
        if low >= high {
            return Err(SettingFault::of("low", format!("`low` {low} must be below `high` {high}")));
        }
        let scaled = (m0 - low) / (high - low);
        if !(scaled > 0.0 && scaled < 1.0) {
            return Err(SettingFault::of("m0", format!("`m0` {m0} must lie between `low` {low} and `high` {high}")));
        }
        let m0 = if falls { 1.0 - scaled } else { scaled };
        let winnings = STAKES.iter().filter(|stake| **stake * m0 < 1.0).map(|_| 0.0).collect();
        Ok(ESr { m0, arl, low, high, falls, winnings, seen: 0 })
    }

    fn mean(&self) -> f64 {
        self.winnings.iter().sum::<f64>() / float(self.winnings.len() as u64)
    }
}

impl Detect for ESr {
    fn update(&mut self, input: &Input) -> Signal {
        let scaled = ((input.float - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let value = if self.falls { 1.0 - scaled } else { scaled };
        for (winning, stake) in self.winnings.iter_mut().zip(STAKES) {
            *winning = (1.0 + *winning) * (1.0 + stake * (value - self.m0));
        }
        self.seen += 1;
        Signal::drift(self.mean() >= self.arl)
    }

    fn reading(&self) -> Option<Reading> {
        (self.seen > 0).then(|| Reading::of(self.mean(), self.arl, float(self.seen)))
    }

    fn clamps(&self, input: &Input) -> bool {
        !(self.low..=self.high).contains(&input.float)
    }

    fn guarantee(&self) -> String {
        format!(
            "on average at least {} values between false alarms, whatever the values depend on, as long as each lies \
             from `low` to `high` and is expected to be no worse than `m0`",
            short(self.arl)
        )
    }

    fn save(&self, slots: &mut Slots) {
        slots.count(self.seen);
        self.winnings.iter().for_each(|winning| slots.number(*winning));
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.seen = slots.next_count()?;
        for winning in &mut self.winnings {
            *winning = slots.next_number()?;
        }
        Some(())
    }
}
