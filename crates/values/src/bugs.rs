//! Known faults that can be switched on one at a time.
//!
//! A test that has never been seen red proves nothing. With the feature `bugs` each entry brings one fault of the
//! references, or of a careless implementation, back on the current thread; the fault tests demand to fail then.
//! Without the feature every switch is the constant `false` and costs nothing.

macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// One fault that can be brought back.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Bug { $($(#[$doc])* $name),+ }

        impl Bug {
            /// Every switch there is.
            pub const ALL: &'static [Bug] = &[$(Bug::$name),+];

            /// The name by which tests and tables call it.
            pub fn name(self) -> &'static str {
                match self { $(Bug::$name => $text),+ }
            }
        }
    };
}

bugs! {
    /// Later duplicate keys win silently.
    JsonDuplicateKeys = "json_duplicate_keys",
    /// Numbers that no double holds are rounded instead of refused.
    JsonInexactNumbers = "json_inexact_numbers",
    /// A lone surrogate becomes U+FFFD.
    JsonLoneSurrogate = "json_lone_surrogate",
    /// U+0000 passes the door.
    JsonNul = "json_nul",
    /// Nesting is not bounded at 32.
    JsonDepth = "json_depth",
    /// A byte order mark is skipped.
    JsonByteOrderMark = "json_byte_order_mark",
    /// Text such as "1e1" or "NaN" and booleans are taken for numbers by limits.
    W09TextAsNumber = "w09_text_as_number",
    /// Negative amounts pass a maximum.
    W09NegativePasses = "w09_negative_passes",
    /// A missing or null param passes its limit.
    W09MissingPasses = "w09_missing_passes",
    /// An agent nobody registered is judged as if it were ours.
    W09UnknownAgent = "w09_unknown_agent",
    /// An action the contract does not name is accepted.
    W09DefaultAllow = "w09_default_allow",
    /// The confidence thresholds are not applied.
    W09ConfidenceIgnored = "w09_confidence_ignored",
    /// A time without an offset is read as UTC.
    W09TimeWithoutOffset = "w09_time_without_offset",
    /// The role INTERFACE, unknown to the reference, is treated as EXECUTOR.
    W09InterfaceRole = "w09_interface_role",
    /// Unknown contract keys are ignored.
    W09UnknownKeys = "w09_unknown_keys",
    /// A refused proposal of a suspended agent leaves no record.
    W09SuspendedUnrecorded = "w09_suspended_unrecorded",
    /// Snapshot ids are cut to 64 bits.
    W10ShortSnapshotId = "w10_short_snapshot_id",
    /// A missing live value counts as zero under a tolerance.
    W12MissingIsZero = "w12_missing_is_zero",
    /// A value that is no number passes a tolerance.
    W12NotANumberPasses = "w12_not_a_number_passes",
    /// "1.2.x" accepts 1.0.0: only the major version is compared.
    W13MajorOnly = "w13_major_only",
    /// A key that was forgotten still gets its stored answer as long as its row is there.
    KeysKeptForEver = "keys_kept_for_ever",
    /// A repeated key is judged again instead of getting its stored answer.
    W01KeyForgotten = "w01_key_forgotten",
    /// A caller's id may name several proposals.
    IdForgotten = "id_forgotten",
    /// What others hold of a resource is not counted.
    W02HeldIgnored = "w02_held_ignored",
    /// A question is asked again while it is open, and after a person said no.
    AskedAgain = "asked_again",
    /// The budget of questions is not counted.
    W03QuestionsUncounted = "w03_questions_uncounted",
    /// Registering again makes an agent active, under the contract it brings.
    W04HandshakeResets = "w04_handshake_resets",
    /// Rejections of a flow are not counted.
    W05RetriesUncounted = "w05_retries_uncounted",
    /// State is written without comparing versions.
    W06MergeBlind = "w06_merge_blind",
    /// What joins a session replaces it.
    W06SessionBlind = "w06_session_blind",
    /// A flow that is over takes proposals.
    W08ClosedFlowActs = "w08_closed_flow_acts",
    /// Aborting a flow calls nothing off, and what was accepted in it is still started.
    AbortedFlowStarts = "aborted_flow_starts",
    /// An answer is taken from anyone, also the proposer.
    W15AnswerFromAnyone = "w15_answer_from_anyone",
    /// An agent performs whatever was accepted for it, also what only executors may.
    AgentPerformsAnything = "agent_performs_anything",
    /// A question that an operator asks in the name of an agent does not say who asked.
    W15AskerUnnamed = "w15_asker_unnamed",
    /// Two spellings of a name are two people.
    W15NamesUnfolded = "w15_names_unfolded",
    /// What a contract above allows, asks and refuses does not bind those below it.
    LineageLinesIgnored = "lineage_lines_ignored",
    /// What a contract says of detectors and of enforcement is read, and nobody looks at it.
    SettingsUnread = "settings_unread",
    /// Letters that only look like those of a denied value pass.
    LookAlikesPass = "look_alikes_pass",
    /// A list of questions is skipped for what `allow` names.
    TriggersOutsideOnly = "triggers_outside_only",
    /// A question that was answered is answered again.
    W15AnsweredTwice = "w15_answered_twice",
    /// A suspension is not looked at.
    SuspensionIgnored = "suspension_ignored",
    /// An answer is taken for other bytes than were shown.
    AnswerUnbound = "answer_unbound",
    /// An answer counts without the signature that the contract demands.
    AnswerUnsigned = "answer_unsigned",
    /// A signature counts for another answer than the one it was made for.
    AnswerSignatureUnbound = "answer_signature_unbound",
    /// A passive agent keeps people from approving what it asked.
    AnswerStoppedByPassive = "answer_stopped_by_passive",
    /// A bound may be amended beyond its ceiling.
    AmendmentUnbounded = "amendment_unbounded",
    /// What is over is judged by when it was made, not by when it is decided.
    ExpiryAtCreation = "expiry_at_creation",
    /// A commit that may have happened is simply tried again.
    AmbiguousRetried = "ambiguous_retried",
    /// What was read before the lock is believed after it.
    RowsOlderThanLock = "rows_older_than_lock",
    /// A record's index comes from a counter that no rollback takes back.
    IndexFromSequence = "index_from_sequence",
    /// Outcomes and starts are taken under any epoch.
    NoFence = "no_fence",
    /// Nothing is marked before the first byte is sent.
    NoInFlightMark = "no_in_flight_mark",
    /// A negative answer counts although an earlier attempt may have succeeded.
    NegativeAfterDoubtFinal = "negative_after_doubt_final",
    /// An intent's time frees what it holds although it may have been sent.
    ExpiryFreesInFlight = "expiry_frees_in_flight",
    /// Nobody looks at suspensions again when something starts.
    StartUnchecked = "start_unchecked",
    /// An opaque effect in doubt is tried again without a person.
    OpaqueRetried = "opaque_retried",
    /// "Not there" is believed although an earlier attempt may still arrive.
    ProbeBelieved = "probe_believed",
    /// A checkpoint is signed over what is not committed yet.
    SignBeforeCommit = "sign_before_commit",
    /// A tile counts as full one entry too early or too late.
    TileOffByOne = "tile_off_by_one",
    /// A proof may be used again.
    ProofReused = "proof_reused",
    /// A proof is believed whoever signed it.
    ProofUnsigned = "proof_unsigned",
    /// A region that somebody holds is given away again.
    LeaseGivenTwice = "lease_given_twice",
    /// Nobody looks at who holds what an action writes.
    LeasesIgnored = "leases_ignored",
    /// What a judge says about a host's call binds, as if a rule of the contract had said it.
    JudgesBind = "judges_bind",
    /// Nobody compares what is installed in a host with what was.
    TamperingUnnoticed = "tampering_unnoticed",
    /// A bare interpreter counts as harmless where a host can type into it.
    TypingFree = "typing_free",
    /// What a command hands to an interpreter is not read.
    FilesUnread = "files_unread",
    /// A host is believed to run hooks that it does not trust.
    TrustAssumed = "trust_assumed",
    /// Objects with `__entity` in params become real Cedar entities.
    CedarEntityInjection = "cedar_entity_injection",
}

#[cfg(feature = "bugs")]
mod switch {
    use super::Bug;
    use std::cell::Cell;
    use std::sync::OnceLock;

    thread_local! {
        static ACTIVE: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Runs `body` with one fault switched on, on this thread only.
    pub fn with<T>(bug: Bug, body: impl FnOnce() -> T) -> T {
        ACTIVE.set(Some(bug));
        let result = body();
        ACTIVE.set(None);
        result
    }

    /// For a whole process: writers have threads of their own.
    static EVERYWHERE: OnceLock<Bug> = OnceLock::new();

    /// Switches one fault on for the rest of the process; the first one counts.
    pub fn everywhere(bug: Bug) {
        let _ = EVERYWHERE.set(bug);
    }

    /// Whether the fault is switched on.
    pub fn on(bug: Bug) -> bool {
        ACTIVE.get() == Some(bug) || EVERYWHERE.get() == Some(&bug)
    }
}

#[cfg(feature = "bugs")]
pub use switch::{everywhere, on, with};

/// Whether the fault is switched on: never, in this build.
#[cfg(not(feature = "bugs"))]
#[inline(always)]
pub const fn on(_bug: Bug) -> bool {
    false
}
