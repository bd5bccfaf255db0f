//! Retries and spending of the flow: an agent that keeps failing is stopped.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use values::decimal::Decimal;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let rules = &facts.request.compiled.contract.proposal;
    // To an agent another's flow does not exist, so nothing is told of what happened in it.
    if facts.flow.seen && facts.flow.row.agent != facts.request.proposal.agent {
        return;
    }
    if facts.flow.row.rejected >= rules.retries {
        let finding = Finding::reject(Gate::Retry, Reason::ReasoningExhaustion).field("flow");
        findings.push(
            finding.with("flow", facts.flow_id).with("rejected", facts.flow.row.rejected).with("max", rules.retries),
        );
    }
    let mut spend = |name: &'static str, used: u64, amount: u64, max: Option<u64>| {
        let Some(max) = max else { return };
        if used.saturating_add(amount) <= max {
            return;
        }
        let finding = Finding::reject(Gate::Retry, Reason::BudgetExceeded).field(name);
        findings.push(
            finding
                .with("budget", format!("{name} of flow {}", facts.flow_id))
                .with("used", Decimal::from(used))
                .with("amount", Decimal::from(amount))
                .with("max", Decimal::from(max)),
        );
    };
    spend("steps", facts.flow.row.steps, 1, rules.spend_steps);
    spend("tokens", facts.flow.row.tokens, facts.request.proposal.tokens, rules.spend_tokens);
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn the_fourth_attempt_after_three_rejections_is_refused() {
        let mut case = case().flow("f").params(r#"{"amount":500}"#);
        for _ in 0..3 {
            case = case.check("REJECT LIMIT_EXCEEDED");
        }
        case.params(r#"{"amount":5}"#).check("REJECT REASONING_EXHAUSTION");
    }

    #[test]
    fn another_flow_starts_afresh() {
        let mut case = case().flow("f").params(r#"{"amount":500}"#);
        for _ in 0..3 {
            case = case.check("REJECT LIMIT_EXCEEDED");
        }
        case.flow("g").params(r#"{"amount":5}"#).check("ACCEPT");
    }

    #[test]
    fn steps_and_tokens_are_spent_by_the_flow() {
        let case =
            case().contract(|contract| contract.proposal.spend_steps = Some(2)).flow("f").action("look").params("{}");
        case.check("ACCEPT").check("ACCEPT").check("REJECT BUDGET_EXCEEDED");
        let case = crate::testing::case().contract(|contract| contract.proposal.spend_tokens = Some(100));
        let case = case.flow("f").action("look").params("{}").tokens(60);
        case.check("ACCEPT").check("REJECT BUDGET_EXCEEDED");
    }
}
