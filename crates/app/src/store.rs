//! Stores as commands use them: opened with an error that says what to do, read by short ids, changed by an operator.

mod behind;
mod find;
mod ledger;

pub use behind::{Unstarted, another_history, demand_covered, demand_whole, keys_of, log_in};
pub use find::{agent_like, agent_named, ambiguous, find, look_up, not_found, short_ids, typed};
pub use ledger::Ledger;

use crate::exit::{Exit, Failure, InvalidData, StoreUnavailable, UsageError};
use crate::terminal::{self, echo};
use adapters::advisor::PluginAdvisor;
use adapters::open::{OpenOptions, open_store, view_store};
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::evaluator::Compiled;
use kernel::finding::{Code, Finding};
use kernel::outcome::{Answer, Verdict};
use kernel::reasons::Reason;
use kernel::time::{Duration, Instant};
use runtime::ports::clock::Clock;
use runtime::ports::store::{Store, StoreFault};
use runtime::{Answered, Options, Pending, Runtime};
use std::path::Path;
use std::sync::Arc;

/// Further ahead of the last decision than this, a clock is worth a word.
const JUMP: Duration = Duration::from_secs(24 * 3_600);

/// Starts a runtime on a store, making the file first where there is none.
pub fn start(location: &str, clock: Arc<dyn Clock>, strangers: Option<Arc<Compiled>>) -> anyhow::Result<Runtime> {
    let store = open_store(location, clock, options()?).map_err(|problem| unopened(location, problem))?;
    let runtime = running(location, store, strangers)?;
    if location != "memory:" {
        demand_whole(location, &runtime)?;
    }
    Ok(runtime)
}

/// The store itself, without a runtime in front of it.
pub fn open_file(location: &str) -> anyhow::Result<Box<dyn Store>> {
    open_store(location, Arc::new(SystemClock), options()?).map_err(|problem| unopened(location, problem))
}

/// Starts a runtime on a store of this machine's time.
pub fn create(location: &str) -> anyhow::Result<Runtime> {
    let runtime = start(location, Arc::new(SystemClock), None)?;
    note_jump(&runtime, now())?;
    Ok(runtime)
}

/// The store of the name nobody typed.
const UNNAMED: &str = "writkeeper.db";

/// Where a store lies: what was named; where nothing was, the store of the guard around us. A file that happens to lie
/// here, perhaps because an agent put it there, must not make an operator halt something else.
pub fn location(named: &str) -> String {
    if named != UNNAMED {
        return named.to_owned();
    }
    let guard = std::env::current_dir().ok().and_then(|here| crate::guard::place::Guard::find(&here));
    let store = guard.map(|guard| guard.store()).filter(|store| store.is_file());
    store.map_or_else(|| named.to_owned(), |store| store.to_string_lossy().into_owned())
}

/// Starts a runtime on a store that must be there.
pub fn open(named: &str) -> anyhow::Result<Runtime> {
    open_with(named, Arc::new(SystemClock))
}

/// The same, by another clock.
pub fn open_with(named: &str, clock: Arc<dyn Clock>) -> anyhow::Result<Runtime> {
    let location = &location(named);
    exists(location)?;
    start(location, clock, None)
}

/// A runtime on a store that must be there and is only looked at: it makes nothing and waits for nobody.
pub fn view(named: &str) -> anyhow::Result<Runtime> {
    let location = &location(named);
    exists(location)?;
    let store = view_store(location, Arc::new(SystemClock), options()?);
    let runtime = running(location, store.map_err(|problem| unopened(location, problem))?, None)?;
    if let Err(behind) = demand_whole(location, &runtime) {
        // Looking does no harm.
        terminal::note(&behind.to_string());
    }
    Ok(runtime)
}

fn running(location: &str, store: Box<dyn Store>, strangers: Option<Arc<Compiled>>) -> anyhow::Result<Runtime> {
    let options = Options { strangers, advisor: Some(Arc::new(PluginAdvisor)), ..Options::default() };
    Runtime::start(store, options).map_err(|problem| unopened(location, problem))
}

/// Whether there is a store, with what to do where there is none.
pub fn exists(location: &str) -> anyhow::Result<()> {
    let path = location.strip_prefix("sqlite:").unwrap_or(location);
    if location != "memory:" && !path.is_empty() && !path.contains("://") && !Path::new(path).exists() {
        let problem = format!(
            "there is no store at `{location}`; name one with --store or WRITKEEPER_STORE, \
             or start one with `writkeeper agents register --contract FILE`"
        );
        return Err(InvalidData(problem).into());
    }
    Ok(())
}

