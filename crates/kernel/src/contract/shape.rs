//! The keys a contract may hold, as data. The reader, its suggestions, the published schema and the comparison of two
//! contracts all follow them. The keys of a map stand in the file of the type that it is read into.

/// What more, or another value, means for what the agent may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// A bound from above: more is wider, and without it anything goes.
    MoreWidens,
    /// A bound from below: more is narrower, and without it anything goes.
    MoreNarrows,
    /// A list of what may be: longer is wider, and without it anything may be.
    SetWidens,
    /// A list of what may not be: longer is narrower.
    SetNarrows,
    /// Being there narrows; how a change moves it cannot be told.
    Presence,
    /// Being there widens; how a change moves it cannot be told.
    PresenceWidens,
    /// An expression that must hold.
    Condition,
    /// Text to which only restrictions can be added.
    Extension,
    /// Whether unknown params are refused: `false` is the narrow value, and without it they pass.
    Closed,
    /// How far something may have moved: `exact` is narrower than any tolerance.
    Tolerance,
    /// Words from narrow to wide.
    Words(&'static [&'static str]),
    /// Does not touch what may happen.
    Neutral,
    /// Cannot be told.
    Unclear,
}

/// One key of a map.
#[derive(Debug)]
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// What a change of its value means.
    pub(super) direction: Direction,
    /// What lies below it.
    pub(super) holds: Holds,
}

/// What lies below a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holds {
    /// Nothing that is compared by itself.
    Value,
    /// A map with these keys.
    Map(&'static Shape),
    /// Entries under names of the user's: what an entry that comes or goes means, and the keys of each.
    Each(Direction, Option<&'static Shape>),
    /// Settings that all mean the same.
    Settings(Direction),
    /// A JSON Schema of params.
    Schema,
}

/// The keys of one kind of map.
#[derive(Debug)]
pub struct Shape {
    /// What the map is called in messages, and its name in the schema.
    pub name: &'static str,
    /// Keys of the full form.
    pub full: &'static [Key],
    /// Keys only the short form has.
    pub short: &'static [&'static str],
}

impl Shape {
    /// Whether the key may stand here.
    pub fn knows(&self, key: &str) -> bool {
        self.all().any(|known| known == key)
    }

    /// Every key, full form first.
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        self.full.iter().map(|key| key.name).chain(self.short.iter().copied())
    }
}

/// Declares a [`Shape`]: each key with its direction, and what it holds where that is more than a value.
macro_rules! shape {
    (@holds) => { $crate::contract::shape::Holds::Value };
    (@holds $holds:expr) => { $holds };
    (
        $(#[$doc:meta])* $constant:ident = $name:literal { $($key:literal: $direction:expr $(, $holds:expr)?;)+ }
        $(short [$($short:literal),+])?
    ) => {
        $(#[$doc])*
        pub static $constant: $crate::contract::shape::Shape = $crate::contract::shape::Shape {
            name: $name,
            full: &[$($crate::contract::shape::Key {
                name: $key,
                direction: $direction,
                holds: $crate::contract::shape::shape!(@holds $($holds)?),
            }),+],
            short: &[$($($short),+)?],
        };
    };
}
pub(super) use shape;
