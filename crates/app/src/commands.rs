//! One file per verb.

pub mod agents;
pub mod always;
pub mod bench;
pub mod break_glass;
pub mod completions;
pub mod context;
pub mod contract;
pub mod decide;
pub mod demo;
pub mod demo_bank;
pub mod doctor;
pub mod escalations;
pub mod explain;
pub mod flows;
pub mod help;
pub mod hook;
pub mod init;
pub mod intents;
pub mod ledger;
pub mod lines;
pub mod report;
pub mod run;
pub mod shell;
pub mod sign;
pub mod switch;
pub mod verify;
