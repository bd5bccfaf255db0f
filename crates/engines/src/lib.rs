//! Cedar, CEL and JSON Schema as pure evaluators behind the kernel's traits: contract text in, compiled contract out.
//!
//! No I/O, no clock, no randomness: what these engines answer depends on their arguments alone.

pub mod cedar;
pub mod cel;
pub mod compile;
mod declared;
mod fault;
mod later;
pub mod load;
mod locate;
pub mod schema;
pub mod yaml;
pub mod yaml_text;

pub use fault::CompileFault;

#[cfg(test)]
mod testing;
