//! `writkeeper tick`: lets time act, once or again and again.

use crate::cli::kept::TickArgs;
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{counted, say};
use adapters::system_clock::SystemClock;
use runtime::{Ticked, Ticker};
use std::sync::Arc;
use values::json::Json;
use values::time::Duration;

/// A pass, or passes until someone ends the process.
pub fn run(args: &TickArgs) -> anyhow::Result<Exit> {
    let runtime = Arc::new(store::open(&args.kept.store)?);
    let Some(every) = &args.every else {
        let mut ticked = runtime.tick(store::now()).map_err(store::unread)?;
        // Nobody comes back for the rest.
        ticked.keys_removed += runtime.sweep(usize::MAX).map_err(store::unread)?.removed;
        print(&ticked, args.kept.json)?;
        return Ok(Exit::Fine);
    };
    let problem = || UsageError(format!("--every `{every}` is no length of time such as 30s or 5m"));
    let pause = Duration::parse(every).filter(|pause| pause.micros() > 0).ok_or_else(problem)?;
    let pause = std::time::Duration::from_micros(pause.micros().unsigned_abs());
    let ticker = Ticker::start(runtime, Arc::new(SystemClock), pause).map_err(store::unread)?;
    loop {
        print(&ticker.wait().map_err(store::unread)?, args.kept.json)?;
    }
}

fn print(ticked: &Ticked, json: bool) -> anyhow::Result<()> {
    let Ticked { expired, reminded, rerouted, called_off, doubted, keys_removed } = *ticked;
    if json {
        let counts = [
            ("expired", expired),
            ("reminded", reminded),
            ("rerouted", rerouted),
            ("called_off", called_off),
            ("in_doubt", doubted),
            ("keys_removed", keys_removed),
        ];
        say!("{}", Json::object(counts.map(|(what, count)| (what, Json::from(count)))).to_canonical());
    } else {
        say!(
            "questions: {expired} ended, {reminded} reminded, {rerouted} passed on; \
             intents: {called_off} called off, {doubted} in doubt"
        );
        if keys_removed > 0 {
            say!("forgot {}", counted(keys_removed, "idempotency key"));
        }
        if doubted > 0 {
            say!("\nnext: {}", hint::next("writkeeper intents list --state IN_DOUBT"));
        }
    }
    Ok(())
}
