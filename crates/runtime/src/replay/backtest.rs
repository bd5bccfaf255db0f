//! Backtest: history folded once as it was and once under a candidate contract, and where their decisions differ.
//!
//! The candidate's world goes its own way: what the candidate refuses takes no budget and becomes no intent, and what was
//! recorded later about such an intent is refused there and changes nothing.

mod unknown;

pub use unknown::Unknown;

use super::rows::Rows;
use super::{Folded, Replay, holds_secrets, semantics_of, text};
use crate::ports::store::StoreFault;
use kernel::agent::{Actor, AgentRow};
use kernel::change::read::Contracts;
use kernel::change::{Act, Change};
use kernel::command::{Command, Door, Performer, Submission};
use kernel::evaluator::Compiled;
use kernel::finding::{Code, Finding};
use kernel::flow::DEPTH_MAX;
use kernel::outcome::{Answer, Verdict};
use kernel::reasons::Reason;
use kernel::record::RecordKind;
use kernel::semantics::Semantics;
use kernel::world::{Entity, Key, KeySet, Row};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

/// Rows that depend on something unknown and are remembered one by one; behind that, everything may depend on it.
const DOUBTED_MAX: usize = 1 << 18;

/// Who puts the candidate in force in the middle of a history.
const NAME: &str = "backtest";

/// A decision that comes out differently under the candidate.
#[derive(Clone, PartialEq, Debug)]
pub struct Flip {
    /// The entry of the ledger.
    pub entry: u64,
    /// When it was decided.
    pub at: Instant,
    /// The proposal.
    pub proposal: String,
    /// Who proposed it.
    pub agent: String,
    /// What was proposed.
    pub action: String,
    /// The answer on record.
    pub before: Answer,
    /// The answer under the candidate.
    pub after: Answer,
}

/// How many decisions there are and what became of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Decisions on record.
    pub decisions: u64,
    /// Of those, the ones that come out differently.
    pub flipped: u64,
    /// Of the decisions, those of which nobody can tell, by why.
    pub unknown: BTreeMap<Unknown, u64>,
    /// Other records that cannot be read: what they did to budgets and state is not in the candidate's world.
    pub unread: u64,
}

impl Counts {
    /// Decisions of which nobody can tell.
    pub fn unknown(&self) -> u64 {
        self.unknown.values().sum()
    }
}

/// Why there is no backtest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BacktestFault {
    /// The history cannot be read, or the rows not be kept.
    Store(StoreFault),
    /// The history does not come out as it is recorded, so nothing follows from it.
    Differs {
        /// The entry.
        entry: u64,
        /// How.
        problem: String,
    },
    /// The candidate would not have been put in force.
    Refused(Box<Finding>),
}

impl From<StoreFault> for BacktestFault {
    fn from(fault: StoreFault) -> BacktestFault {
        BacktestFault::Store(fault)
    }
}

impl fmt::Display for BacktestFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BacktestFault::Store(fault) => fault.fmt(formatter),
            BacktestFault::Differs { entry, problem } => {
                write!(formatter, "entry {entry} does not come out as it is recorded: {problem}")
            }
            BacktestFault::Refused(finding) => {
                write!(formatter, "the candidate would not have been put in force: {}", finding.message())
            }
        }
    }
}

impl std::error::Error for BacktestFault {}

/// A backtest under way.
pub struct Backtest {
    candidate: Arc<Compiled>,
    since: Option<Instant>,
    /// The history as it was.
    before: Replay,
    /// The history as it would have been.
    after: Replay,
    counts: Counts,
    /// Rows that depend on decisions of which nobody can tell.
    doubted: KeySet,
}

/// One record of a decision or change, ready to be folded.
struct Taken<'r> {
    entry: u64,
    at: Instant,
    semantics: Semantics,
    json: &'r Json,
}

