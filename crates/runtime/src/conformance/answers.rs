//! Stored answers: whoever asks again gets the bytes of the first answer.

use super::Room;
use super::samples::{TENANT, batch_id, key, key_of, look, must, put};
use crate::ports::store::{Fold, Store, StoreFault, StoredRecord};
use kernel::agent::AgentRow;
use kernel::apply::apply;
use kernel::command::{Command, MintedIds, Submission};
use kernel::evaluator::Compiled;
use kernel::outcome::{Answer, Outcome};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::world::{Entity, KEYS_KEPT_MIN, Key, KeySet, Row, TenantRow, World};
use std::sync::Arc;
use values::time::Instant;

/// Accepts up to 25, asks up to 50, refuses the rest.
const CONTRACT: &str = "
agent: bot
actions:
  pay:
    once: \"pay:{order}\"
    params:
      type: object
      required: [order, amount]
      properties:
        order: { type: string }
        amount: { type: number }
    limits:
      amount: { min: 0.01, max: 50, unit: EUR }
    allow: params.amount <= 25
    ask:
      - { when: \"params.amount > 25\", reason: BIG_AMOUNT }
    budgets:
      - { sum: amount, max: 1000, per: 24h }
";

/// A UUID as our doors mint them, its capitals, and what people write.
const NAMES: [&str; 4] =
    ["01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8057", "order 17 / retry", "é"];

/// Batches, and proposals of each: enough that a store folds and saves at the same time.
const BATCHES: usize = 6;
const PROPOSALS: usize = 120;

/// Every batch asks the first one's first question again.
pub(super) fn by_later_batches(room: &Room) -> Result<(), String> {
    let loaded = engines::load::load(CONTRACT).map_err(|errors| format!("{errors:?}"))?;
    let contract = Arc::new(loaded.compiled);
    let mut store = room.open()?;
    put(store.as_mut(), &key(Entity::Agent("bot".to_owned())), &Row::Agent(Box::new(AgentRow::active())))?;
    let first = submission(&contract, "asked again", "again", "5")?;
    let mut lines = Vec::new();
    for batch in 0..BATCHES {
        let others = (1..PROPOSALS).map(|place| {
            let name = format!("{batch}-{place}");
            submission(&contract, &name, &name, "0.5")
        });
        let mut submissions = vec![first.clone()];
        submissions.extend(others.collect::<Result<Vec<_>, _>>()?);
        let answers = judge(store.as_mut(), &submissions)?;
        lines.extend(answers.first().map(Answer::to_line));
    }
    let all_same = lines.len() == BATCHES && lines.iter().all(|line| Some(line) == lines.first());
    must(all_same, || format!("the same question was answered {lines:?}"))
}

pub(super) fn same_bytes(room: &Room) -> Result<(), String> {
    let loaded = engines::load::load(CONTRACT).map_err(|errors| format!("{errors:?}"))?;
    let contract = Arc::new(loaded.compiled);
    let mut store = room.open()?;
    put(store.as_mut(), &key(Entity::Agent("bot".to_owned())), &Row::Agent(Box::new(AgentRow::active())))?;
    let mut verdicts = Vec::new();
    let mut given = Vec::new();
    // Several answers in one batch each point at their own record.
    for (place, name) in NAMES.into_iter().enumerate() {
        let batch: Vec<(String, Arc<Submission>)> = ["5", "40", "500"]
            .iter()
            .map(|amount| {
                let idempotency = format!("{name}{}", if *amount == "5" { "" } else { amount });
                submission(&contract, &idempotency, &format!("{place}-{amount}"), amount)
                    .map(|made| (idempotency, made))
            })
            .collect::<Result<_, _>>()?;
        let submissions: Vec<Arc<Submission>> = batch.iter().map(|(_, made)| made.clone()).collect();
        let answers = judge(store.as_mut(), &submissions)?;
        verdicts.extend(answers.iter().map(|answer| answer.verdict.word()));
        given.extend(batch.into_iter().zip(answers));
    }
    for word in ["ACCEPT", "ESCALATE", "REJECT"] {
        must(verdicts.contains(&word), || format!("no answer says {word}: {verdicts:?}"))?;
    }
    let mut other = room.open()?;
    for ((name, submission), answer) in &given {
        let stored = look(other.as_mut(), &key(Entity::Idempotency("bot".to_owned(), name.clone())))?;
        let Some(Row::Idempotency(stored)) = stored else { return Err(format!("`{name}` has no stored answer")) };
        must(stored.fingerprint == submission.proposal.fingerprint, || format!("`{name}` has another fingerprint"))?;
        let (first, again) = (answer.to_line(), stored.answer.to_line());
        must(first == again, || format!("`{name}` was answered {first} and again {again}"))?;
        let repeated = judge(other.as_mut(), std::slice::from_ref(submission))?;
        let same = repeated.first().is_some_and(|repeated| repeated.to_line() == first);
        must(same, || format!("`{name}` asked again was judged again: {repeated:?}"))?;
    }
    Ok(())
}

/// Whoever asks again for what was erased can have no answer; that is no damage, and everyone else is served.
pub(super) fn erased(room: &Room) -> Result<(), String> {
    let loaded = engines::load::load(CONTRACT).map_err(|errors| format!("{errors:?}"))?;
    let contract = Arc::new(loaded.compiled);
    let mut store = room.open()?;
    put(store.as_mut(), &key(Entity::Agent("bot".to_owned())), &Row::Agent(Box::new(AgentRow::active())))?;
    for name in ["first", "second"] {
        judge(store.as_mut(), &[submission(&contract, name, name, "5")?])?;
    }
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let records = reader.records(0, 100).map_err(|fault| fault.to_string())?;
    let of_first = |record: &&StoredRecord| record.body.as_ref().is_some_and(|(body, _)| body.contains("p-first"));
    let index = records.iter().find(of_first).map(|record| record.index).ok_or("the first answer left no record")?;
    let erased = store.erase(index, index + 1).map_err(|fault| fault.to_string())?;
    must(erased == 1, || format!("{erased} bodies were erased and not 1"))?;
    let mut other = room.open()?;
    let keys = |name: &str| vec![key(Entity::Idempotency("bot".to_owned(), name.to_owned()))];
    let said = other.transact(batch_id(), keys("first"), &mut |_, _| None);
    must(matches!(said, Err(StoreFault::Refused(_))), || format!("what was erased is answered with {said:?}"))?;
    let said = other.transact(batch_id(), keys("second"), &mut |_, _| None);
    must(said.is_ok(), || format!("what was not erased is answered with {said:?}"))
}

/// A forgotten key was never used, whether its row is there, its answer is erased or the row is removed. Nothing else goes.
pub(super) fn forgotten(room: &Room) -> Result<(), String> {
    let loaded = engines::load::load(CONTRACT).map_err(|errors| format!("{errors:?}"))?;
    let contract = Arc::new(loaded.compiled);
    let (mut store, mut foreign) = (room.open()?, room.open_for("other")?);
    let agent = |tenant: &str| key_of(tenant, Entity::Agent("bot".to_owned()));
    let row = Row::Agent(Box::new(AgentRow::active()));
    put(store.as_mut(), &agent(TENANT), &row)?;
    put(foreign.as_mut(), &agent("other"), &row)?;
    let of = |tenant: &str, name: &str, order: &str| named(tenant, &contract, name, order);
    for name in ["again", "erased", "left"] {
        judge(store.as_mut(), &[of(TENANT, name, name)?])?;
    }
    judge(foreign.as_mut(), &[of("other", "left", "left")?])?;
    let mut reader = store.reader().map_err(|fault| fault.to_string())?;
    let records = reader.records(0, 100).map_err(|fault| fault.to_string())?;
    let of_erased = |record: &&StoredRecord| record.body.as_ref().is_some_and(|(body, _)| body.contains("p-erased"));
    let erased = records.iter().find(of_erased).map(|record| record.index).ok_or("an answer left no record")?;
    store.erase(erased, erased + 1).map_err(|fault| fault.to_string())?;
    let young = Instant::PURE_DEFAULT.plus(KEYS_KEPT_MIN);
    room.clock.set(young);
    let before = records.len() as u64;
    judge(store.as_mut(), &[of(TENANT, "young", "young")?])?;
    let tenant = TenantRow { keys_before: Some(young), ..TenantRow::default() };
    put(store.as_mut(), &key(Entity::Tenant), &Row::Tenant(tenant))?;
    // For another order: the same effect would be there already, and the key alone shall decide.
    let verdicts = judge(store.as_mut(), &[of(TENANT, "again", "another")?])?;
    let is_fresh = verdicts.first().is_some_and(|answer| answer.verdict.word() == "ACCEPT");
    must(is_fresh, || format!("a forgotten key is answered {verdicts:?}"))?;
    let name = |name: &str| key(Entity::Idempotency("bot".to_owned(), name.to_owned()));
    must(look(store.as_mut(), &name("erased"))?.is_none(), || "what was erased and forgotten is there".to_owned())?;
    demand_used(store.as_mut(), &name(" id:erased"))?;
    let (mut removed, mut after) = (0, None);
    loop {
        let piece = store.forget(before, after.as_deref()).map_err(|fault| fault.to_string())?;
        removed += piece.removed;
        after = piece.next;
        if after.is_none() {
            break;
        }
    }
    must(removed == 2, || format!("{removed} rows were removed and not 2"))?;
    let mut other = room.open()?;
    for (name, is_there) in [("again", true), ("erased", false), ("left", false), ("young", true), (" id:left", true)] {
        let found = look(other.as_mut(), &key(Entity::Idempotency("bot".to_owned(), name.to_owned())))?;
        must(found.is_some() == is_there, || format!("`{name}` reads as {found:?}"))?;
    }
    demand_used(other.as_mut(), &name(" id:erased"))?;
    let theirs = key_of("other", Entity::Idempotency("bot".to_owned(), "left".to_owned()));
    must(look(foreign.as_mut(), &theirs)?.is_some(), || "a key of another tenant is gone".to_owned())
}

/// An id or a proof whose answer was erased must not read as if nobody had used it.
fn demand_used(store: &mut dyn Store, used: &Key) -> Result<(), String> {
    let said = store.transact(batch_id(), vec![used.clone()], &mut |_, _| None);
    must(matches!(said, Err(StoreFault::Refused(_))), || format!("what was used and erased reads as {said:?}"))
}

/// A proposal with an id, a key and an order of its own.
fn named(tenant: &str, contract: &Arc<Compiled>, name: &str, order: &str) -> Result<Arc<Submission>, String> {
    let text = format!(
        r#"{{"agent":"bot","action":"pay","id":"{order}","params":{{"order":"{order}","amount":5}},"idempotency_key":"{name}"}}"#
    );
    let proposal = Proposal::parse(text.as_bytes()).map_err(|malformed| format!("{malformed:?}"))?;
    let id = |kind: &str| format!("{kind}-{order}");
    let ids = MintedIds { proposal: id("p"), flow: id("p"), intent: id("i"), escalation: id("e") };
    let provenance = Provenance::of(&proposal, false);
    Ok(Arc::new(Submission::new(Arc::from(tenant), proposal, contract.clone(), provenance, ids)))
}

fn submission(contract: &Arc<Compiled>, name: &str, order: &str, amount: &str) -> Result<Arc<Submission>, String> {
    let text = format!(
        r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}},"idempotency_key":"{name}"}}"#
    );
    let proposal = Proposal::parse(text.as_bytes()).map_err(|malformed| format!("{malformed:?}"))?;
    let ids = MintedIds {
        proposal: format!("p-{order}"),
        flow: format!("f-{order}"),
        intent: format!("i-{order}"),
        escalation: format!("e-{order}"),
    };
    let provenance = Provenance::of(&proposal, false);
    Ok(Arc::new(Submission::new(Arc::from(TENANT), proposal, contract.clone(), provenance, ids)))
}

