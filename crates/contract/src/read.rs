//! A written contract, in either form, into the types of the full form. Every fault is reported, not only the first.

mod action;
pub(super) mod consistency;

use crate::cursor::{Fields, Report, Spot, deepest, place_of};
use crate::source::{Diagnostic, Node, Severity};
use crate::{keys, lint, plugins, short_form, tests, watches, witnesses};
use kernel::contract::{
    Budget, Confidence, Contract, DriftKey, Escalation, EscalationTimeout, Mode, OnExhausted, ProposalRules, Resource,
    ResourceKind, Role, TimeoutAnswer, Tolerance,
};

use std::collections::BTreeMap;
use std::sync::Arc;
use values::decimal::Decimal;
use values::json::Json;

/// The only document format there is.
const FORMAT: &str = "contract/v1";

/// A contract that can be used, and what was noticed about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// The full form.
    pub contract: Contract,
    /// The tests in the same file.
    pub tests: Option<tests::Tests>,
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
    /// Keys that do nothing yet: errors unless the operator allows them.
    pub inert: Vec<Diagnostic>,
}

/// Reads a contract in the short or the full form; the error holds everything wrong with it, in the order of the text.
///
/// ```
/// use contract::{read::read, source::Node};
/// use values::json::Json;
/// let text = br#"{"agent": "bot", "actions": {"look": {"params": {"id": "text"}, "reads": true}}}"#;
/// let reading = read(&Node::from_json(&Json::parse(text).unwrap())).unwrap();
/// assert_eq!(reading.contract.id, "bot");
/// assert!(reading.contract.actions["look"].reads);
/// ```
pub fn read(node: &Node) -> Result<Reading, Vec<Diagnostic>> {
    let mut report = Report::default();
    let expanded = short_form::expand(node, &mut report);
    let Some(fields) = Spot::root(&expanded).fields(&keys::CONTRACT, &mut report) else { return Err(report.errors) };
    let contract = contract(&fields, &mut report);
    let tests = fields.get("tests").map(|spot| tests::read(&spot, &mut report));
    report_inert(&fields, &mut report);
    add_without_echo(consistency::check(&contract), &expanded, &mut report.errors);
    if !report.errors.is_empty() {
        report.errors.sort_by_key(|error| (error.place.line, error.place.column));
        return Err(report.errors);
    }
    let mut warnings: Vec<Diagnostic> =
        lint::lint(&contract).into_iter().map(|warning| located(warning, &expanded)).collect();
    warnings.sort_by_key(|warning| (warning.place.line, warning.place.column));
    Ok(Reading { contract, tests, warnings, inert: report.inert })
}

/// Reads a contract again that was read before and written in the full form by us. Nothing in it is short, and what is
/// wrong or doubtful about it was said then; a key that cannot be read makes it no contract.
pub fn read_again(mut json: Json) -> Option<Contract> {
    let params = schemas_of(&mut json);
    let node = Node::from(json);
    let mut report = Report::default();
    let fields = Spot::root(&node).fields(&keys::CONTRACT, &mut report)?;
    let mut contract = contract(&fields, &mut report);
    // Actions of one kind often say the same of their params; what is said twice is kept once.
    let mut last = Arc::new(Json::Null);
    for (name, schema) in params {
        if *last != schema {
            last = Arc::new(schema);
        }
        contract.actions.get_mut(&name)?.params = last.clone();
    }
    report.errors.is_empty().then_some(contract)
}

