//! Rules: the contract's own expressions. `refuse` refuses first; `allow` is what passes, `ask` what escalates.

use crate::contract::Rule;
use crate::evaluator::{ExpressionEvaluator, ExpressionFault};
use crate::facts::Facts;
use crate::finding::{Code, Effect, Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::request::ActionFacts;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(action) = facts.request.action() else { return };
    for (rule, expression) in action.rules.refuse.iter().zip(&action.compiled.refuse) {
        if holds(facts, expression.as_ref(), "refuse", rule, findings) == Some(true) {
            findings.push(rule_finding(rule, Effect::Reject));
        }
    }
    verdict_lines(facts, &action, findings);
}

fn verdict_lines(facts: &Facts<'_>, action: &ActionFacts<'_>, findings: &mut Findings) {
    let allowed = match (&action.rules.allow, &action.compiled.allow) {
        (Some(when), Some(expression)) => {
            let rule = Rule { when: when.clone(), reason: String::new() };
            match holds(facts, expression.as_ref(), "allow", &rule, findings) {
                Some(true) => return,
                Some(false) => Some(when),
                None => return,
            }
        }
        _ => None,
    };
    let mut asked = false;
    for (rule, expression) in action.rules.ask.iter().zip(&action.compiled.ask) {
        match holds(facts, expression.as_ref(), "ask", rule, findings) {
            Some(true) => {
                asked = true;
                findings.push(rule_finding(rule, Effect::Escalate));
            }
            Some(false) => {}
            // What could not be judged has been refused already; it must not count as "not asked".
            None => asked = true,
        }
    }
    if let (Some(allow), false) = (allowed, asked) {
        let ask: Vec<&str> = action.rules.ask.iter().map(|rule| rule.when.as_str()).collect();
        let ask = if ask.is_empty() { String::new() } else { format!(" or asks a person about ({})", ask.join("; ")) };
        let finding = Finding::reject(Gate::Rules, Reason::NotAllowed);
        findings.push(finding.with("allow", allow.as_str()).with("ask", ask));
    }
}

/// True, false, or `None` if it cannot or need not be told; then a rejecting finding exists.
fn holds(
    facts: &Facts<'_>,
    expression: &dyn ExpressionEvaluator,
    key: &str,
    rule: &Rule,
    findings: &mut Findings,
) -> Option<bool> {
    if facts.looks_at_refused(expression.reads()) {
        return None;
    }
    match expression.holds(&facts.scope()) {
        Ok(value) => Some(value),
        Err(ExpressionFault { problem }) => {
            let secret = facts.request.action().is_some_and(|action| action.reads_secret(expression.reads()));
            let problem = if secret { "it looks at a secret param".to_owned() } else { problem };
            let finding = Finding::reject(Gate::Rules, Reason::PolicyError);
            findings.push(finding.with("rule", format!("{key} `{}`", rule.when)).with("problem", problem));
            None
        }
    }
}

fn rule_finding(rule: &Rule, effect: Effect) -> Finding {
    let code = match Reason::from_code(&rule.reason) {
        Some(reason) => Code::Known(reason),
        None => Code::Custom { code: rule.reason.clone(), when: rule.when.clone() },
    };
    let finding = Finding { gate: Gate::Rules, code, effect, field: None, values: Vec::new() };
    finding.with("problem", rule.when.as_str()).with("allow", format!("not {}", rule.when))
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn allow_passes_ask_escalates_the_rest_is_refused() {
        let check = |amount: u64, expected: &str| {
            case().allow("amount<=25").ask("amount<=50", "NEEDS_APPROVAL").amount(amount).check(expected);
        };
        check(25, "ACCEPT");
        check(26, "ESCALATE NEEDS_APPROVAL");
        check(51, "REJECT NOT_ALLOWED");
    }

    #[test]
    fn ask_without_allow_only_adds_questions() {
        case().ask("amount<=50", "BIG").amount(40).check("ESCALATE BIG");
        case().ask("amount<=50", "BIG").amount(60).check("ACCEPT");
    }

    #[test]
    fn refuse_wins_over_ask() {
        let case = case().refuse("amount<=50", "RISKY").ask("amount<=50", "BIG").amount(40);
        case.check("REJECT RISKY");
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused() {
        case().allow("broken").check("REJECT POLICY_ERROR");
        case().refuse("broken", "RISKY").check("REJECT POLICY_ERROR");
        case().ask("broken", "BIG").check("REJECT POLICY_ERROR");
        case().allow("amount<=1").ask("broken", "BIG").check("REJECT POLICY_ERROR");
    }

    #[test]
    fn a_rule_is_silent_about_a_value_that_was_refused() {
        case().allow("amount<=25").params(r#"{"amount":"lots"}"#).check("REJECT PARAM_INVALID");
    }
}
