//! `writkeeper demo`: mistakes that cost money, and what became of them, counted in the log of a separate bank.

mod bank;
mod cast;
mod desk;
mod history;
mod lost;
mod scenes;

use crate::cli::DemoArgs;
use crate::exit::{Exit, UsageError};
use crate::terminal::echo;
use crate::terminal::say;
use crate::terminal::{FAINT, STRONG, paint, verdict_style};
use bank::Bank;
use desk::Desk;
use kernel::outcome::Answer;
use scenes::{SCENES, Scene};
use values::json::Json;

const CONTRACT: &str = include_str!("demo/refunds.yaml");

/// Plays every scene on a store that is thrown away, against a bank in a process of its own.
pub fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let bank = Bank::open()?;
    let mut desk = Desk::open(CONTRACT, bank.folder(), named(args)?)?;
    if !args.json {
        print_opening()?;
    }
    for (index, scene) in SCENES.iter().enumerate() {
        play(index, scene, &desk, &bank, args.json)?;
    }
    lost::play(SCENES.len() + 1, &mut desk, &bank, args.json)?;
    history::play(SCENES.len() + 2, &desk, &bank, args.json)?;
    desk.close()?;
    if !args.json {
        print_closing()?;
    }
    Ok(Exit::Fine)
}

/// Where it is played, if somebody says so.
fn named(args: &DemoArgs) -> anyhow::Result<Option<&str>> {
    match args.server.as_deref() {
        Some(server) if !writkeeper::is_server(server) => {
            let problem = "is no address of a server; give https://HOST, http://127.0.0.1:PORT or unix:PATH";
            Err(UsageError(format!("--server `{}` {problem}", echo(server))).into())
        }
        server => Ok(server.or(args.store.as_deref())),
    }
}

fn play(index: usize, scene: &Scene, desk: &Desk, bank: &Bank, json: bool) -> anyhow::Result<()> {
    if !json {
        say!("{}", paint(STRONG, format!("{}. {}", index + 1, scene.title)));
        say!("   {}", scene.story);
    }
    let mut steps = Vec::new();
    let mut answers: Vec<Answer> = Vec::new();
    for step in scene.steps {
        let answer = desk.carry_out(&step.does, &answers)?;
        if let Some(intent) = &answer.intent {
            // Only what carries an intent reaches the bank.
            desk.perform(&intent.to_json(), bank)?;
        }
        if !json {
            print_step(step.says, &answer)?;
        }
        steps.push(step_json(step.says, &answer));
        answers.push(answer);
    }
    let payments = bank.payments()?;
    if json {
        let scene = Json::object([
            ("scene", Json::text(scene.title)),
            ("steps", Json::List(steps)),
            ("payments_in_bank_log", Json::from(payments.len() as u64)),
        ]);
        say!("{}", scene.to_canonical());
        return Ok(());
    }
    let said = payments.last().map(|line| format!(", the last one {line}")).unwrap_or_default();
    let plural = if payments.len() == 1 { "payment" } else { "payments" };
    say!("   {} {} {plural} so far{said}\n", paint(FAINT, "bank log:"), payments.len());
    Ok(())
}

fn print_opening() -> anyhow::Result<()> {
    say!("A refund agent, a contract of twelve lines, and a bank in a process of its own.\n");
    for line in CONTRACT.lines().skip(1) {
        say!("   {}", paint(FAINT, line));
    }
    say!();
    Ok(())
}

fn print_step(says: &str, answer: &Answer) -> anyhow::Result<()> {
    let verdict = answer.verdict.word();
    let reasons = answer.reasons().join(", ");
    say!("   {says}");
    say!("     {} {}", paint(verdict_style(verdict), verdict), reasons);
    for finding in answer.findings.iter() {
        say!("     {}", paint(FAINT, finding.message()));
    }
    Ok(())
}

fn step_json(says: &str, answer: &Answer) -> Json {
    Json::object([
        ("says", Json::text(says)),
        ("verdict", Json::text(answer.verdict.word())),
        ("reasons", Json::texts(answer.reasons())),
    ])
}

fn print_closing() -> anyhow::Result<()> {
    say!("Try it with a contract of your own:");
    say!("  writkeeper contract new --template refunds");
    say!("  writkeeper contract test refunds.yaml");
    say!("  writkeeper explain EVIDENCE_UNTRUSTED");
    Ok(())
}
