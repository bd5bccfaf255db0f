//! Evaluation: how good something is that judges.

use super::kept::Keeping;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `writkeeper eval …`
#[derive(Args, Debug)]
#[command(after_help = "\
Cases are JSON lines with the label that a person gave:

  gate, contract, validator, judge  {\"label\":\"bad\",\"proposal\":{\"agent\":…,\"action\":…,\"params\":{…}}}
  the same with --store             {\"label\":\"bad\",\"proposal\":\"ID\"}, or no file and --answers
  detector                          {\"label\":\"bad\",\"evidence\":{…}}
  monitor                           {\"label\":\"bad\",\"value\":3.5,\"series\":\"a\"}
  either with --store               {\"label\":\"bad\",\"proposal\":\"ID\"}

`bad` means that something should be said: refused, asked about or alarmed; `true` and `false` may stand for bad and good.
With `--answers` the answers of people are the labels: what they let through is good, what they changed or refused is bad.
Proposals are judged in the order of their lines, as `decide` does: what is accepted takes budgets and effect keys and moves
monitors, and the next case meets what is left. A proposal that cannot be read, or of another agent, is a case that cannot be
used (`gate shape` judges what cannot be read). Validators, judges and detectors see each case alone.
For a monitor a case is a run of values with the same label: a bad run is a change that should be noticed. With `--store`
the values are an agent's decisions, and a label holds from its decision until the agent's next label.

Intervals are Wilson's at 95 %, computed in whole numbers and rounded outwards; that of F1 follows from that of
hits / (hits + misses + false alarms). Everything but the latency is the same in every run.

Exit codes: 0 whatever was found out, 64 usage, 65 a case or contract that cannot be used, with its line.")]
pub struct EvalArgs {
    /// What is evaluated
    #[command(subcommand)]
    pub what: EvalCommand,
}

/// What can be evaluated.
#[derive(Subcommand, Debug)]
pub enum EvalCommand {
    /// One gate of a contract, such as `limits`, `rules` or `budgets`
    Gate(JudgedArgs),
    /// All gates of a contract together
    Contract(WholeArgs),
    /// A validator of a contract
    Validator(JudgedArgs),
    /// A judge of a contract
    Judge(JudgedArgs),
    /// A detector, such as `stall` or `breaker`
    Detector(DetectorArgs),
    /// A kind of monitor, such as `e_sr`; with --contract or --store a monitor by the name that the contract gives it
    Monitor(MonitorArgs),
}

/// What evaluations have in common.
#[derive(Args, Debug)]
pub struct CaseArgs {
    /// A price: call=, alarm= (a false one) or miss=, in any unit; the total is told
    #[arg(long = "cost", value_name = "WHAT=NUMBER")]
    pub cost: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The labelled cases; standard input if not given
    #[arg(value_name = "CASES")]
    pub cases: Option<PathBuf>,
}

/// On proposals.
#[derive(Args, Debug)]
pub struct ProposalArgs {
    /// The contract that proposals are judged under
    #[arg(long, value_name = "FILE", required_unless_present = "keeping", conflicts_with = "keeping")]
    pub contract: Option<PathBuf>,
    /// The store whose decisions are looked at: what was found then counts, nothing is decided again.
    #[command(flatten)]
    pub keeping: Keeping,
    /// With --store: the answers of people to questions are the labels
    #[arg(long, requires = "keeping", conflicts_with = "cases")]
    pub answers: bool,
    /// State, snapshots and agents, as for `decide`
    #[arg(long, value_name = "FILE", requires = "contract")]
    pub context: Option<PathBuf>,
    /// Only refusals count; otherwise questions to people count too
    #[arg(long)]
    pub refusals: bool,
    /// The cases.
    #[command(flatten)]
    pub cases: CaseArgs,
}

/// One by name.
#[derive(Args, Debug)]
pub struct JudgedArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// On what.
    #[command(flatten)]
    pub on: ProposalArgs,
}

/// A whole contract.
#[derive(Args, Debug)]
pub struct WholeArgs {
    /// On what.
    #[command(flatten)]
    pub on: ProposalArgs,
}

/// A detector, with settings.
#[derive(Args, Debug)]
pub struct DetectorArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it goes by.
    #[command(flatten)]
    pub by: Settings,
    /// With --store: the answers of people to questions are the labels
    #[arg(long, requires = "store", conflicts_with = "cases")]
    pub answers: bool,
    /// The cases.
    #[command(flatten)]
    pub cases: CaseArgs,
}

/// A monitor, with settings.
#[derive(Args, Debug)]
pub struct MonitorArgs {
    /// Its kind or name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it goes by.
    #[command(flatten)]
    pub by: Settings,
    /// A warning counts as an alarm
    #[arg(long)]
    pub warnings: bool,
    /// The cases.
    #[command(flatten)]
    pub cases: CaseArgs,
}

/// What a detector or monitor goes by: settings, or what it once said.
#[derive(Args, Debug)]
pub struct Settings {
    /// A setting, such as repeat=4; what is not set has the value that the docs give
    #[arg(long = "set", value_name = "KEY=VALUE", conflicts_with = "contract")]
    pub settings: Vec<String>,
    /// Settings as this contract gives them
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    /// The store whose decisions are looked at: what was said then counts, nothing is computed again.
    // Not from the environment: it says whether NAME is a kind or a name, so it must be typed.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["settings", "contract"])]
    pub store: Option<String>,
}
