//! The attention of the people who would be asked: looked at only when someone is to be asked, and taken by the question.

use crate::agent::{Actor, AgentStatus, Restriction};
use crate::attention::{Attention, Spent, asked_groups, rule_of, window_of};
use crate::contract::Escalation;
use crate::finding::{Code, Finding, Gate};
use crate::reasons::Reason;
use crate::world::{Key, Row, World};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::time::Instant;

/// Where state says how many questions those take who would be asked.
pub(super) fn rules(tenant: &Arc<str>, rules: &Escalation) -> impl Iterator<Item = Key> {
    asked_groups(rules).map(|group| Key { tenant: tenant.clone(), entity: rule_of(group) })
}

/// What must be known before anyone is asked: the rules, and for a group with one what it was asked so far.
pub(super) fn keys(world: &World, tenant: &Arc<str>, escalation: &Escalation) -> Vec<Key> {
    let ruled = asked_groups(escalation).filter(|group| rule(world, tenant, group).is_some());
    let windows = ruled.map(|group| Key { tenant: tenant.clone(), entity: window_of(group) });
    rules(tenant, escalation).chain(windows).collect()
}

/// The refusal where a group that would be asked has no attention left. Whoever may answer sees the question, so one
/// group without any is enough.
pub(super) fn spent(world: &World, tenant: &Arc<str>, rules: &Escalation, at: Instant) -> Option<Finding> {
    let (group, attention) = asked_groups(rules).find_map(|group| {
        let attention = rule(world, tenant, group)?;
        let taken = world.budget(&Key { tenant: tenant.clone(), entity: window_of(group) });
        let max = Decimal::from(attention.questions);
        let fits =
            attention.questions > 0 && taken.is_none_or(|taken| taken.fits(at, attention.per, Decimal::from(1), max));
        (!fits).then_some((group, attention))
    })?;
    let finding = Finding::reject(Gate::Escalation, Reason::AttentionSpent).with("group", group);
    Some(finding.with("max", attention.questions).with("per", attention.per.to_string()))
}

/// A question takes one of every group that may answer it.
pub(super) fn take(world: &mut World, tenant: &Arc<str>, rules: &Escalation, at: Instant) {
    for group in asked_groups(rules) {
        let Some(attention) = rule(world, tenant, group).filter(|_| !bugs::on(Bug::W03QuestionsUncounted)) else {
            continue;
        };
        let key = Key { tenant: tenant.clone(), entity: window_of(group) };
        let mut taken = world.budget(&key).cloned().unwrap_or_default();
        taken.take(at, attention.per, Decimal::from(1));
        world.put(key, Row::Budget(taken));
    }
}

/// What the group's rule makes of an agent that would have asked.
pub(super) fn tighten(world: &mut World, agent: &Key, rules: &Escalation, at: Instant) {
    let hard = |group: &&str| rule(world, &agent.tenant, group).is_some_and(|rule| rule.spent == Spent::EscalationOnly);
    let Some(group) = asked_groups(rules).find(hard) else { return };
    let Some(row) = world.agent(agent) else { return };
    let by = Actor::Kernel.text();
    if row.restrictions.iter().any(|known| known.status == AgentStatus::EscalationOnly && known.by == by) {
        return;
    }
    let mut row = row.clone();
    row.restrictions.push(Restriction {
        status: AgentStatus::EscalationOnly,
        by,
        because: format!("the attention of group `{group}` is spent"),
        at,
        actions: BTreeSet::new(),
    });
    world.put(agent.clone(), Row::Agent(Box::new(row)));
}

/// Whether it was refused for want of attention.
pub(super) fn is_spent(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.code == Code::Known(Reason::AttentionSpent))
}

fn rule(world: &World, tenant: &Arc<str>, group: &str) -> Option<Attention> {
    let row = world.state(&Key { tenant: tenant.clone(), entity: rule_of(group) })?;
    Attention::from_json(&row.value)
}

#[cfg(test)]
mod tests {
    use crate::agent::Actor;
    use crate::change::Act;
    use crate::testing::{Case, case};
    use values::json::Json;

    /// Everything is asked; the desk takes two questions an hour.
    fn desk(spent: &str) -> Case {
        let rule = format!(r#"{{"attention/desk":{{"questions":2,"per":"1h","spent":"{spent}"}}}}"#);
        case().ask("amount<=50", "BIG").approvers(&["desk"]).state(&rule)
    }

    #[test]
    fn what_is_beyond_the_attention_of_a_group_is_refused() {
        let case = desk("REFUSE").amount(1).check("ESCALATE BIG").amount(2).check("ESCALATE BIG");
        let case = case.amount(3).check("REJECT ATTENTION_SPENT");
        // What is open is not asked again, and so takes nothing and is not refused.
        let case = case.at("2026-01-01T00:59:59Z").amount(4).check("REJECT ATTENTION_SPENT");
        // The window rolls.
        case.at("2026-01-01T01:00:01Z").amount(5).check("ESCALATE BIG");
    }

    #[test]
    fn it_may_hold_the_agent_back_until_an_operator_lifts_that() {
        let case = desk("ESCALATION_ONLY").amount(1).check("ESCALATE BIG");
        let case = case.amount(2).check("ESCALATE BIG");
        let case = case.amount(3).check("REJECT ATTENTION_SPENT");
        let case = case.at("2026-01-01T01:00:01Z").action("look").params("{}");
        let mut case = case.check("ESCALATE AGENT_ESCALATION_ONLY");
        let because = "the desk is back".to_owned();
        let status = crate::agent::AgentStatus::EscalationOnly;
        case.change(Actor::Operator("ann".to_owned()), Act::Lift { agent: "bot".to_owned(), status, because });
        case.check("ACCEPT");
    }

    #[test]
    fn only_a_rule_is_taken_as_one() {
        let mut case = case();
        let write = |value: &str| {
            let value = Json::parse(value.as_bytes()).unwrap();
            Act::Merge(vec![crate::change::Write { key: "attention/desk".to_owned(), value, expect: None }])
        };
        let ann = || Actor::Operator("ann".to_owned());
        for (value, expected) in [("7", "PARAM_INVALID"), ("null", ""), (r#"{"questions":1,"per":"1h"}"#, "")] {
            let answer = case.change(ann(), write(value));
            let code = answer.answer.findings.first().map_or("", |finding| finding.code.as_str());
            assert_eq!(code, expected, "{value}");
        }
    }
}
