//! The contract that the rules come to: each kind an action, each other rule a limit of the actions it applies to.

use super::document::Document;
use super::rule::{Bounds, Rule, Test};
use crate::draft::yaml_text::{comment, flow, key};
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::json::{Json, Object};

/// How long an amendment lasts that has no end in the reference. Here every amendment ends.
const AMENDMENT_TTL: &str = "365d";

/// A contract as its members, in the order they are written.
pub(super) struct Written {
    head: Vec<String>,
    members: Vec<(&'static str, Json)>,
    actions: BTreeMap<String, Object>,
}

/// What the rules demand of one param.
#[derive(Default)]
struct Param {
    number: bool,
    required: bool,
    limit: Object,
    amendable: Option<Json>,
}

impl Written {
    pub(super) fn of(document: &Document, notes: &mut Vec<String>, problems: &mut Vec<String>) -> Written {
        let kinds = kinds(&document.rules, problems);
        let mut actions = BTreeMap::new();
        for kind in kinds {
            let applied = document.rules.iter().filter(|rule| rule.field != "policy_kind");
            let applied = applied.filter(|rule| rule.kinds.is_empty() || rule.kinds.contains(&kind));
            let action = action(applied, notes, problems);
            actions.insert(kind, action);
        }
        let mut members: Vec<(&'static str, Json)> = Vec::new();
        let mut put = |key: &'static str, value: Option<&String>| {
            members.extend(value.map(|value| (key, Json::text(value.as_str()))));
        };
        put("agent", Some(&document.agent));
        put("id", document.id.as_ref());
        put("version", document.version.as_ref());
        put("role", document.role.as_ref());
        put("mission", Some(&document.mission).filter(|mission| !mission.is_empty()));
        put("parent", document.parent.as_ref());
        members.extend(proposal(document, problems).map(|proposal| ("proposal", proposal)));
        members.push(("escalation", escalation()));
        notes.sort();
        notes.dedup();
        let head = notes.iter().map(|note| format!("# {}\n", comment(note))).collect();
        Written { head, members, actions }
    }

