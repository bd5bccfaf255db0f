//! How long things may take, and how often they are looked at. Only reckoning: nothing here reads a clock.

use values::time::Duration;

/// Time kept back for recording an outcome before the lease is over; of a short lease a quarter.
const MARGIN: Duration = Duration::from_secs(2);

/// The lease of a call where nobody asks for another one.
const SHORTEST: Duration = Duration::from_secs(30);

/// The lease of a call: the one that was asked for, and then the call is cut off before it is over; otherwise one that
/// outlives the longest call.
pub fn lease(given: Option<Duration>, timeout: Duration) -> Duration {
    let half = timeout.micros() / 2;
    let longer = timeout.micros().saturating_add(half).saturating_add(MARGIN.micros()).saturating_add(MARGIN.micros());
    given.unwrap_or(SHORTEST.max(Duration::from_micros(longer)))
}

/// How long a call may take so that what it observed is recorded before the lease is over; `None` if there is no time.
pub fn deadline(lease: Duration, elapsed: std::time::Duration, timeout: Duration) -> Option<std::time::Duration> {
    let elapsed = i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX);
    let margin = MARGIN.micros().min(lease.micros() / 4);
    let left = lease.micros().saturating_sub(margin).saturating_sub(elapsed).min(timeout.micros());
    u64::try_from(left).ok().filter(|left| *left > 0).map(std::time::Duration::from_micros)
}

/// How often to see what time does while there is work: three times in a lease.
pub fn looks_every(lease: Option<Duration>) -> std::time::Duration {
    std::time::Duration::from_micros(u64::try_from(lease.unwrap_or(SHORTEST).micros() / 3).unwrap_or(0))
}

/// Whether a thread now sees what time does. One of them is enough; while nothing is in hand it looks every time.
pub fn looks(thread: usize, last: Option<std::time::Duration>, every: std::time::Duration, idle: bool) -> bool {
    thread == 0 && (idle || last.is_none_or(|last| last >= every))
}
