//! Cedar, CEL and JSON Schema as pure evaluators behind the kernel's traits: contract text in, compiled contract out.
//!
//! No I/O, no clock, no randomness: what these engines answer depends on their arguments alone.

pub mod cedar;
pub mod cel;
pub mod compile;
mod declared;
mod fault;
mod nearest;
pub mod schema;
pub mod yaml;

pub use fault::CompileFault;

#[cfg(test)]
mod testing;
