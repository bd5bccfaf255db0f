//! A second judge, written to be obviously right: it reads the contract's JSON and the proposal's JSON, keeps no state,
//! and adds everything up again from the whole history. It shares no code with the gates.

use std::collections::{BTreeMap, BTreeSet};
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// A line that was judged before and counts.
#[derive(Clone, Debug)]
pub struct Past {
    /// When it was judged.
    pub at: Instant,
    /// The proposal.
    pub proposal: Json,
    /// Its flow, or a name of its own.
    pub flow: String,
    /// Whether it was accepted.
    pub accepted: bool,
    /// Whether a person was asked.
    pub asked: bool,
    /// Whether it counts as a failed attempt.
    pub failed: bool,
}

/// A line to be judged.
#[derive(Debug)]
pub struct Case<'a> {
    pub contract: &'a Json,
    pub context: &'a Json,
    pub past: &'a [Past],
    pub proposal: &'a Json,
    pub flow: &'a str,
    pub at: Instant,
}

/// What is wrong with a line, by code; everything about the shape of params is one code.
pub const SHAPE: &str = "SHAPE";

/// Everything this judge finds wrong.
pub fn violations(case: &Case<'_>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    if case.proposal.get("agent") != case.contract.get("agent") {
        found.insert("AGENT_UNKNOWN");
    }
    judge_envelope(case, &mut found);
    judge_flow(case, &mut found);
    let Some(action) = case.action(case.proposal) else {
        found.insert("ACTION_NOT_ALLOWED");
        return found;
    };
    judge_shape(case, action, &mut found);
    judge_numbers(case, action, &mut found);
    judge_sets(case, action, &mut found);
    judge_origins(case, action, &mut found);
    judge_snapshot(case, action, &mut found);
    judge_budgets(case, action, &mut found);
    judge_resources(case, &mut found);
    let effect = case.effect(case.proposal, case.flow);
    let taken = |past: &&Past| past.accepted && case.effect(&past.proposal, &past.flow) == effect;
    if effect.is_some() && case.past.iter().any(|past| taken(&past)) {
        found.insert("IN_PROGRESS");
    }
    found
}

/// Whether the agent may still ask someone.
pub fn may_ask(case: &Case<'_>) -> bool {
    let per = duration(case.rule(&["escalation", "budget", "per"])).expect("the full form says how often").micros();
    let within = |past: &&Past| {
        let same_agent = past.proposal.get("agent") == case.proposal.get("agent");
        past.asked && same_agent && past.at.micros() > case.at.micros() - per && past.at <= case.at
    };
    let asked = Decimal::from(case.past.iter().filter(within).count() as u64);
    Some(asked) < decimal(case.rule(&["escalation", "budget", "max"]))
}

impl Case<'_> {
    fn action(&self, proposal: &Json) -> Option<&Json> {
        self.contract.get("actions")?.get(proposal.get("action")?.as_text()?)
    }

    fn rule(&self, path: &[&str]) -> Option<&Json> {
        path.iter().try_fold(self.contract, |json, key| json.get(key))
    }

    fn params(&self) -> &Object {
        self.proposal.get("params").and_then(Json::as_object).expect("a proposal has params")
    }

    /// What the effect is called: action, template and values, or flow, step and params. Reads have none.
    fn effect(&self, proposal: &Json, flow: &str) -> Option<Vec<String>> {
        let action = self.action(proposal)?;
        if action.get("reads") == Some(&Json::Bool(true)) {
            return None;
        }
        let params = proposal.get("params")?.as_object()?;
        let Some(once) = action.get("once").and_then(Json::as_text) else {
            let step = proposal.get("step").map(Json::to_canonical).unwrap_or_default();
            let params = Json::Object(params.clone()).to_canonical();
            return Some(vec![flow.to_owned(), step, proposal.get("action")?.to_canonical(), params]);
        };
        let values = placeholders(once).into_iter().map(|name| params.get(&name).map(plain).unwrap_or_default());
        Some(std::iter::once(once.to_owned()).chain(values).collect())
    }
}

fn placeholders(template: &str) -> Vec<String> {
    let behind = template.split('{').skip(1);
    behind.filter_map(|piece| Some(piece.split_once('}')?.0.to_owned())).collect()
}

fn plain(value: &Json) -> String {
    value.as_text().map_or_else(|| value.to_canonical(), str::to_owned)
}

fn items<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_list).unwrap_or_default()
}

