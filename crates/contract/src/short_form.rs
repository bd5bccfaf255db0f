//! The short form people write, turned into the full form key by key. Places stay, so errors point at what was written.

pub(super) mod bare_names;
pub(super) mod types;

use crate::cursor::{Report, Spot, join};
use crate::source::{Member, Node, Place, Value};
use types::ShortParams;
use values::json::Json;

/// The reason of `ask: EXPRESSION`.
pub(super) const NEEDS_APPROVAL: &str = "NEEDS_APPROVAL";
/// The reason of `refuse: EXPRESSION`, and of whatever lies outside `allow` and `ask`.
pub(super) const NOT_ALLOWED: &str = "NOT_ALLOWED";

/// The same contract without short forms. What is not a short form passes through untouched.
pub(super) fn expand(root: &Node, report: &mut Report) -> Node {
    let Value::Map(members) = &root.value else { return root.clone() };
    let spot = Spot::root(root);
    let mut expanded = Vec::with_capacity(members.len());
    for member in members {
        match member.key.as_str() {
            "budget" => push_unless_both(&spot, member, "budgets", list_of(&member.node), &mut expanded, report),
            "approvers" => {
                // Without an `escalation` of its own the contract gets one that holds the approvers.
                if root.get("escalation").is_none() {
                    let approvers = map(vec![with_key(member, "approvers", member.node.clone())], member.node.place);
                    expanded.push(with_key(member, "escalation", approvers));
                }
            }
            "escalation" => {
                let node = escalation_with(&member.node, root, report);
                expanded.push(with_key(member, "escalation", node));
            }
            "validators" | "judges" | "handlers" => {
                expanded.push(with_key(member, &member.key, plugins(&member.node)));
            }
            "actions" => expanded.push(with_key(member, "actions", actions(&member.node, report))),
            _ => expanded.push(member.clone()),
        }
    }
    map(expanded, root.place)
}

fn escalation_with(escalation: &Node, root: &Node, report: &mut Report) -> Node {
    let (Some(approvers), Value::Map(members)) = (root.get("approvers"), &escalation.value) else {
        return escalation.clone();
    };
    if escalation.get("approvers").is_some() {
        let spot = Spot { node: approvers, path: "approvers".to_owned() };
        spot.fail(report, "`approvers` stands beside `escalation.approvers`", Some("keep one of them"));
        return escalation.clone();
    }
    let mut members = members.clone();
    members.push(member("approvers", approvers.place, approvers.clone()));
    map(members, escalation.place)
}

fn actions(node: &Node, report: &mut Report) -> Node {
    let Value::Map(members) = &node.value else { return node.clone() };
    let expanded = members
        .iter()
        .map(|member| {
            let spot = Spot { node: &member.node, path: join("actions", &member.key) };
            with_key(member, &member.key, action(&spot, report))
        })
        .collect();
    map(expanded, node.place)
}

fn action(spot: &Spot<'_>, report: &mut Report) -> Node {
    let Value::Map(members) = &spot.node.value else { return spot.node.clone() };
    let short = spot.node.get("params").filter(|params| !types::is_schema(params)).map(|params| {
        let params = Spot { node: params, path: join(&spot.path, "params") };
        types::read(&params, report)
    });
    let mut expanded = Vec::with_capacity(members.len() + 2);
    for member in members {
        let node = &member.node;
        match member.key.as_str() {
            "params" => {
                let schema = short.as_ref().map_or_else(|| node.clone(), |short| short.schema.clone());
                expanded.push(with_key(member, "params", schema));
            }
            "budget" => push_unless_both(spot, member, "budgets", list_of(node), &mut expanded, report),
            "allow" => expanded.push(with_key(member, "allow", expression(node, short.as_ref()))),
            "ask" => {
                let (is_zone, asked) = ask(node, short.as_ref());
                expanded.push(with_key(member, "ask", asked));
                if is_zone && spot.node.get("allow").is_none() {
                    // A zone alone names all that may happen; everything else is refused.
                    expanded.push(with_key(member, "allow", text("false", node.place)));
                }
            }
            "refuse" => expanded.push(with_key(member, "refuse", rules(node, NOT_ALLOWED, short.as_ref()))),
            "validators" | "judges" => expanded.push(with_key(member, &member.key, names(node))),
            "from" => expanded.push(with_key(member, "from", origins(node))),
            "run" => expanded.push(with_key(member, "run", run(node))),
            "undo" => expanded.push(with_key(member, "undo", undo(node))),
            "limits" => {}
            _ => expanded.push(member.clone()),
        }
    }
    if let Some(limits) = limits(spot, short.as_ref(), report) {
        expanded.push(limits);
    }
    map(expanded, spot.node.place)
}

/// `budget` beside `budgets` would leave open which of them counts.
fn push_unless_both(
    spot: &Spot<'_>,
    written: &Member,
    key: &str,
    node: Node,
    expanded: &mut Vec<Member>,
    report: &mut Report,
) {
    if spot.node.get(key).is_some() {
        let written = Spot { node: &written.node, path: join(&spot.path, &written.key) };
        written.fail(
            report,
            format!("`{}` stands beside `{key}`", written.path),
            Some("put all of them into one list"),
        );
    } else {
        expanded.push(with_key(written, key, node));
    }
}

/// What the types of params say about limits, beneath what `limits` says itself.
fn limits(spot: &Spot<'_>, short: Option<&ShortParams>, report: &mut Report) -> Option<Member> {
    let derived = short.map(|short| short.limits.as_slice()).unwrap_or_default();
    let written = spot.node.get("limits");
    if derived.is_empty() && written.is_none() {
        return None;
    }
    let mut members = match written.map(|node| &node.value) {
        None => Vec::new(),
        Some(Value::Map(members)) => members.clone(),
        Some(Value::Scalar(_) | Value::List(_)) => return Some(member("limits", spot.node.place, written?.clone())),
    };
    for limit in derived {
        match members.iter_mut().find(|member| member.key == limit.key) {
            Some(existing) => merge_limit(spot, existing, limit, report),
            None => members.push(limit.clone()),
        }
    }
    let place = written.map_or(spot.node.place, |node| node.place);
    Some(member("limits", place, map(members, place)))
}

