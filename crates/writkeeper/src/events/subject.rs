//! What an event is about, as a path.

use kernel::change::ActKind;
use kernel::consequence::ConsequenceKind;
use kernel::record::RecordKind;
use values::json::Json;

/// What the record of this kind is about; nothing where it is about the whole tenant.
pub(super) fn of(kind: RecordKind, body: &Json) -> Option<String> {
    let said = |part: &str, key: &str| body.get(part)?.get(key)?.as_text();
    let at = |folder: &str, name: Option<&str>| name.map(|name| format!("{folder}/{name}"));
    match kind {
        RecordKind::Decision | RecordKind::Refusal => at("proposals", body.get("proposal_id")?.as_text()),
        RecordKind::Result => at("intents", body.get("intent")?.as_text()),
        RecordKind::Discontinuity => None,
        RecordKind::Change(act) => {
            let (folder, key) = of_act(act)?;
            at(folder, said("command", key).or_else(|| said("result", key)))
        }
        RecordKind::Consequence(consequence) => {
            let (folder, key) = of_consequence(consequence);
            at(folder, said("result", key))
        }
    }
}

/// The folder, and the member of the command or of what it tells that holds the name.
fn of_act(act: ActKind) -> Option<(&'static str, &'static str)> {
    Some(match act {
        ActKind::Register
        | ActKind::Activate
        | ActKind::StartCanary
        | ActKind::PromoteCanary
        | ActKind::RollBackCanary
        | ActKind::Restrict
        | ActKind::Lift
        | ActKind::Retire
        | ActKind::Amend
        | ActKind::EnrolKey => ("agents", "agent"),
        ActKind::OpenFlow
        | ActKind::EndFlow
        | ActKind::Remember
        | ActKind::Reserve
        | ActKind::Release
        | ActKind::Note => ("flows", "flow"),
        ActKind::Freeze | ActKind::Import => ("snapshots", "snapshot"),
        ActKind::Answer | ActKind::Ask => ("questions", "question"),
        ActKind::Settle | ActKind::Claim | ActKind::Start | ActKind::Outcome | ActKind::Resolve | ActKind::Undo => {
            ("intents", "intent")
        }
        ActKind::LeaseAcquire
        | ActKind::LeaseHeartbeat
        | ActKind::LeaseRelease
        | ActKind::LeaseEvict
        | ActKind::LeaseAdopt => ("leases", "fence"),
        ActKind::LegalHold | ActKind::ReleaseHold => ("holds", "hold"),
        ActKind::Merge
        | ActKind::ExpireQuestions
        | ActKind::ExpireIntents
        | ActKind::Halt
        | ActKind::Resume
        | ActKind::Erase
        | ActKind::RotateKeys
        | ActKind::KeepKeys
        | ActKind::ForgetKeys => return None,
    })
}

fn of_consequence(consequence: ConsequenceKind) -> (&'static str, &'static str) {
    match consequence {
        ConsequenceKind::IntentMoved | ConsequenceKind::IntentExpired => ("intents", "intent"),
        ConsequenceKind::QuestionExpired
        | ConsequenceKind::QuestionAborted
        | ConsequenceKind::QuestionReminded
        | ConsequenceKind::QuestionRerouted => ("questions", "question"),
        ConsequenceKind::MonitorTripped => ("monitors", "monitor"),
    }
}
