//! What an agent signs: its proposal, what it saw, and under which contract and rules it believes to act.
//!
//! The payload has the shape of an in-toto statement: the subject is the digest of the proposal, the predicate holds the
//! proposal and the digests it was based on. The runtime recomputes every one of them.

use crate::contract::Contract;
use crate::proposal::{Malformed, Proposal};
use crate::semantics::Semantics;
use ledger::ed25519::{PublicKey, SecretKey};
use ledger::envelope::Envelope;
use values::ids::Digest;
use values::json::Json;

/// A proposal and what it was based on, signed by the agent.
pub const PROOF_TYPE: &str = "application/vnd.writkeeper.proof+json";

/// What kind of predicate it is.
const PREDICATE_TYPE: &str = "urn:writkeeper:proof:v1";

/// The shape of the payload.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// A proof as it arrived: who signed it, and what it states. Checking signatures needs no state, so it happens before
/// anything is locked, and again in every replay.
#[derive(Clone, PartialEq, Debug)]
pub struct Proof {
    envelope: Envelope,
    signers: Vec<PublicKey>,
    stated: Option<Stated>,
}

/// What a proof states.
#[derive(Clone, PartialEq, Debug)]
pub struct Stated {
    /// Digest of the proposal.
    pub proposal: Digest,
    /// Id of the snapshot.
    pub snapshot: Option<String>,
    /// Digest of the contract.
    pub contract: Digest,
    /// Digest of the rules, see [`rules_digest`].
    pub rules: Digest,
}

impl Proof {
    /// Opens an envelope: the proof, and the proposal in it.
    pub fn open(envelope: Envelope) -> (Proof, Result<Proposal, Malformed>) {
        let signers = envelope.signers().into_iter().cloned().collect();
        let json = Json::parse(envelope.payload());
        let (stated, proposal) = match &json {
            Ok(json) => {
                let proposal = json.get("predicate").and_then(|predicate| predicate.get("proposal"));
                (stated(&envelope, json), Proposal::from_json(proposal.cloned().unwrap_or_default()))
            }
            Err(_) => (None, Proposal::parse(envelope.payload())),
        };
        (Proof { envelope, signers, stated }, proposal)
    }

    /// As it arrived.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Whether a key signed it.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signers.contains(key)
    }

    /// What it states; `None` if it is not of the right type and shape.
    pub fn stated(&self) -> Option<&Stated> {
        self.stated.as_ref()
    }
}

fn stated(envelope: &Envelope, json: &Json) -> Option<Stated> {
    let text = |key: &str| json.get(key).and_then(Json::as_text);
    if envelope.payload_type() != PROOF_TYPE
        || text("_type") != Some(STATEMENT_TYPE)
        || text("predicateType") != Some(PREDICATE_TYPE)
    {
        return None;
    }
    let [subject] = json.get("subject")?.as_list()? else { return None };
    let predicate = json.get("predicate")?;
    let digest = |key: &str| Digest::parse(predicate.get(key)?.as_text()?);
    let snapshot = match predicate.get("snapshot")? {
        Json::Null => None,
        Json::Text(id) => Some(id.clone()),
        Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => return None,
    };
    Some(Stated {
        proposal: Digest::parse(subject.get("digest")?.get("sha256")?.as_text()?)?,
        snapshot,
        contract: digest("contract")?,
        rules: digest("rules")?,
    })
}

/// The digest of what judges: the version of the judging rules, the actions with their limits and expressions, budgets,
/// drift keys and policies of the contract. Its name, mission and priorities are not rules.
pub fn rules_digest(contract: &Contract, semantics: Semantics) -> Digest {
    let json = contract.to_json();
    let part = |key: &str| json.get(key).cloned().unwrap_or_default();
    let names = ["actions", "budgets", "drift", "policies", "proposal"];
    let rules = Json::Object(names.iter().map(|name| ((*name).to_owned(), part(name))).collect());
    let number = semantics.number().to_string();
    Digest::of_parts(&[b"writkeeper/rules/v1", number.as_bytes(), rules.to_canonical().as_bytes()])
}

/// Signs a proposal under a contract, on the agent's side.
///
/// `snapshot` is the full id of what the proposal names, if it names any.
pub fn sign(
    proposal: &Json,
    contract: &Contract,
    contract_digest: Digest,
    snapshot: Option<&str>,
    key: &SecretKey,
) -> Envelope {
    let fingerprint = Proposal::from_json(proposal.clone())
        .map_or_else(|_| Digest::of(proposal.to_canonical()), |proposal| proposal.fingerprint);
    let statement = Json::object([
        ("_type", Json::text(STATEMENT_TYPE)),
        ("predicateType", Json::text(PREDICATE_TYPE)),
        (
            "subject",
            Json::List(vec![Json::object([
                ("name", Json::text("proposal")),
                ("digest", Json::object([("sha256", Json::text(fingerprint.to_string()))])),
            ])]),
        ),
        (
            "predicate",
            Json::object([
                ("proposal", proposal.clone()),
                ("snapshot", Json::from(snapshot.map(str::to_owned))),
                ("contract", Json::text(contract_digest.to_string())),
                ("rules", Json::text(rules_digest(contract, Semantics::CURRENT).to_string())),
            ]),
        ),
    ]);
    Envelope::sign(PROOF_TYPE, statement.to_canonical().into_bytes(), &[key])
}
