//! The one table of what a world holds: names, rows and kinds come from it, and so do the ways to look at them.
//!
//! A new kind of row is a line here and its bytes in `stored.rs`.

use super::{AskedRow, EffectRow, FlowRow, Key, Loaded, ResourceRow, StateRow, StoredAnswer, TenantRow, World};
use crate::agent::AgentRow;
use crate::budget::Window;
use crate::escalation::EscalationRow;
use crate::intent::IntentRow;
use crate::snapshot::Snapshot;
use crate::stored::StoredRow;
use crate::watched::MonitorRow;
use std::sync::Arc;
use values::json::{Bounds, Json, Object};
use values::time::Instant;

/// Each line: the entity and the parts of its name, the word of its kind, whether many commands share each row, how it is
/// looked at, and what is known of it.
macro_rules! entities {
    ($(
        $(#[$doc:meta])*
        $name:ident $(($($part:ident),+))? = $word:literal, $sharing:ident, $as_ref:ident $access:ident: $held:ty as $row:ty;
    )+) => {
        /// Names one entity, or a range of them. The order of the variants is the global lock order.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Entity {
            $($(#[$doc])* $name $(($(part_type!($part)),+))?,)+
            /// The waiting intents whose time ends soonest: a range without a row of its own, loaded only under pressure.
            DueIntents,
        }

        /// What is known of one entity.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Row { $($(#[$doc])* $name($held)),+ }

        /// What kind of entity a stored row is; each kind has a table of its own.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind { $($(#[$doc])* $name),+ }

        impl Kind {
            /// Every kind, in lock order.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),+];

            /// Its name in tables.
            pub fn word(self) -> &'static str {
                match self { $(Kind::$name => $word),+ }
            }

            /// Whether there are few of the kind and many commands share each: a store may remember them.
            pub fn is_shared(self) -> bool {
                match self { $(Kind::$name => is_shared!($sharing)),+ }
            }
        }

        impl Entity {
            /// Its kind; of a range, what it consists of.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Entity::$name $(($(any_part!($part)),+))? => Kind::$name,)+
                    Entity::DueIntents => Kind::Intent,
                }
            }

            /// The parts of its name within the tenant and kind.
            pub fn parts(&self) -> (&str, Option<&str>) {
                match self {
                    $(Entity::$name $(($($part),+))? => parts!($($($part),+)?),)+
                    Entity::DueIntents => ("", None),
                }
            }

            /// The entity of a kind and the parts of its name; `None` if the parts do not fit the kind.
            pub fn from_parts(kind: Kind, first: &str, second: Option<&str>) -> Option<Entity> {
                match kind { $(Kind::$name => from_parts!($name [$($($part)+)?] first, second)),+ }
            }
        }

        impl Entity {
            /// Whether it is the answer to an idempotency key that a caller chose. Ids and proofs that were used stand
            /// among stored answers too, and are never forgotten; no caller can choose a key that starts with a blank.
            pub fn is_chosen_key(&self) -> bool {
                matches!(self, Entity::Idempotency(_, name) if !name.starts_with(' '))
            }
        }

        impl Row {
            /// When something must happen to it of its own accord; stores keep an index over this.
            pub fn due(&self) -> Option<Instant> {
                match self { $(Row::$name(row) => StoredRow::due(row)),+ }
            }

            /// What a store keeps. A stored answer is its fingerprint: the answer itself is in the record it points at.
            pub fn to_stored(&self) -> String {
                let mut text = String::with_capacity(256);
                match self { $(Row::$name(row) => StoredRow::write(row, &mut text)),+ }
                text
            }

            /// Reads back what [`Row::to_stored`] wrote; `None` is damage. Stored answers are read through their record.
            pub fn from_stored(kind: Kind, text: &str) -> Option<Row> {
                let json = Json::parse_within(text.as_bytes(), &Bounds::OWN).ok()?;
                match kind { $(Kind::$name => StoredRow::read(json).map(Row::$name)),+ }
            }

            $(
                /// The row, if it is of this kind.
                pub fn $as_ref(&self) -> Option<&$row> {
                    if let Row::$name(row) = self { Some(row) } else { None }
                }
            )+
        }

        impl World {
            $(
                /// The row of this kind; nothing where there is none, or nobody looked.
                pub fn $access(&self, key: &Key) -> Option<&$row> {
                    match self.get(key) {
                        Loaded::Present(row) => row.$as_ref(),
                        Loaded::Absent | Loaded::NotLoaded => None,
                    }
                }
            )+
        }
    };
}

