//! The ledger as a whole: sealed, exported, damaged, verified.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop loudly")]

mod damage;
mod replaying;
mod sealing;
mod signing;
mod site;
