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
use runtime::seal::SealFault;
use runtime::sealing::Sealing;
use std::time::Duration;
use writkeeper::signing::SigningSite;

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
    let heard = |fault: &SealFault| warn(&fault.to_string());
    let sealing = writkeeper::sealer::start(SigningSite::clone(&site), every, Box::new(heard))?;
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
