//! Whether a child's contract lies inside its parent's. What cannot be proved is refused.

use super::diff::{Difference, Effect, differences};
use super::source::{Diagnostic, Place, Severity};
use super::{Budget, Contract};
use crate::json::Json;

/// The code of a contract that lies outside its parent's.
pub const CONTRACT_WIDENS_PARENT: &str = "CONTRACT_WIDENS_PARENT";

/// Keys that say who the child is, not what it may do.
const OWN: &[&str] = &["agent", "id", "mission", "monitors", "parent", "priority", "role", "version", "wake_when"];

/// Proves that everything the child may do, the parent may do; otherwise names the first widening.
///
/// The parent's limits and budgets apply again at decision time; this is the early error.
#[expect(clippy::result_large_err, reason = "made once per registration, never in a loop")]
pub fn attenuate(child: &Contract, parent: &Contract) -> Result<(), Diagnostic> {
    if let Some(problem) = differences(parent, child).iter().find_map(widening) {
        return Err(problem);
    }
    budgets_hold("budgets", &child.budgets, &parent.budgets)?;
    for (name, action) in &child.actions {
        let parent_budgets = parent.actions.get(name).map(|action| action.budgets.as_slice()).unwrap_or_default();
        budgets_hold(&format!("actions.{name}.budgets"), &action.budgets, parent_budgets)?;
    }
    Ok(())
}

