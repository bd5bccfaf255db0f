//! What changed between two contracts, and in which direction.
//!
//! The full forms are compared member by member, so nothing can change unseen; a table says what each direction means.

mod directions;

use super::comparison::Comparison;
use super::shape::Direction;
use super::{Action, Ask, Contract, params};
use directions::direction_of;
use values::json::{Json, Object};

super::words! {
    /// Which way a change moves what the agent may do.
    Effect {
        /// More may happen than before.
        Widens = "widens",
        /// Less may happen than before.
        Narrows = "narrows",
        /// What may happen stays the same.
        Neutral = "neutral",
        /// It cannot be told from the text.
        Unclear = "unclear",
    }
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Path of keys in the full form; budgets, rules and reservations are named by what they are about.
    pub path: String,
    /// The value before; absent if there was none.
    pub old: Option<Json>,
    /// The value now; absent if there is none.
    pub new: Option<Json>,
    /// Which way it moves what the agent may do.
    pub effect: Effect,
}

impl Effect {
    /// The effect of the way back.
    pub fn opposite(self) -> Effect {
        match self {
            Effect::Widens => Effect::Narrows,
            Effect::Narrows => Effect::Widens,
            Effect::Neutral => Effect::Neutral,
            Effect::Unclear => Effect::Unclear,
        }
    }
}

/// Every difference, in the order of paths.
pub fn diff(old: &Contract, new: &Contract) -> Vec<Change> {
    differences(old, new).into_iter().map(|difference| difference.change).collect()
}

/// A change with its path in pieces: names may contain dots.
pub(super) struct Difference {
    pub keys: Vec<String>,
    pub change: Change,
}

pub(super) fn differences(old: &Contract, new: &Contract) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut Vec::new(), Some(&comparable(old)), Some(&comparable(new)), &mut found);
    for difference in &mut found {
        if let Some(effect) = in_context(difference, old, new) {
            difference.change.effect = effect;
        }
    }
    found
}

fn compare(path: &mut Vec<String>, old: Option<&Json>, new: Option<&Json>, found: &mut Vec<Difference>) {
    if old == new {
        return;
    }
    let (Some(Json::Object(old_members)), Some(Json::Object(new_members))) = (old, new) else {
        let effect = effect(path, old, new);
        let change = Change { path: path.join("."), old: old.cloned(), new: new.cloned(), effect };
        found.push(Difference { keys: path.clone(), change });
        return;
    };
    let keys: std::collections::BTreeSet<&String> = old_members.keys().chain(new_members.keys()).collect();
    for key in keys {
        path.push(key.clone());
        compare(path, old_members.get(key), new_members.get(key), found);
        path.pop();
    }
}

fn effect(path: &[String], old: Option<&Json>, new: Option<&Json>) -> Effect {
    let direction = direction_of(path);
    match (old, new) {
        (Some(old), Some(new)) => direction.when_changed(old, new),
        (None, Some(new)) => direction.when_added(new),
        (Some(old), None) => direction.when_added(old).opposite(),
        (None, None) => Effect::Neutral,
    }
}

/// Effects that depend on more than the changed key.
fn in_context(difference: &Difference, old: &Contract, new: &Contract) -> Option<Effect> {
    let [first, action, keys @ ..] = difference.keys.as_slice() else { return None };
    if first == "watch" {
        let (old, new) = (old.watch.get(action)?, new.watch.get(action)?);
        // Which bounds there are decides what an expression that errs counts as.
        return (old.error_counts_as() != new.error_counts_as() && !keys.is_empty()).then_some(Effect::Unclear);
    }
    if first != "actions" {
        return None;
    }
    let (old, new) = (old.actions.get(action)?, new.actions.get(action)?);
    match keys {
        [key] if key == "allow" => allowing(old, new),
        [key, ..] if key == "ask" => Some(asking(&difference.change, old, new)),
        // A limit that admits negative numbers can let more pass than no limit.
        [key, _] if key == "limits" => {
            let limit = difference.change.old.as_ref().or(difference.change.new.as_ref());
            (limit?.get("signed") == Some(&Json::Bool(true))).then_some(Effect::Unclear)
        }
        // Where unknown params pass, naming one more restricts it, and forgetting one frees it.
        [key, group, _] if key == "params" && group == "properties" => {
            let closed = params::opening(old).is_none() && params::opening(new).is_none();
            (!closed).then_some(Effect::Unclear)
        }
        _ => None,
    }
}

