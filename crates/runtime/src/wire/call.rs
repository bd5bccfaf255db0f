//! A change as a client asks for it: the word of the act and the command of its record, without who asks.

use super::{CALL_BOUNDS, Failure, given, optional, text};
use kernel::agent::Session;
use kernel::canary::Share;
use kernel::change::{Act, ActKind, AttachedResult, Inquiry, read};
use kernel::contract::amend::Amendment;
use kernel::evaluator::Compiled;
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::result::EffectResult;
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Instant;

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Call {
    /// A change that depends on no contract in force, an activation among them.
    Act(Act),
    /// An agent comes with a contract.
    Register { contract: Arc<Compiled>, version: Option<String>, session: Option<Session> },
    /// A bound changes for a while.
    Amend { agent: String, amendment: Amendment },
    /// A share of an agent's flows is put under a candidate.
    StartCanary { contract: Arc<Compiled>, share: Share, because: String },
    /// An agent asks a person of its own accord.
    Ask(Box<Inquiry>),
    /// The caller answers a question.
    Answer(Box<CallerAnswer>),
}

/// A person's answer without the person, whom the service knows.
#[derive(Clone, PartialEq, Debug)]
pub struct CallerAnswer {
    /// Whom the caller takes itself for; the answer is refused if it is somebody else.
    pub person: Option<String>,
    pub question: String,
    pub decision: String,
    /// Digest of what was shown.
    pub digest: Digest,
    pub reason: String,
    /// What is to happen instead.
    pub instead: Option<Proposal>,
    /// Its signature; what it says of a user of the operating system counts nowhere else.
    pub identity: Identity,
}

/// What acts hold of others, so that the same words mean the same: contracts are compiled from their full text.
struct FromText;

impl read::Contracts for FromText {
    fn known(&self, _: Digest) -> Option<Arc<Compiled>> {
        None
    }

    fn compile(&mut self, contract: &Json) -> Option<Arc<Compiled>> {
        Some(Arc::new(engines::load::load(&contract.to_canonical()).ok()?.compiled))
    }
}

impl Call {
    /// Which act it is.
    pub fn kind(&self) -> ActKind {
        match self {
            Call::Act(act) => act.kind(),
            Call::Register { .. } => ActKind::Register,
            Call::Amend { .. } => ActKind::Amend,
            Call::StartCanary { .. } => ActKind::StartCanary,
            Call::Ask(_) => ActKind::Ask,
            Call::Answer(_) => ActKind::Answer,
        }
    }

    /// The bytes of the call.
    pub fn write(&self) -> Vec<u8> {
        self.to_json().to_canonical().into_bytes()
    }

    fn to_json(&self) -> Json {
        let command = match self {
            Call::Act(act) => act_json(act),
            Call::Register { contract, version, session } => registration_json(contract, version, session.as_ref()),
            Call::Amend { agent, amendment } => {
                Json::object([("agent", Json::text(agent.as_str())), ("amendment", amendment.to_json())])
            }
            Call::StartCanary { contract, share, because } => Json::object([
                ("contract", contract.contract.to_json()),
                ("share", Json::text(share.to_string())),
                ("because", Json::text(because.as_str())),
            ]),
            Call::Ask(inquiry) => inquiry.to_json(),
            Call::Answer(answer) => answer.to_json(),
        };
        Json::object([("act", Json::text(self.kind().word())), ("command", command)])
    }

    /// Reads the bytes of a call.
    pub fn read(bytes: &[u8]) -> Result<Call, Failure> {
        let malformed = |problem: String| Failure::Malformed(problem);
        let json = Json::parse_within(bytes, &CALL_BOUNDS).map_err(|refusal| malformed(refusal.to_string()))?;
        let word = json.get("act").and_then(Json::as_text);
        let word = word.ok_or_else(|| malformed("`act` is missing".to_owned()))?;
        let shown = || kernel::finding::shown(&Json::text(word));
        let kind = ActKind::from_word(word).ok_or_else(|| malformed(format!("`{}` is no act", shown())))?;
        let command = json.get("command").ok_or_else(|| malformed("`command` is missing".to_owned()))?;
        let call = if kind == ActKind::Register {
            registration(command)?
        } else if kind == ActKind::Amend {
            amendment(command)
        } else if kind == ActKind::StartCanary {
            canary(command)?
        } else if kind == ActKind::Ask {
            Inquiry::from_json(command).map(|inquiry| Call::Ask(Box::new(inquiry)))
        } else if kind == ActKind::Answer {
            CallerAnswer::read(command).map(|answer| Call::Answer(Box::new(answer)))
        } else {
            act(kind, command)
        };
        let call = call.ok_or_else(|| malformed(format!("the command of `{}` cannot be read", kind.word())))?;
        // There is one text for one call: whoever adds a member wants something that nobody here understands.
        if call.to_json() != json {
            return Err(malformed(format!("the call of `{}` has something that is not its own", kind.word())));
        }
        Ok(call)
    }
}

