//! The pure, deterministic state machine that judges what agents propose.
//!
//! No clock, no I/O, no randomness, no panics: what is not in the command or the world cannot matter.

pub mod advice;
pub mod agent;
pub mod api_key;
pub mod apply;
pub mod argument;
pub mod attention;
pub mod budget;
pub mod canary;
pub mod change;
pub mod command;
pub mod compat;
pub mod consequence;
pub mod context;
pub mod contract;
pub mod decide;
pub mod detectors;
pub mod enforcement;
pub mod escalation;
pub mod evaluator;
pub mod event;
pub mod facts;
pub mod finding;
pub mod flow;
pub mod flow_name;
pub mod gates;
pub mod handed;
pub mod intent;
pub mod lease;
pub mod look_alike;
pub mod monitors;
pub mod nearest;
pub mod outcome;
pub mod person;
pub mod plan;
pub mod proposal;
pub mod pure;
pub mod reasons;
pub mod record;
pub mod request;
pub mod result;
pub mod semantics;
pub mod settings;
pub mod shadow;
pub mod signed_answer;
pub mod snapshot;
pub mod snooze;
pub mod statement;
pub mod stored;
pub mod template;
#[cfg(test)]
mod testing;
pub mod version;
pub mod watched;
pub mod world;
