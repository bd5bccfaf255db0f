//! Rows of reading: contracts in JSON, and what is said about them.

use super::*;
use crate::source::Node;
use proptest::prelude::*;

/// A contract with one action `pay`, whose members are given; the rest is the smallest there is.
fn pay(action: &str) -> String {
    format!(r#"{{"agent": "bot", "actions": {{"pay": {action}}}}}"#)
}

fn with_top(members: &str) -> String {
    format!(
        r#"{{"agent": "bot", "actions": {{"pay": {{"params": {{"amount": "money EUR", "to": "text"}}}}}}, {members}}}"#
    )
}

fn node(text: &str) -> Node {
    Node::from_json(&Json::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal}: {text}")))
}

/// The errors as `path: message [help]`.
fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = match read(&node(text)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .iter()
            .map(|error| {
                let help = error.help.as_deref().map(|help| format!(" [{help}]")).unwrap_or_default();
                format!("{}: {}{help}", error.path, error.message)
            })
            .collect(),
    };
    assert_eq!(found, expected, "{text}");
}

/// One member of the expanded action `pay`.
fn check_expanded(action: &str, key: &str, expected: &str) {
    let reading = read(&node(&pay(action))).unwrap_or_else(|errors| panic!("{errors:?}"));
    let json = reading.contract.to_json();
    let found = json.get("actions").and_then(|actions| actions.get("pay")).and_then(|pay| pay.get(key));
    assert_eq!(found.map(Json::to_canonical).as_deref().unwrap_or("absent"), expected, "{action}");
}

#[test]
fn defaults_are_explicit_in_the_full_form() {
    let reading = read(&node(&pay("{}"))).unwrap();
    assert_eq!(
        reading.contract.to_json().to_canonical(),
        concat!(
            r#"{"actions":{"pay":{"amendable":{},"ask":[],"budgets":[],"from":{},"impact":"HIGH","limits":{},"#,
            r#""params":{"additionalProperties":false,"properties":{},"required":[],"type":"object"},"#,
            r#""reads":false,"refuse":[],"reserves":[],"undo":{"kind":"ALERT_HUMAN"}}},"#,
            r#""agent":"bot","budgets":[],"drift":{},"#,
            r#""escalation":{"approvers":[],"budget":{"max":20,"per":"1h"},"on_exhausted":"ABORT","quorum":1,"#,
            r#""timeout":{"after":"15m","then":"ABORT"},"valid_after":"15m"},"id":"bot","mission":"","mode":"enforce","#,
            r#""proposal":{"retries":3,"spend":{},"ttl":{"default":"30s","max":"5m"}},"resources":{},"#,
            r#""role":"EXECUTOR","version":"0.0.0-draft","writkeeper":"contract/v1"}"#
        )
    );
}

