//! Policies: conditions in Cedar. What cannot be evaluated is refused.

use crate::evaluator::PolicyAnswer;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(policies) = &facts.request.compiled.policies else { return };
    let Some(action) = facts.request.action() else { return };
    if facts.looks_at_refused(policies.reads()) {
        return;
    }
    match policies.judge(&facts.scope()) {
        PolicyAnswer::Permit => {}
        PolicyAnswer::Forbid(ids) => {
            findings.push(Finding::reject(Gate::Policy, Reason::PolicyForbids).with("policies", ids.join(", ")));
        }
        PolicyAnswer::Error(problem) => {
            let secret = action.reads_secret(policies.reads());
            let problem = if secret { "it looks at a secret param".to_owned() } else { problem };
            let finding = Finding::reject(Gate::Policy, Reason::PolicyError);
            findings.push(finding.with("rule", "a policy").with("problem", problem));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::evaluator::PolicyAnswer;
    use crate::testing::case;

    #[test]
    fn a_policy_that_breaks_rejects() {
        let check = |answer: PolicyAnswer, expected: &str| case().policies(answer).check(expected);
        check(PolicyAnswer::Permit, "ACCEPT");
        check(PolicyAnswer::Forbid(vec!["policy0".to_owned()]), "REJECT POLICY_FORBIDS");
        check(PolicyAnswer::Error("no such attribute".to_owned()), "REJECT POLICY_ERROR");
    }
}