/// What `allow` does not name is refused unless someone is asked; triggers ask about what it names, a zone does not.
fn allowing(old: &Action, new: &Action) -> Option<Effect> {
    match (&old.allow, &new.allow) {
        (None, Some(_)) => match new.ask {
            // What only a person could let pass may pass without one now.
            Ask::Zone(_) if !old.ask.is_empty() => Some(Effect::Widens),
            // Everything that nobody was asked about passed before.
            Ask::Zone(_) | Ask::Triggers(_) => Some(Effect::Narrows),
        },
        // What could not be evaluated was refused; a plain `false` leads on to the questions.
        (Some(before), Some(now)) if now.trim() == "false" && before.trim() != "true" && !new.ask.is_empty() => {
            Some(Effect::Unclear)
        }
        (Some(_), Some(_) | None) | (None, None) => None,
    }
}

/// Outside `allow` a question opens what would be refused; inside it, or without it, a question stops what would pass.
fn asking(change: &Change, old: &Action, new: &Action) -> Effect {
    let is_added = change.old.is_none();
    // Everything passed before, so whatever is asked or refused now is less.
    if old.allow.is_none() && old.ask.is_empty() {
        return Effect::Narrows;
    }
    let are_outside = asks_outside_only(old) && asks_outside_only(new);
    match (old.allow.is_some(), new.allow.is_some()) {
        (false, false) if is_added => Effect::Narrows,
        (false, false) => Effect::Widens,
        (true, true) if are_outside && is_added => Effect::Widens,
        (true, true) if are_outside && new.ask.is_empty() => Effect::Narrows,
        // A question that cannot be evaluated refuses; without it another one may be asked.
        (true, true) | (true, false) | (false, true) => Effect::Unclear,
    }
}

/// Whether no question is about anything that `allow` names.
fn asks_outside_only(action: &Action) -> bool {
    let names_nothing = action.allow.as_deref().map(str::trim) == Some("false");
    match &action.ask {
        Ask::Zone(_) => true,
        Ask::Triggers(rules) => rules.is_empty() || names_nothing,
    }
}

/// The full form with lists that have no order turned into maps by what their items are about.
fn comparable(contract: &Contract) -> Json {
    let mut json = contract.to_json();
    if let Json::Object(members) = &mut json {
        rekey(members, "budgets", budget_key);
        if let Some(Json::Object(actions)) = members.get_mut("actions") {
            for action in actions.values_mut() {
                let Json::Object(action) = action else { continue };
                rekey(action, "budgets", budget_key);
                rekey(action, "refuse", rule_key);
                rekey(action, "ask", rule_key);
                if let Some(Json::Object(ask)) = action.get_mut("ask") {
                    rekey(ask, "zone", rule_key);
                }
                rekey(action, "reserves", |item| text(item, "resource"));
            }
        }
    }
    json
}

fn rekey(members: &mut Object, key: &str, key_of: fn(&Json) -> String) {
    let Some(Json::List(items)) = members.get(key) else { return };
    let mut keyed = Object::new();
    for item in items {
        let mut name = key_of(item);
        // The same thing twice is legal for rules and reservations, and must not hide one of them.
        while keyed.contains_key(&name) {
            name.push('\'');
        }
        keyed.insert(name, item.clone());
    }
    members.insert(key.to_owned(), Json::Object(keyed));
}

fn budget_key(budget: &Json) -> String {
    let what = budget.get("sum").and_then(Json::as_text).map_or("count".to_owned(), |param| format!("sum {param}"));
    format!("{what} per {}", text(budget, "per"))
}

fn rule_key(rule: &Json) -> String {
    format!("{} when {}", text(rule, "reason"), text(rule, "when"))
}

fn text(value: &Json, key: &str) -> String {
    value.get(key).and_then(Json::as_text).unwrap_or_default().to_owned()
}

