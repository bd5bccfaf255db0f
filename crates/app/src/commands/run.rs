//! `writkeeper run`: performs what was accepted.

use crate::cli::performing::RunArgs;
use crate::commands::intents;
use crate::commands::ledger::sealer;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, BAD, FAINT, GOOD, paint, say};
use adapters::addresses::Range;
use adapters::executor_command::CommandExecutor;
use adapters::executor_http::HttpExecutor;
use adapters::system_clock::SystemClock;
use kernel::contract::ExecutorKind;
use kernel::finding::visible;
use runtime::execute::{self, AttemptReport, Executors, Options, Tally};
use runtime::ports::clock::Clock;
use runtime::ports::executor::Missing;
use runtime::ports::store::StoreFault;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Performs until a signal, or with `--once` until nothing is due.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let executors = executors(args)?;
    let clock = clock(args.clock_ahead.as_deref())?;
    let options = Options {
        worker: format!("{}@{}", std::process::id(), runtime::Minted::id()),
        clock: clock.clone(),
        lease: args.lease.as_deref().map(|text| duration("--lease", text)).transpose()?,
        threads: usize::try_from(args.threads).unwrap_or(1),
        pause: std::time::Duration::from_millis(100),
        once: args.once,
        // Who ends soon tells it all at the end.
        waits: if args.once { Arc::new(|_, _| {}) } else { Arc::new(told_waiting) },
        away: Arc::new(told_away),
        performed: if args.kept.json { Arc::new(told_as_json) } else { Arc::new(told) },
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
    let tally = execute::run(&runtime, &executors, &options, &stop);
    sealer.end();
    let tally = tally.map_err(store::unread)?;
    tell(&tally, args.kept.json)?;
    Ok(exit(&tally))
}

fn told_waiting(name: &str, missing: &Missing) {
    terminal::note(&format!("intent {name} waits: {}", with_remedy(missing)));
}

fn told_away(fault: &StoreFault) {
    terminal::note(&format!("{fault}; it is looked for until it is back"));
}

/// One line for every attempt. Nobody has to read it: a pipe that was closed ends nothing that is under way.
fn told(performed: &AttemptReport) {
    let AttemptReport { intent, effect_key, what, state, detail, took } = performed;
    let state = state.map_or_else(|| paint(ATTENTION, "not recorded"), intents::state);
    let detail = if detail.is_empty() { String::new() } else { format!(", {}", visible(detail)) };
    let (what, effect_key) = (visible(what), visible(effect_key));
    let line = format!("{state}  {effect_key}  {what}{detail}  {}", paint(FAINT, format!("{} ms", took.as_millis())));
    let _ = writeln!(anstream::stdout(), "{line}  {}", paint(FAINT, intent));
}

fn told_as_json(performed: &AttemptReport) {
    let AttemptReport { intent, effect_key, what, state, detail, took } = performed;
    let line = Json::object([
        ("intent", Json::text(intent.as_str())),
        ("effect_key", Json::text(effect_key.as_str())),
        ("performed", Json::text(what.as_str())),
        ("state", Json::from(state.map(|state| state.word().to_owned()))),
        ("detail", Json::text(detail.as_str())),
        ("took_ms", Json::from(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))),
    ]);
    let _ = writeln!(std::io::stdout(), "{}", line.to_canonical());
}

/// Everything that this process may perform.
fn executors(args: &RunArgs) -> anyhow::Result<Executors> {
    let executors = Executors::default().with(ExecutorKind::Http, Arc::new(http(args)?));
    if !args.allow_programs {
        return Ok(executors);
    }
    Ok(executors.with(ExecutorKind::Command, Arc::new(CommandExecutor)))
}

/// Who sends requests, to whom, and whom it believes.
fn http(args: &RunArgs) -> anyhow::Result<HttpExecutor> {
    let ranges = args.ranges.iter().map(|text| {
        let problem = || UsageError(format!("--allow-private `{text}` is no range of addresses, such as 10.0.0.0/8"));
        Range::parse(text).ok_or_else(problem)
    });
    let ranges = ranges.collect::<Result<_, _>>()?;
    args.hosts.iter().try_for_each(|text| host_problem(text))?;
    let http = HttpExecutor::new(args.hosts.clone(), ranges);
    let Some(path) = &args.authorities else { return Ok(http) };
    let problem = || InvalidData(format!("`{}` holds no certificates: PEM, BEGIN CERTIFICATE", path.display()));
    http.trusting(&files::read(path)?).ok_or_else(|| problem().into())
}