fn decimal(json: Option<&Json>) -> Option<Decimal> {
    let json = json?;
    json.as_number().or_else(|| Decimal::parse(json.as_text()?))
}

fn duration(json: Option<&Json>) -> Option<Duration> {
    Duration::parse(json?.as_text()?)
}

fn instant(json: Option<&Json>) -> Option<Instant> {
    Instant::parse(json?.as_text()?)
}

fn declared<'a>(action: &'a Json, param: &str) -> Option<&'a Json> {
    action.get("params")?.get("properties")?.get(param)
}

/// The number a param holds, and its unit.
fn number<'a>(action: &Json, params: &'a Object, param: &str) -> Option<(Decimal, Option<&'a str>)> {
    let decimal_text = declared(action, param)?.get("format") == Some(&Json::text("decimal"));
    quantity(params.get(param)?, decimal_text)
}

fn quantity(value: &Json, decimal_text: bool) -> Option<(Decimal, Option<&str>)> {
    match value {
        Json::Number(number) => Some((*number, None)),
        Json::Text(text) if decimal_text => Some((Decimal::parse(text)?, None)),
        Json::Object(members) if members.len() == 2 => {
            Some((members.get("value")?.as_number()?, Some(members.get("unit")?.as_text()?)))
        }
        Json::Null | Json::Bool(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => None,
    }
}

fn judge_envelope(case: &Case<'_>, found: &mut BTreeSet<&'static str>) {
    let created_at = instant(case.proposal.get("created_at")).unwrap_or(case.at);
    if created_at.micros() > case.at.micros() + 5_000_000 {
        found.insert("PARAM_INVALID");
    }
    let ttl = duration(case.rule(&["proposal", "ttl", "max"])).expect("the full form says how long").micros();
    if let Some(valid_until) = instant(case.proposal.get("valid_until")) {
        if valid_until <= case.at {
            found.insert("TTL_EXPIRED");
        }
        if valid_until.micros() > ttl + created_at.micros().min(case.at.micros()) {
            found.insert("TTL_TOO_LONG");
        }
    }
    let Some(thresholds) = case.rule(&["proposal", "confidence"]) else { return };
    let Some(confidence) = case.proposal.get("confidence").and_then(Json::as_number) else {
        found.insert("PARAM_MISSING");
        return;
    };
    if Some(confidence) < decimal(thresholds.get("reject_below")) {
        found.insert("CONFIDENCE_TOO_LOW");
    } else if Some(confidence) < decimal(thresholds.get("escalate_below")) {
        found.insert("CONFIDENCE_LOW");
    }
}

fn judge_flow(case: &Case<'_>, found: &mut BTreeSet<&'static str>) {
    // A stranger uses nothing of a flow up.
    let ours = |past: &&Past| past.flow == case.flow && past.proposal.get("agent") == case.contract.get("agent");
    let same: Vec<&Past> = case.past.iter().filter(ours).collect();
    // To a stranger the flow does not exist, whatever happened in it.
    if case.proposal.get("agent") != case.contract.get("agent") && !same.is_empty() {
        return;
    }
    let whole = |number: usize| Decimal::from(number as u64);
    let failed = same.iter().filter(|past| past.failed).count();
    if Some(whole(failed)) >= decimal(case.rule(&["proposal", "retries"])) {
        found.insert("REASONING_EXHAUSTION");
    }
    let tokens = |proposal: &Json| decimal(proposal.get("tokens")).unwrap_or(Decimal::ZERO);
    let spent = same.iter().map(|past| tokens(&past.proposal)).chain([tokens(case.proposal)]);
    let spent = spent.fold(Decimal::ZERO, |sum, tokens| sum.checked_add(tokens).expect("tokens are few"));
    let above =
        |key: &str, used: Decimal| decimal(case.rule(&["proposal", "spend", key])).is_some_and(|max| used > max);
    if above("tokens", spent) || above("steps", whole(same.len() + 1)) {
        found.insert("BUDGET_EXCEEDED");
    }
}

/// Params that a limit, a budget or a reservation makes mandatory numbers.
fn numeric<'a>(case: &'a Case<'_>, action: &'a Json) -> BTreeSet<&'a str> {
    let limits = action.get("limits").and_then(Json::as_object).into_iter().flatten();
    let bounded = limits.filter(|(_, limit)| ["min", "max", "unit"].iter().any(|key| limit.get(key).is_some()));
    bounded.map(|(param, _)| param.as_str()).chain(taken(case, action)).collect()
}

