//! One file per verb.

pub mod agents;
pub mod bench;
pub mod completions;
pub mod context;
pub mod contract;
pub mod decide;
pub mod demo;
pub mod demo_bank;
pub mod escalations;
pub mod explain;
pub mod flows;
pub mod help;
pub mod lines;
pub mod people;
pub mod report;
pub mod shell;
pub mod switch;
pub mod tick;
