//! The guard of a coding agent: where it keeps its things, what nobody but a person may change, what a call would do.
//!
//! Nothing here decides. Facts go into a proposal, and the contract's rules judge them.

pub mod answer;
pub mod before;
pub mod daemon;
pub mod facts;
pub mod fetched;
pub mod foreseen;
pub mod hooks;
pub mod judge;
pub mod off_switch;
pub mod oracle;
pub mod place;
pub mod protected;
pub mod pushes;
pub mod second_names;
pub mod session;
pub mod session_line;
pub mod spread;
pub mod text_diff;
pub mod ticket;
mod undecided;
pub mod whole_file;
pub mod wiring;
pub mod wrapper;
