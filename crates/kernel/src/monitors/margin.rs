//! Margin: value less cost, averaged over a rolling window, stays negative several times in a row. Exact; no floats.

use super::band::RollingWindow;
use super::{Detect, Input, MonitorKind, Reading, SettingFault, Settings, Signal, Slots};
use values::decimal::Decimal;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Margin {
    /// What each is worth, where the series is of costs; without it the series is of margins.
    value: Option<Decimal>,
    times: u64,
    window: RollingWindow,
    /// How often in a row the mean was negative.
    negative: u64,
}

impl Margin {
    pub(super) fn new(_kind: MonitorKind, settings: &mut Settings) -> Result<Margin, SettingFault> {
        Ok(Margin {
            value: settings.decimal("value")?,
            times: settings.count("times", (1, 1_000), 5)?,
            window: RollingWindow::new(settings, 10)?,
            negative: 0,
        })
    }
}

impl Detect for Margin {
    fn update(&mut self, input: &Input) -> Signal {
        let Some(number) = input.exact else { return Signal::QUIET };
        let margin = self.value.map_or(Some(number), |value| value.checked_sub(number));
        // What cannot be summed exactly counts as a loss.
        let is_summed = margin.is_some_and(|margin| self.window.push(margin, input.at));
        if is_summed && !self.window.is_full(1) {
            return Signal::QUIET;
        }
        let is_negative = !is_summed || self.window.sum().is_negative();
        self.negative = if is_negative { self.negative.saturating_add(1) } else { 0 };
        Signal::drift(self.negative >= self.times)
    }

    fn reading(&self) -> Option<Reading> {
        // The count of negative evaluations is what trips; the window is what the last of them covered.
        let (negative, times) = (Decimal::from(self.negative), Decimal::from(self.times));
        Some(Reading::exact(negative, times, self.window.count()))
    }

    fn guarantee(&self) -> String {
        self.window.guarantee(&format!("it trips when the mean margin was negative {} times in a row", self.times))
    }

    fn save(&self, slots: &mut Slots) {
        slots.count(self.negative);
        self.window.save(slots);
    }

    fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.negative = slots.next_count()?;
        self.window.load(slots)
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        input.exact.is_none().then_some("takes numbers of at most 28 digits")
    }
}
