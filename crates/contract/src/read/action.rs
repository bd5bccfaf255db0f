//! Reads one action of the full form.

use super::{budgets, expression, tolerance};
use crate::cursor::{Fields, Report, Spot};
use crate::short_form::{NEEDS_APPROVAL, NOT_ALLOWED};
use crate::source::Value;
use crate::{defaults, keys};
use kernel::contract::{
    Action, AmendBounds, Amendable, Amount, Ask, EffectClass, Executor, Impact, Limit, Matching, Origin, Reserve, Rule,
    Run, Script, StateMatch, Tolerance, Undo, UndoKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::ids;
use values::json::Json;
use values::time::Duration;

pub(super) fn read_all(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Action> {
    let entries = fields.require("actions", report).map(|spot| spot.entries(report)).unwrap_or_default();
    let mut actions = BTreeMap::new();
    for (member, spot) in entries {
        if let Some(problem) = ids::identifier_problem(&member.key) {
            spot.fail(report, format!("the action name `{}` {problem}", member.key), None);
        }
        if let Some(action) = read(&spot, report) {
            actions.insert(member.key.clone(), action);
        }
    }
    actions
}

fn read(spot: &Spot<'_>, report: &mut Report) -> Option<Action> {
    let fields = spot.fields(&keys::ACTION, report)?;
    let reads = fields.get("reads").and_then(|spot| spot.flag(report)).unwrap_or(false);
    let impact = fields.get("impact").and_then(|spot| spot.word(Impact::WORDS, Impact::from_word, report));
    let unset = Action::default();
    Some(Action {
        once: fields.get("once").and_then(|spot| spot.template(report)),
        params: fields.get("params").map_or(unset.params, |spot| Arc::new(spot.node.to_json())),
        limits: limits(&fields, report),
        refuse: fields.get("refuse").map(|spot| rules(&spot, NOT_ALLOWED, report)).unwrap_or_default(),
        allow: fields.get("allow").and_then(|spot| expression(&spot, report)),
        ask: fields.get("ask").map(|spot| ask(&spot, report)).unwrap_or_default(),
        budgets: budgets(&fields, report),
        reserves: reserves(&fields, report),
        validators: asked(&fields, "validators", report),
        judges: asked(&fields, "judges", report),
        leases: fields.get("leases").and_then(|spot| spot.some_text(report)).map(str::to_owned),
        from: from(&fields, report),
        impact: impact.unwrap_or(if reads { Impact::Low } else { unset.impact }),
        reads,
        run: fields.get("run").and_then(|spot| run(&spot, reads, report)),
        undo: undo(fields.get("undo"), reads, report),
        amendable: amendable(&fields, report),
    })
}

fn asked(fields: &Fields<'_>, key: &str, report: &mut Report) -> BTreeSet<String> {
    fields.get(key).map(|spot| spot.names(report)).unwrap_or_default().into_iter().collect()
}

fn limits(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Limit> {
    let entries = fields.get("limits").map(|spot| spot.entries(report)).unwrap_or_default();
    entries.iter().filter_map(|(member, spot)| Some((member.key.clone(), limit(spot, report)?))).collect()
}

fn limit(spot: &Spot<'_>, report: &mut Report) -> Option<Limit> {
    let fields = spot.fields(&keys::LIMIT, report)?;
    let denied = fields.get("denied").map(|spot| spot.items(report)).unwrap_or_default();
    let matching = fields.get("match").and_then(|spot| spot.word(Matching::WORDS, Matching::from_word, report));
    Some(Limit {
        min: fields.get("min").and_then(|spot| spot.number(report)),
        max: fields.get("max").and_then(|spot| spot.number(report)),
        unit: fields.get("unit").and_then(|spot| spot.name(report)),
        signed: fields.get("signed").and_then(|spot| spot.flag(report)).unwrap_or(false),
        allowed: fields.get("allowed").map(|spot| allowed(&spot, report)),
        denied: denied.iter().filter_map(|item| item.some_text(report)).map(str::to_owned).collect(),
        matching: matching.or_else(|| fields.get("denied").map(|_| Matching::Exact)),
        script: fields.get("script").and_then(|spot| spot.word(Script::WORDS, Script::from_word, report)),
        state: fields.get("state").and_then(|spot| state_match(&spot, report)),
    })
}

fn allowed(spot: &Spot<'_>, report: &mut Report) -> Vec<Json> {
    let items = spot.items(report);
    if items.is_empty() {
        spot.fail(report, format!("`{}` allows nothing", spot.path), Some("list at least one value"));
    }
    for item in &items {
        let json = item.node.to_json();
        if matches!(json, Json::Null | Json::List(_) | Json::Object(_)) {
            item.fail(report, format!("`{}` must be text, a number or a boolean", item.path), None);
        }
    }
    items.iter().map(|item| item.node.to_json()).collect()
}

/// `state: "prices/{symbol}"` means exactly equal.
fn state_match(spot: &Spot<'_>, report: &mut Report) -> Option<StateMatch> {
    if spot.node.to_json().as_text().is_some() {
        return Some(StateMatch { key: spot.template(report)?, tolerance: Tolerance::Exact });
    }
    let fields = spot.fields(&keys::STATE_MATCH, report)?;
    let key = fields.require("key", report).and_then(|spot| spot.template(report));
    let tolerance = match fields.get("tolerance") {
        Some(spot) => tolerance(&spot, report),
        None => Some(Tolerance::Exact),
    };
    Some(StateMatch { key: key?, tolerance: tolerance? })
}

/// A list is a list of triggers; `{ zone: [...] }` asks only about what `allow` does not name.
fn ask(spot: &Spot<'_>, report: &mut Report) -> Ask {
    let Value::Map(_) = &spot.node.value else { return Ask::Triggers(rules(spot, NEEDS_APPROVAL, report)) };
    let Some(fields) = spot.fields(&keys::ASK_ZONE, report) else { return Ask::default() };
    let Some(zone) = fields.require("zone", report) else { return Ask::default() };
    let rules = rules(&zone, NEEDS_APPROVAL, report);
    if rules.is_empty() {
        zone.fail(report, format!("`{}` asks about nothing", zone.path), Some("add a question, or leave `ask` out"));
    }
    Ask::Zone(rules)
}

fn rules(spot: &Spot<'_>, reason: &str, report: &mut Report) -> Vec<Rule> {
    spot.items(report).iter().filter_map(|item| rule(item, reason, report)).collect()
}

fn rule(spot: &Spot<'_>, reason_default: &str, report: &mut Report) -> Option<Rule> {
    let fields = spot.fields(&keys::RULE, report)?;
    let when = fields.require("when", report).and_then(|spot| expression(&spot, report));
    let reason = match fields.get("reason") {
        None => Some(reason_default.to_owned()),
        Some(spot) => spot.text(report).map(str::to_owned),
    };
    Some(Rule { when: when?, reason: reason? })
}

fn reserves(fields: &Fields<'_>, report: &mut Report) -> Vec<Reserve> {
    let items = fields.get("reserves").map(|spot| spot.items(report)).unwrap_or_default();
    items.iter().filter_map(|item| reserve(item, report)).collect()
}

fn reserve(spot: &Spot<'_>, report: &mut Report) -> Option<Reserve> {
    let fields = spot.fields(&keys::RESERVE, report)?;
    let resource = fields.require("resource", report).and_then(|spot| spot.name(report));
    let amount = fields.require("amount", report).and_then(|spot| amount(&spot, report));
    Some(Reserve { resource: resource?, amount: amount? })
}

/// A number is a fixed amount; any other text names a param.
fn amount(spot: &Spot<'_>, report: &mut Report) -> Option<Amount> {
    match spot.node.to_json() {
        Json::Text(text) if values::decimal::Decimal::parse(&text).is_none() => Some(Amount::Param(text)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
            spot.number(report).map(Amount::Fixed)
        }
    }
}

fn from(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, BTreeSet<Origin>> {
    let entries = fields.get("from").map(|spot| spot.entries(report)).unwrap_or_default();
    let mut from = BTreeMap::new();
    for (member, spot) in entries {
        let items = spot.items(report);
        let origins: BTreeSet<Origin> =
            items.iter().filter_map(|item| item.word(Origin::WORDS, Origin::from_word, report)).collect();
        if items.is_empty() {
            let help = "list at least one of user, state, tool, none";
            spot.fail(report, format!("`{}` names no origin", spot.path), Some(help));
        }
        from.insert(member.key.clone(), origins);
    }
    from
}

fn run(spot: &Spot<'_>, reads: bool, report: &mut Report) -> Option<Run> {
    let fields = spot.fields(&keys::RUN, report)?;
    let executor = executor(&fields, report)?;
    let class_default = if reads { EffectClass::None } else { EffectClass::Opaque };
    let class = fields.get("class").and_then(|spot| spot.word(EffectClass::WORDS, EffectClass::from_word, report));
    let timeout_default: Duration =
        if executor == Executor::Host { defaults::HOST_TIMEOUT } else { defaults::RUN_TIMEOUT };
    let headers = fields.get("headers").map(|spot| spot.entries(report)).unwrap_or_default();
    Some(Run {
        executor,
        class: class.unwrap_or(class_default),
        timeout: fields.get("timeout").and_then(|spot| spot.duration(report)).unwrap_or(timeout_default),
        headers: headers
            .iter()
            .filter_map(|(member, spot)| Some((member.key.clone(), spot.text(report)?.to_owned())))
            .collect(),
    })
}

fn executor(fields: &Fields<'_>, report: &mut Report) -> Option<Executor> {
    const HELP: &str = "write one of `http`, `command`, `function`, or `host: true`";
    let named: Vec<Spot<'_>> =
        ["http", "command", "function", "host"].iter().filter_map(|key| fields.get(key)).collect();
    if named.len() != 1 {
        fields.spot.fail(report, format!("`{}` needs one executor", fields.spot.path), Some(HELP));
        return None;
    }
    if let Some(spot) = fields.get("http") {
        return http(&spot, report).map(Executor::Http);
    }
    if let Some(spot) = fields.get("function") {
        return spot.name(report).map(Executor::Function);
    }
    if let Some(spot) = fields.get("command") {
        let words: Vec<String> =
            spot.items(report).iter().filter_map(|item| item.text(report)).map(str::to_owned).collect();
        if words.first().is_none_or(String::is_empty) {
            spot.fail(report, format!("`{}` names no program", spot.path), Some("list the program and its arguments"));
        }
        return Some(Executor::Command(words));
    }
    let host = fields.get("host")?;
    if host.flag(report)? {
        return Some(Executor::Host);
    }
    fields.spot.fail(report, format!("`{}` needs one executor", fields.spot.path), Some(HELP));
    None
}

/// `METHOD http://…`
fn http(spot: &Spot<'_>, report: &mut Report) -> Option<String> {
    const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE"];
    let text = spot.text(report)?;
    let fits = text.split_once(' ').is_some_and(|(method, address)| {
        let host = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
        let host_fits = host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'));
        METHODS.contains(&method)
            && host_fits
            && !address.contains(|next: char| next.is_whitespace() || next.is_control())
    });
    if !fits {
        let help = "write a method and an address: `POST https://pay.example/refunds`; or `host`";
        spot.fail(report, format!("`{text}` is no HTTP request"), Some(help));
        return None;
    }
    Some(text.to_owned())
}

fn undo(spot: Option<Spot<'_>>, reads: bool, report: &mut Report) -> Undo {
    let fields = spot.and_then(|spot| spot.fields(&keys::UNDO, report));
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let kind_default = if reads { UndoKind::Noop } else { UndoKind::AlertHuman };
    Undo {
        kind: get("kind")
            .and_then(|spot| spot.word(UndoKind::WORDS, UndoKind::from_word, report))
            .unwrap_or(kind_default),
        http: get("http").and_then(|spot| http(&spot, report)),
        within: get("within").and_then(|spot| spot.duration(report)),
    }
}

fn amendable(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Amendable> {
    let entries = fields.get("amendable").map(|spot| spot.entries(report)).unwrap_or_default();
    entries.iter().filter_map(|(member, spot)| Some((member.key.clone(), amendable_param(spot, report)?))).collect()
}

fn amendable_param(spot: &Spot<'_>, report: &mut Report) -> Option<Amendable> {
    let fields = spot.fields(&keys::AMENDABLE, report)?;
    let min = fields.get("min").and_then(|spot| amend_bounds(&spot, report));
    let max = fields.get("max").and_then(|spot| amend_bounds(&spot, report));
    let ttl = fields.require("ttl", report).and_then(|spot| spot.duration(report));
    Some(Amendable { min, max, ttl: ttl? })
}

fn amend_bounds(spot: &Spot<'_>, report: &mut Report) -> Option<AmendBounds> {
    let fields = spot.fields(&keys::UPPER_BOUNDS, report)?;
    let floor = fields.require("floor", report).and_then(|spot| spot.number(report));
    let ceiling = fields.require("ceiling", report).and_then(|spot| spot.number(report));
    Some(AmendBounds { floor: floor?, ceiling: ceiling? })
}
