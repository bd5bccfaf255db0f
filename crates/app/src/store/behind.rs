//! A store that came back from a backup: the keys beside it remember more entries than it has.

use super::unread;
use crate::exit::{Exit, Failure};
use crate::terminal;
use adapters::signer_file::{FileSigner, Published};
use kernel::ids::TENANT_DEFAULT;
use kernel::ledger::keyring::Keyring;
use kernel::reasons::Reason;
use kernel::world::{Entity, Key, Row};
use runtime::Runtime;
use runtime::ports::store::{Store, StoreFault};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is asked of a store before it decides.
pub trait Seen {
    /// The tenant, which says who signs.
    fn tenant(&self) -> Result<Option<Row>, StoreFault>;
    /// How many entries there are.
    fn size(&self) -> Result<u64, StoreFault>;
}

impl Seen for Runtime {
    fn tenant(&self) -> Result<Option<Row>, StoreFault> {
        self.read(Entity::Tenant)
    }

    fn size(&self) -> Result<u64, StoreFault> {
        Runtime::size(self)
    }
}

/// A store that no runtime has begun on yet, looked at over the connection that will write: a hook makes one decision, and
/// to open a second connection would cost it as much as the decision.
pub struct Unstarted<'a>(RefCell<&'a mut dyn Store>);

impl<'a> Unstarted<'a> {
    /// Of a store.
    pub fn of(store: &'a mut dyn Store) -> Unstarted<'a> {
        Unstarted(RefCell::new(store))
    }
}

impl Seen for Unstarted<'_> {
    fn tenant(&self) -> Result<Option<Row>, StoreFault> {
        self.0.borrow_mut().look(&Key { tenant: Arc::from(TENANT_DEFAULT), entity: Entity::Tenant })
    }

    fn size(&self) -> Result<u64, StoreFault> {
        self.0.borrow().reader()?.size()
    }
}

/// Where the keys of a store are looked for when nobody says where.
pub fn keys_of(location: &str) -> PathBuf {
    let named = std::env::var_os("WRITKEEPER_KEYS").filter(|named| !named.is_empty());
    named.map_or_else(|| FileSigner::folder_of(location), PathBuf::from)
}

/// Refuses to decide on a store that lost entries which were published: what it forgot would be done again.
pub fn demand_whole(location: &str, store: &dyn Seen) -> anyhow::Result<()> {
    let (named, beside) = (keys_of(location), FileSigner::folder_of(location));
    if named != beside {
        // Keys that are named for every store of a shell are this one's only if it says so.
        demand_covered(location, &named, store, false)?;
    }
    demand_covered(location, &beside, store, true)?;
    if !FileSigner::is_at(&named) && !FileSigner::is_at(&beside) {
        note_absent(location, &named, store)?;
    }
    Ok(())
}

/// A ledger that says who signs for it, where the keys are not at hand: whether it came back from a backup is not known.
fn note_absent(location: &str, folder: &Path, store: &dyn Seen) -> anyhow::Result<()> {
    if let Some(known) = signer_of(store).map_err(unread)? {
        terminal::note(&format!(
            "log `{}` signs for `{location}`, and its keys are not in `{}`: whether entries are missing is not known; \
             name their folder with WRITKEEPER_KEYS",
            known.origin(),
            folder.display()
        ));
    }
    Ok(())
}

/// The log that a ledger says signs for it.
fn signer_of(store: &dyn Seen) -> Result<Option<Keyring>, StoreFault> {
    log_in(store.tenant()?)
}

/// The log that the row of a tenant names.
pub fn log_in(row: Option<Row>) -> Result<Option<Keyring>, StoreFault> {
    let Some(Row::Tenant(row)) = row else { return Ok(None) };
    let Some(log) = row.log else { return Ok(None) };
    let ring = Keyring::parse(&log);
    ring.map(Some).map_err(|problem| StoreFault::Corrupt(format!("the keys it names cannot be read: {problem}")))
}

/// The same by one folder; whether it is this store's although the store does not say so.
pub fn demand_covered(location: &str, folder: &Path, store: &dyn Seen, is_own: bool) -> anyhow::Result<()> {
    let published = match Published::of(folder) {
        Ok(Some(published)) => published,
        Ok(None) => return Ok(()),
        // A store that says nothing of these keys is none of their business, unless they lie beside it.
        Err(fault) if !Published::is_remembered(folder) && (is_own || signer_of(store).map_err(unread)?.is_some()) => {
            return Err(forgotten(location, &fault.to_string()));
        }
        Err(fault) => {
            terminal::note(&format!("whether `{location}` has every published entry is not known: {fault}"));
            return Ok(());
        }
    };
    match behind(&published, store, is_own).map_err(unread)? {
        None => Ok(()),
        Some(size) => Err(refusal(location, folder, &published, size)),
    }
}

/// How many entries a store has, if that is less than was published of it.
fn behind(published: &Published, store: &dyn Seen, is_own: bool) -> Result<Option<u64>, StoreFault> {
    let size = store.size()?;
    if size >= published.entries {
        return Ok(None);
    }
    let known = signer_of(store)?;
    let names = |known: &Keyring| {
        let mut logs = std::iter::once(&published.log).chain(&published.ended);
        logs.any(|log| log.origin() == known.origin())
    };
    Ok(known.as_ref().map_or(is_own, names).then_some(size))
}

/// The keys are there and cannot say what they have published.
fn forgotten(location: &str, fault: &str) -> anyhow::Error {
    let message =
        format!("no decision: whether the store `{location}` has every published entry is not known: {fault}");
    let fix = "put the whole folder of keys back; if it is lost, move it away, and `writkeeper ledger discontinue \
               --because TEXT` goes on with another log";
    Failure { exit: Exit::Invalid, code: Reason::StoreBehind.entry().code.to_owned(), message, fix: fix.to_owned() }
        .into()
}

/// What was published is another history than the store's.
pub fn another_history(location: &str, refusal: &str) -> anyhow::Error {
    let entry = Reason::StoreBehind.entry();
    let message = format!(
        "no decision: the store `{location}` holds another history than was published: {refusal}; it came back from a \
         backup, and what it forgot would be done again"
    );
    let (code, fix) = (entry.code.to_owned(), entry.fix_operator.to_owned());
    Failure { exit: Exit::Invalid, code, message, fix }.into()
}

fn refusal(location: &str, folder: &Path, published: &Published, size: u64) -> anyhow::Error {
    let entry = Reason::StoreBehind.entry();
    let message = format!(
        "no decision: the store `{location}` has {size} entries, and log `{}` has published {} (`{}`): it came back \
         from a backup, and what it forgot would be done again",
        published.log.origin(),
        published.entries,
        folder.display()
    );
    let (code, fix) = (entry.code.to_owned(), entry.fix_operator.to_owned());
    Failure { exit: Exit::Invalid, code, message, fix }.into()
}
