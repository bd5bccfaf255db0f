//! Three samples of drift as pictures: what the agent did, when the monitor tripped, and what it saved. The numbers are those
//! of the scenarios, judged again while the page is written.

mod judged;
mod plot;

use super::Page;
use anyhow::{Result, ensure};
use judged::{Judged, judge};
use plot::draw;
use std::fmt::Write;

/// A scenario, and how it is shown.
struct Sample {
    number: &'static str,
    title: &'static str,
    text: &'static str,
    /// Whose numbers are in the upper half: a param, or the number in this key of state.
    shown: Shown,
    /// What stands beside the upper half, and the bound that the contract itself has for it.
    upper: (&'static str, f64, &'static str),
    /// What stands beside the lower half.
    lower: &'static str,
    /// At which step the reference's own monitor fires.
    reference: &'static str,
    /// What one more decision like the last ten costs, in words around the number.
    cost: fn(&Judged) -> String,
}

/// Where a number comes from.
#[derive(Clone, Copy)]
pub enum Shown {
    Param(&'static str),
    State(&'static str),
}

/// What every scenario repeats; the files are part of the program, so that the page cannot be of other ones.
const SAMPLES: &[Sample] = &[
    Sample {
        number: "36",
        title: "Discounts that creep up",
        text: include_str!("../../../../scenarios/36-discounts.md"),
        shown: Shown::Param("percent"),
        upper: ("discount, %", 15.0, "the contract's cap"),
        lower: "mean of the last 20",
        reference: "66",
        cost: |judged| {
            let above = judged.last_mean(10) - 10.0;
            format!("each further offer like the last ten gives away {above:.1} points more than the house accepts")
        },
    },
    Sample {
        number: "37",
        title: "Refunds that forget the rule",
        text: include_str!("../../../../scenarios/37-refunds.md"),
        shown: Shown::State("tickets/{ticket}/delay_hours"),
        upper: ("delay, hours", 48.0, "the house rule"),
        lower: "share of the last 20 that breaks the rule",
        reference: "23",
        cost: |judged| {
            let broken = judged.accepted().rev().take(3).filter(|step| step.value <= 48.0).count();
            format!("it goes on like the last three refunds: {broken} of them break the rule, at 40 EUR each")
        },
    },
    Sample {
        number: "38",
        title: "Bids in a market that turned",
        text: include_str!("../../../../scenarios/38-bidding.md"),
        shown: Shown::Param("cpc"),
        upper: ("bid, USD", 1.80, "what a click is worth"),
        lower: "negative mean margins in a row",
        reference: "68",
        cost: |judged| {
            let lost = judged.last_mean(5) - 1.80;
            format!("each further click like the last five loses {lost:.2} USD")
        },
    },
];

/// The pictures and the page around them.
pub fn pages() -> Result<Vec<Page>> {
    let mut page = String::from(
        "# Three drifts\n\nThree samples of the Python reference implementation, judged by the contracts of the \
         [scenarios](../../scenarios/README.md). In each of them every single\ndecision is inside its contract. Filled dots \
         were accepted, hollow ones refused; the line is what the monitor measures, the dashed\nline its bound. What is \
         accepted at the step of the alarm is the last: the agent's next decision is refused, also in the same batch.\n\n\
         This page is written by `cargo xtask docs` from the scenarios themselves.\n",
    );
    let mut table =
        String::from("\n| sample | alarm of the reference | ours | on the healthy half |\n|---|---|---|---|\n");
    let mut pages = Vec::new();
    for sample in SAMPLES {
        let judged = judge(sample.text, sample.shown)?;
        ensure!(judged.tripped > judged.healthy, "sample {} trips on its healthy half", sample.number);
        let file = format!("drift-{}.svg", sample.number);
        let refused = judged.steps.iter().filter(|step| !step.accepted).count();
        let cost = (sample.cost)(&judged);
        write!(
            page,
            "\n## {} · {}\n\n![{}: {} decisions, the alarm at step {}]({file})\n\nThe alarm came at step {} of {}: {}. The {refused} \
             decisions after it were refused. Without the monitor\n{cost}.\n",
            sample.number,
            sample.title,
            sample.title,
            judged.steps.len(),
            judged.tripped,
            judged.tripped,
            judged.steps.len(),
            judged.sentence,
        )?;
        writeln!(table, "| {} | step {} | step {} | none |", sample.number, sample.reference, judged.tripped)?;
        let (upper, lower) = (sample.upper, sample.lower);
        pages.push(Page { file, text: draw(sample.title, &judged, upper, lower)? });
    }
    write!(page, "\n## Beside the reference\n{table}")?;
    pages.push(Page { file: "drift.md".to_owned(), text: page });
    Ok(pages)
}