/// Params that a budget or a reservation takes.
fn taken<'a>(case: &'a Case<'_>, action: &'a Json) -> BTreeSet<&'a str> {
    let sums = items(case.contract, "budgets").iter().chain(items(action, "budgets"));
    let sums = sums.filter_map(|budget| budget.get("sum")?.as_text()).filter(|param| declared(action, param).is_some());
    let reserved = items(action, "reserves").iter().filter_map(|reserve| reserve.get("amount")?.as_text());
    sums.chain(reserved.filter(|amount| Decimal::parse(amount).is_none())).collect()
}

fn judge_shape(case: &Case<'_>, action: &Json, found: &mut BTreeSet<&'static str>) {
    let params = case.params();
    let schema = action.get("params").expect("the full form has a schema");
    let missing = items(schema, "required").iter().any(|name| !params.contains_key(name.as_text().unwrap_or_default()));
    let closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    let wrong = |(name, value): (&String, &Json)| match declared(action, name) {
        None => closed,
        Some(property) => match property.get("type").and_then(Json::as_text) {
            None => false,
            Some("number") => value.as_number().is_none(),
            Some("string") if property.get("format").is_some() => {
                value.as_text().is_none_or(|text| Decimal::parse(text).is_none())
            }
            Some("string") => value.as_text().is_none(),
            Some(other) => panic!("the second judge does not know the type {other}"),
        },
    };
    let no_number = numeric(case, action).into_iter().any(|param| number(action, params, param).is_none());
    let once = action.get("once").and_then(Json::as_text).map(placeholders).unwrap_or_default();
    let unnamed = once.iter().any(|param| match params.get(param) {
        None | Some(Json::Null | Json::List(_) | Json::Object(_)) => true,
        Some(Json::Bool(_) | Json::Number(_)) => false,
        // Of what makes two names look the same, proposals here hold nothing else.
        Some(Json::Text(text)) => text.is_empty() || text.contains(['\u{202E}', '\u{200B}']),
    });
    if missing || params.iter().any(wrong) || no_number || unnamed {
        found.insert(SHAPE);
    }
}

fn judge_numbers(case: &Case<'_>, action: &Json, found: &mut BTreeSet<&'static str>) {
    let taken = taken(case, action);
    for (param, value) in case.params() {
        let limit = action.get("limits").and_then(|limits| limits.get(param));
        let of_limit = |key: &str| limit.and_then(|limit| limit.get(key));
        let signed = of_limit("signed") == Some(&Json::Bool(true));
        let as_number = number(action, case.params(), param).or_else(|| quantity(value, false));
        let Some((value, unit)) = as_number else {
            if !signed && scalars(value).iter().any(|inside| inside.as_number().is_some_and(Decimal::is_negative)) {
                found.insert("LIMIT_BELOW_MINIMUM");
            }
            continue;
        };
        let negative = value < Decimal::ZERO && !signed;
        let not_positive = value <= Decimal::ZERO && taken.contains(param.as_str());
        if negative || not_positive || decimal(of_limit("min")).is_some_and(|min| value < min) {
            found.insert("LIMIT_BELOW_MINIMUM");
        }
        if decimal(of_limit("max")).is_some_and(|max| value > max) {
            found.insert("LIMIT_EXCEEDED");
        }
        if unit.is_some() && unit != of_limit("unit").and_then(Json::as_text) {
            found.insert("PARAM_INVALID");
        }
    }
}

fn judge_sets(case: &Case<'_>, action: &Json, found: &mut BTreeSet<&'static str>) {
    for (param, limit) in action.get("limits").and_then(Json::as_object).into_iter().flatten() {
        let value = case.params().get(param);
        let there = value.filter(|value| **value != Json::Null);
        if let Some(key) = limit.get("state").and_then(|state| state.get("key")).and_then(Json::as_text) {
            let live = case.context.get("state").and_then(|state| state.get(key));
            let tolerance = limit.get("state").and_then(|state| state.get("tolerance"));
            if !is_close(there, live, tolerance) {
                found.insert("STATE_MISMATCH");
            }
        }
        let Some(value) = value else { continue };
        let single = [value.clone()];
        let values = value.as_list().unwrap_or(&single);
        let allowed = limit.get("allowed").and_then(Json::as_list);
        if allowed.is_some_and(|allowed| values.iter().any(|value| !allowed.contains(value))) {
            found.insert("VALUE_NOT_ALLOWED");
        }
        if limit.get("script").is_some() && values.iter().filter_map(Json::as_text).any(deceives) {
            found.insert("PARAM_INVALID");
        }
        let anywhere = limit.get("match") == Some(&Json::text("substring"));
        for denied in items(limit, "denied").iter().map(|denied| as_seen(&plain(denied))) {
            let hit = |value: &Json| {
                let value = as_seen(&plain(value));
                value == denied || (anywhere && value.contains(&denied))
            };
            if scalars(value).iter().any(hit) {
                found.insert("VALUE_DENIED");
            }
        }
    }
}

