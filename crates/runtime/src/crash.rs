//! Places where a process may die. Tests kill it there and look whether a restart continues from the store.

/// Every place, so that a sweep can visit each.
pub const CRASH_POINTS: &[&str] = &[
    "seal.before_sign",
    "seal.after_sign",
    "signer.before_write",
    "signer.before_fsync",
    "signer.before_rename",
    "signer.after_rename",
    "keys.before_rename",
    "publish.before_tile",
    "publish.before_checkpoint",
    "erase.after_record",
];

/// Dies here if the environment says `WRITKEEPER_CRASH_AT=name:nth`; costs nothing where faults are not built in.
#[cfg(feature = "bugs")]
pub fn crash_point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("WRITKEEPER_CRASH_AT").ok()?;
        let (name, nth) = text.rsplit_once(':').unwrap_or((text.as_str(), "1"));
        Some((name.to_owned(), nth.parse().ok()?))
    });
    let Some((wanted, nth)) = wanted else { return };
    if wanted == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *nth {
        std::process::abort();
    }
}

/// Does nothing in this build.
#[cfg(not(feature = "bugs"))]
#[inline(always)]
pub fn crash_point(_name: &str) {}
