//! `writkeeper agents activate`: what a contract would have done, and then the contract in force.

use super::change::{carry_out_with, liftable};
use crate::cli::kept::ActivateArgs;
use crate::commands::contract::backtest::{Waiting, sum_up, wait};
use crate::commands::people;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, counted, echo, say};
use contract::source::Diagnostic;
use kernel::canary::{Loosened, apart, loosened};
use kernel::contract::ways_out;
use kernel::evaluator::Compiled;
use kernel::finding::visible;
use kernel::person::Person;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::path::Path;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use values::time::Duration;
use writkeeper::backtest::{Candidate, Counts, counts_json, of_store};

/// Decisions that the summary is about.
const RECENT: Duration = Duration::from_secs(30 * 86_400);

/// Puts a contract in force. Keys that do nothing yet, and ways out that it closes, must be accepted knowingly.
pub fn run(location: &str, json: bool, args: &ActivateArgs) -> anyhow::Result<Exit> {
    let problem = |text: &str| UsageError(format!("--over `{text}` is no SHA-256: 64 hexadecimal digits"));
    let over = args.over.as_deref().map(|text| Digest::parse(text).ok_or_else(|| problem(text))).transpose()?;
    let wait = wait(&args.backtest)?;
    let path = &args.contract;
    let file = contract_file::open(path)?;
    demand_enforced(path, &file.loaded.inert, args.allow_inert)?;
    let contract = Arc::new(file.loaded.compiled);
    let runtime = store::open(location)?;
    if !args.allow_locked {
        demand_ways_out(&runtime, &contract)?;
    }
    note_nobody(&runtime, &contract)?;
    let ended = ended(&runtime, &contract)?;
    let summary = backtest(&runtime, &contract, wait)?;
    if let Some(summary) = summary.as_ref().filter(|_| !json) {
        summary.print()?;
    }
    let beside = summary.as_ref().map(|summary| ("backtest", summary.to_json()));
    let standing = carry_out_with(runtime.activate_over(store::operator(), contract, over), json, beside)?;
    ended.iter().for_each(|sentence| terminal::note(sentence));
    let Some(liftable) = liftable(standing.status) else { return Ok(Exit::Fine) };
    // The contract counts from now on, and still the agent cannot do what it says.
    if !json {
        say!("the contract is in force, but activating lifts no restriction");
        say!(
            "next: {}",
            hint::next(&format!("writkeeper agents lift {} {liftable} --because TEXT", echo(&standing.agent)))
        );
    }
    Ok(Exit::Rejected)
}

/// Keys that do nothing yet must be accepted knowingly.
pub fn demand_enforced(path: &Path, inert: &[Diagnostic], is_accepted: bool) -> anyhow::Result<()> {
    if inert.is_empty() || is_accepted {
        return Ok(());
    }
    let problem =
        format!("`{}` has keys that are not enforced yet: {}", path.display(), contract_file::inert_paths(inert));
    Err(InvalidData(format!("{problem}; to put it in force all the same, add --allow-inert")).into())
}

/// Says so where a contract asks people and nobody is known who could answer: they may still come, so it is not refused.
pub fn note_nobody(runtime: &Runtime, contract: &Compiled) -> anyhow::Result<()> {
    if ways_out::asks(&contract.contract) && people::known(runtime)?.is_empty() {
        let next = hint::next("writkeeper people set FILE");
        terminal::note(&format!(
            "this contract asks people, and nobody is known here: nobody can answer until `{next}` says who is in its groups"
        ));
    }
    Ok(())
}