impl Direction {
    fn when_added(self, value: &Json) -> Effect {
        match self {
            Direction::MoreWidens
            | Direction::MoreNarrows
            | Direction::Condition
            | Direction::Extension
            | Direction::Tolerance
            | Direction::SetWidens
            | Direction::SetNarrows
            | Direction::Presence => Effect::Narrows,
            Direction::PresenceWidens => Effect::Widens,
            Direction::Closed if *value == Json::Bool(false) => Effect::Narrows,
            Direction::Closed | Direction::Unclear => Effect::Unclear,
            Direction::Words(_) | Direction::Neutral => Effect::Neutral,
        }
    }

    fn when_changed(self, old: &Json, new: &Json) -> Effect {
        match self {
            Direction::MoreWidens => by_size(old, new, Effect::Widens),
            Direction::MoreNarrows => by_size(old, new, Effect::Narrows),
            Direction::SetWidens => by_set(old, new, Effect::Widens),
            Direction::SetNarrows => by_set(old, new, Effect::Narrows),
            Direction::Words(words) => by_words(old, new, words),
            Direction::Closed => by_narrowest(old, new, &Json::Bool(false)),
            Direction::Tolerance => by_narrowest(old, new, &Json::text("exact")),
            Direction::Condition => by_condition(old, new),
            Direction::Extension => by_extension(old, new),
            Direction::Presence | Direction::PresenceWidens | Direction::Unclear => Effect::Unclear,
            Direction::Neutral => Effect::Neutral,
        }
    }
}

fn by_narrowest(old: &Json, new: &Json, narrowest: &Json) -> Effect {
    match (old == narrowest, new == narrowest) {
        (true, false) => Effect::Widens,
        (false, true) => Effect::Narrows,
        (true, true) => Effect::Neutral,
        (false, false) => Effect::Unclear,
    }
}

fn by_size(old: &Json, new: &Json, when_more: Effect) -> Effect {
    match (directions::size(old), directions::size(new)) {
        (Some(old), Some(new)) if old == new => Effect::Neutral,
        (Some(old), Some(new)) if new > old => when_more,
        (Some(_), Some(_)) => when_more.opposite(),
        (None, _) | (_, None) => Effect::Unclear,
    }
}

fn by_set(old: &Json, new: &Json, when_more: Effect) -> Effect {
    let (Some(old), Some(new)) = (old.as_list(), new.as_list()) else { return Effect::Unclear };
    let grows = old.iter().all(|item| new.contains(item));
    let shrinks = new.iter().all(|item| old.contains(item));
    match (grows, shrinks) {
        (true, true) => Effect::Neutral,
        (true, false) => when_more,
        (false, true) => when_more.opposite(),
        (false, false) => Effect::Unclear,
    }
}

/// Words in the order from narrow to wide.
fn by_words(old: &Json, new: &Json, words: &[&str]) -> Effect {
    let rank = |value: &Json| words.iter().position(|word| Some(*word) == directions::word(value).as_deref());
    match (rank(old), rank(new)) {
        (Some(old), Some(new)) if new > old => Effect::Widens,
        (Some(old), Some(new)) if new < old => Effect::Narrows,
        (Some(_), Some(_)) => Effect::Neutral,
        (None, _) | (_, None) => Effect::Unclear,
    }
}

/// Only plain comparisons can be told apart by their text.
fn by_condition(old: &Json, new: &Json) -> Effect {
    let (Some(old), Some(new)) = (old.as_text(), new.as_text()) else { return Effect::Unclear };
    if new.trim() == "false" || old.trim() == "true" {
        return Effect::Narrows;
    }
    if old.trim() == "false" || new.trim() == "true" {
        return Effect::Widens;
    }
    match (Comparison::parse(old), Comparison::parse(new)) {
        (Some(old), Some(new)) => match (new.covers(&old), old.covers(&new)) {
            (true, true) => Effect::Neutral,
            (true, false) => Effect::Widens,
            (false, true) => Effect::Narrows,
            (false, false) => Effect::Unclear,
        },
        (None, _) | (_, None) => Effect::Unclear,
    }
}

/// An implicit permit stands before the policies, so more of them can only forbid more.
fn by_extension(old: &Json, new: &Json) -> Effect {
    let (Some(old), Some(new)) = (old.as_text(), new.as_text()) else { return Effect::Unclear };
    if new.starts_with(old.trim_end()) {
        return Effect::Narrows;
    }
    if old.starts_with(new.trim_end()) {
        return Effect::Widens;
    }
    Effect::Unclear
}
