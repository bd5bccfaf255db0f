//! The card of a question: who sees it, what it shows, and what its buttons do. The service is the binary itself.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod access;
mod answers;
mod browser;
mod looks;
mod service;
mod shown;
