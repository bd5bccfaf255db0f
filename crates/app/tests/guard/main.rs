//! Guarding coding agents: real payloads through the command line each host was given, with the real binary and store.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod border;
mod byways;
mod contract_keys;
mod daemon;
mod failures;
mod findings;
mod hosts;
mod install;
mod leases;
mod noticed;
mod ordinary;
mod people;
mod permissions;
mod site;
mod tamper;
mod truth;
mod watching;
mod witnesses;
mod written;
