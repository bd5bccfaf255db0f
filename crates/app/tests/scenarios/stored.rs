//! A step of a scenario through the runtime, on any store; and answers without the ids that were minted.

use crate::file::Step;
use adapters::advisor::PluginAdvisor;
use kernel::agent::{Actor, AgentStatus};
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::context::Context;
use kernel::event::Event;
use kernel::outcome::Verdict;
use kernel::proposal::Proposal;
use kernel::world::{Entity, Row};
use runtime::memory::ManualClock;
use runtime::ports::advisor::Advisor;
use runtime::ports::store::Store;
use runtime::{Answered, Arrival, Options, Runtime, read_line};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

/// Answers of one step, one line each, judged by the runtime on a store that is opened again at every restart.
pub(crate) fn through_the_runtime(step: &Step, open: impl Fn(Arc<ManualClock>) -> Box<dyn Store>) -> Vec<String> {
    let contract = engines::load::load(&step.contract).unwrap_or_else(|errors| panic!("{errors:#?}")).compiled;
    let contract = Arc::new(contract);
    let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
    let start = || {
        let advisor: Option<Arc<dyn Advisor>> = Some(Arc::new(PluginAdvisor));
        let options = Options { strangers: Some(contract.clone()), advisor, ..Options::default() };
        Runtime::start(open(clock.clone()), options).unwrap()
    };
    let first = start();
    yes(&first.register(operator(), contract.clone(), None, None).wait());
    yes(&first.activate(operator(), contract.clone()).wait());
    take_over(&first, step);
    drop(first);
    let arrival = Arrival { trust_provenance: true, ..Arrival::through(Door::PURE) };
    let mut lines = Vec::new();
    for run in step.runs() {
        let runtime = start();
        for (number, case) in (1..).zip(run) {
            let created_at = Proposal::parse(case.proposal.as_bytes()).ok().and_then(|proposal| proposal.created_at);
            clock.set(created_at.unwrap_or(Instant::PURE_DEFAULT));
            let bytes = case.proposal.as_bytes();
            let pending = match read_line(bytes, number) {
                Ok((proposal, proof)) => runtime.submit(proposal, Arrival { proof, ..arrival.clone() }),
                Err(malformed) => runtime.refuse(bytes, malformed, format!("line-{number}")),
            };
            lines.push(pending.wait().answer.to_line());
        }
    }
    let runtime = start();
    for case in &step.changes {
        assert_eq!(changed(&runtime, &case.proposal), case.expected, "{}", case.name);
    }
    if !step.signed.is_empty() {
        crate::signed::check(&runtime, &contract, &step.signed);
    }
    lines
}

/// Carries out a change and says what came of it; of a frozen context, what it holds.
fn changed(runtime: &Runtime, line: &str) -> String {
    let json = Json::parse(line.as_bytes()).unwrap();
    let word = |key: &str| json.get(key).and_then(Json::as_text).map(str::to_owned);
    let act = if let Some(key) = word("set") {
        let expect = json.get("expect").map(|version| version.to_canonical().parse().unwrap());
        Act::Merge(vec![Write { key, value: json.get("to").unwrap().clone(), expect }])
    } else if let Some(flow) = word("session") {
        Act::Remember { flow, values: json.get("values").unwrap().as_object().unwrap().clone() }
    } else {
        let keys = json.get("keys").unwrap().as_list().unwrap();
        Act::Freeze { flow: word("freeze"), keys: keys.iter().map(|key| key.as_text().unwrap().to_owned()).collect() }
    };
    let answered = runtime.change(operator(), act).wait();
    if answered.answer.verdict != Verdict::Accept {
        return format!("{} {}", answered.answer.verdict.word(), answered.answer.reasons().join(", "));
    }
    let Some(Event::SnapshotFrozen { snapshot, .. }) = answered.event.as_deref() else { return "ACCEPT".to_owned() };
    let Some(Row::Snapshot(frozen)) = runtime.read(Entity::Snapshot(snapshot.clone())).unwrap() else {
        panic!("the snapshot is not there")
    };
    let holds = Json::object([("session", Json::Object(frozen.session)), ("state", Json::Object(frozen.state))]);
    format!("ACCEPT {}", holds.to_canonical())
}

pub(crate) fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn yes(answered: &Answered) {
    assert_eq!(answered.answer.verdict, Verdict::Accept, "{}", answered.answer.to_line());
}

fn take_over(runtime: &Runtime, step: &Step) {
    let context = Json::parse(step.context.as_bytes()).unwrap();
    let context = Context::from_json(&context).unwrap();
    let change = |act| yes(&runtime.change(operator(), act).wait());
    let write = |(key, value)| Write { key, value, expect: None };
    change(Act::Merge(context.state.into_iter().map(write).collect()));
    for (name, snapshot) in context.snapshots {
        change(Act::Import { name, snapshot });
    }
    for (agent, row) in context.agents {
        assert!(row.role.is_none() && row.base == AgentStatus::Active, "a store gets roles from contracts");
        for restriction in row.restrictions {
            change(Act::Restrict {
                agent: agent.clone(),
                status: restriction.status,
                because: restriction.because,
                actions: restriction.actions.into_iter().collect(),
            });
        }
    }
}

/// The lines with every minted id replaced by its number in order of appearance: equal ids stay equal.
pub(crate) fn without_ids(step: &Step, lines: &[String]) -> Vec<String> {
    let given: String = step.cases.iter().map(|case| case.proposal.as_str()).collect();
    let mut minted: Vec<String> = Vec::new();
    let mut replace = |line: &String| {
        let mut text = line.clone();
        for start in 0..line.len() {
            let Some(id) = line.get(start..start + 36).filter(|id| is_id(id) && !given.contains(id)) else { continue };
            let number = minted.iter().position(|known| known == id).unwrap_or_else(|| {
                minted.push(id.to_owned());
                minted.len() - 1
            });
            text = text.replace(id, &format!("<{number}>"));
        }
        text
    };
    lines.iter().map(&mut replace).collect()
}

fn is_id(text: &str) -> bool {
    let fits = |(index, byte): (usize, u8)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.bytes().enumerate().all(fits)
}
