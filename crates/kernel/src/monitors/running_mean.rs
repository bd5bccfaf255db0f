//! A mean that is brought up to date with every value.

use super::Slots;

/// How many values, and their mean.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct RunningMean {
    pub(super) count: f64,
    pub(super) mean: f64,
}

impl RunningMean {
    pub(super) fn update(&mut self, value: f64) {
        self.count += 1.0;
        self.mean += 1.0 / self.count * (value - self.mean);
    }

    pub(super) fn save(&self, slots: &mut Slots) {
        slots.numbers([self.count, self.mean]);
    }

    pub(super) fn load(&mut self, slots: &mut Slots) -> Option<()> {
        [self.count, self.mean] = slots.next_numbers()?;
        Some(())
    }
}
