//! Receipts, signed intents and checkpoints: what fits into one small file.

use super::trust::{Trust, Unbelieved};
use super::{Outcome, Report};
use crate::terminal::{self, at_text, counted};
use kernel::finding::visible;
use kernel::intent::{IntentState, SignedIntent};
use kernel::signed_answer::ANSWER_TYPE;
use kernel::statement::PROOF_TYPE;
use kernel::statement::Proof;
use ledger::checkpoint::Checkpoint;
use ledger::envelope::{Envelope, key_text};
use ledger::keyring::Keyring;
use ledger::note::Note;
use ledger::receipt::Receipt;
use runtime::export::stated_size;
use values::json::{Bounds, Json};
use writkeeper::happening::Happening;
use writkeeper::matter::{Matter, Part, Signature, person, signature};

/// One decision and the proof that it is in the ledger.
pub fn receipt(bytes: &[u8], trust: &Trust) -> Report {
    let mut report = Report::of("receipt");
    let receipt = match Receipt::parse(bytes) {
        Ok(receipt) => receipt,
        Err(problem) => return report.damaged(problem.to_string()),
    };
    report.put("index", receipt.index());
    let Some(carried) = receipt.carried() else {
        return report.damaged("the entry beside the proof is missing or was changed");
    };
    let size = stated_size(receipt.checkpoint());
    let signed = match trust.checkpoint(receipt.checkpoint(), Some(&carried.keyring)) {
        Ok(signed) => signed,
        Err(Unbelieved::NotGiven(problem)) => {
            report.at_least(Outcome::Incomplete);
            problem
        }
        Err(problem @ (Unbelieved::NoKey(_) | Unbelieved::OtherLog(_) | Unbelieved::Wrong(_))) => {
            return report.damaged(problem.text());
        }
    };
    let policy = match carried.keyring.policy_at(size, Vec::new(), 0) {
        Ok(policy) => policy,
        Err(problem) => return report.damaged(problem.to_string()),
    };
    if let Err(problem) = receipt.verify_carried(&policy) {
        return report.damaged(problem.to_string());
    }
    report.line("entry", format!("{} of {size} in {}", receipt.index(), carried.keyring.origin()));
    report.line("signed by", signed);
    if !trust.is_stated() {
        report.line("trust", "the key is the receipt's own; compare it with the one you know, or give --key");
    }
    report.put("size", size);
    report.put("own_key", !trust.is_stated());
    let Some((body, _)) = &carried.body else {
        report.at_least(Outcome::Incomplete);
        report.put("erased", true);
        report.sum = "the entry is in the ledger, and its record was erased: what it said cannot be shown or judged \
                      again (not replayable: erased)"
            .to_owned();
        return report;
    };
    report.put("erased", false);
    decided(&mut report, body);
    let companions = carried.companions.iter().map(|companion| (companion.index, companion.body.as_ref()));
    let mut entries: Vec<_> = companions.chain([(receipt.index(), carried.body.as_ref())]).collect();
    entries.sort_by_key(|(index, _)| *index);
    let read = |body: &str| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok();
    let records: Vec<Json> = entries.into_iter().filter_map(|(_, body)| read(&body?.0)).collect();
    if let Some(problem) = tell_matter(&mut report, &records, carried.keyring.origin()) {
        return report.damaged(problem);
    }
    report.sum = match report.outcome {
        Outcome::Clean => "the entry is in the ledger, and the record is the entry's".to_owned(),
        Outcome::Incomplete | Outcome::Damaged => "whose ledger it is in was not checked".to_owned(),
    };
    report
}

