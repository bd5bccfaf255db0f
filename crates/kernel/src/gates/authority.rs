//! Authority: the action is in the contract, and the role may propose it.

use crate::contract::Role;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::nearest::suggestion;
use crate::reasons::Reason;
use values::bugs::{self, Bug};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let proposal = facts.request.proposal;
    let Some(action) = facts.request.action() else {
        if bugs::on(Bug::W09DefaultAllow) {
            return;
        }
        let known = facts.request.compiled.contract.actions.keys().map(String::as_str);
        let hint = suggestion(&proposal.action, known);
        let finding = Finding::reject(Gate::Authority, Reason::ActionNotAllowed).field("action");
        findings.push(
            finding
                .with("action", proposal.action.as_str())
                .with("agent", proposal.agent.as_str())
                .with("nearest", hint),
        );
        return;
    };
    let role = facts.role();
    let problem = match (role, action.rules.reads) {
        (Role::Executor, _) | (Role::Strategist | Role::Monitor, true) => return,
        (Role::Strategist, false) => {
            let finding = Finding::escalate(Gate::Authority, Reason::NeedsApproval).field("action");
            findings.push(finding.with("problem", "a strategist's effects need a person or an executor's child flow"));
            return;
        }
        (Role::Interface, _) if bugs::on(Bug::W09InterfaceRole) => return,
        (Role::Monitor, false) => "a monitor reads, observes and suspends",
        (Role::Interface, _) => "an interface opens flows and relays",
    };
    let finding = Finding::reject(Gate::Authority, Reason::RoleForbids).field("action");
    findings.push(finding.with("role", role.word()).with("action", proposal.action.as_str()).with("problem", problem));
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn what_the_contract_does_not_name_is_refused() {
        case().action("wire_all_funds").check("REJECT ACTION_NOT_ALLOWED");
    }

    #[test]
    fn a_role_bounds_what_may_be_proposed() {
        let check = |role: &str, action: &str, expected: &str| {
            let params = if action == "look" { "{}" } else { r#"{"amount":5}"# };
            case().role(role).action(action).params(params).check(expected);
        };
        check("EXECUTOR", "pay", "ACCEPT");
        check("STRATEGIST", "pay", "ESCALATE NEEDS_APPROVAL");
        check("STRATEGIST", "look", "ACCEPT");
        check("MONITOR", "pay", "REJECT ROLE_FORBIDS");
        check("MONITOR", "look", "ACCEPT");
        check("INTERFACE", "pay", "REJECT ROLE_FORBIDS");
        check("INTERFACE", "look", "REJECT ROLE_FORBIDS");
    }
}
