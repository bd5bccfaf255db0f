//! Open questions a page at a time, most urgent first: risk times age, at the instant at which the first page was read.
//!
//! The store lists the questions of each impact oldest first, and neither changes while a question is open. So the four
//! lists are merged, a page costs what it shows, and whoever goes on behind a cursor sees each question once: what ends
//! meanwhile is missing, and what is asked meanwhile comes last.

use super::QuestionRow;
use crate::error::Error;
use kernel::contract::Impact;
use kernel::escalation::EscalationRow;
use kernel::world::Row;
use runtime::Runtime;
use std::cmp::Reverse;
use std::fmt;
use values::time::Instant;

/// Every impact, the gravest first.
const IMPACTS: [Impact; 4] = [Impact::Critical, Impact::High, Impact::Medium, Impact::Low];

/// Behind which question a list goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor {
    /// When the first page was read: urgency grows with time, and the order must not.
    now: Instant,
    impact: Impact,
    asked_at: Instant,
    id: String,
}

impl Cursor {
    /// Reads what its text says; `None` if that is none.
    pub fn parse(text: &str) -> Option<Cursor> {
        let mut parts = text.splitn(4, '.');
        let now = Instant::from_micros(parts.next()?.parse().ok()?);
        let impact = Impact::from_word(parts.next()?)?;
        let asked_at = Instant::from_micros(parts.next()?.parse().ok()?);
        Some(Cursor { now, impact, asked_at, id: parts.next()?.to_owned() })
    }

    /// From where on the questions of an impact are less urgent.
    fn place(&self, impact: Impact) -> (Instant, &str) {
        if impact == self.impact {
            return (self.asked_at, &self.id);
        }
        if self.asked_at > self.now {
            let is_behind = impact > self.impact;
            return (if is_behind { after(self.asked_at) } else { self.asked_at }, "");
        }
        let (urgency, weight) = (urgency(self.impact, self.asked_at, self.now), weight(impact));
        let age = urgency / weight;
        // Of two that are as urgent the graver comes first, so this one was there already.
        let is_behind = impact > self.impact && age * weight == urgency;
        let asked_at = Instant::from_micros(self.now.micros().saturating_sub(age));
        (if is_behind { after(asked_at) } else { asked_at }, "")
    }
}

/// The next instant.
fn after(at: Instant) -> Instant {
    Instant::from_micros(at.micros().saturating_add(1))
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (now, asked_at) = (self.now.micros(), self.asked_at.micros());
        write!(formatter, "{now}.{}.{asked_at}.{}", self.impact.word(), self.id)
    }
}

/// A page of open questions.
#[derive(Clone, PartialEq, Debug)]
pub struct RowPage {
    pub rows: Vec<QuestionRow>,
    /// Whether there are more behind the last of them.
    pub is_more: bool,
    now: Instant,
}

impl RowPage {
    /// At most so many behind a cursor, or the most urgent at an instant.
    pub fn of(runtime: &Runtime, after: Option<&Cursor>, limit: usize, now: Instant) -> Result<RowPage, Error> {
        let now = after.map_or(now, |after| after.now);
        let first = (Instant::from_micros(i64::MIN), "");
        let mut rows: Vec<QuestionRow> = Vec::new();
        for impact in IMPACTS {
            let place = after.map_or(first, |after| after.place(impact));
            let found = runtime.open_questions(impact, place, limit.saturating_add(1))?;
            rows.extend(found.into_iter().filter_map(|(key, row)| {
                let Row::Escalation(row) = row else { return None };
                Some((key.entity.parts().0.to_owned(), row))
            }));
        }
        rows.sort_by_cached_key(|(id, row)| {
            // What was asked after the first page comes last, in the order in which it was asked.
            let later = (row.asked_at > now).then_some(row.asked_at);
            (later, Reverse(urgency(row.impact, row.asked_at, now)), Reverse(row.impact), row.asked_at, id.clone())
        });
        let is_more = rows.len() > limit;
        rows.truncate(limit);
        Ok(RowPage { rows, is_more, now })
    }

    /// Behind one of its questions.
    pub fn behind(&self, id: &str, row: &EscalationRow) -> Cursor {
        Cursor { now: self.now, impact: row.impact, asked_at: row.asked_at, id: id.to_owned() }
    }

    /// Behind the last of them, where there are more.
    pub fn next(&self) -> Option<Cursor> {
        let (id, row) = self.rows.last().filter(|_| self.is_more)?;
        Some(self.behind(id, row))
    }
}

/// Risk times age: what may hurt most and waits longest comes first.
pub(super) fn urgency(impact: Impact, asked_at: Instant, now: Instant) -> i64 {
    now.since(asked_at).micros().saturating_mul(weight(impact))
}

fn weight(impact: Impact) -> i64 {
    match impact {
        Impact::Low => 1,
        Impact::Medium => 3,
        Impact::High => 10,
        Impact::Critical => 30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_anything_else_is_none() {
        let cursor = Cursor {
            now: Instant::from_micros(1_700_000_000_000_000),
            impact: Impact::High,
            asked_at: Instant::from_micros(1_699_999_000_000_000),
            id: "q.1 \u{e9}".to_owned(),
        };
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        for text in ["", "1", "1.HIGH", "1.HIGH.2", "1.high.2.q", "x.HIGH.2.q", "1.HIGH.y.q"] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_is_behind_what_was_listed_and_before_everything_else() {
        let at = Instant::from_micros;
        let check = |impact: Impact, asked: i64, other: Impact, expected: i64| {
            let cursor = Cursor { now: at(1_000), impact, asked_at: at(asked), id: "q".to_owned() };
            assert_eq!(cursor.place(other), (at(expected), ""), "{impact:?} of {asked} before {other:?}");
        };
        // 10 * 300 = 3,000 = 30 * 100 = 3 * 1,000 = 1 * 3,000
        check(Impact::High, 700, Impact::Critical, 901);
        check(Impact::High, 700, Impact::Medium, 0);
        check(Impact::High, 700, Impact::Low, -2_000);
        // 3 * 50 = 150, of which 10 * 15 is the same and 30 * 5 too.
        check(Impact::Medium, 950, Impact::High, 986);
        check(Impact::Medium, 949, Impact::High, 985);
        check(Impact::High, 1_000, Impact::Critical, 1_001);
        check(Impact::High, 1_000, Impact::Low, 1_000);
        // What was asked after the first page stands in the order in which it was asked.
        check(Impact::High, 2_000, Impact::Critical, 2_001);
        check(Impact::High, 2_000, Impact::Low, 2_000);
    }
}
