//! Writkeeper as a library: what every door can do, and what a Rust program embeds.
//!
//! [`open`] gives a [`Keeper`]: the store with all its checks, and a runtime in front of it. Through it agents are
//! enrolled, proposals are judged, people answer, effects are performed, and history is signed and verified. What a door
//! shows is read as values from the same handle. Nothing here prints, and nothing here knows a command line.
//!
//! There is one error type, [`Error`]. What a program ends with, and what an HTTP response says, are functions of its
//! [`Class`].

pub mod access;
pub mod agents;
pub mod attention;
pub mod backtest;
pub mod canary;
pub mod entries;
mod error;
pub mod evaluation;
pub mod event_cursor;
pub mod events;
pub mod finding_text;
pub mod flow_names;
pub mod flows;
mod function;
pub mod happening;
pub mod history;
pub mod imports;
pub mod inbox;
pub mod intents;
mod keeper;
pub mod lookup;
pub mod matter;
pub mod monitors;
pub mod notices;
pub mod overlap;
pub mod own_flow;
pub mod receipts;
pub mod report;
pub mod restored;
pub mod sealer;
mod sealing_turn;
pub mod shadow;
pub mod signing;
pub mod verification;
pub mod webhooks;

pub use error::{Class, ContractInForce, Error};
pub use function::Function;
pub use keeper::{
    Admitted, Enrolment, GivenWords, Keeper, Notice, OpenOptions, PerformerReport, TakenIntent, Taker, carried_out,
    demand_store, is_server, open, place,
};
pub use verification::{Verification, verify};

// What the methods of a [`Keeper`] take and give.
pub use adapters::advisor::PluginAdvisor;
pub use adapters::export_files::ExportPath;
pub use adapters::system_clock::SystemClock;
pub use kernel::agent::Actor;
pub use kernel::api_key::{ApiKey, KeyRole, TenantState};
pub use kernel::change::{Inquiry, Reservation};
pub use kernel::escalation::HumanDecision;
pub use kernel::intent::Order;
pub use kernel::outcome::{Answer, Verdict};
pub use runtime::execute::{Executors, Tally};
pub use runtime::ports::advisor::Advisor;
pub use runtime::ports::executor::{Attempt, Executor, Missing, Observation};
pub use runtime::{Answered, FollowUp, PersonAnswer};
