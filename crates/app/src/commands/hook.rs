//! `writkeeper hook`: one call of a host, judged; whatever goes wrong, the host hears an answer it understands.

use crate::cli::guard::HookArgs;
use crate::exit::Exit;
use crate::guard::facts::{self, Facts};
use crate::guard::judge::{Desk, unjudged};
use crate::guard::place::Guard;
use crate::guard::wrapper::FRAME;
use crate::hooks::{self, Call, Event, Host, Reply};
use kernel::json::{Bounds, Json};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a host may send.
const INPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// After this nobody is waited for any more; the command line of the host gives up a little later.
const PATIENCE: Duration = Duration::from_secs(8);

/// What is known so far, so that a late answer is not a worse one than needed.
#[derive(Default)]
struct Known {
    moment: String,
    facts: Option<Arc<Facts>>,
    answered: bool,
}

/// Judges one call.
pub fn run(args: &HookArgs) -> anyhow::Result<Exit> {
    let known = Arc::new(Mutex::new(Known::default()));
    if args.event != Event::Stop {
        watch(args.host, args.event, args.framed, known.clone());
    }
    let shared = known.clone();
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(args, &shared)));
    let outcome = judged.unwrap_or_else(|_| Err("internal fault".to_owned()));
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let reply = match outcome {
        Ok(reply) => reply,
        Err(problem) => {
            crate::terminal::note(&format!("{} {}: {problem}", args.host.word(), args.event.word()));
            unjudged(args.event, known.facts.as_deref(), &problem)
        }
    };
    if known.answered {
        return Ok(Exit::Fine);
    }
    known.answered = true;
    print(args.host, args.event, &known.moment, &reply, args.framed)
}

fn judge(args: &HookArgs, known: &Mutex<Known>) -> Result<Reply, String> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock().take(INPUT_BYTES_MAX + 1);
    input.read_to_end(&mut bytes).map_err(|error| format!("cannot read what the host sent: {error}"))?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(format!("the host sent more than {} MiB", INPUT_BYTES_MAX / 1024 / 1024));
    }
    let sent = Json::parse_within(&bytes, &Bounds::FILE).map_err(|refusal| format!("what the host sent: {refusal}"))?;
    if let Some(moment) = sent.get("hook_event_name").and_then(Json::as_text) {
        moment.clone_into(&mut lock(known).moment);
    }
    let call: Call =
        hooks::read(args.host, args.event, &sent).map_err(|problem| format!("what the host sent: {problem}"))?;
    if !Path::new(&call.cwd).is_absolute() {
        return Err(format!("the host says the agent works in `{}`, which is no absolute path", call.cwd));
    }
    let guard = match &args.guard {
        Some(folder) => Some(Guard::at(folder)),
        None => Guard::find(Path::new(&call.cwd)),
    };
    let facts = Arc::new(facts::of(&call, guard.as_ref()));
    lock(known).facts = Some(facts.clone());
    let Some(guard) = guard else {
        return Err(format!("there is no guard for `{}`; run `writkeeper init --host {}`", call.cwd, args.host.word()));
    };
    let desk = Desk::open(args.host, &guard)?;
    desk.judge(args.event, &call, &facts)
}

fn lock(known: &Mutex<Known>) -> std::sync::MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers in time, whatever the rest waits for: a lock somebody else holds, a disk that does not come back.
fn watch(host: Host, event: Event, framed: bool, known: Arc<Mutex<Known>>) {
    let watching = move || {
        std::thread::sleep(PATIENCE);
        let mut known = lock(&known);
        if known.answered {
            return;
        }
        known.answered = true;
        let reply = unjudged(event, known.facts.as_deref(), "the store did not answer in time");
        let _ = print(host, event, &known.moment, &reply, framed);
        std::process::exit(0);
    };
    // Without the watch the command line of the host still gives up in time.
    let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(watching);
}

fn print(host: Host, event: Event, moment: &str, reply: &Reply, framed: bool) -> anyhow::Result<Exit> {
    let printed = hooks::write(host, event, moment, reply);
    let frame = if framed { FRAME } else { "" };
    crate::terminal::write_data(&format!("{frame}{}\n", printed.stdout))?;
    if !printed.stderr.is_empty() {
        crate::terminal::note(&printed.stderr);
    }
    Ok(if printed.code == 2 { Exit::Escalated } else { Exit::Fine })
}
