//! What happens, as server-sent events: a cursor over the ledger, which is the only buffer there is.

use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::routes::Answering;

/// The media type.
pub const MEDIA: &str = "text/event-stream";

/// Tells everything behind an index, and then whatever is committed.
pub fn stream(call: Call) -> Answering {
    Box::pin(async move {
        drop(call);
        Err::<Reply, Problem>(Problem::unavailable("events are not told yet"))
    })
}
