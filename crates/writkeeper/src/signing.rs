//! A store and the keys that sign for it: checkpoints over what is committed, and exports that a stranger can verify.

use crate::error::Error;
use crate::keeper::{Keeper, OpenOptions, carried_out, demand_store, is_server, server};
use crate::restored::log_of;
use crate::sealing_turn::SealingTurn;
use adapters::export_files::ExportPath;
use adapters::signer_file::FileSigner;
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::world::Entity;
use ledger::checkpoint::Checkpoint;
use ledger::export::{CHECKPOINTS_MAX, Header, LogHead};
use ledger::keyring::Keyring;
use ledger::merkle::TreeHash;
use ledger::note::Note;
use ledger::publish::may_speak_for;
use runtime::Minted;
use runtime::export::stated_size;
use runtime::ports::signer::{Signer, SignerFault, Stated};
use runtime::ports::store::{Reader, StoreFault};
use runtime::seal::{Seal, SealFault, demand_whole};
use std::path::PathBuf;

/// A store, the folder of its keys, and who signs on whose behalf.
#[derive(Clone)]
pub struct SigningSite {
    /// The store.
    pub location: String,
    /// The folder of the keys.
    pub folder: PathBuf,
    /// Who is recorded where the ledger has to say who signs for it.
    pub operator: Actor,
    /// How the store is opened.
    pub options: OpenOptions,
}

/// A checkpoint over everything that is committed.
pub struct SealedLedger {
    /// The signer, whose keys are held until this is dropped.
    pub signer: FileSigner,
    /// The checkpoint.
    pub note: Note,
    /// The public key, if this checkpoint is the first that was ever signed for the ledger.
    pub first_key: Option<String>,
}

/// A checkpoint over everything that is committed, and every log there was.
pub struct SealedHead {
    /// What an export says about itself.
    pub header: Header,
    /// The keys of the log that signs now.
    pub keyring: Keyring,
    /// Index of its first entry in the ledger.
    pub from: u64,
    /// The checkpoint.
    pub note: Note,
    /// The public key, if this checkpoint is the first that was ever signed for the ledger.
    pub first_key: Option<String>,
    /// The signer, whose keys are held until this is dropped; a server keeps its own.
    pub signer: Option<FileSigner>,
}

impl SealedHead {
    /// Reads the two lines that an export starts with.
    fn read(lines: &str) -> Result<SealedHead, Error> {
        let unread = || Error::Unavailable("the checkpoint of the server cannot be read".to_owned());
        let (first, second) = lines.split_once('\n').ok_or_else(unread)?;
        let header = Header::read(format!("{first}\n").as_bytes(), second.as_bytes()).map_err(|_| unread())?;
        let log = header.logs.last().ok_or_else(unread)?;
        let note = log.checkpoints.last().ok_or_else(unread)?.clone();
        let (keyring, from) = (log.keyring.clone(), log.from);
        Ok(SealedHead { header, keyring, from, note, first_key: None, signer: None })
    }
}

/// Remembers beside the keys the last entry that was signed.
pub fn remember_last(reader: &mut dyn Reader, signer: &FileSigner) -> Result<(), SealFault> {
    let entries = signer.from().saturating_add(signer.stated().size());
    let last = entries.checked_sub(1).map(|last| reader.records(last, 1)).transpose()?;
    let Some(last) = last.and_then(|mut records| records.pop()) else { return Ok(()) };
    signer.remember_last(TreeHash::of_leaf(last.leaf.as_bytes())).map_err(SealFault::Signer)
}

impl SigningSite {
    /// Of a store whose keys lie beside it.
    pub fn beside(location: &str, operator: Actor) -> SigningSite {
        let folder = crate::restored::keys_beside(location);
        SigningSite { location: location.to_owned(), folder, operator, options: OpenOptions::default() }
    }

    /// What is committed, for reading.
    pub fn reader(&self) -> Result<Box<dyn Reader>, Error> {
        demand_store(&self.location)?;
        Ok(Keeper::view_store(&self.location, &self.options)?.reader()?)
    }

    /// The signer, made on first use: an export must not need a ceremony. A ledger that names its log gets no other.
    /// The public key comes with it where it is the first.
    pub fn signer(&self, reader: &mut dyn Reader) -> Result<(FileSigner, Option<String>), Error> {
        if FileSigner::is_at(&self.folder) {
            let signer = FileSigner::open(&self.folder)?;
            demand_own(reader, &signer)?;
            return Ok((signer, None));
        }
        self.demand_unsigned(reader)?;
        // Keys beside the store may know of a log that the store forgot.
        drop(Keeper::open(&self.location, &self.existing())?);
        let signer = FileSigner::create(&self.folder, &random_origin())?;
        let key = signer.keyring().periods().first().map(|period| period.key.to_string()).unwrap_or_default();
        Ok((signer, Some(key)))
    }

    /// A first key is for a ledger that nobody ever signed.
    pub fn demand_unsigned(&self, reader: &mut dyn Reader) -> Result<(), Error> {
        let Some(known) = recorded(reader)? else { return Ok(()) };
        let key = known.periods().last().map(|period| period.key.id().to_string()).unwrap_or_default();
        let (log, folder) = (known.origin(), self.folder.display());
        Err(Error::SignerUnknown(format!("log `{log}` signs for this ledger, and its key {key} is not in `{folder}`")))
    }

