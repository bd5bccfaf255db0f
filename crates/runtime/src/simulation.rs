//! Simulation: several processes over one store, the other side of every effect, and everything that can go wrong
//! between them, on one thread and from one seed.
//!
//! Commands are formed as the runtime forms them and judged by the kernel itself; the store is the in-memory one
//! behind its port. What is checked is checked by someone who knows none of the kernel's rules.

mod acting;
mod checker;
mod contracts;
mod faults;
mod options;
mod provider;
mod random;
mod stage;
mod sum;
mod unsteady_store;
mod worker;

pub use checker::{Broken, INVARIANTS};
pub use faults::{CrashPoint, Fault, FaultSet, Looks, MEETS_WITHIN, Tally};
pub use options::{FAULTS_MIN, Options};
pub use stage::Report;
pub use sum::{Sum, simulate_all};
pub use unsteady_store::{Mishap, UnsteadyStore};

use std::fmt;

/// Shrinking stops after this many runs.
const SHRINKING_MAX: u32 = 200;

/// A seed that broke a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// How it ran.
    pub options: Options,
    /// At which step.
    pub step: u64,
    /// What was broken.
    pub broken: Broken,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Broken { invariant, said } = &self.broken;
        write!(formatter, "{invariant} at step {}: {said}\n  {}", self.step, self.options)
    }
}

/// Runs one simulation.
pub fn simulate(options: &Options) -> Result<Report, Box<Failure>> {
    let failure = |step, broken| Box::new(Failure { options: options.clone(), step, broken });
    let stage = stage::Stage::new(options.clone())
        .map_err(|said| failure(0, Broken { invariant: "the contract does not load", said }))?;
    stage.run().map_err(|(step, broken)| failure(step, broken))
}

/// The bodies of all records that a simulation leaves behind: history of many kinds, the same for the same options.
pub fn recorded(options: &Options) -> Result<Vec<String>, Box<Failure>> {
    let failure = |step, broken| Box::new(Failure { options: options.clone(), step, broken });
    let stage = stage::Stage::new(options.clone())
        .map_err(|said| failure(0, Broken { invariant: "the contract does not load", said }))?;
    stage.run_recorded().map_err(|(step, broken)| failure(step, broken))
}

/// The smallest simulation found that breaks the same promise: fewer processes, fewer faults, fewer commands.
pub fn shrink(failure: Failure) -> Failure {
    let mut best = failure;
    let mut runs = 0;
    loop {
        let smaller = candidates(&best.options).into_iter().find_map(|options| {
            runs += 1;
            let found = if runs > SHRINKING_MAX { None } else { simulate(&options).err() };
            found.filter(|found| found.broken.invariant == best.broken.invariant)
        });
        match smaller {
            Some(smaller) => best = *smaller,
            None => return best,
        }
    }
}

fn candidates(options: &Options) -> Vec<Options> {
    let mut candidates = Vec::new();
    if options.processes > 1 {
        candidates.push(Options { processes: options.processes - 1, ..options.clone() });
    }
    if options.agents > 1 {
        candidates.push(Options { agents: options.agents - 1, ..options.clone() });
    }
    for fault in options.faults.list() {
        candidates.push(Options { faults: options.faults.without(fault), ..options.clone() });
    }
    if options.commands > 8 {
        candidates.push(Options { commands: options.commands / 2, ..options.clone() });
    }
    candidates
}
