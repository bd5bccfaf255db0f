//! `writkeeper contract shadow`: a candidate judged beside the contract in force, without effect.

use crate::cli::{ShadowArgs, ShadowCommand};
use crate::contract_file;
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, GOOD, STRONG, counted, paint, say, verdict_style};
use kernel::finding::visible;
use values::json::Json;
use writkeeper::backtest::{Flip, Listener, against, counts_json, flip_json};
use writkeeper::shadow;

/// Starts, stops, lists and shows.
pub fn run(args: &ShadowArgs) -> anyhow::Result<Exit> {
    let (runtime, json) = (store::open(&args.kept.store)?, args.kept.json);
    match &args.command {
        None => {
            let running = shadow::running(&runtime)?;
            if running.is_empty() && !json {
                let next = hint::next("writkeeper contract shadow start CANDIDATE --because TEXT");
                say!("no candidate is judged beside a contract; next: {next}");
            }
            for (agent, shadow) in running {
                let (since, because) = (terminal::at(shadow.since), visible(&shadow.because));
                if json {
                    let (agent, since) = (Json::text(agent), Json::text(shadow.since.to_string()));
                    let because = Json::text(shadow.because.as_str());
                    say!("{}", Json::object([("agent", agent), ("since", since), ("because", because)]).to_canonical());
                } else {
                    say!("{}  since {since}: {because}", paint(STRONG, visible(&agent)));
                }
            }
        }
        Some(ShadowCommand::Start { candidate, because }) => {
            let contract = contract_file::open(candidate)?.loaded.compiled;
            shadow::start(&runtime, &store::operator(), &contract, store::now(), because)?;
            let agent = visible(&contract.contract.agent);
            let next = hint::next(&format!("writkeeper contract shadow show {agent}"));
            say!("{} beside the contract of {agent}; next: {next}", paint(GOOD, "judged"));
        }
        Some(ShadowCommand::Stop { agent, because }) => {
            shadow::stop(&runtime, &store::operator(), agent, because)?;
            say!("{}: the candidate of {} is judged no more", paint(GOOD, "stopped"), visible(agent));
        }
        Some(ShadowCommand::Show { agent }) => return show(&runtime, agent, json),
    }
    Ok(Exit::Fine)
}

fn show(runtime: &runtime::Runtime, agent: &str, json: bool) -> anyhow::Result<Exit> {
    let running = shadow::running(runtime)?;
    let none = || UsageError(format!("no candidate is judged beside the contract of `{}`", terminal::echo(agent)));
    let (_, found) = running.into_iter().find(|(name, _)| name == agent).ok_or_else(none)?;
    let mut flips = Flips(Vec::new());
    let counts = shadow::compare(runtime, &found, &mut flips)?;
    for flip in &flips.0 {
        if json {
            say!("{}", flip_json(flip).to_canonical());
            continue;
        }
        let verdict = |answer: &kernel::outcome::Answer| {
            paint(verdict_style(answer.verdict.word()), answer.verdict.word()).to_string()
        };
        let (action, proposal) = (visible(&flip.action), visible(&flip.proposal));
        say!("{}  {} -> {}  {action}  {proposal}", terminal::at(flip.at), verdict(&flip.before), verdict(&flip.after));
        for finding in against(&flip.after) {
            say!("    {}: {}", finding.code.as_str(), visible(&finding.message()));
        }
    }
    if json {
        say!("{}", counts_json(&counts).to_canonical());
    } else {
        let decisions = counted(counts.decisions, "decision");
        say!("{}", paint(STRONG, format!("the candidate decides {} of {decisions} otherwise", counts.flipped)));
        if counts.unknown() > 0 {
            say!("  {} {}", paint(ATTENTION, "unknown"), counts.unknown());
        }
    }
    Ok(match (counts.flipped, counts.unknown()) {
        (0, 0) => Exit::Fine,
        (0, _) => Exit::Escalated,
        (_, _) => Exit::Rejected,
    })
}

/// What flips, up to as many as anyone reads.
struct Flips(Vec<Flip>);

/// Flips that are shown.
const FLIPS_MAX: usize = 1_000;

impl Listener for Flips {
    fn passed(&mut self, _entries: u64) -> bool {
        true
    }

    fn flipped(&mut self, flip: &Flip) -> bool {
        if self.0.len() < FLIPS_MAX {
            self.0.push(flip.clone());
        }
        true
    }
}