impl Backtest {
    /// Starts. Up to an instant the history stays as it was; two worlds are kept where the caller says.
    pub fn new(
        candidate: Arc<Compiled>,
        since: Option<Instant>,
        rows: [Box<dyn Rows>; 2],
    ) -> Result<Backtest, StoreFault> {
        let [before, after] = rows;
        let mut before = Replay::new(before)?;
        before.changed = Some(Vec::new());
        let mut after = Replay::new(after)?;
        after.known.instead = since.is_none().then(|| candidate.clone());
        Ok(Backtest { candidate, since, before, after, counts: Counts::default(), doubted: KeySet::new() })
    }

    /// What was found so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes the next record of the history; without a body where that was erased. A decision that flips.
    pub fn record(&mut self, entry: u64, leaf: &str, body: Option<&str>) -> Result<Option<Flip>, BacktestFault> {
        let decisions = self.before.found.decisions;
        let said = self.before.record(entry, leaf, body)?;
        if let Some((entry, problem)) = self.before.found.differs.take() {
            return Err(BacktestFault::Differs { entry, problem });
        }
        let is_same = self.before.found.decisions > decisions;
        let Some(json) = said else {
            self.erased(leaf);
            return Ok(None);
        };
        let kind = RecordKind::of(&json);
        let at = text(&json, "at").and_then(Instant::parse);
        let is_decision = kind == Some(RecordKind::Decision);
        let counts = is_decision && self.counts_at(at);
        self.counts.decisions += u64::from(counts);
        if !matches!(kind, Some(RecordKind::Decision | RecordKind::Change(_))) {
            return Ok(None);
        }
        let unread = if holds_secrets(&json) { Unknown::Secret } else { Unknown::Rules };
        let Some((at, semantics)) = at.zip(semantics_of(&json)).filter(|_| !holds_secrets(&json)) else {
            self.cannot_tell(counts, unread);
            return Ok(None);
        };
        let taken = Taken { entry, at, semantics, json: &json };
        self.put_in_force(&taken)?;
        if is_decision { self.decision(&taken, counts, is_same) } else { self.change(&taken).map(|()| None) }
    }

    fn counts_at(&self, at: Option<Instant>) -> bool {
        self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
    }

    fn cannot_tell(&mut self, counts: bool, why: Unknown) {
        if counts {
            *self.counts.unknown.entry(why).or_default() += 1;
        } else {
            self.counts.unread += 1;
        }
    }

    /// Of a body that is gone, the leaf still says what it was.
    fn erased(&mut self, leaf: &str) {
        let leaf = Json::parse(leaf.as_bytes()).unwrap_or_default();
        let kind = RecordKind::of(&leaf);
        if kind == Some(RecordKind::Result) {
            return;
        }
        let counts = kind == Some(RecordKind::Decision) && self.counts_at(text(&leaf, "at").and_then(Instant::parse));
        self.counts.decisions += u64::from(counts);
        self.cannot_tell(counts, Unknown::Erased);
    }

    /// From its instant on, the candidate stands in the place of every contract of its agent.
    fn put_in_force(&mut self, taken: &Taken<'_>) -> Result<(), BacktestFault> {
        if self.after.known.instead.is_some() || !self.counts_at(Some(taken.at)) {
            return Ok(());
        }
        self.after.known.instead = Some(self.candidate.clone());
        let known = std::mem::take(&mut self.after.known.by_digest);
        for (digest, contract) in known {
            let replaced = self.after.known.replaced(contract.clone()).unwrap_or(contract);
            self.after.known.by_digest.insert(digest, replaced);
        }
        let Some(tenant) = text(taken.json, "tenant") else { return Ok(()) };
        let tenant: Arc<str> = Arc::from(tenant);
        let name = &self.candidate.contract.agent;
        let Some(in_force) = self.agent(&tenant, &name.clone())?.and_then(|row| row.contract) else {
            return Ok(());
        };
        if in_force == self.candidate.digest {
            return Ok(());
        }
        let Some(contract) = self.after.known.known(in_force) else { return Ok(()) };
        let act = Act::Activate { contract, expected: None };
        let (id, actor) = (NAME.to_owned(), Actor::Operator(NAME.to_owned()));
        let command = Command::Change(Arc::new(Change { tenant, id, actor, act }));
        if let Folded::Done(done, world, _) = self.after.applied(&command, taken.at, taken.semantics)? {
            demand_contract(&done.answer)?;
            self.after.keep(*world)?;
        }
        Ok(())
    }

