//! Which act a change is: the word of its record.

use super::Act;
use super::leasing::Leasing;
use super::upkeep::Upkeep;
use crate::contract::words;

words! {
    /// What was asked for, in one word: the kind of the record.
    ActKind {
        Register = "register",
        Activate = "activate",
        StartCanary = "start_canary",
        PromoteCanary = "promote_canary",
        RollBackCanary = "roll_back_canary",
        Restrict = "restrict",
        Lift = "lift",
        Retire = "retire",
        Amend = "amend",
        OpenFlow = "open_flow",
        EndFlow = "end_flow",
        Merge = "merge_state",
        Remember = "merge_session",
        Freeze = "snapshot",
        Import = "import_snapshot",
        Answer = "answer",
        ExpireQuestions = "expire_questions",
        Settle = "settle",
        ExpireIntents = "expire_intents",
        Claim = "claim",
        Start = "start",
        Outcome = "outcome",
        Resolve = "resolve",
        Undo = "undo",
        Halt = "halt",
        Resume = "resume",
        Ask = "ask",
        Reserve = "reserve",
        Release = "release",
        Note = "note",
        LeaseAcquire = "lease_acquire",
        LeaseHeartbeat = "lease_heartbeat",
        LeaseRelease = "lease_release",
        LeaseEvict = "lease_evict",
        LeaseAdopt = "lease_adopt",
        Erase = "erase",
        LegalHold = "legal_hold",
        ReleaseHold = "release_hold",
        RotateKeys = "rotate_keys",
        EnrolKey = "enrol_key",
        KeepKeys = "keep_keys",
        ForgetKeys = "forget_keys",
    }
}

impl Act {
    /// Which act it is.
    pub fn kind(&self) -> ActKind {
        match self {
            Act::Register(_) => ActKind::Register,
            Act::Activate { .. } => ActKind::Activate,
            Act::Try(trial) => trial.kind(),
            Act::Restrict { .. } => ActKind::Restrict,
            Act::Lift { .. } => ActKind::Lift,
            Act::Retire { .. } => ActKind::Retire,
            Act::Amend { .. } => ActKind::Amend,
            Act::OpenFlow { .. } => ActKind::OpenFlow,
            Act::EndFlow { .. } => ActKind::EndFlow,
            Act::Merge(_) => ActKind::Merge,
            Act::Remember { .. } => ActKind::Remember,
            Act::Freeze { .. } => ActKind::Freeze,
            Act::Import { .. } => ActKind::Import,
            Act::Answer(_) => ActKind::Answer,
            Act::ExpireQuestions(_) => ActKind::ExpireQuestions,
            Act::Settle { .. } => ActKind::Settle,
            Act::ExpireIntents => ActKind::ExpireIntents,
            Act::Claim { .. } => ActKind::Claim,
            Act::Start { .. } => ActKind::Start,
            Act::Outcome { .. } => ActKind::Outcome,
            Act::Resolve(_) => ActKind::Resolve,
            Act::Undo { .. } => ActKind::Undo,
            Act::Halt { .. } => ActKind::Halt,
            Act::Resume { .. } => ActKind::Resume,
            Act::Ask(_) => ActKind::Ask,
            Act::Reserve(_) => ActKind::Reserve,
            Act::Release { .. } => ActKind::Release,
            Act::Note { .. } => ActKind::Note,
            Act::Lease(Leasing::Acquire { .. }) => ActKind::LeaseAcquire,
            Act::Lease(Leasing::Heartbeat { .. }) => ActKind::LeaseHeartbeat,
            Act::Lease(Leasing::Release { .. }) => ActKind::LeaseRelease,
            Act::Lease(Leasing::Evict { .. }) => ActKind::LeaseEvict,
            Act::Lease(Leasing::Adopt { .. }) => ActKind::LeaseAdopt,
            Act::Upkeep(Upkeep::Erase { .. }) => ActKind::Erase,
            Act::Upkeep(Upkeep::Hold { .. }) => ActKind::LegalHold,
            Act::Upkeep(Upkeep::Release { .. }) => ActKind::ReleaseHold,
            Act::Upkeep(Upkeep::Rotate { .. }) => ActKind::RotateKeys,
            Act::Upkeep(Upkeep::EnrolKey { .. }) => ActKind::EnrolKey,
            Act::Upkeep(Upkeep::KeepKeys { .. }) => ActKind::KeepKeys,
            Act::Upkeep(Upkeep::ForgetKeys { .. }) => ActKind::ForgetKeys,
        }
    }
}