/// What the receipt and the entries beside it tell: the intent, who answered, and how it ended. The error says that a
/// signature under an answer is wrong.
fn tell_matter(report: &mut Report, records: &[Json], origin: &str) -> Option<String> {
    let mut matter = records.first().map(Matter::of)?;
    records.iter().for_each(|record| matter.learn(record));
    let mut answers = Vec::new();
    let mut ended = None;
    let mut wrong = None;
    for record in records {
        match matter.part(record) {
            Some(Part::Answer) => {
                let command = record.get("command");
                let vouched = match signature(record, origin) {
                    Signature::Holds(key) => format!("signed with {key}"),
                    Signature::Wrong => "the signature under an answer does not fit what was said".to_owned(),
                    Signature::None => match text(command, "os_user") {
                        Some(os_user) => format!("unsigned; typed by the system's user {}", visible(os_user)),
                        None => "unsigned".to_owned(),
                    },
                };
                report.line("answer", answer_line(record));
                report.line("", vouched.clone());
                if signature(record, origin) == Signature::Wrong {
                    wrong = Some(vouched);
                }
                answers.push(command.cloned().unwrap_or_default());
            }
            Some(Part::Outcome) => ended = Some(record),
            Some(Part::Decision) | None => {}
        }
    }
    // A question names the intent it may become; there is one only once somebody said yes.
    let made = records.iter().find_map(|record| record.get("intent")?.get("id")?.as_text());
    if let Some(intent) = made {
        report.line("intent", visible(intent));
        report.put("intent", intent);
    }
    if let Some(record) = ended {
        let state = Happening::from_record(record).and_then(|happened| happened.intent_state());
        let state = state.map_or("-", IntentState::word);
        let detail = text(record.get("command"), "detail").filter(|detail| !detail.is_empty());
        let detail = detail.map(|detail| format!(" ({})", visible(detail))).unwrap_or_default();
        report.line("outcome", format!("{state}{detail} at {}", at(record)));
        report.put("outcome_of_intent", state);
    } else if made.is_some() {
        report.line("outcome", "none in this receipt");
    }
    report.put("answers", Json::List(answers));
    wrong
}

fn answer_line(record: &Json) -> String {
    let said = |key: &str| visible(text(record.get("command"), key).unwrap_or("-"));
    let who = person(record).unwrap_or_else(|| "nobody".to_owned());
    format!("{} by {} at {}: {}", said("decision"), visible(&who), at(record), said("reason"))
}

/// When a record was made, as people read it; the record itself has it in full.
fn at(record: &Json) -> String {
    at_text(text(Some(record), "at").unwrap_or("-"))
}

fn text<'j>(json: Option<&'j Json>, key: &str) -> Option<&'j str> {
    json.and_then(|json| json.get(key)).and_then(Json::as_text)
}

/// What the record tells, in one line.
fn decided(report: &mut Report, body: &str) {
    let Ok(json) = Json::parse_within(body.as_bytes(), &Bounds::OWN) else { return };
    let text = |key: &str| json.get(key).and_then(Json::as_text).unwrap_or("-").to_owned();
    let subject = json.get("proposal").and_then(|proposal| proposal.get("action")).and_then(Json::as_text);
    let who = json.get("agent").and_then(Json::as_text).map_or_else(|| text("actor"), str::to_owned);
    report.line(
        "record",
        format!("{} {} {} by {who} at {}", text("kind"), subject.unwrap_or(""), text("verdict"), at(&json)),
    );
    report.put("verdict", Json::text(text("verdict")));
    report.put("record", json);
}

/// Permission for an executor elsewhere, as `intents sign` writes it.
pub fn intent(bytes: &[u8], trust: &Trust) -> Report {
    let mut report = Report::of("signed intent");
    let Ok(note) = Note::parse(bytes) else { return report.damaged("it is no signed note") };
    let stated = match SignedIntent::stated(&note) {
        Ok(stated) => stated,
        Err(problem) => return report.damaged(problem),
    };
    let id = stated.order.id.as_str();
    report.line("intent", format!("{id}, epoch {}, for executor {}", stated.epoch, stated.executor));
    report.line("not after", terminal::at(stated.not_after));
    report.put("intent", id);
    report.put("epoch", stated.epoch);
    report.put("executor", stated.executor.as_str());
    report.put("not_after", stated.not_after.to_string());
    report.put("effect_key", stated.key.as_str());
    if !trust.is_stated() {
        // Unlike an export it carries no key, so there is nobody to ask.
        report.at_least(Outcome::Incomplete);
        report.line("signed by", "no key is known; give one with --key");
        report.sum = "it can be read; whose it is was not checked".to_owned();
        return report;
    }
    match trust.signer_of(&note) {
        Some(key) => report.line("signed by", key),
        None => return report.damaged("no key that was given has signed it"),
    }
    report.sum = match crate::store::now() > stated.not_after {
        true => "the signature fits; its time is over, so it must not be performed".to_owned(),
        false => "the signature fits".to_owned(),
    };
    report
}

