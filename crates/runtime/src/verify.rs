//! Verifying an exported ledger: first what was signed, then every decision again, then what is left open.

use crate::ports::store::StoreFault;
use crate::replay::rows::Rows;
use crate::replay::{Replay, Replayed, is_result};
use kernel::change::ActKind;
use kernel::event::Event;
use kernel::finding::{Code, Finding};
use kernel::intent::{Contradiction, IntentRow, IntentState};
use kernel::outcome::Verdict;
use kernel::reasons::Reason;
use kernel::record::RecordKind;
use ledger::audit::{Audit, Audited, Damage, Place};
use ledger::export::{Exported, Header, read_entry_line, read_tile_line};
use ledger::keyring::Keyring;
use std::collections::BTreeMap;
use values::json::Json;
use values::time::Instant;

/// Intents named in a report; the rest are counted.
const NAMED_MAX: usize = 10_000;

/// Ranges of erasure that are remembered.
const ERASURES_MAX: usize = 65_536;

/// The first pass over the lines of an export: a machine that is fed one line after another.
#[derive(Clone, Debug)]
pub enum LineAudit {
    /// The first line comes next.
    Start,
    /// The digest of the first line comes next.
    Digest(Vec<u8>),
    /// Hashes and entries come.
    Entries(Box<Audit>),
}

impl LineAudit {
    /// Takes the next line, its newline included.
    pub fn line(self, line: &[u8]) -> Result<LineAudit, Damage> {
        match self {
            LineAudit::Start => Ok(LineAudit::Digest(line.to_vec())),
            LineAudit::Digest(first) => Ok(LineAudit::Entries(Box::new(Audit::begin(Header::read(&first, line)?)?))),
            LineAudit::Entries(mut audit) => {
                match audit.wants_hashes() {
                    Some(count) => {
                        let hashes = read_tile_line(line, audit.next(), usize::from(count))?;
                        audit.hashes(hashes);
                    }
                    None => audit.entry(&read_entry_line(line, audit.next())?)?,
                }
                Ok(LineAudit::Entries(audit))
            }
        }
    }

    /// Nothing comes any more.
    pub fn finish(&self) -> Result<Audited, Damage> {
        match self {
            LineAudit::Start | LineAudit::Digest(_) => {
                Err(Damage { place: Place::Header, problem: "it is cut off".to_owned() })
            }
            LineAudit::Entries(audit) => audit.finish(),
        }
    }

    /// The audit, once there is a header.
    pub fn audit(&self) -> Option<&Audit> {
        match self {
            LineAudit::Start | LineAudit::Digest(_) => None,
            LineAudit::Entries(audit) => Some(audit),
        }
    }
}

/// The second pass: every record is folded again.
pub struct Verify {
    replay: Replay,
    next: u64,
    /// What recorded commands erased.
    erasures: Vec<(u64, u64)>,
    /// Entries whose bodies are not there, as ranges; results apart, since nothing depends on them.
    missing: Vec<(u64, u64)>,
    missing_results: Vec<(u64, u64)>,
    keyring: Option<Keyring>,
    unknown_reports: u64,
    answers: u64,
    signed_answers: u64,
    contradicted: u64,
    /// Where, as ranges, and which intents: the first of them.
    contradicted_at: Vec<(u64, u64)>,
    contradicting: Vec<String>,
}

/// What a whole ledger says when its decisions were made again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completeness {
    /// Records that were folded again, and those that could not be.
    pub replayed: Replayed,
    /// Intents by the word of their state.
    pub intents: BTreeMap<String, u64>,
    /// Accepted for the runtime to perform, its time over, and never performed.
    pub never_executed: u64,
    /// Handed to whoever asked, its time over, and nobody said what became of it. How long that took depends on the
    /// caller, so it is told and makes a ledger incomplete only for those who demand reports.
    pub unreported: u64,
    /// Of those, of the ones in doubt and of the contradicted, the first.
    pub named: Vec<String>,
    /// How many more there are.
    pub unnamed: u64,
    /// In doubt, and nobody settled it.
    pub in_doubt: u64,
    /// Answers of people that counted.
    pub answers: u64,
    /// Of those, the ones their people signed; the replay has checked the signatures.
    pub signed_answers: u64,
    /// Reports on intents that were never accepted.
    pub never_accepted: u64,
    /// Reports that say the opposite of how their intent had ended, and changed nothing.
    pub contradicted: u64,
    /// Their entries, from one up to, not including, another.
    pub contradicted_at: Vec<(u64, u64)>,
    /// Bodies that are gone although no record says that they were erased.
    pub gone: u64,
    /// Their entries, from one up to, not including, another.
    pub gone_at: Vec<(u64, u64)>,
    /// Entries whose bodies a recorded command erased.
    pub erased_at: Vec<(u64, u64)>,
    /// Results whose bodies a recorded command erased; everything can be judged again without them.
    pub results_erased_at: Vec<(u64, u64)>,
}

