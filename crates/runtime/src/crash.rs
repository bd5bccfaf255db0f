//! Places where a process may die. Tests kill it there and look whether a restart continues from the store.
//!
//! Whatever reaches a disk or another process is a step: it stands inside [`around`], and a process can be made to die
//! before it and after it. `cargo xtask tidy` finds steps that do not.

/// Whether this build can be made to fail.
pub const FAULTS: bool = cfg!(feature = "bugs");

/// Every place, so that a sweep can visit each.
pub const CRASH_POINTS: &[&str] = &[
    "advice.send.after",
    "advice.send.before",
    "command.spawn.after",
    "command.spawn.before",
    "erase.bodies.after",
    "erase.bodies.before",
    "execute.claim.after",
    "execute.claim.before",
    "execute.mark.after",
    "execute.mark.before",
    "execute.record.after",
    "execute.record.before",
    "execute.recover.after",
    "execute.recover.before",
    "execute.send.after",
    "execute.send.before",
    "export.rename.after",
    "export.rename.before",
    "export.sync.after",
    "export.sync.before",
    "file.rename.after",
    "file.rename.before",
    "file.sync.after",
    "file.sync.before",
    "file.sync_folder.after",
    "file.sync_folder.before",
    "file.write.after",
    "file.write.before",
    "http.send.after",
    "http.send.before",
    "keys.keep.after",
    "keys.keep.before",
    "part.rename.after",
    "part.rename.before",
    "part.write.after",
    "part.write.before",
    "program.spawn.after",
    "program.spawn.before",
    "publish.checkpoint.after",
    "publish.checkpoint.before",
    "publish.tile.after",
    "publish.tile.before",
    "seal.sign.after",
    "seal.sign.before",
    "sequencer.answer.after",
    "sequencer.answer.before",
    "signer.move.after",
    "signer.move.before",
    "store.checkpoint.after",
    "store.checkpoint.before",
    "store.erase.after",
    "store.erase.before",
    "store.fence.after",
    "store.fence.before",
    "store.migrate.after",
    "store.migrate.before",
    "store.transact.after",
    "store.transact.before",
    "store.truncate.after",
    "store.truncate.before",
];

/// Does one step, and dies before or after it if the environment says `WRITKEEPER_CRASH_AT=step.before:nth` or
/// `step.after:nth`; with `WRITKEEPER_PAUSE_AT` it stops there until it is told to continue and the
/// file `WRITKEEPER_PAUSE_UNTIL` is there. Costs nothing where faults
/// are not built in.
#[inline(always)]
pub fn around<T>(step: &str, act: impl FnOnce() -> T) -> T {
    crash_point(step, "before");
    let result = act();
    crash_point(step, "after");
    result
}

#[cfg(feature = "bugs")]
fn crash_point(step: &str, side: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static WANTED: OnceLock<Option<(String, u64, bool)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let wanted = WANTED.get_or_init(|| {
        let (text, dies) = match std::env::var("WRITKEEPER_CRASH_AT") {
            Ok(text) => (text, true),
            Err(_) => (std::env::var("WRITKEEPER_PAUSE_AT").ok()?, false),
        };
        let (name, nth) = text.rsplit_once(':').unwrap_or((text.as_str(), "1"));
        Some((name.to_owned(), nth.parse().ok()?, dies))
    });
    let Some((wanted, nth, dies)) = wanted else { return };
    let is_here = wanted.strip_prefix(step).and_then(|rest| rest.strip_prefix('.')) == Some(side);
    if !is_here || PASSED.fetch_add(1, Ordering::SeqCst) + 1 != *nth {
        return;
    }
    if *dies {
        std::process::abort();
    }
    let _ = std::process::Command::new("kill").args(["-STOP", &std::process::id().to_string()]).status();
    // Another thread may be the one that takes the signal, and later: until it is told to, this one does not go on.
    let until = std::env::var_os("WRITKEEPER_PAUSE_UNTIL").map(std::path::PathBuf::from);
    while until.as_ref().is_some_and(|path| !path.exists()) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[cfg(not(feature = "bugs"))]
#[inline(always)]
fn crash_point(_step: &str, _side: &str) {}

/// Whether the first commit of this process is to be in doubt, by `WRITKEEPER_COMMIT_DOUBT=before` (it did not happen)
/// or `after` (it did).
#[cfg(feature = "bugs")]
pub fn commit_is_doubted(side: &str) -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    static TOLD: AtomicBool = AtomicBool::new(false);
    std::env::var("WRITKEEPER_COMMIT_DOUBT").is_ok_and(|wanted| wanted == side) && !TOLD.swap(true, Ordering::SeqCst)
}

/// Never, in this build.
#[cfg(not(feature = "bugs"))]
#[inline(always)]
pub fn commit_is_doubted(_side: &str) -> bool {
    false
}

/// A bound that is met only after long work, or by `WRITKEEPER_SOONER` a smaller one, so that tests come there too.
#[cfg(feature = "bugs")]
pub fn sooner(usual: u64) -> u64 {
    std::env::var("WRITKEEPER_SOONER").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The usual bound, in this build.
#[cfg(not(feature = "bugs"))]
#[inline(always)]
pub fn sooner(usual: u64) -> u64 {
    usual
}

/// How many versions of a store's tables this program knows, or by `WRITKEEPER_TABLES` fewer, as an older program does.
#[cfg(feature = "bugs")]
pub fn versions_known(all: usize) -> usize {
    std::env::var("WRITKEEPER_TABLES").ok().and_then(|text| text.parse().ok()).unwrap_or(all).min(all)
}

/// All of them, in this build.
#[cfg(not(feature = "bugs"))]
#[inline(always)]
pub fn versions_known(all: usize) -> usize {
    all
}

/// Switches on the fault that `WRITKEEPER_BUG` names, for the whole process.
#[cfg(feature = "bugs")]
pub fn switch_on_wanted_fault() {
    let wanted = std::env::var("WRITKEEPER_BUG").unwrap_or_default();
    if let Some(bug) = values::bugs::Bug::ALL.iter().find(|bug| bug.name() == wanted) {
        values::bugs::everywhere(*bug);
    }
}

/// Does nothing in this build.
#[cfg(not(feature = "bugs"))]
#[inline(always)]
pub fn switch_on_wanted_fault() {}
