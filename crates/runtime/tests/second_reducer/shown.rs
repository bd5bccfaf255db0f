//! What is there in the end, in the same plain words for the kernel's world and for the second reducer.

use crate::contracts::{HOUR, SECOND};
use crate::harness::{Harness, Library, key_of};
use crate::reducer::Reducer;
use kernel::canary::Share;
use kernel::flow::Latest;
use kernel::person::person_key_text;
use kernel::world::{Entity, Row};
use std::collections::{BTreeMap, BTreeSet};
use values::time::{Duration, Instant};

pub type Shown = BTreeMap<String, String>;

/// The window of a budget; its name says it.
fn window(budget: &str) -> i64 {
    if budget.ends_with("10m") { 600 * SECOND } else { HOUR }
}

/// The kernel's world at an instant.
pub fn of_world(harness: &Harness<'_>, library: &Library, at: i64) -> Shown {
    let at = Instant::from_micros(at);
    let contract = |digest: Option<values::ids::Digest>| digest.map(|digest| library.name_of(digest).to_owned());
    let show = |(key, row): (&kernel::world::Key, &Row)| {
        let name = key.entity.parts().0;
        let line = match row {
            Row::Tenant(row) if row.halted.is_some() || !row.halted_groups.is_empty() => {
                ("halted".to_owned(), format!("{} {:?}", row.halted.is_some(), row.halted_groups.keys()))
            }
            Row::Agent(row) => {
                let status = row.status().word();
                let canary = row
                    .canary
                    .as_ref()
                    .map(|canary| (library.name_of(canary.contract).to_owned(), canary.share.to_string()));
                let (in_force, offered) = (contract(row.contract), contract(row.offered));
                (format!("agent {name}"), format!("{status} {in_force:?} {offered:?} {canary:?}"))
            }
            Row::Flow(row) => {
                let state = row.state.word();
                let lineage = format!("{} {:?} {}", row.agent, row.parent(), row.above.len());
                let spent = format!("{} {} {}", row.steps, row.rejected, row.tokens);
                let latest = match &row.latest {
                    None => "",
                    Some(Latest::Rejected) => "rejected",
                    Some(Latest::Done) => "done",
                    Some(Latest::Intent(name) | Latest::Question(name)) => name,
                };
                let open = format!("{:?} {:?} {latest}", row.intents, row.questions);
                (format!("flow {name}"), format!("{state} {lineage} {spent} {open}"))
            }
            Row::Escalation(row) if row.kind == kernel::escalation::QuestionKind::Doubt => return None,
            Row::Escalation(row) => {
                let votes: BTreeSet<&String> = row.votes.iter().map(|vote| &vote.person).collect();
                (format!("question {name}"), format!("{} {votes:?}", row.state.word()))
            }
            Row::Intent(row) => {
                let valid_until = row.facts.valid_until().micros();
                let (epoch, doubts) = row.running.as_ref().map_or((0, 0), |running| (running.epoch, running.doubts));
                let asked = row.running.as_ref().is_some_and(|running| running.question.is_some());
                let told = format!("{} until {valid_until} {epoch} {doubts} {asked}", row.state.word());
                (format!("intent {name}"), told)
            }
            Row::Effect(row) if !row.intent.is_empty() => {
                (format!("effect of {}", row.intent), format!("{}", row.done))
            }
            Row::Resource(row) => {
                let live = row.flows.iter().filter(|(_, hold)| hold.counts(at));
                let flows: BTreeMap<&String, String> =
                    live.map(|(flow, hold)| (flow, hold.amount.to_string())).collect();
                let told = format!("{} {} {:?} {flows:?}", row.held, row.consumed, row.declared);
                (format!("resource {name}"), told)
            }
            Row::Budget(row) => {
                let Entity::Budget(agent, budget) = &key.entity else { panic!("a budget has a budget's key") };
                let used = row.used(at, Duration::from_micros(window(budget))).unwrap();
                if used.is_zero() {
                    return None;
                }
                (format!("budget {agent} {budget}"), used.to_string())
            }
            Row::State(row) => (format!("state {name}"), format!("{} {}", row.value.to_canonical(), row.version)),
            Row::Tenant(_)
            | Row::Effect(_)
            | Row::Idempotency(_)
            | Row::Asked(_)
            | Row::Monitor(_)
            | Row::Contract(_)
            | Row::Session(_)
            | Row::Snapshot(_) => return None,
        };
        Some(line)
    };
    let mut shown: Shown = harness.world.iter().filter_map(show).collect();
    for (_, row) in harness.world.iter() {
        if let Row::Tenant(row) = row {
            let (kept, before) = (row.keys_kept.map(Duration::micros), row.keys_before.map(Instant::micros));
            shown.insert("keys".to_owned(), format!("{kept:?} {before:?}"));
        }
    }
    shown.retain(|name, keys| name != "keys" || keys != "None None");
    shown
}

