//! The independent checker: reads the ledger, the rows and the other side's log, and calls none of the kernel's rules.

mod legal;

use super::provider::{Became, Logged};
use crate::memory::MemoryStore;
use crate::ports::store::{Reader, StoredRecord};
use kernel::intent::provider_key;
use kernel::json::{Bounds, Json};
use kernel::time::Instant;
use kernel::world::{Entity, Key, Row};
use legal::Via;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What must hold, by the names tables use.
pub const INVARIANTS: &[&str] = &[
    "one_effect",
    "succeeded_is_true",
    "failed_is_true",
    "marked_before_sent",
    "sent_what_was_accepted",
    "capacity",
    "counters_are_sums",
    "no_start_after_stop",
    "no_accept_after_stop",
    "no_start_after_time",
    "legal_transitions",
    "rows_match_ledger",
    "gap_free",
    "monotone_instants",
    "acknowledged_is_logged_once",
    "same_key_same_answer",
    "single_owner",
    "healed",
    "replayed",
];

/// A promise that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Which.
    pub invariant: &'static str,
    /// How.
    pub said: String,
}

type Checked = Result<(), Broken>;

/// An intent as the ledger tells it.
#[derive(Clone, Debug)]
struct Seen {
    agent: String,
    class: String,
    key: String,
    effect_key: String,
    /// Resource, amount, whether success uses it up.
    holds: Vec<(String, i64, bool)>,
    valid_until: i64,
    amount: i64,
    undoes: bool,
    state: String,
    epoch: u64,
    lease_until: i64,
    started: BTreeSet<u64>,
    doubts: u64,
    asked: bool,
    retry: bool,
}

/// Everything that was seen.
#[derive(Debug)]
pub struct Checker {
    /// Only what the outside can see: effects, outcomes and books, not the steps between.
    blind: bool,
    tenant: Arc<str>,
    capacities: BTreeMap<String, i64>,
    intents: BTreeMap<String, Seen>,
    suspended: BTreeMap<String, BTreeSet<String>>,
    halted: bool,
    last: i64,
    size: u64,
    decisions: BTreeMap<String, u64>,
    answers: BTreeMap<String, String>,
    /// What people took upon themselves, by provider key.
    words: BTreeMap<String, u64>,
    effects: BTreeMap<String, u64>,
    applied: BTreeMap<String, u64>,
    log: usize,
    /// How often each invariant had something to check.
    pub checked: BTreeMap<&'static str, u64>,
}

fn text<'a>(json: &'a Json, key: &str) -> &'a str {
    json.get(key).and_then(Json::as_text).unwrap_or_default()
}

fn number(json: &Json, key: &str) -> i64 {
    json.get(key).and_then(|number| number.as_number()?.to_i64()).unwrap_or(0)
}

fn count(json: &Json, key: &str) -> u64 {
    u64::try_from(number(json, key)).unwrap_or(0)
}

fn micros(json: &Json, key: &str) -> i64 {
    Instant::parse(text(json, key)).map_or(0, Instant::micros)
}

fn is_live(state: &str) -> bool {
    matches!(state, "READY" | "CLAIMED" | "IN_FLIGHT" | "IN_DOUBT" | "HANDED_OUT" | "UNREPORTED")
}

impl Checker {
    /// Nothing seen yet.
    pub fn new(tenant: Arc<str>, capacities: BTreeMap<String, i64>, blind: bool) -> Checker {
        Checker {
            blind,
            tenant,
            capacities,
            intents: BTreeMap::new(),
            suspended: BTreeMap::new(),
            halted: false,
            last: i64::MIN,
            size: 0,
            decisions: BTreeMap::new(),
            answers: BTreeMap::new(),
            words: BTreeMap::new(),
            effects: BTreeMap::new(),
            applied: BTreeMap::new(),
            log: 0,
            checked: BTreeMap::new(),
        }
    }

