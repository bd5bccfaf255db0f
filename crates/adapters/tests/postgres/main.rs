//! The PostgreSQL store on a real server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

mod conforms;
mod lost;
mod pooled;
mod refused;
mod server;
