//! `writkeeper break-glass`: for a short while questions are not asked. Who, why and until when are in the ledger.

use crate::cli::guard::BreakGlassArgs;
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, BAD, paint, say};
use guard::judge::BREAK_GLASS;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use values::json::Json;
use values::time::{Duration, Instant};

/// The longest that nobody is asked.
const LONGEST: Duration = Duration::from_secs(4 * 60 * 60);

/// Switches questions off for a while, or on again.
pub fn run(args: &BreakGlassArgs) -> anyhow::Result<Exit> {
    let wrong = || UsageError(format!("--for `{}` is no duration up to 4h, such as 15m", args.duration));
    let until = if args.end {
        Instant::from_micros(0)
    } else {
        let duration = Duration::parse(&args.duration).filter(|duration| *duration <= LONGEST).ok_or_else(wrong)?;
        Instant::from_micros(store::now().plus(duration).micros() / 1_000_000 * 1_000_000)
    };
    if args.because.trim().is_empty() {
        return Err(UsageError("--because says why, in words".to_owned()).into());
    }
    let runtime = store::open(&args.kept.store)?;
    let operator = store::operator();
    let by = match (runtime.caller(), &operator) {
        (Some(caller), _) => caller.name.clone(),
        (None, Actor::Operator(name) | Actor::Monitor(name) | Actor::Agent(name)) => name.clone(),
        (None, Actor::Kernel) => "kernel".to_owned(),
    };
    let reason = Json::object([("by", Json::text(by.as_str())), ("because", Json::text(args.because.as_str()))]);
    let writes = vec![
        Write { key: BREAK_GLASS.to_owned(), value: Json::text(until.to_string()), expect: None },
        Write { key: format!("{BREAK_GLASS}_because"), value: reason, expect: None },
    ];
    store::done(runtime.change(operator, Act::Merge(writes)))?;
    if args.kept.json {
        say!("{}", serde_json::json!({ "until": until.to_string(), "by": by, "because": args.because }));
        return Ok(Exit::Fine);
    }
    if args.end {
        say!("questions are asked again");
        return Ok(Exit::Fine);
    }
    let (until, because) = (terminal::at(until), kernel::finding::visible(&args.because));
    say!("{} until {until}, by {by}: {because}", paint(BAD, "GLASS IS BROKEN"));
    say!("Destructive, unknown and outside calls run unasked. Catastrophes, secrets and the guard stay refused.");
    say!("to end it now: {}", hint::next("writkeeper break-glass --end --because done"));
    Ok(Exit::Fine)
}
