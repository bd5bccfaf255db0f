//! One call of a hook, whether a daemon judges it, the hook itself, or the hook after a daemon did not answer.

use adapters::system_clock::SystemClock;
use runtime::Minted;
use runtime::ports::clock::Clock;
use values::time::Instant;

/// Names a call. Judged twice under one ticket, it is decided once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// A time-ordered id.
    pub id: String,
    /// When the hook was called.
    pub at: Instant,
    /// Whether a daemon was asked about it already and may have decided.
    pub is_repeated: bool,
}

impl Ticket {
    /// For a call that came in just now; `id` where the caller has a name for it.
    pub fn new(id: Option<&str>) -> Ticket {
        let is_repeated = id.is_some();
        Ticket { id: id.map_or_else(Minted::id, str::to_owned), at: SystemClock.now(), is_repeated }
    }
}