/// Text as a person sees it, as far as the words of these tests go.
fn as_seen(text: &str) -> String {
    let seen = text.chars().filter(|letter| !is_hidden(*letter)).map(|letter| match letter {
        '\u{0430}' => 'a',
        '\u{043E}' | '0' => 'o',
        '1' | '|' => 'l',
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(letter) - 0xFEE0).unwrap_or(letter),
        other => other,
    });
    seen.collect::<String>().to_lowercase().replace('m', "rn")
}

fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{200B}' | '\u{202E}')
}

/// Whether an identifier mixes scripts, or holds what nobody sees or expects.
fn deceives(text: &str) -> bool {
    let has = |of: fn(char) -> bool| text.chars().any(of);
    let mixed = has(|letter| letter.is_ascii_alphabetic()) && has(|letter| ('\u{0400}'..='\u{04FF}').contains(&letter));
    mixed || has(is_hidden) || has(|letter| ('\u{FF01}'..='\u{FF5E}').contains(&letter))
}

/// Everything plain inside a value, the names of members too.
fn scalars(value: &Json) -> Vec<Json> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => vec![value.clone()],
        Json::List(items) => items.iter().flat_map(scalars).collect(),
        Json::Object(members) => {
            members.iter().flat_map(|(key, value)| [vec![Json::text(key.as_str())], scalars(value)].concat()).collect()
        }
    }
}

fn is_close(value: Option<&Json>, reference: Option<&Json>, tolerance: Option<&Json>) -> bool {
    let (Some(value), Some(reference)) = (value, reference) else { return false };
    if tolerance == Some(&Json::text("exact")) {
        return value == reference && *value != Json::Null;
    }
    let (Some(value), Some(reference)) = (value.as_number(), reference.as_number()) else { return false };
    let hundred = Decimal::from(100);
    let distance = value.checked_sub(reference).map(Decimal::abs);
    let absolute = decimal(tolerance.and_then(|tolerance| tolerance.get("absolute")));
    let percent = decimal(tolerance.and_then(|tolerance| tolerance.get("percent")));
    match (distance, absolute, percent) {
        (Some(distance), Some(absolute), None) => distance <= absolute,
        (Some(distance), None, Some(percent)) => {
            let most = reference.abs().checked_mul(percent);
            matches!((distance.checked_mul(hundred), most), (Some(distance), Some(most)) if distance <= most)
        }
        _ => false,
    }
}

fn judge_origins(case: &Case<'_>, action: &Json, found: &mut BTreeSet<&'static str>) {
    for (param, allowed) in action.get("from").and_then(Json::as_object).into_iter().flatten() {
        if case.params().get(param).is_none_or(|value| *value == Json::Null) {
            continue;
        }
        let stated = case.proposal.get("provenance").and_then(|stated| stated.get(param));
        if stated.is_some_and(|origin| allowed.as_list().unwrap_or_default().contains(origin)) {
            continue;
        }
        let known = stated.and_then(Json::as_text).is_some_and(|origin| origin != "none");
        found.insert(if known { "EVIDENCE_UNTRUSTED" } else { "EVIDENCE_MISSING" });
    }
}

