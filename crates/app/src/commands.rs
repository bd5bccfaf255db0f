//! One file per verb.

pub mod bench;
pub mod completions;
pub mod contract;
pub mod decide;
pub mod demo;
pub mod demo_bank;
pub mod explain;
pub mod help;
pub mod lines;
pub mod shell;
