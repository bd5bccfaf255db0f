//! Whether a child's contract lies inside its parent's. What cannot be proved is refused.

use super::diff::{Difference, Effect, differences};
use super::{Action, Budget, Contract, Tolerance, params};
use crate::plan::Plan;
use values::json::Json;

/// Keys that say who the child is, not what it may do.
const OWN: &[&str] =
    &["agent", "group", "id", "mission", "monitors", "parent", "priority", "version", "wake_when", "watch"];

/// Where a child's contract allows more than its parent's, or cannot be shown to allow less.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Widening {
    /// Path of keys: `actions.issue_refund.limits.amount`.
    pub path: String,
    /// What is wider, with both values.
    pub message: String,
}

/// Proves that everything the child may do, the parent may do; otherwise names the first widening.
///
/// The parent's limits and budgets apply again at decision time; this is the early error.
pub fn attenuate(child: &Contract, parent: &Contract) -> Result<(), Widening> {
    if let Some(problem) = differences(parent, child).iter().find_map(widening) {
        return Err(problem);
    }
    for (name, action) in &child.actions {
        let Some(bound) = parent.actions.get(name) else { continue };
        budgets_hold(name, (child, action), (parent, bound))?;
        drift_holds(name, (child, action), (parent, bound))?;
    }
    Ok(())
}

/// A change from the parent to the child that is not provably harmless.
fn widening(difference: &Difference) -> Option<Widening> {
    let change = &difference.change;
    let is_own = difference.keys.first().is_some_and(|key| OWN.contains(&key.as_str()));
    // Budgets and drift keys apply to actions by their params: what is left of them is compared action by action.
    let is_planned = match difference.keys.as_slice() {
        [first, ..] if first == "budgets" || first == "drift" => true,
        [first, _, third, ..] => first == "actions" && third == "budgets",
        _ => false,
    };
    if is_own || is_planned {
        return None;
    }
    let (child, parent) = (shown(change.new.as_ref()), shown(change.old.as_ref()));
    match change.effect {
        Effect::Narrows | Effect::Neutral => None,
        Effect::Widens => {
            let message = format!("`{}` is {child}, wider than the parent's {parent}", change.path);
            Some(refused(&change.path, message))
        }
        Effect::Unclear => {
            let message =
                format!("`{}` is {child}, which cannot be shown to lie inside the parent's {parent}", change.path);
            Some(refused(&change.path, message))
        }
    }
}

/// Each budget of the parent's action needs one of the child's that allows no more in a window at least as long.
///
/// A budget that all actions share holds less than one of a single action, so only a shared one can stand for it.
fn budgets_hold(name: &str, child: (&Contract, &Action), parent: (&Contract, &Action)) -> Result<(), Widening> {
    let shared = |(contract, action): (&Contract, &Action)| -> Vec<Budget> {
        let applies = |budget: &&Budget| budget.sum.as_ref().is_none_or(|param| params::has(action, param));
        contract.budgets.iter().filter(applies).cloned().collect()
    };
    let (own_shared, own) = (shared(child), child.1.budgets.iter().cloned());
    let own_all: Vec<Budget> = own_shared.iter().cloned().chain(own).collect();
    let rows = [
        ("budgets".to_owned(), own_shared, shared(parent)),
        (format!("actions.{name}.budgets"), own_all, parent.1.budgets.clone()),
    ];
    for (path, own, bounds) in rows {
        let is_held =
            |bound: &Budget| own.iter().any(|own| own.sum == bound.sum && own.max <= bound.max && own.per >= bound.per);
        let Some(open) = bounds.iter().find(|bound| !is_held(bound)) else { continue };
        let what = open.sum.as_ref().map_or("a count".to_owned(), |param| format!("a sum of `{param}`"));
        let of_all = if path == "budgets" { format!(" for `{name}`") } else { String::new() };
        let message = format!(
            "`{path}` has nothing as tight{of_all} as the parent's {what} of `{}` per `{}`",
            open.max, open.per
        );
        return Err(refused(&path, message));
    }
    Ok(())
}

/// Each drift key that the parent checks for an action is checked for the child's, at least as tightly.
fn drift_holds(name: &str, child: (&Contract, &Action), parent: (&Contract, &Action)) -> Result<(), Widening> {
    if child.1.reads {
        return Ok(());
    }
    let own = Plan::of(child.0, name, child.1).drift;
    for bound in Plan::of(parent.0, name, parent.1).drift {
        if !own.iter().any(|own| own.key == bound.key && is_within(own.tolerance, bound.tolerance)) {
            let message =
                format!("the parent checks the drift of `{}` for `{name}`, the child not or less tightly", bound.key);
            return Err(refused("drift", message));
        }
    }
    Ok(())
}

fn is_within(own: Tolerance, bound: Tolerance) -> bool {
    match (own, bound) {
        (Tolerance::Exact, _) => true,
        (Tolerance::Percent(own), Tolerance::Percent(bound)) => own <= bound,
        (Tolerance::Absolute(own), Tolerance::Absolute(bound)) => own <= bound,
        (Tolerance::Percent(_) | Tolerance::Absolute(_), _) => false,
    }
}

fn shown(value: Option<&Json>) -> String {
    let text = match value {
        None => return "absent".to_owned(),
        Some(value) => value.as_text().map_or_else(|| value.to_canonical(), str::to_owned),
    };
    if text.chars().count() > 60 {
        let start: String = text.chars().take(60).collect();
        return format!("`{start}…`");
    }
    format!("`{text}`")
}

fn refused(path: &str, message: String) -> Widening {
    Widening { path: path.to_owned(), message }
}
