//! What an evaluation found, for people and programs.

use crate::exit::{Exit, UsageError};
use crate::terminal::{ATTENTION, FAINT, STRONG, counted, paint, say};
use values::json::Json;
use writkeeper::evaluation::cost::Prices;
use writkeeper::evaluation::interval::Estimate;
use writkeeper::evaluation::label::Label;
use writkeeper::evaluation::{Confusion, Evaluation, Mistake};

/// Prints an evaluation.
pub fn print(title: &str, evaluation: &Evaluation, prices: &Prices, json: bool) -> anyhow::Result<Exit> {
    demand_total(evaluation, prices)?;
    if json {
        let mut told = evaluation.to_json(prices);
        if let Json::Object(members) = &mut told {
            members.insert("subject".to_owned(), Json::text(title));
        }
        say!("{}", told.to_canonical());
        return Ok(Exit::Fine);
    }
    let cases = counted(evaluation.confusion.cases(), "case");
    say!("{} on {cases}", paint(STRONG, kernel::finding::visible(title)));
    body(evaluation, prices)?;
    Ok(Exit::Fine)
}

/// A total that was asked for and cannot be told is an error, not a line that is missing.
pub fn demand_total(evaluation: &Evaluation, prices: &Prices) -> anyhow::Result<()> {
    prices.overflow(evaluation).map_or(Ok(()), |why| Err(UsageError(format!("--cost: {why}")).into()))
}

/// Everything below the title.
pub fn body(evaluation: &Evaluation, prices: &Prices) -> anyhow::Result<()> {
    table(&evaluation.confusion)?;
    for (name, share) in evaluation.confusion.shares() {
        let told = share.map_or_else(|| "no case to tell by".to_owned(), Estimate::to_text);
        say!("  {:<17} {told}", name.replace('_', " "));
    }
    if evaluation.unanswered > 0 {
        say!("  {} {}", paint(ATTENTION, "without an answer"), evaluation.unanswered);
    }
    if let Some(total) = prices.total(evaluation) {
        say!("  {:<17} {total} ({})", "cost", counted(evaluation.calls, "call"));
    }
    if let Some(latency) = evaluation.latency.to_text() {
        say!("  {:<17} {latency}", "latency");
    }
    for (label, title) in [(Label::Bad, "missed"), (Label::Good, "false alarms")] {
        let places = evaluation.mistakes.iter().filter(|mistake| mistake.label == label);
        let places: Vec<String> = places.map(|Mistake { place, .. }| place.to_string()).collect();
        if !places.is_empty() {
            say!("  {}", paint(FAINT, format!("{title} at {}", places.join(", "))));
        }
    }
    Ok(())
}

fn table(confusion: &Confusion) -> anyhow::Result<()> {
    let Confusion { hits, misses, false_alarms, passes } = confusion;
    say!("  {:<8} {:>9} {:>9}", "", "flagged", "passed");
    say!("  {:<8} {hits:>9} {misses:>9}", Label::Bad.word());
    say!("  {:<8} {false_alarms:>9} {passes:>9}", Label::Good.word());
    Ok(())
}