    /// Counts a check and says how it went.
    fn holds(&mut self, invariant: &'static str, holds: bool, said: impl FnOnce() -> String) -> Checked {
        *self.checked.entry(invariant).or_default() += 1;
        let seen_from_outside = matches!(
            invariant,
            "one_effect" | "succeeded_is_true" | "failed_is_true" | "capacity" | "healed" | "replayed" | "gap_free"
        );
        if holds || self.blind && !seen_from_outside {
            return Ok(());
        }
        Err(Broken { invariant, said: said() })
    }

    /// Looks at what is new everywhere; the texts of new records.
    pub fn look(&mut self, store: &mut MemoryStore, log: &[Logged]) -> Result<Vec<String>, Broken> {
        self.provider(log)?;
        let fault = |problem: String| Broken { invariant: "gap_free", said: problem };
        let fresh = store.records(self.size, usize::MAX).map_err(|fault_of| fault(fault_of.to_string()))?;
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        let mut touched = BTreeSet::new();
        let mut bodies = Vec::with_capacity(fresh.len());
        for record in fresh {
            bodies.push(self.record(record, &mut touched)?);
        }
        let size = store.size().unwrap_or(0);
        let seen = self.size;
        self.holds("gap_free", size == seen, || format!("{seen} records are there, the ledger says {size}"))?;
        self.books(store)?;
        for name in touched {
            self.row(store, &name)?;
        }
        Ok(bodies)
    }

    fn record(&mut self, record: StoredRecord, touched: &mut BTreeSet<String>) -> Result<String, Broken> {
        let expected = self.size;
        self.holds("gap_free", record.index == expected, || format!("{} follows {expected}", record.index))?;
        self.size += 1;
        let body = record.body.map(|(body, _)| body).unwrap_or_default();
        let json = Json::parse_within(body.as_bytes(), &Bounds::OWN).unwrap_or(Json::Null);
        let at = micros(&json, "at");
        let last = self.last;
        self.holds("monotone_instants", at >= last, || format!("{at} after {last}"))?;
        self.last = at;
        let accepted = text(&json, "verdict") == "ACCEPT";
        match text(&json, "kind") {
            "decision" => self.decision(&json, accepted)?,
            "intent_expired" => {
                let result = json.get("result").cloned().unwrap_or(Json::Null);
                self.moved(text(&result, "intent"), "CANCELLED", Via::Time, &result, at, touched)?;
            }
            "intent_moved" => {
                let result = json.get("result").cloned().unwrap_or(Json::Null);
                self.moved(text(&result, "intent"), text(&result, "state"), Via::Time, &result, at, touched)?;
            }
            kind if accepted => self.change(kind, &json, at, touched)?,
            _ => {}
        }
        Ok(body)
    }

    fn decision(&mut self, json: &Json, accepted: bool) -> Checked {
        let id = text(json, "proposal_id").to_owned();
        *self.decisions.entry(id.clone()).or_default() += 1;
        let twice = self.decisions.get(&id).is_some_and(|times| *times > 1);
        self.holds("acknowledged_is_logged_once", !twice, || format!("{id} was decided twice"))?;
        if !accepted {
            return Ok(());
        }
        let agent = text(json, "agent").to_owned();
        let stopped = self.halted || self.is_suspended(&agent);
        self.holds("no_accept_after_stop", !stopped, || format!("{id} of {agent} was accepted"))?;
        let Some(intent) = json.get("intent").filter(|intent| intent.get("id").is_some()) else { return Ok(()) };
        let params = json.get("proposal").and_then(|proposal| proposal.get("params")).cloned().unwrap_or(Json::Null);
        self.learn(intent, &agent, number(&params, "amount"));
        Ok(())
    }

    fn learn(&mut self, intent: &Json, agent: &str, amount: i64) {
        let holds = intent.get("holds").and_then(Json::as_list).unwrap_or_default();
        let class = text(intent, "class").to_owned();
        let effect_key = text(intent, "effect_key").to_owned();
        let state = if class == "local" { "SUCCEEDED" } else { "READY" };
        let seen = Seen {
            agent: agent.to_owned(),
            key: provider_key(&self.tenant, &effect_key),
            holds: holds
                .iter()
                .map(|hold| (text(hold, "resource").to_owned(), number(hold, "amount"), text(hold, "kind") == "stock"))
                .collect(),
            valid_until: micros(intent, "valid_until"),
            amount,
            undoes: false,
            state: state.to_owned(),
            epoch: 0,
            lease_until: 0,
            started: BTreeSet::new(),
            doubts: 0,
            asked: false,
            retry: false,
            class,
            effect_key,
        };
        self.intents.insert(text(intent, "id").to_owned(), seen);
    }

