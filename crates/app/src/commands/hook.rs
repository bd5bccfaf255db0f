//! `writkeeper hook`: one call of a host, judged; whatever goes wrong, the host hears an answer it understands.

use crate::cli::command_line::PROGRAM;
use crate::cli::guard::HookArgs;
use crate::exit::Exit;
use guard::daemon::client::{self, DaemonAnswer};
use guard::daemon::start;
use guard::hooks::{self, Event, HookOutput, Reply};
use guard::place::Guard;
use guard::question::{INPUT_BYTES_MAX, Progress, Question, lock};
use guard::ticket::Ticket;
use guard::{contract_cache, judge};
use kernel::evaluator::Compiled;
use runtime::Runtime;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a host may take to say what it wants; its command line gives up a little later.
const PATIENCE: Duration = Duration::from_secs(8);

/// A shorter wait is not worth a word.
const NOTICED: Duration = Duration::from_millis(500);

/// What hosts type, read without the parser that knows every command; anything else is for that parser.
pub fn typed(words: &[OsString]) -> Option<HookArgs> {
    let (verb, rest) = words.split_first()?;
    if verb != "hook" {
        return None;
    }
    let (mut event, mut host, mut guard, mut framed, mut observe) = (None, None, None, false, false);
    let mut rest = rest.iter().map(OsString::as_os_str);
    while let Some(word) = rest.next() {
        if word == "--framed" && !framed {
            framed = true;
        } else if word == "--observe" && !observe {
            observe = true;
        } else if word == "--host" && host.is_none() {
            host = Some(hooks::host(value(rest.next()?)?)?);
        } else if word == "--guard" && guard.is_none() {
            guard = Some(PathBuf::from(rest.next()?)).filter(|folder| !folder.as_os_str().is_empty());
            guard.as_ref()?;
        } else if event.is_none() {
            event = Some(Event::from_word(value(word)?)?);
        } else {
            return None;
        }
    }
    Some(HookArgs { event: event?, host: host?, guard, framed, observe, call: None })
}

fn value(word: &OsStr) -> Option<&str> {
    word.to_str().filter(|word| !word.starts_with('-'))
}

/// Judges one call.
pub fn run(args: &HookArgs) -> anyhow::Result<Exit> {
    let mut ticket = Ticket::new(args.call.as_deref());
    let known = Mutex::new(Progress::default());
    let sent = match read(Instant::now() + PATIENCE) {
        Ok(sent) => sent,
        Err(problem) => {
            let question = question(args, &[], &ticket);
            complain(args, &problem);
            return print(&unjudged(args, &question, &lock(&known), &problem));
        }
    };
    // All that is waited for together has one end.
    let until = Instant::now() + judge::CALL_WAIT;
    let (mut unserved, mut waited) = (None, None);
    // A check before stopping takes as long as it takes, and runs in the surroundings of the hook.
    if args.event != Event::Stop
        && let Some(guard) = question(args, &sent, &ticket).guard()
    {
        match client::ask(&guard, &question(args, &sent, &ticket)) {
            DaemonAnswer::Answer(printed) => return print(&printed),
            DaemonAnswer::Absent => unserved = Some(guard),
            DaemonAnswer::LeftAlone => {}
            DaemonAnswer::Lost(_) => ticket.is_repeated = true,
            DaemonAnswer::Late(why) => {
                ticket.is_repeated = true;
                complain(args, &why);
                waited = Some(why);
            }
        }
    }
    let said = directly(args, &sent, &ticket, &known, &Waiting { until, waited });
    if let Some(guard) = unserved {
        start::on_demand(&guard, &PROGRAM);
    }
    said
}

/// Until when a call may wait, and what it waited for already.
struct Waiting {
    until: Instant,
    waited: Option<String>,
}

fn question<'a>(args: &'a HookArgs, sent: &'a [u8], ticket: &'a Ticket) -> Question<'a> {
    Question {
        host: args.host,
        event: args.event,
        framed: args.framed,
        guard: args.guard.as_deref(),
        sent,
        ticket,
        program: &PROGRAM,
    }
}

