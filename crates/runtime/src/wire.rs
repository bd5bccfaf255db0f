//! How a client and a service write calls and replies: strict JSON, one writer and one reader for each.
//!
//! The bytes are those that rows and records have anyway. What a client says about itself never counts: who acts is what
//! the service knows of its caller.

pub mod call;
pub mod entries;
pub mod follow;
pub mod reply;
pub mod rows;
pub mod serve;

use crate::ports::store::StoreFault;
use std::fmt;
use values::json::{Bounds, Json};

/// Names a reply in full, in place of the line of an answer.
pub const REPLY_TYPE: &str = "application/vnd.writkeeper.reply+json";

/// What is sent of a blank line: a request without a body says nothing at all.
pub const BLANK_LINE: &[u8] = b"\n";

/// What a call may cost. A contract in full is the largest part of one.
pub const CALL_BOUNDS: Bounds =
    Bounds { bytes_max: 16 * 1024 * 1024, depth_max: 40, nodes_max: 1_000_000, key_bytes_max: 256 };

/// What a reply may cost: pages hold rows and records, each inside the bounds of the kernel's own.
pub const REPLY_BOUNDS: Bounds =
    Bounds { bytes_max: REPLY_BYTES_MAX, depth_max: 48, nodes_max: 4_000_000, key_bytes_max: 256 };

/// Longest reply a client reads.
pub const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A page is full when it has this many bytes, whatever the limit is. The one row or entry that goes beyond it is in it.
pub const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Why a service did not do what a call asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The call cannot be read, or asks for what does not exist.
    Malformed(String),
    /// There is no such thing.
    Missing,
    /// The store failed; nothing is known to be decided.
    Store(StoreFault),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Malformed(problem) => formatter.write_str(problem),
            Failure::Missing => formatter.write_str("there is no such thing"),
            Failure::Store(fault) => fault.fmt(formatter),
        }
    }
}

impl std::error::Error for Failure {}

impl From<StoreFault> for Failure {
    fn from(fault: StoreFault) -> Failure {
        Failure::Store(fault)
    }
}

/// A member that may be absent or null.
fn given<'a>(json: &'a Json, key: &str) -> Option<&'a Json> {
    json.get(key).filter(|value| **value != Json::Null)
}

/// A text that may be absent or null; `None` if something else stands there.
fn optional(json: &Json, key: &str) -> Option<Option<String>> {
    match given(json, key) {
        None => Some(None),
        Some(value) => value.as_text().map(|text| Some(text.to_owned())),
    }
}

fn text(json: &Json, key: &str) -> Option<String> {
    json.get(key)?.as_text().map(str::to_owned)
}

fn whole(json: &Json, key: &str) -> Option<u64> {
    u64::try_from(json.get(key)?.as_number()?.to_i64()?).ok()
}
