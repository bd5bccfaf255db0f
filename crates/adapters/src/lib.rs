//! Where the runtime meets the world. No business rule lives here.

pub mod addresses;
pub mod executor_command;
pub mod executor_http;
pub mod measure;
pub mod open;
pub mod secrets;
pub mod store_sqlite;
pub mod system_clock;
