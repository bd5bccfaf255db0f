//! What an agent's own process performs: functions, for the agent's own proposals, under a claim in the agent's name.
//! Whatever goes over HTTP or starts a program is for executors, who hold what it takes.

use super::{ChangeOutcome, execution, not_authorized};
use crate::agent::Actor;
use crate::apply::settling::intent_row;
use crate::change::Change;
use crate::contract::Executor;
use crate::intent::IntentRow;
use crate::world::World;
use values::bugs::{self, Bug};

/// The intent, for those who perform what is accepted, and for the agent whose own process does.
pub(super) fn performed<'a>(
    world: &'a World,
    change: &Change,
    name: &str,
    what: &str,
) -> Result<&'a IntentRow, Box<ChangeOutcome>> {
    if let Actor::Agent(agent) = &change.actor
        && let Some(row) = intent_row(world, &change.tenant, name).filter(|row| is_performed_by(row, agent))
    {
        return Ok(row);
    }
    execution::performed(world, change, name, what)
}

fn is_performed_by(row: &IntentRow, agent: &str) -> bool {
    let is_function = row.running.as_deref().is_some_and(|running| match running.order.executor() {
        Some(Executor::Function(_)) => !running.by_host,
        Some(Executor::Http(_) | Executor::Command(_)) => bugs::on(Bug::AgentPerformsAnything),
        Some(Executor::Host) | None => false,
    });
    is_function && row.facts.agent() == agent
}

/// Refuses an agent that speaks for a claim of somebody else.
pub(super) fn demand_own_worker(change: &Change, name: &str, worker: &str) -> Result<(), Box<ChangeOutcome>> {
    if is_worker_of(&change.actor, worker) {
        return Ok(());
    }
    let what = format!("speak for worker `{worker}` about intent `{name}`");
    Err(Box::new(ChangeOutcome::refused(not_authorized(change, what))))
}

/// An agent's workers bear its name: `agent:NAME`, or `agent:NAME/WORKER`.
fn is_worker_of(actor: &Actor, worker: &str) -> bool {
    match actor {
        Actor::Agent(_) => {
            worker.strip_prefix(&actor.text()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        Actor::Kernel | Actor::Operator(_) | Actor::Monitor(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::Actor;
    use crate::change::Act;
    use crate::contract::{EffectClass, Executor};
    use crate::intent::Observed;
    use crate::testing::{Case, case};
    use crate::world::{Entity, Row};
    use values::ids::Digest;
    use values::time::Duration;

    const WORKER: &str = "agent:bot/1";

    fn agent(name: &str) -> Actor {
        Actor::Agent(name.to_owned())
    }

    fn function() -> Executor {
        Executor::Function("pay".to_owned())
    }

    fn digest(case: &Case) -> Digest {
        match case.row(Entity::Intent("i-1".to_owned())) {
            Some(Row::Intent(row)) => row.running.as_ref().unwrap().digest(),
            other => panic!("no intent: {other:?}"),
        }
    }

    fn act(case: &mut Case, actor: Actor, act: Act) -> String {
        let done = case.change(actor, act);
        if done.answer.findings.is_empty() { "done".to_owned() } else { done.answer.reasons().join("+") }
    }

    fn claim(worker: &str) -> Act {
        Act::Claim { intent: "i-1".to_owned(), worker: worker.to_owned(), lease: Duration::from_secs(10) }
    }

    fn start(case: &Case) -> Act {
        Act::Start { intent: "i-1".to_owned(), epoch: 1, attempt: digest(case) }
    }

    fn finish() -> Act {
        let (intent, observed, detail) = ("i-1".to_owned(), Observed::Positive, String::new());
        Act::Outcome { intent, epoch: 1, observed, detail, result: None }
    }

    fn accepted(executor: Executor) -> Case {
        case().once("pay:{amount}").amount(4).run(executor, EffectClass::Opaque).check("ACCEPT")
    }

    /// An intent that somebody claims as a worker, starts and finishes; what each step came to.
    fn check(executor: Executor, steps: [(Actor, &str); 3], expected: &str) {
        let mut case = accepted(executor);
        let [(claims, worker), (starts, _), (finishes, _)] = steps;
        let mut told = vec![act(&mut case, claims, claim(worker))];
        let started = start(&case);
        told.push(act(&mut case, starts, started));
        told.push(act(&mut case, finishes, finish()));
        assert_eq!(told.join(" "), expected);
    }

    #[test]
    fn an_agent_performs_the_functions_of_its_own_proposals() {
        let by = |name: &str, worker: &'static str| [(agent(name), worker), (agent(name), ""), (agent(name), "")];
        check(function(), by("bot", WORKER), "done done done");
        check(function(), by("bot", "agent:bot"), "done done done");
        // Not those of another agent, and not in the name of another worker.
        check(function(), by("eve", "agent:eve/1"), "NOT_AUTHORIZED NOT_AUTHORIZED NOT_AUTHORIZED");
        for worker in ["w", "agent:bo", "agent:bot2", "agent:eve/1", ""] {
            check(function(), by("bot", worker), "NOT_AUTHORIZED CLAIM_LOST CLAIM_LOST");
        }
    }

    #[test]
    fn what_goes_over_http_or_starts_a_program_is_for_executors() {
        let refused = "NOT_AUTHORIZED NOT_AUTHORIZED NOT_AUTHORIZED";
        let bot = || [(agent("bot"), WORKER), (agent("bot"), ""), (agent("bot"), "")];
        check(Executor::Http("POST http://127.0.0.1/pay".to_owned()), bot(), refused);
        check(Executor::Command(vec!["pay".to_owned()]), bot(), refused);
        check(Executor::Host, bot(), refused);
    }

    #[test]
    fn an_agent_does_not_speak_for_the_claim_of_a_worker() {
        let kernel = || (Actor::Kernel, "w");
        check(function(), [kernel(), (agent("bot"), ""), kernel()], "done NOT_AUTHORIZED done");
        check(function(), [kernel(), kernel(), (agent("bot"), "")], "done done NOT_AUTHORIZED");
        check(
            function(),
            [(Actor::Monitor("m".to_owned()), "w"), kernel(), kernel()],
            "NOT_AUTHORIZED CLAIM_LOST CLAIM_LOST",
        );
    }

    #[test]
    fn an_agent_undoes_nothing() {
        let mut case = accepted(function());
        let undo = Act::Undo { intent: "i-1".to_owned(), undo: "u".to_owned(), because: "odd".to_owned() };
        assert_eq!(act(&mut case, agent("bot"), undo), "NOT_AUTHORIZED");
    }
}
