//! Whose turn it is to sign, where processes on several machines may have copies of the keys.

use crate::error::Error;
use crate::keeper::{Keeper, is_server, place};
use crate::signing::SigningSite;
use adapters::location::Location;
use runtime::Minted;
use runtime::ports::signer::SignerFault;
use runtime::ports::store::{Claimed, Store, StoreFault};
use runtime::seal::SealFault;
use std::time::{Duration, Instant};

/// How long a claim lasts. A process that stands still for longer has lost it, and another one goes on.
pub const LEASE: Duration = Duration::from_secs(10);

/// A claim is renewed once it has lasted for so long, so that not every checkpoint costs a commit more.
const RENEWED_AFTER: Duration = Duration::from_secs(4);

/// The longest pause before a claim of another process is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// What this process knows of the claim to sign for a store.
pub struct SealingTurn {
    /// Where the store decides whose turn it is.
    store: Option<Box<dyn Store>>,
    owner: String,
    own: Option<(u64, Instant)>,
    /// Another process has the claim, and is not asked for it before this.
    others_until: Option<Instant>,
    /// How many entries the checkpoint is over that another process kept last.
    others_signed: u64,
}

impl SealingTurn {
    /// Of a process that may sign for a store.
    pub fn of(site: &SigningSite) -> Result<SealingTurn, Error> {
        // Only a database has more than one machine's folder of keys.
        let is_shared = !is_server(&site.location) && matches!(place(&site.location)?, Location::Postgres(_));
        let store = if is_shared { Some(Keeper::store(&site.location, &site.options)?) } else { None };
        let owner = format!("{} {:032x}", std::process::id(), Minted::batch());
        Ok(SealingTurn { store, owner, own: None, others_until: None, others_signed: 0 })
    }

    /// Whether this process may sign now.
    pub fn take(&mut self) -> Result<bool, StoreFault> {
        let now = Instant::now();
        if self.others_until.is_some_and(|until| now < until) {
            return Ok(false);
        }
        if self.own.is_some_and(|(_, since)| now.duration_since(since) < RENEWED_AFTER) {
            return Ok(true);
        }
        self.claim(false)
    }

    /// How many entries the checkpoint is over that another process kept last, as far as this one has heard.
    pub fn others_signed(&self) -> u64 {
        self.others_signed
    }

    /// Takes the turn from whoever has it: a person asked for a checkpoint, and will not ask again.
    pub fn take_by_force(&mut self) -> Result<(), StoreFault> {
        self.claim(true).map(|_| ())
    }

    fn claim(&mut self, by_force: bool) -> Result<bool, StoreFault> {
        let Some(lease) = self.store.as_mut().and_then(|store| store.sealer_lease()) else { return Ok(true) };
        // Counted from before the question: the store's count begins later.
        let asked = Instant::now();
        match lease.claim(&self.owner, LEASE, by_force)? {
            Claimed::Own(epoch) => {
                (self.own, self.others_until) = (Some((epoch, asked)), None);
                Ok(true)
            }
            Claimed::Others { left, signed } => {
                (self.own, self.others_until) = (None, Some(asked + left.min(LOOK_AGAIN)));
                self.others_signed = signed;
                Ok(false)
            }
        }
    }

    /// Keeps a signed checkpoint under the claim. It counts for nothing if another process has taken over meanwhile.
    pub fn keep(&mut self, entries: u64, note: &str) -> Result<(), SealFault> {
        let Some(lease) = self.store.as_mut().and_then(|store| store.sealer_lease()) else { return Ok(()) };
        let epoch = self.own.map_or(0, |(epoch, _)| epoch);
        if lease.keep(epoch, entries, note)? {
            return Ok(());
        }
        self.own = None;
        let problem =
            format!("another process signs now; the checkpoint over {entries} entries of this one does not count");
        Err(SealFault::Signer(SignerFault::Unavailable(problem)))
    }

    /// Lets another process sign at once.
    pub fn end(&mut self) {
        let Some((epoch, _)) = self.own.take() else { return };
        if let Some(lease) = self.store.as_mut().and_then(|store| store.sealer_lease()) {
            // Where it fails, the claim ends by itself.
            let _ends_later = lease.release(epoch);
        }
    }
}

impl Drop for SealingTurn {
    fn drop(&mut self) {
        self.end();
    }
}