    /// Everything but a decision: it does to the candidate's world what it can.
    fn change(&mut self, taken: &Taken<'_>) -> Result<(), BacktestFault> {
        let Some(command) = self.after.command(taken.json)? else {
            self.counts.unread += 1;
            return Ok(());
        };
        let Folded::Done(done, world, _) = self.after.applied(&command, taken.at, taken.semantics)? else {
            return Ok(());
        };
        if self.is_of_candidate(&command) && text(taken.json, "verdict") == Some(Verdict::Accept.word()) {
            demand_contract(&done.answer)?;
        }
        Ok(self.after.keep(*world)?)
    }

    /// Whether a change puts the candidate in force.
    fn is_of_candidate(&self, command: &Command) -> bool {
        let Command::Change(change) = command else { return false };
        let Act::Activate { contract, .. } = &change.act else { return false };
        contract.contract.agent == self.candidate.contract.agent
    }

    fn decision(&mut self, taken: &Taken<'_>, counts: bool, is_same: bool) -> Result<Option<Flip>, BacktestFault> {
        let recorded = Answer::from_record(taken.json);
        let command = self.after.command(taken.json)?;
        let Some((recorded, Command::Submit(submission))) = recorded.zip(command) else {
            self.doubt();
            self.cannot_tell(counts, Unknown::Behind);
            return Ok(None);
        };
        let Some((submission, folded)) = self.judged(submission, taken)? else {
            self.doubt();
            self.cannot_tell(counts, Unknown::Behind);
            return Ok(None);
        };
        let (submission, (after, world, looked_at)) = self.handed_out(submission, folded, &recorded, taken)?;
        if self.lacks_advice(&submission, &after, taken)? {
            self.doubt();
            self.cannot_tell(counts, Unknown::Advice);
            return Ok(None);
        }
        let flips = after.verdict != recorded.verdict;
        let is_behind = !is_same || flips && self.is_doubted(&looked_at);
        self.after.keep(*world)?;
        if !counts {
            return Ok(None);
        }
        if is_behind {
            self.cannot_tell(counts, Unknown::Behind);
            return Ok(None);
        }
        self.counts.flipped += u64::from(flips);
        Ok(flips.then(|| Flip {
            entry: taken.entry,
            at: taken.at,
            proposal: submission.proposal_id().to_owned(),
            agent: submission.proposal.agent.clone(),
            action: submission.proposal.action.clone(),
            before: recorded,
            after,
        }))
    }

    /// The judgement in the candidate's world, under the contracts that are in force there.
    fn judged(
        &mut self,
        submission: Arc<Submission>,
        taken: &Taken<'_>,
    ) -> Result<Option<(Arc<Submission>, Judged)>, StoreFault> {
        if let Some(judged) = self.fold(&submission, taken)? {
            return Ok(Some((submission, judged)));
        }
        let (tenant, agent, flow) = (&submission.tenant, &submission.proposal.agent, submission.flow_id());
        let Some((contract, ancestors)) = self.line(tenant, agent, flow)? else {
            return Ok(None);
        };
        let Submission { tenant, proposal, provenance, ids, advice, door, proof, .. } =
            Arc::unwrap_or_clone(submission);
        let formed = Submission::new(tenant, proposal, contract, provenance, ids).under(ancestors);
        let formed = Arc::new(formed.through(door).advised(advice).proved(proof));
        Ok(self.fold(&formed, taken)?.map(|judged| (formed, judged)))
    }

    fn fold(&mut self, submission: &Arc<Submission>, taken: &Taken<'_>) -> Result<Option<Judged>, StoreFault> {
        let command = Command::Submit(submission.clone());
        Ok(match self.after.applied(&command, taken.at, taken.semantics)? {
            // Without a record it is the answer to something else that was given again.
            Folded::Done(done, world, keys) if !done.records.is_empty() => Some((done.answer, world, keys)),
            Folded::Done(..) | Folded::Stale => None,
        })
    }

