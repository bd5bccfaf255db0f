//! What can go wrong, where a process can die, and how often both happened.

use std::collections::BTreeMap;

macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $case:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$of])* $case),+ }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [$name] = &[$($name::$case),+];

            /// The name tables use.
            pub fn name(self) -> &'static str {
                match self { $($name::$case => $text),+ }
            }
        }
    };
}

listed! {
    /// What can go wrong.
    Fault {
        /// The store answers an error and has committed nothing.
        StoreDown = "store_down",
        /// Another transaction was in the way.
        Conflict = "conflict",
        /// The answer to a commit is lost; it is durable.
        CommitUnheard = "commit_unheard",
        /// The answer to a commit is lost; it is not durable.
        CommitLost = "commit_lost",
        /// The store cannot say either whether a commit is durable.
        SettleDown = "settle_down",
        /// Nothing can be read.
        ReadDown = "read_down",
        /// A process dies and comes back later with nothing but the store.
        Crash = "crash",
        /// A process stands still, longer than its leases, and goes on where it was.
        Pause = "pause",
        /// The clock of a process jumps, also backwards.
        ClockJump = "clock_jump",
        /// The clocks of processes differ.
        ClockSkew = "clock_skew",
        /// A request never arrives.
        RequestLost = "request_lost",
        /// A request arrives after everyone has given it up.
        RequestLate = "request_late",
        /// A request arrives twice, at a side that recognises keys.
        RequestTwice = "request_twice",
        /// An answer never arrives.
        AnswerLost = "answer_lost",
        /// An answer arrives after the deadline.
        AnswerLate = "answer_late",
        /// The other side refuses: 4xx.
        Refused = "refused_4xx",
        /// The other side breaks before the effect: 5xx.
        BrokenBefore = "broken_5xx_before",
        /// The other side breaks after the effect: 5xx.
        BrokenAfter = "broken_5xx_after",
        /// An agent is suspended while it has things under way.
        Suspension = "suspension",
        /// The kill switch is pulled.
        Halt = "halt",
        /// The kill switch of a group is pulled.
        GroupHalt = "group_halt",
        /// A candidate is tried on a share of the flows, put in force or taken back.
        Canary = "canary",
        /// People take fewer questions.
        Attention = "attention",
    }
}

listed! {
    /// Where a process can die.
    CrashPoint {
        /// A proposal was taken in, and nothing is durable.
        BeforeDecision = "before_decision",
        /// A decision is durable, and nobody heard it.
        AfterDecision = "after_decision",
        /// About to claim.
        BeforeClaim = "before_claim",
        /// Claimed, not marked.
        AfterClaim = "after_claim",
        /// Marked, nothing sent.
        AfterMark = "after_mark",
        /// Sent, nothing heard.
        AfterSend = "after_send",
        /// Heard, not recorded.
        AfterAnswer = "after_answer",
        /// Recorded, and the process does not know.
        AfterRecord = "after_record",
    }
}

/// A set of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultSet(u32);

impl FaultSet {
    fn bit(fault: Fault) -> u32 {
        1_u32.checked_shl(fault as u32).unwrap_or(0)
    }

    /// With one more.
    pub fn with(self, fault: Fault) -> FaultSet {
        FaultSet(self.0 | FaultSet::bit(fault))
    }

    /// With one less.
    pub fn without(self, fault: Fault) -> FaultSet {
        FaultSet(self.0 & !FaultSet::bit(fault))
    }

    /// Whether it is among them.
    pub fn has(self, fault: Fault) -> bool {
        self.0 & FaultSet::bit(fault) != 0
    }

    /// Those in it.
    pub fn list(self) -> Vec<Fault> {
        Fault::ALL.iter().copied().filter(|fault| self.has(*fault)).collect()
    }
}

/// A fault and a death meet if no more steps lie between them.
pub const MEETS_WITHIN: u64 = 20;

/// How often an invariant was looked at, and how often something was about to break it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Looks {
    /// Looks.
    pub times: u64,
    /// Of those or besides them, when it was at stake.
    pub at_stake: u64,
}

/// How often things happened in one seed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Faults.
    pub faults: BTreeMap<Fault, u64>,
    /// Deaths.
    pub crashes: BTreeMap<CrashPoint, u64>,
    /// What invariants had to say.
    pub checked: BTreeMap<&'static str, Looks>,
    /// How often a fault and a place of death met: within [`MEETS_WITHIN`] steps.
    pub met: BTreeMap<(Fault, CrashPoint), u64>,
    /// Commands that are durable.
    pub commands: u64,
    /// Effects at the other side.
    pub effects: u64,
    struck: BTreeMap<Fault, u64>,
    died: BTreeMap<CrashPoint, u64>,
}

impl Tally {
    /// How many faults there were.
    pub fn faults_sum(&self) -> u64 {
        self.faults.values().sum()
    }

    /// A fault strikes at a step.
    pub fn strike(&mut self, fault: Fault, step: u64) {
        *self.faults.entry(fault).or_default() += 1;
        self.struck.insert(fault, step);
        for (point, died) in &self.died {
            if step <= died + MEETS_WITHIN {
                *self.met.entry((fault, *point)).or_default() += 1;
            }
        }
    }

    /// A process dies at a step.
    pub fn death(&mut self, point: CrashPoint, step: u64) {
        *self.crashes.entry(point).or_default() += 1;
        self.died.insert(point, step);
        for (fault, struck) in &self.struck {
            // Clocks that differ do so all the time.
            if *fault == Fault::ClockSkew || step <= struck + MEETS_WITHIN {
                *self.met.entry((*fault, point)).or_default() += 1;
            }
        }
    }
}
