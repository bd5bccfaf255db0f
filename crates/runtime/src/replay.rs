//! Replay: the ledger's records folded again through the kernel, and every outcome compared byte for byte.

pub mod backtest;
pub mod rows;

use crate::ports::store::{Reader, StoreFault};
use kernel::advice::Advice;
use kernel::agent::Actor;
use kernel::apply::{apply_under, touches};
use kernel::change::read::{self, Contracts};
use kernel::change::{Act, ActKind, Change, HumanAnswer};
use kernel::command::{Command, Door, MintedIds, RefusedInput, Submission};
use kernel::consequence::Consequence;
use kernel::evaluator::Compiled;
use kernel::finding::Finding;
use kernel::outcome::{Done, Outcome, Verdict};
use kernel::person::Identity;
use kernel::proposal::{Malformed, Proposal};
use kernel::record::{Record, RecordKind};
use kernel::request::Provenance;
use kernel::result::ResultRecord;
use kernel::semantics::Semantics;
use kernel::statement::Proof;
use kernel::world::{Entity, Key, KeySet, Row, World};
use ledger::envelope::Envelope;
use rows::{MemoryRows, ReplayRows, Rows};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Records read at a time.
const PAGE: usize = 512;

/// Looks at the world one command may need; live it is fewer.
const ROUNDS_MAX: usize = 8;

/// What a replay found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Records folded again with the same bytes.
    pub same: u64,
    /// Of those, decisions over proposals.
    pub decisions: u64,
    /// Records that could not be folded: their bodies were erased, or hold secrets that are not kept here.
    pub withheld: u64,
    /// Of those, records whose bodies are gone.
    pub erased: u64,
    /// Of those, records of rules that this program does not know.
    pub newer: u64,
    /// Results: what the other side of effects answered. They are read and not folded.
    pub results: u64,
    /// Results whose bodies are gone, which costs no replay.
    pub results_erased: u64,
    /// The first record whose outcome differs, and how.
    pub differs: Option<(u64, String)>,
}

/// Folds every record of a store again.
///
/// After a record that cannot be folded, later ones may depend on what it did: a difference behind it is reported as
/// withheld, not as damage.
pub fn replay(reader: &mut dyn Reader) -> Result<Replayed, StoreFault> {
    let mut fold = Replay::new(Box::new(MemoryRows::default()))?;
    let mut from = 0;
    loop {
        let page = reader.records(from, PAGE)?;
        let Some(last) = page.last() else { return Ok(fold.found) };
        from = last.index.saturating_add(1);
        for record in page {
            fold.record(record.index, &record.leaf, record.body.as_ref().map(|(body, _)| body.as_str()))?;
            if fold.found.differs.is_some() {
                return Ok(fold.found);
            }
        }
    }
}

/// A replay under way.
pub struct Replay {
    kept: ReplayRows,
    known: KnownContracts,
    /// Bodies of what followed from a command whose own record comes next.
    consequences: Vec<String>,
    found: Replayed,
    last: Option<Instant>,
    expected: Expected,
    /// What the latest command changed, where somebody asks for it.
    changed: Option<Vec<Key>>,
    /// The latest proposal, as it was judged.
    submitted: Option<Arc<Submission>>,
}

/// What the kernel made of a command; nothing is kept of it yet.
enum Folded {
    /// An answer, the world with its changes, and every row that was looked at.
    Done(Box<Done>, Box<World>, KeySet),
    /// It was formed under other contracts than those in force.
    Stale,
}

/// What comes next after a report: its result, in the same transaction, or anything else.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Expected {
    /// Anything but a result.
    Other,
    /// The result of this intent, under this claim.
    Result(String, Option<u64>),
    /// Nobody knows: the record before was erased.
    Anything,
}

struct KnownContracts {
    by_digest: BTreeMap<Digest, Arc<Compiled>>,
    /// What takes the place of every contract of its agent.
    instead: Option<Arc<Compiled>>,
}

impl Contracts for KnownContracts {
    fn known(&self, digest: Digest) -> Option<Arc<Compiled>> {
        self.by_digest.get(&digest).cloned()
    }

    fn compile(&mut self, contract: &Json) -> Option<Arc<Compiled>> {
        let compiled = Arc::new(engines::load::load(&contract.to_canonical()).ok()?.compiled);
        let compiled = self.replaced(compiled)?;
        self.by_digest.insert(compiled.digest, compiled.clone());
        Some(compiled)
    }
}

