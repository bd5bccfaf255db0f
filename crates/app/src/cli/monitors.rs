//! Monitors: what watches agents, and trying one on a series.

use super::kept::Kept;
use clap::{Args, Subcommand};

/// `writkeeper monitors …`
#[derive(Args, Debug)]
pub struct MonitorsArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<MonitorsCommand>,
}

/// What can be done with monitors.
#[derive(Subcommand, Debug)]
pub enum MonitorsCommand {
    /// Every monitor of every agent: what it measures, when it trips, when it tripped last
    List,
    /// Run one over numbers from standard input and print its alarms; no store is needed
    #[command(after_help = "\
Numbers come one a line. An empty line, `null` or `NaN` is a missing value: it has an index and moves nothing.
Each alarm is one line {\"index\":63,\"kind\":\"drift\"} or {\"index\":63,\"kind\":\"warning\"}; the first number has index 0.
After a drift the monitor starts anew.

Kinds: mean, sum, share, margin, e_sr, cusum, adwin, page_hinkley, ddm, eddm, hddm_a, hddm_w, kswin

Exit codes: 0 whether or not there were alarms, 2 for a kind, setting or number that cannot be used.")]
    Try {
        /// The kind of monitor
        #[arg(value_name = "KIND")]
        kind: String,
        /// A setting, such as delta=0.002; what is not set has the value that the docs give
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
}
