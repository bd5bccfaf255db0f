//! The SQLite store on a real disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

mod due;
mod file;
mod folder;