/// Judges without a daemon, and without a second thread: two take longer to end than one takes to do the work of both.
/// Whatever is waited for has an end of its own; where a disk does not come back, the command line of the host gives up.
fn directly(
    args: &HookArgs,
    sent: &[u8],
    ticket: &Ticket,
    known: &Mutex<Progress>,
    waiting: &Waiting,
) -> anyhow::Result<Exit> {
    let (question, began) = (question(args, sent, ticket), Instant::now());
    let opened: RefCell<Option<Arc<Runtime>>> = RefCell::default();
    let outdated: RefCell<Option<(Guard, Arc<Compiled>)>> = RefCell::default();
    let open = |guard: &Guard| {
        let cached = contract_cache::read(guard, args.host);
        let runtime = judge::start(guard, judge::open(guard, waiting.until)?, args.host, cached.clone())?;
        *opened.borrow_mut() = Some(runtime.clone());
        let line = runtime.line(args.host.word).map_err(|fault| fault.to_string())?;
        let is_own = line.contract.contract.agent == args.host.word;
        if is_own && cached.is_none_or(|cached| cached.digest != line.contract.digest) {
            *outdated.borrow_mut() = Some((guard.clone(), line.contract));
        }
        Ok(runtime)
    };
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| question.judge(known, &open)));
    let outcome = judged.unwrap_or_else(|_| Err("internal fault".to_owned()));
    // Closing the store would take its log into the file, which costs more than the decision did.
    std::mem::forget(opened);
    let known = lock(known);
    let printed = match outcome {
        Ok(reply) => question.printed(&known.moment, &reply),
        Err(problem) => {
            // Whoever waited is told what for.
            let waited = Some(began.elapsed()).filter(|waited| *waited > NOTICED);
            let waited =
                waited.map(|waited| format!(" (after {:.1} s of waiting for the store)", waited.as_secs_f32()));
            let before = waiting.waited.as_ref().map(|before| format!("{before}; "));
            let problem = format!("{}{problem}{}", before.unwrap_or_default(), waited.unwrap_or_default());
            complain(args, &problem);
            unjudged(args, &question, &known, &problem)
        }
    };
    let exit = print(&printed);
    if let Some((guard, contract)) = outdated.take() {
        contract_cache::keep(&guard, args.host, &contract);
    }
    exit
}

/// What the host reads if nothing can be judged. Where the host is only observed, nothing is stopped; older versions
/// said so in the command line.
fn unjudged(args: &HookArgs, question: &Question<'_>, known: &Progress, problem: &str) -> HookOutput {
    if args.observe || question.guard().is_some_and(|guard| guard.observed(args.host).exists()) {
        question.printed(&known.moment, &Reply::Pass)
    } else {
        question.unjudged(known, problem)
    }
}

fn complain(args: &HookArgs, problem: &str) {
    crate::terminal::note(&format!("{} {}: {problem}", args.host.word, args.event.word()));
}

fn read(until: Instant) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| format!("cannot read what the host sent: {error}");
    let input = io::stdin();
    let mut input = input.lock();
    let mut bytes = Vec::new();
    let mut part = [0; 16 * 1024];
    loop {
        wait_for(&input, until).map_err(unreadable)?;
        match input.read(&mut part) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(part.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
        if bytes.len() > INPUT_BYTES_MAX {
            return Err(format!("the host sent more than {} MiB", INPUT_BYTES_MAX / 1024 / 1024));
        }
    }
}

/// Waits until there is something to read, or nothing more to come.
fn wait_for(input: &impl AsFd, until: Instant) -> io::Result<()> {
    let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&left)) {
        Ok(0) => Err(io::Error::from(io::ErrorKind::TimedOut)),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn print(printed: &HookOutput) -> anyhow::Result<Exit> {
    crate::terminal::write_data(&printed.stdout)?;
    if !printed.stderr.is_empty() {
        crate::terminal::note(&printed.stderr);
    }
    Ok(if printed.code == 2 { Exit::Escalated } else { Exit::Fine })
}
