//! The one path from every door to the store.
//!
//! A door forms commands; the sequencer carries them in batches into one transaction each; the kernel judges. Nothing
//! here decides anything.

mod accepted;
mod advise;
pub mod commits;
pub mod conformance;
mod contracts;
pub mod crash;
pub mod execute;
pub mod export;

mod input;
mod lanes;
pub mod memory;
mod mint;
mod oneshot;
pub mod ports;
mod readers;
mod remote;
mod removal;
pub mod replay;
mod runtime;
pub mod seal;
pub mod sealing;
mod sequencer;
#[cfg(feature = "bugs")]
pub mod simulation;
mod tick;
pub mod verify;
mod waiting;
pub mod wire;

pub use advise::advised;
pub use contracts::Line;
pub use input::{read_input, read_line};
pub use lanes::Bounds;
pub use mint::Minted;
pub use remote::served_store;
pub use removal::Swept;
pub use runtime::{Answered, Arrival, Options, Pending, PersonAnswer, Runtime};
pub use tick::{Ticked, Ticker};
pub use waiting::{FollowUp, IntentOutcome, QuestionOutcome};
