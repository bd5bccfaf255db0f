//! The one path from every door to the store.
//!
//! A door forms commands; the sequencer carries them in batches into one transaction each; the kernel judges. Nothing
//! here decides anything.

pub mod conformance;
pub mod memory;
pub mod ports;
