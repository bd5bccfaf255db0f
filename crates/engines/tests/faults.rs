//! Faults of the reference, each with a switch that brings it back: a test that was never red proves nothing.
//!
//! Names follow the catalogue of weaknesses in docs/reference/faults.md.
#![expect(clippy::panic, reason = "a test that cannot go on should stop loudly")]
#![cfg(feature = "bugs")]

use engines::load::load;
use kernel::context::Context;
use kernel::pure::PureRun;
use kernel::snapshot::Snapshot;
use std::sync::Arc;
use values::bugs::{Bug, with};
use values::json::Json;
use values::time::Instant;

/// Asserts that the check holds, and that it fails with the fault brought back.
#[track_caller]
fn caught(bug: Bug, check: fn() -> Result<(), String>) {
    if let Err(problem) = check() {
        panic!("{}: {problem}", bug.name());
    }
    assert!(with(bug, check).is_err(), "the fault `{}` came back and nobody noticed", bug.name());
}

fn judge(contract: &str, context: &str, proposal: &str) -> Result<String, String> {
    let loaded = load(contract).map_err(|errors| format!("{errors:?}"))?;
    let context = Json::parse(context.as_bytes()).map_err(|refusal| refusal.to_string())?;
    let context = Context::from_json(&context)?;
    let mut run = PureRun::new(Arc::new(loaded.compiled), context, None, true);
    let done = run.judge(1, proposal.as_bytes());
    Ok(format!("{} {} [{} records]", done.answer.verdict.word(), done.answer.reasons().join(", "), done.records.len()))
}

fn expect(contract: &str, context: &str, proposal: &str, expected: &str) -> Result<(), String> {
    let said = judge(contract, context, proposal)?;
    if said.starts_with(expected) {
        Ok(())
    } else {
        Err(format!("{proposal}\n  expected {expected}\n  got      {said}"))
    }
}

/// Limits alone must hold: the schema lets anything through, as the reference does.
const OPEN: &str = r"
agent: bot
actions:
  pay:
    params: { type: object, properties: { amount: {}, account: {} } }
    limits: { amount: { max: 100 } }
";

