//! The pure, deterministic state machine that judges what agents propose.
//!
//! No clock, no I/O, no randomness, no panics: what is not in the command or the world cannot matter.

pub mod bugs;
pub mod contract;
pub mod decimal;
pub mod evaluator;
pub mod ids;
pub mod json;
pub mod template;
pub mod time;
