//! Sealing in the background of a command that stays: off the path of decisions, which never wait for it.

use super::Site;
use crate::cli::proof::SealArgs;
use crate::commands::run::duration;
use crate::exit::UsageError;
use crate::hint;
use crate::store;
use crate::terminal;
use adapters::location::Location;
use adapters::signer_file::FileSigner;
use runtime::Runtime;
use runtime::ports::signer::{Signer, SignerFault};
use runtime::ports::store::{Reader, StoreFault};
use runtime::seal::{Seal, SealFault, demand_whole};
use runtime::sealing::Sealing;
use std::time::Duration;
use writkeeper::signing::demand_own;

/// The shortest time between two checkpoints: each reaches the disk by itself, where the writer waits for its own.
const EVERY_MIN: Duration = Duration::from_millis(100);

/// The longest: what is not signed yet can be lost without a trace.
const EVERY_MAX: Duration = Duration::from_secs(3_600);

/// A sealer at work, where there are keys.
pub struct Sealer(Option<Sealing>);

/// Starts to seal a store whose keys are there. A store without keys stays unsigned, as before.
pub fn start(args: &SealArgs, location: &str, runtime: &Runtime) -> anyhow::Result<Sealer> {
    let every = Duration::from_micros(duration("--seal-every", &args.seal_every)?.micros().unsigned_abs());
    if !(EVERY_MIN..=EVERY_MAX).contains(&every) {
        return Err(UsageError(format!("--seal-every `{}` is not between 100ms and 1h", args.seal_every)).into());
    }
    // A server seals its own store.
    if writkeeper::is_server(location) {
        return Ok(Sealer(None));
    }
    let site = Site::with(location, args.keys.clone())?;
    if store::place(location)? == Location::Memory {
        return Ok(Sealer(None));
    }
    if !FileSigner::is_at(&site.folder) {
        if args.keys.is_some() {
            let command = format!("writkeeper ledger keys new --keys {}", hint::path(&site.folder));
            warn(&format!("there are no keys in `{}`; `{}` makes one", site.folder.display(), hint::next(&command)));
        }
        return Ok(Sealer(None));
    }
    store::demand_covered(location, &site.folder, runtime, args.keys.is_some())?;
    let reader = site.reader()?;
    let mut turn = Turns { site, reader, seal: None, seen: None };
    // The first time before anything is decided. What fails for another reason fails again, and is told then.
    if let Err(SealFault::Signer(SignerFault::Refused(refusal))) = turn.take()
        && refusal.is_another_history()
    {
        return Err(store::another_history(location, &refusal.to_string()));
    }
    let heard = |fault: &SealFault| warn(&fault.to_string());
    let sealing = Sealing::beside(turn.boxed(), every, Box::new(heard)).map_err(store::unread)?;
    Ok(Sealer(Some(sealing)))
}

impl Sealer {
    /// Seals what is committed by now. Why that failed was said when it happened.
    pub fn end(self) {
        let _ = self.0.map(Sealing::stop);
    }
}

fn warn(problem: &str) {
    terminal::note(&format!("decisions go on and are not signed: {problem}"));
}

struct Turns {
    site: Site,
    reader: Box<dyn Reader>,
    seal: Option<(u64, Seal)>,
    /// How many entries there were when everything was signed.
    seen: Option<u64>,
}

impl Turns {
    fn boxed(mut self) -> runtime::sealing::Turn {
        Box::new(move || self.take())
    }

    /// The keys are held for one checkpoint only: a person who types `ledger checkpoint` must not have to wait.
    fn take(&mut self) -> Result<bool, SealFault> {
        let committed = self.reader.size()?;
        if self.seen == Some(committed) {
            return Ok(false);
        }
        let opened = FileSigner::open_if_free(&self.site.folder).map_err(SealFault::Signer)?;
        let Some(mut signer) = opened else { return Ok(false) };
        demand_own(self.reader.as_mut(), &signer)?;
        demand_whole(&signer, &[], committed)?;
        // Another log may have started since.
        let from = signer.from();
        let mut seal = self.seal.take().filter(|(of, _)| *of == from).map_or_else(|| Seal::of(from), |(_, seal)| seal);
        let is_new = committed > from.saturating_add(signer.stated().size());
        // Whoever begins shows that what was published is of this ledger.
        if is_new || self.seen.is_none() && signer.stated().size() > 0 {
            let introduced = self.site.introduce(self.reader.as_mut(), &mut signer, &mut seal);
            introduced.map_err(|error| SealFault::Store(StoreFault::Unavailable(format!("{error:#}"))))?;
            seal.checkpoint(self.reader.as_mut(), &mut signer)?;
            signer.lay_out().map_err(SealFault::Signer)?;
        }
        self.seen = Some(from.saturating_add(signer.stated().size()));
        self.seal = Some((from, seal));
        Ok(is_new)
    }
}
