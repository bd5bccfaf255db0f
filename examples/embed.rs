//! Writkeeper inside of a program: decide, ask, perform and verify. `cargo run -p writkeeper --example embed`

use std::sync::Arc;
use writkeeper::signing::SigningSite;
use writkeeper::{Actor, Executors, ExportPath, Function, HumanDecision, Keeper, Observation, Verification};

const CONTRACT: &str = "
agent: refund-bot
actions:
  refund:
    once: 'refund:{order}'
    params: { order: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 100
    run: { function: pay }
approvers: [desk]
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("writkeeper-embed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let store = format!("sqlite:{}", folder.join("kept.db").display());
    let operator = Actor::Operator("ann".to_owned());

    let keeper = writkeeper::open(&store)?;
    keeper.enrol(&operator, &Keeper::contract(CONTRACT)?)?;
    keeper.set_groups(&operator, "bob", &["desk"])?;
    for (order, amount) in [("A-1", 12), ("A-1", 12), ("A-2", 60), ("A-3", 5000)] {
        let proposal =
            format!(r#"{{"agent":"refund-bot","action":"refund","params":{{"order":"{order}","amount":{amount}}}}}"#);
        let answer = keeper.decide(proposal.as_bytes())?.answer;
        println!("{order} {amount:>5} EUR  {} {}", answer.verdict.word(), answer.reasons().join(" "));
    }
    for question in keeper.inbox()?.questions {
        keeper.respond(&question, "bob", HumanDecision::Override, "the customer sent pictures")?;
    }
    let pay = Function(|attempt: &writkeeper::Attempt| Observation::positive(format!("paid {}", attempt.key)));
    let executors = Executors::default().with_function("pay", Arc::new(pay));
    let done = keeper.perform(&executors, Arc::new(writkeeper::SystemClock))?;
    println!("{} performed, {} in doubt", done.succeeded, done.doubted);
    drop(keeper);

    let export = folder.join("ledger.export");
    SigningSite::beside(&store, operator).export(&ExportPath::File(export.clone()))?;
    match writkeeper::verify(&export)? {
        Verification::Whole { completeness, .. } => {
            println!("{} records decided again: the same bytes", completeness.replayed.same)
        }
        Verification::Damaged(damage) => println!("damaged: {damage}"),
    }
    Ok(std::fs::remove_dir_all(&folder)?)
}
