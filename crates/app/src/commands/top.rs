//! `writkeeper top`: agents, flows, verdicts and what waits for people, live; questions are answered in place.

mod keys;
mod picture;
mod plain;
mod screen;

use crate::cli::top::TopArgs;
use crate::commands::{escalations, signature};
use crate::exit::{Exit, UsageError};
use crate::store;
use crate::terminal::echo;
use kernel::command::Door;
use keys::{Answer, Asked, Screen};
use picture::Picture;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use runtime::PersonAnswer;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use writkeeper::Keeper;

/// How long a key may wait for the picture: short enough to feel at once, long enough to leave the machine alone.
const WAIT: Duration = Duration::from_millis(200);

/// How often the store is looked at where nothing is committed: time passes too.
const EVERY: Duration = Duration::from_secs(1);

/// Events that are thrown away before a confirmation; more than anyone types ahead.
const TYPED_AHEAD_MAX: usize = 10_000;

/// Shows the screen on a terminal, one picture everywhere else.
pub fn run(args: &TopArgs) -> anyhow::Result<Exit> {
    if let Some(person) = &args.person
        && let Some(problem) = values::ids::identifier_problem(person)
    {
        return Err(UsageError(format!("--as `{}` is no name: it {problem}", echo(person))).into());
    }
    let keeper = store::read_only(&args.kept.store)?;
    let runtime = keeper.runtime();
    if let (Some(_), Some(person)) = (runtime.caller(), &args.person) {
        store::person(runtime, Some(person))?;
    }
    if args.kept.json {
        plain::json(&keeper, &Picture::take(runtime)?)?;
        return Ok(Exit::Fine);
    }
    if args.once || !is_interactive() {
        plain::print(&Picture::take(runtime)?)?;
        return Ok(Exit::Fine);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let first = Picture::take(runtime)?;
    let mut terminal = ratatui::try_init()?;
    let shown = watch(&mut terminal, &keeper, args, first, &stop);
    // Before anything is said: an error on the other screen would vanish with it.
    ratatui::try_restore()?;
    shown?;
    Ok(Exit::Fine)
}

/// Whether someone sees the screen and can press keys.
fn is_interactive() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    !is_dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn watch(
    terminal: &mut DefaultTerminal,
    keeper: &Keeper,
    args: &TopArgs,
    first: Picture,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let caller = keeper.runtime().caller().map(|caller| caller.name.clone());
    let mut screen = Screen::new(first, caller.or_else(|| args.person.clone()));
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut looked = Instant::now();
    let commits = keeper.runtime().commits().watch();
    let mut seen = commits.size();
    while !stop.load(Ordering::Relaxed) {
        terminal.draw(|frame| screen::draw(frame, &mut screen, colours))?;
        if event::poll(WAIT)? {
            match screen.on(&event::read()?) {
                Asked::Nothing => {}
                Asked::Quit => return Ok(()),
                Asked::Open(name) => match picture::opened(keeper, &name) {
                    Ok(opened) => screen.open(opened),
                    Err(problem) => screen.tell(vec![format!("{problem:#}")]),
                },
                Asked::Confirm => forget_typed_ahead()?,
                Asked::Send(answer) => screen.tell(send(&args.kept.store, answer)),
            }
        }
        if looked.elapsed() >= EVERY || commits.size() > seen || screen.is_stale() {
            seen = commits.size();
            screen.see(Picture::take(keeper.runtime()));
            looked = Instant::now();
        }
    }
    Ok(())
}

/// What was typed or pasted before the question was on the screen answers no question.
fn forget_typed_ahead() -> anyhow::Result<()> {
    for _ in 0..TYPED_AHEAD_MAX {
        if !event::poll(Duration::ZERO)? {
            break;
        }
        event::read()?;
    }
    Ok(())
}

/// Gives the answer as `escalations answer` does; what came of it, in lines.
fn send(location: &str, answer: Answer) -> Vec<String> {
    let given = store::open(location).and_then(|runtime| {
        store::done(runtime.answer(PersonAnswer {
            person: answer.person,
            question: answer.question,
            decision: answer.decision.word().to_owned(),
            digest: answer.digest,
            reason: answer.reason,
            instead: None,
            door: Door::STORED,
            identity: signature::unsigned(),
        }))
    });
    let answered = match given {
        Ok(answered) => answered,
        Err(problem) => return vec![format!("not answered: {problem:#}")],
    };
    let Some((state, agreed)) = answered.event.as_deref().and_then(escalations::outcome) else {
        return vec![format!("not answered: {:#}", store::other_event())];
    };
    let mut lines = vec![format!("the question is {}", state.word())];
    lines.extend(agreed);
    if let Some(intent) = &answered.answer.intent {
        lines.push(format!("may now be performed: intent {}", intent.id()));
    }
    lines
}
