//! People are told: signed webhooks about questions, after Standard Webhooks 1.0.
//!
//! A notifier reads the ledger and writes nothing into the store, so whatever happens to it stops no decision. Every
//! endpoint has a thread and a cursor of its own. The cursor moves behind a notice once the endpoint has it: after a crash
//! the last one comes again, with the same id, and none is lost.

mod delivery;
mod endpoints;
mod folder;
mod message;

pub use delivery::{Delivery, Options, Tally, Told};
pub use endpoints::{ENDPOINTS_MAX, Endpoint, read};
pub use folder::{Folder, public_key};
pub use message::Message;
