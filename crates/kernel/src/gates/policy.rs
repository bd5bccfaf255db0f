//! Policies: conditions in Cedar. What cannot be evaluated is refused.

use crate::evaluator::{PolicyAnswer, Scope};
use crate::facts::{AncestorFact, Facts};
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::request::Request;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    judge_under(facts, &facts.request, &facts.scope(), (Gate::Policy, ""), findings);
}

/// What the policies of a contract above say of the same proposal.
pub(super) fn judge_above(facts: &Facts<'_>, ancestor: &AncestorFact<'_>, findings: &mut Findings) {
    let scope = Scope { params: &ancestor.params, ..facts.scope() };
    let whose = format!(" of `{}`", ancestor.request.compiled.contract.agent);
    judge_under(facts, &ancestor.request, &scope, (Gate::Lineage, &whose), findings);
}

fn judge_under(
    facts: &Facts<'_>,
    request: &Request<'_>,
    scope: &Scope<'_>,
    (gate, whose): (Gate, &str),
    findings: &mut Findings,
) {
    let Some(policies) = &request.compiled.policies else { return };
    let Some(action) = request.action() else { return };
    if facts.looks_at_refused(policies.reads()) {
        return;
    }
    match policies.judge(scope) {
        PolicyAnswer::Permit => {}
        PolicyAnswer::Forbid(ids) => {
            let policies = format!("{}{whose}", ids.join(", "));
            findings.push(Finding::reject(gate, Reason::PolicyForbids).with("policies", policies));
        }
        PolicyAnswer::Error(problem) => {
            let own = facts.request.action();
            let secret = own.into_iter().chain([action]).any(|action| action.reads_secret(policies.reads()));
            let problem = if secret { "it looks at a secret param".to_owned() } else { problem };
            let finding = Finding::reject(gate, Reason::PolicyError);
            findings.push(finding.with("rule", format!("a policy{whose}")).with("problem", problem));
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
