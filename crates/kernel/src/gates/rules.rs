//! Rules: the contract's own expressions. `refuse` refuses first; `allow` is what passes, `ask` what escalates.

use crate::contract::{Ask, Rule};
use crate::evaluator::{ExpressionEvaluator, ExpressionFault, Scope};
use crate::facts::{AncestorFact, Facts};
use crate::finding::{Code, Effect, Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::request::ActionFacts;
use values::bugs::{self, Bug};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(action) = facts.request.action() else { return };
    let lines = Lines { facts, action, scope: facts.scope(), above: None };
    lines.judge(findings);
}

/// What a contract above says of the same proposal; the proposer is who it was.
pub(super) fn judge_above(facts: &Facts<'_>, ancestor: &AncestorFact<'_>, findings: &mut Findings) {
    let Some(action) = ancestor.request.action() else { return };
    let scope = Scope { params: &ancestor.params, ..facts.scope() };
    let lines = Lines { facts, action, scope, above: Some(&ancestor.request.compiled.contract.agent) };
    lines.judge(findings);
}

/// The verdict lines of one contract.
struct Lines<'a> {
    facts: &'a Facts<'a>,
    action: ActionFacts<'a>,
    scope: Scope<'a>,
    /// Whose contract it is, if it stands above the proposer's.
    above: Option<&'a str>,
}

/// What `allow` says of a proposal.
enum Allowed<'a> {
    Inside,
    /// The expression that does not hold.
    Outside(&'a str),
    /// The action has no `allow`.
    Unsaid,
    /// It could not be told; a rejecting finding says why.
    Untold,
}