    pub(super) fn to_json(&self) -> Json {
        let actions = self.actions.iter().map(|(name, action)| (name.clone(), Json::Object(action.clone())));
        let actions = ("actions".to_owned(), Json::Object(actions.collect()));
        let members = self.members.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Json::Object(members.chain([actions]).collect())
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = "# Made by an import of a contract of the Decision Intelligence Runtime.\n".to_owned();
        text.extend(self.head.iter().map(String::as_str));
        for (name, value) in &self.members {
            text.push_str(&format!("{name}: {}\n", flow(value)));
        }
        text.push_str("actions:\n");
        for (name, action) in &self.actions {
            text.push_str(&format!("  {}:\n", key(name)));
            for (part, value) in action {
                text.push_str(&format!("    {part}: {}\n", flow(value)));
            }
        }
        text
    }
}

/// The kinds that may be proposed at all.
fn kinds(rules: &[Rule], problems: &mut Vec<String>) -> Vec<String> {
    let mut permitted: Option<Vec<String>> = None;
    let mut refused: Vec<String> = Vec::new();
    for rule in rules.iter().filter(|rule| rule.field == "policy_kind") {
        let Test::Set { allowed, denied, substring, .. } = &rule.test else {
            problems.push(format!("rule `{}` measures `policy_kind`, which is a name", rule.id));
            continue;
        };
        if !rule.kinds.is_empty() || (*substring && !denied.is_empty()) {
            problems.push(format!("rule `{}` permits kinds depending on the kind; list them plainly", rule.id));
        }
        refused.extend(denied.iter().filter_map(Json::as_text).map(str::to_lowercase));
        let names: Vec<String> = allowed.iter().filter_map(Json::as_text).map(str::to_owned).collect();
        if names.len() != allowed.len() {
            problems.push(format!("rule `{}` names kinds that are no texts", rule.id));
        }
        if allowed.is_empty() {
            continue;
        }
        permitted = Some(match permitted {
            None => names,
            Some(before) => before.into_iter().filter(|name| names.contains(name)).collect(),
        });
    }
    let mut permitted = permitted.unwrap_or_default();
    permitted.retain(|name| !refused.contains(&name.to_lowercase()));
    if permitted.is_empty() {
        let why = "there that permits every kind, and a contract here permits what it names";
        problems.push(format!("the contract names no kind in `allowed_policy_types`: {why}"));
    }
    permitted
}

fn action<'a>(rules: impl Iterator<Item = &'a Rule>, notes: &mut Vec<String>, problems: &mut Vec<String>) -> Object {
    let mut params: BTreeMap<String, Param> = BTreeMap::new();
    for rule in rules {
        let name = rule.field.strip_prefix("params.").filter(|name| !name.is_empty() && !name.contains('.'));
        let Some(name) = name else {
            let field = &rule.field;
            problems
                .push(format!("rule `{}` looks at `{field}`; a limit here looks at one param: `params.NAME`", rule.id));
            continue;
        };
        let param = params.entry(name.to_owned()).or_default();
        match &rule.test {
            Test::Range { min, max, amendable } => range(param, rule, (*min, *max), *amendable, problems),
            Test::Set { .. } => set(param, rule, notes, problems),
            Test::State { .. } => state(param, rule, notes, problems),
        }
    }
    let required = params.iter().filter(|(_, param)| param.required).map(|(name, _)| Json::text(name.as_str()));
    let schema = |param: &Param| match param.number {
        true => Json::object([("type", Json::text("number"))]),
        false => Json::Object(Object::new()),
    };
    let properties = params.iter().map(|(name, param)| (name.clone(), schema(param)));
    let schema = Json::object([
        ("type", Json::text("object")),
        ("required", Json::List(required.collect())),
        ("properties", Json::Object(properties.collect())),
        // The reference looks at the params its rules name and lets every other one through.
        ("additionalProperties", Json::Bool(true)),
    ]);
    let mut action = Object::from([("params".to_owned(), schema)]);
    let limits: Object = params
        .iter()
        .filter(|(_, param)| !param.limit.is_empty())
        .map(|(name, param)| (name.clone(), Json::Object(param.limit.clone())))
        .collect();
    if !limits.is_empty() {
        action.insert("limits".to_owned(), Json::Object(limits));
    }
    let amendable: Object =
        params.iter().filter_map(|(name, param)| Some((name.clone(), param.amendable.clone()?))).collect();
    if !amendable.is_empty() {
        action.insert("amendable".to_owned(), Json::Object(amendable));
    }
    action
}

fn range(
    param: &mut Param,
    rule: &Rule,
    (min, max): (Option<Decimal>, Option<Decimal>),
    amendable: Option<Bounds>,
    problems: &mut Vec<String>,
) {
    (param.number, param.required) = (true, true);
    let mut tighter = |key: &str, bound: Option<Decimal>, is_tighter: fn(&Decimal, &Decimal) -> bool| {
        let before = param.limit.get(key).and_then(Json::as_number);
        let Some(bound) = bound.filter(|bound| before.is_none_or(|before| is_tighter(bound, &before))) else { return };
        param.limit.insert(key.to_owned(), Json::Number(bound));
    };
    tighter("min", min, |new, old| new > old);
    tighter("max", max, |new, old| new < old);
    let negative = [min, max].into_iter().flatten().any(Decimal::is_negative);
    if negative {
        param.limit.insert("signed".to_owned(), Json::Bool(true));
    }
    let Some(bounds) = amendable else { return };
    let floor = bounds.floor.or_else(|| (!negative).then_some(Decimal::ZERO));
    let (Some(floor), Some(ceiling)) = (floor, bounds.ceiling) else {
        problems
            .push(format!("rule `{}` is amendable without a bound; give it `min_floor` and `max_ceiling`", rule.id));
        return;
    };
    let Some(ttl) = bounds.ttl_seconds.map_or_else(|| Some(AMENDMENT_TTL.to_owned()), duration) else {
        problems.push(format!("`amend_ttl_seconds` of rule `{}` is no time above 0", rule.id));
        return;
    };
    let span = Json::object([("floor", Json::Number(floor)), ("ceiling", Json::Number(ceiling))]);
    let ends = [("min", min), ("max", max)].into_iter().filter(|(_, bound)| bound.is_some());
    let mut amendable: Object = ends.map(|(key, _)| (key.to_owned(), span.clone())).collect();
    if !amendable.is_empty() {
        amendable.insert("ttl".to_owned(), Json::text(ttl));
        param.amendable = Some(Json::Object(amendable));
    }
}

