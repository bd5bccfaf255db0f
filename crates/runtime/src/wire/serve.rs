//! The service's side of the calls: plain functions over a runtime, for a door that has found out who calls and what that
//! caller may do.

use super::call::{Call, CallerAnswer};
use super::{Failure, entries as entry_pages, follow as follow_ups, reply};
use crate::crash::around;
use crate::ports::store::StoreFault;
use crate::runtime::{Answered, Arrival, PersonAnswer, Runtime};
use kernel::agent::Actor;
use kernel::change::upkeep::Upkeep;
use kernel::change::{Act, ActKind, DoubtAnswer};
use kernel::command::Door;
use kernel::contract::Impact;
use kernel::finding::{Code, shown};
use kernel::outcome::Verdict;
use kernel::person::Identity;
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use values::json::Json;
use values::time::Instant;

/// Most rows of a page.
pub const ROWS_MAX: usize = 500;

/// Most rows that are due at once: they have no cursor, so one page is all there is.
pub const DUE_ROWS_MAX: usize = 4_096;

/// Most entries of a page.
pub const ENTRIES_MAX: usize = 512;

/// The name in an address of what has no name of its own: the tenant's row.
pub const OWN_NAME: &str = "self";

/// Who calls, as the door found out.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who is recorded for a change.
    pub actor: Actor,
    /// Who answers questions; nobody where the caller is no person.
    pub person: Option<String>,
    /// How the door knows that person; a signature is taken from the call.
    pub identity: Identity,
    /// Under which name the caller claims intents: whatever it calls a worker is behind it.
    pub worker: Option<String>,
}

/// Which rows are meant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowQuery {
    /// Behind this name.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Due not later than this, soonest first, in place of all.
    pub due: Option<Instant>,
    /// Only questions of this agent.
    pub agent: Option<String>,
    /// Only open questions of this impact, oldest first, behind one that was asked at this instant and is called `after`.
    pub open: Option<(Impact, Instant)>,
}

/// Judges what an agent sent, as one line of many where its number is given.
pub fn propose(runtime: &Runtime, arrival: Arrival, line: Option<u64>, bytes: &[u8]) -> Answered {
    match line {
        Some(number) => runtime.judge_line(bytes, number, arrival).wait(),
        None => runtime.judge(bytes, arrival).wait(),
    }
}

/// Carries out a call and writes the reply; a refusal of the kernel is a reply.
pub fn change(runtime: &Runtime, caller: &Caller, call: Call) -> Result<Vec<u8>, Failure> {
    let (kind, erased) = (call.kind(), erased_by(&call));
    let actor = caller.actor.clone();
    let pending = match call {
        Call::Act(Act::Activate { contract, expected }) => runtime.activate_over(actor, contract, expected),
        Call::Act(act) => {
            let (actor, act) = in_the_name_of(caller, act)?;
            runtime.change(actor, act)
        }
        Call::Register { contract, version, session } => runtime.register(actor, contract, version, session),
        Call::Amend { agent, amendment } => runtime.amend(actor, &agent, amendment),
        Call::StartCanary { contract, share, because } => runtime.start_canary(actor, contract, share, because),
        Call::Ask(inquiry) => runtime.ask(actor, *inquiry),
        Call::Answer(answer) => runtime.answer(answered_by(caller, *answer)?),
    };
    let answered = pending.wait();
    if answered.at.is_none() {
        return Err(undecided(&answered));
    }
    if let Some((from, to)) = erased.filter(|_| answered.answer.verdict == Verdict::Accept) {
        // It is on record. If this fails, the same call again removes what is left.
        around("erase.bodies", || runtime.erase(from, to))?;
    }
    if kind == ActKind::ForgetKeys && answered.answer.verdict == Verdict::Accept {
        // Rows are removed in the background.
        runtime.sweep_anew()?;
    }
    Ok(reply::write(&answered, Some(kind)))
}

/// The entries whose bodies a call removes.
fn erased_by(call: &Call) -> Option<(u64, u64)> {
    match call {
        Call::Act(Act::Upkeep(Upkeep::Erase { from, to, .. })) => Some((*from, *to)),
        Call::Act(_)
        | Call::Register { .. }
        | Call::Amend { .. }
        | Call::StartCanary { .. }
        | Call::Ask(_)
        | Call::Answer(_) => None,
    }
}

/// Why there is no decision.
pub fn undecided(answered: &Answered) -> Failure {
    let finding = answered.answer.findings.first();
    let problem = finding.and_then(|finding| {
        finding.values.iter().find(|(name, _)| name == "problem").and_then(|(_, problem)| problem.as_text())
    });
    let problem = problem.unwrap_or("there is no decision").to_owned();
    match finding.map(|finding| &finding.code) {
        Some(Code::Known(Reason::StoreDamaged)) => Failure::Store(StoreFault::Corrupt(problem)),
        Some(Code::Known(_) | Code::Custom { .. }) | None => Failure::Store(StoreFault::Unavailable(problem)),
    }
}

