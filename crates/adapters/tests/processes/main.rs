//! Several processes on one SQLite file: the races of the reference, mixed load, a store that pauses, and killing.
//!
//! A worker is this very binary started again with a job in its environment.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod crew;
mod kill_loop;
mod ledger;
mod mixed_load;
mod paused_store;
mod races;
mod site;
mod worker;