/// A change from the parent to the child that is not provably harmless.
fn widening(difference: &Difference) -> Option<Diagnostic> {
    let change = &difference.change;
    let is_own = difference.keys.first().is_some_and(|key| OWN.contains(&key.as_str()));
    // Budgets with other windows can be tighter; they are compared one by one.
    let is_budget = match difference.keys.as_slice() {
        [first, ..] if first == "budgets" => true,
        [first, _, third, ..] => first == "actions" && third == "budgets",
        _ => false,
    };
    if is_own || is_budget {
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

/// Each budget of the parent needs one of the child's that allows no more in a window at least as long.
#[expect(clippy::result_large_err, reason = "made once per registration, never in a loop")]
fn budgets_hold(path: &str, child: &[Budget], parent: &[Budget]) -> Result<(), Diagnostic> {
    let is_held =
        |bound: &Budget| child.iter().any(|own| own.sum == bound.sum && own.max <= bound.max && own.per >= bound.per);
    let Some(open) = parent.iter().find(|bound| !is_held(bound)) else { return Ok(()) };
    let what = open.sum.as_ref().map_or("a count".to_owned(), |param| format!("a sum of `{param}`"));
    let message = format!("`{path}` has nothing as tight as the parent's {what} of `{}` per `{}`", open.max, open.per);
    Err(refused(path, message))
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

fn refused(path: &str, message: String) -> Diagnostic {
    Diagnostic {
        code: CONTRACT_WIDENS_PARENT,
        severity: Severity::Error,
        path: path.to_owned(),
        place: Place::default(),
        message,
        help: Some("narrow the child, or widen the parent first".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{read::read, source::Node};

    fn contract(agent: &str, actions: &str, top: &str) -> Contract {
        let text = format!(r#"{{"agent": "{agent}"{top}, "actions": {{{actions}}}}}"#);
        let node = Node::from_json(&Json::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal} {text}")));
        read(&node).unwrap_or_else(|errors| panic!("{errors:?}")).contract
    }

    fn pay(members: &str) -> String {
        format!(r#""pay": {{"params": {{"a": "number", "t": "text"}}{members}}}"#)
    }

    fn check(child: (&str, &str), parent: (&str, &str), expected: &str) {
        let found = attenuate(&contract("child", child.0, child.1), &contract("parent", parent.0, parent.1));
        assert_eq!(found.map_or_else(|fault| fault.message, |()| "inside".to_owned()), expected);
    }

    fn check_pay(child: &str, parent: &str, expected: &str) {
        check((&pay(child), ""), (&pay(parent), ""), expected);
    }

    #[test]
    fn a_copy_and_a_part_are_inside() {
        check_pay("", "", "inside");
        let look = format!(r#"{}, "look": {{"reads": true}}"#, pay(""));
        check((&pay(""), ""), (&look, ""), "inside");
        check((&pay(""), r#", "role": "MONITOR", "mission": "m", "parent": "parent""#), (&pay(""), ""), "inside");
    }

    #[test]
    fn another_action_is_named() {
        let look = format!(r#"{}, "look": {{"reads": true}}"#, pay(""));
        let found = attenuate(&contract("c", &look, ""), &contract("p", &pay(""), "")).unwrap_err();
        assert_eq!((found.code, found.path.as_str()), (CONTRACT_WIDENS_PARENT, "actions.look"));
    }

    #[test]
    fn limits_lie_within() {
        let max = |max: u32| format!(r#", "limits": {{"a": {{"max": {max}}}}}"#);
        check_pay(&max(40), &max(50), "inside");
        check_pay(&max(60), &max(50), "`actions.pay.limits.a.max` is `60`, wider than the parent's `50`");
        check_pay(
            "",
            &max(50),
            "`actions.pay.limits.a` is absent, wider than the parent's `{\"max\":50,\"signed\":false}`",
        );
        check_pay(&max(60), "", "inside");
    }

    #[test]
    fn rules_are_kept() {
        let refuse = r#", "refuse": "a > 5""#;
        check_pay(refuse, "", "inside");
        check_pay(refuse, refuse, "inside");
        check_pay(
            "",
            refuse,
            "`actions.pay.refuse.NOT_ALLOWED when params.a > 5` is absent, wider than the parent's `{\"reason\":\"NOT_ALLOWED\",\"when\":\"params.a > 5\"}`",
        );
        check_pay(r#", "allow": "a < 2""#, r#", "allow": "a < 3""#, "inside");
        check_pay(
            r#", "allow": "a < 2 && true""#,
            r#", "allow": "a < 3""#,
            "`actions.pay.allow` is `params.a < 2 && true`, which cannot be shown to lie inside the parent's `params.a < 3`",
        );
        check_pay("", r#", "allow": "a < 3""#, "`actions.pay.allow` is absent, wider than the parent's `params.a < 3`");
    }

    #[test]
    fn budgets_are_at_least_as_tight() {
        let budget = |max: u32, per: &str| format!(r#", "budget": {{"sum": "a", "max": {max}, "per": "{per}"}}"#);
        check_pay(&budget(5, "1h"), &budget(5, "1h"), "inside");
        check_pay(&budget(4, "2h"), &budget(5, "1h"), "inside");
        let problem = "`actions.pay.budgets` has nothing as tight as the parent's a sum of `a` of `5` per `1h`";
        check_pay(&budget(4, "30m"), &budget(5, "1h"), problem);
        check_pay(&budget(6, "1h"), &budget(5, "1h"), problem);
        check_pay("", &budget(5, "1h"), problem);
        check_pay(&budget(5, "1h"), "", "inside");
    }

    #[test]
    fn names_with_dots_hide_nothing() {
        let named =
            |max: u32| format!(r#""x.budgets": {{"params": {{"a": "number"}}, "limits": {{"a": {{"max": {max}}}}}}}"#);
        check((&named(9), ""), (&named(5), ""), "`actions.x.budgets.limits.a.max` is `9`, wider than the parent's `5`");
    }

    #[test]
    fn origins_people_and_mode() {
        check_pay(r#", "from": {"t": "user"}"#, r#", "from": {"t": ["user", "state"]}"#, "inside");
        check_pay(
            r#", "from": {"t": ["user", "tool"]}"#,
            r#", "from": {"t": "user"}"#,
            "`actions.pay.from.t` is `[\"user\",\"tool\"]`, wider than the parent's `[\"user\"]`",
        );
        check(
            (&pay(""), r#", "mode": "observe""#),
            (&pay(""), ""),
            "`mode` is `observe`, wider than the parent's `enforce`",
        );
        check((&pay(""), r#", "approvers": ["a"]"#), (&pay(""), r#", "approvers": ["a", "b"]"#), "inside");
        check(
            (&pay(""), r#", "escalation": {"quorum": 1}"#),
            (&pay(""), r#", "escalation": {"quorum": 2}"#),
            "`escalation.quorum` is `1`, wider than the parent's `2`",
        );
    }
}
