//! What a seed means: how many take part, how much there is to share, and what may go wrong.

use super::faults::{Fault, FaultSet};
use super::random::Random;
use std::fmt;

/// How a simulation runs. Everything follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Where the numbers come from.
    pub seed: u64,
    /// Processes over one store.
    pub processes: usize,
    /// Agents, each under a contract of its own.
    pub agents: usize,
    /// What there is of the stock.
    pub stock: i64,
    /// What there is of the slots.
    pub slots: i64,
    /// How long a proposal counts, in seconds.
    pub ttl: i64,
    /// The shortest lease, in seconds.
    pub lease: i64,
    /// Commands that must be durable before healing begins.
    pub commands: u64,
    /// What may go wrong.
    pub faults: FaultSet,
    /// How often, of a thousand opportunities.
    pub rate: u64,
    /// Whether people say what they like, rather than what the other side's log shows.
    pub careless: bool,
    /// Whether an alarm of a monitor suspends its agent.
    pub suspending: bool,
    /// Whether only effects, outcomes and capacity are checked, not the steps between.
    pub blind: bool,
}

/// Faults a seed must meet before healing begins.
pub const FAULTS_MIN: u64 = 5;

impl Options {
    /// What a seed stands for. Each seed enables a subset of faults: rare ones are not drowned by frequent ones.
    pub fn of(seed: u64) -> Options {
        let mut random = Random::of(seed);
        let mut faults = FaultSet::default();
        let share = 200 + 100 * random.below(7);
        for fault in Fault::ALL {
            faults = if random.chance(share) { faults.with(*fault) } else { faults };
        }
        // Without these two there is little to see.
        faults = if random.chance(700) { faults.with(Fault::Crash) } else { faults };
        faults = if faults.list().len() < 3 { faults.with(Fault::AnswerLost).with(Fault::Pause) } else { faults };
        Options {
            seed,
            processes: 1 + usize::try_from(random.below(4)).unwrap_or(0),
            agents: 1 + usize::try_from(random.below(3)).unwrap_or(0),
            stock: *random.pick(&[40, 200, 2_000]).unwrap_or(&200),
            slots: *random.pick(&[3, 12, 40]).unwrap_or(&12),
            ttl: *random.pick(&[20, 120, 600]).unwrap_or(&120),
            lease: random.between(5, 30),
            commands: 200 + random.below(80),
            faults,
            rate: 30 + random.below(120),
            careless: random.chance(300),
            suspending: random.chance(300),
            blind: false,
        }
    }
}

impl fmt::Display for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<&str> = self.faults.list().iter().map(|fault| fault.name()).collect();
        write!(
            formatter,
            "seed {} processes {} agents {} stock {} slots {} ttl {}s lease {}s commands {} rate {}/1000 careless {} \
             suspending {} blind {} faults {}",
            self.seed,
            self.processes,
            self.agents,
            self.stock,
            self.slots,
            self.ttl,
            self.lease,
            self.commands,
            self.rate,
            self.careless,
            self.suspending,
            self.blind,
            faults.join(",")
        )
    }
}