impl Lines<'_> {
    fn judge(&self, findings: &mut Findings) {
        for (rule, expression) in self.action.rules.refuse.iter().zip(&self.action.compiled.refuse) {
            if self.holds(expression.as_ref(), "refuse", &rule.when, findings) == Some(true) {
                findings.push(self.rule_finding(rule, Effect::Reject));
            }
        }
        self.allow_and_ask(findings);
    }

    fn gate(&self) -> Gate {
        if self.above.is_some() { Gate::Lineage } else { Gate::Rules }
    }

    /// An expression as a sentence shows it: of another contract than the proposer's it says first whose.
    fn named(&self, when: &str) -> String {
        self.above.map_or_else(|| when.to_owned(), |agent| format!("contract of `{agent}`: {when}"))
    }

    fn allow_and_ask(&self, findings: &mut Findings) {
        let action = &self.action;
        let outside = match self.allowed(findings) {
            Allowed::Untold => return,
            Allowed::Inside if self.skips_questions() => return,
            Allowed::Inside | Allowed::Unsaid => None,
            Allowed::Outside(when) => Some(when),
        };
        let mut asked = false;
        for (rule, expression) in action.rules.ask.rules().iter().zip(&action.compiled.ask) {
            match self.holds(expression.as_ref(), "ask", &rule.when, findings) {
                Some(true) => {
                    asked = true;
                    findings.push(self.rule_finding(rule, Effect::Escalate));
                }
                Some(false) => {}
                // What could not be judged has been refused already; it must not count as "not asked".
                None => asked = true,
            }
        }
        if let (Some(allow), false) = (outside, asked) {
            let ask: Vec<&str> = action.rules.ask.rules().iter().map(|rule| rule.when.as_str()).collect();
            let ask =
                if ask.is_empty() { String::new() } else { format!(" or asks a person about ({})", ask.join("; ")) };
            let finding = Finding::reject(self.gate(), Reason::NotAllowed);
            findings.push(finding.with("allow", self.named(allow)).with("ask", ask));
        }
    }

    /// What `allow` says. A zone without it names all that may happen.
    fn allowed(&self, findings: &mut Findings) -> Allowed<'_> {
        let action = &self.action;
        match (&action.rules.allow, &action.compiled.allow) {
            (Some(when), Some(expression)) => match self.holds(expression.as_ref(), "allow", when, findings) {
                Some(true) => Allowed::Inside,
                Some(false) => Allowed::Outside(when),
                None => Allowed::Untold,
            },
            (None, _) | (_, None) => match action.rules.ask {
                Ask::Zone(_) => Allowed::Outside("false"),
                Ask::Triggers(_) => Allowed::Unsaid,
            },
        }
    }

    /// Whether what `allow` names passes unasked: a zone lies outside, triggers also inside.
    fn skips_questions(&self) -> bool {
        match self.action.rules.ask {
            Ask::Zone(_) => true,
            Ask::Triggers(_) => bugs::on(Bug::TriggersOutsideOnly),
        }
    }

    /// True, false, or `None` if it cannot or need not be told; then a rejecting finding exists.
    fn holds(
        &self,
        expression: &dyn ExpressionEvaluator,
        key: &str,
        when: &str,
        findings: &mut Findings,
    ) -> Option<bool> {
        let reads = expression.reads();
        if self.facts.looks_at_refused(reads) {
            return None;
        }
        match expression.holds(&self.scope) {
            Ok(value) => Some(value),
            Err(ExpressionFault { problem }) => {
                let own = self.facts.request.action();
                let secret = own.into_iter().chain([self.action]).any(|action| action.reads_secret(reads));
                let problem = if secret { "it looks at a secret param".to_owned() } else { problem };
                let finding = Finding::reject(self.gate(), Reason::PolicyError);
                let rule = self.named(&format!("{key} `{when}`"));
                findings.push(finding.with("rule", rule).with("problem", problem));
                None
            }
        }
    }

    fn rule_finding(&self, rule: &Rule, effect: Effect) -> Finding {
        let when = self.named(&rule.when);
        let code = match Reason::from_code(&rule.reason) {
            Some(reason) => Code::Known(reason),
            None => {
                let whose = self.above.map(|agent| format!(", says the contract of `{agent}`")).unwrap_or_default();
                Code::Custom { code: rule.reason.clone(), when: format!("{}{whose}", rule.when) }
            }
        };
        let finding = Finding { gate: self.gate(), code, effect, field: None, values: Vec::new() };
        finding.with("allow", format!("not {when}")).with("problem", when)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn allow_passes_ask_escalates_the_rest_is_refused() {
        let check = |amount: u64, expected: &str| {
            case().allow("amount<=25").zone("amount<=50", "NEEDS_APPROVAL").amount(amount).check(expected);
        };
        check(25, "ACCEPT");
        check(26, "ESCALATE NEEDS_APPROVAL");
        check(51, "REJECT NOT_ALLOWED");
    }

    #[test]
    fn a_trigger_asks_inside_allow_too() {
        let check = |allow: &str, amount: u64, expected: &str| {
            case().allow(allow).ask("amount<=10", "SMALL").amount(amount).check(expected);
        };
        check("amount<=25", 10, "ESCALATE SMALL");
        check("amount<=25", 11, "ACCEPT");
        check("amount<=25", 25, "ACCEPT");
        check("amount<=25", 26, "REJECT NOT_ALLOWED");
        check("amount<=5", 5, "ESCALATE SMALL");
        check("amount<=5", 6, "ESCALATE SMALL");
        check("amount<=5", 11, "REJECT NOT_ALLOWED");
    }

    #[test]
    fn a_zone_without_allow_names_all_that_may_happen() {
        case().zone("amount<=50", "NEEDS_APPROVAL").amount(50).check("ESCALATE NEEDS_APPROVAL");
        case().zone("amount<=50", "NEEDS_APPROVAL").amount(51).check("REJECT NOT_ALLOWED");
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
        case().allow("amount<=100").ask("broken", "BIG").check("REJECT POLICY_ERROR");
        case().allow("amount<=1").zone("broken", "BIG").check("REJECT POLICY_ERROR");
        case().allow("amount<=100").zone("broken", "BIG").check("ACCEPT");
    }

    #[test]
    fn a_rule_is_silent_about_a_value_that_was_refused() {
        case().allow("amount<=25").params(r#"{"amount":"lots"}"#).check("REJECT PARAM_INVALID");
    }
}
