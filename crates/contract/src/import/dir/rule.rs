//! The reference's rules on single fields, as they are spelled out and as its short forms mean them.

use super::keyed::{list, number, only, present, text};
use values::decimal::Decimal;
use values::json::{Json, Object};

/// A limit of an agent's whole conduct. It is a default of the reference's model, and as a rule on each proposal it would
/// refuse them all.
pub(super) const NOTED_LIMIT: &str = "max_drawdown_limit";

/// Limits whose param is not just the rest of their name.
const LIMIT_PARAMS: &[(&str, &str)] = &[
    ("max_order_size", "order_value"),
    ("max_order_size_usd", "order_value"),
    ("max_transaction_usd", "transaction_value"),
    ("max_discount_pct", "discount_pct"),
    ("max_premium_usd", "premium"),
    ("max_limit_usd", "limit_value"),
    ("max_refund_usd", "refund_value"),
    ("max_drawdown_limit_pct", "drawdown_pct"),
];

/// One rule.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Rule {
    pub id: String,
    /// Where it looks: `policy_kind`, or a path into the params.
    pub field: String,
    /// The kinds it applies to; empty means all.
    pub kinds: Vec<String>,
    pub test: Test,
}

/// What a rule demands.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Test {
    Range { min: Option<Decimal>, max: Option<Decimal>, amendable: Option<Bounds> },
    Set { allowed: Vec<Json>, denied: Vec<Json>, substring: bool, required: bool, amendable: bool },
    State { path: String, percent: Decimal, expected: Option<Json>, amendable: bool },
}

/// How far a range may be amended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bounds {
    pub floor: Option<Decimal>,
    pub ceiling: Option<Decimal>,
    pub ttl_seconds: Option<Decimal>,
}

const KEYS: &[&str] = &[
    "id",
    "type",
    "field",
    "min",
    "max",
    "allowed",
    "denied",
    "match",
    "applies_to_policy_kinds",
    "snapshot_path",
    "expected",
    "drift_envelope_pct",
    "reason_code",
    "runtime_amendable",
    "min_floor",
    "max_ceiling",
    "amend_ttl_seconds",
    "required",
];

impl Rule {
    /// A rule that the contract spells out.
    pub(super) fn read(written: &Json, index: usize, problems: &mut Vec<String>) -> Option<Rule> {
        let Some(members) = written.as_object() else {
            problems.push(format!("rule {} of `invariants` is no object", index + 1));
            return None;
        };
        let id = text(members, "id", &format!("invariants.{}.id", index + 1), problems).unwrap_or_default();
        let path = |key: &str| format!("invariants.{id}.{key}");
        only(members, KEYS, &format!("invariants.{id}."), problems);
        let field = text(members, "field", &path("field"), problems).unwrap_or_default();
        let kinds = texts(members, "applies_to_policy_kinds", &path("applies_to_policy_kinds"), problems);
        let amendable = present(members, "runtime_amendable") == Some(&Json::Bool(true));
        let kind = text(members, "type", &path("type"), problems).unwrap_or_default();
        let test = match kind.trim().to_lowercase().as_str() {
            "range" => {
                let number = |key: &str, problems: &mut Vec<String>| number(members, key, &path(key), problems);
                let bounds = Bounds {
                    floor: number("min_floor", problems),
                    ceiling: number("max_ceiling", problems),
                    ttl_seconds: number("amend_ttl_seconds", problems),
                };
                let (min, max) = (number("min", problems), number("max", problems));
                Test::Range { min, max, amendable: amendable.then_some(bounds) }
            }
            "set" => Test::Set {
                allowed: list(members, "allowed", &path("allowed"), problems),
                denied: list(members, "denied", &path("denied"), problems),
                substring: present(members, "match") == Some(&Json::text("substring")),
                required: present(members, "required") != Some(&Json::Bool(false)),
                amendable,
            },
            "state_match" => Test::State {
                path: text(members, "snapshot_path", &path("snapshot_path"), problems).unwrap_or_default(),
                percent: number(members, "drift_envelope_pct", &path("drift_envelope_pct"), problems)
                    .unwrap_or(Decimal::ZERO),
                expected: present(members, "expected").cloned(),
                amendable,
            },
            other => {
                problems
                    .push(format!("`{}` is `{other}`, and only range, set and state_match are known", path("type")));
                return None;
            }
        };
        Some(Rule { id, field, kinds, test })
    }

    /// A set rule of a short form; nothing where it lists nothing.
    fn set(id: &str, field: &str, allowed: Vec<Json>, denied: Vec<Json>, required: bool) -> Option<Rule> {
        let test = Test::Set { allowed, denied, substring: false, required, amendable: false };
        let empty = matches!(&test, Test::Set { allowed, denied, .. } if allowed.is_empty() && denied.is_empty());
        (!empty).then(|| Rule { id: id.to_owned(), field: field.to_owned(), kinds: Vec::new(), test })
    }

    /// Whether the rule takes the place of another: by its id, or by what it looks at.
    fn stands_for(&self, other: &Rule) -> bool {
        let alike = std::mem::discriminant(&self.test) == std::mem::discriminant(&other.test);
        self.id == other.id || (alike && self.field == other.field)
    }
}

