//! Lineage: every contract above bounds this one at the decision, not only at registration.

use crate::agent::AgentStatus;
use crate::bugs::{self, Bug};
use crate::decimal::Decimal;
use crate::facts::{AncestorFact, Facts};
use crate::finding::{Finding, Findings, Gate};
use crate::gates::{limits, policy, rules};
use crate::json::Json;
use crate::reasons::Reason;

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