/// A page of rows of a kind.
pub fn rows(runtime: &Runtime, kind: &str, query: &RowQuery) -> Result<Vec<(Key, Row)>, Failure> {
    let kind = shown_kind(kind)?;
    let (after, page) = (query.after.as_deref(), query.limit.clamp(1, ROWS_MAX));
    let due_page = query.limit.clamp(1, DUE_ROWS_MAX);
    let is_listed_so = query.agent.is_none() && query.open.is_none() || kind == Kind::Escalation;
    if !is_listed_so {
        return Err(Failure::Missing);
    }
    Ok(match (&query.agent, query.open, query.due) {
        (Some(agent), _, Some(until)) => runtime.due_questions_of(agent, until, due_page)?,
        (Some(agent), _, None) => runtime.questions_of(agent, after, page)?,
        (None, Some((impact, asked)), _) => runtime.open_questions(impact, (asked, after.unwrap_or_default()), page)?,
        (None, None, Some(until)) => runtime.due(kind, until, due_page)?,
        (None, None, None) => runtime.scan(kind, after, page)?,
    })
}

/// One row.
pub fn row(runtime: &Runtime, kind: &str, name: &str, second: Option<&str>) -> Result<(Entity, Row), Failure> {
    let kind = shown_kind(kind)?;
    let entity = Entity::from_parts(kind, name, second).ok_or(Failure::Missing)?;
    if kind == Kind::Tenant && name != OWN_NAME {
        return Err(Failure::Missing);
    }
    let row = runtime.read(entity.clone())?.ok_or(Failure::Missing)?;
    Ok((entity, row))
}

/// The kind of a word, unless its rows are nobody's business: stored answers are read through their records.
pub fn shown_kind(word: &str) -> Result<Kind, Failure> {
    let kind = Kind::ALL.iter().copied().find(|kind| kind.word() == word && *kind != Kind::Idempotency);
    kind.ok_or(Failure::Missing)
}

/// A page of entries of the ledger; none at its end.
pub fn entries(runtime: &Runtime, from: u64, limit: usize) -> Result<Vec<u8>, Failure> {
    Ok(entry_pages::write_page(&runtime.records(from, limit.clamp(1, ENTRIES_MAX))?))
}

/// How many entries there are.
pub fn size(runtime: &Runtime) -> Result<Vec<u8>, Failure> {
    Ok(Json::object([("size", Json::from(runtime.size()?))]).to_canonical().into_bytes())
}

/// Waits for what becomes of a question or an intent.
pub fn follow(
    runtime: &Runtime,
    question: Option<&str>,
    intent: Option<&str>,
    deadline: std::time::Instant,
) -> Result<Vec<u8>, Failure> {
    Ok(follow_ups::write(&runtime.follow_up(question, intent, deadline)?))
}

/// What is recorded in nobody's name: what time does, whoever reminds the service of it, because the kernel says what is
/// due; and the steps of a worker, because the claim says who it is.
fn is_by_the_kernel(caller: &Caller, kind: ActKind) -> bool {
    let is_of_time = matches!(kind, ActKind::ExpireQuestions | ActKind::ExpireIntents);
    is_of_time || caller.worker.is_some() && matches!(kind, ActKind::Start | ActKind::Outcome)
}

/// The act as this caller may ask for it, and who is recorded for it.
fn in_the_name_of(caller: &Caller, act: Act) -> Result<(Actor, Act), Failure> {
    if let (Act::Claim { intent, worker, lease }, Actor::Agent(_)) = (&act, &caller.actor) {
        // An agent is not taken for an executor whose key bears the same name.
        let (intent, worker) = (intent.clone(), format!("{}/{worker}", caller.actor.text()));
        return Ok((caller.actor.clone(), Act::Claim { intent, worker, lease: *lease }));
    }
    if let (Act::Claim { intent, worker, lease }, Some(name)) = (&act, &caller.worker) {
        let (intent, worker) = (intent.clone(), format!("{name}/{worker}"));
        return Ok((Actor::Kernel, Act::Claim { intent, worker, lease: *lease }));
    }
    if is_by_the_kernel(caller, act.kind()) {
        return Ok((Actor::Kernel, act));
    }
    if let Act::Resolve(answer) = act {
        let identity = known_by(caller, &answer.identity);
        let actor = Actor::Operator(person_of(caller)?.to_owned());
        return Ok((actor, Act::Resolve(Box::new(DoubtAnswer { identity, ..*answer }))));
    }
    Ok((caller.actor.clone(), act))
}

fn answered_by(caller: &Caller, answer: CallerAnswer) -> Result<PersonAnswer, Failure> {
    let person = person_of(caller)?;
    if let Some(meant) = answer.person.as_ref().filter(|meant| *meant != person) {
        let meant = shown(&Json::text(meant.as_str()));
        return Err(Failure::Malformed(format!("this key belongs to `{person}`, not to `{meant}`")));
    }
    Ok(PersonAnswer {
        person: person.to_owned(),
        identity: known_by(caller, &answer.identity),
        question: answer.question,
        decision: answer.decision,
        digest: answer.digest,
        reason: answer.reason,
        instead: answer.instead,
        door: Door::STORED,
    })
}

fn person_of(caller: &Caller) -> Result<&str, Failure> {
    let nobody = || Failure::Malformed("this key belongs to nobody who answers questions".to_owned());
    caller.person.as_deref().ok_or_else(nobody)
}

/// What the door knows, with the signature that came along.
fn known_by(caller: &Caller, said: &Identity) -> Identity {
    Identity { signature: said.signature.clone(), ..caller.identity.clone() }
}
