//! Replay: the ledger's records folded again through the kernel, and every outcome compared byte for byte.

use crate::ports::store::{Reader, StoreFault};
use kernel::advice::Advice;
use kernel::agent::Actor;
use kernel::apply::apply;
use kernel::change::read::{self, Contracts};
use kernel::change::{Act, Change, HumanAnswer};
use kernel::command::{Command, Door, MintedIds, RefusedInput, Submission};
use kernel::evaluator::Compiled;
use kernel::finding::Finding;
use kernel::ids::Digest;
use kernel::json::{Bounds, Json};
use kernel::outcome::Outcome;
use kernel::proposal::{Malformed, Proposal};
use kernel::request::Provenance;
use kernel::time::Instant;
use kernel::world::{Entity, Key, Loaded, Row, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records read at a time.
const PAGE: usize = 512;

/// Records of what followed from a command; the command's own record comes after them.
const CONSEQUENCES: &[&str] = &["intent_expired", "question_expired", "question_reminded", "question_rerouted"];

/// What a replay found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Records folded again with the same bytes.
    pub same: u64,
    /// Records that could not be folded: their bodies were erased, or hold secrets that are not kept here.
    pub withheld: u64,
    /// The first record whose outcome differs, and how.
    pub differs: Option<(u64, String)>,
}

/// Folds every record of a store again.
///
/// After a record that cannot be folded, later ones may depend on what it did: a difference behind it is reported as
/// withheld, not as damage.
pub fn replay(reader: &mut dyn Reader) -> Result<Replayed, StoreFault> {
    let mut fold = Fold::new()?;
    let mut from = 0;
    loop {
        let page = reader.records(from, PAGE)?;
        let Some(last) = page.last() else { return Ok(fold.found) };
        from = last.index.saturating_add(1);
        for record in page {
            match record.body {
                Some((body, _)) => fold.record(record.index, body),
                None => fold.found.withheld += 1,
            }
            if fold.found.differs.is_some() {
                return Ok(fold.found);
            }
        }
    }
}

struct Fold {
    world: World,
    known: Known,
    /// Bodies of what followed from a command whose own record comes next.
    consequences: Vec<String>,
    found: Replayed,
}

struct Known(BTreeMap<Digest, Arc<Compiled>>);

impl Contracts for Known {
    fn known(&self, digest: Digest) -> Option<Arc<Compiled>> {
        self.0.get(&digest).cloned()
    }

    fn compile(&mut self, contract: &Json) -> Option<Arc<Compiled>> {
        let compiled = Arc::new(engines::load::load(&contract.to_canonical()).ok()?.compiled);
        self.0.insert(compiled.digest, compiled.clone());
        Some(compiled)
    }
}

impl Fold {
    fn new() -> Result<Fold, StoreFault> {
        let nobody = crate::contracts::nobody()?;
        let known = Known(BTreeMap::from([(nobody.digest, nobody)]));
        Ok(Fold { world: World::complete(), known, consequences: Vec::new(), found: Replayed::default() })
    }

    fn record(&mut self, index: u64, body: String) {
        let Ok(json) = Json::parse_within(body.as_bytes(), &Bounds::FILE) else {
            self.found.differs = Some((index, "the body is not JSON".to_owned()));
            return;
        };
        if text(&json, "kind").is_some_and(|kind| CONSEQUENCES.contains(&kind)) {
            self.consequences.push(body);
            return;
        }
        if holds_secrets(&json) {
            self.found.withheld += 1;
            return;
        }
        let at = text(&json, "at").and_then(Instant::parse);
        let formed = at.and_then(|at| Some((self.command(&json)?, at)));
        let Some((command, at)) = formed else {
            self.found.differs = Some((index, "the record cannot be read as a command".to_owned()));
            return;
        };
        let produced = match apply(&mut self.world, &command, at) {
            Outcome::Done(done) => done.records.iter().map(|record| record.body().to_canonical()).collect(),
            Outcome::Need(_) | Outcome::Prepare => Vec::new(),
        };
        let mut recorded = std::mem::take(&mut self.consequences);
        recorded.push(body);
        if produced == recorded {
            self.found.same += recorded.len() as u64;
        } else if self.found.withheld > 0 {
            self.found.withheld += recorded.len() as u64;
        } else {
            let produced: Vec<String> = produced;
            self.found.differs = Some((index, format!("replayed as {}", produced.join(" then "))));
        }
    }

    fn command(&mut self, json: &Json) -> Option<Command> {
        let tenant: Arc<str> = Arc::from(text(json, "tenant")?);
        match text(json, "kind")? {
            "decision" => Some(Command::Submit(Arc::new(self.submission(json, tenant)?))),
            "refusal" => {
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
            kind => {
                let command = json.get("command")?;
                let act = match kind {
                    "answer" => Act::Answer(Box::new(self.answer(command, &tenant)?)),
                    other => read::act(other, command, &mut self.known)?,
                };
                let actor = Actor::parse(text(json, "actor")?)?;
                let id = text(json, "id")?.to_owned();
                Some(Command::Change(Arc::new(Change { tenant, id, actor, act })))
            }
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
        let minted = |key: &str| escalation.and_then(|escalation| text(escalation, key)).unwrap_or_default().to_owned();
        let intent = json.get("intent").and_then(|intent| text(intent, "id"));
        let ids = MintedIds {
            proposal: text(json, "proposal_id")?.to_owned(),
            flow: text(json, "flow")?.to_owned(),
            intent: intent.map_or_else(|| minted("intent"), str::to_owned),
            escalation: minted("id"),
        };
        let advice = Advice::list_from_json(json.get("advice"))?;
        let formed = Submission::new(tenant, proposal, contract, provenance, ids);
        Some(formed.under(self.ancestors(json)?).through(door).advised(advice))
    }

    fn ancestors(&self, json: &Json) -> Option<Vec<Arc<Compiled>>> {
        let Some(digests) = json.get("ancestors") else { return Some(Vec::new()) };
        digests.as_list()?.iter().map(|digest| self.known.known(Digest::parse(digest.as_text()?)?)).collect()
    }

    /// The answer of a person, with the proposal in question formed again as it was then.
    fn answer(&self, command: &Json, tenant: &Arc<str>) -> Option<HumanAnswer> {
        let question = text(command, "question")?.to_owned();
        let key = Key { tenant: tenant.clone(), entity: Entity::Escalation(question.clone()) };
        let row = match self.world.get(&key) {
            Loaded::Present(Row::Escalation(row)) => Some(row),
            Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => None,
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
        })
    }
}

fn text<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Json::as_text)
}

/// Whether the recorded proposal leaves something out. What an unknown action's params were does not matter: it was
/// refused, but how is not known from the record.
fn holds_secrets(json: &Json) -> bool {
    let params = |proposal: Option<&Json>| proposal.and_then(|proposal| proposal.get("params")?.as_object().cloned());
    let modified = json.get("command").and_then(|command| command.get("modified")?.get("proposal"));
    let left_out = |value: &Json| {
        let marked = value.get("secret").or_else(|| value.get("withheld"));
        marked == Some(&Json::Bool(true)) && value.as_object().is_some_and(|members| members.len() == 1)
    };
    [json.get("proposal"), modified].into_iter().filter_map(params).any(|params| params.values().any(left_out))
}
