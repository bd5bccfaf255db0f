//! Where the runtime meets the world. No business rule lives here.

pub mod addresses;
pub mod advisor;
mod checked_host;
pub mod durable_file;
pub mod executor_command;
pub mod executor_http;
pub mod export_files;
pub mod host_names;
pub mod http_client;
pub mod location;
pub mod measure;
pub mod os_user;
pub mod program;
mod row_cache;
mod row_key;
pub mod secrets;
pub mod signer_file;
pub mod spilled_rows;
pub mod store_backup;
pub mod store_copy;
pub mod store_postgres;
pub mod store_sqlite;
pub mod system_clock;
pub mod webhook_post;
