//! `writkeeper demo`: mistakes that cost money, and what became of them, counted in the log of a separate bank.

mod bank;
mod scenes;

use crate::cli::DemoArgs;
use crate::exit::Exit;
use crate::terminal::{FAINT, STRONG, paint, verdict_style};
use anyhow::anyhow;
use bank::Bank;
use engines::load::load;
use kernel::context::Context;
use kernel::json::Json;
use kernel::outcome::Answer;
use kernel::pure::PureRun;
use scenes::{SCENES, Scene};
use std::sync::Arc;

const CONTRACT: &str = include_str!("demo/refunds.yaml");

/// Plays every scene against a bank in a process of its own.
pub fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let loaded = load(CONTRACT).map_err(|errors| anyhow!("the demo's contract is broken: {errors:?}"))?;
    let contract = Arc::new(loaded.compiled);
    let bank = Bank::open()?;
    if !args.json {
        print_opening();
    }
    let mut run = PureRun::new(contract, Context::default(), None, true);
    for (index, scene) in SCENES.iter().enumerate() {
        play(index, scene, &mut run, &bank, args.json)?;
    }
    if !args.json {
        print_closing();
    }
    Ok(Exit::Fine)
}

fn play(index: usize, scene: &Scene, run: &mut PureRun, bank: &Bank, json: bool) -> anyhow::Result<()> {
    if !json {
        anstream::println!("{}", paint(STRONG, format!("{}. {}", index + 1, scene.title)));
        anstream::println!("   {}", scene.story);
    }
    let mut steps = Vec::new();
    for (number, step) in scene.steps.iter().enumerate() {
        let answer = run.judge((index * 10 + number) as u64, step.proposal.as_bytes()).answer;
        if let Some(intent) = &answer.intent {
            // Only what carries an intent reaches the bank.
            bank.perform(&intent.to_json())?;
        }
        if !json {
            print_step(step.says, &answer);
        }
        steps.push(step_json(step.says, &answer));
    }
    let payments = bank.payments()?;
    if json {
        let scene = Json::object([
            ("scene", Json::text(scene.title)),
            ("steps", Json::List(steps)),
            ("payments_in_bank_log", Json::from(payments.len() as u64)),
        ]);
        anstream::println!("{}", scene.to_canonical());
        return Ok(());
    }
    let said = payments.last().map(|line| format!(", the last one {line}")).unwrap_or_default();
    let plural = if payments.len() == 1 { "payment" } else { "payments" };
    anstream::println!("   {} {} {plural} so far{said}\n", paint(FAINT, "bank log:"), payments.len());
    Ok(())
}

fn print_opening() {
    anstream::println!("A refund agent, a contract of twelve lines, and a bank in a process of its own.\n");
    for line in CONTRACT.lines().skip(1) {
        anstream::println!("   {}", paint(FAINT, line));
    }
    anstream::println!();
}

fn print_step(says: &str, answer: &Answer) {
    let verdict = answer.verdict.word();
    let reasons = answer.reasons().join(", ");
    anstream::println!("   {says}");
    anstream::println!("     {} {}", paint(verdict_style(verdict), verdict), reasons);
    for finding in answer.findings.iter() {
        anstream::println!("     {}", paint(FAINT, finding.message()));
    }
}

fn step_json(says: &str, answer: &Answer) -> Json {
    Json::object([
        ("says", Json::text(says)),
        ("verdict", Json::text(answer.verdict.word())),
        ("reasons", Json::texts(answer.reasons())),
    ])
}

fn print_closing() {
    anstream::println!("Try it with a contract of your own:");
    anstream::println!("  writkeeper contract new --template refunds");
    anstream::println!("  writkeeper contract test refunds.yaml");
    anstream::println!("  writkeeper explain EVIDENCE_UNTRUSTED");
}
