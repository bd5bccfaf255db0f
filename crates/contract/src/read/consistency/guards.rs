//! Guards that would do nothing, refuse everything or show what is secret: each is said before anyone relies on it.

use super::Found;
use crate::cursor::join;
use kernel::contract::{Action, Amount, Contract, UndoKind, params};
use kernel::template::Template;

pub(super) fn check(contract: &Contract, found: &mut Found) {
    for (index, budget) in contract.budgets.iter().enumerate() {
        let Some(param) = &budget.sum else { continue };
        let path = format!("budgets.{index}.sum");
        for action in contract.actions.values() {
            check_number(&path, param, "summed", action, found);
            check_secret(&path, param, "the budget's records", action, found);
        }
    }
    for drift in &contract.drift {
        let path = join("drift", drift.key.as_str());
        for action in contract.actions.values().filter(|action| !action.reads) {
            check_secrets(&path, &drift.key, "the drift key", action, found);
        }
    }
    for (name, action) in &contract.actions {
        let path = join("actions", name);
        check_read(&path, action, found);
        check_open(&path, action, contract, found);
        check_uses(&path, action, found);
    }
}

/// What only an effect has use for.
fn check_read(path: &str, action: &Action, found: &mut Found) {
    if !action.reads {
        return;
    }
    let undo = &action.undo;
    let undoes = undo.kind != UndoKind::Noop || undo.http.is_some() || undo.within.is_some();
    let rows = [
        ("once", action.once.is_some(), "to do only once"),
        ("reserves", !action.reserves.is_empty(), "to reserve anything for"),
        ("undo", undoes, "to undo"),
        ("amendable", !action.amendable.is_empty(), "to amend limits for"),
    ];
    for (key, present, purpose) in rows {
        if present {
            let message = format!("`{key}` would do nothing: a read has no effect {purpose}");
            found.at(&join(path, key), message, Some("remove it, or remove `reads: true`"));
        }
    }
}

/// A contract-wide guard applies where its params are declared; one that arrives undeclared must not slip past it.
fn check_open(path: &str, action: &Action, contract: &Contract, found: &mut Found) {
    let Some(construct) = params::opening(action).filter(|_| !action.reads) else { return };
    let construct = if construct.contains(' ') { construct.to_owned() } else { format!("`{construct}`") };
    let sums = contract.budgets.iter().filter_map(|budget| {
        let param = budget.sum.as_deref()?;
        (!params::has(action, param)).then(|| format!("the contract's budget of `{param}`"))
    });
    let drifts = contract.drift.iter().filter_map(|drift| {
        let undeclared = drift.key.params().any(|param| !params::has(action, param));
        undeclared.then(|| format!("the drift key `{}`", drift.key))
    });
    if let Some(guard) = sums.chain(drifts).next() {
        let message = format!("the params have {construct}, so an undeclared param could slip past {guard}");
        let help = "close the params: `additionalProperties: false`, and every param under `properties`";
        found.at(&join(path, "params"), message, Some(help));
    }
}

/// Every place of an action that needs a number or shows a value.
fn check_uses(path: &str, action: &Action, found: &mut Found) {
    for (param, limit) in &action.limits {
        let path = format!("{path}.limits.{param}");
        if limit.is_numeric() {
            check_number(&path, param, "limited", action, found);
        }
        if let Some(state) = &limit.state {
            let path = join(&path, "state");
            check_secret(&path, param, "the comparison with state", action, found);
            check_secrets(&path, &state.key, "the state key", action, found);
        }
    }
    if let Some(once) = &action.once {
        check_secrets(&join(path, "once"), once, "the effect key", action, found);
    }
    for (index, budget) in action.budgets.iter().enumerate() {
        let Some(param) = &budget.sum else { continue };
        let path = format!("{path}.budgets.{index}.sum");
        check_number(&path, param, "summed", action, found);
        check_secret(&path, param, "the budget's records", action, found);
    }
    for (index, reserve) in action.reserves.iter().enumerate() {
        let Amount::Param(param) = &reserve.amount else { continue };
        let path = format!("{path}.reserves.{index}.amount");
        check_number(&path, param, "reserved", action, found);
        check_secret(&path, param, "the reservation", action, found);
    }
}

fn check_number(path: &str, param: &str, how: &str, action: &Action, found: &mut Found) {
    if let Some(kind) = params::not_a_number(action, param) {
        let message = format!(
            "`{param}` is {how} like a number, but the schema makes it {kind}, so every proposal would be refused"
        );
        found.at(path, message, Some("use `number`, `decimal`, or an object of `value` and `unit`"));
    }
}

fn check_secrets(path: &str, template: &Template, place: &str, action: &Action, found: &mut Found) {
    template.params().for_each(|param| check_secret(path, param, place, action, found));
}

