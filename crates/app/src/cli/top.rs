//! The live screen.

use super::kept::Kept;
use clap::Args;

/// `writkeeper top`
#[derive(Args, Debug)]
#[command(after_help = "\
Keys: up and down select a question, Enter reads it, q ends. Before a question: Space scrolls, o overrides, a aborts; \
you are asked why and then whether you mean it. An answer counts for exactly the bytes that were shown.")]
pub struct TopArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// Print one picture and end; so does everything that is no terminal
    #[arg(long)]
    pub once: bool,
    /// Who answers questions; not who proposed. With --server it is the person that the key belongs to
    #[arg(long = "as", value_name = "PERSON")]
    pub person: Option<String>,
}
