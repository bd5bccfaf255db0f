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
    history: History,
    trial: Trial,
}

impl Backtest {
    /// Starts. Up to an instant the history stays as it was; two worlds are kept where the caller says.
    pub fn new(
        candidate: Arc<Compiled>,
        since: Option<Instant>,
        rows: [Box<dyn Rows>; 2],
    ) -> Result<Backtest, StoreFault> {
        let [before, after] = rows;
        Ok(Backtest { history: History::new(before)?, trial: Trial::new(candidate, since, after)? })
    }

    /// What was found so far.
    pub fn counts(&self) -> &Counts {
        self.trial.counts()
    }

    /// Takes the next record of the history; without a body where that was erased. A decision that flips.
    pub fn record(&mut self, entry: u64, leaf: &str, body: Option<&str>) -> Result<Option<Flip>, BacktestFault> {
        let entry = self.history.record(entry, leaf, body)?;
        self.trial.take(&entry)
    }
}

/// The history as it was: the first half of a backtest. It knows nothing of candidates, so that one can serve several and
/// work beside them on a thread of its own.
pub struct History {
    fold: Replay,
}

/// One record of the history that came out as it is recorded.
pub struct Entry {
    index: u64,
    /// What it says, or what its leaf says where the body is gone.
    said: Result<Json, Json>,
    /// Whether it is a decision that was made again.
    is_same: bool,
    /// What it changed.
    changed: Vec<Key>,
    /// The proposal, as it was judged.
    submitted: Option<Arc<Submission>>,
}

impl Entry {
    /// Its index in the ledger.
    pub fn index(&self) -> u64 {
        self.index
    }
}

impl History {
    /// Starts with an empty world whose rows are kept there.
    pub fn new(rows: Box<dyn Rows>) -> Result<History, StoreFault> {
        let mut fold = Replay::new(rows)?;
        fold.changed = Some(Vec::new());
        Ok(History { fold })
    }

    /// Takes the next record; without a body where that was erased.
    pub fn record(&mut self, index: u64, leaf: &str, body: Option<&str>) -> Result<Entry, BacktestFault> {
        let fold = &mut self.fold;
        let decisions = fold.found.decisions;
        fold.submitted = None;
        let said = fold.record(index, leaf, body)?;
        if let Some((entry, problem)) = fold.found.differs.take() {
            return Err(BacktestFault::Differs { entry, problem });
        }
        Ok(Entry {
            index,
            said: said.ok_or_else(|| Json::parse(leaf.as_bytes()).unwrap_or_default()),
            is_same: fold.found.decisions > decisions,
            changed: fold.changed.as_mut().map(std::mem::take).unwrap_or_default(),
            submitted: fold.submitted.take(),
        })
    }
}

/// The history as it would have been: the second half.
pub struct Trial {
    candidate: Arc<Compiled>,
    /// From when on it is in force.
    since: Option<Instant>,
    /// From when on decisions count.
    counted: Option<Instant>,
    after: Replay,
    counts: Counts,
    /// Rows that depend on decisions of which nobody can tell.
    doubted: KeySet,
}

/// One record of a decision or change, ready to be folded.
struct Taken<'r> {
    at: Instant,
    semantics: Semantics,
    json: &'r Json,
    entry: &'r Entry,
}

impl Trial {
    /// Starts. Up to an instant the history stays as it was.
    pub fn new(candidate: Arc<Compiled>, since: Option<Instant>, rows: Box<dyn Rows>) -> Result<Trial, StoreFault> {
        let mut after = Replay::new(rows)?;
        after.known.instead = since.is_none().then(|| candidate.clone());
        let (counts, doubted) = (Counts::default(), KeySet::new());
        Ok(Trial { candidate, since, counted: since, after, counts, doubted })
    }

    /// Counts only decisions from an instant on, where that is later than the candidate's own.
    #[must_use]
    pub fn counting_from(mut self, counted: Option<Instant>) -> Trial {
        self.counted = self.since.max(counted);
        self
    }

    /// What was found so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes the next record of the history. A decision that flips.
    pub fn take(&mut self, entry: &Entry) -> Result<Option<Flip>, BacktestFault> {
        let json = match &entry.said {
            Ok(json) => json,
            Err(leaf) => {
                self.erased(leaf);
                return Ok(None);
            }
        };
        let kind = RecordKind::of(json);
        let at = text(json, "at").and_then(Instant::parse);
        let is_decision = kind == Some(RecordKind::Decision);
        let counts = is_decision && self.counts_at(at);
        self.counts.decisions += u64::from(counts);
        if !matches!(kind, Some(RecordKind::Decision | RecordKind::Change(_))) {
            return Ok(None);
        }
        let secret = holds_secrets(json);
        let unread = if secret { Unknown::Secret } else { Unknown::Rules };
        let Some((at, semantics)) = at.zip(semantics_of(json)).filter(|_| !secret) else {
            self.cannot_tell(counts, unread);
            return Ok(None);
        };
        let taken = Taken { at, semantics, json, entry };
        self.put_in_force(&taken)?;
        if is_decision { self.decision(&taken, counts) } else { self.change(&taken).map(|()| None) }
    }

