//! `writkeeper contract canary`: a candidate that a share of an agent's flows is under, for real.

use crate::cli::{CanaryArgs, CanaryCommand};
use crate::commands::agents::activate::{demand_enforced, demand_ways_out, note_nobody};
use crate::contract_file;
use crate::exit::{Exit, Failure, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, FAINT, GOOD, STRONG, counted, echo, paint, say};
use kernel::canary::{Canary, Loosened, Share, apart, loosened};
use kernel::contract::attenuate::attenuate;
use kernel::evaluator::Compiled;
use kernel::finding::visible;
use kernel::reasons::Reason;
use runtime::Runtime;
use std::path::Path;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use writkeeper::canary::{self, Comparison, Side};

/// Reasons shown of each contract.
const REASONS_MAX: usize = 5;

/// Starts, shows, promotes, rolls back and lists.
pub fn run(args: &CanaryArgs) -> anyhow::Result<Exit> {
    let (runtime, json) = (store::open(&args.kept.store)?, args.kept.json);
    match &args.command {
        None => list(&runtime, json)?,
        Some(CanaryCommand::Start { candidate, share, because, allow_inert, allow_locked }) => {
            start(&runtime, candidate, (share, because), (*allow_inert, *allow_locked))?;
        }
        Some(CanaryCommand::Show { agent }) => {
            let (_, canary) = running(&runtime, agent)?;
            let compared = canary::compare(&runtime, agent, canary)?;
            if json {
                say!("{}", compared.to_json().to_canonical());
            } else {
                print(agent, &compared)?;
            }
        }
        Some(CanaryCommand::Promote { agent, because, contract, allow_locked }) => {
            let problem = |text: &str| UsageError(format!("--contract `{}` is no SHA-256", echo(text)));
            let contract =
                contract.as_deref().map(|text| Digest::parse(text).ok_or_else(|| problem(text))).transpose()?;
            promote(&runtime, agent, contract, because, *allow_locked)?;
        }
        Some(CanaryCommand::Rollback { agent, because }) => {
            canary::roll_back(&runtime, &store::operator(), agent, because)?;
            let agent = visible(agent);
            say!("{}: every flow of {agent} is under the contract in force again", paint(GOOD, "rolled back"));
        }
    }
    Ok(Exit::Fine)
}

fn promote(
    runtime: &Runtime,
    agent: &str,
    looked_at: Option<Digest>,
    because: &str,
    allow_locked: bool,
) -> anyhow::Result<()> {
    let (_, canary) = running(runtime, agent)?;
    let contract = looked_at.unwrap_or(canary.contract);
    if contract == canary.contract {
        // People may have left since it started.
        let candidate = runtime.contract(contract).map_err(store::unread)?;
        if !allow_locked {
            demand_ways_out(runtime, &candidate)?;
        }
        note_nobody(runtime, &candidate)?;
    }
    let promoted = canary::promote(runtime, &store::operator(), agent, contract, because);
    promoted.map_err(|error| other_candidate(error.into(), runtime, agent, contract))?;
    let agent = visible(agent);
    say!("{}: contract sha256 {contract} is in force for every flow of {agent}", paint(GOOD, "promoted"));
    Ok(())
}

/// The digest is not that of the candidate: the kernel compares the two, and an operator wants to know which is which.
fn other_candidate(error: anyhow::Error, runtime: &Runtime, agent: &str, expected: Digest) -> anyhow::Error {
    let failure = Failure::of_error(&error);
    if failure.code != Reason::StateConflict.code() {
        return error;
    }
    let Ok((_, canary)) = running(runtime, agent) else { return error };
    let message = format!(
        "the candidate that is tried for `{}` now is {}, and --contract expected {expected}; nothing was promoted",
        visible(agent),
        canary.contract
    );
    let show = hint::next(&format!("writkeeper contract canary show {}", echo(agent)));
    Failure { message, fix: format!("look at the one that is tried with `{show}`, and promote that"), ..failure }.into()
}

fn start(
    runtime: &Runtime,
    path: &Path,
    (share, because): (&str, &str),
    (allow_inert, allow_locked): (bool, bool),
) -> anyhow::Result<()> {
    let problem = || UsageError(format!("--share `{}` is no share from 0.01% to 100%, such as 5%", echo(share)));
    let share = Share::parse(share).ok_or_else(problem)?;
    let file = contract_file::open(path)?;
    demand_enforced(path, &file.loaded.inert, allow_inert)?;
    let contract = Arc::new(file.loaded.compiled);
    let agent = contract.contract.agent.clone();
    if !allow_locked {
        demand_ways_out(runtime, &contract)?;
    }
    note_nobody(runtime, &contract)?;
    note_bounds(runtime, &contract, share)?;
    let digest = contract.digest;
    let before = canary::running(runtime)?.into_iter().find(|(name, _)| *name == agent).map(|(_, canary)| canary);
    canary::start(runtime, &store::operator(), contract, share, because)?;
    if let Some(before) = before.filter(|before| before.contract != digest) {
        terminal::note(&format!(
            "it replaces candidate sha256 {}, which {} of the flows were under",
            before.contract, before.share
        ));
    }
    let (agent, next) = (visible(&agent), hint::next(&format!("writkeeper contract canary show {}", echo(&agent))));
    say!("{}: {share} of the flows of {agent} are under the candidate; next: {next}", paint(GOOD, "started"));
    Ok(())
}