impl KnownContracts {
    /// Whether a contract is known and nothing stands in its place.
    fn has_kept(&self, contract: &Compiled) -> bool {
        let is_replaced = self.instead.as_ref().is_some_and(|with| with.contract.agent == contract.contract.agent);
        !is_replaced && self.by_digest.contains_key(&contract.digest)
    }

    /// What counts in the place of a contract. It keeps the digest of the one it stands for, because answers of people,
    /// advice and signatures in history are bound to that.
    fn replaced(&self, compiled: Arc<Compiled>) -> Option<Arc<Compiled>> {
        let agent = &compiled.contract.agent;
        match self.instead.as_ref().filter(|instead| instead.contract.agent == *agent) {
            Some(instead) if instead.digest != compiled.digest => {
                engines::load::load_known(instead.contract.to_json(), compiled.digest).map(Arc::new)
            }
            Some(_) | None => Some(compiled),
        }
    }
}

impl Replay {
    /// Starts with an empty world whose rows are kept there.
    pub fn new(rows: Box<dyn Rows>) -> Result<Replay, StoreFault> {
        let nobody = crate::contracts::nobody()?;
        let known = KnownContracts { by_digest: BTreeMap::from([(nobody.digest, nobody)]), instead: None };
        Ok(Replay {
            kept: ReplayRows::new(rows),
            known,
            consequences: Vec::new(),
            found: Replayed::default(),
            last: None,
            expected: Expected::Other,
            changed: None,
            submitted: None,
        })
    }

    /// What was found so far.
    pub fn found(&self) -> &Replayed {
        &self.found
    }

    /// The instant of the latest record.
    pub fn last_instant(&self) -> Option<Instant> {
        self.last
    }

    /// The world as it stands after the last record.
    pub fn rows(&mut self) -> &mut dyn Rows {
        self.kept.rows()
    }

    /// Folds the next record; without a body where that was erased. What it says, where it can be read.
    pub fn record(&mut self, index: u64, leaf: &str, body: Option<&str>) -> Result<Option<Json>, StoreFault> {
        let Some(body) = body else {
            if is_result(leaf) {
                self.found.results_erased += 1;
                self.expected = Expected::Other;
            } else {
                self.found.withheld += 1;
                self.found.erased += 1;
                self.expected = Expected::Anything;
            }
            return Ok(None);
        };
        let Ok(json) = Json::parse_within(body.as_bytes(), &Bounds::OWN) else {
            self.found.differs = Some((index, "the body is not JSON".to_owned()));
            return Ok(None);
        };
        self.last = text(&json, "at").and_then(Instant::parse).or(self.last);
        let kind = RecordKind::of(&json);
        if kind == Some(RecordKind::Result) {
            self.result(index, body, &json);
            return Ok(Some(json));
        }
        if let Expected::Result(intent, _) = std::mem::replace(&mut self.expected, reported(&json)) {
            self.found.differs = Some((index, format!("the result of intent {intent} should be here")));
            return Ok(Some(json));
        }
        match kind {
            Some(RecordKind::Result | RecordKind::Discontinuity) => return Ok(Some(json)),
            // The record of the command that it followed from comes after it.
            Some(RecordKind::Consequence(_)) => {
                self.consequences.push(body.to_owned());
                return Ok(Some(json));
            }
            // What this program does not know may be of newer rules.
            Some(RecordKind::Decision | RecordKind::Refusal | RecordKind::Change(_)) | None => {}
        }
        let known = semantics_of(&json);
        self.found.newer += u64::from(known.is_none());
        let Some(semantics) = known.filter(|_| !holds_secrets(&json)) else {
            self.found.withheld += 1;
            return Ok(Some(json));
        };
        self.fold(index, body, &json, semantics)?;
        Ok(Some(json))
    }

    /// A result stands behind the report that brought it and has the one form there is; nothing is folded.
    fn result(&mut self, index: u64, body: &str, json: &Json) {
        let expected = std::mem::replace(&mut self.expected, Expected::Other);
        let Some(record) = ResultRecord::from_record(json) else {
            self.found.differs = Some((index, "the result cannot be read".to_owned()));
            return;
        };
        let own = Expected::Result(record.intent.clone(), record.epoch);
        if expected != own && expected != Expected::Anything {
            self.found.differs = Some((index, "there is no report that brought this result".to_owned()));
        } else if Record::Result(Arc::new(record)).to_canonical() != body {
            self.found.differs = Some((index, "the result is not in its canonical form".to_owned()));
        } else {
            self.found.results += 1;
        }
    }