fn set(param: &mut Param, rule: &Rule, notes: &mut Vec<String>, problems: &mut Vec<String>) {
    let Test::Set { allowed, denied, substring, required, amendable } = &rule.test else { return };
    param.required |= required;
    if !allowed.is_empty() {
        let both = match param.limit.get("allowed").and_then(Json::as_list) {
            None => allowed.clone(),
            Some(before) => before.iter().filter(|value| allowed.contains(value)).cloned().collect(),
        };
        if both.is_empty() {
            problems.push(format!("rule `{}` and another leave `{}` no value at all", rule.id, rule.field));
        }
        param.limit.insert("allowed".to_owned(), Json::List(both));
    }
    if denied.iter().any(|value| value.as_text().is_none()) {
        problems.push(format!("rule `{}` denies values that are no texts", rule.id));
    } else if !denied.is_empty() {
        let word = Json::text(if *substring { "substring" } else { "exact" });
        if param.limit.get("match").is_some_and(|before| *before != word) {
            problems.push(format!("rule `{}` and another look for `{}` in two ways", rule.id, rule.field));
        }
        let before = param.limit.get("denied").and_then(Json::as_list).unwrap_or_default().to_vec();
        param.limit.insert("denied".to_owned(), Json::List(before.into_iter().chain(denied.iter().cloned()).collect()));
        param.limit.insert("match".to_owned(), word);
    }
    narrowed_by_version(rule, *amendable, notes);
}

fn state(param: &mut Param, rule: &Rule, notes: &mut Vec<String>, problems: &mut Vec<String>) {
    let Test::State { path, percent, expected, amendable } = &rule.test else { return };
    param.required = true;
    let name = path.strip_prefix("state.").unwrap_or(path);
    if name.is_empty() || name.contains(['{', '}']) || percent.is_negative() {
        problems.push(format!("rule `{}` compares with state at `{path}` within {percent} %", rule.id));
        return;
    }
    let place = name.replace('.', "/");
    if place != name {
        notes.push(format!("rule `{}` reads the state `{place}`: a path there is one key here", rule.id));
    }
    if param.limit.contains_key("state") {
        problems.push(format!("rule `{}` is the second that compares `{}` with state", rule.id, rule.field));
    }
    let exact = percent.is_zero();
    if let Some(expected) = expected.as_ref().filter(|_| exact) {
        param.limit.insert("allowed".to_owned(), Json::List(vec![expected.clone()]));
    }
    let tolerance = match exact {
        true => Json::text("exact"),
        false => Json::object([("percent", Json::Number(*percent))]),
    };
    param.limit.insert("state".to_owned(), Json::object([("key", Json::text(place)), ("tolerance", tolerance)]));
    narrowed_by_version(rule, *amendable, notes);
}

fn narrowed_by_version(rule: &Rule, amendable: bool, notes: &mut Vec<String>) {
    if amendable {
        notes
            .push(format!("rule `{}` is amended by a new version of the contract: only ranges are amendable", rule.id));
    }
}

fn proposal(document: &Document, problems: &mut Vec<String>) -> Option<Json> {
    let mut proposal = Object::new();
    if let Some(least) = document.confidence {
        // Below its threshold the reference refuses; it asks nobody.
        proposal.insert("confidence".to_owned(), Json::object([("reject_below", Json::Number(least))]));
    }
    if let Some(seconds) = document.context_age_seconds {
        match duration(seconds) {
            Some(age) => drop(proposal.insert("context_max_age".to_owned(), Json::text(age))),
            None => problems.push("`execution_conditions.max_context_age_seconds` is no time above 0".to_owned()),
        }
    }
    (!proposal.is_empty()).then_some(Json::Object(proposal))
}

/// Three questions an hour, and then the agent only watches.
fn escalation() -> Json {
    Json::object([
        ("budget", Json::object([("max", Json::from(3_u64)), ("per", Json::text("1h"))])),
        ("on_exhausted", Json::text("PASSIVE")),
    ])
}

fn duration(seconds: Decimal) -> Option<String> {
    let millis = seconds.checked_mul(Decimal::from(1000))?.to_i64().filter(|millis| *millis > 0)?;
    Some(if millis % 1000 == 0 { format!("{}s", millis / 1000) } else { format!("{millis}ms") })
}
