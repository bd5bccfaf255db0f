//! Where the runtime meets the world. No business rule lives here.

pub mod advisor;
pub mod http_client;
pub mod measure;
pub mod open;
pub mod program;
pub mod store_sqlite;
pub mod system_clock;
