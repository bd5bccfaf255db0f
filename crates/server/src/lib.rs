//! The HTTP door: it knows who calls, lets each role do what one table says, calls the library and writes bytes.
//!
//! Nothing about what is allowed in a decision stands here. [`routes::table`] is the one list of everything that can be
//! asked; the router, the check of roles and the OpenAPI document are made from it.

mod background;
mod call;
pub mod events;
mod following;
pub mod identity;
mod listen;
mod neighbours;
pub mod openapi;
mod options;
mod pages;
mod patience;
mod problem;
mod rate;
mod readiness;
mod relay;
pub mod routes;
mod schemas;
mod service;
mod site;
mod tenants;

pub use listen::Listen;
pub use options::{JwtOptions, ServeOptions, TlsFiles};
pub use problem::Problem;
#[cfg(feature = "kafka")]
pub use relay::KafkaOptions;
pub use relay::{Broker, NatsOptions, RelayOptions, RelayTally, Relayed, relay};
pub use service::{ServeError, Told, serve};