macro_rules! part_type {
    ($part:ident) => {
        String
    };
}

macro_rules! any_part {
    ($part:ident) => {
        _
    };
}

macro_rules! parts {
    () => {
        ("", None)
    };
    ($one:ident) => {
        ($one, None)
    };
    ($one:ident, $two:ident) => {
        ($one, Some($two))
    };
}

macro_rules! from_parts {
    ($name:ident [] $first:ident, $second:ident) => {
        $second.is_none().then_some(Entity::$name)
    };
    ($name:ident [$one:ident] $first:ident, $second:ident) => {
        $second.is_none().then(|| Entity::$name($first.to_owned()))
    };
    ($name:ident [$one:ident $two:ident] $first:ident, $second:ident) => {
        $second.map(|second| Entity::$name($first.to_owned(), second.to_owned()))
    };
}

macro_rules! is_shared {
    (shared) => {
        true
    };
    (single) => {
        false
    };
}

entities! {
    /// The tenant itself, with its kill switch. Loaded with every command.
    Tenant = "tenant", shared, as_tenant tenant: TenantRow as TenantRow;
    /// A stored answer: agent and key.
    Idempotency(agent, name) = "idempotency", single, as_stored_answer stored_answer: Box<StoredAnswer> as StoredAnswer;
    /// An agent.
    Agent(name) = "agent", shared, as_agent agent: Box<AgentRow> as AgentRow;
    /// A contract in its full form, by digest.
    Contract(digest) = "contract", shared, as_contract contract: Arc<Json> as Json;
    /// A flow.
    Flow(name) = "flow", single, as_flow flow: FlowRow as FlowRow;
    /// A question to people.
    Escalation(name) = "escalation", single, as_question question: Box<EscalationRow> as EscalationRow;
    /// The last question of an agent about an effect: agent, and what names the effect.
    Asked(agent, subject) = "asked", single, as_asked asked: AskedRow as AskedRow;
    /// A permission to cause an effect.
    Intent(name) = "intent", single, as_intent intent: Box<IntentRow> as IntentRow;
    /// A business effect.
    Effect(key) = "effect", single, as_effect effect: EffectRow as EffectRow;
    /// A resource.
    Resource(name) = "resource", shared, as_resource resource: ResourceRow as ResourceRow;
    /// A windowed budget: agent and budget.
    Budget(agent, name) = "budget", shared, as_budget budget: Window as Window;
    /// A monitor: agent and name.
    Monitor(agent, name) = "monitor", shared, as_monitor monitor: Box<MonitorRow> as MonitorRow;
    /// A value of state.
    State(key) = "state", single, as_state state: StateRow as StateRow;
    /// What a flow's session holds.
    Session(flow) = "session", single, as_session session: Object as Object;
    /// A snapshot by name or id.
    Snapshot(name) = "snapshot", single, as_snapshot snapshot: Snapshot as Snapshot;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_kind_and_the_parts_of_a_name_make_one_entity() {
        for kind in Kind::ALL {
            let plain = Entity::from_parts(*kind, "one", None);
            let paired = Entity::from_parts(*kind, "one", Some("two"));
            assert!(plain.is_some() != paired.is_some(), "names of {} have one form", kind.word());
            for (entity, second) in [(plain, None), (paired, Some("two"))] {
                let Some(entity) = entity else { continue };
                let first = if *kind == Kind::Tenant { "" } else { "one" };
                assert_eq!((entity.kind(), entity.parts()), (*kind, (first, second)));
            }
        }
        let words: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        assert_eq!(words.len(), Kind::ALL.len());
    }

    #[test]
    fn a_range_is_named_by_no_parts() {
        assert_eq!(Entity::DueIntents.kind(), Kind::Intent);
        for first in ["", "due_intents"] {
            let mut named = Kind::ALL.iter().filter_map(|kind| Entity::from_parts(*kind, first, None));
            assert!(named.all(|entity| entity != Entity::DueIntents));
        }
    }
}
