//! What a contract of the reference says, whichever of its shapes it has.

use super::keyed::{block, list, number, only, present, text};
use super::rule::{NOTED_LIMIT, Rule, limit_entries, rules};
use values::decimal::Decimal;
use values::json::{Json, Object};

/// A contract of the reference.
pub(super) struct Document {
    pub agent: String,
    pub role: Option<String>,
    pub mission: String,
    pub parent: Option<String>,
    pub id: Option<String>,
    pub version: Option<String>,
    /// Proposals below this are refused.
    pub confidence: Option<Decimal>,
    pub context_age_seconds: Option<Decimal>,
    pub rules: Vec<Rule>,
    pub notes: Vec<String>,
}

/// Keys at the top of a nested or flat contract, besides limits.
const KEYS: &[&str] = &[
    "kind",
    "api_version",
    "contract_id",
    "contract_hash",
    "version",
    "metadata",
    "subject",
    "agent_id",
    "role",
    "mission",
    "authority",
    "permissions",
    "allowed_policy_types",
    "authorized_instruments",
    "execution_conditions",
    "responsibility",
    "governance",
    "safety_rules",
    "min_confidence_threshold",
    "schema",
    "schemas",
    "escalate_on_uncertainty",
    "escalation_triggers",
    "parent_agent_id",
    "wake_up_threshold_pct",
];

const AUTHORITY_KEYS: &[&str] = &[
    "allowed_policy_types",
    "authorized_instruments",
    "resource_scope",
    "limits",
    "exclusions",
    "invariants",
    "min_confidence_threshold",
];

const PROJECTION_KEYS: &[&str] = &[
    "release",
    "agent_id",
    "role",
    "mission",
    "allowed_policy_types",
    "resource_scope",
    "transaction_limits",
    "execution_conditions",
    "evidence_requirements",
    "escalation_policy",
    "aggregate_policies",
    "invariants",
    "parameter_amendments",
];

/// What the reference reads and nothing there acts on.
const IDLE: &[(&str, &str)] = &[
    ("schema", "there it is only handed out; write it as `params` of the actions"),
    ("schemas", "there they are only handed out; write them as `params` of the actions"),
    ("escalate_on_uncertainty", "at the top nothing reads it; under `responsibility` it counts"),
    ("escalation_triggers", "nothing reads them there; write `ask` rules"),
    ("wake_up_threshold_pct", "it wakes nobody there; write `wake_when`"),
];

impl Document {
    pub(super) fn read(members: &Object, problems: &mut Vec<String>) -> Document {
        let mut document =
            if is_projection(members) { read_projection(members, problems) } else { read_contract(members, problems) };
        if document.agent.is_empty() {
            problems.push("the contract names no agent: give it an `agent_id`".to_owned());
        }
        document.notes.sort();
        document
    }
}

fn is_projection(members: &Object) -> bool {
    let has = |key: &str| members.contains_key(key);
    let released = has("release") && (has("invariants") || has("transaction_limits"));
    released || ["agent_id", "invariants", "allowed_policy_types"].iter().all(|key| has(key))
}

fn read_projection(members: &Object, problems: &mut Vec<String>) -> Document {
    only(members, PROJECTION_KEYS, "", problems);
    let release = block(members, "release", "release", problems);
    let conditions = block(members, "execution_conditions", "execution_conditions", problems);
    let spelled = list(members, "invariants", "invariants", problems);
    let mut authority = Object::new();
    for key in ["allowed_policy_types", "resource_scope", "invariants"] {
        authority.extend(present(members, key).map(|value| (key.to_owned(), value.clone())));
    }
    if spelled.is_empty() {
        // A projection without rules stands for those of its lists and limits.
        authority.extend(present(members, "transaction_limits").map(|limits| ("limits".to_owned(), limits.clone())));
    } else {
        authority.remove("resource_scope");
    }
    if !list(members, "parameter_amendments", "parameter_amendments", problems).is_empty() {
        problems
            .push("`parameter_amendments` are made again with `agents amend`; import the contract without".to_owned());
    }
    aggregate(members, "aggregate_policies", problems);
    let mut notes = Vec::new();
    idle_evidence(members.get("evidence_requirements"), "evidence_requirements", &mut notes);
    let escalation = block(members, "escalation_policy", "escalation_policy", problems);
    let confidence = escalation_policy(&escalation, "escalation_policy", &mut notes, problems);
    noted(&authority, &mut notes);
    Document {
        agent: text(members, "agent_id", "agent_id", problems).unwrap_or_default(),
        role: text(members, "role", "role", problems),
        mission: text(members, "mission", "mission", problems).unwrap_or_default(),
        parent: None,
        id: text(&release, "contract_id", "release.contract_id", problems).filter(|id| id != "legacy"),
        version: text(&release, "contract_version", "release.contract_version", problems),
        confidence,
        context_age_seconds: conditions_of(&conditions, problems),
        rules: rules(&authority, if spelled.is_empty() { &conditions } else { &NO_CONDITIONS }, problems),
        notes,
    }
}

