//! `writkeeper run`: performs what was accepted.

use crate::cli::performing::RunArgs;
use crate::commands::ledger::sealer;
use crate::exit::{Exit, UsageError};
use crate::store;
use crate::terminal::{self, ATTENTION, BAD, GOOD, paint, say};
use adapters::addresses::Range;
use adapters::executor_command::CommandExecutor;
use adapters::executor_http::HttpExecutor;
use adapters::system_clock::SystemClock;
use kernel::json::{Json, Object};
use kernel::time::{Duration, Instant};
use runtime::execute::{self, Options, Performers, Tally};
use runtime::ports::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Performs until a signal, or with `--once` until nothing is due.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let ranges = args.ranges.iter().map(|text| {
        let problem = || UsageError(format!("--allow-private `{text}` is no range of addresses, such as 10.0.0.0/8"));
        Range::parse(text).ok_or_else(problem)
    });
    let http = HttpExecutor { hosts: args.hosts.clone(), ranges: ranges.collect::<Result<_, _>>()? };
    let performers = Performers {
        http: Some(Arc::new(http)),
        command: args.allow_programs.then(|| Arc::new(CommandExecutor) as _),
        functions: std::collections::BTreeMap::new(),
    };
    let clock = clock(args.clock_ahead.as_deref())?;
    let options = Options {
        worker: format!("{}@{}", std::process::id(), runtime::Minted::id()),
        clock: clock.clone(),
        lease: duration("--lease", &args.lease)?,
        threads: usize::try_from(args.threads).unwrap_or(1),
        pause: std::time::Duration::from_millis(100),
        once: args.once,
    };
    let runtime = store::open_with(&args.kept.store, clock)?;
    let sealer = sealer::start(&args.seal, &store::location(&args.kept.store), &runtime)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    if !args.once && !args.kept.json {
        terminal::note("performing what is accepted; end with Ctrl-C");
    }
    let tally = execute::run(&runtime, &performers, &options, &stop);
    sealer.end();
    let tally = tally.map_err(store::unread)?;
    tell(&tally, args.kept.json)?;
    Ok(exit(&tally))
}

fn tell(tally: &Tally, json: bool) -> anyhow::Result<()> {
    if json {
        let waiting: Object =
            tally.waiting.iter().map(|(name, problem)| (name.clone(), Json::text(problem.as_str()))).collect();
        let told = Json::object([
            ("succeeded", Json::from(tally.succeeded)),
            ("failed", Json::from(tally.failed)),
            ("in_doubt", Json::from(tally.doubted)),
            ("not_started", Json::from(tally.not_started)),
            ("waiting", Json::Object(waiting)),
        ]);
        say!("{}", told.to_canonical());
        return Ok(());
    }
    say!(
        "{} succeeded, {} failed, {} left in doubt",
        paint(GOOD, tally.succeeded),
        paint(BAD, tally.failed),
        paint(ATTENTION, tally.doubted)
    );
    for (name, problem) in &tally.waiting {
        say!("intent {name} waits: {problem}");
    }
    if tally.doubted > 0 {
        say!("\nnext: writkeeper intents list --state IN_DOUBT");
    }
    Ok(())
}

fn exit(tally: &Tally) -> Exit {
    match tally {
        Tally { doubted: 1.., .. } => Exit::Escalated,
        Tally { waiting, .. } if !waiting.is_empty() => Exit::Escalated,
        Tally { failed: 1.., .. } => Exit::Rejected,
        Tally { .. } => Exit::Fine,
    }
}

/// A duration as contracts write it.
pub fn duration(what: &str, text: &str) -> anyhow::Result<Duration> {
    let problem = || UsageError(format!("{what} `{text}` is no duration: a whole number and ms, s, m, h or d"));
    Duration::parse(text).ok_or_else(|| problem().into())
}

fn clock(ahead: Option<&str>) -> anyhow::Result<Arc<dyn Clock>> {
    match ahead {
        None => Ok(Arc::new(SystemClock)),
        Some(text) => Ok(Arc::new(Ahead(duration("--clock-ahead", text)?))),
    }
}

/// The machine's clock, some time ahead.
struct Ahead(Duration);

impl Clock for Ahead {
    fn now(&self) -> Instant {
        SystemClock.now().plus(self.0)
    }
}
