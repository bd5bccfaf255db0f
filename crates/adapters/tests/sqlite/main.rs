//! The SQLite store on a real disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

mod conforms;
mod file;
mod folder;
