//! Commands as plain data: what a generator makes, the second reducer understands and the harness turns into the
//! kernel's own.

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Who {
    Operator(String),
    Monitor,
    Agent(String),
    Kernel,
}

/// One command. Instants are microseconds.
#[derive(Clone, Debug)]
pub enum Command {
    Register {
        who: Who,
        contract: String,
        version: Option<String>,
    },
    Activate {
        who: Who,
        contract: String,
    },
    StartCanary {
        who: Who,
        contract: String,
        /// Hundredths of a percent.
        share: u64,
    },
    PromoteCanary {
        who: Who,
        agent: String,
        /// Whether the operator looked at the candidate that is tried.
        right: bool,
    },
    RollBackCanary {
        who: Who,
        agent: String,
    },
    Restrict {
        who: Who,
        agent: String,
        status: String,
        actions: Vec<String>,
    },
    Lift {
        who: Who,
        agent: String,
        status: String,
        /// Whether a reason is given.
        because: bool,
    },
    Retire {
        who: Who,
        agent: String,
    },
    OpenFlow {
        who: Who,
        flow: String,
        agent: String,
        parent: Option<String>,
    },
    EndFlow {
        who: Who,
        flow: String,
        abort: bool,
    },
    Write {
        who: Who,
        writes: Vec<Write>,
    },
    Enlist {
        who: Who,
        person: String,
        groups: Vec<String>,
    },
    Remember {
        who: Who,
        flow: String,
        value: i64,
    },
    Freeze {
        who: Who,
        slot: String,
        flow: Option<String>,
        keys: Vec<String>,
    },
    Import {
        who: Who,
        name: String,
        at: i64,
        risk: Option<i64>,
    },
    Propose(Proposal),
    Answer(Answer),
    ExpireQuestions {
        who: Who,
        questions: Vec<String>,
    },
    Settle {
        who: Who,
        intent: String,
        event: String,
    },
    ExpireIntents {
        who: Who,
    },
    Claim {
        who: Who,
        intent: String,
        lease: i64,
    },
    Start {
        who: Who,
        intent: String,
        epoch: u64,
        right: bool,
    },
    Outcome {
        who: Who,
        intent: String,
        epoch: u64,
        observed: String,
    },
    Resolve {
        who: Who,
        intent: String,
        decision: String,
        right: bool,
    },
    Undo {
        who: Who,
        intent: String,
    },
    Lease {
        who: Who,
        what: Leasing,
    },
    /// A question of an agent's own, without a proposal.
    Ask {
        who: Who,
        agent: String,
        flow: String,
        reason: String,
    },
    /// Of each resource so much, where there is so much of each; until an instant.
    Reserve {
        who: Who,
        flow: String,
        wanted: Vec<(String, i64)>,
        available: i64,
        until: Option<i64>,
    },
    Release {
        who: Who,
        flow: String,
        resources: Vec<String>,
    },
    Note {
        who: Who,
        flow: String,
        name: String,
    },
    Halt {
        who: Who,
        /// Only this group.
        group: Option<String>,
    },
    Resume {
        who: Who,
        /// Only this group.
        group: Option<String>,
    },
    /// How long keys are kept, in seconds.
    KeepKeys {
        who: Who,
        kept: i64,
    },
    ForgetKeys {
        who: Who,
    },
}

/// What is done with a lease; lengths are seconds.
#[derive(Clone, Debug)]
pub enum Leasing {
    Acquire { holder: String, shared: bool, path: String, ttl: i64 },
    Heartbeat { holder: String, fence: u64 },
    Release { holder: String, fence: u64 },
    Evict { fence: u64 },
    Adopt { fence: u64, heir: String },
}

/// One value of state.
#[derive(Clone, Debug)]
pub struct Write {
    pub key: String,
    pub value: i64,
    pub expect: Option<u64>,
}

/// What an agent wants to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// The caller's own id.
    pub id: Option<String>,
    pub agent: String,
    pub action: String,
    pub order: String,
    pub amount: i64,
    pub flow: Option<String>,
    pub snapshot: Option<String>,
    pub key: Option<String>,
    pub tokens: u64,
    pub valid_until: Option<i64>,
    pub created_at: Option<i64>,
    /// Whether naming a flow opens it.
    pub opens: bool,
    /// Whether the runtime performs what is accepted, rather than the caller.
    pub by_runtime: bool,
    /// The contract it is formed under, where that is not the one in force.
    pub under: Option<String>,
}

/// What a person says to a question.
#[derive(Clone, Debug)]
pub struct Answer {
    pub who: Who,
    pub question: String,
    pub decision: String,
    /// Whether the person saw these bytes.
    pub right: bool,
    pub signature: Signature,
    pub by_runtime: bool,
}

/// What stands under an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signature {
    None,
    Right,
    /// Of the person's key, under an answer to another question.
    OfAnother,
}

impl Command {
    /// What the tally calls it.
    pub fn word(&self) -> &'static str {
        match self {
            Command::Register { .. } => "register",
            Command::Activate { .. } => "activate",
            Command::StartCanary { .. } => "start_canary",
            Command::PromoteCanary { .. } => "promote_canary",
            Command::RollBackCanary { .. } => "roll_back_canary",
            Command::Restrict { .. } => "restrict",
            Command::Lift { .. } => "lift",
            Command::Retire { .. } => "retire",
            Command::OpenFlow { .. } => "open_flow",
            Command::EndFlow { .. } => "end_flow",
            Command::Write { .. } => "write",
            Command::Enlist { .. } => "enlist",
            Command::Remember { .. } => "remember",
            Command::Freeze { .. } => "freeze",
            Command::Import { .. } => "import",
            Command::Propose(_) => "propose",
            Command::Answer(_) => "answer",
            Command::ExpireQuestions { .. } => "expire_questions",
            Command::Settle { .. } => "settle",
            Command::ExpireIntents { .. } => "expire_intents",
            Command::Claim { .. } => "claim",
            Command::Start { .. } => "start",
            Command::Outcome { .. } => "outcome",
            Command::Resolve { .. } => "resolve",
            Command::Undo { .. } => "undo",
            Command::Lease { what, .. } => match what {
                Leasing::Acquire { .. } => "lease_acquire",
                Leasing::Heartbeat { .. } => "lease_heartbeat",
                Leasing::Release { .. } => "lease_release",
                Leasing::Evict { .. } => "lease_evict",
                Leasing::Adopt { .. } => "lease_adopt",
            },
            Command::Ask { .. } => "ask",
            Command::Reserve { .. } => "reserve",
            Command::Release { .. } => "release",
            Command::Note { .. } => "note",
            Command::Halt { .. } => "halt",
            Command::Resume { .. } => "resume",
            Command::KeepKeys { .. } => "keep_keys",
            Command::ForgetKeys { .. } => "forget_keys",
        }
    }
}
