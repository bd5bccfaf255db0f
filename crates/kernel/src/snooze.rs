//! Questions that a person put off for a while. It hides them from that person's own list and changes nothing else: who
//! may answer, reminders, the deadline and the digest stay as they are.

use crate::handed::Handed;
use std::collections::BTreeMap;
use values::ids::{folded, is_same_person};
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Where state keeps what each person put off; people do it, through what knows them.
pub const SNOOZED: &str = "snooze/";

/// Questions that one person has put off at a time. Whoever has more needs help, not a longer list.
pub const SNOOZED_MAX: usize = 100;

/// The shortest time: for less it is not worth a record.
pub const SHORTEST: Duration = Duration::from_micros(60 * 1_000_000);

/// The longest time.
pub const LONGEST: Duration = Duration::from_micros(7 * 86_400 * 1_000_000);

/// For how long one person put one question off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snooze {
    pub since: Instant,
    /// From then on it is on their list again.
    pub until: Instant,
}

impl Snooze {
    /// Whether it hides a question from the person's list at an instant. What was handed to them afterwards is not hidden:
    /// they put it off before they knew that it is theirs.
    pub fn hides(&self, person: &str, handed: Option<&Handed>, at: Instant) -> bool {
        let is_handed = handed.is_some_and(|handed| is_same_person(&handed.to, person) && handed.at >= self.since);
        at < self.until && !is_handed
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::Object(Object::from_iter([
            ("since".to_owned(), Json::text(self.since.to_string())),
            ("until".to_owned(), Json::text(self.until.to_string())),
        ]))
    }

    fn from_json(json: &Json) -> Option<Snooze> {
        let members = json.as_object().filter(|members| members.len() == 2)?;
        let at = |name: &str| Instant::parse(members.get(name)?.as_text()?);
        Some(Snooze { since: at("since")?, until: at("until")? })
    }
}

/// What one person put off, by question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snoozed(pub BTreeMap<String, Snooze>);

impl Snoozed {
    /// Under which name state keeps it.
    pub fn key(person: &str) -> String {
        format!("{SNOOZED}{}", folded(person))
    }

    /// Forgets what is on the list again anyway.
    pub fn forget_over(&mut self, at: Instant) {
        self.0.retain(|_, snooze| at < snooze.until);
    }

    /// Reads what [`Snoozed::to_json`] wrote, and nothing else.
    pub fn from_json(json: &Json) -> Option<Snoozed> {
        let members = json.as_object().filter(|members| members.len() <= SNOOZED_MAX)?;
        let read = |(question, json): (&String, &Json)| Some((question.clone(), Snooze::from_json(json)?));
        Some(Snoozed(members.iter().map(read).collect::<Option<_>>()?))
    }

    /// As state keeps it.
    pub fn to_json(&self) -> Json {
        Json::Object(self.0.iter().map(|(question, snooze)| (question.clone(), snooze.to_json())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Instant {
        Instant::from_micros(minutes * 60_000_000)
    }

    #[test]
    fn it_is_read_back_and_anything_else_is_nothing() {
        let one = Snoozed(BTreeMap::from([("q-1".to_owned(), Snooze { since: at(1), until: at(31) })]));
        assert_eq!(Snoozed::from_json(&one.to_json()), Some(one));
        for text in ["null", "[]", r#"{"q":1}"#, r#"{"q":{"since":"1970-01-01T00:00:00Z"}}"#] {
            assert_eq!(Snoozed::from_json(&Json::parse(text.as_bytes()).unwrap()), None, "{text}");
        }
        let many = (0..=SNOOZED_MAX).map(|number| (format!("q-{number}"), Snooze { since: at(0), until: at(1) }));
        assert_eq!(Snoozed::from_json(&Snoozed(many.collect()).to_json()), None, "more than one person may put off");
    }

    #[test]
    fn it_hides_until_its_time_is_over_or_the_question_is_handed_to_the_person() {
        let snooze = Snooze { since: at(10), until: at(40) };
        let handed = |to: &str, minutes: i64| Handed {
            by: "bob".to_owned(),
            to: to.to_owned(),
            at: at(minutes),
            because: String::new(),
        };
        let check = |handed: Option<Handed>, minutes: i64, expected: bool| {
            assert_eq!(snooze.hides("ann", handed.as_ref(), at(minutes)), expected, "{handed:?} at {minutes}");
        };
        check(None, 39, true);
        check(None, 40, false);
        check(Some(handed("Ann", 20)), 30, false);
        check(Some(handed("ann", 5)), 30, true);
        check(Some(handed("cid", 20)), 30, true);
    }
}
