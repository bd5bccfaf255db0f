//! The state of a monitor as a row of numbers.

use std::fmt::Write;
use values::decimal::Decimal;

/// Numbers in the order they are written and read, as one line of text. Text gives every float back exactly.
///
/// A row of a monitor is written with every batch that moves it, so numbers go straight into the line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Slots {
    line: String,
    /// Where the next number to read begins; beyond the line there is none.
    next: usize,
}

impl Slots {
    /// Begins a number: a blank stands before each but the first.
    fn begin(&mut self) -> &mut String {
        if !self.line.is_empty() {
            self.line.push(' ');
        }
        &mut self.line
    }

    pub(super) fn number(&mut self, number: f64) {
        // Writing into a text cannot fail.
        write!(self.begin(), "{number:?}").ok();
    }

    pub(super) fn numbers<const N: usize>(&mut self, numbers: [f64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    pub(super) fn count(&mut self, count: u64) {
        write!(self.begin(), "{count}").ok();
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.count(u64::from(flag));
    }

    pub(super) fn decimal(&mut self, number: Decimal) {
        number.write(self.begin());
    }

    pub(super) fn integer(&mut self, number: i64) {
        write!(self.begin(), "{number}").ok();
    }

    fn next(&mut self) -> Option<&str> {
        let rest = self.line.get(self.next..)?;
        let number = rest.split(' ').next()?;
        self.next = self.next.saturating_add(number.len()).saturating_add(1);
        Some(number)
    }

    pub(super) fn next_number(&mut self) -> Option<f64> {
        let number: f64 = self.next()?.parse().ok()?;
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
        self.next()?.parse().ok()
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
        Decimal::parse(self.next()?)
    }

    pub(super) fn next_integer(&mut self) -> Option<i64> {
        self.next()?.parse().ok()
    }

    /// Whether every number was read.
    pub(super) fn is_read(&self) -> bool {
        self.next > self.line.len()
    }

    pub(super) fn into_text(self) -> String {
        self.line
    }

    pub(super) fn parse(line: &str) -> Slots {
        Slots { line: line.to_owned(), next: 0 }
    }
}
