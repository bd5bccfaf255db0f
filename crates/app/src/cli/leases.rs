//! Leases on regions.

use super::kept::{Kept, id, reason};
use clap::{Args, Subcommand};

/// `writkeeper leases …`
#[derive(Args, Debug)]
pub struct LeasesArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<LeasesCommand>,
}

/// What can be done with leases.
#[derive(Subcommand, Debug)]
pub enum LeasesCommand {
    /// Everything that is held, with its number
    List,
    /// Ask for regions; asking again for the same renews
    Acquire {
        /// A path with everything below it, or `thing:NAME`
        #[arg(value_name = "REGION", required = true)]
        regions: Vec<String>,
        /// Who is to hold them: an agent, or one of its sessions as AGENT:SESSION
        #[arg(long, value_name = "NAME", value_parser = id)]
        holder: String,
        /// Beside others who share; without it alone
        #[arg(long)]
        shared: bool,
        /// How long from one heartbeat to the next, from 1s to 24h
        #[arg(long, value_name = "DURATION", default_value = "10m")]
        ttl: String,
    },
    /// Renew a lease
    Heartbeat(HeldArgs),
    /// Give a lease back
    Release(HeldArgs),
    /// Take a lease away from whoever holds it
    Evict {
        /// Its number
        #[arg(value_name = "NUMBER")]
        fence: u64,
        /// Why
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        because: String,
    },
    /// Give a lease to somebody else, under a new number
    Adopt {
        /// Its number
        #[arg(value_name = "NUMBER")]
        fence: u64,
        /// To whom
        #[arg(long, value_name = "NAME", value_parser = id)]
        to: String,
        /// Why
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        because: String,
    },
}

/// Which lease, and whose.
#[derive(Args, Debug)]
pub struct HeldArgs {
    /// Its number
    #[arg(value_name = "NUMBER")]
    pub fence: u64,
    /// Who holds it
    #[arg(long, value_name = "NAME", value_parser = id)]
    pub holder: String,
}