/// A key that a later release adds must not turn up here: it stays out of the full form where a contract does not have
/// it, or every digest would move.
#[test]
fn the_full_form_holds_the_keys_of_0_2_0_and_what_was_written() {
    let budget = r#""budget": {"count": true, "max": 1, "per": "1h"}"#;
    let action = format!(
        r#"{{"params": {{"n": "number"}}, "limits": {{"n": {{"max": 5}}}}, "refuse": "n > 1", "ask": [{{"when": "n > 1"}}],
            "reserves": [{{"resource": "r", "amount": 1}}], "from": {{"n": "user"}}, "run": "host", {budget},
            "amendable": {{"n": {{"max": {{"floor": 1, "ceiling": 9}}, "ttl": "1h"}}}}}}"#
    );
    let top =
        format!(r#""drift": {{"k": "exact"}}, "resources": {{"r": {{"kind": "slots", "capacity": 1}}}}, {budget}"#);
    let reading = read(&node(&format!(r#"{{"agent": "bot", {top}, "actions": {{"pay": {action}}}}}"#))).unwrap();
    let json = reading.contract.to_json();
    let part = |key: &str| json.get(key).map(Json::to_canonical).unwrap_or_default();
    assert_eq!(
        part("actions"),
        concat!(
            r#"{"pay":{"amendable":{"n":{"max":{"ceiling":9,"floor":1},"ttl":"1h"}},"#,
            r#""ask":[{"reason":"NEEDS_APPROVAL","when":"params.n > 1"}],"#,
            r#""budgets":[{"count":true,"max":1,"per":"1h"}],"from":{"n":["user"]},"impact":"HIGH","#,
            r#""limits":{"n":{"max":5,"signed":false}},"#,
            r#""params":{"additionalProperties":false,"properties":{"n":{"type":"number"}},"required":["n"],"type":"object"},"#,
            r#""reads":false,"refuse":[{"reason":"NOT_ALLOWED","when":"params.n > 1"}],"#,
            r#""reserves":[{"amount":1,"resource":"r"}],"run":{"class":"opaque","host":true,"timeout":"10m"},"#,
            r#""undo":{"kind":"ALERT_HUMAN"}}}"#
        )
    );
    assert_eq!(part("budgets"), r#"[{"count":true,"max":1,"per":"1h"}]"#);
    assert_eq!(part("drift"), r#"{"k":"exact"}"#);
    assert_eq!(part("resources"), r#"{"r":{"capacity":1,"kind":"slots"}}"#);
}

#[test]
fn short_forms_expand() {
    let amount = r#""params": {"amount": "money EUR"}"#;
    let row = |members: &str| format!("{{{amount}, {members}}}");
    check_expanded(&row(r#""allow": "amount <= 25""#), "allow", r#""params.amount <= 25""#);
    check_expanded(&row(r#""allow": true"#), "allow", r#""true""#);
    check_expanded(&row(r#""ask": "amount <= 50""#), "allow", r#""false""#);
    let asked = r#"[{"reason":"NEEDS_APPROVAL","when":"params.amount <= 50"}]"#;
    let zone = format!(r#"{{"zone":{asked}}}"#);
    check_expanded(&row(r#""ask": "amount <= 50""#), "ask", &zone);
    check_expanded(&row(r#""ask": {"zone": "amount <= 50"}"#), "ask", &zone);
    check_expanded(&row(r#""ask": {"zone": [{"when": "amount <= 50"}]}"#), "ask", &zone);
    check_expanded(&row(r#""ask": {"zone": [{"when": "amount <= 50"}]}"#), "allow", r#""false""#);
    check_expanded(&row(r#""ask": [{"when": "amount <= 50"}]"#), "ask", asked);
    check_expanded(&row(r#""ask": [{"when": "amount <= 50"}]"#), "allow", "absent");
    let refused = r#"[{"reason":"NOT_ALLOWED","when":"params.amount > 9"}]"#;
    check_expanded(&row(r#""refuse": "amount > 9""#), "refuse", refused);
    check_expanded(&row(r#""run": "host""#), "run", r#"{"class":"opaque","host":true,"timeout":"10m"}"#);
    let http = r#"{"class":"opaque","http":"POST http://h/x","timeout":"5s"}"#;
    check_expanded(&row(r#""run": "POST http://h/x""#), "run", http);
    check_expanded(&row(r#""undo": "NOOP""#), "undo", r#"{"kind":"NOOP"}"#);
    check_expanded(&row(r#""from": {"amount": "user"}"#), "from", r#"{"amount":["user"]}"#);
    let budget = r#""budget": {"sum": "amount", "max": 5, "per": "24h"}"#;
    check_expanded(&row(budget), "budgets", r#"[{"max":5,"per":"24h","sum":"amount"}]"#);
}

#[test]
fn types_of_params_become_schema_and_limits() {
    let limits = r#"{"amount":{"signed":false,"unit":"EUR"}}"#;
    check_expanded(r#"{"params": {"amount": "money EUR"}}"#, "limits", limits);
    let both = r#"{"params": {"amount": "money EUR"}, "limits": {"amount": {"max": 5}}}"#;
    check_expanded(both, "limits", r#"{"amount":{"max":5,"signed":false,"unit":"EUR"}}"#);
    let schema = r#"{"additionalProperties":false,"properties":{"id":{"type":"string"},"n":{"type":"number"}},"required":["id"],"type":"object"}"#;
    check_expanded(r#"{"params": {"id": "text", "n": "optional number"}}"#, "params", schema);
    check_expanded(r#"{"params": {"n": "number"}}"#, "limits", "{}");
    check_expanded(r#"{"params": {"n": "signed number"}}"#, "limits", r#"{"n":{"signed":true}}"#);
    check_expanded(r#"{"params": {"type": "text"}, "reads": true}"#, "impact", r#""LOW""#);
}

#[test]
fn expressions_of_a_full_schema_stay_as_written() {
    let schema =
        r#""params": {"type": "object", "additionalProperties": false, "properties": {"x": {"type": "array"}}}"#;
    let action = format!(r#"{{{schema}, "allow": "params.x.all(x, x > 1)"}}"#);
    check_expanded(&action, "allow", r#""params.x.all(x, x > 1)""#);
}

#[test]
fn w09_unknown_keys_are_errors_with_the_nearest_key() {
    check(
        &pay(r#"{"limts": {}}"#),
        &["actions.pay.limts: unknown key `limts` in `actions.pay` [did you mean `limits`?]"],
    );
    check(
        &with_top(r#""escalaton": {}"#),
        &["escalaton: unknown key `escalaton` in the contract [did you mean `escalation`?]"],
    );
    check(
        &with_top(r#""proposal": {"zzz": 1}"#),
        &[
            "proposal.zzz: unknown key `zzz` in `proposal` [known keys: confidence, ttl, context_max_age, retries, spend]",
        ],
    );
}

#[cfg(feature = "bugs")]
#[test]
fn w09_unknown_keys_are_seen_to_matter() {
    let text = pay(r#"{"limts": {"amount": {"max": 5}}}"#);
    assert!(bugs_off_refuses(&text));
    assert!(!values::bugs::with(values::bugs::Bug::W09UnknownKeys, || bugs_off_refuses(&text)));
}

#[cfg(feature = "bugs")]
fn bugs_off_refuses(text: &str) -> bool {
    read(&node(text)).is_err()
}

#[test]
fn all_errors_are_reported_together() {
    check(
        r#"{"version": "1.4", "role": "EXECUTER", "mode": 5, "actions": {"a": {"reads": "yes", "once": "k:{"}, "b": {"once": "k:{id}"}}}"#,
        &[
            ": the contract has no `agent` [add `agent:`]",
            "version: `1.4` is no version [write three numbers: `1.4.0`]",
            "role: `role` cannot be `EXECUTER` [did you mean `EXECUTOR`?]",
            "mode: `mode` must be text, not `5` [put it into quotes]",
            "actions.a.reads: `actions.a.reads` must be `true` or `false`, not `yes`",
            "actions.a.once: the key `k:{` has a `{` without a `}` [write params in braces: `order:{id}`]",
            "actions.b.once: the action has no param `id`",
        ],
    );
    check("[]", &[": a contract is a map of keys [start with `agent:` and `actions:`]"]);
    check(
        r#"{"agent": "a\u200b", "actions": {}}"#,
        &["agent: `agent` contains control, bidirectional or zero-width characters [use a short plain name]"],
    );
}

#[test]
fn names_of_params_must_exist() {
    let row = |members: &str| format!(r#"{{"params": {{"amount": "money EUR"}}, {members}}}"#);
    let missing = |path: &str| format!("actions.pay.{path}: the action has no param `amont` [did you mean `amount`?]");
    let cases = [
        (r#""once": "k:{amont}""#, "once"),
        (r#""limits": {"amont": {"max": 1}}"#, "limits.amont"),
        (r#""limits": {"amount": {"state": "a/{amont}"}}"#, "limits.amount.state"),
        (r#""budget": {"sum": "amont", "max": 1, "per": "1h"}"#, "budgets.0.sum"),
        (r#""from": {"amont": ["user"]}"#, "from.amont"),
    ];
    for (members, path) in cases {
        check(&pay(&row(members)), &[&missing(path)]);
    }
    check(
        &with_top(r#""budgets": [{"sum": "x", "max": 1, "per": "1h"}], "drift": {"a/{x}": "exact"}"#),
        &[
            "budgets.0.sum: no action has the param `x` that this budget sums",
            "drift.a/{x}: no action with an effect has all params of the drift key `a/{x}` [check the names in braces]",
        ],
    );
}

#[test]
fn bounds_must_make_sense() {
    let row = |limit: &str| pay(&format!(r#"{{"params": {{"n": "number", "b": "boolean"}}, "limits": {limit}}}"#));
    check(&row(r#"{"n": {"min": 2, "max": 1}}"#), &["actions.pay.limits.n: `min` (2) is above `max` (1) [swap them]"]);
    let negative = "actions.pay.limits.n.max: `max` is `-1`, but negative numbers are refused [add `signed: true` if negative numbers are meant]";
    check(&row(r#"{"n": {"max": -1}}"#), &[negative]);
    check(&row(r#"{"n": {"max": -1, "signed": true}}"#), &[]);
    check(
        &row(r#"{"b": {"max": 1}}"#),
        &[
            "actions.pay.limits.b: `b` is limited like a number, but the schema makes it boolean, so every proposal would be refused [use `number`, `decimal`, or an object of `value` and `unit`]",
        ],
    );
    check(
        &row(r#"{"n": {"allowed": []}}"#),
        &["actions.pay.limits.n.allowed: `actions.pay.limits.n.allowed` allows nothing [list at least one value]"],
    );
    check(
        &row(r#"{"n": {"match": "exact"}}"#),
        &["actions.pay.limits.n.match: `match` says how `denied` is looked for, and nothing is denied"],
    );
    let confidence = |members: &str| with_top(&format!(r#""proposal": {{"confidence": {{{members}}}}}"#));
    check(
        &confidence(r#""reject_below": 0.8, "escalate_below": 0.7"#),
        &[
            "proposal.confidence: `reject_below` (0.8) is above `escalate_below` (0.7), so nobody is ever asked [swap them]",
        ],
    );
    check(
        &confidence(r#""reject_below": 0.5, "escalate_below": 1.5"#),
        &["proposal.confidence.escalate_below: `escalate_below` must lie between 0 and 1, not at `1.5`"],
    );
}

#[test]
fn budgets_and_resources_must_make_sense() {
    check(
        &with_top(
            r#""budgets": [{"count": true, "max": 0, "per": "1h"}, {"count": true, "max": 1.5, "per": "1h"}, {"max": 1, "per": "x"}]"#,
        ),
        &[
            "budgets.2: a budget either sums a param or counts [write `sum: PARAM` or `count: true`]",
            "budgets.2.per: `budgets.2.per` must be a length of time, not `x` [write a whole number and a unit: `250ms`, `30s`, `5m`, `24h`, `7d`]",
        ],
    );
    check(
        &with_top(r#""budgets": [{"count": true, "max": 0, "per": "1h"}, {"count": true, "max": 1.5, "per": "60m"}]"#),
        &[
            "budgets.0.max: the budget's `max` must be above 0, not `0` [to allow nothing, remove the action]",
            "budgets.1.max: a count cannot be `1.5` [use a whole number]",
            "budgets.1: there are two budgets of `count` per `1h` [keep the tighter one]",
        ],
    );
    let reserve = |members: &str| {
        format!(
            r#"{{"agent": "bot", "resources": {{"pool": {{"kind": "stock", "capacity": 5, "unit": "USD"}}}},
            "actions": {{"pay": {{"params": {{"amount": "money EUR"}}, "reserves": [{{{members}}}]}}}}}}"#
        )
    };
    check(
        &reserve(r#""resource": "pol", "amount": 1"#),
        &["actions.pay.reserves.0: the resource `pol` is not declared [did you mean `pool`?]"],
    );
    check(
        &reserve(r#""resource": "pool", "amount": 0"#),
        &["actions.pay.reserves.0: the reserved amount must be above 0, not `0`"],
    );
    check(
        &reserve(r#""resource": "pool", "amount": "amount"}, {"resource": "pool", "amount": 6"#),
        &[
            "actions.pay.reserves.0: the amount is in `EUR`, the resource in `USD` [reserve an amount in the unit of the resource]",
            "actions.pay.reserves.1: `6` is more than there is of `pool`",
        ],
    );
}

#[test]
fn reasons_must_be_true() {
    let row = |reason: &str| pay(&format!(r#"{{"refuse": [{{"when": "true", "reason": "{reason}"}}]}}"#));
    let help = "[choose a code of your own, such as `RISK_TOO_HIGH`]";
    check(&row("RISK_TOO_HIGH"), &[]);
    check(&row("NEEDS_APPROVAL"), &[]);
    check(
        &row("STATE_DRIFT"),
        &[&format!(
            "actions.pay.refuse.0.reason: `STATE_DRIFT` is a reason code of the runtime and cannot be given by a rule {help}"
        )],
    );
    check(
        &row("risky"),
        &[&format!(
            "actions.pay.refuse.0.reason: `risky` is no reason code: use capital letters, digits and `_`, 3 to 64 of them, a letter first {help}"
        )],
    );
}

#[test]
fn executors_must_make_sense() {
    let row = |members: &str| pay(&format!("{{{members}}}"));
    let help = "[write a method and an address: `POST https://pay.example/refunds`; or `host`]";
    check(&row(r#""run": "http://x/""#), &[&format!("actions.pay.run.http: `http://x/` is no HTTP request {help}")]);
    check(
        &row(r#""run": {"http": "GET http://x", "host": true}"#),
        &[
            "actions.pay.run: `actions.pay.run` needs one executor [write one of `http`, `command`, `function`, or `host: true`]",
        ],
    );
    check(
        &row(r#""run": {"host": true, "headers": {"a": "b"}}"#),
        &["actions.pay.run.headers: `headers` belong to `http` [remove them]"],
    );
    check(
        &row(r#""run": {"host": true, "class": "none"}"#),
        &["actions.pay.run.class: class `none` is for reads [write `reads: true`]"],
    );
    check(
        &row(r#""run": {"command": []}"#),
        &["actions.pay.run.command: `actions.pay.run.command` names no program [list the program and its arguments]"],
    );
    check(
        &row(r#""undo": "REVERT""#),
        &["actions.pay.undo: `REVERT` needs the request that reverts [add `http: POST https://…`]"],
    );
    check(&row(r#""run": "POST http://h/{id}""#), &["actions.pay.run.http: the action has no param `id`"]);
}

#[test]
fn headers_neither_frame_a_request_nor_pose_as_the_runtime() {
    let row = |name: &str, value: &str| {
        pay(&format!(r#"{{"run": {{"http": "POST https://h/", "headers": {{"{name}": "{value}"}}}}}}"#))
    };
    for name in ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Upgrade", "TE"] {
        let message = format!("`{name}` says where a request goes or ends, which follows from `http`");
        let help = "[remove it; another host is written in the address of `http`]";
        check(&row(name, "x"), &[&format!("actions.pay.run.headers.{name}: {message} {help}")]);
    }
    for name in ["idempotency-KEY", "Writkeeper-Fence", "writkeeper-intent", "Writkeeper-Anything", "Content-Type"] {
        let help = "[remove it, or use a header with another name]";
        let expected = format!("actions.pay.run.headers.{name}: the runtime sets `{name}` itself {help}");
        check(&row(name, "x"), &[&expected]);
    }
    let help = "[put the param into the address of `http`; the body has every param]";
    let message = "`order {order}` would be sent as it is: no param is put into headers";
    check(&row("X-Order", "order {order}"), &[&format!("actions.pay.run.headers.X-Order: {message} {help}")]);
    for (name, value) in [("X-Host", "$x"), ("Authorization", "secret://file/a/{b}"), ("Accept", "application/json")] {
        check(&row(name, value), &[]);
    }
}

#[test]
fn what_a_program_is_told_is_checked() {
    let command = |words: &str| {
        pay(&format!(
            r#"{{"params": {{"type": "object", "properties": {{"order": {{"type": "string"}},
            "pin": {{"type": "string", "secret": true}}}}}}, "run": {{"command": [{words}]}}}}"#
        ))
    };
    let stdin = "[leave it out: every param is on standard input, as JSON]";
    let near = "the action has no param `odrer` [did you mean `order`?]";
    for words in [r#""pack", "--order={order}", "{}", "${HOME}", "{ print }", "{{print}}""#, r#""sh", "-c", "echo $1""#]
    {
        check(&command(words), &[]);
    }
    check(&command(r#""pack", "{odrer}""#), &[&format!("actions.pay.run.command.1: {near}")]);
    check(
        &command(r#""{order}", "x""#),
        &["actions.pay.run.command.0: which program is run cannot depend on the param `order`"],
    );
    for shell in [r#""/bin/sh", "-c""#, r#""env", "bash", "-c""#] {
        let place = shell.matches(',').count() + 1;
        let message = "a shell would read `order` as a part of its program";
        let expected = format!("actions.pay.run.command.{place}: {message} {stdin}");
        check(&command(&format!(r#"{shell}, "pack {{order}}""#)), &[&expected]);
    }
    let help = "[write the program or script file out, and hand the param as an argument behind it; every param is also on standard input, as JSON]";
    for (words, place, runner, word) in [
        (r#""timeout", "5", "{order}""#, 2, "timeout", "{order}"),
        (r#""/usr/bin/python3", "-c", "print({order})", "{order}""#, 2, "python3", "print({order})"),
    ] {
        let expected =
            format!("actions.pay.run.command.{place}: `{runner}` would run what `order` says in `{word}` {help}");
        check(&command(words), &[&expected]);
    }
    check(&command(r#""env", "python3", "pack.py", "{order}""#), &[]);
    let message = "`pin` is secret, and arguments are seen by everyone on the machine";
    check(&command(r#""pack", "{pin}""#), &[&format!("actions.pay.run.command.1: {message} {stdin}")]);
}

#[test]
fn schemas_must_be_objects_without_hidden_keys() {
    let help = "[write `type: object` with `properties`, or a map of short types such as `amount: money EUR`]";
    check(
        &pay(r#"{"params": {"type": "array"}}"#),
        &[&format!("actions.pay.params: the schema of params must have `type: object` at its root {help}")],
    );
    let hidden = "actions.pay.params.properties.__entity: a param cannot start with `__`: `__entity` [such keys have a meaning in policies]";
    check(&pay(r#"{"params": {"__entity": "text"}}"#), &[hidden]);
    check(
        &pay(r#"{"params": {"state": "text", "n": "int"}}"#),
        &[
            "actions.pay.params.n: `int` is no type of a param [did you mean `integer`?]",
            "actions.pay.params.state: a param cannot be called `state`, which means something else in expressions [choose another name, or write `params` as a JSON Schema]",
        ],
    );
}

#[test]
fn two_spellings_of_one_thing_are_refused() {
    check(
        &pay(r#"{"budget": {"count": true, "max": 1, "per": "1h"}, "budgets": []}"#),
        &["actions.pay.budget: `actions.pay.budget` stands beside `budgets` [put all of them into one list]"],
    );
    check(
        &pay(r#"{"params": {"a": "money EUR"}, "limits": {"a": {"unit": "USD"}}}"#),
        &[
            "actions.pay.limits.a.unit: `actions.pay.limits.a.unit` differs from the type of the param [say it once, in `params`]",
        ],
    );
    check(
        &with_top(r#""approvers": ["a"], "escalation": {"approvers": ["b"]}"#),
        &["approvers: `approvers` stands beside `escalation.approvers` [keep one of them]"],
    );
    let reading = read(&node(&with_top(r#""approvers": ["a"], "escalation": {"quorum": 2}"#))).unwrap();
    assert_eq!((reading.contract.escalation.approvers, reading.contract.escalation.quorum), (vec!["a".to_owned()], 2));
}

#[test]
fn amendable_bounds_must_make_sense() {
    let row = |members: &str| {
        pay(&format!(
            r#"{{"params": {{"n": "number"}}, "limits": {{"n": {{"max": 50}}}}, "amendable": {{"n": {{{members}, "ttl": "1h"}}}}}}"#
        ))
    };
    check(&row(r#""max": {"floor": 10, "ceiling": 80}"#), &[]);
    check(
        &row(r#""max": {"floor": 60, "ceiling": 80}"#),
        &["actions.pay.amendable.n.max: the `max` of `n` is `50`, outside its own floor and ceiling"],
    );
    check(
        &row(r#""min": {"floor": 1, "ceiling": 0}"#),
        &[
            "actions.pay.amendable.n.min: `floor` (1) is above `ceiling` (0) [swap them]",
            "actions.pay.amendable.n.min: `n` has no `min` that could be amended [give `limits.n` a `min`]",
        ],
    );
}

#[test]
fn a_key_is_made_of_single_values() {
    let list = |kind: &str| format!(r#"{{"params": {{"ids": "{kind}", "id": "text"}}, "once": "pay:{{ids}}"}}"#);
    let advice = "[name a param that is text, a number or a boolean, such as an id]";
    let said = |what: &str| format!("actions.pay.once: `ids` is {what}, and a key is made of single values {advice}");
    check(&pay(&list("list of text")), &[&said("a list")]);
    check(&pay(&list("optional list of integer")), &[&said("a list")]);
    check(&pay(&list("object")), &[&said("an object")]);
    for kind in ["text", "integer", "boolean", "date", "one of a, b", "decimal", "id"] {
        check(&pay(&list(kind)), &[]);
    }
    let state = r#"{"params": {"ids": "list of text", "n": "number"}, "limits": {"n": {"state": "price/{ids}"}}}"#;
    let place = "actions.pay.limits.n.state: `ids` is a list, and a key is made of single values";
    check(&pay(state), &[&format!("{place} {advice}")]);
    let address = r#"{"params": {"ids": "list of text"}, "run": "POST https://h/{ids}"}"#;
    let place = "actions.pay.run.http: `ids` is a list, and an address is made of single values";
    check(&pay(address), &[&format!("{place} {advice}")]);
    let program = r#"{"params": {"ids": "object"}, "run": {"command": ["/bin/pay", "{ids}"]}}"#;
    let place = "actions.pay.run.command.1: `ids` is an object, and an argument is made of single values";
    check(&pay(program), &[&format!("{place} {advice}")]);
    let either = r#"{"params": {"type": "object", "additionalProperties": false,
        "properties": {"ids": {"type": ["string", "array"]}}}, "once": "pay:{ids}"}"#;
    check(&pay(either), &[]);
}

#[test]
fn inert_keys_are_listed() {
    let text =
        with_top(r#""parent": "p", "priority": 5, "wake_when": "true", "monitors": [{"id": "m", "kind": "rate"}]"#);
    let reading = read(&node(&text)).unwrap();
    let found: Vec<&str> = reading.inert.iter().map(|inert| inert.path.as_str()).collect();
    assert_eq!(found, ["priority", "wake_when", "monitors"]);
    assert!(reading.inert.iter().all(|inert| inert.code == "NOT_ENFORCED_YET"));
    let inert = |members: &str| -> Vec<String> {
        let reading = read(&node(&with_top(members))).unwrap();
        reading.inert.iter().map(|inert| inert.message.clone()).collect()
    };
    let nothing = |what: &str| vec![format!("`{what}` is read but does nothing yet")];
    assert_eq!(inert(r#""detectors": {"breaker": {"on_trip": "HUMAN"}}"#), Vec::<String>::new());
    assert_eq!(inert(r#""detectors": {"breaker": {"max_total": 9}}"#), Vec::<String>::new());
    assert_eq!(inert(r#""enforcement": {"confidence": {"high": "WARN"}}"#), Vec::<String>::new());
    assert_eq!(inert(r#""enforcement": {"handler": "observe"}"#), Vec::<String>::new());
    let to = |whom: &str| format!(r#""escalation": {{"timeout": {{"reroute": "1m", "to": "{whom}"}}}}"#);
    assert_eq!(inert(&to("agent")), nothing("escalation.timeout.to: agent"));
    assert_eq!(inert(&to("group:leads")), Vec::<String>::new());
    check(&with_top(r#""monitors": [{"id": "m"}]"#), &["monitors.0: `monitors.0` has no `kind` [add `kind:`]"]);
}

#[test]
fn too_many_actions_are_refused() {
    let actions: Vec<String> = (0..1001).map(|index| format!(r#""a{index}": {{}}"#)).collect();
    let text = format!(r#"{{"agent": "bot", "actions": {{{}}}}}"#, actions.join(","));
    check(&text, &["actions: a contract holds at most 1,000 actions [split it by responsibility]"]);
}

fn members(choices: &[(&'static str, &'static [&'static str])]) -> BoxedStrategy<String> {
    let each: Vec<BoxedStrategy<Option<String>>> = choices
        .iter()
        .map(|(key, values)| {
            let key = *key;
            proptest::option::of(proptest::sample::select(*values).prop_map(move |value| format!("\"{key}\": {value}")))
                .boxed()
        })
        .collect();
    each.prop_map(|members| members.into_iter().flatten().collect::<Vec<_>>().join(", ")).boxed()
}

fn documents() -> impl Strategy<Value = String> {
    let action = members(&[
        ("once", &[r#""k:{a}""#, r#""fixed""#]),
        (
            "limits",
            &[
                r#"{"a": {"min": 0.01, "max": 50}}"#,
                r#"{"b": {"denied": ["x"], "match": "substring"}}"#,
                r#"{"a": {"state": {"key": "s/{b}", "tolerance": {"percent": 2.5}}}, "b": {"allowed": ["x", 5, true]}}"#,
                r#"{"a": {"max": "123456789012345678.123"}}"#,
            ],
        ),
        ("refuse", &[r#""a > 5""#, r#"[{"when": "a > 5", "reason": "TOO_BIG"}]"#]),
        ("allow", &[r#""a <= 25""#, "true"]),
        (
            "ask",
            &[
                r#""a <= 50""#,
                r#"[{"when": "b == 'x'"}]"#,
                r#"{"when": "true", "reason": "ALWAYS"}"#,
                r#"{"zone": [{"when": "a < 5"}, {"when": "b == 'x'", "reason": "ODD"}]}"#,
            ],
        ),
        ("budget", &[r#"{"sum": "a", "max": 500, "per": "24h"}"#, r#"[{"count": true, "max": 2, "per": "90s"}]"#]),
        ("reserves", &[r#"[{"resource": "pool", "amount": "a"}]"#, r#"[{"resource": "pool", "amount": 2.5}]"#]),
        ("from", &[r#"{"b": "user"}"#, r#"{"b": ["tool", "none", "state"]}"#]),
        ("impact", &[r#""LOW""#, r#""CRITICAL""#]),
        (
            "run",
            &[
                r#""host""#,
                r#""POST http://h/x""#,
                r#"{"command": ["a", "b c"], "timeout": "250ms"}"#,
                r#"{"function": "f"}"#,
                r#"{"http": "PUT https://h/{b}", "class": "keyed", "headers": {"x-a": "1"}}"#,
            ],
        ),
        ("undo", &[r#""NOOP""#, r#"{"kind": "REVERT", "http": "POST http://h/r", "within": "24h"}"#]),
    ]);
    let top = members(&[
        ("id", &[r#""c""#]),
        ("version", &[r#""1.4.0-rc.1+b""#]),
        ("role", &[r#""MONITOR""#]),
        ("mission", &[r#""Be kind.""#]),
        ("mode", &[r#""observe""#]),
        ("parent", &[r#""lead""#]),
        ("group", &[r#""payments""#]),
        ("priority", &["5"]),
        (
            "proposal",
            &[
                r#"{"confidence": {"reject_below": 0.4}, "ttl": {"max": "10s"}}"#,
                r#"{"ttl": {"default": "1h"}, "context_max_age": "60s", "retries": 0, "spend": {"tokens": 5}}"#,
            ],
        ),
        ("budgets", &[r#"[{"sum": "a", "max": 5, "per": "1h"}, {"count": true, "max": 5, "per": "1h"}]"#]),
        ("drift", &[r#"{"z/{a}": "exact", "b/{b}": {"absolute": 1.5}}"#]),
        ("approvers", &[r#"["x", "y"]"#]),
        (
            "escalation",
            &[
                r#"{"budget": {"max": 1, "per": "2h"}, "timeout": {"remind": "1m", "reroute": "2m", "to": "g", "after": "3m"}, "on_exhausted": "ABORT"}"#,
            ],
        ),
        ("monitors", &[r#"[{"id": "m", "kind": "rate", "warn": "1 per month"}]"#]),
        ("policies", &[r#""forbid (principal, action, resource);""#]),
    ]);
    (action, top).prop_map(|(action, top)| {
        let comma = |members: &str| if members.is_empty() { String::new() } else { format!(", {members}") };
        format!(
            r#"{{"agent": "bot", "resources": {{"pool": {{"kind": "slots", "capacity": 10}}}}, "actions": {{"act": {{"params": {{"a": "number", "b": "text"}}{}}}}}{}}}"#,
            comma(&action),
            comma(&top)
        )
    })
}

proptest! {
    #[test]
    fn the_full_form_reads_back_as_itself(text in documents()) {
        let first = read(&node(&text)).unwrap_or_else(|errors| panic!("{errors:?} in {text}"));
        let json = first.contract.to_json();
        let again = read(&Node::from_json(&json)).unwrap_or_else(|errors| panic!("{errors:?} in {}", json.to_canonical()));
        prop_assert_eq!(&first.contract, &again.contract);
        prop_assert_eq!(again.contract.to_json(), json);
        prop_assert_eq!(first.contract.digest(), again.contract.digest());
    }

    #[test]
    fn no_document_makes_reading_panic(text in "[ -~]{0,40}", number in any::<i32>()) {
        for key in keys::CONTRACT.all().chain(keys::ACTION.all()) {
            for value in [Json::text(&text), Json::from_decimal(Decimal::from(number)), Json::Null, Json::List(vec![Json::text(&text)]), Json::object([(text.as_str(), Json::text(&text))])] {
                let action = Json::object([(key, value.clone())]);
                let document = Json::object([("agent", Json::text("a")), ("actions", Json::object([("x", action)]))]);
                let _ = read(&Node::from_json(&document));
                let _ = read(&Node::from_json(&Json::object([("agent", Json::text("a")), (key, value)])));
            }
        }
    }
}
