//! Freshness: what the agent saw is not too old, and the state it relies on has not moved.

use crate::contract::{DriftKey, Tolerance};
use crate::facts::{Facts, SnapshotFact};
use crate::finding::{Finding, Findings, Gate};
use crate::gates::state_match::{is_within, tolerance_text};
use crate::gates::validity::CLOCK_AHEAD_MAX;
use crate::reasons::Reason;
use crate::snapshot::Snapshot;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::Json;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(action) = facts.request.action() else { return };
    let applicable = &action.compiled.plan.drift;
    match &facts.snapshot {
        SnapshotFact::None if needs_snapshot(facts) && !action.rules.reads => {
            let finding = Finding::reject(Gate::Freshness, Reason::SnapshotMissing).field("snapshot");
            findings.push(finding.with("action", facts.request.proposal.action.as_str()));
        }
        SnapshotFact::None => {}
        SnapshotFact::Unknown(name) => {
            let finding = Finding::reject(Gate::Freshness, Reason::SnapshotUnknown).field("snapshot");
            findings.push(finding.with("snapshot", *name));
        }
        SnapshotFact::Known(name, snapshot) => {
            judge_age(facts, name, snapshot, findings);
            if !action.rules.reads {
                for drift in applicable {
                    judge_drift(facts, drift, snapshot, findings);
                }
            }
        }
    }
}

/// Drift and age cannot be skipped by not saying what was seen.
fn needs_snapshot(facts: &Facts<'_>) -> bool {
    let contract = &facts.request.compiled.contract;
    !contract.drift.is_empty() || contract.proposal.context_max_age.is_some()
}

fn judge_age(facts: &Facts<'_>, name: &str, snapshot: &Snapshot, findings: &mut Findings) {
    let max = facts.request.compiled.contract.proposal.context_max_age;
    let age = facts.at.since(snapshot.at);
    let problem = if snapshot.at > facts.at.plus(CLOCK_AHEAD_MAX) {
        format!("is from the future ({})", snapshot.at)
    } else if let Some(max) = max.filter(|max| age > *max) {
        format!("is {age} old; the contract allows {max}")
    } else {
        return;
    };
    let finding = Finding::reject(Gate::Freshness, Reason::SnapshotStale).field("snapshot");
    findings.push(finding.with("snapshot", name).with("problem", problem));
}

fn judge_drift(facts: &Facts<'_>, drift: &DriftKey, snapshot: &Snapshot, findings: &mut Findings) {
    if drift.key.params().any(|param| facts.refused.contains(param)) {
        return;
    }
    let Ok(key) = drift.key.render(&facts.request.proposal.params) else {
        let finding = Finding::reject(Gate::Freshness, Reason::ParamMissing);
        let field = drift.key.params().find(|param| facts.request.param(param).is_none()).unwrap_or("params");
        findings.push(finding.field(field).with("problem", format!(": the drift key `{}` needs it", drift.key)));
        return;
    };
    let old = snapshot.state.get(&key);
    let live = facts.live.get(key.as_str()).copied();
    if agrees(live, old, drift.tolerance) {
        return;
    }
    let absent = || Json::text("absent");
    let finding = Finding::reject(Gate::Freshness, Reason::StateDrift).field(key);
    findings.push(
        finding
            .with("old", old.map_or_else(absent, |value| Json::text(value.to_canonical())))
            .with("live", live.map_or_else(absent, |value| Json::text(value.to_canonical())))
            .with("tolerance", tolerance_text(drift.tolerance)),
    );
}

fn agrees(live: Option<&Json>, old: Option<&Json>, tolerance: Tolerance) -> bool {
    let zero = Json::Number(Decimal::ZERO);
    if bugs::on(Bug::W12MissingIsZero) {
        return is_within(live.or(Some(&zero)), old.or(Some(&zero)), tolerance);
    }
    let not_numbers = live.and_then(Json::as_number).is_none() || old.and_then(Json::as_number).is_none();
    if bugs::on(Bug::W12NotANumberPasses) && not_numbers && tolerance != Tolerance::Exact {
        return true;
    }
    is_within(live, old, tolerance)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, case};

    fn drifting() -> Case {
        case().drift("status", "exact").drift("accounts/{account}/balance", "2").params(r#"{"amount":5,"account":"7"}"#)
    }

    const LIVE: &str = r#"{"status":"open","accounts/7/balance":100}"#;

    #[test]
    fn a_snapshot_is_needed_and_must_exist() {
        drifting().state(LIVE).check("REJECT SNAPSHOT_MISSING");
        drifting().state(LIVE).snapshot("nobody-knows").check("REJECT SNAPSHOT_UNKNOWN");
        drifting().state(LIVE).snapshot("current").check("ACCEPT");
    }

    #[test]
    fn state_that_moved_is_a_drift() {
        let check = |seen: &str, expected: &str| {
            drifting().state(LIVE).snapshot_data("seen", "2026-01-01T00:00:00Z", seen).snapshot("seen").check(expected);
        };
        check(LIVE, "ACCEPT");
        check(r#"{"status":"open","accounts/7/balance":99}"#, "ACCEPT");
        check(r#"{"status":"open","accounts/7/balance":90}"#, "REJECT STATE_DRIFT");
        check(r#"{"status":"shut","accounts/7/balance":100}"#, "REJECT STATE_DRIFT");
        check(r#"{"status":"open"}"#, "REJECT STATE_DRIFT");
        check(r#"{"status":"open","accounts/7/balance":"100"}"#, "REJECT STATE_DRIFT");
    }

    #[test]
    fn a_missing_live_value_is_a_drift() {
        let seen = r#"{"status":"open","accounts/7/balance":0.4}"#;
        let case = drifting().state(r#"{"status":"open"}"#);
        case.snapshot_data("seen", "2026-01-01T00:00:00Z", seen).snapshot("seen").check("REJECT STATE_DRIFT");
    }

    #[test]
    fn old_snapshots_are_refused() {
        let case = drifting().contract(|contract| {
            contract.proposal.context_max_age = values::time::Duration::parse("60s");
        });
        let case = case.state(LIVE).snapshot_data("seen", "2026-01-01T00:00:00Z", LIVE).snapshot("seen");
        let case = case.at("2026-01-01T00:01:00Z").check("ACCEPT");
        case.at("2026-01-01T00:01:00.000001Z").check("REJECT SNAPSHOT_STALE");
    }

    #[test]
    fn age_and_drift_cannot_be_skipped_by_silence() {
        let aged = case().contract(|contract| {
            contract.proposal.context_max_age = values::time::Duration::parse("60s");
        });
        aged.check("REJECT SNAPSHOT_MISSING");
        // Another action of the contract watches state: this one must say what it saw too.
        case().drift("accounts/{nobody}/balance", "exact").check("REJECT SNAPSHOT_MISSING");
    }

    #[test]
    fn a_snapshot_from_the_future_is_refused() {
        let case = drifting().state(LIVE).snapshot_data("seen", "2030-01-01T00:00:00Z", LIVE).snapshot("seen");
        case.check("REJECT SNAPSHOT_STALE");
    }

    #[test]
    fn reads_need_no_snapshot() {
        drifting().action("look").params("{}").check("ACCEPT");
    }
}