/// A host is what stands between `//` and `/`; anything longer would never be the host of an address.
fn host_problem(text: &str) -> Result<(), UsageError> {
    let rest = text.split_once("//").map_or(text, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, _) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let plain = |character: char| character.is_ascii_alphanumeric() || "-._~:[]".contains(character);
    if !host.is_empty() && host == text && host.chars().all(plain) {
        return Ok(());
    }
    let shown = terminal::echo(text);
    let fix = match !host.is_empty() && host.chars().all(plain) {
        true => format!("; type --allow-host {host}"),
        false => ", such as pay.example or pay.example:8443".to_owned(),
    };
    Err(UsageError(format!("--allow-host `{shown}` is no host{fix}")))
}

/// What is missing, and what to type so that it is not.
fn with_remedy(missing: &Missing) -> String {
    match missing {
        Missing::Kind(ExecutorKind::Http) => format!("{missing}; use `writkeeper run`"),
        Missing::Kind(ExecutorKind::Command) => format!("{missing}; add --allow-programs"),
        Missing::Kind(ExecutorKind::Function | ExecutorKind::Host) => missing.to_string(),
        Missing::Function(_) => format!("{missing}; run the program that registers it"),
        Missing::Host(host) => format!("{missing}; add --allow-host {host}"),
        Missing::Address { address, .. } => format!("{missing}; to reach it, add --allow-private {address}"),
        Missing::Other(problem) => problem.clone(),
    }
}

fn tell(tally: &Tally, json: bool) -> anyhow::Result<()> {
    if json {
        let waiting: Object =
            tally.waiting.iter().map(|(name, problem)| (name.clone(), Json::text(with_remedy(problem)))).collect();
        let told = Json::object([
            ("succeeded", Json::from(tally.succeeded)),
            ("failed", Json::from(tally.failed)),
            ("in_doubt", Json::from(tally.doubted)),
            ("cancelled", Json::from(tally.cancelled)),
            ("not_started", Json::from(tally.not_started)),
            ("in_flight", Json::from(tally.in_flight)),
            ("waiting", Json::Object(waiting)),
        ]);
        say!("{}", told.to_canonical());
        return Ok(());
    }
    let cancelled = match tally.cancelled {
        0 => String::new(),
        count => format!(", {} called off", paint(BAD, count)),
    };
    let in_flight = match tally.in_flight {
        0 => String::new(),
        count => format!(", {} in flight elsewhere", paint(ATTENTION, count)),
    };
    say!(
        "{} succeeded, {} failed, {} left in doubt{cancelled}{in_flight}",
        paint(GOOD, tally.succeeded),
        paint(BAD, tally.failed),
        paint(ATTENTION, tally.doubted)
    );
    // Many may wait for the same thing.
    let mut missing: BTreeMap<&Missing, Vec<&str>> = BTreeMap::new();
    for (name, problem) in &tally.waiting {
        missing.entry(problem).or_default().push(name);
    }
    for (problem, names) in missing {
        let problem = with_remedy(problem);
        match names.as_slice() {
            [name] => say!("intent {name} {}: {problem}", paint(ATTENTION, "waits")),
            [first, ..] => say!("{} intents {}, {first} first: {problem}", names.len(), paint(ATTENTION, "wait")),
            [] => {}
        }
    }
    match tally {
        Tally { doubted: 1.., .. } => say!("\nnext: {}", hint::next("writkeeper intents list --state IN_DOUBT")),
        Tally { cancelled: 1.., .. } => say!("\nnext: {}", hint::next("writkeeper intents list --state CANCELLED")),
        Tally { in_flight: 1.., .. } => say!("\nnext: {}", hint::next("writkeeper intents list --state IN_FLIGHT")),
        Tally { .. } => {}
    }
    Ok(())
}

fn exit(tally: &Tally) -> Exit {
    match tally {
        Tally { doubted: 1.., .. } | Tally { in_flight: 1.., .. } => Exit::Escalated,
        Tally { waiting, .. } if !waiting.is_empty() => Exit::Escalated,
        Tally { failed: 1.., .. } | Tally { cancelled: 1.., .. } => Exit::Rejected,
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
