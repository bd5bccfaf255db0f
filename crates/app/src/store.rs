//! Stores as verbs use them: named on the command line, opened through the library, with errors that say what to type.

use crate::exit::{self, UsageError};
use crate::login;
use crate::terminal::{self, echo};
use adapters::location::Location;
use adapters::os_user::os_user;
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::evaluator::Compiled;
use kernel::event::Event;
use kernel::finding::{Code, Finding};
use kernel::outcome::Answer;
use kernel::reasons::Reason;
use runtime::ports::clock::Clock;
use runtime::ports::store::{Store, StoreFault};
use runtime::{Answered, Pending, Runtime};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::time::{Duration, Instant};
use writkeeper::restored::{self, Examined, KeysNotice};
use writkeeper::{Keeper, Notice, OpenOptions, finding_text};

pub use writkeeper::lookup::{agent_named, find, short_ids};
pub use writkeeper::restored::keys_beside;

/// The store of the name nobody typed.
pub const UNNAMED: &str = "writkeeper.db";

/// The library's handle on a store, which is made first where there is none.
pub fn keeper(
    location: &str,
    clock: Arc<dyn Clock>,
    strangers: Option<Arc<Compiled>>,
    token: Option<&str>,
) -> anyhow::Result<Keeper> {
    let options = match token.filter(|_| writkeeper::is_server(location)) {
        // An agent shows its token in place of a key.
        Some(token) => OpenOptions { key: Some(token.to_owned()), ..options()? },
        None => options_of(location)?,
    };
    opened(location, OpenOptions { clock, strangers, ..options })
}

/// The store itself, without a runtime in front of it.
pub fn open_file(location: &str) -> anyhow::Result<Box<dyn Store>> {
    Ok(Keeper::store(location, &options()?)?)
}

/// Starts a runtime on a store of this machine's time.
pub fn create(location: &str) -> anyhow::Result<Runtime> {
    let mut keeper = Keeper::open(location, &options_of(location)?)?;
    if !writkeeper::is_server(location) {
        keeper.check_clock(now())?;
    }
    note_all(keeper.notices());
    Ok(keeper.into_runtime())
}

/// The same, for a verb that people also start with: a store that nobody meant is noticed.
pub fn begin(location: &str) -> anyhow::Result<Runtime> {
    let is_new = is_missing(location)?;
    let runtime = create(location)?;
    if is_new {
        terminal::note(&format!("there was no store at `{}`; a new one was begun", echo(location)));
    }
    Ok(runtime)
}

/// Where a store lies: what was named; where nothing was, the store of the guard around us. A file that happens to lie
/// here, perhaps because an agent put it there, must not make an operator halt something else.
pub fn location(named: &str) -> String {
    if is_named(named) {
        return named.to_owned();
    }
    let guard = std::env::current_dir().ok().and_then(|here| guard::place::Guard::find(&here));
    let store = guard.map(|guard| guard.store()).filter(|store| store.is_file());
    store.map_or_else(|| named.to_owned(), |store| store.to_string_lossy().into_owned())
}

/// Whether somebody named a store, on the command line or in the environment.
pub fn is_named(location: &str) -> bool {
    location != UNNAMED
}

/// Starts a runtime on a store that must be there.
pub fn open(named: &str) -> anyhow::Result<Runtime> {
    open_with(named, Arc::new(SystemClock))
}

/// The library's handle on a store that must be there.
pub fn open_keeper(named: &str) -> anyhow::Result<Keeper> {
    let location = location(named);
    opened(&location, OpenOptions { create: false, ..options_of(&location)? })
}

/// The same, by another clock.
pub fn open_with(named: &str, clock: Arc<dyn Clock>) -> anyhow::Result<Runtime> {
    let location = location(named);
    Ok(opened(&location, OpenOptions { clock, create: false, ..options_of(&location)? })?.into_runtime())
}

/// The same, with options of its own.
pub fn open_as(location: &str, options: &OpenOptions) -> anyhow::Result<Runtime> {
    Ok(opened(location, OpenOptions { create: false, ..options.clone() })?.into_runtime())
}

/// A runtime on a store that must be there and is only looked at: it makes nothing and waits for nobody.
pub fn view(named: &str) -> anyhow::Result<Runtime> {
    Ok(read_only(named)?.into_runtime())
}

/// Opens a store only to see whether it can be used; what a person should hear of it.
pub fn looked_at(named: &str) -> anyhow::Result<Vec<Notice>> {
    let location = location(named);
    let keeper = Keeper::view(&location, &options_of(&location)?)?;
    Ok(keeper.notices().to_vec())
}

/// Opens a store for reading only.
pub fn read_only(named: &str) -> anyhow::Result<Keeper> {
    read_only_of(named, TENANT_DEFAULT)
}

/// The same of one tenant.
pub fn read_only_of(named: &str, tenant: &str) -> anyhow::Result<Keeper> {
    let location = location(named);
    let keeper = Keeper::view(&location, &OpenOptions { tenant: Arc::from(tenant), ..options_of(&location)? })?;
    note_all(keeper.notices());
    Ok(keeper)
}

fn opened(location: &str, options: OpenOptions) -> anyhow::Result<Keeper> {
    let keeper = Keeper::open(location, &options)?;
    note_all(keeper.notices());
    Ok(keeper)
}

/// How a store is opened, with the keys where they are looked for: of a store those that sign, of a server the one that
/// says who calls.
pub fn options_of(location: &str) -> anyhow::Result<OpenOptions> {
    let options = options()?;
    if writkeeper::is_server(location) {
        return Ok(OpenOptions { key: Some(login::key_for(location)?), ..options });
    }
    Ok(OpenOptions { keys: Some(keys_of(location)), ..options })
}

