//! Lineage: every contract above bounds this one at the decision, not only at registration.

use crate::agent::AgentStatus;
use crate::facts::{AncestorFact, Facts};
use crate::finding::{Finding, Findings, Gate};
use crate::gates::{limits, policy, rules};
use crate::reasons::Reason;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::Json;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for ancestor in &facts.ancestors {
        judge_standing(facts, ancestor, findings);
        judge_limits(ancestor, findings);
        if !bugs::on(Bug::LineageLinesIgnored) {
            rules::judge_above(facts, ancestor, findings);
            policy::judge_above(facts, ancestor, findings);
        }
        judge_budgets(facts, ancestor, findings);
    }
}

/// An agent does not act while one above it is stopped.
fn judge_standing(facts: &Facts<'_>, ancestor: &AncestorFact<'_>, findings: &mut Findings) {
    let name = ancestor.request.compiled.contract.agent.as_str();
    let reason = match ancestor.agent.map(|agent| agent.status()) {
        None => Reason::AgentUnknown,
        Some(AgentStatus::Suspended) => Reason::AgentSuspended,
        Some(AgentStatus::Retired) => Reason::AgentRetired,
        Some(
            AgentStatus::Registered
            | AgentStatus::Active
            | AgentStatus::Degraded
            | AgentStatus::EscalationOnly
            | AgentStatus::Passive,
        ) => return,
    };
    let because = format!("; it stands above `{}`", facts.request.proposal.agent);
    findings.push(
        Finding::reject(Gate::Lineage, reason).with("agent", name).with("expected", name).with("because", because),
    );
}

fn judge_limits(ancestor: &AncestorFact<'_>, findings: &mut Findings) {
    let request = &ancestor.request;
    let Some(action) = request.action() else {
        let finding = Finding::reject(Gate::Lineage, Reason::ActionNotAllowed).field("action");
        let agent = request.compiled.contract.agent.as_str();
        findings
            .push(finding.with("action", request.proposal.action.as_str()).with("agent", agent).with("nearest", ""));
        return;
    };
    let mut above = Findings::default();
    limits::judge_within(request, &action.rules.limits, &mut above);
    for finding in above.into_ordered() {
        findings.push(Finding { gate: Gate::Lineage, ..finding });
    }
}

fn judge_budgets(facts: &Facts<'_>, ancestor: &AncestorFact<'_>, findings: &mut Findings) {
    for budget in &ancestor.budgets {
        let refused = budget.rule.sum.as_ref().is_some_and(|name| facts.refused.contains(name));
        let Some(amount) = budget.amount.filter(|amount| *amount > Decimal::ZERO && !refused) else { continue };
        let used = budget.window.map_or(Some(Decimal::ZERO), |window| window.used(facts.at, budget.rule.per));
        if used.and_then(|used| used.checked_add(amount)).is_some_and(|total| total <= budget.rule.max) {
            continue;
        }
        let whose = format!("{} of `{}`", budget.name, ancestor.request.compiled.contract.agent);
        let mut finding = Finding::reject(Gate::Lineage, Reason::BudgetExceeded)
            .with("budget", whose)
            .with("used", used.map_or(Json::text("all"), Json::from))
            .with("amount", amount)
            .with("max", budget.rule.max);
        finding.field = budget.rule.sum.clone();
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::{Budget, Rule};
    use crate::finding::Gate;
    use crate::testing::case;
    use values::decimal::Decimal;
    use values::time::Duration;

    #[test]
    fn nobody_acts_below_someone_who_is_stopped() {
        for (status, expected) in [
            (None, "REJECT AGENT_UNKNOWN"),
            (Some("SUSPENDED"), "REJECT AGENT_SUSPENDED"),
            (Some("RETIRED"), "REJECT AGENT_RETIRED"),
            (Some("PASSIVE"), "ACCEPT"),
            (Some("REGISTERED"), "ACCEPT"),
        ] {
            case().above(status, |_| {}).check(expected);
        }
    }

    #[test]
    fn limits_and_actions_above_bind() {
        let most = |max: i64| {
            case().above(Some("ACTIVE"), move |above| {
                above.actions.get_mut("pay").unwrap().limits.get_mut("amount").unwrap().max = Some(Decimal::from(max));
            })
        };
        most(5).amount(5).check("ACCEPT");
        let done = most(4).amount(5).check("REJECT LIMIT_EXCEEDED").last.unwrap();
        assert_eq!(done.answer.findings.iter().map(|finding| finding.gate).collect::<Vec<_>>(), [Gate::Lineage]);
        case().above(Some("ACTIVE"), |above| drop(above.actions.remove("pay"))).check("REJECT ACTION_NOT_ALLOWED");
    }

    #[test]
    fn lines_above_bind() {
        let refuse = || Rule { when: "amount<=50".to_owned(), reason: "SMALL".to_owned() };
        let case = case().above(Some("ACTIVE"), |above| above.actions.get_mut("pay").unwrap().refuse.push(refuse()));
        case.amount(50).check("REJECT SMALL").amount(51).check("ACCEPT");
    }

    #[test]
    fn budgets_above_are_shared_with_everyone_below() {
        let budget =
            || Budget { sum: Some("amount".to_owned()), max: Decimal::from(10), per: Duration::from_secs(3600) };
        let case = case().above(Some("ACTIVE"), |above| above.actions.get_mut("pay").unwrap().budgets.push(budget()));
        let case = case.amount(6).check("ACCEPT").amount(5).check("REJECT BUDGET_EXCEEDED");
        let case = case.amount(4).check("ACCEPT").amount(1).check("REJECT BUDGET_EXCEEDED");
        // What is no amount takes nothing; the shape refuses it by itself.
        let case = case.params(r#"{"amount":-3}"#).check("REJECT LIMIT_BELOW_MINIMUM");
        case.at("2026-01-09T00:00:00Z").amount(10).check("ACCEPT");
    }
}