/// The command of an act's record; a result is there in full, because no record holds it yet.
fn act_json(act: &Act) -> Json {
    let mut command = act.to_json();
    if let (Some((_, _, AttachedResult::Given(result))), Json::Object(members)) = (act.attached(), &mut command) {
        members.insert("result".to_owned(), result.to_json());
    }
    command
}

fn act(kind: ActKind, command: &Json) -> Option<Call> {
    let brings_result = matches!(kind, ActKind::Settle | ActKind::Outcome);
    let Some(result) = command.get("result").filter(|result| brings_result && **result != Json::Bool(false)) else {
        return read::act(kind, command, &mut FromText).map(Call::Act);
    };
    let given = Some(AttachedResult::Given(Box::new(EffectResult::from_json(result)?)));
    let mut members = command.as_object()?.clone();
    members.insert("result".to_owned(), Json::Bool(false));
    let mut act = read::act(kind, &Json::Object(members), &mut FromText)?;
    if let Act::Settle { result, .. } | Act::Outcome { result, .. } = &mut act {
        *result = given;
    }
    Some(Call::Act(act))
}

fn registration_json(contract: &Compiled, version: &Option<String>, session: Option<&Session>) -> Json {
    let session = session.map_or(Json::Null, |session| {
        Json::object([
            ("token_hash", Json::text(session.token_hash.to_string())),
            ("expires", Json::text(session.expires.to_string())),
        ])
    });
    let version = ("version", Json::from(version.clone()));
    Json::object([("contract", contract.contract.to_json()), version, ("session", session)])
}

/// The contract of a call in full, where there is one.
fn contract_of(command: &Json) -> Result<Option<Arc<Compiled>>, Failure> {
    let Some(contract) = given(command, "contract") else { return Ok(None) };
    let loaded = engines::load::load(&contract.to_canonical()).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::Malformed(format!("the contract cannot be used: {}", said.join("; ")))
    })?;
    Ok(Some(Arc::new(loaded.compiled)))
}

fn canary(command: &Json) -> Result<Option<Call>, Failure> {
    let share = text(command, "share").and_then(|share| Share::parse(&share));
    let Some((share, because)) = share.zip(text(command, "because")) else { return Ok(None) };
    Ok(contract_of(command)?.map(|contract| Call::StartCanary { contract, share, because }))
}

fn registration(command: &Json) -> Result<Option<Call>, Failure> {
    let Some(contract) = contract_of(command)? else { return Ok(None) };
    let session = match given(command, "session") {
        None => None,
        Some(session) => {
            let Some(session) = session_of(session) else { return Ok(None) };
            Some(session)
        }
    };
    let Some(version) = optional(command, "version") else { return Ok(None) };
    Ok(Some(Call::Register { contract, version, session }))
}

fn session_of(json: &Json) -> Option<Session> {
    let token_hash = Digest::parse(json.get("token_hash")?.as_text()?)?;
    Some(Session { token_hash, expires: Instant::parse(json.get("expires")?.as_text()?)? })
}

fn amendment(command: &Json) -> Option<Call> {
    let amendment = Amendment::from_json(command.get("amendment")?)?;
    Some(Call::Amend { agent: text(command, "agent")?, amendment })
}

impl CallerAnswer {
    fn to_json(&self) -> Json {
        let instead = self.instead.as_ref().map(|instead| instead.to_json(instead.params.clone()));
        let mut members = Object::from_iter([
            ("question".to_owned(), Json::text(self.question.as_str())),
            ("decision".to_owned(), Json::text(self.decision.as_str())),
            ("digest".to_owned(), Json::text(self.digest.to_string())),
            ("reason".to_owned(), Json::text(self.reason.as_str())),
        ]);
        members.extend(self.person.as_ref().map(|person| ("person".to_owned(), Json::text(person.as_str()))));
        members.extend(instead.map(|instead| ("instead".to_owned(), instead)));
        self.identity.put_into(&mut members);
        Json::Object(members)
    }

    fn read(command: &Json) -> Option<CallerAnswer> {
        let instead = match given(command, "instead") {
            None => None,
            Some(instead) => Some(Proposal::from_json(instead.clone()).ok()?),
        };
        Some(CallerAnswer {
            person: optional(command, "person")?,
            question: text(command, "question")?,
            decision: text(command, "decision")?,
            digest: Digest::parse(command.get("digest")?.as_text()?)?,
            reason: text(command, "reason")?,
            instead,
            identity: Identity::from_json(command)?,
        })
    }
}
