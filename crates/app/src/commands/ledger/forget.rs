//! Forgetting idempotency keys that are older than they are kept.

use super::Site;
use crate::commands::run::duration;
use crate::exit::UsageError;
use crate::store;
use crate::terminal::{GOOD, counted, paint, say};
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::world::{KEYS_KEPT_MAX, KEYS_KEPT_MIN};
use values::json::Json;

/// Pieces after which it is looked whether there is more.
const PIECES: usize = 16;

/// Records how long keys are kept, where that is said, and up to when they are forgotten; then removes their rows. If it is
/// interrupted, the same command again removes what is left.
pub fn run(site: &Site, keep: Option<&str>, because: &str) -> anyhow::Result<()> {
    let runtime = site.open()?;
    let tell = |upkeep| store::told(runtime.change(store::operator(), Act::Upkeep(upkeep)));
    if let Some(keep) = keep {
        let kept = duration("--keep", keep)?;
        if !(KEYS_KEPT_MIN..=KEYS_KEPT_MAX).contains(&kept) {
            let problem = format!("--keep `{keep}`: keys are kept from {KEYS_KEPT_MIN} to {KEYS_KEPT_MAX}");
            return Err(UsageError(problem).into());
        }
        tell(Upkeep::KeepKeys { kept, because: because.to_owned() })?;
    }
    let event = tell(Upkeep::ForgetKeys { because: Some(because.to_owned()) })?;
    let told = event.to_json();
    let before = told.get("before").and_then(Json::as_text).unwrap_or_default();
    // A server removes them by itself, in the background.
    let removed = if writkeeper::is_server(&site.location) { None } else { Some(removed(&runtime)?) };
    if site.json {
        let removed = removed.map_or(Json::Null, Json::from);
        say!("{}", Json::object([("before", Json::text(before)), ("removed", removed)]).to_canonical());
        return Ok(());
    }
    say!("{} the idempotency keys of before {before}", paint(GOOD, "forgot"));
    match removed {
        Some(removed) => say!("{} removed; every decision stays in the ledger", counted(removed, "key")),
        None => say!("the server removes them; every decision stays in the ledger"),
    }
    Ok(())
}

fn removed(runtime: &runtime::Runtime) -> anyhow::Result<u64> {
    runtime.sweep_anew().map_err(store::unread)?;
    let mut removed = 0;
    loop {
        let swept = runtime.sweep(PIECES).map_err(store::unread)?;
        removed += swept.removed;
        if swept.is_over {
            return Ok(removed);
        }
    }
}