/// `WRITKEEPER_STORE_WAIT` says how long a writer stands in line behind others.
fn options() -> anyhow::Result<OpenOptions> {
    let Ok(text) = std::env::var("WRITKEEPER_STORE_WAIT") else { return Ok(OpenOptions::default()) };
    let problem = || UsageError(format!("WRITKEEPER_STORE_WAIT `{}` is no duration, such as 30s", echo(&text)));
    let wait = Duration::parse(&text).ok_or_else(problem)?;
    let wait = std::time::Duration::from_micros(wait.micros().unsigned_abs());
    Ok(OpenOptions { wait, ..OpenOptions::default() })
}

/// Says so if a clock is far ahead of the last decision: instants never decrease along a ledger, so a clock that is
/// ahead for a moment is ahead for ever.
pub fn note_jump(runtime: &Runtime, now: Instant) -> anyhow::Result<()> {
    let size = runtime.size().map_err(unread)?;
    let Some(last) = size.checked_sub(1) else { return Ok(()) };
    let record = runtime.records(last, 1).map_err(unread)?.pop();
    let last = record.and_then(|record| ledger::instant(&record.leaf));
    if let Some(last) = last.filter(|last| now.since(*last) > JUMP) {
        terminal::note(&format!("the clock says {now}, more than a day after the last decision at {last}"));
    }
    Ok(())
}

/// The machine's time.
pub fn now() -> Instant {
    SystemClock.now()
}

/// Who types the commands.
pub fn operator() -> Actor {
    let typed = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let mut names = typed.chain(owner_of_process());
    let name = names.find(|name| kernel::ids::identifier_problem(name).is_none());
    Actor::Operator(name.unwrap_or_else(|| "operator".to_owned()))
}

/// Where no variable says it, as in many containers: whom the system takes this process for.
#[cfg(unix)]
fn owner_of_process() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let number = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(number.as_str())).then(|| name.to_owned())
    });
    Some(name.unwrap_or_else(|| format!("user-{number}")))
}

#[cfg(not(unix))]
fn owner_of_process() -> Option<String> {
    None
}

fn unopened(location: &str, problem: StoreFault) -> anyhow::Error {
    match problem {
        StoreFault::Refused(problem) => InvalidData(format!("cannot use the store `{location}`: {problem}")).into(),
        StoreFault::Corrupt(problem) => damaged(format!("cannot use the store `{location}`: {problem}")),
        StoreFault::Unavailable(problem) | StoreFault::Conflict(problem) | StoreFault::Ambiguous(problem) => {
            StoreUnavailable(format!("cannot open the store `{location}`: {problem}")).into()
        }
    }
}

/// What went wrong while reading.
pub fn unread(problem: StoreFault) -> anyhow::Error {
    match problem {
        StoreFault::Refused(_) => InvalidData(problem.to_string()).into(),
        StoreFault::Corrupt(_) => damaged(problem.to_string()),
        StoreFault::Unavailable(_) | StoreFault::Conflict(_) | StoreFault::Ambiguous(_) => {
            StoreUnavailable(problem.to_string()).into()
        }
    }
}

fn damaged(message: String) -> anyhow::Error {
    let entry = Reason::StoreDamaged.entry();
    let fix = format!("{}; if it is some other file, name the store with --store", entry.fix_operator);
    Failure { exit: Exit::Invalid, code: entry.code.to_owned(), message, fix }.into()
}

/// Waits until a change is carried out; a refusal is an error in the kernel's own words.
pub fn done(pending: Pending) -> anyhow::Result<Answered> {
    let answered = pending.wait();
    let exit = match answered.answer.verdict {
        Verdict::Accept => return Ok(answered),
        Verdict::Reject | Verdict::Escalate => match answered.at {
            Some(_) => Exit::Rejected,
            None if is_damaged(&answered.answer) => Exit::Invalid,
            None => Exit::Unavailable,
        },
    };
    let mut findings = answered.answer.findings.iter();
    let Some(first) = findings.next() else { return Err(StoreUnavailable("no answer".to_owned()).into()) };
    let mut failure = Failure::of(exit, first);
    // More than one thing was found: the first names the code, all are told.
    for finding in findings {
        failure.fix.push_str(&format!("\n       {}", sentence(finding)));
    }
    Err(failure.into())
}

/// Whether there is no decision because the store is damaged, so that trying again would not help.
pub fn is_damaged(answer: &Answer) -> bool {
    answer.findings.iter().any(|finding| finding.code == Code::Known(Reason::StoreDamaged))
}

/// Everything found, in words, with what the operator can do about it.
pub fn sentences(answer: &Answer) -> String {
    answer.findings.iter().map(sentence).collect::<Vec<_>>().join("\n       ")
}

fn sentence(finding: &Finding) -> String {
    match finding.fix_operator() {
        fix if fix.is_empty() => format!("{}: {}", finding.code.as_str(), finding.message()),
        fix => format!("{}: {}; {fix}", finding.code.as_str(), finding.message()),
    }
}