    fn fold(&mut self, index: u64, body: &str, json: &Json, semantics: Semantics) -> Result<(), StoreFault> {
        let at = text(json, "at").and_then(Instant::parse);
        let command = self.command(json)?;
        let Some((command, at)) = command.zip(at) else {
            // What it refers to may stand in a record that is not there any more.
            if self.found.withheld > 0 {
                self.found.withheld += 1;
            } else {
                self.found.differs = Some((index, "the record cannot be read as a command".to_owned()));
            }
            return Ok(());
        };
        if let Command::Submit(submission) = &command {
            self.submitted = Some(submission.clone());
        }
        let produced = self.produced(&command, at, semantics)?;
        let mut recorded = std::mem::take(&mut self.consequences);
        recorded.push(body.to_owned());
        if produced == recorded {
            self.found.same += recorded.len() as u64;
            self.found.decisions += u64::from(matches!(command, Command::Submit(_)));
        } else if self.found.withheld > 0 {
            self.found.withheld += recorded.len() as u64;
        } else {
            let (index, named) = about_alarm(index, &recorded, &produced);
            self.found.differs = Some((index, format!("{named}replayed as {}", produced.join(" then "))));
        }
        Ok(())
    }

    /// What the kernel makes of a command now, under the rules of then.
    fn produced(&mut self, command: &Command, at: Instant, semantics: Semantics) -> Result<Vec<String>, StoreFault> {
        Ok(match self.applied(command, at, semantics)? {
            Folded::Done(done, world, _) => {
                self.keep(*world)?;
                done.records.iter().map(Record::to_canonical).collect()
            }
            Folded::Stale => Vec::new(),
        })
    }

    /// The same without keeping anything.
    fn applied(&mut self, command: &Command, at: Instant, semantics: Semantics) -> Result<Folded, StoreFault> {
        let mut keys = touches(command);
        let mut world = Box::new(self.kept.slice(&keys)?);
        for _ in 0..ROUNDS_MAX {
            match apply_under(&mut world, command, at, semantics) {
                Outcome::Done(done) => return Ok(Folded::Done(done, world, keys)),
                Outcome::Need(more) => {
                    self.kept.load(&mut world, &more)?;
                    keys.extend(more);
                }
                Outcome::Prepare => return Ok(Folded::Stale),
            }
        }
        Ok(Folded::Stale)
    }

    fn keep(&mut self, world: World) -> Result<(), StoreFault> {
        let changed = &mut self.changed;
        if let Some(changed) = changed {
            changed.clear();
        }
        self.kept.save(world, &mut |key| changed.iter_mut().for_each(|changed| changed.push(key.clone())))
    }

    fn command(&mut self, json: &Json) -> Result<Option<Command>, StoreFault> {
        let is_answer = RecordKind::of(json) == Some(RecordKind::Change(ActKind::Answer));
        let question = json.get("command").and_then(|command| text(command, "question")).filter(|_| is_answer);
        let asked = match (question, text(json, "tenant")) {
            (Some(question), Some(tenant)) => {
                let entity = Entity::Escalation(question.to_owned());
                self.kept.get(&Key { tenant: Arc::from(tenant), entity })?
            }
            (Some(_) | None, _) => None,
        };
        Ok(self.formed(json, asked.as_ref()))
    }

    fn formed(&mut self, json: &Json, asked: Option<&Row>) -> Option<Command> {
        let tenant: Arc<str> = Arc::from(text(json, "tenant")?);
        match RecordKind::of(json)? {
            RecordKind::Decision => Some(Command::Submit(Arc::new(self.submission(json, tenant)?))),
            RecordKind::Refusal => {
                let findings = json.get("findings")?.as_list()?.iter().map(Finding::from_record);
                let id = text(json, "proposal_id")?.to_owned();
                let malformed = Malformed {
                    id: Some(id.clone()),
                    agent: text(json, "agent").map(str::to_owned),
                    findings: findings.collect::<Option<_>>()?,
                };
                let digest = Digest::parse(text(json, "digest")?)?;
                Some(Command::Refuse(Box::new(RefusedInput { tenant, malformed, digest, id })))
            }
            RecordKind::Change(kind) => {
                let command = json.get("command")?;
                let act = if kind == ActKind::Answer {
                    Act::Answer(Box::new(self.answer(command, &tenant, asked)?))
                } else {
                    read::act(kind, command, &mut self.known)?
                };
                let actor = Actor::parse(text(json, "actor")?)?;
                let id = text(json, "id")?.to_owned();
                Some(Command::Change(Arc::new(Change { tenant, id, actor, act })))
            }
            RecordKind::Result | RecordKind::Discontinuity | RecordKind::Consequence(_) => None,
        }
    }

