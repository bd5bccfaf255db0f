//! `writkeeper decide --store`: the same lines, judged by the runtime and kept.

use super::Judged;
use super::prepare::{enroll, take_over};
use crate::cli::DecideArgs;
use crate::exit::{InvalidData, UsageError};
use crate::store;
use crate::terminal;
use adapters::system_clock::SystemClock;
use kernel::command::{Door, UnseenFlow};
use kernel::context::Context;
use kernel::evaluator::Compiled;
use runtime::memory::ManualClock;
use runtime::{Answered, Arrival, read_line};
use std::sync::Arc;
use values::ids::Digest;
use values::time::Instant;
use writkeeper::Keeper;

/// A run whose decisions are kept.
pub struct StoredRun {
    keeper: Keeper,
    /// Where it stands is set before every line; without it the machine's clock counts.
    clock: Option<Arc<ManualClock>>,
    at: Option<Instant>,
    arrival: Arrival,
}

impl StoredRun {
    /// Opens the store, and makes the contract's agent and the context known to it.
    pub fn open(
        args: &DecideArgs,
        location: &str,
        contract: Option<Arc<Compiled>>,
        context: &Context,
        at: Option<Instant>,
    ) -> anyhow::Result<StoredRun> {
        let is_server = writkeeper::is_server(location);
        if is_server && (at.is_some() || args.clock_of_lines) {
            return Err(UsageError("a server decides by its own clock; leave --at out".to_owned()).into());
        }
        if contract.is_none() && store::is_missing(location)? {
            let problem =
                format!("there is no store at `{}`; give --contract FILE to begin one", terminal::echo(location));
            return Err(InvalidData(problem).into());
        }
        let manual = at.is_some() || args.clock_of_lines;
        let clock = manual.then(|| Arc::new(ManualClock::at(at.unwrap_or(Instant::PURE_DEFAULT))));
        let keeper = match &clock {
            Some(clock) => store::keeper(location, clock.clone(), contract.clone(), None)?,
            None => store::keeper(location, Arc::new(SystemClock), contract.clone(), args.token.as_deref())?,
        };
        // Lines that are their own clock say nothing about this machine's.
        if !args.quiet && !args.clock_of_lines && !is_server {
            store::note_jump(keeper.runtime(), at.unwrap_or_else(store::now))?;
        }
        if let (Some(contract), Some(path)) = (contract, &args.contract) {
            enroll(&keeper, &contract, path, context)?;
        }
        take_over(keeper.runtime(), context)?;
        let flows = if args.open_flows { UnseenFlow::Opens } else { UnseenFlow::Refused };
        // Lines with instants of their own are a rehearsal: nobody performs them later.
        let session = args.token.as_ref().map(Digest::of);
        let door = Door { flows, session, ..if args.clock_of_lines { Door::PURE } else { Door::STORED } };
        let arrival = Arrival { trust_provenance: args.trust_provenance, ..Arrival::through(door) };
        Ok(StoredRun { keeper, clock, at, arrival })
    }

    /// Judges one line; when it returns, the decision is durable.
    pub fn judge(&self, number: u64, line: &[u8]) -> Judged {
        if self.clock.is_some() {
            self.set_clock(read_line(line, number).ok().and_then(|(proposal, _)| proposal.created_at));
        }
        let answered = self.keeper.runtime().judge_line(line, number, self.arrival.clone()).wait();
        let Answered { answer, records, told, at, .. } = answered;
        Judged { answer, records, told, is_decided: at.is_some(), followed: None }
    }

    /// What keeps the decisions.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    fn set_clock(&self, created_at: Option<Instant>) {
        if let Some(clock) = &self.clock {
            clock.set(self.at.or(created_at).unwrap_or(Instant::PURE_DEFAULT));
        }
    }
}
