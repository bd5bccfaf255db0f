//! A service behind HTTP as the runtime's port: every call and every look is one request, bounded in time and size.
//!
//! The bytes of calls and replies are those of `runtime::wire`. Nothing here decides anything, and nothing is tried again
//! that might then be done twice.

mod address;
mod connection;
mod problem;
mod reader;
mod service;
mod unix_socket;

pub use address::Address;
pub use service::{Client, Settings};
