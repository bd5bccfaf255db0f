//! A store and its keys as the verbs of the ledger use them: the library's site, and how to print.

use crate::cli::proof::LedgerArgs;
use crate::store;
use crate::terminal;
use adapters::signer_file::FileSigner;
use ledger::note::Note;
use runtime::Runtime;
use std::ops::Deref;
use std::path::PathBuf;
use writkeeper::signing::{SealedHead, SealedLedger, SigningSite};

/// A store and the keys that belong to it.
#[derive(Clone)]
pub struct Site {
    inner: SigningSite,
    pub json: bool,
    /// Whether a first key is announced.
    quiet: bool,
}

impl Deref for Site {
    type Target = SigningSite;

    fn deref(&self) -> &SigningSite {
        &self.inner
    }
}

impl Site {
    pub fn of(args: &LedgerArgs) -> anyhow::Result<Site> {
        let site = Site::with(&store::location(&args.kept.store), args.keys.clone())?;
        Ok(Site { json: args.kept.json, ..site })
    }

    /// Of a store with its keys where someone says, or beside it.
    pub fn with(location: &str, folder: Option<PathBuf>) -> anyhow::Result<Site> {
        if !writkeeper::is_server(location) {
            store::place(location)?;
        }
        let (operator, mut options) = (store::operator(), store::options_of(location)?);
        // Keys that are named also say whether the store has lost entries.
        options.keys = folder.clone().or(options.keys);
        let folder = folder.unwrap_or_else(|| store::keys_beside(location));
        let inner = SigningSite { location: location.to_owned(), folder, operator, options };
        Ok(Site { inner, json: false, quiet: false })
    }

    /// Of a store with its keys where they are looked for when nobody says where.
    pub fn beside(location: &str) -> anyhow::Result<Site> {
        Site::with(location, Some(store::keys_of(location)))
    }

    /// The same, where nobody has to be told of a first key.
    pub fn quiet(location: &str) -> anyhow::Result<Site> {
        Ok(Site { quiet: true, ..Site::with(location, None)? })
    }

    /// The store, to write in. One that has lost entries which its keys have signed is refused.
    pub fn open(&self) -> anyhow::Result<Runtime> {
        store::open_as(&self.location, &self.inner.options)
    }

    /// Signs over everything that is committed, and keeps the checkpoint for exports.
    pub fn sealed(&self) -> anyhow::Result<(FileSigner, Note)> {
        let SealedLedger { signer, note, .. } = {
            let sealed = self.inner.sealed()?;
            self.announce(sealed.first_key.as_deref());
            sealed
        };
        Ok((signer, note))
    }

    /// The same, for what is made of it: receipts, exports, tiles. A server seals its own store.
    pub fn head(&self) -> anyhow::Result<SealedHead> {
        let head = self.inner.head()?;
        self.announce(head.first_key.as_deref());
        Ok(head)
    }

    /// Refuses what only the machine with the store and its keys can do.
    pub fn demand_here(&self, what: &str) -> anyhow::Result<()> {
        store::demand_here(&self.location, what)
    }

    /// Tells of a key that was made because there was none.
    pub fn announce(&self, first_key: Option<&str>) {
        let Some(key) = first_key.filter(|_| !self.quiet) else { return };
        terminal::note(&format!(
            "this ledger had no key; a new one is in `{}`. Keep that folder safe and apart from the store. \
             Tell whoever verifies: {key}",
            self.folder.display()
        ));
    }
}