/// A proposal with its proof.
pub fn envelope(json: &Json, trust: &Trust) -> Report {
    let report = Report::of("signed envelope");
    let envelope = match Envelope::from_json(json) {
        Ok(envelope) => envelope,
        Err(problem) => return report.damaged(problem.to_string()),
    };
    let mut report = match envelope.payload_type() {
        PROOF_TYPE => Report::of("signed proposal"),
        ANSWER_TYPE => Report::of("signed answer"),
        other => return report.damaged(format!("`{other}` is no type that is known here")),
    };
    let signers = envelope.signers();
    if signers.len() != envelope.named_keys().count() {
        return report.damaged("a signature does not fit the payload and its key");
    }
    let known: Vec<_> = signers.iter().filter(|key| trust.knows(key)).collect();
    if trust.is_stated() && known.is_empty() {
        return report.damaged("no key that was given has signed it");
    }
    for key in &signers {
        report.line("signed by", key_text(key));
    }
    if !trust.is_stated() {
        report.line("trust", "the key is the envelope's own; compare it with the one you know, or give --key");
    }
    report.put("own_key", !trust.is_stated());
    report.put("keys", Json::texts(signers.iter().map(|key| key_text(key))));
    match Json::parse_within(envelope.payload(), &Bounds::OWN) {
        Ok(payload) => report.put("payload", payload),
        Err(_) => return report.damaged("the payload is not JSON"),
    }
    if envelope.payload_type() == PROOF_TYPE {
        let (proof, proposal) = Proof::open(envelope);
        let fits =
            proposal.ok().zip(proof.stated()).is_some_and(|(proposal, stated)| proposal.fingerprint == stated.proposal);
        if !fits {
            return report.damaged("the digest it states is not that of the proposal in it");
        }
    }
    report.sum = "every signature fits".to_owned();
    report
}

/// What was given beside a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// No ledger.
    Nothing,
    /// A ledger that could be compared.
    Export,
    /// A ledger that does not verify, perhaps because of the checkpoint.
    DamagedExport,
}

/// A checkpoint by itself, or beside others.
pub fn checkpoint(note: &Note, trust: &Trust, all: &[(String, Note)], beside: Beside, rings: &[Keyring]) -> Report {
    let has_export = beside != Beside::Nothing;
    let mut report = Report::of("checkpoint");
    let Ok(own) = Checkpoint::parse(note.text()) else { return report.damaged("it cannot be read") };
    report.put("size", own.size());
    report.put("root", own.root().to_string());
    report.line("log", own.origin());
    report.line("tree", format!("{}, root {}", counted(own.size(), "entry"), own.root()));
    let ring = rings.iter().find(|ring| ring.origin() == own.origin());
    match trust.checkpoint(note, ring) {
        Ok(signed) => report.line("signed by", signed),
        Err(Unbelieved::Wrong(problem)) => return report.damaged(problem),
        // The ledger beside it tells which log came before; its key is another one.
        Err(Unbelieved::OtherLog(problem)) if ring.is_none() => return report.damaged(problem),
        Err(problem @ (Unbelieved::OtherLog(_) | Unbelieved::NotGiven(_))) => {
            report.at_least(Outcome::Incomplete);
            report.line("signed by", problem.text());
        }
        Err(Unbelieved::NoKey(problem)) => {
            report.line("signed by", problem);
            if !has_export {
                report.at_least(Outcome::Incomplete);
            }
        }
    }
    for (name, other) in all {
        let Ok(other) = Checkpoint::parse(other.text()) else { continue };
        if other.origin() != own.origin() {
            if !has_export {
                report.at_least(Outcome::Incomplete);
                let log = other.origin();
                report.line("growth", format!("`{name}` is of log `{log}`; whether one follows the other shows only the exported ledger: give it too"));
            }
            continue;
        }
        if other.size() == own.size() && other.root() != own.root() {
            return report.damaged(format!(
                "`{name}` has another root for {}: two histories were signed",
                counted(own.size(), "entry")
            ));
        }
        if other.size() != own.size() && !has_export {
            report.at_least(Outcome::Incomplete);
            report.line(
                "growth",
                format!(
                    "whether a tree of {} continues one of {} shows only the exported ledger: give it too",
                    counted(own.size().max(other.size()), "entry"),
                    own.size().min(other.size())
                ),
            );
        }
    }
    if beside == Beside::DamagedExport {
        report.at_least(Outcome::Incomplete);
        report.line("compared", "not to the end: the exported ledger beside it does not verify");
    }
    report.sum = match report.outcome {
        Outcome::Clean if beside == Beside::Export => "compared with the exported ledger".to_owned(),
        Outcome::Clean => "the signature fits".to_owned(),
        Outcome::Incomplete | Outcome::Damaged => "not everything could be checked".to_owned(),
    };
    report
}
