//! What the reference's contracts come to.

use super::*;
use crate::read::Reading;

fn imported(text: &str) -> Result<Imported, Vec<String>> {
    import(&Json::parse(text.as_bytes()).unwrap())
}

/// One action of the full form, without what its defaults say.
#[track_caller]
fn check(text: &str, action: &str, limits: &str, notes: &[&str]) {
    let made = imported(text).unwrap_or_else(|problems| panic!("{problems:?}"));
    let written = document_of(text);
    let Reading { contract, .. } = read(&Node::from_json(&written)).unwrap();
    let found: Vec<String> = contract
        .actions
        .get(action)
        .unwrap_or_else(|| panic!("{:?}", contract.actions.keys()))
        .limits
        .iter()
        .map(|(name, limit)| {
            let bound =
                |word: &str, bound: Option<values::decimal::Decimal>| bound.map(|bound| format!(" {word} {bound}"));
            let allowed =
                limit.allowed.as_ref().map(|allowed| format!(" of {}", Json::List(allowed.clone()).to_canonical()));
            let denied = (!limit.denied.is_empty()).then(|| format!(" not {}", limit.denied.join(",")));
            let state = limit.state.as_ref().map(|state| format!(" as {} {:?}", state.key.as_str(), state.tolerance));
            let signed = limit.signed.then(|| " signed".to_owned());
            let parts = [bound("from", limit.min), bound("to", limit.max), allowed, denied, state, signed];
            format!("{name}{}", parts.into_iter().flatten().collect::<String>())
        })
        .collect();
    assert_eq!(found.join("; "), limits, "{}", made.text);
    assert_eq!(made.notes, notes, "{}", made.text);
}

fn document_of(text: &str) -> Json {
    let json = Json::parse(text.as_bytes()).unwrap();
    let mut problems = Vec::new();
    let document = Document::read(json.as_object().unwrap(), &mut problems);
    let written = Written::of(&document, &mut Vec::new(), &mut problems);
    assert_eq!(problems, Vec::<String>::new());
    written.to_json()
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    assert_eq!(imported(text).unwrap_err(), expected);
}

const DRAWDOWN: &str =
    "`max_drawdown_limit` is a limit of the agent's whole conduct: it is a note and no rule on each proposal";
const INSTRUMENTS: &str =
    "`authorized_instruments` counts here: a proposal that names an `instrument` must name one of them";

#[test]
fn a_flat_contract() {
    check(
        r#"{"agent_id": "trader", "role": "EXECUTOR", "allowed_policy_types": ["BUY", "HOLD"],
            "authorized_instruments": ["BTC", "ETH"], "max_order_size": 100, "max_drawdown_limit": 0.05}"#,
        "BUY",
        r#"instrument of ["BTC","ETH"]; order_value to 100"#,
        &[INSTRUMENTS, DRAWDOWN],
    );
}

#[test]
fn a_nested_contract() {
    check(
        r#"{"metadata": {"contract_id": "fleet", "version": "1.2.0", "owner": "ann"},
            "subject": {"agent_id": "underwriter", "role": "EXECUTOR"}, "mission": {"statement": "Write fleets."},
            "authority": {"allowed_policy_types": ["BIND"], "resource_scope": {"instruments": ["FLEET"]},
              "limits": {"max_premium_usd": {"value": 5000, "unit": "USD"}, "max_vehicle_count": 50},
              "exclusions": {"prohibited_industries": ["Mining"]}},
            "execution_conditions": {"max_price_slippage": 2, "max_context_age_seconds": 30},
            "responsibility": {"escalate_on_uncertainty": 0.7}}"#,
        "BIND",
        r#"industry not Mining; instrument of ["FLEET"]; premium to 5000; reference_price as price Percent(2); vehicle_count to 50"#,
        &[],
    );
}