    fn submission(&self, json: &Json, tenant: Arc<str>) -> Option<Submission> {
        let proposal = Proposal::from_json(json.get("proposal")?.clone()).ok()?;
        let contract = self.known.known(Digest::parse(json.get("contract")?.get("digest")?.as_text()?)?)?;
        let provenance = match json.get("provenance") {
            Some(stated) => Provenance::from_json(stated)?,
            None => Provenance::Unknown,
        };
        let door = match json.get("door") {
            Some(door) => Door::from_json(door)?,
            None => Door::PURE,
        };
        let escalation = json.get("escalation");
        let proposal_id = text(json, "proposal_id")?;
        // What came to nothing kept no id for it; a judgement under other contracts may need one.
        let minted = |key: &str, what: &str| {
            let kept = escalation.and_then(|escalation| text(escalation, key));
            kept.map_or_else(|| format!("{what}-of-{proposal_id}"), str::to_owned)
        };
        let intent = json.get("intent").and_then(|intent| text(intent, "id"));
        let ids = MintedIds {
            proposal: proposal_id.to_owned(),
            flow: text(json, "flow")?.to_owned(),
            intent: intent.map_or_else(|| minted("intent", "intent"), str::to_owned),
            escalation: minted("id", "question"),
        };
        let advice = Advice::list_from_json(json.get("advice"))?;
        let formed = Submission::new(tenant, proposal, contract, provenance, ids);
        let proof = match json.get("proof") {
            Some(envelope) => Some(Arc::new(Proof::open(Envelope::from_json(envelope).ok()?).0)),
            None => None,
        };
        Some(formed.under(self.ancestors(json)?).through(door).advised(advice).proved(proof))
    }

    fn ancestors(&self, json: &Json) -> Option<Vec<Arc<Compiled>>> {
        let Some(digests) = json.get("ancestors") else { return Some(Vec::new()) };
        digests.as_list()?.iter().map(|digest| self.known.known(Digest::parse(digest.as_text()?)?)).collect()
    }

    /// The answer of a person, with the proposal in question formed again as it was then.
    fn answer(&self, command: &Json, tenant: &Arc<str>, asked: Option<&Row>) -> Option<HumanAnswer> {
        let question = text(command, "question")?.to_owned();
        let row = match asked {
            Some(Row::Escalation(row)) => Some(row),
            Some(_) | None => None,
        };
        let form = |proposal: &Json, provenance: Option<Provenance>, ids: MintedIds, said: Option<&Json>| {
            let mut proposal = Proposal::from_json(proposal.clone()).ok()?;
            proposal.flow = Some(ids.flow.clone());
            let contract = self.known.known(Digest::parse(text(command, "contract")?)?)?;
            let provenance = provenance.unwrap_or_else(|| crate::runtime::typed_by_a_person(&proposal));
            let door = Door::from_json(command.get("door")?)?;
            let formed = Submission::new(tenant.clone(), proposal, contract, provenance, ids);
            let advice = Advice::list_from_json(said)?;
            Some(Arc::new(formed.under(self.ancestors(command)?).through(door).advised(advice)))
        };
        let ids = |proposal: &str, intent: &str| MintedIds {
            proposal: proposal.to_owned(),
            flow: row.map(|row| row.flow.clone()).unwrap_or_default(),
            intent: intent.to_owned(),
            escalation: String::new(),
        };
        let formed = text(command, "contract").is_some();
        let original = match row.filter(|_| formed) {
            Some(row) => {
                let provenance = Provenance::from_json(&row.provenance)?;
                let ids = ids(&row.proposal_id, &row.intent);
                Some(form(&row.proposal, Some(provenance), ids, command.get("advice"))?)
            }
            None => None,
        };
        let modified = match command.get("modified").filter(|modified| **modified != Json::Null) {
            Some(modified) => {
                let ids = ids(text(modified, "proposal_id")?, text(modified, "intent")?);
                Some(form(modified.get("proposal")?, None, ids, modified.get("advice"))?)
            }
            None => None,
        };
        Some(HumanAnswer {
            escalation: question,
            decision: text(command, "decision")?.to_owned(),
            digest: Digest::parse(text(command, "digest")?)?,
            reason: text(command, "reason")?.to_owned(),
            original,
            modified,
            identity: Identity::from_json(command)?,
        })
    }
}

