//! Where the runtime meets the world. No business rule lives here.

pub mod measure;
pub mod open;
pub mod store_sqlite;
pub mod system_clock;
