//! A store that came back from a backup: the signing keys remember more entries than it has.

use crate::error::Error;
use adapters::location::Location;
use adapters::signer_file::{FileSigner, Published};
use kernel::world::{Entity, Row};
use ledger::keyring::Keyring;
use ledger::merkle::TreeHash;
use runtime::Runtime;
use runtime::ports::store::{Reader, Store, StoreFault};
use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use values::count::counted;
use values::ids::TENANT_DEFAULT;

/// What is asked of a store before it decides.
pub trait Examined {
    /// The tenant, which says who signs.
    fn tenant(&self) -> Result<Option<Row>, StoreFault>;
    /// How many entries there are.
    fn size(&self) -> Result<u64, StoreFault>;
    /// The leaf of an entry.
    fn leaf(&self, index: u64) -> Result<Option<String>, StoreFault>;
}

impl Examined for Runtime {
    fn tenant(&self) -> Result<Option<Row>, StoreFault> {
        self.read(Entity::Tenant)
    }

    fn size(&self) -> Result<u64, StoreFault> {
        Runtime::size(self)
    }

    fn leaf(&self, index: u64) -> Result<Option<String>, StoreFault> {
        Ok(self.records(index, 1)?.pop().map(|record| record.leaf))
    }
}

/// A store that no runtime has begun on yet.
pub struct Unstarted(RefCell<Box<dyn Reader>>);

impl Unstarted {
    /// Of a store.
    pub fn of(store: &dyn Store) -> Result<Unstarted, StoreFault> {
        Ok(Unstarted(RefCell::new(store.reader()?)))
    }
}

impl Examined for Unstarted {
    fn tenant(&self) -> Result<Option<Row>, StoreFault> {
        self.0.borrow_mut().get(&Entity::Tenant)
    }

    fn size(&self) -> Result<u64, StoreFault> {
        self.0.borrow_mut().size()
    }

    fn leaf(&self, index: u64) -> Result<Option<String>, StoreFault> {
        Ok(self.0.borrow_mut().records(index, 1)?.pop().map(|record| record.leaf))
    }
}

/// The folder of keys that belongs to a store by its name.
pub fn keys_beside(location: &str) -> PathBuf {
    let place = location.parse::<Location>().ok();
    place.and_then(|place| place.keys()).unwrap_or_else(|| PathBuf::from(format!("{location}.keys")))
}

/// The folder of keys that belongs to one tenant of a store.
pub fn keys_of_tenant(location: &str, tenant: &str) -> PathBuf {
    let beside = keys_beside(location);
    if tenant == TENANT_DEFAULT {
        return beside;
    }
    let name = beside.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    beside.with_file_name(format!("{name}.{tenant}.keys"))
}

/// Why a store must not decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Loss {
    /// It has fewer entries than were published.
    Behind {
        /// The store.
        location: String,
        /// The folder of the keys that know it.
        folder: PathBuf,
        /// The log that published.
        log: String,
        /// How many entries were published.
        published: u64,
        /// How many there are.
        entries: u64,
    },
    /// It holds another history than was published.
    AnotherHistory {
        /// The store.
        location: String,
        /// Where the two differ.
        difference: String,
    },
    /// The keys are there and cannot say what they have published.
    Forgotten {
        /// The store.
        location: String,
        /// What is wrong with the folder of keys.
        problem: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Behind { location, folder, log, published, entries } => write!(
                formatter,
                "no decision: the store `{location}` has {}, and log `{log}` has published {published} \
                 (`{}`): it came back from a backup, and what it forgot would be done again",
                counted(*entries, "entry"),
                folder.display()
            ),
            Loss::AnotherHistory { location, difference } => write!(
                formatter,
                "no decision: the store `{location}` holds another history than was published: {difference}; it came \
                 back from a backup, and what it forgot would be done again"
            ),
            Loss::Forgotten { location, problem } => write!(
                formatter,
                "no decision: whether the store `{location}` has every published entry is not known: {problem}"
            ),
        }
    }
}

/// What a person should hear about the keys of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeysNotice {
    /// The ledger says who signs for it, and the keys are not at hand: whether entries are missing is not known.
    KeysAbsent {
        /// The store.
        location: String,
        /// The log that signs.
        log: String,
        /// Where the keys were looked for.
        folder: PathBuf,
    },
    /// A folder of keys cannot say what it has published.
    Unreadable {
        /// The store.
        location: String,
        /// What is wrong with the folder.
        problem: String,
    },
    /// Published entries are missing; the store is only looked at.
    Lost(Box<Loss>),
}