#[test]
fn rules_that_are_spelled_out_win_over_short_forms() {
    check(
        r#"{"subject": {"agent_id": "bot"}, "permissions": {"allowed_policy_types": ["PAY", "LOOK"],
            "limits": {"max_amount": 10},
            "invariants": [
              {"id": "SIZE", "type": "Range", "field": "params.amount", "min": -5, "max": 20, "applies_to_policy_kinds": ["PAY"]},
              {"id": "OPEN", "type": "state_match", "field": "params.status", "snapshot_path": "state.shop.status",
               "expected": "open", "runtime_amendable": true},
              {"id": "WORDS", "type": "set", "field": "params.note", "denied": ["threat"], "match": "substring"}]}}"#,
        "PAY",
        r#"amount from -5 to 20 signed; note not threat; status of ["open"] as shop/status Exact"#,
        &[
            "rule `OPEN` is amended by a new version of the contract: only ranges are amendable",
            "rule `OPEN` reads the state `shop/status`: a path there is one key here",
        ],
    );
}

#[test]
fn a_stored_projection() {
    let projection = |rules: &str| {
        format!(
            r#"{{"release": {{"contract_id": "legacy", "contract_version": "0.0.0", "api_version": "legacy", "contract_hash": ""}},
              "agent_id": "bot", "role": "EXECUTOR", "mission": "", "allowed_policy_types": ["PAY"],
              "transaction_limits": {{"max_amount": {{"value": 10, "metric": "amount"}}}}, "invariants": [{rules}],
              "execution_conditions": {{}}, "evidence_requirements": {{}}, "escalation_policy": {{}},
              "aggregate_policies": [], "resource_scope": {{}}, "parameter_amendments": []}}"#
        )
    };
    check(&projection(""), "PAY", "amount to 10", &[]);
    let rule = r#"{"id": "SIZE", "type": "range", "field": "params.total", "max": 7, "min": null}"#;
    check(&projection(rule), "PAY", "total to 7", &[]);
}

#[test]
fn what_cannot_be_carried_over_is_named() {
    refused("[]", &["the contract is no object"]);
    let none = "the contract names no kind in `allowed_policy_types`: there that permits every kind, and a contract \
                here permits what it names";
    refused(r#"{"agent_id": "bot", "caps": 5}"#, &["`caps` is not known here", none]);
    refused(r#"{"allowed_policy_types": ["A"]}"#, &["the contract names no agent: give it an `agent_id`"]);
    let bot = |rest: &str| format!(r#"{{"agent_id": "bot", "authority": {{"allowed_policy_types": ["A"]{rest}}}}}"#);
    refused(&bot(r#", "hard_stop": true"#), &["`authority.hard_stop` is not known here"]);
    refused(&bot(r#", "limits": {"max_x": "much"}"#), &["the limit `max_x` is no number"]);
    refused(
        &bot(r#", "limits": {"min_x": 4}"#),
        &["the limit `min_x` is an upper bound there; write a range rule with `min`"],
    );
    let rule = |rest: &str| bot(&format!(r#", "invariants": [{{"id": "R", {rest}}}]"#));
    refused(
        &rule(r#""type": "range", "field": "params.a.b", "max": 1"#),
        &["rule `R` looks at `params.a.b`; a limit here looks at one param: `params.NAME`"],
    );
    refused(
        &rule(r#""type": "range", "field": "params.a", "max": 1, "runtime_amendable": true"#),
        &["rule `R` is amendable without a bound; give it `min_floor` and `max_ceiling`"],
    );
    refused(
        &rule(r#""type": "regex", "field": "params.a""#),
        &["`invariants.R.type` is `regex`, and only range, set and state_match are known"],
    );
    refused(
        r#"{"agent_id": "bot", "allowed_policy_types": ["A"], "governance": {"aggregate_policies": [{"id": "x"}]}}"#,
        &["`aggregate_policies` judges many proposals together; write it as `budgets` or `monitors`"],
    );
    refused(
        r#"{"agent_id": "bot", "version": "newest", "allowed_policy_types": ["A"]}"#,
        &["`version`: `newest` is no version"],
    );
}

#[test]
fn questions_stay_as_few_as_they_were() {
    let json = document_of(
        r#"{"agent_id": "bot", "allowed_policy_types": ["A"], "max_x": 5, "safety_rules": {"min_confidence_threshold": 0.9}}"#,
    );
    let contract = read(&Node::from_json(&json)).unwrap().contract;
    let told = (contract.escalation.budget_max, contract.escalation.on_exhausted.word());
    assert_eq!(told, (3, "PASSIVE"));
    assert_eq!(contract.proposal.confidence.unwrap().reject_below.to_string(), "0.9");
    assert!(contract.actions["A"].amendable["x"].max.is_some());
}
