//! The attention of groups of people as values: how many questions each takes, and how many it got.

use crate::error::Error;
use crate::keeper::Keeper;
use kernel::agent::Actor;
use kernel::attention::{ATTENTION, Attention, window_of};
use kernel::change::Write;
use kernel::world::Row;
use values::json::Json;
use values::time::Instant;

/// A group whose attention is bounded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupAttention {
    pub group: String,
    pub attention: Attention,
    /// Questions it got within the window.
    pub asked: String,
}

impl GroupAttention {
    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("group", Json::text(self.group.as_str())),
            ("questions", Json::from(self.attention.questions)),
            ("per", Json::text(self.attention.per.to_string())),
            ("spent", Json::text(self.attention.spent.word())),
            ("asked", Json::text(self.asked.as_str())),
        ])
    }
}

impl Keeper {
    /// Every group whose attention is bounded.
    pub fn attention(&self, now: Instant) -> Result<Vec<GroupAttention>, Error> {
        let mut groups = Vec::new();
        for (group, json) in self.states_under(ATTENTION)? {
            let Some(attention) = Attention::from_json(&json) else { continue };
            let used = match self.runtime().read(window_of(&group))? {
                Some(Row::Budget(window)) => window.used(now, attention.per),
                Some(_) | None => None,
            };
            let asked = used.map_or_else(|| "0".to_owned(), |used| used.to_string());
            groups.push(GroupAttention { group, attention, asked });
        }
        Ok(groups)
    }

    /// Bounds how many questions a group takes; without a bound it takes any number.
    pub fn set_attention(&self, operator: &Actor, group: &str, attention: Option<Attention>) -> Result<(), Error> {
        let value = attention.map_or(Json::Null, Attention::to_json);
        self.merge(operator, vec![Write { key: format!("{ATTENTION}{group}"), value, expect: None }])?;
        Ok(())
    }
}