impl Completeness {
    /// Whether everything that was accepted came to an end, and everything could be judged again.
    pub fn is_complete(&self) -> bool {
        let Completeness { replayed, never_executed, in_doubt, never_accepted, contradicted, gone, .. } = self;
        let open = [replayed.withheld, *never_executed, *in_doubt, *never_accepted, *contradicted, *gone];
        open.iter().all(|count| *count == 0)
    }
}

impl Verify {
    /// Starts; rows are kept where the caller says.
    pub fn new(rows: Box<dyn Rows>) -> Result<Verify, StoreFault> {
        Ok(Verify {
            replay: Replay::new(rows)?,
            next: 0,
            erasures: Vec::new(),
            missing: Vec::new(),
            missing_results: Vec::new(),
            keyring: None,
            unknown_reports: 0,
            answers: 0,
            signed_answers: 0,
            contradicted: 0,
            contradicted_at: Vec::new(),
            contradicting: Vec::new(),
        })
    }

    /// Takes the next entry; damage is an outcome that differs.
    pub fn entry(&mut self, entry: &Exported<'_>) -> Result<Option<Damage>, StoreFault> {
        let index = self.next;
        self.next += 1;
        if entry.body.is_none() {
            add(if is_result(entry.leaf) { &mut self.missing_results } else { &mut self.missing }, index);
        }
        let said = self.replay.record(index, entry.leaf, entry.body.map(|(body, _)| body))?;
        if let Some((index, problem)) = &self.replay.found().differs {
            return Ok(Some(Damage { place: Place::Entry(*index), problem: problem.clone() }));
        }
        if let Some(said) = said {
            if !agrees(entry.leaf, &said) {
                let problem = "its leaf says something else than its body".to_owned();
                return Ok(Some(Damage { place: Place::Entry(index), problem }));
            }
            self.look_at(&said);
            self.contradiction(index, &said);
        }
        Ok(None)
    }

    /// The keys the ledger itself says are those of the log, if it says so.
    pub fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    /// What is left open.
    pub fn finish(mut self) -> Result<Completeness, StoreFault> {
        let [erased_at, mut gone_at] = self.without_bodies(&self.missing);
        let [results_erased_at, results_gone_at] = self.without_bodies(&self.missing_results);
        gone_at.extend(results_gone_at);
        gone_at.sort_unstable();
        let mut found = Completeness {
            replayed: self.replay.found().clone(),
            never_accepted: self.unknown_reports,
            answers: self.answers,
            signed_answers: self.signed_answers,
            contradicted: self.contradicted,
            contradicted_at: self.contradicted_at,
            unnamed: self.contradicted - self.contradicting.len() as u64,
            named: self.contradicting,
            gone: gone_at.iter().map(|(from, to)| to - from).sum(),
            gone_at,
            erased_at,
            results_erased_at,
            ..Completeness::default()
        };
        let end = self.replay.last_instant();
        self.replay.rows().intents(&mut |name, row| count(&mut found, name, row, end))?;
        Ok(found)
    }