/// What ends with the contract in force, one sentence each: the canary beside it, and monitors as it words them.
fn ended(runtime: &Runtime, contract: &Compiled) -> anyhow::Result<Vec<String>> {
    let mut ended = Vec::new();
    let row = match runtime.read(Entity::Agent(contract.contract.agent.clone())).map_err(store::unread)? {
        Some(Row::Agent(row)) => row,
        Some(_) | None => return Ok(ended),
    };
    if let Some(canary) = &row.canary {
        let what = if canary.contract == contract.digest { "is in force for every flow now" } else { "is taken back" };
        ended.push(format!(
            "this ended the canary: candidate sha256 {}, tried on {} of the flows, {what}",
            canary.contract, canary.share
        ));
    }
    let Some(before) = row.contract.filter(|before| *before != contract.digest) else { return Ok(ended) };
    // A contract that cannot be read must not keep another one from its place.
    let Ok(before) = runtime.contract(before) else { return Ok(ended) };
    let (new, before) = (&contract.contract, &before.contract);
    for (monitor, how) in loosened(new, before) {
        let monitor = visible(&monitor);
        ended.push(match how {
            Loosened::Dropped => format!("this contract has no monitor `{monitor}` any more: nothing is counted by it"),
            Loosened::Weaker(was, is) => {
                format!("an alarm of monitor `{monitor}` does {} now, and not {}", is.word(), was.word())
            }
        });
    }
    for monitor in apart(new, before) {
        ended.push(format!("this contract words monitor `{}` otherwise: it starts anew", visible(&monitor)));
    }
    Ok(ended)
}

/// A contract that locks the agent in is refused before it is in force, with every way that it closes.
pub fn demand_ways_out(runtime: &Runtime, contract: &Compiled) -> anyhow::Result<()> {
    let people: Vec<Person> = people::known(runtime)?.into_values().collect();
    let closed = ways_out::closed(&contract.contract, &people);
    if closed.is_empty() {
        return Ok(());
    }
    let ways = closed.iter().map(|way| format!("{} (`{}`): {}", way.way, visible(&way.path), visible(&way.because)));
    let ways: Vec<String> = ways.collect();
    let problem = format!("this contract closes a way out: {}", ways.join("; "));
    Err(InvalidData(format!("{problem}; to put it in force all the same, add --allow-locked")).into())
}

/// What the contract would have done to recent decisions, as far as that was found out in time.
struct Summary {
    counts: Counts,
    /// The entries that were read, of so many, where time was over.
    cut_off: Option<(u64, u64)>,
    /// The contract in force.
    in_force: Digest,
}

fn backtest(
    runtime: &Runtime,
    contract: &Arc<Compiled>,
    wait: Option<std::time::Duration>,
) -> anyhow::Result<Option<Summary>> {
    let Some(wait) = wait else { return Ok(None) };
    let row = runtime.read(Entity::Agent(contract.contract.agent.clone())).map_err(store::unread)?;
    let in_force = match row {
        Some(Row::Agent(row)) => row.contract,
        Some(_) | None => None,
    };
    let Some(in_force) = in_force.filter(|digest| *digest != contract.digest) else { return Ok(None) };
    let candidate = Candidate { contract: contract.clone(), since: Some(store::now().minus(RECENT)), counted: None };
    let size = runtime.size()?;
    let mut waiting = Waiting::new(size, wait);
    let counts = match of_store(runtime, candidate, &mut waiting) {
        Ok(counts) => counts,
        // Replacing a contract is a way out; a history that cannot be read must not close it.
        Err(error) => {
            waiting.bar.finish_and_clear();
            terminal::note(&format!("what this change would have done is unknown: {error}"));
            return Ok(None);
        }
    };
    waiting.bar.finish_and_clear();
    let cut_off = waiting.cut_off();
    Ok(Some(Summary { counts, cut_off, in_force }))
}

impl Summary {
    fn print(&self) -> anyhow::Result<()> {
        sum_up(&self.counts)?;
        if let Some((read, size)) = self.cut_off {
            let read = format!("{read} of {}", counted(size, "entry"));
            say!(
                "  the time was over after {read}; `writkeeper contract backtest` reads all, --backtest 5m waits longer"
            );
        }
        Ok(())
    }

    fn to_json(&self) -> Json {
        let mut told = counts_json(&self.counts);
        if let Json::Object(members) = &mut told {
            members.insert("instead_of".to_owned(), Json::text(self.in_force.to_string()));
            members.insert("complete".to_owned(), Json::Bool(self.cut_off.is_none()));
        }
        told
    }
}
