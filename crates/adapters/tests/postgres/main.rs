//! The PostgreSQL store on a real server.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod conforms;
mod cut;
mod exhausted;
mod lost;
mod names;
mod pooled;
mod refused;
#[expect(dead_code, reason = "other tests use more of it")]
mod server;
mod waits;
