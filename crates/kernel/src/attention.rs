//! Attention: how many questions a group of people takes in a window, from all agents together. Who is asked too often
//! stops reading, so what is beyond it is refused and not asked.

use crate::contract::{Escalation, words};
use crate::escalation::OPERATORS;
use crate::world::Entity;
use values::json::Json;
use values::time::Duration;

/// Where state keeps it, by group; only operators write it.
pub const ATTENTION: &str = "attention/";

/// Most questions of a window.
pub const QUESTIONS_MAX: u64 = 1_000_000;

/// Whose budget the window of a group is: no agent has a name that starts with a blank.
const PEOPLE_BUDGET: &str = " people";

words! {
    /// What becomes of an agent that would ask when nothing is left.
    Spent {
        /// Only what would have been asked is refused.
        Refuse = "REFUSE",
        /// From then on the agent does nothing without a person, until an operator lifts that.
        EscalationOnly = "ESCALATION_ONLY",
    }
}

/// How many questions a group takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attention {
    /// In a window.
    pub questions: u64,
    /// The window; it rolls.
    pub per: Duration,
    /// And then.
    pub spent: Spent,
}

impl Attention {
    /// As state keeps it.
    pub fn to_json(self) -> Json {
        Json::object([
            ("questions", Json::from(self.questions)),
            ("per", Json::text(self.per.to_string())),
            ("spent", Json::text(self.spent.word())),
        ])
    }

    /// Reads it back; `None` if it is something else.
    pub fn from_json(json: &Json) -> Option<Attention> {
        let members = json.as_object()?;
        let questions = u64::try_from(json.get("questions")?.as_number()?.to_i64()?)
            .ok()
            .filter(|questions| *questions <= QUESTIONS_MAX)?;
        let per = Duration::parse(json.get("per")?.as_text()?).filter(|per| per.micros() > 0)?;
        let spent = match json.get("spent") {
            Some(word) => Spent::from_word(word.as_text()?)?,
            None => Spent::Refuse,
        };
        let known = members.keys().all(|key| ["questions", "per", "spent"].contains(&key.as_str()));
        known.then_some(Attention { questions, per, spent })
    }
}

/// The groups that a contract's questions go to.
pub fn asked_groups(rules: &Escalation) -> impl Iterator<Item = &str> {
    let operators = rules.approvers.is_empty().then_some(OPERATORS);
    operators.into_iter().chain(rules.approvers.iter().map(String::as_str))
}

/// Where state says how many questions a group takes.
pub fn rule_of(group: &str) -> Entity {
    Entity::State(format!("{ATTENTION}{group}"))
}

/// Where the questions that a group got are counted.
pub fn window_of(group: &str) -> Entity {
    Entity::Budget(PEOPLE_BUDGET.to_owned(), group.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is_read() {
        let attention = Attention { questions: 40, per: Duration::from_secs(8 * 3_600), spent: Spent::EscalationOnly };
        assert_eq!(Attention::from_json(&attention.to_json()), Some(attention));
        let read = |text: &str| Attention::from_json(&Json::parse(text.as_bytes()).unwrap());
        assert_eq!(read(r#"{"questions":0,"per":"1h"}"#).map(|read| read.spent), Some(Spent::Refuse));
        for wrong in [
            r#"{"questions":-1,"per":"1h"}"#,
            r#"{"questions":1,"per":"0s"}"#,
            r#"{"questions":1,"per":"1h","spent":"ask"}"#,
            r#"{"questions":1,"per":"1h","more":1}"#,
            r#"{"per":"1h"}"#,
            "[]",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