/// Judges a batch as the sequencer does, a step for each proposal: what is missing is asked for, and the batch is done again.
fn judge(store: &mut dyn Store, submissions: &[Arc<Submission>]) -> Result<Vec<Answer>, String> {
    let mut keys: KeySet = submissions.iter().flat_map(|made| made.keys().cloned()).collect();
    for _ in 0..4 {
        let (mut answers, mut needed) = (Vec::new(), KeySet::new());
        let mut next = submissions.iter();
        let fold: &mut Fold<'_> = &mut |world, at| {
            if answers.is_empty() && needed.is_empty() {
                needed = missing(world, submissions, at);
            }
            if !needed.is_empty() {
                return None;
            }
            match apply(world, &Command::Submit(next.next()?.clone()), at) {
                Outcome::Done(done) => {
                    answers.push(done.answer);
                    Some(done.records.iter().map(|record| record.seal([5; 16])).collect())
                }
                Outcome::Prepare | Outcome::Need(_) => Some(Vec::new()),
            }
        };
        store.transact(batch_id(), keys.iter().cloned().collect(), fold).map_err(|fault| fault.to_string())?;
        if needed.is_empty() {
            return Ok(answers);
        }
        keys.extend(needed);
    }
    Err("a batch needs ever more keys".to_owned())
}

/// What a batch needs besides.
fn missing(world: &World, submissions: &[Arc<Submission>], at: Instant) -> KeySet {
    let mut trial = world.clone();
    let needs = |submission: &Arc<Submission>| match apply(&mut trial, &Command::Submit(submission.clone()), at) {
        Outcome::Need(keys) => keys,
        Outcome::Done(_) | Outcome::Prepare => KeySet::new(),
    };
    submissions.iter().flat_map(needs).collect()
}