impl fmt::Display for KeysNotice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeysNotice::KeysAbsent { location, log, folder } => write!(
                formatter,
                "log `{log}` signs for `{location}`, and its keys are not in `{}`: whether entries are missing is not \
                 known",
                folder.display()
            ),
            KeysNotice::Unreadable { location, problem } => {
                write!(formatter, "whether `{location}` has every published entry is not known: {problem}")
            }
            KeysNotice::Lost(loss) => loss.fmt(formatter),
        }
    }
}

/// Refuses to decide on a store that lost entries which were published: what it forgot would be done again.
///
/// `named` is a folder of keys besides the one that lies beside the store.
pub fn demand_whole(location: &str, named: Option<&Path>, store: &dyn Examined) -> Result<Vec<KeysNotice>, Error> {
    let beside = keys_beside(location);
    let named = named.unwrap_or(&beside);
    let mut notices = Vec::new();
    if named != beside {
        // Keys that are named for every store of a shell are this one's only if it says so.
        notices.extend(demand_covered(location, named, store, false)?);
    }
    notices.extend(demand_covered(location, &beside, store, true)?);
    if !FileSigner::is_at(named)
        && !FileSigner::is_at(&beside)
        && let Some(known) = signer_of(store)?
    {
        let (log, folder) = (known.origin().to_owned(), named.to_owned());
        notices.push(KeysNotice::KeysAbsent { location: location.to_owned(), log, folder });
    }
    Ok(notices)
}

/// The same by one folder; whether it is this store's although the store does not say so.
pub fn demand_covered(
    location: &str,
    folder: &Path,
    store: &dyn Examined,
    is_own: bool,
) -> Result<Option<KeysNotice>, Error> {
    let published = match Published::of(folder) {
        Ok(Some(published)) => published,
        Ok(None) => return Ok(None),
        Err(fault) => {
            let (location, problem) = (location.to_owned(), fault.to_string());
            // A store that says nothing of these keys is none of their business, unless they lie beside it.
            if !Published::is_remembered(folder) && (is_own || signer_of(store)?.is_some()) {
                return Err(Error::Restored(Box::new(Loss::Forgotten { location, problem })));
            }
            return Ok(Some(KeysNotice::Unreadable { location, problem }));
        }
    };
    if !concerns(&published, store, is_own)? {
        return Ok(None);
    }
    let entries = store.size()?;
    if entries >= published.entries {
        // It may have come back older and have grown since.
        return match differs(&published, store)? {
            Some(index) => {
                let difference = format!("entry {index} is another one than was signed");
                Err(another_history(location, &difference))
            }
            None => Ok(None),
        };
    }
    Err(Error::Restored(Box::new(Loss::Behind {
        location: location.to_owned(),
        folder: folder.to_owned(),
        log: published.log.origin().to_owned(),
        published: published.entries,
        entries,
    })))
}

/// What was published is another history than the store's.
pub fn another_history(location: &str, difference: &str) -> Error {
    let (location, difference) = (location.to_owned(), difference.to_owned());
    Error::Restored(Box::new(Loss::AnotherHistory { location, difference }))
}

/// The log that a ledger says signs for it.
fn signer_of(store: &dyn Examined) -> Result<Option<Keyring>, StoreFault> {
    log_of(store.tenant()?)
}

/// The log that the row of a tenant names.
pub fn log_of(row: Option<Row>) -> Result<Option<Keyring>, StoreFault> {
    let Some(Row::Tenant(row)) = row else { return Ok(None) };
    let Some(log) = row.log else { return Ok(None) };
    let ring = Keyring::parse(&log);
    ring.map(Some).map_err(|problem| StoreFault::Corrupt(format!("the keys it names cannot be read: {problem}")))
}

/// Whether what was published is of this store.
fn concerns(published: &Published, store: &dyn Examined, is_own: bool) -> Result<bool, StoreFault> {
    let names = |known: &Keyring| {
        let mut logs = std::iter::once(&published.log).chain(&published.ended);
        logs.any(|log| log.origin() == known.origin())
    };
    Ok(signer_of(store)?.as_ref().map_or(is_own, names))
}

/// The last entry that was signed, if the store has another one in its place.
fn differs(published: &Published, store: &dyn Examined) -> Result<Option<u64>, StoreFault> {
    let Some((signed, last)) = published.last.zip(published.entries.checked_sub(1)) else { return Ok(None) };
    let leaf = store.leaf(last)?.map(|leaf| TreeHash::of_leaf(leaf.as_bytes()));
    Ok((leaf != Some(signed)).then_some(last))
}
