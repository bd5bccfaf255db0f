//! A file lock that is waited for until a deadline.
//!
//! The system call that waits knows no deadline, and trying again and again would either wake late or burn a core. So
//! whoever has to wait lets a thread wait in its place; a thread that gets the lock too late gives it back at once.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A lock on a file.
#[derive(Debug)]
pub(super) struct TimedLock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: File,
    state: Mutex<State>,
    changed: Condvar,
}

/// What the thread that waits in our place is about.
#[derive(Debug)]
enum State {
    /// There is none.
    Idle,
    /// It waits; `wanted` says whether anyone still does.
    Waits { wanted: bool },
    /// It came back.
    Came(io::Result<()>),
}

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum LockFault {
    /// The deadline passed.
    TooLong,
    /// The system said no.
    Io(io::Error),
}

impl TimedLock {
    pub(super) fn on(file: File) -> TimedLock {
        TimedLock(Arc::new(Shared { file, state: Mutex::new(State::Idle), changed: Condvar::new() }))
    }

    pub(super) fn file(&self) -> &File {
        &self.0.file
    }

    /// Takes the lock, waiting for it until a deadline.
    pub(super) fn lock(&self, deadline: Instant) -> Result<(), LockFault> {
        let mut state = self.0.state();
        match &mut *state {
            // Left by someone who gave up; its thread waits for us now.
            State::Waits { wanted } => *wanted = true,
            State::Idle | State::Came(_) => match self.0.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(error)) => return Err(LockFault::Io(error)),
                Err(TryLockError::WouldBlock) => {
                    let shared = self.0.clone();
                    let named = std::thread::Builder::new().name("store queue".to_owned());
                    named.spawn(move || shared.wait_in_place()).map_err(LockFault::Io)?;
                    *state = State::Waits { wanted: true };
                }
            },
        }
        loop {
            if let State::Came(result) = &mut *state {
                let result = std::mem::replace(result, Ok(()));
                *state = State::Idle;
                return result.map_err(LockFault::Io);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                *state = State::Waits { wanted: false };
                return Err(LockFault::TooLong);
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn unlock(&self) -> io::Result<()> {
        self.0.file.unlock()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_in_place(&self) {
        let result = self.file.lock();
        let mut state = self.state();
        let wanted = matches!(*state, State::Waits { wanted: true });
        if !wanted && result.is_ok() {
            // Nobody here wants it any more, and others may wait for it.
            let _closed_later = self.file.unlock();
        }
        *state = if wanted { State::Came(result) } else { State::Idle };
        self.changed.notify_all();
    }
}