fn check_secret(path: &str, param: &str, place: &str, action: &Action, found: &mut Found) {
    if params::is_secret(action, param) {
        let message = format!("`{param}` is secret and would show in {place}");
        found.at(path, message, Some("use another param, or remove `secret: true`"));
    }
}

#[cfg(test)]
mod tests {
    use crate::{read::read, source::Node};
    use values::json::Json;

    /// The errors as `path: message`, for a contract with one action `pay`.
    fn check(action: &str, top: &str, expected: &[&str]) {
        let text = format!(
            r#"{{"agent": "bot"{top}, "actions": {{"pay": {action}, "tip": {{"params": {{"a": "number", "t": "text"}}}}}}}}"#
        );
        let found = read(&Node::from_json(&Json::parse(text.as_bytes()).unwrap())).err().unwrap_or_default();
        let found: Vec<String> = found.iter().map(|error| format!("{}: {}", error.path, error.message)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn contract_wide_guards_need_closed_params() {
        let sum = r#", "budgets": [{"sum": "a", "max": 5, "per": "1h"}]"#;
        let drift = r#", "drift": {"k/{t}": "exact"}"#;
        let schema = |members: &str| format!(r#"{{"params": {{"type": "object", {members}}}}}"#);
        let (closed, open) = (r#""additionalProperties": false"#, r#""properties": {"b": {"type": "number"}}"#);
        let slips = |construct: &str, guard: &str| {
            format!("actions.pay.params: the params have {construct}, so an undeclared param could slip past {guard}")
        };
        let not_closed = "no `additionalProperties: false`";
        let (budget, key) = ("the contract's budget of `a`", "the drift key `k/{t}`");
        check(&schema(open), sum, &[&slips(not_closed, budget)]);
        check(&schema(open), drift, &[&slips(not_closed, key)]);
        check(&schema(r#""additionalProperties": true"#), sum, &[&slips(not_closed, budget)]);
        check(&schema(r#""additionalProperties": {"type": "number"}"#), sum, &[&slips(not_closed, budget)]);
        let constructs = [
            (r#""patternProperties": {"^a$": {"type": "number"}}"#, "`patternProperties`"),
            (r#""allOf": [{"properties": {"a": {}}}]"#, "`allOf`"),
            (r#""anyOf": [{}]"#, "`anyOf`"),
            (r#""oneOf": [{}]"#, "`oneOf`"),
            (r#""if": {}"#, "`if`"),
            (r#""not": {"required": ["b"]}"#, "`not`"),
            (r##""$ref": "#/$defs/x", "$defs": {"x": {}}"##, "`$ref`"),
            (r#""dependentSchemas": {"b": {}}"#, "`dependentSchemas`"),
        ];
        for (members, construct) in constructs {
            check(&schema(&format!("{closed}, {members}")), sum, &[&slips(construct, budget)]);
        }
        check(&schema(closed), sum, &[]);
        check(&schema(&format!("{closed}, {open}")), drift, &[]);
        check(&schema(r#""properties": {"a": {"type": "number"}, "t": {"type": "string"}}"#), sum, &[]);
        check(&schema(open), r#", "budgets": [{"count": true, "max": 5, "per": "1h"}]"#, &[]);
        check(&schema(open), r#", "drift": {"k": "exact"}"#, &[]);
        check(r#"{"reads": true, "params": {"type": "object"}}"#, sum, &[]);
    }

    #[test]
    fn reads_have_nothing_an_effect_needs() {
        let read = |members: &str| format!(r#"{{"reads": true, "params": {{"a": "number", "t": "text"}}, {members}}}"#);
        let pool = r#", "resources": {"pool": {"kind": "slots", "capacity": 10}}"#;
        let nothing = |key: &str, purpose: &str| {
            format!("actions.pay.{key}: `{key}` would do nothing: a read has no effect {purpose}")
        };
        check(&read(r#""once": "k:{t}""#), "", &[&nothing("once", "to do only once")]);
        let reserves = r#""reserves": [{"resource": "pool", "amount": 1}]"#;
        check(&read(reserves), pool, &[&nothing("reserves", "to reserve anything for")]);
        check(&read(r#""undo": "ALERT_HUMAN""#), "", &[&nothing("undo", "to undo")]);
        check(&read(r#""undo": {"kind": "NOOP", "within": "1h"}"#), "", &[&nothing("undo", "to undo")]);
        let amendable =
            r#""limits": {"a": {"max": 5}}, "amendable": {"a": {"max": {"floor": 1, "ceiling": 9}, "ttl": "1h"}}"#;
        check(&read(amendable), "", &[&nothing("amendable", "to amend limits for")]);
        let class = "actions.pay.run.class: a read has no effect, so its class cannot be `keyed`";
        check(&read(r#""run": {"host": true, "class": "keyed"}"#), "", &[class]);
        for fine in [
            r#""run": "host""#,
            r#""undo": "NOOP""#,
            r#""budget": {"sum": "a", "max": 1, "per": "1h"}"#,
            r#""limits": {"a": {"max": 1}}"#,
            r#""from": {"t": "user"}"#,
            r#""allow": "a > 1", "ask": "a > 0", "refuse": "a > 9""#,
        ] {
            check(&read(fine), "", &[]);
        }
    }

    #[test]
    fn secrets_stay_out_of_keys_and_records() {
        let action = |members: &str| {
            format!(
                r#"{{"params": {{"type": "object", "additionalProperties": false, "properties": {{"t": {{"type": "string"}},
                "pin": {{"type": "number", "secret": true}}}}}}{members}}}"#
            )
        };
        let shows = |path: &str, place: &str| format!("{path}: `pin` is secret and would show in {place}");
        check(&action(""), "", &[]);
        check(&action(r#", "limits": {"pin": {"max": 9999}}, "from": {"pin": "user"}"#), "", &[]);
        check(&action(r#", "once": "k:{t}:{pin}""#), "", &[&shows("actions.pay.once", "the effect key")]);
        let state = |param: &str, key: &str| format!(r#", "limits": {{"{param}": {{"state": "{key}"}}}}"#);
        check(&action(&state("t", "s/{pin}")), "", &[&shows("actions.pay.limits.t.state", "the state key")]);
        let compared = shows("actions.pay.limits.pin.state", "the comparison with state");
        check(&action(&state("pin", "s/{t}")), "", &[&compared]);
        let budget = r#", "budget": {"sum": "pin", "max": 1, "per": "1h"}"#;
        check(&action(budget), "", &[&shows("actions.pay.budgets.0.sum", "the budget's records")]);
        let reserves = r#", "reserves": [{"resource": "pool", "amount": "pin"}]"#;
        let pool = r#", "resources": {"pool": {"kind": "slots", "capacity": 10}}"#;
        check(&action(reserves), pool, &[&shows("actions.pay.reserves.0.amount", "the reservation")]);
        check(&action(""), r#", "drift": {"k/{pin}": "exact"}"#, &[&shows("drift.k/{pin}", "the drift key")]);
        let sum = r#", "budgets": [{"sum": "pin", "max": 1, "per": "1h"}]"#;
        check(&action(""), sum, &[&shows("budgets.0.sum", "the budget's records")]);
    }

    #[test]
    fn numbers_are_needed_where_numbers_are_meant() {
        let action = |schema: &str, members: &str| {
            let schema =
                format!(r#"{{"type": "object", "additionalProperties": false, "properties": {{"x": {schema}}}}}"#);
            format!(r#"{{"params": {schema}{members}}}"#)
        };
        let refused = |path: &str, how: &str, kind: &str| {
            format!(
                "{path}: `x` is {how} like a number, but the schema makes it {kind}, so every proposal would be refused"
            )
        };
        let max = r#", "limits": {"x": {"max": 5}}"#;
        let kinds = [
            (r#"{"type": "string"}"#, "text"),
            (r#"{"type": "boolean"}"#, "boolean"),
            (r#"{"type": "array"}"#, "a list"),
            (r#"{"type": "object", "properties": {"value": {}}}"#, "an object without `value` and `unit`"),
            (r#"{"type": ["string", "null"]}"#, "text or null"),
        ];
        for (schema, kind) in kinds {
            check(&action(schema, max), "", &[&refused("actions.pay.limits.x", "limited", kind)]);
            check(&action(schema, r#", "limits": {"x": {"signed": true}}"#), "", &[]);
        }
        for schema in [
            r#"{"type": "number"}"#,
            r#"{"type": "string", "format": "decimal"}"#,
            r#"{"type": ["integer", "string"]}"#,
            r#"{"type": "object", "properties": {"value": {}, "unit": {}}}"#,
            r#"{"anyOf": [{"type": "number"}]}"#,
        ] {
            check(&action(schema, max), "", &[]);
        }
        let text = r#"{"type": "string"}"#;
        let budget = r#", "budget": {"sum": "x", "max": 1, "per": "1h"}"#;
        check(&action(text, budget), "", &[&refused("actions.pay.budgets.0.sum", "summed", "text")]);
        let sum = r#", "budgets": [{"sum": "x", "max": 1, "per": "1h"}]"#;
        check(&action(text, ""), sum, &[&refused("budgets.0.sum", "summed", "text")]);
        let pool = r#", "resources": {"pool": {"kind": "slots", "capacity": 10}}"#;
        let reserves = r#", "reserves": [{"resource": "pool", "amount": "x"}]"#;
        check(&action(text, reserves), pool, &[&refused("actions.pay.reserves.0.amount", "reserved", "text")]);
        check(
            r#"{"params": {"x": "decimal"}, "limits": {"x": {"max": 5}}, "budget": {"sum": "x", "max": 1, "per": "1h"}}"#,
            "",
            &[],
        );
    }
}
