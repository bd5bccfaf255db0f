//! Arrival: nothing passes a pulled kill switch, and a session token must be the agent's own.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let above = facts.ancestors.iter().filter_map(|ancestor| ancestor.agent);
    let stopped = facts.tenant.and_then(|tenant| tenant.stopping(facts.agent.into_iter().chain(above)));
    stopped.into_iter().for_each(|finding| findings.push(finding));
    // A stranger is refused as one; there is no session to look at.
    let (Some(shown), Some(agent)) = (facts.door.session, facts.agent) else { return };
    let fits = agent.session.as_ref().is_some_and(|session| session.token_hash == shown && facts.at <= session.expires);
    if !fits {
        let finding = Finding::reject(Gate::Agent, Reason::SessionInvalid);
        findings.push(finding.with("agent", facts.request.proposal.agent.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::Actor;
    use crate::change::Act;
    use crate::testing::case;

    #[test]
    fn nothing_passes_a_pulled_switch() {
        let case = case().halted("ann", "fire").action("look").params("{}").check("REJECT HALTED");
        case.resumed().check("ACCEPT");
    }

    #[test]
    fn a_groups_switch_stops_its_own() {
        let look = |group: &str| case().group(group).halted_group("desk").action("look").params("{}");
        look("floor").check("ACCEPT");
        let mut stopped = look("desk").check("REJECT GROUP_HALTED");
        // Each switch is lifted by itself, by an operator.
        let resume = |group: Option<&str>| Act::Resume { group: group.map(str::to_owned), because: "out".to_owned() };
        let mut lift = |actor: Actor, group: Option<&str>| {
            let done = stopped.change(actor, resume(group));
            done.answer.findings.first().map_or("", |finding| finding.code.as_str()).to_owned()
        };
        let ann = || Actor::Operator("ann".to_owned());
        assert_eq!(lift(ann(), None), "");
        assert_eq!(lift(ann(), Some("floor")), "NOT_HALTED");
        assert_eq!(lift(Actor::Monitor("m".to_owned()), Some("desk")), "NOT_AUTHORIZED");
        stopped = stopped.check("REJECT GROUP_HALTED");
        stopped.change(ann(), resume(Some("desk")));
        stopped.check("ACCEPT");
    }

    #[test]
    fn a_token_must_be_the_agents_own_and_young_enough() {
        let case = case().session("right", "2026-01-01T01:00:00Z").at("2026-01-01T00:30:00Z");
        let case = case.token("right").amount(1).check("ACCEPT");
        let case = case.token("wrong").amount(2).check("REJECT SESSION_INVALID");
        case.at("2026-01-01T01:00:00.000001Z").token("right").amount(3).check("REJECT SESSION_INVALID");
    }
}