/// Takes the schemas of all actions out: they are most of a contract, and kept as they are.
fn schemas_of(contract: &mut Json) -> Vec<(String, Json)> {
    let Json::Object(members) = contract else { return Vec::new() };
    let Some(Json::Object(actions)) = members.get_mut("actions") else { return Vec::new() };
    let schema_of = |(name, action): (&String, &mut Json)| match action {
        Json::Object(action) => Some((name.clone(), action.remove("params")?)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => None,
    };
    actions.iter_mut().filter_map(schema_of).collect()
}

/// An action that could not be read says nothing reliable about itself, so what follows from it is left out.
fn add_without_echo(found: Vec<Diagnostic>, root: &Node, errors: &mut Vec<Diagnostic>) {
    let broken: Vec<String> = errors.iter().map(|error| holder(&error.path)).collect();
    for error in found {
        let holder = holder(&error.path);
        let echoes = broken.contains(&holder) || (!broken.is_empty() && !holder.starts_with("actions."));
        if !echoes {
            errors.push(located(error, root));
        }
    }
}

fn holder(path: &str) -> String {
    let mut parts = path.split('.');
    let first = parts.next().unwrap_or_default();
    match (first, parts.next()) {
        ("actions", Some(name)) => format!("actions.{name}"),
        _ => first.to_owned(),
    }
}

/// The diagnostic with the place its path has in a written contract.
pub fn located(mut diagnostic: Diagnostic, root: &Node) -> Diagnostic {
    diagnostic.place = place_of(root, &diagnostic.path);
    diagnostic
}

/// The value a path of the full form leads to in a written contract, and the rest of the path where the short form
/// ends before it.
pub fn written<'n, 'p>(root: &'n Node, path: &'p str) -> (&'n Node, &'p str) {
    deepest(root, path)
}

fn report_inert(fields: &Fields<'_>, report: &mut Report) {
    for key in keys::INERT {
        let root = fields.spot.node;
        let Some(node) = key.path.split('.').try_fold(root, |node, part| node.get(part)) else { continue };
        let what = match key.value {
            None => key.path.to_owned(),
            Some(value) if node.to_json() == Json::text(value) => format!("{}: {value}", key.path),
            Some(_) => continue,
        };
        report.inert.push(Diagnostic {
            code: "NOT_ENFORCED_YET",
            severity: Severity::Inert,
            path: key.path.to_owned(),
            place: place_of(root, key.path),
            message: format!("`{what}` is read but does nothing yet"),
            help: Some("remove it, or accept that it does nothing".to_owned()),
        });
    }
}

fn contract(fields: &Fields<'_>, report: &mut Report) -> Contract {
    if let Some(format) = fields.get("writkeeper") {
        format.word(&[FORMAT], |word| (word == FORMAT).then_some(()), report);
    }
    let agent = fields.require("agent", report).and_then(|spot| spot.name(report)).unwrap_or_default();
    let unset = Contract::of_agent(&agent);
    Contract {
        id: fields.get("id").and_then(|spot| spot.name(report)).unwrap_or(unset.id),
        version: version(fields, report, unset.version),
        agent,
        role: fields.get("role").and_then(|spot| spot.word(Role::WORDS, Role::from_word, report)).unwrap_or(unset.role),
        mission: fields.get("mission").and_then(|spot| spot.text(report)).unwrap_or_default().to_owned(),
        mode: fields.get("mode").and_then(|spot| spot.word(Mode::WORDS, Mode::from_word, report)).unwrap_or(unset.mode),
        parent: fields.get("parent").and_then(|spot| spot.name(report)),
        group: fields.get("group").and_then(|spot| spot.name(report)),
        priority: fields.get("priority").and_then(|spot| priority(&spot, report)),
        proposal: proposal(fields.get("proposal"), report),
        budgets: budgets(fields, report),
        drift: drift(fields, report),
        wake_when: fields.get("wake_when").and_then(|spot| expression(&spot, report)),
        resources: resources(fields, report),
        validators: plugins::read_all(fields, "validators", report),
        judges: plugins::read_all(fields, "judges", report),
        handlers: plugins::read_all(fields, "handlers", report),
        detectors: witnesses::read_settings(fields, "detectors"),
        enforcement: witnesses::read_settings(fields, "enforcement"),
        witnesses: witnesses::read_witnesses(fields, report),
        actions: action::read_all(fields, report),
        escalation: escalation(fields.get("escalation"), report),
        monitors: monitors(fields, report),
        watch: watches::read_all(fields, report),
        policies: fields.get("policies").and_then(|spot| spot.some_text(report)).map(str::to_owned),
    }
}

fn version(fields: &Fields<'_>, report: &mut Report, draft: semver::Version) -> semver::Version {
    let Some(spot) = fields.get("version") else { return draft };
    let Some(text) = spot.text(report) else { return draft };
    semver::Version::parse(text).unwrap_or_else(|_| {
        spot.fail(report, format!("`{text}` is no version"), Some("write three numbers: `1.4.0`"));
        draft
    })
}

fn priority(spot: &Spot<'_>, report: &mut Report) -> Option<u32> {
    let whole = spot.whole(report)?;
    let priority = u32::try_from(whole).ok();
    if priority.is_none() {
        spot.fail(report, format!("`{whole}` is too large for a priority"), None);
    }
    priority
}

fn proposal(spot: Option<Spot<'_>>, report: &mut Report) -> ProposalRules {
    let fields = spot.and_then(|spot| spot.fields(&keys::PROPOSAL, report));
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let ttl = get("ttl").and_then(|spot| spot.fields(&keys::TTL, report));
    let ttl_get = |key: &str| ttl.as_ref().and_then(|fields| fields.get(key));
    let spend = get("spend").and_then(|spot| spot.fields(&keys::SPEND, report));
    let spend_get = |key: &str| spend.as_ref().and_then(|fields| fields.get(key));
    let ttl_max = ttl_get("max").and_then(|spot| spot.duration(report));
    let ttl_default = ttl_get("default").and_then(|spot| spot.duration(report));
    // One of the two written down moves the other's default, never past it.
    let unset = ProposalRules::default();
    let ttl_default_resolved =
        ttl_default.unwrap_or_else(|| ttl_max.map_or(unset.ttl_default, |max| max.min(unset.ttl_default)));
    ProposalRules {
        confidence: get("confidence").and_then(|spot| confidence(&spot, report)),
        ttl_default: ttl_default_resolved,
        ttl_max: ttl_max.unwrap_or_else(|| unset.ttl_max.max(ttl_default_resolved)),
        context_max_age: get("context_max_age").and_then(|spot| spot.duration(report)),
        retries: get("retries").and_then(|spot| spot.whole(report)).unwrap_or(unset.retries),
        spend_tokens: spend_get("tokens").and_then(|spot| spot.whole(report)),
        spend_steps: spend_get("steps").and_then(|spot| spot.whole(report)),
    }
}

fn confidence(spot: &Spot<'_>, report: &mut Report) -> Option<Confidence> {
    let fields = spot.fields(&keys::CONFIDENCE, report)?;
    let reject_below = fields.get("reject_below").and_then(|spot| spot.number(report));
    let escalate_below = fields.get("escalate_below").and_then(|spot| spot.number(report));
    let reject_below = reject_below.unwrap_or(Decimal::ZERO);
    Some(Confidence { reject_below, escalate_below: escalate_below.unwrap_or(reject_below) })
}

/// The list `budgets` of the contract or of an action.
fn budgets(fields: &Fields<'_>, report: &mut Report) -> Vec<Budget> {
    let items = fields.get("budgets").map(|spot| spot.items(report)).unwrap_or_default();
    items.iter().filter_map(|item| budget(item, report)).collect()
}

fn budget(spot: &Spot<'_>, report: &mut Report) -> Option<Budget> {
    let fields = spot.fields(&keys::BUDGET, report)?;
    let counts = fields.get("count").and_then(|spot| spot.flag(report)).unwrap_or(false);
    let sum = fields.get("sum").and_then(|spot| spot.some_text(report)).map(str::to_owned);
    if counts == sum.is_some() {
        spot.fail(report, "a budget either sums a param or counts", Some("write `sum: PARAM` or `count: true`"));
    }
    let max = fields.require("max", report).and_then(|spot| spot.number(report));
    let per = fields.require("per", report).and_then(|spot| spot.duration(report));
    Some(Budget { sum, max: max?, per: per? })
}

fn drift(fields: &Fields<'_>, report: &mut Report) -> Vec<DriftKey> {
    let entries = fields.get("drift").map(|spot| spot.entries(report)).unwrap_or_default();
    let mut keys: Vec<DriftKey> = entries
        .iter()
        .filter_map(|(member, spot)| {
            let key = spot.template_from(&member.key, report);
            let tolerance = tolerance(spot, report);
            Some(DriftKey { key: key?, tolerance: tolerance? })
        })
        .collect();
    // A map has no order, so the order of the text must not reach the digest.
    keys.sort_by(|left, right| left.key.as_str().cmp(right.key.as_str()));
    keys
}

/// `exact`, `{ percent: 2 }` or `{ absolute: 5 }`.
fn tolerance(spot: &Spot<'_>, report: &mut Report) -> Option<Tolerance> {
    if spot.node.to_json() == Json::text("exact") {
        return Some(Tolerance::Exact);
    }
    const HELP: &str = "write `exact`, `{ percent: 2 }` or `{ absolute: 5 }`";
    if spot.node.to_json().as_text().is_some() {
        spot.fail(report, format!("`{}` is no tolerance", spot.path), Some(HELP));
        return None;
    }
    let fields = spot.fields(&keys::TOLERANCE, report)?;
    let percent = fields.get("percent").and_then(|spot| spot.number(report));
    let absolute = fields.get("absolute").and_then(|spot| spot.number(report));
    let (found, number) = match (percent, absolute) {
        (Some(percent), None) => (Tolerance::Percent(percent), percent),
        (None, Some(absolute)) => (Tolerance::Absolute(absolute), absolute),
        (None, None) | (Some(_), Some(_)) => {
            spot.fail(report, format!("`{}` needs one tolerance", spot.path), Some(HELP));
            return None;
        }
    };
    if number.is_negative() {
        spot.fail(report, format!("the tolerance `{number}` is negative"), None);
        return None;
    }
    Some(found)
}

fn resources(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Resource> {
    let entries = fields.get("resources").map(|spot| spot.entries(report)).unwrap_or_default();
    entries.iter().filter_map(|(member, spot)| Some((member.key.clone(), resource(spot, report)?))).collect()
}

fn resource(spot: &Spot<'_>, report: &mut Report) -> Option<Resource> {
    let fields = spot.fields(&keys::RESOURCE, report)?;
    let kind =
        fields.require("kind", report).and_then(|spot| spot.word(ResourceKind::WORDS, ResourceKind::from_word, report));
    let capacity = fields.require("capacity", report).and_then(|spot| spot.number(report));
    let unit = fields.get("unit").and_then(|spot| spot.name(report));
    Some(Resource { kind: kind?, capacity: capacity?, unit })
}

fn escalation(spot: Option<Spot<'_>>, report: &mut Report) -> Escalation {
    let fields = spot.and_then(|spot| spot.fields(&keys::ESCALATION, report));
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let budget = get("budget").and_then(|spot| spot.fields(&keys::ESCALATION_BUDGET, report));
    let budget_get = |key: &str| budget.as_ref().and_then(|fields| fields.get(key));
    let unset = Escalation::default();
    Escalation {
        budget_max: budget_get("max").and_then(|spot| spot.whole(report)).unwrap_or(unset.budget_max),
        budget_per: budget_get("per").and_then(|spot| spot.duration(report)).unwrap_or(unset.budget_per),
        approvers: get("approvers").map(|spot| spot.names(report)).unwrap_or_default(),
        quorum: get("quorum").and_then(|spot| spot.whole(report)).unwrap_or(unset.quorum),
        timeout: escalation_timeout(get("timeout"), report),
        on_exhausted: get("on_exhausted")
            .and_then(|spot| spot.word(OnExhausted::WORDS, OnExhausted::from_word, report))
            .unwrap_or(unset.on_exhausted),
        valid_after: get("valid_after").and_then(|spot| spot.duration(report)).unwrap_or(unset.valid_after),
        signed: get("signed").and_then(|spot| spot.flag(report)).unwrap_or(false),
    }
}

fn escalation_timeout(spot: Option<Spot<'_>>, report: &mut Report) -> EscalationTimeout {
    let fields = spot.and_then(|spot| spot.fields(&keys::ESCALATION_TIMEOUT, report));
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let unset = EscalationTimeout::default();
    EscalationTimeout {
        remind: get("remind").and_then(|spot| spot.duration(report)),
        reroute: get("reroute").and_then(|spot| spot.duration(report)),
        reroute_to: get("to").and_then(|spot| spot.name(report)),
        after: get("after").and_then(|spot| spot.duration(report)).unwrap_or(unset.after),
        then: get("then")
            .and_then(|spot| spot.word(TimeoutAnswer::WORDS, TimeoutAnswer::from_word, report))
            .unwrap_or(unset.then),
    }
}

/// Monitors are kept as they are written; only what names them is looked at.
fn monitors(fields: &Fields<'_>, report: &mut Report) -> Vec<Json> {
    let items = fields.get("monitors").map(|spot| spot.items(report)).unwrap_or_default();
    for item in &items {
        item.entries(report);
        let monitor = Fields { spot: item.clone() };
        for key in ["id", "kind"] {
            if let Some(spot) = monitor.require(key, report) {
                spot.name(report);
            }
        }
    }
    items.iter().map(|item| item.node.to_json()).collect()
}

/// Longer than this is a program, not a rule.
const EXPRESSION_BYTES_MAX: usize = 4096;

fn expression(spot: &Spot<'_>, report: &mut Report) -> Option<String> {
    let text = spot.some_text(report)?;
    if text.len() > EXPRESSION_BYTES_MAX {
        spot.fail(report, format!("`{}` is longer than 4,096 bytes", spot.path), None);
        return None;
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod rows;