    fn is_suspended(&self, agent: &str) -> bool {
        self.suspended.get(agent).is_some_and(|by| !by.is_empty())
    }

    fn change(&mut self, kind: &str, json: &Json, at: i64, touched: &mut BTreeSet<String>) -> Checked {
        let command = json.get("command").cloned().unwrap_or(Json::Null);
        let result = json.get("result").cloned().unwrap_or(Json::Null);
        let name = text(&command, "intent").to_owned();
        match kind {
            "restrict" if text(&command, "status") == "SUSPENDED" => {
                let by = self.suspended.entry(text(&command, "agent").to_owned()).or_default();
                by.insert(text(json, "actor").to_owned());
            }
            "lift" => {
                self.suspended.remove(text(&command, "agent"));
            }
            "halt" => self.halted = true,
            "resume" => self.halted = false,
            "claim" => self.claimed(&name, &result, at, touched)?,
            "start" => self.started(&name, &command, &result, at, touched)?,
            "outcome" => {
                let late = result.get("late").is_some();
                let state = text(&result, "state");
                let unchanged = self.intents.get(&name).is_some_and(|seen| seen.state == state);
                if !(late && unchanged) {
                    let via = Via::Outcome { observed: text(&command, "observed"), late };
                    self.moved(&name, state, via, &result, at, touched)?;
                }
            }
            "resolve" => {
                let decision = text(&command, "decision");
                if matches!(decision, "RETRY" | "DID_NOT")
                    && let Some(seen) = self.intents.get(&name)
                {
                    *self.words.entry(seen.key.clone()).or_default() += 1;
                }
                self.moved(&name, text(&result, "state"), Via::Person(decision), &result, at, touched)?;
            }
            "undo" => self.undone(&name, &result),
            "answer" => {
                let intent = json.get("intent").filter(|intent| intent.get("id").is_some()).cloned();
                if let Some(intent) = intent {
                    let amount = intent.get("params").map_or(0, |params| number(params, "amount"));
                    self.learn(&intent, text(&intent, "agent"), amount);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn undone(&mut self, name: &str, result: &Json) {
        let Some(mut seen) = self.intents.get(name).cloned() else { return };
        seen.effect_key = format!("undo:{}", seen.effect_key);
        seen.key = provider_key(&self.tenant, &seen.effect_key);
        seen.holds.clear();
        seen.valid_until = micros(result, "until");
        seen.undoes = true;
        seen.state = text(result, "state").to_owned();
        (seen.epoch, seen.doubts, seen.asked, seen.retry) = (0, 0, false, false);
        seen.started.clear();
        self.intents.insert(text(result, "undo").to_owned(), seen);
    }

    fn claimed(&mut self, name: &str, result: &Json, at: i64, touched: &mut BTreeSet<String>) -> Checked {
        let epoch = count(result, "epoch");
        let before = self.intents.get(name).map_or(0, |seen| seen.epoch);
        self.holds("single_owner", epoch == before + 1, || format!("{name}: epoch {epoch} after {before}"))?;
        self.moved(name, text(result, "state"), Via::Claim, result, at, touched)?;
        if let Some(seen) = self.intents.get_mut(name) {
            seen.epoch = epoch;
            seen.lease_until = micros(result, "lease_until");
        }
        Ok(())
    }

    fn started(
        &mut self,
        name: &str,
        command: &Json,
        result: &Json,
        at: i64,
        touched: &mut BTreeSet<String>,
    ) -> Checked {
        let epoch = count(command, "epoch");
        let Some(seen) = self.intents.get(name).cloned() else { return Ok(()) };
        let first = !seen.started.contains(&epoch);
        self.holds("single_owner", first && epoch == seen.epoch, || {
            format!("{name} started under epoch {epoch}, claimed under {}", seen.epoch)
        })?;
        let stopped = self.halted || !seen.undoes && self.is_suspended(&seen.agent);
        self.holds("no_start_after_stop", !stopped, || format!("{name} of {} started", seen.agent))?;
        if seen.doubts == 0 {
            let in_time = at <= seen.valid_until && at <= seen.lease_until;
            self.holds("no_start_after_time", in_time, || format!("{name} started at {at}"))?;
        }
        self.moved(name, text(result, "state"), Via::Start, result, at, touched)?;
        if let Some(seen) = self.intents.get_mut(name) {
            seen.started.insert(epoch);
        }
        Ok(())
    }

    fn moved(
        &mut self,
        name: &str,
        state: &str,
        via: Via<'_>,
        result: &Json,
        at: i64,
        touched: &mut BTreeSet<String>,
    ) -> Checked {
        let Some(seen) = self.intents.get(name).cloned() else {
            return self.holds("legal_transitions", false, || format!("{name} moved and was never accepted"));
        };
        let is_legal = legal::is_legal(&seen.state, state, via, &seen.class, seen.doubts);
        let from = seen.state.clone();
        let (doubts, class) = (seen.doubts, seen.class.clone());
        self.holds("legal_transitions", is_legal, || {
            format!("{name} {class}: {from} to {state} by {via:?}, {doubts}")
        })?;
        touched.insert(name.to_owned());
        if let Some(seen) = self.intents.get_mut(name) {
            seen.state = state.to_owned();
            seen.doubts += u64::from(state == "IN_DOUBT");
            seen.asked = !text(result, "question").is_empty();
            seen.retry = !text(result, "retry_at").is_empty();
        }
        let applied = self.applied.get(name).copied().unwrap_or(0);
        match state {
            "SUCCEEDED" if !matches!(via, Via::Person(_)) => {
                let there = self.effects.contains_key(&seen.key);
                self.holds("succeeded_is_true", there, || format!("{name} SUCCEEDED at {at}, and nothing happened"))
            }
            "FAILED" | "CANCELLED" => {
                self.holds("failed_is_true", applied == 0, || format!("{name} is {state} at {at}, and it happened"))
            }
            _ => Ok(()),
        }
    }

    /// What is new in the other side's log.
    fn provider(&mut self, log: &[Logged]) -> Checked {
        let fresh: Vec<Logged> = log.iter().skip(self.log).cloned().collect();
        self.log = log.len();
        for Logged { request, became } in fresh {
            let seen = self.intents.get(&request.intent).cloned();
            let marked = seen.as_ref().is_some_and(|seen| seen.started.contains(&request.epoch));
            self.holds("marked_before_sent", marked, || format!("{request:?} was never marked"))?;
            let meant = seen.as_ref().is_some_and(|seen| seen.amount == request.amount && seen.key == request.key);
            self.holds("sent_what_was_accepted", meant, || format!("{request:?} is not what was accepted"))?;
            if became != Became::Applied {
                continue;
            }
            *self.applied.entry(request.intent.clone()).or_default() += 1;
            let times = self.effects.entry(request.key.clone()).or_default();
            *times += 1;
            let times = *times;
            let allowed = 1 + self.words.get(&request.key).copied().unwrap_or(0);
            let effect = seen.as_ref().map(|seen| seen.effect_key.clone()).unwrap_or_default();
            self.holds("one_effect", times <= allowed, || format!("{effect} happened {times} times: {request:?}"))?;
            let over = seen.as_ref().is_some_and(|seen| matches!(seen.state.as_str(), "FAILED" | "CANCELLED"));
            self.holds("failed_is_true", !over, || format!("{} was over, and now it happened", request.intent))?;
        }
        Ok(())
    }

    /// Capacity and counters, from the holds of every intent.
    fn books(&mut self, store: &mut MemoryStore) -> Checked {
        for (resource, capacity) in self.capacities.clone() {
            let (mut held, mut used) = (0, 0);
            for seen in self.intents.values() {
                for (_, amount, stock) in seen.holds.iter().filter(|(name, ..)| *name == resource) {
                    held += if is_live(&seen.state) { *amount } else { 0 };
                    used += if *stock && seen.state == "SUCCEEDED" { *amount } else { 0 };
                }
            }
            if held + used == 0 {
                continue;
            }
            let sum = held + used;
            self.holds("capacity", sum <= capacity, || format!("{resource}: {sum} of {capacity}"))?;
            let key = Key { tenant: self.tenant.clone(), entity: Entity::Resource(resource.clone()) };
            let counters = match store.get(&key) {
                Ok(Some(Row::Resource(row))) => (row.held.to_i64(), row.consumed.to_i64()),
                Ok(_) | Err(_) => (None, None),
            };
            let equal = counters == (Some(held), Some(used));
            self.holds("counters_are_sums", equal, || format!("{resource}: {counters:?}, sums {held} and {used}"))?;
        }
        Ok(())
    }

    fn row(&mut self, store: &mut MemoryStore, name: &str) -> Checked {
        let key = Key { tenant: self.tenant.clone(), entity: Entity::Intent(name.to_owned()) };
        let Some(seen) = self.intents.get(name).cloned() else { return Ok(()) };
        let kept = match store.get(&key) {
            Ok(Some(Row::Intent(row))) => {
                row.running.as_ref().map(|running| (row.state, running.epoch, running.doubts))
            }
            Ok(_) | Err(_) => None,
        };
        let equal = kept.is_some_and(|(state, epoch, doubts)| {
            state.word() == seen.state && epoch == seen.epoch && doubts == seen.doubts
        });
        self.holds("rows_match_ledger", equal, || format!("{name}: {kept:?}, the ledger tells {seen:?}"))
    }

    /// A caller was answered.
    pub fn acknowledged(&mut self, id: &str, key: Option<&str>, line: &str) -> Checked {
        let logged = self.decisions.get(id).copied();
        self.holds("acknowledged_is_logged_once", logged == Some(1), || format!("{id}: {logged:?} records"))?;
        let Some(key) = key else { return Ok(()) };
        match self.answers.get(key).cloned() {
            Some(first) => self.holds("same_key_same_answer", first == line, || format!("{first} and then {line}")),
            None => {
                self.answers.insert(key.to_owned(), line.to_owned());
                Ok(())
            }
        }
    }

    /// Whether anything still waits for a worker.
    pub fn is_busy(&self) -> bool {
        self.intents.values().any(|seen| matches!(seen.state.as_str(), "READY" | "CLAIMED" | "IN_FLIGHT"))
    }

    /// After healing nothing hangs: what is not over has a question or is tried again.
    pub fn healed(&mut self, store: &mut MemoryStore) -> Checked {
        for (name, seen) in self.intents.clone() {
            let open = match seen.state.as_str() {
                "CLAIMED" | "IN_FLIGHT" => false,
                "IN_DOUBT" => seen.retry || seen.asked && self.is_asked(store, &name),
                _ => true,
            };
            let waits = !is_live(&seen.state) || open;
            self.holds("healed", waits, || format!("{name} hangs: {seen:?}"))?;
        }
        Ok(())
    }

    fn is_asked(&self, store: &mut MemoryStore, name: &str) -> bool {
        let key = |entity| Key { tenant: self.tenant.clone(), entity };
        let Ok(Some(Row::Intent(row))) = store.get(&key(Entity::Intent(name.to_owned()))) else { return false };
        let Some(question) = row.running.and_then(|running| running.question) else { return false };
        match store.get(&key(Entity::Escalation(question))) {
            Ok(Some(Row::Escalation(row))) => row.answer.is_none() && row.intent == name,
            Ok(_) | Err(_) => false,
        }
    }

    /// What a replay of the ledger found.
    pub fn replayed(&mut self, same: u64, differs: Option<(u64, String)>) -> Checked {
        let size = self.size;
        let whole = differs.is_none() && same == size;
        self.holds("replayed", whole, || format!("{same} of {size} records are the same: {differs:?}"))
    }

    /// How many effects there were.
    pub fn effects(&self) -> u64 {
        self.effects.values().sum()
    }
}
