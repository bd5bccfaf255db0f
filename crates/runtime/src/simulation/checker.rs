//! The independent checker: reads the ledger, the rows and the other side's log, and calls none of the kernel's rules.

mod governed;
mod legal;

use super::acting::{TILL, TILL_AMOUNT};
use super::faults::Looks;
use super::provider::{Asks, Became, Logged};
use super::stage::Call;
use crate::memory::MemoryStore;
use crate::ports::store::{Reader, StoredRecord};
use governed::Governed;
use kernel::intent::provider_key;
use kernel::record::RecordKind;
use kernel::world::{Entity, Row};
use legal::Via;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::decimal::Decimal;
use values::json::{Bounds, Json};
use values::time::Instant;

/// What must hold, by the names tables use.
pub const INVARIANTS: &[&str] = &[
    "one_effect",
    "one_question",
    "succeeded_is_true",
    "failed_is_true",
    "marked_before_sent",
    "sent_what_was_accepted",
    "capacity",
    "counters_are_sums",
    "no_start_after_stop",
    "no_start_after_abort",
    "no_accept_after_stop",
    "no_start_after_time",
    "legal_transitions",
    "rows_match_ledger",
    "gap_free",
    "monotone_instants",
    "acknowledged_is_logged_once",
    "same_key_same_answer",
    "single_owner",
    "contract_of_flow",
    "attention_kept",
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
struct LedgerIntent {
    agent: String,
    flow: String,
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

/// A question whether something may happen, as the ledger tells it.
#[derive(Clone, Debug)]
struct LedgerQuestion {
    id: String,
    flow: String,
    deadline: i64,
    open: bool,
    /// Whether a person said no.
    denied: bool,
}

/// Everything that was seen.
#[derive(Debug)]
pub struct Checker {
    /// Only what the outside can see: effects, outcomes and books, not the steps between.
    blind: bool,
    tenant: Arc<str>,
    capacities: BTreeMap<String, i64>,
    intents: BTreeMap<String, LedgerIntent>,
    /// The last question of an agent about an effect with certain params.
    questions: BTreeMap<(String, String), LedgerQuestion>,
    suspended: BTreeMap<String, BTreeSet<String>>,
    halted: bool,
    governed: Governed,
    /// The flow each child flow came out of.
    parents: BTreeMap<String, String>,
    aborted: BTreeSet<String>,
    last: i64,
    size: u64,
    decisions: BTreeMap<String, u64>,
    answers: BTreeMap<String, String>,
    /// What people took upon themselves, by provider key.
    words: BTreeMap<String, u64>,
    effects: BTreeMap<String, u64>,
    applied: BTreeMap<String, u64>,
    log: usize,
    /// What is held and used up of each resource, kept up to date with every step; summed anew now and then.
    sums: BTreeMap<String, Sums>,
    summed: u64,
    /// How often each invariant was looked at, and how often it was at stake.
    pub checked: BTreeMap<&'static str, Looks>,
}

/// Records after which the sums are formed anew from every intent.
const SUMMED_EVERY: u64 = 64;

/// What intents have of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sums {
    held: i64,
    used: i64,
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

/// Enters what an intent has of its resources into sums, or takes it out again.
fn enter(sums: &mut BTreeMap<String, Sums>, seen: &LedgerIntent, sign: i64) {
    let (live, succeeded) = (is_live(&seen.state), seen.state == "SUCCEEDED");
    for (resource, amount, stock) in &seen.holds {
        if !sums.contains_key(resource) {
            sums.insert(resource.clone(), Sums::default());
        }
        let Some(of) = sums.get_mut(resource) else { continue };
        of.held += if live { sign * amount } else { 0 };
        of.used += if *stock && succeeded { sign * amount } else { 0 };
    }
}

fn is_live(state: &str) -> bool {
    matches!(state, "READY" | "CLAIMED" | "IN_FLIGHT" | "IN_DOUBT" | "HANDED_OUT" | "UNREPORTED")
}

impl Checker {
    /// Nothing seen yet.
    pub fn new(
        tenant: Arc<str>,
        capacities: BTreeMap<String, i64>,
        groups: BTreeMap<String, String>,
        blind: bool,
    ) -> Checker {
        Checker {
            blind,
            tenant,
            capacities,
            intents: BTreeMap::new(),
            questions: BTreeMap::new(),
            suspended: BTreeMap::new(),
            halted: false,
            governed: Governed::of(groups),
            parents: BTreeMap::new(),
            aborted: BTreeSet::new(),
            last: i64::MIN,
            size: 0,
            decisions: BTreeMap::new(),
            answers: BTreeMap::new(),
            words: BTreeMap::new(),
            effects: BTreeMap::new(),
            applied: BTreeMap::new(),
            log: 0,
            sums: BTreeMap::new(),
            summed: 0,
            checked: BTreeMap::new(),
        }
    }

    /// Counts a look and says how it went. An invariant is at stake where something was about to break it: a second
    /// request, a start of someone who was stopped, a clock behind the ledger.
    fn holds(
        &mut self,
        invariant: &'static str,
        at_stake: bool,
        holds: bool,
        said: impl FnOnce(&Checker) -> String,
    ) -> Checked {
        let looks = self.checked.entry(invariant).or_default();
        looks.times += 1;
        looks.at_stake += u64::from(at_stake);
        let seen_from_outside = matches!(
            invariant,
            "one_effect" | "succeeded_is_true" | "failed_is_true" | "capacity" | "healed" | "replayed" | "gap_free"
        );
        if holds || self.blind && !seen_from_outside {
            return Ok(());
        }
        Err(Broken { invariant, said: said(self) })
    }

    /// Looks at what is new everywhere; the leaves of new records.
    pub fn look(&mut self, store: &mut MemoryStore, log: &[Logged]) -> Result<Vec<String>, Broken> {
        self.provider(log)?;
        let fault = |problem: String| Broken { invariant: "gap_free", said: problem };
        let fresh = store.records(self.size, usize::MAX).map_err(|fault_of| fault(fault_of.to_string()))?;
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        let mut touched = BTreeSet::new();
        let mut leaves = Vec::with_capacity(fresh.len());
        for record in fresh {
            self.record(&record, &mut touched)?;
            leaves.push(record.leaf);
        }
        let size = store.size().unwrap_or(0);
        let seen = self.size;
        self.holds("gap_free", true, size == seen, |_| format!("{seen} records are there, the ledger says {size}"))?;
        if self.size >= self.summed + SUMMED_EVERY {
            self.sum_anew()?;
        }
        self.books(store)?;
        for name in touched {
            self.row(store, &name)?;
        }
        Ok(leaves)
    }

    fn record(&mut self, record: &StoredRecord, touched: &mut BTreeSet<String>) -> Checked {
        let expected = self.size;
        self.holds("gap_free", true, record.index == expected, |_| format!("{} follows {expected}", record.index))?;
        self.size += 1;
        let body = record.body.as_ref().map(|(body, _)| body.as_str()).unwrap_or_default();
        let json = Json::parse_within(body.as_bytes(), &Bounds::OWN).unwrap_or(Json::Null);
        let at = micros(&json, "at");
        let last = self.last;
        // A clock that is behind moves the ledger by the least there is.
        let behind = at == last.saturating_add(1);
        self.holds("monotone_instants", behind, at >= last, |_| format!("{at} after {last}"))?;
        self.last = at;
        let accepted = text(&json, "verdict") == "ACCEPT";
        let result = json.get("result").unwrap_or(&Json::Null);
        let kind = text(&json, "kind");
        if kind == "monitor_tripped" {
            self.governed.tripped(result);
            return Ok(());
        }
        let checked = self.happened(kind, &json, (accepted, at), touched);
        if RecordKind::of(&json).is_some_and(|kind| matches!(kind, RecordKind::Decision | RecordKind::Change(_))) {
            // An alarm stands before what caused it, and holds back what comes after that.
            for (agent, monitor) in self.governed.take_alarms() {
                self.suspended.entry(agent).or_default().insert(monitor);
            }
        }
        checked
    }

    fn happened(
        &mut self,
        kind: &str,
        json: &Json,
        (accepted, at): (bool, i64),
        touched: &mut BTreeSet<String>,
    ) -> Checked {
        let result = json.get("result").unwrap_or(&Json::Null);
        match kind {
            "decision" => self.decision(json, accepted),
            "question_expired" | "question_aborted" => {
                self.question_over(text(result, "question"), false);
                Ok(())
            }
            "intent_expired" => self.moved(text(result, "intent"), "CANCELLED", Via::Time, result, touched),
            "intent_moved" => self.moved(text(result, "intent"), text(result, "state"), Via::Time, result, touched),
            "result" => {
                let known = self.intents.contains_key(text(json, "intent"));
                self.holds("legal_transitions", false, known, |_| "a result of nothing that was accepted".to_owned())
            }
            kind if accepted => self.change(kind, json, at, touched),
            kind => {
                self.refused(kind, json, at);
                Ok(())
            }
        }
    }

    /// What was refused shows which promises somebody tried to break.
    fn refused(&mut self, kind: &str, json: &Json, at: i64) {
        let command = json.get("command").unwrap_or(&Json::Null);
        let Some(seen) = self.intents.get(text(command, "intent")) else { return };
        let (mut stopped, mut late, mut foreign) = (false, false, false);
        let aborted = matches!(kind, "claim" | "start") && !seen.undoes && self.is_aborted(&seen.flow);
        if kind == "start" {
            stopped = self.is_halted(&seen.agent) || !seen.undoes && self.is_suspended(&seen.agent);
            late = seen.doubts == 0 && (at > seen.valid_until || at > seen.lease_until);
        }
        if matches!(kind, "start" | "outcome") {
            foreign = count(command, "epoch") != seen.epoch;
        }
        let stakes = [
            ("no_start_after_stop", stopped),
            ("no_start_after_abort", aborted),
            ("no_start_after_time", late),
            ("single_owner", foreign),
        ];
        for (invariant, at_stake) in stakes {
            self.checked.entry(invariant).or_default().at_stake += u64::from(at_stake);
        }
    }

    fn decision(&mut self, json: &Json, accepted: bool) -> Checked {
        let id = text(json, "proposal_id").to_owned();
        *self.decisions.entry(id.clone()).or_default() += 1;
        let twice = self.decisions.get(&id).is_some_and(|times| *times > 1);
        self.holds("acknowledged_is_logged_once", false, !twice, |_| format!("{id} was decided twice"))?;
        let agent = text(json, "agent");
        let stopped = self.is_halted(agent) || self.is_suspended(agent) || self.is_aborted(text(json, "flow"));
        self.holds("no_accept_after_stop", stopped, !(accepted && stopped), |_| {
            format!("{id} of {agent} was accepted")
        })?;
        let (tried, right) = self.governed.is_right(json);
        self.holds("contract_of_flow", tried, right, |_| format!("{id} was judged under another contract"))?;
        if !accepted {
            return self.asked(json);
        }
        let Some(intent) = json.get("intent").filter(|intent| intent.get("id").is_some()) else { return Ok(()) };
        let params = json.get("proposal").and_then(|proposal| proposal.get("params")).unwrap_or(&Json::Null);
        self.learn(intent, (agent, text(json, "flow")), number(params, "amount"));
        Ok(())
    }

    /// Nobody is asked twice about one thing at a time, nor again by a retry after a no.
    fn asked(&mut self, json: &Json) -> Checked {
        let (proposal, empty) = (json.get("proposal").unwrap_or(&Json::Null), Json::Null);
        let params = proposal.get("params").unwrap_or(&empty);
        let (flow, amount, at) = (text(json, "flow").to_owned(), number(params, "amount"), self.last);
        let what = format!("{} {} {amount}", text(proposal, "action"), text(params, "order"));
        let subject = (text(json, "agent").to_owned(), what);
        let before = self.questions.get(&subject).cloned();
        let is_open = before.as_ref().is_some_and(|before| before.open && at <= before.deadline);
        let is_denied = before.as_ref().is_some_and(|before| {
            let is_again = if text(proposal, "flow").is_empty() { at <= before.deadline } else { flow == before.flow };
            before.denied && is_again
        });
        let codes = json.get("findings").and_then(Json::as_list).unwrap_or_default().iter();
        let refused = codes.filter(|finding| text(finding, "effect") == "reject").count() > 0;
        let Some(escalation) = json.get("escalation").filter(|_| !refused) else {
            self.checked.entry("one_question").or_default().at_stake += u64::from(is_open || is_denied);
            return Ok(());
        };
        let id = text(escalation, "id").to_owned();
        if escalation.get("repeated").is_some() {
            let same = is_open && before.is_some_and(|before| before.id == id);
            return self.holds("one_question", true, same, |_| format!("{id} is not the open question of {subject:?}"));
        }
        let stands = is_open || is_denied;
        self.holds("one_question", stands, !stands, |_| format!("{subject:?} is asked about again in {id}"))?;
        let (scarce, kept) = self.governed.asked(at);
        self.holds("attention_kept", scarce, kept, |_| format!("{id} is one question too many"))?;
        let deadline = micros(escalation, "deadline");
        self.questions.insert(subject, LedgerQuestion { id, flow, deadline, open: true, denied: false });
        Ok(())
    }

    fn question_over(&mut self, id: &str, denied: bool) {
        if let Some(question) = self.questions.values_mut().find(|question| question.id == id) {
            (question.open, question.denied) = (false, denied);
        }
    }

    fn learn(&mut self, intent: &Json, (agent, flow): (&str, &str), amount: i64) {
        let holds = intent.get("holds").and_then(Json::as_list).unwrap_or_default();
        let class = text(intent, "class").to_owned();
        let effect_key = text(intent, "effect_key").to_owned();
        let state = if class == "local" { "SUCCEEDED" } else { "READY" };
        // Who tries an effect again comes with a higher fence than all before.
        let before = self.intents.values().filter(|other| other.effect_key == effect_key);
        let epoch = before.map(|other| other.epoch).max().unwrap_or_default();
        let seen = LedgerIntent {
            agent: agent.to_owned(),
            flow: flow.to_owned(),
            key: provider_key(&self.tenant, &effect_key),
            holds: holds
                .iter()
                .map(|hold| (text(hold, "resource").to_owned(), number(hold, "amount"), text(hold, "kind") == "stock"))
                .collect(),
            valid_until: micros(intent, "valid_until"),
            amount,
            undoes: false,
            state: state.to_owned(),
            epoch,
            lease_until: 0,
            started: BTreeSet::new(),
            doubts: 0,
            asked: false,
            retry: false,
            class,
            effect_key,
        };
        enter(&mut self.sums, &seen, 1);
        self.intents.insert(text(intent, "id").to_owned(), seen);
    }

    fn is_halted(&self, agent: &str) -> bool {
        self.halted || self.governed.is_halted(agent)
    }

    fn is_suspended(&self, agent: &str) -> bool {
        self.suspended.get(agent).is_some_and(|by| !by.is_empty())
    }

    fn change(&mut self, kind: &str, json: &Json, at: i64, touched: &mut BTreeSet<String>) -> Checked {
        let command = json.get("command").unwrap_or(&Json::Null);
        let result = json.get("result").unwrap_or(&Json::Null);
        let name = text(command, "intent");
        match kind {
            "restrict" if text(command, "status") == "SUSPENDED" => {
                let by = self.suspended.entry(text(command, "agent").to_owned()).or_default();
                by.insert(text(json, "actor").to_owned());
            }
            "lift" => {
                self.suspended.remove(text(command, "agent"));
            }
            "open_flow" if !text(command, "parent").is_empty() => {
                self.parents.insert(text(command, "flow").to_owned(), text(command, "parent").to_owned());
            }
            "end_flow" if text(result, "state") == "ABORTED" => self.flow_aborted(text(command, "flow"))?,
            "halt" if text(command, "group").is_empty() => self.halted = true,
            "resume" if text(command, "group").is_empty() => self.halted = false,
            "halt" | "resume" | "activate" | "start_canary" | "promote_canary" | "roll_back_canary" | "merge_state" => {
                self.governed.change(kind, json);
            }
            "claim" => self.claimed(name, result, touched)?,
            "start" => self.started(name, command, result, at, touched)?,
            "outcome" => {
                let late = result.get("late").is_some();
                let state = text(result, "state");
                let unchanged = self.intents.get(name).is_some_and(|seen| seen.state == state);
                if !(late && unchanged) {
                    let via = Via::Outcome { observed: text(command, "observed"), late };
                    self.moved(name, state, via, result, touched)?;
                }
            }
            "resolve" => {
                let decision = text(command, "decision");
                if matches!(decision, "RETRY" | "DID_NOT")
                    && let Some(seen) = self.intents.get(name)
                {
                    *self.words.entry(seen.key.clone()).or_default() += 1;
                }
                self.moved(name, text(result, "state"), Via::Person(decision), result, touched)?;
            }
            "undo" => self.undone(name, result),
            "answer" => {
                self.question_over(text(command, "question"), text(command, "decision") == "ABORT");
                if let Some(intent) = json.get("intent").filter(|intent| intent.get("id").is_some()) {
                    let amount = intent.get("params").map_or(0, |params| number(params, "amount"));
                    self.learn(intent, (text(intent, "agent"), text(intent, "flow")), amount);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a flow or one above it was aborted.
    fn is_aborted(&self, flow: &str) -> bool {
        self.aborted.contains(flow) || self.parents.get(flow).is_some_and(|parent| self.is_aborted(parent))
    }

    /// The records before this one have called everything off that was not started.
    fn flow_aborted(&mut self, flow: &str) -> Checked {
        self.aborted.insert(flow.to_owned());
        let waits = |seen: &&LedgerIntent| !seen.undoes && matches!(seen.state.as_str(), "READY" | "CLAIMED");
        let own = self.intents.values().filter(|seen| seen.flow == flow);
        let (had, left) = (own.clone().count() > 0, own.filter(waits).count());
        self.holds("no_start_after_abort", had, left == 0, |_| format!("{left} intents of {flow} still wait"))
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

    fn claimed(&mut self, name: &str, result: &Json, touched: &mut BTreeSet<String>) -> Checked {
        let epoch = count(result, "epoch");
        let before = self.intents.get(name).map_or(0, |seen| seen.epoch);
        self.holds("single_owner", before > 0, epoch == before + 1, |_| {
            format!("{name}: epoch {epoch} after {before}")
        })?;
        self.moved(name, text(result, "state"), Via::Claim, result, touched)?;
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
        let Some(seen) = self.intents.get(name) else { return Ok(()) };
        let claimed = seen.epoch;
        let first = !seen.started.contains(&epoch);
        let stopped = self.is_halted(&seen.agent) || !seen.undoes && self.is_suspended(&seen.agent);
        let aborted = !seen.undoes && self.is_aborted(&seen.flow);
        let fresh = seen.doubts == 0;
        let in_time = at <= seen.valid_until && at <= seen.lease_until;
        self.holds("single_owner", claimed > 1, first && epoch == claimed, |_| {
            format!("{name} started under epoch {epoch}, claimed under {claimed}")
        })?;
        self.holds("no_start_after_stop", false, !stopped, |_| format!("{name} was started by someone stopped"))?;
        self.holds("no_start_after_abort", false, !aborted, |_| format!("{name} was started in an aborted flow"))?;
        if fresh {
            self.holds("no_start_after_time", false, in_time, |_| format!("{name} started at {at}"))?;
        }
        self.moved(name, text(result, "state"), Via::Start, result, touched)?;
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
        touched: &mut BTreeSet<String>,
    ) -> Checked {
        let Checker { intents, sums, .. } = self;
        let Some(seen) = intents.get_mut(name) else {
            return self.holds("legal_transitions", true, false, |_| format!("{name} moved and was never accepted"));
        };
        let is_legal = legal::is_legal(&seen.state, state, via, &seen.class, seen.doubts);
        enter(sums, seen, -1);
        let from = std::mem::replace(&mut seen.state, state.to_owned());
        enter(sums, seen, 1);
        seen.doubts += u64::from(state == "IN_DOUBT");
        seen.asked = !text(result, "question").is_empty();
        seen.retry = !text(result, "retry_at").is_empty();
        let there = self.effects.contains_key(&seen.key);
        let sent = !seen.started.is_empty();
        touched.insert(name.to_owned());
        self.holds("legal_transitions", true, is_legal, |all| {
            format!("{name}: {from} to {state} by {via:?}: {:?}", all.intents.get(name))
        })?;
        let applied = self.applied.get(name).copied().unwrap_or(0);
        match state {
            "SUCCEEDED" if !matches!(via, Via::Person(_)) => {
                self.holds("succeeded_is_true", true, there, |_| format!("{name} SUCCEEDED, and nothing happened"))
            }
            "FAILED" | "CANCELLED" => {
                self.holds("failed_is_true", sent, applied == 0, |_| format!("{name} is {state}, and it happened"))
            }
            _ => Ok(()),
        }
    }

    /// What is new in the other side's log.
    fn provider(&mut self, log: &[Logged]) -> Checked {
        let fresh = log.get(self.log..).unwrap_or_default();
        self.log = log.len();
        for Logged { request, became } in fresh {
            let seen = self.intents.get(&request.intent);
            let marked = seen.is_some_and(|seen| seen.started.contains(&request.epoch));
            let meant = seen.is_some_and(|seen| seen.amount == request.amount && seen.key == request.key);
            let over = seen.is_some_and(|seen| matches!(seen.state.as_str(), "FAILED" | "CANCELLED"));
            self.holds("marked_before_sent", true, marked, |_| format!("{request:?} was never marked"))?;
            self.holds("sent_what_was_accepted", true, meant, |_| format!("{request:?} is not what was accepted"))?;
            let applied = *became == Became::Applied;
            let times = self.effects.get(&request.key).copied().unwrap_or(0) + u64::from(applied);
            let again = request.asks == Asks::Effect && times > u64::from(applied);
            let allowed = 1 + self.words.get(&request.key).copied().unwrap_or(0);
            if applied {
                *self.applied.entry(request.intent.clone()).or_default() += 1;
                self.effects.insert(request.key.clone(), times);
            }
            self.holds("one_effect", again, !applied || times <= allowed, |_| {
                format!("it happened {times} times: {request:?}")
            })?;
            self.holds("failed_is_true", over, !(over && applied), |_| {
                format!("{request:?} was over, and now it happened")
            })?;
        }
        Ok(())
    }

    /// The running sums against those over every intent.
    fn sum_anew(&mut self) -> Checked {
        self.summed = self.size;
        let mut anew = BTreeMap::new();
        for seen in self.intents.values() {
            enter(&mut anew, seen, 1);
        }
        let equal = anew == self.sums;
        self.holds("counters_are_sums", true, equal, |all| format!("the checker kept {:?} for {anew:?}", all.sums))
    }

    /// Capacity and counters, from the holds of every intent.
    fn books(&mut self, store: &mut MemoryStore) -> Checked {
        self.till(store)?;
        for (resource, Sums { held, used }) in self.sums.clone() {
            let sum = held + used;
            if sum == 0 {
                continue;
            }
            let capacity = self.capacities.get(&resource).copied().unwrap_or(0);
            // Little enough is left that someone is refused for it.
            let scarce = sum + capacity / 10 >= capacity;
            self.holds("capacity", scarce, sum <= capacity, |_| format!("{resource}: {sum} of {capacity}"))?;
            let counters = match store.get(&Entity::Resource(resource.clone())) {
                Ok(Some(Row::Resource(row))) => (row.held.to_i64(), row.consumed.to_i64()),
                Ok(_) | Err(_) => (None, None),
            };
            let equal = counters == (Some(held), Some(used));
            self.holds("counters_are_sums", true, equal, |_| {
                format!("{resource}: {counters:?}, sums {held} and {used}")
            })?;
        }
        Ok(())
    }

    /// Flows never hold more than there is. What is over by time may stand there until somebody looks, and only that.
    fn till(&mut self, store: &mut MemoryStore) -> Checked {
        let Ok(Some(Row::Resource(row))) = store.get(&Entity::Resource(TILL.to_owned())) else { return Ok(()) };
        let mut lasting = row.flows.values().filter(|hold| hold.until.is_none()).map(|hold| hold.amount);
        let sum = lasting.try_fold(Decimal::ZERO, Decimal::checked_add);
        let within = sum.is_some_and(|sum| sum <= Decimal::from(TILL_AMOUNT));
        let scarce = sum.is_some_and(|sum| sum > Decimal::from(TILL_AMOUNT / 2));
        self.holds("capacity", scarce, within, |_| format!("{TILL}: {sum:?} of {TILL_AMOUNT}"))
    }

    fn row(&mut self, store: &mut MemoryStore, name: &str) -> Checked {
        let Some(seen) = self.intents.get(name) else { return Ok(()) };
        let kept = match store.get(&Entity::Intent(name.to_owned())) {
            Ok(Some(Row::Intent(row))) => {
                row.running.as_ref().map(|running| (row.state, running.epoch, running.doubts))
            }
            Ok(_) | Err(_) => None,
        };
        let equal = kept.is_some_and(|(state, epoch, doubts)| {
            state.word() == seen.state && epoch == seen.epoch && doubts == seen.doubts
        });
        self.holds("rows_match_ledger", true, equal, |all| {
            format!("{name}: {kept:?}, the ledger tells {:?}", all.intents.get(name))
        })
    }

    /// A caller was answered, perhaps after it had given up.
    pub fn acknowledged(&mut self, call: &Call, line: &str) -> Checked {
        let Call { id, key, unknown, .. } = call;
        let logged = self.decisions.get(id).copied();
        self.holds("acknowledged_is_logged_once", *unknown, logged == Some(1), |_| {
            format!("{id}: {logged:?} records")
        })?;
        let Some(key) = key else { return Ok(()) };
        let Some(first) = self.answers.get(key) else {
            self.answers.insert(key.clone(), line.to_owned());
            return Ok(());
        };
        let same = first == line;
        self.holds("same_key_same_answer", true, same, |all| format!("{:?} and then {line}", all.answers.get(key)))
    }

    /// Whether anything still waits for a worker.
    pub fn is_busy(&self) -> bool {
        self.intents.values().any(|seen| matches!(seen.state.as_str(), "READY" | "CLAIMED" | "IN_FLIGHT"))
    }

    /// After healing nothing hangs: what is not over has a question or is tried again.
    pub fn healed(&mut self, store: &mut MemoryStore) -> Checked {
        self.sum_anew()?;
        let lasting: Vec<String> =
            self.intents.iter().filter(|(_, seen)| is_live(&seen.state)).map(|(name, _)| name.clone()).collect();
        let doubted = self.intents.values().filter(|seen| !is_live(&seen.state) && seen.doubts > 0).count();
        // What was in doubt and is over now is what healing is for.
        self.checked.entry("healed").or_default().at_stake += doubted as u64;
        for name in lasting {
            let Some(seen) = self.intents.get(&name) else { continue };
            let open = match seen.state.as_str() {
                "CLAIMED" | "IN_FLIGHT" => false,
                "IN_DOUBT" => seen.retry || seen.asked && self.is_asked(store, &name),
                _ => true,
            };
            self.holds("healed", true, open, |all| format!("{name} hangs: {:?}", all.intents.get(&name)))?;
        }
        Ok(())
    }

    fn is_asked(&self, store: &mut MemoryStore, name: &str) -> bool {
        let Ok(Some(Row::Intent(row))) = store.get(&Entity::Intent(name.to_owned())) else { return false };
        let Some(question) = row.running.and_then(|running| running.question) else { return false };
        match store.get(&Entity::Escalation(question)) {
            Ok(Some(Row::Escalation(row))) => row.answer.is_none() && row.intent == name,
            Ok(_) | Err(_) => false,
        }
    }

    /// What a replay of the ledger found.
    pub fn replayed(&mut self, same: u64, differs: Option<(u64, String)>) -> Checked {
        let size = self.size;
        let whole = differs.is_none() && same == size;
        self.holds("replayed", true, whole, |_| format!("{same} of {size} records are the same: {differs:?}"))
    }

    /// How many effects there were.
    pub fn effects(&self) -> u64 {
        self.effects.values().sum()
    }
}