/// What a share does not bound, in words, before the canary starts.
fn note_bounds(runtime: &Runtime, candidate: &Compiled, share: Share) -> anyhow::Result<()> {
    let Ok((_, row)) = store::agent_named(runtime, &candidate.contract.agent) else { return Ok(()) };
    let Some(in_force) = row.contract else { return Ok(()) };
    let in_force = runtime.contract(in_force).map_err(store::unread)?;
    if let Err(wider) = attenuate(&candidate.contract, &in_force.contract) {
        terminal::note(&format!(
            "{share} bounds flows, not what is done in them: an agent that finds a flow under the candidate can stay in it, \
             so everything that the candidate permits may happen, up to its budgets; it permits more than the contract in \
             force at `{}`",
            visible(&wider.path)
        ));
    }
    for (monitor, how) in loosened(&candidate.contract, &in_force.contract) {
        let monitor = visible(&monitor);
        let how = match how {
            Loosened::Dropped => format!("drops monitor `{monitor}`: flows under the candidate are not counted by it"),
            Loosened::Weaker(was, is) => format!(
                "weakens monitor `{monitor}` from {} to {} for flows under the candidate",
                was.word(),
                is.word()
            ),
        };
        terminal::note(&format!("the candidate {how}, and an agent that finds such a flow can stay in it"));
    }
    for monitor in apart(&candidate.contract, &in_force.contract) {
        terminal::note(&format!(
            "the candidate words monitor `{}` otherwise: each of the two wordings counts its own flows alone, and after \
             promotion it starts anew",
            visible(&monitor)
        ));
    }
    Ok(())
}

fn running(runtime: &Runtime, agent: &str) -> anyhow::Result<(String, Canary)> {
    let none = || UsageError(format!("no candidate is tried beside the contract of `{}`", echo(agent)));
    let found = canary::running(runtime)?.into_iter().find(|(name, _)| name == agent);
    Ok(found.ok_or_else(none)?)
}

fn list(runtime: &Runtime, json: bool) -> anyhow::Result<()> {
    let running = canary::running(runtime)?;
    if running.is_empty() && !json {
        let next = hint::next("writkeeper contract canary start CANDIDATE --share 5% --because TEXT");
        say!("no candidate is tried; next: {next}");
    }
    for (agent, canary) in running {
        if json {
            let (agent, share) = (Json::text(agent), Json::text(canary.share.to_string()));
            let (since, because) = (Json::text(canary.since.to_string()), Json::text(canary.because));
            let members = [("agent", agent), ("share", share), ("since", since), ("because", because)];
            say!("{}", Json::object(members).to_canonical());
        } else {
            let (agent, since) = (paint(STRONG, visible(&agent)), terminal::at(canary.since));
            say!("{agent}  {} since {since}: {}", canary.share, visible(&canary.because));
        }
    }
    Ok(())
}

fn print(agent: &str, compared: &Comparison) -> anyhow::Result<()> {
    let (canary, agent) = (&compared.canary, visible(agent));
    let (since, by, because) = (terminal::at(canary.since), visible(&canary.by), visible(&canary.because));
    say!("{}  {} of the flows since {since} by {by}: {because}", paint(STRONG, &agent), canary.share);
    print_side("in force", &compared.in_force)?;
    print_side("candidate", &compared.candidate)?;
    let (agent, candidate) = (echo(&agent), canary.contract);
    let promote = format!("writkeeper contract canary promote {agent} --contract {candidate} --because TEXT");
    say!("next: {}", hint::next(&promote));
    say!("  or: {}", hint::next(&format!("writkeeper contract canary rollback {agent} --because TEXT")));
    Ok(())
}

fn print_side(name: &str, side: &Side) -> anyhow::Result<()> {
    let verdicts = side.verdicts;
    let decisions = counted(side.decisions(), "decision");
    let (accepted, rejected, escalated) = (verdicts.accepted, verdicts.rejected, verdicts.escalated);
    say!("  {name:<9}  {decisions}: {accepted} accepted, {rejected} rejected, {escalated} escalated");
    if let Some(contract) = side.contract {
        say!("             {}", paint(FAINT, format!("sha256 {contract}")));
    }
    if let Some(part) = side.accepted() {
        let percent = |value: u64| format!("{}.{:02}", value / 100, value % 100);
        let (value, low, high) = (percent(part.value), percent(part.low), percent(part.high));
        say!("             {}", paint(FAINT, format!("accepted {value} % (95 %: {low} to {high})")));
    }
    let mut reasons: Vec<_> = side.reasons.iter().collect();
    reasons.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
    for (code, count) in reasons.into_iter().take(REASONS_MAX) {
        say!("             {count:>6}  {code}");
    }
    Ok(())
}