/// Whether a leaf is that of a result.
pub(crate) fn is_result(leaf: &str) -> bool {
    let leaf = Json::parse(leaf.as_bytes()).unwrap_or_default();
    RecordKind::of(&leaf) == Some(RecordKind::Result)
}

/// What comes after a record.
fn reported(json: &Json) -> Expected {
    let command = json.get("command").unwrap_or(&Json::Null);
    let of_report =
        RecordKind::of(json).is_some_and(|kind| matches!(kind, RecordKind::Change(ActKind::Outcome | ActKind::Settle)));
    let is_report = of_report && text(json, "verdict") == Some(Verdict::Accept.word());
    match text(command, "intent").filter(|_| is_report && command.get("result") == Some(&Json::Bool(true))) {
        Some(intent) => {
            let epoch = command.get("epoch").and_then(Json::as_number).and_then(|epoch| epoch.to_i64());
            Expected::Result(intent.to_owned(), epoch.and_then(|epoch| u64::try_from(epoch).ok()))
        }
        None => Expected::Other,
    }
}

/// Which entry differs, and of which alarm it is: what follows from a command stands right before it.
fn about_alarm(index: u64, recorded: &[String], produced: &[String]) -> (u64, String) {
    let differs = |body: &String| if produced.contains(body) { None } else { tripped(body) };
    let found = recorded.iter().rev().zip(0_u64..).filter_map(|(body, back)| Some((back, differs(body)?))).last();
    if let Some((back, named)) = found {
        return (index.saturating_sub(back), format!("the alarm of {named} does not recompute; "));
    }
    let missing = produced.iter().filter(|body| !recorded.contains(body)).find_map(|body| tripped(body));
    (index, missing.map(|named| format!("the alarm of {named} is missing; ")).unwrap_or_default())
}

/// The monitor whose alarm a record tells of.
fn tripped(body: &str) -> Option<String> {
    let json = Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()?;
    match Consequence::from_record(&json)? {
        Consequence::MonitorTripped(trip) => Some(format!("monitor `{}` of agent `{}`", trip.monitor, trip.agent)),
        Consequence::IntentMoved { .. }
        | Consequence::IntentExpired { .. }
        | Consequence::QuestionExpired(_)
        | Consequence::QuestionAborted(_)
        | Consequence::QuestionReminded(_)
        | Consequence::QuestionRerouted(_) => None,
    }
}

fn text<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Json::as_text)
}

/// The rules that a record was judged under, if this program knows them.
fn semantics_of(json: &Json) -> Option<Semantics> {
    let number = u64::try_from(json.get("semantics")?.as_number()?.to_i64()?).ok()?;
    Semantics::of(number)
}

/// Whether the recorded proposal leaves something out that mattered. An unknown action was refused whatever its params
/// were, and is refused again.
fn holds_secrets(json: &Json) -> bool {
    let params = |proposal: Option<&Json>| proposal.and_then(|proposal| proposal.get("params")?.as_object().cloned());
    let modified = json.get("command").and_then(|command| command.get("modified")?.get("proposal"));
    let unknown_action = refused_as(json, "ACTION_NOT_ALLOWED");
    let left_out = |value: &Json| {
        let alone = value.as_object().is_some_and(|members| members.len() == 1);
        let says = |word: &str| alone && value.get(word) == Some(&Json::Bool(true));
        says("secret") || says("withheld") && !unknown_action
    };
    [json.get("proposal"), modified].into_iter().filter_map(params).any(|params| params.values().any(left_out))
}

fn refused_as(json: &Json, code: &str) -> bool {
    let findings = json.get("findings").and_then(Json::as_list).unwrap_or_default();
    findings.iter().any(|finding| text(finding, "code") == Some(code))
}