    fn look_at(&mut self, said: &Json) {
        let Some(RecordKind::Change(kind)) = RecordKind::of(said) else { return };
        let text = |json: Option<&Json>| json.and_then(Json::as_text).map(str::to_owned);
        let Some(Verdict::Accept) = text(said.get("verdict")).and_then(|word| Verdict::from_word(&word)) else {
            let findings = said.get("findings").and_then(Json::as_list).unwrap_or_default();
            let findings = findings.iter().filter_map(Finding::from_record);
            let unknown = |finding: Finding| finding.code == Code::Known(Reason::IntentUnknown);
            self.unknown_reports += u64::from(findings.into_iter().any(unknown));
            return;
        };
        let Some(command) = said.get("command") else { return };
        match kind {
            ActKind::Erase => {
                if let Some(Event::Erased { from, to }) = Event::from_record(said)
                    && self.erasures.len() < ERASURES_MAX
                {
                    self.erasures.push((from, to));
                }
            }
            ActKind::Answer | ActKind::Resolve => {
                self.answers += 1;
                self.signed_answers += u64::from(command.get("signature").is_some());
            }
            ActKind::RotateKeys => {
                self.keyring = text(command.get("keyring")).and_then(|ring| Keyring::parse(&ring).ok());
            }
            ActKind::Register
            | ActKind::Activate
            | ActKind::StartCanary
            | ActKind::PromoteCanary
            | ActKind::RollBackCanary
            | ActKind::Restrict
            | ActKind::Lift
            | ActKind::Retire
            | ActKind::Amend
            | ActKind::OpenFlow
            | ActKind::EndFlow
            | ActKind::Merge
            | ActKind::Remember
            | ActKind::Freeze
            | ActKind::Import
            | ActKind::ExpireQuestions
            | ActKind::Settle
            | ActKind::ExpireIntents
            | ActKind::Claim
            | ActKind::Start
            | ActKind::Outcome
            | ActKind::Undo
            | ActKind::Ask
            | ActKind::Reserve
            | ActKind::Release
            | ActKind::Note
            | ActKind::Halt
            | ActKind::Resume
            | ActKind::LeaseAcquire
            | ActKind::LeaseHeartbeat
            | ActKind::LeaseRelease
            | ActKind::LeaseEvict
            | ActKind::LeaseAdopt
            | ActKind::LegalHold
            | ActKind::ReleaseHold
            | ActKind::EnrolKey
            | ActKind::KeepKeys
            | ActKind::ForgetKeys => {}
        }
    }

    fn contradiction(&mut self, index: u64, said: &Json) {
        let Some(Contradiction { intent, state, reported }) = Contradiction::in_record(said) else { return };
        self.contradicted += 1;
        if self.contradicting.len() < NAMED_MAX {
            add(&mut self.contradicted_at, index);
            let (state, reported) = (state.word(), reported.word());
            self.contradicting.push(format!("{intent} ({state}, reported {reported} in entry {index})"));
        }
    }

    /// Entries without a body: those a record says were erased, and the others.
    fn without_bodies(&self, missing: &[(u64, u64)]) -> [Vec<(u64, u64)>; 2] {
        let covered = |index: u64| self.erasures.iter().any(|(from, to)| (*from..*to).contains(&index));
        let (mut erased, mut gone) = (Vec::new(), Vec::new());
        for index in missing.iter().flat_map(|(from, to)| *from..*to) {
            add(if covered(index) { &mut erased } else { &mut gone }, index);
        }
        [erased, gone]
    }
}

/// Puts an index behind ranges that lie before it.
fn add(ranges: &mut Vec<(u64, u64)>, index: u64) {
    match ranges.last_mut() {
        Some((_, end)) if *end == index => *end += 1,
        Some(_) | None => ranges.push((index, index + 1)),
    }
}

/// Header and body of a record say the same.
fn agrees(leaf: &str, body: &Json) -> bool {
    let Ok(leaf) = Json::parse(leaf.as_bytes()) else { return false };
    let header = ["at", "kind", "semantics", "tenant", "version"];
    header.iter().all(|key| leaf.get(key) == body.get(key))
}

fn count(found: &mut Completeness, name: &str, row: &IntentRow, end: Option<Instant>) {
    let word = row.state.word();
    *found.intents.entry(word.to_owned()).or_default() += 1;
    let over_time = end.is_some_and(|end| row.facts.valid_until() < end);
    match row.state {
        IntentState::InDoubt => found.in_doubt += 1,
        IntentState::HandedOut if over_time => found.unreported += 1,
        IntentState::Ready | IntentState::Claimed | IntentState::InFlight if over_time => found.never_executed += 1,
        IntentState::HandedOut
        | IntentState::Ready
        | IntentState::Claimed
        | IntentState::InFlight
        | IntentState::Unreported
        | IntentState::Succeeded
        | IntentState::Failed
        | IntentState::Cancelled
        | IntentState::Abandoned => return,
    }
    if found.named.len() < NAMED_MAX {
        found.named.push(format!("{name} ({word})"));
    } else {
        found.unnamed += 1;
    }
}
