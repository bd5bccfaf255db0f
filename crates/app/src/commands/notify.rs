//! `writkeeper notify`: people are told of questions, by signed webhooks.

use crate::cli::notifying::{NotifyArgs, NotifyCommand};
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::store;
use crate::terminal::{self, FAINT, paint, say};
use adapters::addresses::Range;
use adapters::system_clock::SystemClock;
use adapters::webhook_post::WebhookPost;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use values::json::Json;
use values::time::Duration;
use writkeeper::webhooks::{self, Delivery, Endpoint, Folder, Options, Tally, Told};

/// Tells people until a signal, or with `--once` until all have heard; or prints the key.
pub fn run(args: &NotifyArgs) -> anyhow::Result<Exit> {
    match args.command {
        Some(NotifyCommand::Key) => key(args),
        None => tell(args),
    }
}

fn key(args: &NotifyArgs) -> anyhow::Result<Exit> {
    let location = store::location(&args.kept.store);
    writkeeper::demand_store(&location)?;
    let key = webhooks::public_key(&location)?;
    if args.kept.json {
        say!("{}", Json::object([("key", Json::text(key))]).to_canonical());
    } else {
        say!("{key}");
    }
    Ok(Exit::Fine)
}

fn tell(args: &NotifyArgs) -> anyhow::Result<Exit> {
    let missing = || UsageError("who is told? name a file of endpoints with --webhooks FILE".to_owned());
    let endpoints = endpoints(args.webhooks.as_ref().ok_or_else(missing)?)?;
    let options = Options { once: args.once, pause: pause(&args.retry)? };
    let ranges = ranges(&args.ranges)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    if !args.once && !args.kept.json {
        terminal::note("telling people of questions; end with Ctrl-C");
    }
    let heard = if args.kept.json { told_as_json } else { told };
    let tally = deliver(&args.kept.store, &endpoints, (ranges, &options), &heard, &stop)?;
    Ok(exit(&tally, args.once))
}

/// Tells the endpoints of what a store holds until there is nothing left, or it is told to stop.
pub fn deliver(
    named: &str,
    endpoints: &[Endpoint],
    (ranges, options): (Vec<Range>, &Options),
    heard: &(dyn Fn(&Told) + Sync),
    stop: &AtomicBool,
) -> anyhow::Result<Tally> {
    let keeper = store::read_only(named)?;
    let folder = Folder::open(keeper.location())?;
    let (clock, post) = (Arc::new(SystemClock), WebhookPost::new(ranges));
    let delivery = Delivery { runtime: keeper.runtime(), clock, folder: &folder, post, heard };
    Ok(delivery.run(endpoints, options, stop)?)
}

/// Reads a file of endpoints.
pub fn endpoints(path: &Path) -> anyhow::Result<Vec<Endpoint>> {
    let read = webhooks::read(&files::read_text(path)?);
    read.map_err(|error| InvalidData(format!("`{}`: {error}", path.display())).into())
}

fn pause(text: &str) -> anyhow::Result<std::time::Duration> {
    let problem = || UsageError(format!("--retry `{}` is no length of time such as 1s", terminal::echo(text)));
    let pause = Duration::parse(text).filter(|pause| pause.micros() > 0).ok_or_else(problem)?;
    Ok(std::time::Duration::from_micros(pause.micros().unsigned_abs()))
}

pub fn ranges(texts: &[String]) -> Result<Vec<Range>, UsageError> {
    let read = texts.iter().map(|text| {
        let shown = terminal::echo(text);
        let problem = || UsageError(format!("--allow-private `{shown}` is no range of addresses, such as 10.0.0.0/8"));
        Range::parse(text).ok_or_else(problem)
    });
    read.collect()
}

/// One line for every delivery. Nobody has to read it: a pipe that was closed ends nothing.
pub fn told(told: &Told) {
    match told {
        Told::Delivered { host, kind, question, index } => {
            let line = format!("told {host}  {kind}  {question}  {}", paint(FAINT, format!("entry {index}")));
            let _ = writeln!(anstream::stdout(), "{line}");
        }
        Told::NotYet { host, index, problem } => {
            terminal::note(&format!("{host} has not heard of entry {index}: {problem}; it is tried again"));
        }
        Told::LeftOut { host, index, problem } => {
            terminal::note(&format!("{host} refused entry {index} again and again ({problem}); it was left out"));
        }
        Told::Gone { host } => {
            terminal::note(&format!("{host} answers 410 and is told nothing any more; take it out of the file"));
        }
    }
}

fn told_as_json(told: &Told) {
    let line = match told {
        Told::Delivered { host, kind, question, index } => Json::object([
            ("told", Json::text(host.as_str())),
            ("event", Json::text(*kind)),
            ("question", Json::text(question.as_str())),
            ("index", Json::from(*index)),
        ]),
        Told::NotYet { host, index, problem } => trouble("not_yet", host, Some((*index, problem))),
        Told::LeftOut { host, index, problem } => trouble("left_out", host, Some((*index, problem))),
        Told::Gone { host } => trouble("gone", host, None),
    };
    let _ = writeln!(std::io::stdout(), "{}", line.to_canonical());
}

fn trouble(what: &str, host: &str, entry: Option<(u64, &String)>) -> Json {
    Json::object([
        (what, Json::text(host)),
        ("index", entry.map_or(Json::Null, |(index, _)| Json::from(index))),
        ("problem", entry.map_or(Json::Null, |(_, problem)| Json::text(problem.as_str()))),
    ])
}

/// Who is stopped while an endpoint is down has done what was asked.
fn exit(tally: &Tally, once: bool) -> Exit {
    match tally {
        Tally { behind: 1.., .. } if once => Exit::Unavailable,
        Tally { left_out: 1.., .. } => Exit::Rejected,
        Tally { .. } => Exit::Fine,
    }
}