/// Refuses with a server what only the machine with the store can do.
pub fn demand_here(location: &str, verb: &str) -> anyhow::Result<()> {
    if !writkeeper::is_server(location) {
        return Ok(());
    }
    let problem = format!("`{verb}` runs on the machine where the store is: type it there with --store PATH");
    Err(UsageError(problem).into())
}

/// Who answers: who was typed; with a server who the key belongs to.
pub fn person(runtime: &Runtime, typed: Option<&str>) -> anyhow::Result<String> {
    match (runtime.caller(), typed) {
        (None, Some(typed)) => Ok(typed.to_owned()),
        (None, None) => Err(UsageError("say who answers, with --as PERSON".to_owned()).into()),
        (Some(caller), None) => Ok(caller.name.clone()),
        (Some(caller), Some(typed)) if caller.name == typed => Ok(caller.name.clone()),
        (Some(caller), Some(typed)) => {
            let (own, typed) = (echo(&caller.name), echo(typed));
            Err(UsageError(format!("the key belongs to `{own}`, so nobody answers as `{typed}`")).into())
        }
    }
}

fn note_all(notices: &[Notice]) {
    for notice in notices {
        terminal::note(&match notice {
            Notice::Keys(KeysNotice::KeysAbsent { .. }) => {
                format!("{notice}; name their folder with WRITKEEPER_KEYS")
            }
            Notice::Keys(KeysNotice::Lost(loss)) => exit::sentence(&writkeeper::Error::Restored(loss.clone()).into()),
            Notice::Keys(KeysNotice::Unreadable { .. }) | Notice::ClockAhead { .. } => notice.to_string(),
        });
    }
}

/// Where a store lies, read from what was named.
pub fn place(location: &str) -> anyhow::Result<Location> {
    Ok(writkeeper::place(location)?)
}

/// Whether there is a store, with what to do where there is none.
pub fn exists(location: &str) -> anyhow::Result<()> {
    Ok(writkeeper::demand_store(location)?)
}

/// Whether there is no store; one that cannot be looked for is an error.
pub fn is_missing(location: &str) -> anyhow::Result<bool> {
    match writkeeper::demand_store(location) {
        Ok(()) => Ok(false),
        Err(writkeeper::Error::StoreMissing(_)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// `WRITKEEPER_STORE_WAIT` says how long a writer stands in line behind others.
pub fn options() -> anyhow::Result<OpenOptions> {
    let authorities = match std::env::var_os("WRITKEEPER_SERVER_CA").filter(|path| !path.is_empty()) {
        Some(path) => Some(crate::files::read(Path::new(&path))?),
        None => None,
    };
    let usual = OpenOptions { authorities, ..OpenOptions::default() };
    let Ok(text) = std::env::var("WRITKEEPER_STORE_WAIT") else { return Ok(usual) };
    let problem = || UsageError(format!("WRITKEEPER_STORE_WAIT `{}` is no duration, such as 30s", echo(&text)));
    let wait = Duration::parse(&text).ok_or_else(problem)?;
    let wait = std::time::Duration::from_micros(wait.micros().unsigned_abs());
    Ok(OpenOptions { wait: Some(wait), ..usual })
}

/// Says so if a clock is far ahead of the last decision.
pub fn note_jump(runtime: &Runtime, now: Instant) -> anyhow::Result<()> {
    if let Some(notice) = Notice::of_clock(runtime, now)? {
        note_all(&[notice]);
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
    let mut names = typed.chain([os_user()]);
    let name = names.find(|name| values::ids::identifier_problem(name).is_none());
    Actor::Operator(name.unwrap_or_else(|| "operator".to_owned()))
}

/// Where the keys of a store are looked for when nobody says where.
pub fn keys_of(location: &str) -> PathBuf {
    let named = std::env::var_os("WRITKEEPER_KEYS").filter(|named| !named.is_empty());
    named.map_or_else(|| keys_beside(location), PathBuf::from)
}

/// Refuses to decide on a store that lost entries which the keys of a folder published; whether it is this store's although the store does not say so.
pub fn demand_covered(location: &str, folder: &Path, store: &dyn Examined, is_own: bool) -> anyhow::Result<()> {
    let noticed = restored::demand_covered(location, folder, store, is_own)?;
    noticed.into_iter().for_each(|notice| note_all(&[Notice::Keys(notice)]));
    Ok(())
}

/// What went wrong while reading.
pub fn unread(problem: StoreFault) -> anyhow::Error {
    writkeeper::Error::from(problem).into()
}

/// Waits until a change is carried out; a refusal is an error in the kernel's own words.
pub fn done(pending: Pending) -> anyhow::Result<Answered> {
    Ok(writkeeper::carried_out(pending)?)
}

/// Waits until a change is carried out, and says what it tells.
pub fn told(pending: Pending) -> anyhow::Result<Arc<Event>> {
    done(pending)?.event.ok_or_else(other_event)
}

/// The kernel told something else than this act tells.
pub fn other_event() -> anyhow::Error {
    anyhow::anyhow!("the change was carried out, and its answer cannot be read; this is a fault of the program")
}

/// Whether there is no decision because the store is damaged or a server refuses, so that trying again would not help.
pub fn is_damaged(answer: &Answer) -> bool {
    let lasting = [Code::Known(Reason::StoreDamaged), Code::Known(Reason::ServiceRefused)];
    answer.findings.iter().any(|finding| lasting.contains(&finding.code))
}

/// Everything found, in words, with what the operator can do about it.
pub fn sentences(answer: &Answer) -> String {
    finding_text::sentences(&answer.findings, crate::hint::operator)
}

/// One finding in words, with what the operator can do about it.
pub fn sentence(finding: &Finding) -> String {
    finding_text::sentence(finding, &crate::hint::operator(finding))
}