fn pay(amount: &str) -> String {
    format!(r#"{{"agent":"bot","action":"pay","params":{{"amount":{amount}}}}}"#)
}

#[test]
fn w09_text_and_booleans_are_not_numbers() {
    caught(Bug::W09TextAsNumber, || {
        for amount in ["\"1e1\"", "\"NaN\"", "\"10\"", "true"] {
            expect(OPEN, "{}", &pay(amount), "REJECT PARAM_INVALID")?;
        }
        Ok(())
    });
}

#[test]
fn a_list_of_questions_asks_inside_allow_too() {
    const ASKING: &str = "agent: bot\nactions:\n  pay:\n    params: { amount: number }\n    allow: amount < 60\n    \
                          ask: [ { when: amount > 9, reason: LARGE } ]\n";
    caught(Bug::TriggersOutsideOnly, || {
        expect(ASKING, "{}", &pay("9"), "ACCEPT")?;
        expect(ASKING, "{}", &pay("10"), "ESCALATE LARGE")?;
        expect(ASKING, "{}", &pay("60"), "ESCALATE LARGE")
    });
}

#[test]
fn what_looks_like_a_denied_value_is_denied() {
    const DENYING: &str = "agent: bot\nactions:\n  pay:\n    params: { to: text }\n    \
                           limits: { to: { denied: [ mallory ] } }\n";
    caught(Bug::LookAlikesPass, || {
        for to in ["Mallory", "m\u{0430}llory", "\u{FF4D}allory", "mal\u{200B}lory"] {
            let proposal = format!(r#"{{"agent":"bot","action":"pay","params":{{"to":"{to}"}}}}"#);
            expect(DENYING, "{}", &proposal, "REJECT VALUE_DENIED")?;
        }
        Ok(())
    });
}

#[test]
fn w09_nan_never_reaches_a_gate() {
    for amount in ["NaN", "Infinity", "-Infinity", "1e400"] {
        let said = judge(OPEN, "{}", &pay(amount)).unwrap();
        assert!(
            said.starts_with("REJECT JSON_MALFORMED") || said.starts_with("REJECT NUMBER_NOT_EXACT"),
            "{amount}: {said}"
        );
    }
}

#[test]
fn w09_negative_amounts_do_not_pass_a_maximum() {
    caught(Bug::W09NegativePasses, || expect(OPEN, "{}", &pay("-1e12"), "REJECT LIMIT_BELOW_MINIMUM"));
}

#[test]
fn w09_missing_and_null_do_not_pass_a_limit() {
    caught(Bug::W09MissingPasses, || {
        expect(OPEN, "{}", &pay("null"), "REJECT PARAM_MISSING")?;
        expect(OPEN, "{}", r#"{"agent":"bot","action":"pay","params":{}}"#, "REJECT PARAM_MISSING")
    });
}

#[test]
fn w09_an_unregistered_agent_is_refused() {
    caught(Bug::W09UnknownAgent, || {
        expect(OPEN, "{}", r#"{"agent":"stranger","action":"pay","params":{"amount":5}}"#, "REJECT AGENT_UNKNOWN")
    });
}

#[test]
fn w09_an_action_nobody_named_is_refused() {
    caught(Bug::W09DefaultAllow, || {
        expect(OPEN, "{}", r#"{"agent":"bot","action":"WIRE_ALL_FUNDS","params":{}}"#, "REJECT ACTION_NOT_ALLOWED")
    });
}

#[test]
fn w09_an_empty_contract_accepts_nothing() {
    assert!(
        load("agent: bot\nactions: {}\n").is_err() || {
            let said = judge("agent: bot\nactions: {}\n", "{}", &pay("5")).unwrap();
            said.starts_with("REJECT ACTION_NOT_ALLOWED")
        }
    );
    assert!(load("").is_err());
    assert!(load("{}").is_err());
}

#[test]
fn w09_confidence_thresholds_are_applied() {
    const CONTRACT: &str = r"
agent: bot
proposal: { confidence: { reject_below: 0.9, escalate_below: 0.95 } }
actions:
  pay: { params: { amount: number } }
";
    caught(Bug::W09ConfidenceIgnored, || {
        let proposal = r#"{"agent":"bot","action":"pay","params":{"amount":5},"confidence":0.01}"#;
        expect(CONTRACT, "{}", proposal, "REJECT CONFIDENCE_TOO_LOW")
    });
}

#[test]
fn w09_a_time_without_an_offset_is_refused_not_raised() {
    caught(Bug::W09TimeWithoutOffset, || {
        let proposal = r#"{"agent":"bot","action":"pay","params":{"amount":5},"valid_until":"2026-01-01T00:00:10"}"#;
        expect(OPEN, "{}", proposal, "REJECT PARAM_INVALID")
    });
}

#[test]
fn w09_the_role_interface_is_known_and_bounded() {
    const CONTRACT: &str = r"
agent: bot
role: INTERFACE
actions:
  pay: { params: { amount: number } }
";
    caught(Bug::W09InterfaceRole, || expect(CONTRACT, "{}", &pay("5"), "REJECT ROLE_FORBIDS"));
}

#[test]
fn w09_unknown_contract_keys_are_errors() {
    caught(Bug::W09UnknownKeys, || {
        for key in ["hard_stop: true", "reservation_required: true", "max_context_age_seconds: 5"] {
            let contract = format!("{OPEN}{key}\n");
            let Err(errors) = load(&contract) else { return Err(format!("`{key}` was ignored")) };
            if errors.iter().all(|error| error.place.line == 0) {
                return Err(format!("`{key}` was refused without its place"));
            }
        }
        Ok(())
    });
}

#[test]
fn w09_proposals_of_suspended_agents_are_recorded() {
    caught(Bug::W09SuspendedUnrecorded, || {
        let context = r#"{"agents":{"bot":{"status":"SUSPENDED"}}}"#;
        expect(OPEN, context, &pay("5"), "REJECT AGENT_SUSPENDED [1 records]")
    });
}

#[test]
fn w10_snapshot_ids_are_full_digests_over_everything() {
    caught(Bug::W10ShortSnapshotId, || {
        let base = Snapshot {
            at: Instant::PURE_DEFAULT,
            source: "store".to_owned(),
            flow: Some("f".to_owned()),
            state: Json::parse(br#"{"a":1}"#).ok().and_then(|json| json.as_object().cloned()).unwrap_or_default(),
            session: values::json::Object::new(),
        };
        let others = [
            Snapshot { source: "other".to_owned(), ..base.clone() },
            Snapshot { flow: None, ..base.clone() },
            Snapshot { session: base.state.clone(), ..base.clone() },
            Snapshot { at: Instant::from_micros(1), ..base.clone() },
        ];
        if others.iter().any(|other| other.id() == base.id()) {
            return Err("two different snapshots share an id".to_owned());
        }
        if base.id().len() == 64 { Ok(()) } else { Err(format!("{} is not 256 bits", base.id())) }
    });
}

const DRIFT: &str = r#"
agent: bot
drift: { "balance/{account}": { absolute: 0.5 } }
actions:
  pay: { params: { amount: number, account: text } }
"#;

const PAY_SEEN: &str = r#"{"agent":"bot","action":"pay","params":{"amount":5,"account":"7"},"snapshot":"seen"}"#;

#[test]
fn w12_a_missing_live_value_is_a_drift() {
    caught(Bug::W12MissingIsZero, || {
        let context = r#"{"snapshots":{"seen":{"at":"2026-01-01T00:00:00Z","data":{"balance/7":0.4}}}}"#;
        expect(DRIFT, context, PAY_SEEN, "REJECT STATE_DRIFT")
    });
}

#[test]
fn w12_a_value_that_is_no_number_is_a_drift() {
    caught(Bug::W12NotANumberPasses, || {
        let context = r#"{"state":{"balance/7":"NaN"},"snapshots":{"seen":{"at":"2026-01-01T00:00:00Z","data":{"balance/7":0.4}}}}"#;
        expect(DRIFT, context, PAY_SEEN, "REJECT STATE_DRIFT")
    });
}

#[test]
fn w12_drift_is_checked_by_every_decision() {
    let context =
        r#"{"state":{"balance/7":2},"snapshots":{"seen":{"at":"2026-01-01T00:00:00Z","data":{"balance/7":1}}}}"#;
    expect(DRIFT, context, PAY_SEEN, "REJECT STATE_DRIFT").unwrap();
    let silent = r#"{"agent":"bot","action":"pay","params":{"amount":5,"account":"7"}}"#;
    expect(DRIFT, context, silent, "REJECT SNAPSHOT_MISSING").unwrap();
}

#[test]
fn w13_a_range_with_a_minor_version_means_it() {
    caught(Bug::W13MajorOnly, || {
        let rows = [
            ("1.2.x", "1.2.0", true),
            ("1.2.x", "1.0.0", false),
            ("1.x", "1.9.3", true),
            ("1.x", "2.0.0", false),
            (">=1.2, <2", "1.1.9", false),
            ("^1.2.3", "1.2.2", false),
            ("1.2.x", "1.2", false),
            ("1.2.x", "1.2.0-rc.1", false),
        ];
        for (range, version, expected) in rows {
            if kernel::version::supports(range, version) != expected {
                return Err(format!("{range} {version}"));
            }
        }
        Ok(())
    });
}

#[test]
fn cedar_entity_injection_in_params_is_refused() {
    const CONTRACT: &str = r#"
agent: bot
actions:
  pay:
    params: { type: object, additionalProperties: false, properties: { amount: { type: number }, payee: {} } }
policies: |
  forbid (principal, action, resource)
  when { !(context.params has payee) || context.params.payee != Payee::"trusted" };
"#;
    caught(Bug::CedarEntityInjection, || {
        let injected = r#"{"agent":"bot","action":"pay","params":{"amount":5,"payee":{"__entity":{"type":"Payee","id":"trusted"}}}}"#;
        let said = judge(CONTRACT, "{}", injected)?;
        if said.starts_with("REJECT") { Ok(()) } else { Err(format!("an agent made itself a trusted payee: {said}")) }
    });
}

const LEASED: &str = r"
agent: bot
actions:
  edit: { params: { paths: list of text }, leases: paths }
  look: { params: { paths: list of text }, reads: true }
";

/// At the start of 2026 somebody holds `/ws/src` for a minute.
fn held_by(holder: &str, mode: &str, expires: &str) -> String {
    format!(
        r#"{{"state":{{"leases/book":{{"last":"1","leases":[{{"fence":"1","holder":"{holder}","mode":"{mode}","regions":["/ws/src"],"ttl_us":60000000,"acquired":1767225600000000,"expires":{expires}}}]}}}}}}"#
    )
}

#[test]
fn what_somebody_else_holds_is_not_written() {
    caught(Bug::LeasesIgnored, || {
        let live = "1767225660000000";
        let propose = |action: &str, paths: &str| {
            format!(r#"{{"agent":"bot","action":"{action}","flow":"bot:s1","params":{{"paths":[{paths}]}}}}"#)
        };
        let check = |context: &str, action: &str, paths: &str, expected: &str| {
            expect(LEASED, context, &propose(action, paths), expected)
        };
        let other = held_by("codex:s9", "exclusive", live);
        check(&other, "edit", r#""/ws/src/a.rs""#, "REJECT REGION_LEASED")?;
        check(&other, "edit", r#""/ws/docs/a.md","/ws/SRC""#, "REJECT REGION_LEASED")?;
        check(&other, "edit", r#""/ws""#, "REJECT REGION_LEASED")?;
        check(&other, "edit", r#""/ws/src2/a.rs""#, "ACCEPT")?;
        check(&other, "edit", "", "ACCEPT")?;
        check(&other, "look", r#""/ws/src/a.rs""#, "ACCEPT")?;
        // Where it lies is known only when it runs.
        check(&other, "edit", r#""$OUT/a.rs""#, "ESCALATE REGION_LEASED")?;
        check(&held_by("codex:s9", "shared", live), "edit", r#""/ws/src/a.rs""#, "REJECT REGION_LEASED")?;
        check(&held_by("codex:s9", "exclusive", "1767225599999999"), "edit", r#""/ws/src/a.rs""#, "ACCEPT")?;
        for own in ["bot:s1", "bot"] {
            check(&held_by(own, "exclusive", live), "edit", r#""/ws/src/a.rs""#, "ACCEPT")?;
        }
        check(&held_by("bot:s2", "exclusive", live), "edit", r#""/ws/src/a.rs""#, "REJECT REGION_LEASED")?;
        // What cannot be read is never taken for nothing.
        check(r#"{"state":{"leases/book":{"last":"1"}}}"#, "edit", r#""/ws/a""#, "REJECT LEASE_LOST")
    });
}
