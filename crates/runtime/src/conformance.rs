//! What every store must do, as checks that any store can be put through.
//!
//! A store is right if all checks pass, and the checks are right if stores with known faults do not pass them. To add
//! one: a function in a file under `conformance/` and a line in [`CHECKS`].

mod answers;
mod contended;
mod doubt;
mod instants;
mod ledger;
mod reading;
mod samples;
mod steps;
mod tenants;
mod visible;

use crate::memory::ManualClock;
use crate::ports::store::{Store, StoreFault};
use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use values::time::Instant;

/// Longer than any check takes: a store that keeps one waiting for so long keeps it waiting for ever.
const CHECK_MAX: Duration = Duration::from_secs(60);

/// One store under test, empty at first.
pub trait Opened: Send {
    /// A handle on a tenant of it, as one more process would open it. Handles are dropped without ceremony, like a crash.
    fn open(&self, tenant: &str) -> Result<Box<dyn Store>, StoreFault>;
}

/// Makes an empty store that reads this clock.
pub type Make<'a> = dyn FnMut(Arc<ManualClock>) -> Box<dyn Opened> + 'a;

/// A check that did not pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Which check.
    pub check: &'static str,
    /// What was seen.
    pub problem: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.check, self.problem)
    }
}

/// What a check works with.
struct Room {
    store: Box<dyn Opened>,
    clock: Arc<ManualClock>,
}

impl Room {
    /// A handle on the tenant of most checks.
    fn open(&self) -> Result<Box<dyn Store>, String> {
        self.open_for(samples::TENANT)
    }

    fn open_for(&self, tenant: &str) -> Result<Box<dyn Store>, String> {
        self.store.open(tenant).map_err(|fault| fault.to_string())
    }
}

type Check = fn(&Room) -> Result<(), String>;

const CHECKS: &[(&str, Check)] = &[
    ("absent is told from present", visible::absent_is_told_from_present),
    ("rows of every kind are loaded by another handle", visible::rows_of_every_kind),
    ("a fold sees exactly the keys asked for", visible::exactly_the_keys_asked_for),
    ("nothing is visible before the commit", visible::nothing_before_the_commit),
    ("a batch becomes visible at once", visible::at_once),
    ("a fold that panics leaves nothing", visible::nothing_after_a_panic),
    ("steps of a batch are one transaction in order", steps::are_one_transaction_in_order),
    ("a step that panics leaves nothing of its batch", steps::nothing_after_a_panic),
    ("tenants do not see each other's rows", tenants::rows_apart),
    ("every tenant has a ledger of its own", tenants::ledgers_apart),
    ("tenants have instants and batches of their own", tenants::instants_and_batches_apart),
    ("a handle refuses rows of another tenant", tenants::foreign_rows),
    ("records are appended in order without a gap", ledger::in_order_without_a_gap),
    ("what is committed survives", ledger::survives),
    ("records are read in pages", ledger::in_pages),
    ("instants never decrease and follow the clock", instants::follow_the_clock),
    ("the instant is read after the locks", instants::after_the_locks),
    ("no update is lost between two handles", contended::no_update_is_lost),
    ("one handle sees at once what another changed", contended::never_stale),
    ("a settled batch is known and no other", doubt::settled_is_known),
    ("a batch whose answer was lost is applied once", doubt::applied_once),
    ("a stored answer has the bytes of the first", answers::same_bytes),
    ("later batches get the answer of an earlier one", answers::by_later_batches),
    ("an erased answer is refused and harms nobody else", answers::erased),
    ("a forgotten key reads as absent and its row can go", answers::forgotten),
    ("intents that are due are loaded in order", reading::due_intents),
    ("a scan goes through a kind by name", reading::scan),
    ("what is due is read soonest first", reading::due),
    ("questions are read by age and by agent", reading::questions),
];

/// Puts stores through every check, each on an empty store, and says which did not pass.
pub fn check(make: &mut Make<'_>) -> Vec<Failure> {
    let run = |(name, check): &(&'static str, Check)| {
        let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
        let room = Room { store: make(clock.clone()), clock };
        outcome(*check, room).err().map(|problem| Failure { check: name, problem })
    };
    CHECKS.iter().filter_map(run).collect()
}

/// What a check says, also of a store that hangs or panics.
fn outcome(check: Check, room: Room) -> Result<(), String> {
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        let said = check(&room);
        // Before anyone hears of it: a store may have files to remove.
        drop(room);
        let _nobody_waits = done.send(said);
    });
    match finished.recv_timeout(CHECK_MAX) {
        Ok(said) => said,
        Err(mpsc::RecvTimeoutError::Timeout) => Err("the store keeps it waiting for ever".to_owned()),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("the store panicked".to_owned()),
    }
}

/// The names of all checks.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(name, _)| *name)
}
