//! Budgets: at most so much in any window. Checked here, taken only if the verdict is ACCEPT.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use values::decimal::Decimal;
use values::json::Json;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for budget in &facts.budgets {
        let refused = budget.rule.sum.as_ref().is_some_and(|name| facts.refused.contains(name));
        // An amount that is not a positive number has been refused by shape or limits.
        let Some(amount) = budget.amount.filter(|amount| *amount > Decimal::ZERO && !refused) else { continue };
        let used = budget.window.map_or(Some(Decimal::ZERO), |window| window.used(facts.at, budget.rule.per));
        let total = used.and_then(|used| used.checked_add(amount));
        if total.is_some_and(|total| total <= budget.rule.max) {
            continue;
        }
        let used = used.map_or(Json::text("all"), Json::from);
        let mut finding = Finding::reject(Gate::Budgets, Reason::BudgetExceeded)
            .with("budget", budget.name)
            .with("used", used)
            .with("amount", amount)
            .with("max", budget.rule.max);
        finding.field = budget.rule.sum.clone();
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::Budget;
    use crate::testing::{Case, case};
    use values::decimal::Decimal;
    use values::time::Duration;

    fn with_budget(sum: Option<&str>, max: i64) -> Case {
        let budget = Budget { sum: sum.map(str::to_owned), max: Decimal::from(max), per: Duration::from_secs(3600) };
        case().contract(move |contract| contract.actions.get_mut("pay").unwrap().budgets.push(budget.clone()))
    }

    #[test]
    fn a_sum_over_the_window_is_bounded() {
        let case = with_budget(Some("amount"), 100).amount(60).check("ACCEPT").check("REJECT BUDGET_EXCEEDED");
        case.amount(40).check("ACCEPT").amount(1).check("REJECT BUDGET_EXCEEDED");
    }

    #[test]
    fn the_window_rolls() {
        let case = with_budget(Some("amount"), 100).at("2026-01-01T12:00:00Z").amount(60).check("ACCEPT");
        let case = case.at("2026-01-01T12:59:59Z").check("REJECT BUDGET_EXCEEDED");
        case.at("2026-01-01T13:00:00Z").check("ACCEPT");
    }

    #[test]
    fn decisions_are_counted() {
        with_budget(None, 2).check("ACCEPT").check("ACCEPT").check("REJECT BUDGET_EXCEEDED");
    }

    #[test]
    fn what_was_refused_takes_nothing() {
        let case = with_budget(Some("amount"), 100).amount(100_000).check("REJECT LIMIT_EXCEEDED, BUDGET_EXCEEDED");
        case.amount(100).check("ACCEPT");
    }
}
