//! Stores as commands use them: opened with an error that says what to do, read by short ids, changed by an operator.

mod find;
mod ledger;

pub use find::{agent_named, find, short_ids};
pub use ledger::Ledger;

use crate::exit::{InvalidData, Refused, StoreUnavailable};
use adapters::advisor::PluginAdvisor;
use adapters::open::open_store;
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::evaluator::Compiled;
use kernel::outcome::{Answer, Verdict};
use kernel::time::Instant;
use runtime::ports::clock::Clock;
use runtime::ports::store::StoreFault;
use runtime::{Answered, Options, Pending, Runtime};
use std::path::Path;
use std::sync::Arc;

/// Starts a runtime on a store, making the file first where there is none.
pub fn start(location: &str, clock: Arc<dyn Clock>, strangers: Option<Arc<Compiled>>) -> anyhow::Result<Runtime> {
    let store = open_store(location, clock).map_err(|problem| unopened(location, problem))?;
    let options = Options { strangers, advisor: Some(Arc::new(PluginAdvisor)), ..Options::default() };
    Runtime::start(store, options).map_err(|problem| unopened(location, problem))
}

/// Starts a runtime on a store of this machine's time.
pub fn create(location: &str) -> anyhow::Result<Runtime> {
    start(location, Arc::new(SystemClock), None)
}

/// Starts a runtime on a store that must be there: looking must not make one.
pub fn open(location: &str) -> anyhow::Result<Runtime> {
    let path = location.strip_prefix("sqlite:").unwrap_or(location);
    if location != "memory:" && !path.is_empty() && !path.contains("://") && !Path::new(path).exists() {
        let problem = format!(
            "there is no store at `{location}`; name one with --store or WRITKEEPER_STORE, \
             or start one with `writkeeper agents register --contract FILE`"
        );
        return Err(InvalidData(problem).into());
    }
    create(location)
}

/// The machine's time.
pub fn now() -> Instant {
    SystemClock.now()
}

/// Who types the commands.
pub fn operator() -> Actor {
    let name = std::env::var("USER").ok().filter(|name| kernel::ids::identifier_problem(name).is_none());
    Actor::Operator(name.unwrap_or_else(|| "operator".to_owned()))
}

fn unopened(location: &str, problem: StoreFault) -> anyhow::Error {
    match problem {
        StoreFault::Refused(problem) | StoreFault::Corrupt(problem) => {
            InvalidData(format!("cannot use the store `{location}`: {problem}")).into()
        }
        StoreFault::Unavailable(problem) | StoreFault::Conflict(problem) | StoreFault::Ambiguous(problem) => {
            StoreUnavailable(format!("cannot open the store `{location}`: {problem}")).into()
        }
    }
}

/// What went wrong while reading.
pub fn unread(problem: StoreFault) -> anyhow::Error {
    match problem {
        StoreFault::Refused(_) | StoreFault::Corrupt(_) => InvalidData(problem.to_string()).into(),
        StoreFault::Unavailable(_) | StoreFault::Conflict(_) | StoreFault::Ambiguous(_) => {
            StoreUnavailable(problem.to_string()).into()
        }
    }
}

/// Waits until a change is carried out; a refusal is an error in the kernel's own words.
pub fn done(pending: Pending) -> anyhow::Result<Answered> {
    let answered = pending.wait();
    if answered.at.is_none() {
        return Err(StoreUnavailable(sentences(&answered.answer)).into());
    }
    match answered.answer.verdict {
        Verdict::Accept => Ok(answered),
        Verdict::Reject | Verdict::Escalate => Err(Refused(sentences(&answered.answer)).into()),
    }
}

/// Everything found, in words, with what to do about it.
pub fn sentences(answer: &Answer) -> String {
    let said = answer.findings.iter().map(|finding| match finding.fix() {
        fix if fix.is_empty() => format!("{}: {}", finding.code.as_str(), finding.message()),
        fix => format!("{}: {}; {fix}", finding.code.as_str(), finding.message()),
    });
    said.collect::<Vec<_>>().join("\n       ")
}
