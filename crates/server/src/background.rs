//! What goes on beside requests: checkpoints are signed, and time does what it does to questions and intents.

use crate::site::Site;
use crate::tenants::Tenant;
use adapters::location::Location;
use runtime::sealing::Sealing;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use writkeeper::Error;

/// How often time acts.
const TICK: Duration = Duration::from_millis(500);

/// The thread beside requests.
pub struct Background {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl Background {
    /// Starts it. A ledger that is not the one that was published is an error.
    pub fn start(site: &Arc<Site>) -> Result<Background, Error> {
        let mut sealers = BTreeMap::new();
        match seal(site, site.tenants.default(), &mut sealers) {
            // A database that is away comes back; it is tried again with every tick.
            Err(Error::Unavailable(problem)) => site.tell(&problem),
            other => other?,
        }
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (stopped, site) = (stop.clone(), site.clone());
        let spawned = std::thread::Builder::new().name("upkeep".to_owned()).spawn(move || {
            let mut told = None;
            while !*stopped.0.lock().unwrap_or_else(PoisonError::into_inner) {
                for tenant in site.tenants.all() {
                    let is_by_lines = site.lines.is_some();
                    let ticked =
                        if is_by_lines { Ok(()) } else { tenant.keeper.runtime().tick(tenant.keeper.now()).map(drop) };
                    let sealed = seal(&site, &tenant, &mut sealers);
                    let problem = ticked.err().map(|fault| fault.to_string());
                    let problem = problem.or_else(|| sealed.err().map(|error| error.to_string()));
                    if let Some(problem) = problem.as_ref().filter(|problem| told.as_ref() != Some(*problem)) {
                        site.tell(problem);
                    }
                    told = problem.or(told);
                }
                let waiting = stopped.0.lock().unwrap_or_else(PoisonError::into_inner);
                // Whether it was woken or waited long enough does not matter: it looks again.
                drop(stopped.1.wait_timeout_while(waiting, TICK, |is_over| !*is_over));
            }
            for (_, sealing) in sealers {
                // Why nothing could be signed was told when it happened.
                let _ = sealing.stop();
            }
        });
        let unstarted = |error| Error::Unavailable(format!("no thread beside requests: {error}"));
        Ok(Background { stop, thread: spawned.map_err(unstarted)? })
    }

    /// Signs over everything that is committed by now, and ends.
    pub fn stop(self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        // A thread that broke off has told why.
        let _ = self.thread.join();
    }
}

/// Signs for a tenant from now on. Its first key is made here, so that every answer can be proved.
fn seal(site: &Arc<Site>, tenant: &Arc<Tenant>, sealers: &mut BTreeMap<String, Sealing>) -> Result<(), Error> {
    let is_kept = writkeeper::place(&site.options.store)? != Location::Memory;
    if sealers.contains_key(&*tenant.name) || !is_kept {
        return Ok(());
    }
    drop(tenant.signing.sealed()?);
    let told = site.clone();
    let heard = move |fault: &runtime::seal::SealFault| {
        told.tell(&format!("decisions go on and are not signed: {fault}"));
    };
    let sealing = writkeeper::sealer::start(tenant.signing.clone(), site.options.seal_every, Box::new(heard))?;
    sealers.insert(tenant.name.to_string(), sealing);
    Ok(())
}