    fn counts_at(&self, at: Option<Instant>) -> bool {
        self.counted.is_none_or(|since| at.is_some_and(|at| at >= since))
    }

    fn cannot_tell(&mut self, counts: bool, why: Unknown) {
        if counts {
            *self.counts.unknown.entry(why).or_default() += 1;
        } else {
            self.counts.unread += 1;
        }
    }

    /// Of a body that is gone, the leaf still says what it was.
    fn erased(&mut self, leaf: &Json) {
        let kind = RecordKind::of(leaf);
        if kind == Some(RecordKind::Result) {
            return;
        }
        let counts = kind == Some(RecordKind::Decision) && self.counts_at(text(leaf, "at").and_then(Instant::parse));
        self.counts.decisions += u64::from(counts);
        self.cannot_tell(counts, Unknown::Erased);
    }

    /// From its instant on, the candidate stands in the place of every contract of its agent.
    fn put_in_force(&mut self, taken: &Taken<'_>) -> Result<(), BacktestFault> {
        if self.after.known.instead.is_some() || self.since.is_some_and(|since| taken.at < since) {
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

    fn decision(&mut self, taken: &Taken<'_>, counts: bool) -> Result<Option<Flip>, BacktestFault> {
        let verdict = text(taken.json, "verdict").and_then(Verdict::from_word);
        let Some((before, submission)) = verdict.zip(self.submission(taken)) else {
            self.doubt(taken);
            self.cannot_tell(counts, Unknown::Behind);
            return Ok(None);
        };
        let Some((submission, folded)) = self.judged(submission, taken)? else {
            self.doubt(taken);
            self.cannot_tell(counts, Unknown::Behind);
            return Ok(None);
        };
        let (submission, (after, world, looked_at)) = self.handed_out(submission, folded, before, taken)?;
        if lacks_advice(&submission, &after, taken) {
            self.doubt(taken);
            self.cannot_tell(counts, Unknown::Advice);
            return Ok(None);
        }
        let flips = after.verdict != before;
        // Only what flips is told, so that only then the answer on record is read.
        let recorded = if flips { Answer::from_record(taken.json) } else { None };
        let is_behind = !taken.entry.is_same || flips && (recorded.is_none() || self.is_doubted(&looked_at));
        self.after.keep(*world)?;
        if !counts {
            return Ok(None);
        }
        if is_behind {
            self.cannot_tell(counts, Unknown::Behind);
            return Ok(None);
        }
        self.counts.flipped += u64::from(flips);
        Ok(recorded.map(|before| Flip {
            entry: taken.entry.index,
            at: taken.at,
            proposal: submission.proposal_id().to_owned(),
            agent: submission.proposal.agent.clone(),
            action: submission.proposal.action.clone(),
            before,
            after,
        }))
    }

    /// The proposal under the contracts that stand in the candidate's world for those it was judged under. Where these are
    /// the same, so is all that was worked out about it.
    fn submission(&self, taken: &Taken<'_>) -> Option<Arc<Submission>> {
        if let Some(submitted) = &taken.entry.submitted {
            let mut line = std::iter::once(&submitted.contract).chain(&submitted.ancestors);
            if line.all(|contract| self.after.known.has_kept(contract)) {
                return Some(submitted.clone());
            }
        }
        let tenant = Arc::from(text(taken.json, "tenant")?);
        self.after.submission(taken.json, tenant).map(Arc::new)
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
        before: Verdict,
        taken: &Taken<'_>,
    ) -> Result<(Arc<Submission>, Judged), StoreFault> {
        let is_new = judged.0.verdict == Verdict::Accept && before != Verdict::Accept;
        if !is_new || submission.door.performer.is_outside() {
            return Ok((submission, judged));
        }
        let door = Door { performer: Performer::Caller, ..submission.door.clone() };
        let formed = Arc::new(Submission::clone(&submission).through(door));
        let again = self.fold(&formed, taken)?;
        Ok((submission, again.unwrap_or(judged)))
    }

    /// What the history did with a decision of which nobody can tell stays open in the candidate's world.
    fn doubt(&mut self, taken: &Taken<'_>) {
        if self.doubted.len() < DOUBTED_MAX {
            self.doubted.extend(taken.entry.changed.iter().cloned());
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

/// Whether the answer under the candidate rests on advice that nobody gave then.
fn lacks_advice(after: &Submission, answer: &Answer, taken: &Taken<'_>) -> bool {
    if !unknown::may_lack_advice(after) {
        return false;
    }
    taken.entry.submitted.as_ref().is_none_or(|before| unknown::lacks_advice(before, after, answer))
}

/// A contract that is refused for what it says was never in force.
fn demand_contract(answer: &Answer) -> Result<(), BacktestFault> {
    let invalid = |finding: &&Finding| finding.code == Code::Known(Reason::ContractInvalid);
    match answer.findings.iter().find(invalid) {
        Some(finding) => Err(BacktestFault::Refused(Box::new(finding.clone()))),
        None => Ok(()),
    }
}
