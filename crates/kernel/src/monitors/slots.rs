//! The state of a monitor as a row of numbers.

use std::collections::VecDeque;
use values::decimal::Decimal;

/// Numbers in the order they are written and read. Text gives every float back exactly.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Slots(VecDeque<String>);

impl Slots {
    pub(super) fn number(&mut self, number: f64) {
        self.0.push_back(format!("{number:?}"));
    }

    pub(super) fn numbers<const N: usize>(&mut self, numbers: [f64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    pub(super) fn count(&mut self, count: u64) {
        self.0.push_back(count.to_string());
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.count(u64::from(flag));
    }

    pub(super) fn decimal(&mut self, number: Decimal) {
        self.0.push_back(number.to_string());
    }

    pub(super) fn integer(&mut self, number: i64) {
        self.0.push_back(number.to_string());
    }

    pub(super) fn next_number(&mut self) -> Option<f64> {
        let number: f64 = self.0.pop_front()?.parse().ok()?;
        (!number.is_nan()).then_some(number)
    }

    pub(super) fn next_numbers<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = self.next_number()?;
        }
        Some(numbers)
    }

    pub(super) fn next_count(&mut self) -> Option<u64> {
        self.0.pop_front()?.parse().ok()
    }

    /// How many items follow; nobody keeps more than these.
    pub(super) fn next_length(&mut self, max: u64) -> Option<u64> {
        self.next_count().filter(|length| *length <= max)
    }

    pub(super) fn next_flag(&mut self) -> Option<bool> {
        match self.next_count()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn next_decimal(&mut self) -> Option<Decimal> {
        Decimal::parse(&self.0.pop_front()?)
    }

    pub(super) fn next_integer(&mut self) -> Option<i64> {
        self.0.pop_front()?.parse().ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn to_text(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn parse(text: &str) -> Option<Slots> {
        Some(Slots(text.split(' ').map(str::to_owned).collect()))
    }
}