/// A projection with rules has the one for prices among them.
static NO_CONDITIONS: Object = Object::new();

fn read_contract(members: &Object, problems: &mut Vec<String>) -> Document {
    let nested = ["authority", "permissions"].into_iter().find(|key| is_filled(members.get(*key)));
    let authority = authority(members, nested, problems);
    let known = |key: &str| KEYS.contains(&key) || (nested.is_none() && key.starts_with("max_")) || key == NOTED_LIMIT;
    for key in members.keys().filter(|key| !known(key)) {
        problems.push(format!("`{key}` is not known here"));
    }
    let metadata = block(members, "metadata", "metadata", problems);
    let subject = block(members, "subject", "subject", problems);
    let mut notes = Vec::new();
    for (key, why) in IDLE.iter().filter(|(key, _)| is_filled(members.get(*key))) {
        notes.push(format!("`{key}` is left out: {why}"));
    }
    for key in subject.keys().filter(|key| !["agent_id", "role"].contains(&key.as_str())) {
        notes.push(format!("`subject.{key}` is left out: it describes the agent and decides nothing"));
    }
    aggregate(&block(members, "governance", "governance", problems), "aggregate_policies", problems);
    let responsibility = block(members, "responsibility", "responsibility", problems);
    let uncertain = responsible(&responsibility, &mut notes, problems);
    let confidence = least_confidence(members, problems).or(uncertain);
    let conditions = block(members, "execution_conditions", "execution_conditions", problems);
    noted(&authority, &mut notes);
    if nested.is_some() && members.contains_key(NOTED_LIMIT) {
        notes.push(noted_limit());
    }
    let described = |key: &str, problems: &mut Vec<String>| {
        text(&metadata, key, &format!("metadata.{key}"), problems).or_else(|| text(members, key, key, problems))
    };
    Document {
        id: described("contract_id", problems).filter(|id| id != "legacy"),
        version: described("version", problems),
        agent: text(&subject, "agent_id", "subject.agent_id", problems)
            .or_else(|| text(members, "agent_id", "agent_id", problems))
            .unwrap_or_default(),
        role: text(&subject, "role", "subject.role", problems).or_else(|| text(members, "role", "role", problems)),
        mission: mission(members, problems),
        parent: text(members, "parent_agent_id", "parent_agent_id", problems),
        confidence,
        context_age_seconds: conditions_of(&conditions, problems),
        rules: rules(&authority, &conditions, problems),
        notes,
    }
}

fn is_filled(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => false,
        Some(Json::Object(members)) => !members.is_empty(),
        Some(Json::List(items)) => !items.is_empty(),
        Some(Json::Bool(_) | Json::Number(_) | Json::Text(_)) => true,
    }
}

/// The block that grants: `authority`, `permissions`, or the flat keys.
fn authority(members: &Object, nested: Option<&str>, problems: &mut Vec<String>) -> Object {
    let Some(nested) = nested else {
        let flat = |key: &str| ["allowed_policy_types", "authorized_instruments"].contains(&key);
        let kept = members.iter().filter(|(key, _)| flat(key) || key.starts_with("max_"));
        return kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    };
    for flat in ["allowed_policy_types", "authorized_instruments"].iter().filter(|key| is_filled(members.get(**key))) {
        problems.push(format!("`{flat}` stands beside `{nested}`, which alone counts there; keep one of them"));
    }
    let granted = block(members, nested, nested, problems);
    let has_limits = is_filled(granted.get("limits"));
    for key in granted.keys() {
        let is_limit = key.starts_with("max_") && !has_limits;
        if !AUTHORITY_KEYS.contains(&key.as_str()) && !is_limit {
            problems.push(format!("`{nested}.{key}` is not known here"));
        }
    }
    granted
}