    /// What only the candidate accepts was performed by nobody. It counts as handed out, so that time does not call it
    /// off and give back what it took.
    fn handed_out(
        &mut self,
        submission: Arc<Submission>,
        judged: Judged,
        recorded: &Answer,
        taken: &Taken<'_>,
    ) -> Result<(Arc<Submission>, Judged), StoreFault> {
        let is_new = judged.0.verdict == Verdict::Accept && recorded.verdict != Verdict::Accept;
        if !is_new || submission.door.performer.is_outside() {
            return Ok((submission, judged));
        }
        let door = Door { performer: Performer::Caller, ..submission.door.clone() };
        let formed = Arc::new(Submission::clone(&submission).through(door));
        let again = self.fold(&formed, taken)?;
        Ok((submission, again.unwrap_or(judged)))
    }

    /// Whether the answer under the candidate rests on advice that nobody gave then.
    fn lacks_advice(&mut self, after: &Submission, answer: &Answer, taken: &Taken<'_>) -> Result<bool, StoreFault> {
        if !unknown::may_lack_advice(after) {
            return Ok(false);
        }
        Ok(match self.before.command(taken.json)? {
            Some(Command::Submit(before)) => unknown::lacks_advice(&before, after, answer),
            Some(Command::Refuse(_) | Command::Change(_)) | None => true,
        })
    }

    /// What the history did with a decision of which nobody can tell stays open in the candidate's world.
    fn doubt(&mut self) {
        if self.doubted.len() < DOUBTED_MAX {
            self.doubted.extend(self.before.changed.iter().flatten().cloned());
        }
    }

    fn is_doubted(&self, keys: &KeySet) -> bool {
        let all = self.doubted.len() >= DOUBTED_MAX;
        all || !self.doubted.is_empty() && keys.iter().any(|key| self.doubted.contains(key))
    }

    fn agent(&mut self, tenant: &Arc<str>, name: &str) -> Result<Option<Box<AgentRow>>, StoreFault> {
        let key = Key { tenant: tenant.clone(), entity: Entity::Agent(name.to_owned()) };
        Ok(match self.after.kept.get(&key)? {
            Some(Row::Agent(row)) => Some(row),
            Some(_) | None => None,
        })
    }

    /// The contracts of an agent in the candidate's world, as a door would look them up for a flow.
    fn line(&mut self, tenant: &Arc<str>, agent: &str, flow: &str) -> Result<Option<Line>, StoreFault> {
        let Some(row) = self.agent(tenant, agent)? else { return Ok(None) };
        let Some(contract) = row.contract_for(flow).or(row.offered).and_then(|digest| self.after.known.known(digest))
        else {
            return Ok(None);
        };
        let mut ancestors: Vec<Arc<Compiled>> = Vec::new();
        let mut parent = contract.contract.parent.clone();
        while let Some(name) = parent.take() {
            let in_force = self.agent(tenant, &name)?.and_then(|row| row.contract);
            let Some(above) = in_force.and_then(|digest| self.after.known.known(digest)) else { break };
            if ancestors.len() >= DEPTH_MAX {
                return Ok(None);
            }
            parent = above.contract.parent.clone();
            ancestors.push(above);
        }
        Ok(Some((contract, ancestors)))
    }
}

/// An answer, the world with its changes, and what was looked at.
type Judged = (Answer, Box<kernel::world::World>, KeySet);

/// A contract and those above it.
type Line = (Arc<Compiled>, Vec<Arc<Compiled>>);

/// A contract that is refused for what it says was never in force.
fn demand_contract(answer: &Answer) -> Result<(), BacktestFault> {
    let invalid = |finding: &&Finding| finding.code == Code::Known(Reason::ContractInvalid);
    match answer.findings.iter().find(invalid) {
        Some(finding) => Err(BacktestFault::Refused(Box::new(finding.clone()))),
        None => Ok(()),
    }
}
