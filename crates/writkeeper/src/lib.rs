//! Writkeeper as a library: what every door can do, and what a Rust program embeds.
//!
//! [`open`] gives a [`Keeper`]: the store with all its checks, and a runtime in front of it. Through it agents are
//! enrolled, proposals are judged, people answer, effects are performed, and history is signed and verified. What a door
//! shows is read as values from the same handle. Nothing here prints, and nothing here knows a command line.
//!
//! There is one error type, [`Error`]. What a program ends with, and what an HTTP response says, are functions of its
//! [`Class`].

pub mod entries;
mod error;
pub mod history;
pub mod inbox;
mod keeper;
pub mod lookup;
pub mod matter;
pub mod restored;
pub mod signing;
pub mod verification;

pub use error::{Class, ContractInForce, Error};
pub use keeper::{Enrolment, Keeper, Notice, OpenOptions, carried_out, demand_store, open, place};
pub use verification::{Verification, verify};
