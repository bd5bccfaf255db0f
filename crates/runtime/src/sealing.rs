//! A sealer beside the writer: a thread of its own that signs a checkpoint whenever something was committed.

use crate::ports::signer::Signer;
use crate::ports::store::{Reader, StoreFault};
use crate::seal::{Seal, SealFault};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it waits for more before it looks again: a checkpoint covers whatever was committed meanwhile, and each one
/// reaches the disk by itself, where the writer waits for its own.
const PAUSE: Duration = Duration::from_millis(100);

/// A sealer at work.
pub struct Sealing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, SealFault>>,
}

impl Sealing {
    /// Starts to seal what a reader sees. A refusal to sign ends it; decisions go on and stay unsigned.
    pub fn start(mut reader: Box<dyn Reader>, mut signer: Box<dyn Signer>) -> Result<Sealing, StoreFault> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let spawned = std::thread::Builder::new().name("sealer".to_owned()).spawn(move || {
            let mut seal = Seal::of(signer.from());
            let mut signed = 0;
            loop {
                let last = stopped.load(Ordering::SeqCst);
                if reader.size()? > signer.from() + signer.stated().size() {
                    seal.checkpoint(reader.as_mut(), signer.as_mut())?;
                    signed += 1;
                }
                if last {
                    return Ok(signed);
                }
                std::thread::sleep(PAUSE);
            }
        });
        let thread = spawned.map_err(|error| StoreFault::Unavailable(format!("no thread for the sealer: {error}")))?;
        Ok(Sealing { stop, thread })
    }

    /// Seals what is committed by now and ends; how many checkpoints were signed.
    pub fn stop(self) -> Result<u64, SealFault> {
        self.stop.store(true, Ordering::SeqCst);
        match self.thread.join() {
            Ok(signed) => signed,
            Err(_) => Err(SealFault::Store(StoreFault::Unavailable("the sealer broke off".to_owned()))),
        }
    }
}