fn merge_limit(spot: &Spot<'_>, existing: &mut Member, derived: &Member, report: &mut Report) {
    let Value::Map(derived) = &derived.node.value else { return };
    let Value::Map(members) = &mut existing.node.value else { return };
    for add in derived {
        match members.iter().find(|member| member.key == add.key) {
            None => members.push(add.clone()),
            Some(same) if same.node.to_json() == add.node.to_json() => {}
            Some(other) => {
                let path = format!("{}.limits.{}.{}", spot.path, existing.key, add.key);
                let other = Spot { node: &other.node, path };
                let message = format!("`{}` differs from the type of the param", other.path);
                other.fail(report, message, Some("say it once, in `params`"));
            }
        }
    }
}

fn expression(node: &Node, short: Option<&ShortParams>) -> Node {
    match (&node.value, short) {
        (Value::Scalar(Json::Bool(flag)), _) => text(if *flag { "true" } else { "false" }, node.place),
        (Value::Scalar(Json::Text(written)), Some(short)) => {
            text(&bare_names::qualify(written, &short.names), node.place)
        }
        _ => node.clone(),
    }
}

fn is_expression(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(Json::Text(_) | Json::Bool(_)))
}

/// `ask: EXPRESSION` is a zone beside `allow`; a list asks inside `allow` too.
fn ask(node: &Node, short: Option<&ShortParams>) -> (bool, Node) {
    let zone = if is_expression(node) { Some(node) } else { node.get("zone") };
    let asked = rules(zone.unwrap_or(node), NEEDS_APPROVAL, short);
    match zone {
        Some(zone) => (true, map(vec![member("zone", zone.place, asked)], node.place)),
        None => (false, asked),
    }
}

fn rules(node: &Node, reason: &str, short: Option<&ShortParams>) -> Node {
    if is_expression(node) {
        let rule = vec![
            member("when", node.place, expression(node, short)),
            member("reason", node.place, text(reason, node.place)),
        ];
        return list(vec![map(rule, node.place)], node.place);
    }
    let Value::List(items) = &list_of(node).value else { return node.clone() };
    list(items.iter().map(|item| rule(item, short)).collect(), node.place)
}

fn rule(node: &Node, short: Option<&ShortParams>) -> Node {
    let Value::Map(members) = &node.value else { return node.clone() };
    let rewritten = members
        .iter()
        .map(|member| match member.key.as_str() {
            "when" => with_key(member, "when", expression(&member.node, short)),
            _ => member.clone(),
        })
        .collect();
    map(rewritten, node.place)
}

/// `check: [PROGRAM, ARGUMENT]` is a command, `check: https://…` an address.
fn plugins(node: &Node) -> Node {
    let Value::Map(members) = &node.value else { return node.clone() };
    let written = |member: &Member| {
        let key = match &member.node.value {
            Value::List(_) => "command",
            Value::Scalar(Json::Text(_)) => "url",
            Value::Scalar(_) | Value::Map(_) => return member.clone(),
        };
        let place = member.node.place;
        with_key(member, &member.key, map(vec![self::member(key, place, member.node.clone())], place))
    };
    map(members.iter().map(written).collect(), node.place)
}

/// `validators: check` means `validators: [check]`.
fn names(node: &Node) -> Node {
    match &node.value {
        Value::Scalar(Json::Text(_)) => list(vec![node.clone()], node.place),
        Value::Scalar(_) | Value::List(_) | Value::Map(_) => node.clone(),
    }
}

/// `iban: user` means `iban: [user]`.
fn origins(node: &Node) -> Node {
    let Value::Map(members) = &node.value else { return node.clone() };
    let listed = members
        .iter()
        .map(|member| match &member.node.value {
            Value::Scalar(Json::Text(_)) => {
                with_key(member, &member.key, list(vec![member.node.clone()], member.node.place))
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => member.clone(),
        })
        .collect();
    map(listed, node.place)
}

fn run(node: &Node) -> Node {
    let Value::Scalar(Json::Text(written)) = &node.value else { return node.clone() };
    let executor = match written.as_str() {
        "host" => member("host", node.place, Node { value: Value::Scalar(Json::Bool(true)), place: node.place }),
        _ => member("http", node.place, node.clone()),
    };
    map(vec![executor], node.place)
}

fn undo(node: &Node) -> Node {
    if !matches!(&node.value, Value::Scalar(Json::Text(_))) {
        return node.clone();
    }
    map(vec![member("kind", node.place, node.clone())], node.place)
}

/// A single map where a list is due is a list of one.
fn list_of(node: &Node) -> Node {
    match &node.value {
        Value::Map(_) => list(vec![node.clone()], node.place),
        Value::List(_) | Value::Scalar(_) => node.clone(),
    }
}

fn with_key(written: &Member, key: &str, node: Node) -> Member {
    Member { key: key.to_owned(), key_place: written.key_place, node }
}

fn member(key: &str, place: Place, node: Node) -> Member {
    Member { key: key.to_owned(), key_place: place, node }
}

fn text(value: &str, place: Place) -> Node {
    Node { value: Value::Scalar(Json::text(value)), place }
}

fn map(members: Vec<Member>, place: Place) -> Node {
    Node { value: Value::Map(members), place }
}

fn list(items: Vec<Node>, place: Place) -> Node {
    Node { value: Value::List(items), place }
}
