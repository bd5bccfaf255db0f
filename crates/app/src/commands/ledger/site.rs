//! A store and the keys that belong to it: who may sign for it, and what the store itself says about that.

use super::{keys, unknown_signer, unsealed, unsigned};
use crate::cli::proof::LedgerArgs;
use crate::store;
use crate::terminal;
use adapters::signer_file::FileSigner;
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::world::Entity;
use ledger::checkpoint::Checkpoint;
use ledger::keyring::Keyring;
use ledger::note::Note;
use ledger::publish::may_speak_for;
use runtime::ports::signer::{Signer, SignerFault, Stated};
use runtime::ports::store::{Reader, StoreFault};
use runtime::seal::{Seal, SealFault, demand_whole};
use std::path::PathBuf;

/// A store and the keys that belong to it.
#[derive(Clone, Debug)]
pub struct Site {
    pub location: String,
    pub folder: PathBuf,
    pub json: bool,
    /// Whether a first key is announced.
    pub quiet: bool,
}

impl Site {
    pub fn of(args: &LedgerArgs) -> Site {
        Site { json: args.kept.json, ..Site::with(&store::location(&args.kept.store), args.keys.clone()) }
    }

    /// Of a store with its keys where someone says, or beside it.
    pub fn with(location: &str, folder: Option<PathBuf>) -> Site {
        let folder = folder.unwrap_or_else(|| store::keys_beside(location));
        Site { location: location.to_owned(), folder, json: false, quiet: false }
    }

    /// Of a store with its keys where they are looked for when nobody says where.
    pub fn beside(location: &str) -> Site {
        Site::with(location, Some(store::keys_of(location)))
    }

    /// The same, where nobody has to be told of a first key.
    pub fn quiet(location: &str) -> Site {
        Site { quiet: true, ..Site::with(location, None) }
    }

    /// What is committed, for reading.
    pub fn reader(&self) -> anyhow::Result<Box<dyn Reader>> {
        store::exists(&self.location)?;
        let store = store::open_file(&self.location)?;
        store.reader().map_err(store::unread)
    }

    /// The signer, made on first use: an export must not need a ceremony. A ledger that names its log gets no other.
    pub fn signer(&self, reader: &mut dyn Reader) -> anyhow::Result<FileSigner> {
        if FileSigner::is_at(&self.folder) {
            let signer = FileSigner::open(&self.folder).map_err(unsigned)?;
            demand_own(reader, &signer).map_err(unsealed)?;
            return Ok(signer);
        }
        self.demand_unsigned(reader)?;
        // Keys beside the store may know of a log that the store forgot.
        drop(store::open(&self.location)?);
        let signer = FileSigner::create(&self.folder, &keys::random_origin()).map_err(unsigned)?;
        let key = signer.keyring().periods().first().map(|period| period.key.to_string()).unwrap_or_default();
        if self.quiet {
            return Ok(signer);
        }
        terminal::note(&format!(
            "this ledger had no key; a new one is in `{}`. Keep that folder safe and apart from the store. \
             Tell whoever verifies: {key}",
            self.folder.display()
        ));
        Ok(signer)
    }

    /// A first key is for a ledger that nobody ever signed.
    pub fn demand_unsigned(&self, reader: &mut dyn Reader) -> anyhow::Result<()> {
        let Some(known) = recorded(reader).map_err(store::unread)? else { return Ok(()) };
        let key = known.periods().last().map(|period| period.key.id().to_string()).unwrap_or_default();
        let (log, folder) = (known.origin(), self.folder.display());
        Err(unknown_signer(format!("log `{log}` signs for this ledger, and its key {key} is not in `{folder}`")))
    }

    /// Signs over everything that is committed, and keeps the checkpoint for exports.
    pub fn sealed(&self) -> anyhow::Result<(FileSigner, Note)> {
        let mut reader = self.reader()?;
        let mut signer = self.signer(reader.as_mut())?;
        let published = signer.published().map_err(unsigned)?;
        let published: Vec<Checkpoint> =
            published.iter().filter_map(|note| Checkpoint::parse(note.text()).ok()).collect();
        let committed = reader.size().map_err(store::unread)?;
        demand_whole(&signer, &published.iter().collect::<Vec<_>>(), committed).map_err(unsealed)?;
        let mut seal = Seal::of(signer.from());
        self.introduce(reader.as_mut(), &mut signer, &mut seal)?;
        let note = seal.checkpoint(reader.as_mut(), &mut signer).map_err(unsealed)?;
        signer.publish().map_err(unsigned)?;
        Ok((signer, note))
    }

    /// Lets the ledger say who signs for it, where it does not yet.
    pub fn introduce(&self, reader: &mut dyn Reader, signer: &mut FileSigner, seal: &mut Seal) -> anyhow::Result<()> {
        if recorded(reader).map_err(store::unread)?.as_ref() == Some(signer.keyring()) {
            return Ok(());
        }
        // Whoever has stated something shows first that it was about this ledger.
        if matches!(signer.stated(), Stated::Signed(_)) {
            seal.checkpoint(reader, signer).map_err(unsealed)?;
        }
        self.record(signer, "this log signs")
    }

    /// A change of keys stands in the ledger itself, signed by whoever signs the next checkpoint.
    pub fn record(&self, signer: &FileSigner, because: &str) -> anyhow::Result<()> {
        let runtime = store::open(&self.location)?;
        let upkeep = Upkeep::Rotate { keyring: signer.keyring().clone(), because: because.to_owned() };
        store::done(runtime.change(store::operator(), Act::Upkeep(upkeep))).map(|_| ())
    }
}

/// The log that a ledger says signs for it.
pub fn recorded(reader: &mut dyn Reader) -> Result<Option<Keyring>, StoreFault> {
    store::log_in(reader.get(&Entity::Tenant)?)
}

/// The signer is the one that the ledger names, if it names one.
pub fn demand_own(reader: &mut dyn Reader, signer: &FileSigner) -> Result<(), SealFault> {
    let Some(known) = recorded(reader)? else { return Ok(()) };
    let ended = signer.earlier_logs().map_err(SealFault::Signer)?;
    let ended: Vec<Keyring> = ended.into_iter().map(|(_, keyring, _)| keyring).collect();
    may_speak_for(&known, signer.keyring(), &ended).map_err(|refusal| SealFault::Signer(SignerFault::Refused(refusal)))
}