fn judge_snapshot(case: &Case<'_>, action: &Json, found: &mut BTreeSet<&'static str>) {
    let reads = action.get("reads") == Some(&Json::Bool(true));
    let drift = case.contract.get("drift").and_then(Json::as_object).into_iter().flatten();
    let applies = |key: &str| !reads && placeholders(key).iter().all(|param| declared(action, param).is_some());
    let drift: Vec<(&String, &Json)> = drift.filter(|(key, _)| applies(key)).collect();
    let live = case.context.get("state").expect("the context has state");
    let Some(name) = case.proposal.get("snapshot").and_then(Json::as_text) else {
        let watched = case.contract.get("drift").and_then(Json::as_object).is_some_and(|keys| !keys.is_empty());
        if !reads && (watched || case.rule(&["proposal", "context_max_age"]).is_some()) {
            found.insert("SNAPSHOT_MISSING");
        }
        return;
    };
    let stored = case.context.get("snapshots").and_then(|snapshots| snapshots.get(name));
    let (taken_at, seen) = match stored {
        Some(stored) => (instant(stored.get("at")).expect("snapshots have a time"), stored.get("data")),
        None if name == "current" => (case.at, Some(live)),
        None => {
            found.insert("SNAPSHOT_UNKNOWN");
            return;
        }
    };
    let age = case.at.micros() - taken_at.micros();
    if duration(case.rule(&["proposal", "context_max_age"])).is_some_and(|max| age > max.micros()) {
        found.insert("SNAPSHOT_STALE");
    }
    for (key, tolerance) in drift {
        let mut rendered = key.clone();
        for param in placeholders(key) {
            let Some(value) = case.params().get(&param) else {
                found.insert("PARAM_MISSING");
                continue;
            };
            rendered = rendered.replace(&format!("{{{param}}}"), &plain(value));
        }
        let missing = rendered.contains('{');
        if !missing && !is_close(live.get(&rendered), seen.and_then(|seen| seen.get(&rendered)), Some(tolerance)) {
            found.insert("STATE_DRIFT");
        }
    }
}

fn judge_budgets(case: &Case<'_>, action: &Json, found: &mut BTreeSet<&'static str>) {
    let name = case.proposal.get("action");
    let of_all = items(case.contract, "budgets").iter().map(|budget| (budget, None));
    let of_action = items(action, "budgets").iter().map(|budget| (budget, name));
    for (budget, scope) in of_all.chain(of_action) {
        let takes = |proposal: &Json| -> Option<Decimal> {
            let action = case.action(proposal)?;
            let other_action = scope.is_some() && scope != proposal.get("action");
            if other_action || proposal.get("agent") != case.proposal.get("agent") {
                return None;
            }
            match budget.get("sum").and_then(Json::as_text) {
                None => Some(Decimal::from(1)),
                Some(param) => Some(number(action, proposal.get("params")?.as_object()?, param)?.0),
            }
        };
        let Some(wanted) = takes(case.proposal).filter(|wanted| *wanted > Decimal::ZERO) else { continue };
        let per = duration(budget.get("per")).expect("a budget has a window").micros();
        let within = |past: &&Past| past.accepted && past.at.micros() > case.at.micros() - per && past.at <= case.at;
        let used = case.past.iter().filter(within).filter_map(|past| takes(&past.proposal));
        let total = used.chain([wanted]).try_fold(Decimal::ZERO, Decimal::checked_add);
        if total.is_none_or(|total| Some(total) > decimal(budget.get("max"))) {
            found.insert("BUDGET_EXCEEDED");
        }
    }
}

fn judge_resources(case: &Case<'_>, found: &mut BTreeSet<&'static str>) {
    let takes = |proposal: &Json| -> BTreeMap<String, Option<Decimal>> {
        let mut totals = BTreeMap::new();
        let Some(action) = case.action(proposal) else { return totals };
        let params = proposal.get("params").and_then(Json::as_object).expect("a proposal has params");
        for reserve in items(action, "reserves") {
            let amount = reserve.get("amount");
            let fixed = decimal(amount);
            let of_param = || number(action, params, amount?.as_text()?).map(|(amount, _)| amount);
            let total = totals.entry(reserve.get("resource").map(plain).unwrap_or_default());
            let total = total.or_insert(Some(Decimal::ZERO));
            *total = total.zip(fixed.or_else(of_param)).and_then(|(total, amount)| total.checked_add(amount));
        }
        totals
    };
    for (resource, wanted) in takes(case.proposal) {
        let Some(wanted) = wanted.filter(|wanted| *wanted > Decimal::ZERO) else { continue };
        let held =
            case.past.iter().filter(|past| past.accepted).filter_map(|past| takes(&past.proposal).remove(&resource)?);
        let total = held.chain([wanted]).try_fold(Decimal::ZERO, Decimal::checked_add);
        let capacity = decimal(case.rule(&["resources", &resource, "capacity"]));
        if total.is_none_or(|total| Some(total) > capacity) {
            found.insert("RESOURCE_INSUFFICIENT");
        }
    }
}
