//! A sealer beside the writer: a thread of its own that signs a checkpoint whenever something was committed.

use crate::ports::signer::{Signer, SignerFault};
use crate::ports::store::{Reader, StoreFault};
use crate::seal::{Seal, SealFault};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it waits for more before it looks again: a checkpoint covers whatever was committed meanwhile, and each one
/// reaches the disk by itself, where the writer waits for its own.
const PAUSE: Duration = Duration::from_millis(100);

/// One look at the ledger: signs over what is new, if anything is; whether it did.
pub type Turn = Box<dyn FnMut() -> Result<bool, SealFault> + Send>;

/// Is told why nothing is signed, once for each new reason.
pub type Hearer = Box<dyn FnMut(&SealFault) + Send>;

/// A sealer at work.
pub struct Sealing {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<Result<u64, SealFault>>,
}

impl Sealing {
    /// Starts to seal what a reader sees, by a signer that nobody else needs.
    pub fn start(mut reader: Box<dyn Reader>, mut signer: Box<dyn Signer>) -> Result<Sealing, StoreFault> {
        let mut seal = Seal::of(signer.from());
        let turn = move || {
            let is_new = reader.size()? > signer.from() + signer.stated().size();
            if is_new {
                seal.checkpoint(reader.as_mut(), signer.as_mut())?;
            }
            Ok(is_new)
        };
        Sealing::beside(Box::new(turn), PAUSE, Box::new(|_| {}))
    }

    /// Takes a turn every so often. What is not possible now is tried again; a refusal ends it. Decisions go on either
    /// way, and stay unsigned.
    pub fn beside(mut turn: Turn, every: Duration, mut heard: Hearer) -> Result<Sealing, StoreFault> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = stop.clone();
        let spawned = std::thread::Builder::new().name("sealer".to_owned()).spawn(move || {
            let mut signed = 0;
            let mut told: Option<SealFault> = None;
            loop {
                let last = *stopped.0.lock().unwrap_or_else(PoisonError::into_inner);
                let fault = match turn() {
                    Ok(is_signed) => {
                        signed += u64::from(is_signed);
                        None
                    }
                    Err(fault) => Some(fault),
                };
                if let Some(fault) = fault.as_ref().filter(|fault| told.as_ref() != Some(*fault)) {
                    heard(fault);
                }
                match fault {
                    Some(fault) if last || !may_pass(&fault) => return Err(fault),
                    None if last => return Ok(signed),
                    other => told = other,
                }
                let waiting = stopped.0.lock().unwrap_or_else(PoisonError::into_inner);
                // Whether it was woken or waited long enough does not matter: it looks again.
                drop(stopped.1.wait_timeout_while(waiting, every, |is_over| !*is_over));
            }
        });
        let thread = spawned.map_err(|error| StoreFault::Unavailable(format!("no thread for the sealer: {error}")))?;
        Ok(Sealing { stop, thread })
    }

    /// Seals what is committed by now and ends; how many checkpoints were signed.
    pub fn stop(self) -> Result<u64, SealFault> {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        match self.thread.join() {
            Ok(signed) => signed,
            Err(_) => Err(SealFault::Store(StoreFault::Unavailable("the sealer broke off".to_owned()))),
        }
    }
}

/// Whether it is worth trying again.
fn may_pass(fault: &SealFault) -> bool {
    match fault {
        SealFault::Store(StoreFault::Conflict(_) | StoreFault::Unavailable(_) | StoreFault::Ambiguous(_)) => true,
        SealFault::Signer(SignerFault::Unavailable(_) | SignerFault::NoRoom(_)) => true,
        SealFault::Store(StoreFault::Refused(_) | StoreFault::Corrupt(_)) => false,
        SealFault::Signer(SignerFault::Refused(_)) | SealFault::NoEntry(_) => false,
    }
}