/// The second reducer at an instant.
pub fn of_reducer(reducer: &Reducer, at: i64) -> Shown {
    let mut shown = Shown::new();
    if reducer.halted || !reducer.halted_groups.is_empty() {
        let groups: Vec<&String> = reducer.halted_groups.iter().collect();
        shown.insert("halted".to_owned(), format!("{} {groups:?}", reducer.halted));
    }
    if reducer.keys_kept.is_some() || reducer.keys_before.is_some() {
        shown.insert("keys".to_owned(), format!("{:?} {:?}", reducer.keys_kept, reducer.keys_before));
    }
    for (name, agent) in &reducer.agents {
        let percent = |share: u64| Share::parse(&format!("{}.{:02}%", share / 100, share % 100)).unwrap().to_string();
        let canary = agent.canary.as_ref().map(|canary| (&canary.contract, percent(canary.share)));
        let text = format!("{} {:?} {:?} {canary:?}", agent.status(), agent.contract, Some(&agent.offered));
        shown.insert(format!("agent {name}"), text);
    }
    for (name, flow) in &reducer.flows {
        let (steps, failed, tokens) = reducer.spent(name);
        let text = format!("{} {} {:?} {} {steps} {failed} {tokens}", flow.state, flow.agent, flow.parent, flow.depth);
        let waits = ["READY", "CLAIMED", "IN_FLIGHT", "IN_DOUBT", "HANDED_OUT"];
        let intents = reducer.intents.iter().filter(|intent| intent.flow == *name && intent.owed);
        let intents = intents.filter(|intent| intent.undoes.is_none() && waits.contains(&intent.state));
        let intents: Vec<&String> = intents.map(|intent| &intent.name).collect();
        let questions = reducer.questions.iter().filter(|asked| asked.flow == *name && asked.state == "OPEN");
        let questions: Vec<&String> = questions.map(|question| &question.name).collect();
        shown.insert(format!("flow {name}"), format!("{text} {intents:?} {questions:?} {}", flow.latest));
    }
    for question in &reducer.questions {
        let votes: BTreeSet<&String> = question.votes.keys().collect();
        shown.insert(format!("question {}", question.name), format!("{} {votes:?}", question.state));
    }
    for intent in &reducer.intents {
        let asked = reducer.doubts.iter().any(|doubt| doubt.intent == intent.name && doubt.open);
        let (doubts, epoch) = (if intent.owed { intent.doubts } else { 0 }, intent.epoch);
        let told = format!("{} until {} {epoch} {doubts} {asked}", intent.state, intent.valid_until);
        shown.insert(format!("intent {}", intent.name), told);
        if !["FAILED", "CANCELLED", "ABANDONED"].contains(&intent.state) {
            shown.insert(format!("effect of {}", intent.name), format!("{}", intent.state == "SUCCEEDED"));
        }
    }
    for (name, flows) in reducer.resources_held(at) {
        let declared = reducer.declared.get(&name);
        let declared =
            declared.map(|(stock, capacity)| format!("{} of {capacity}", if *stock { "stock" } else { "slots" }));
        let flows: BTreeMap<&String, String> = flows.iter().map(|(flow, amount)| (flow, amount.to_string())).collect();
        let text = format!("{} {} {declared:?} {flows:?}", reducer.held(&name), reducer.consumed(&name));
        shown.insert(format!("resource {name}"), text);
    }
    for taking in &reducer.takings {
        let used = reducer.used(&taking.agent, &taking.budget, window(&taking.budget), at);
        if used > 0 {
            shown.insert(format!("budget {} {}", taking.agent, taking.budget), used.to_string());
        }
    }
    for asked in &reducer.questions {
        let agent = &asked.proposal.agent;
        let same = reducer.questions.iter().filter(|other| other.proposal.agent == *agent);
        let live = same.filter(|other| other.asked_at > at - HOUR).count();
        if live > 0 {
            shown.insert(format!("budget {agent} escalations"), live.to_string());
        }
    }
    for (person, (groups, said)) in &reducer.people {
        let mut groups: Vec<String> = groups.iter().map(|group| format!("\"{group}\"")).collect();
        groups.sort();
        let key = person_key_text(&key_of(person).public());
        let told = format!("{{\"groups\":[{}],\"key\":\"{key}\"}} {said}", groups.join(","));
        shown.insert(format!("state people/{person}"), told);
    }
    if let Some(book) = reducer.shown_leases() {
        shown.insert("state leases/book".to_owned(), book);
    }
    for (key, (value, version)) in &reducer.state {
        shown.insert(format!("state {key}"), format!("{value} {version}"));
    }
    shown
}
