//! Where the runtime meets the world. No business rule lives here.

pub mod durable_file;
pub mod export_files;
pub mod measure;
pub mod open;
pub mod signer_file;
pub mod spilled_rows;
pub mod store_sqlite;
pub mod system_clock;