/// What an authority block and the conditions beside it come to: the rules that are spelled out, then those of the short
/// forms that they leave open.
pub(super) fn rules(authority: &Object, conditions: &Object, problems: &mut Vec<String>) -> Vec<Rule> {
    let spelled = list(authority, "invariants", "invariants", problems);
    let spelled: Vec<Rule> =
        spelled.iter().enumerate().filter_map(|(index, rule)| Rule::read(rule, index, problems)).collect();
    let mut found = spelled;
    for rule in short_forms(authority, conditions, problems) {
        if !found.iter().any(|before| before.stands_for(&rule)) {
            found.push(rule);
        }
    }
    found
}

fn short_forms(authority: &Object, conditions: &Object, problems: &mut Vec<String>) -> Vec<Rule> {
    let kinds = list(authority, "allowed_policy_types", "allowed_policy_types", problems);
    let mut found: Vec<Rule> =
        Rule::set("INV_ALLOWED_POLICY_TYPES", "policy_kind", kinds, Vec::new(), true).into_iter().collect();
    found.extend(instruments(authority, problems));
    found.extend(limits(authority, problems));
    if let Some(Json::Object(exclusions)) = present(authority, "exclusions") {
        only(exclusions, &["prohibited_industries"], "exclusions.", problems);
        let denied = list(exclusions, "prohibited_industries", "exclusions.prohibited_industries", problems);
        found.extend(Rule::set("INV_PROHIBITED_INDUSTRIES", "params.industry", Vec::new(), denied, true));
    }
    if let Some(percent) = amount(present(conditions, "max_price_slippage")) {
        let test = Test::State { path: "state.price".to_owned(), percent, expected: None, amendable: false };
        let (id, field) = ("INV_PRICE_SLIPPAGE".to_owned(), "params.reference_price".to_owned());
        found.push(Rule { id, field, kinds: Vec::new(), test });
    } else if present(conditions, "max_price_slippage").is_some() {
        problems.push("`execution_conditions.max_price_slippage` is no number".to_owned());
    }
    found
}

fn instruments(authority: &Object, problems: &mut Vec<String>) -> Option<Rule> {
    let scope = present(authority, "resource_scope").and_then(Json::as_object).cloned().unwrap_or_default();
    only(&scope, &["instruments"], "resource_scope.", problems);
    let scoped = list(&scope, "instruments", "resource_scope.instruments", problems);
    let listed = list(authority, "authorized_instruments", "authorized_instruments", problems);
    // Agents with a flat list also propose things that have no instrument.
    let (allowed, required) = if scoped.is_empty() { (listed, false) } else { (scoped, true) };
    Rule::set("INV_INSTRUMENT_SCOPE", "params.instrument", allowed, Vec::new(), required)
}

/// The limits of a block: under `limits`, or else every `max_…` of the block itself.
pub(super) fn limit_entries(authority: &Object) -> Vec<(&String, &Json)> {
    match present(authority, "limits") {
        Some(Json::Object(limits)) if !limits.is_empty() => limits.iter().collect(),
        Some(_) | None => {
            let is_limit = |key: &str| key.starts_with("max_") && key != "max_ceiling";
            authority.iter().filter(|(key, value)| is_limit(key) && **value != Json::Null).collect()
        }
    }
}

fn limits(authority: &Object, problems: &mut Vec<String>) -> Vec<Rule> {
    let mut found = Vec::new();
    for (name, written) in limit_entries(authority) {
        if name == NOTED_LIMIT {
            continue;
        }
        if name.starts_with("min_") {
            problems.push(format!("the limit `{name}` is an upper bound there; write a range rule with `min`"));
            continue;
        }
        let Some(max) = amount(Some(written)) else {
            problems.push(format!("the limit `{name}` is no number"));
            continue;
        };
        let known = LIMIT_PARAMS.iter().find(|(limit, _)| limit == name).map(|(_, param)| *param);
        let param = known.map_or_else(|| name.replacen("max_", "", 1), str::to_owned);
        let bounds = Bounds { floor: Some(Decimal::ZERO), ceiling: Some(max), ttl_seconds: None };
        let amendable = (!max.is_negative()).then_some(bounds);
        let (id, field) = (format!("INV_LIMIT_{}", name.to_uppercase()), format!("params.{param}"));
        let test = Test::Range { min: None, max: Some(max), amendable };
        found.push(Rule { id, field, kinds: Vec::new(), test });
    }
    found
}

/// A number written plainly, or as `{value: …}`.
fn amount(written: Option<&Json>) -> Option<Decimal> {
    match written? {
        Json::Number(number) => Some(*number),
        Json::Object(members) => members.get("value").and_then(Json::as_number),
        Json::Null | Json::Bool(_) | Json::Text(_) | Json::List(_) => None,
    }
}

/// The list of texts; anything else is named.
pub(super) fn texts(members: &Object, key: &str, path: &str, problems: &mut Vec<String>) -> Vec<String> {
    let items = list(members, key, path, problems);
    if items.iter().any(|item| item.as_text().is_none()) {
        problems.push(format!("`{path}` is no list of texts"));
    }
    items.iter().filter_map(Json::as_text).map(str::to_owned).collect()
}
