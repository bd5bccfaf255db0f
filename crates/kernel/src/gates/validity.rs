//! Validity: neither stale nor from the future nor valid for too long.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use values::bugs::{self, Bug};
use values::time::{Duration, Instant};

/// How far an agent's clock may run ahead.
pub const CLOCK_AHEAD_MAX: Duration = Duration::from_secs(5);

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let proposal = facts.request.proposal;
    let ttl_max = facts.request.compiled.contract.proposal.ttl_max;
    let created_at = proposal.created_at.unwrap_or(facts.at);
    if created_at > facts.at.plus(CLOCK_AHEAD_MAX) {
        let problem = format!("is {created_at}, in the future: it is {}", facts.at);
        findings
            .push(Finding::reject(Gate::Validity, Reason::ParamInvalid).field("created_at").with("problem", problem));
    }
    let Some(valid_until) = proposal.valid_until else { return };
    let finding = |reason| {
        Finding::reject(Gate::Validity, reason)
            .field("valid_until")
            .with("valid_until", valid_until.to_string())
            .with("now", facts.at.to_string())
            .with("max", ttl_max.to_string())
    };
    let now = if bugs::on(Bug::ExpiryAtCreation) { created_at } else { facts.at };
    if now >= valid_until {
        findings.push(finding(Reason::TtlExpired));
    }
    if valid_until > created_at.plus(ttl_max) || valid_until > facts.at.plus(ttl_max) {
        findings.push(finding(Reason::TtlTooLong));
    }
}

/// Until when the proposal, and the intent it may become, is valid.
pub fn valid_until(facts: &Facts<'_>) -> Instant {
    let default = facts.request.compiled.contract.proposal.ttl_default;
    facts.request.proposal.valid_until.unwrap_or_else(|| facts.at.plus(default))
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn the_window_is_checked_at_the_decision_instant() {
        let check = |created_at: &str, valid_until: &str, expected: &str| {
            case().at("2026-01-01T12:00:00Z").created_at(created_at).valid_until(valid_until).check(expected);
        };
        check("2026-01-01T12:00:00Z", "2026-01-01T12:00:30Z", "ACCEPT");
        check("2026-01-01T11:59:00Z", "2026-01-01T12:00:00Z", "REJECT TTL_EXPIRED");
        check("2026-01-01T11:59:00Z", "2026-01-01T11:59:59.999999Z", "REJECT TTL_EXPIRED");
        check("2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z", "ACCEPT");
        check("2026-01-01T12:00:00Z", "2026-01-01T12:05:00.000001Z", "REJECT TTL_TOO_LONG");
        check("2026-01-01T11:58:00Z", "2026-01-01T12:04:00Z", "REJECT TTL_TOO_LONG");
        check("2026-01-01T12:00:05Z", "2026-01-01T12:00:30Z", "ACCEPT");
        check("2026-01-01T12:00:05.000001Z", "2026-01-01T12:00:30Z", "REJECT PARAM_INVALID");
    }
}