fn mission(members: &Object, problems: &mut Vec<String>) -> String {
    match present(members, "mission") {
        Some(Json::Object(mission)) => text(mission, "statement", "mission.statement", problems).unwrap_or_default(),
        Some(_) => text(members, "mission", "mission", problems).unwrap_or_default(),
        None => String::new(),
    }
}

/// The threshold of the safety rules, else of the permissions, else at the top.
fn least_confidence(members: &Object, problems: &mut Vec<String>) -> Option<Decimal> {
    const KEY: &str = "min_confidence_threshold";
    if let Some(Json::Object(safety)) = present(members, "safety_rules") {
        only(safety, &[KEY], "safety_rules.", problems);
        return number(safety, KEY, "safety_rules.min_confidence_threshold", problems);
    }
    match present(members, "permissions") {
        Some(Json::Object(permissions)) => number(permissions, KEY, "permissions.min_confidence_threshold", problems),
        Some(_) | None => number(members, KEY, KEY, problems),
    }
}

fn responsible(members: &Object, notes: &mut Vec<String>, problems: &mut Vec<String>) -> Option<Decimal> {
    only(
        members,
        &["evidence", "evidence_level", "escalation", "escalate_on_uncertainty"],
        "responsibility.",
        problems,
    );
    for key in ["evidence", "evidence_level"] {
        idle_evidence(members.get(key), &format!("responsibility.{key}"), notes);
    }
    match present(members, "escalation") {
        Some(Json::Object(policy)) if !policy.is_empty() => {
            return escalation_policy(policy, "responsibility.escalation", notes, problems);
        }
        Some(Json::Text(_)) => {
            notes.push("`responsibility.escalation` is left out: nothing there acts on it".to_owned())
        }
        Some(_) | None => {}
    }
    number(members, "escalate_on_uncertainty", "responsibility.escalate_on_uncertainty", problems)
}

fn escalation_policy(
    policy: &Object,
    path: &str,
    notes: &mut Vec<String>,
    problems: &mut Vec<String>,
) -> Option<Decimal> {
    only(policy, &["mode", "confidence_below"], &format!("{path}."), problems);
    if is_filled(policy.get("mode")) {
        notes.push(format!("`{path}.mode` is left out: nothing there acts on it"));
    }
    number(policy, "confidence_below", &format!("{path}.confidence_below"), problems)
}

fn idle_evidence(evidence: Option<&Json>, path: &str, notes: &mut Vec<String>) {
    if is_filled(evidence) {
        notes.push(format!(
            "`{path}` is left out: nothing there acts on it; write `from` for params that must be trusted"
        ));
    }
}

fn aggregate(members: &Object, key: &str, problems: &mut Vec<String>) {
    if is_filled(members.get(key)) {
        problems.push(format!("`{key}` judges many proposals together; write it as `budgets` or `monitors`"));
    }
}

/// The age a context may have; the slippage becomes a rule.
fn conditions_of(conditions: &Object, problems: &mut Vec<String>) -> Option<Decimal> {
    only(conditions, &["max_price_slippage", "max_context_age_seconds"], "execution_conditions.", problems);
    let path = "execution_conditions.max_context_age_seconds";
    number(conditions, "max_context_age_seconds", path, problems)
}

fn noted_limit() -> String {
    format!("`{NOTED_LIMIT}` is a limit of the agent's whole conduct: it is a note and no rule on each proposal")
}

/// The two places where the contract counts otherwise than in the reference.
fn noted(authority: &Object, notes: &mut Vec<String>) {
    if limit_entries(authority).iter().any(|(name, _)| *name == NOTED_LIMIT) {
        notes.push(noted_limit());
    }
    if is_filled(authority.get("authorized_instruments")) {
        let why = "counts here: a proposal that names an `instrument` must name one of them";
        notes.push(format!("`authorized_instruments` {why}"));
    }
}