    /// Signs over everything that is committed, and keeps the checkpoint for exports.
    pub fn sealed(&self) -> Result<SealedLedger, Error> {
        let mut reader = self.reader()?;
        let (mut signer, first_key) = self.signer(reader.as_mut())?;
        let published = signer.published()?;
        let published: Vec<Checkpoint> =
            published.iter().filter_map(|note| Checkpoint::parse(note.text()).ok()).collect();
        let committed = reader.size()?;
        demand_whole(&signer, &published.iter().collect::<Vec<_>>(), committed)?;
        let mut seal = Seal::of(signer.from());
        let mut turn = SealingTurn::of(self)?;
        turn.take_by_force()?;
        self.introduce(reader.as_mut(), &mut signer, &mut seal)?;
        let note = seal.checkpoint(reader.as_mut(), &mut signer)?;
        turn.keep(signer.from().saturating_add(signer.stated().size()), &note.to_string())?;
        remember_last(reader.as_mut(), &signer)?;
        signer.publish()?;
        Ok(SealedLedger { signer, note, first_key })
    }

    /// Lets the ledger say who signs for it, where it does not yet.
    pub fn introduce(&self, reader: &mut dyn Reader, signer: &mut FileSigner, seal: &mut Seal) -> Result<(), Error> {
        if recorded(reader)?.as_ref() == Some(signer.keyring()) {
            return Ok(());
        }
        // A signer that has stated something shows first that it was about this ledger.
        if matches!(signer.stated(), Stated::Signed(_)) {
            seal.checkpoint(reader, signer)?;
        }
        self.record(signer, "this log signs")
    }

    /// A change of keys stands in the ledger itself, under the next checkpoint.
    pub fn record(&self, signer: &FileSigner, because: &str) -> Result<(), Error> {
        let keeper = Keeper::open(&self.location, &self.existing())?;
        let upkeep = Upkeep::Rotate { keyring: signer.keyring().clone(), because: because.to_owned() };
        carried_out(keeper.runtime().change(self.operator.clone(), Act::Upkeep(upkeep))).map(|_| ())
    }

    /// The same as [`SigningSite::sealed`], with what an export says about itself; a server seals its own store.
    pub fn head(&self) -> Result<SealedHead, Error> {
        if is_server(&self.location) {
            let service = server::connect(&self.location, &self.options)?;
            return SealedHead::read(&service.seal()?);
        }
        let sealed = self.sealed()?;
        let header = header(&sealed)?;
        let SealedLedger { signer, note, first_key } = sealed;
        let (keyring, from) = (signer.keyring().clone(), signer.from());
        Ok(SealedHead { header, keyring, from, note, first_key, signer: Some(signer) })
    }

    /// Seals what is committed and writes everything out; the header says what there is.
    pub fn export(&self, path: &ExportPath) -> Result<SealedHead, Error> {
        let head = self.head()?;
        path.write(self.reader()?.as_mut(), &head.header)?;
        Ok(head)
    }

    fn existing(&self) -> OpenOptions {
        OpenOptions { create: false, ..self.options.clone() }
    }
}

/// What an export says about itself: every log there was, and the latest checkpoints of each.
fn header(sealed: &SealedLedger) -> Result<Header, Error> {
    let SealedLedger { signer, note, .. } = sealed;
    let latest = |mut notes: Vec<Note>, upto: Option<u64>| {
        notes.retain(|note| upto.is_none_or(|upto| stated_size(note) <= upto));
        let surplus = notes.len().saturating_sub(CHECKPOINTS_MAX);
        notes.split_off(surplus)
    };
    let earlier = signer.earlier_logs()?;
    let mut logs: Vec<LogHead> = earlier
        .into_iter()
        .map(|(from, keyring, notes)| LogHead { keyring, from, checkpoints: latest(notes, None) })
        .collect();
    let size = stated_size(note);
    let checkpoints = latest(signer.published()?, Some(size));
    logs.push(LogHead { keyring: signer.keyring().clone(), from: signer.from(), checkpoints });
    Ok(Header { logs, size: signer.from() + size })
}

/// A name that no other log has.
pub fn random_origin() -> String {
    let random: String = Minted::random_id().chars().filter(|letter| *letter != '-').take(12).collect();
    format!("writkeeper.local/{random}/0")
}

/// The log that a ledger says signs for it.
pub fn recorded(reader: &mut dyn Reader) -> Result<Option<Keyring>, StoreFault> {
    log_of(reader.get(&Entity::Tenant)?)
}

/// The signer is the one that the ledger names, if it names one.
pub fn demand_own(reader: &mut dyn Reader, signer: &FileSigner) -> Result<(), SealFault> {
    let Some(known) = recorded(reader)? else { return Ok(()) };
    let ended = signer.earlier_logs().map_err(SealFault::Signer)?;
    let ended: Vec<Keyring> = ended.into_iter().map(|(_, keyring, _)| keyring).collect();
    may_speak_for(&known, signer.keyring(), &ended).map_err(|refusal| SealFault::Signer(SignerFault::Refused(refusal)))
}
