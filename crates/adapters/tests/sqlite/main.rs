//! The SQLite store on a real disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a row of another kind is a failed test")]

mod conforms;
mod due;
mod file;
mod folder;
mod hostile;
mod line;
mod processes;
mod read_only;
mod roles;
