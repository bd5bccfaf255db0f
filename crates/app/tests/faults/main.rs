//! Real faults on the real binary: killed, paused and starved of space, against a provider whose log is the truth.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod crew;
#[path = "../shared/delivered.rs"]
mod delivered;
mod disk_full;
mod failover;
mod history;
mod kill_loop;
#[path = "../shared/nats.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod nats;
mod patroni;
mod paused;
mod postgres;
mod seeded;
mod served;
#[path = "../../../adapters/tests/postgres/server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod server;
mod site;
mod sweep;
