//! `writkeeper contract draft`

use crate::cli::DraftArgs;
use crate::exit::{Exit, InvalidData};
use crate::files;
use crate::terminal;
use contract::draft::draft;
use values::json::{Bounds, Json};

/// Prints a closed contract for the tools.
pub fn run(args: &DraftArgs) -> anyhow::Result<Exit> {
    let bytes = files::read(&args.tools)?;
    let invalid = |problem: String| InvalidData(format!("`{}`: {problem}", args.tools.display()));
    let tools = Json::parse_within(&bytes, &Bounds::FILE).map_err(|refusal| invalid(refusal.to_string()))?;
    let text = draft(&tools, &args.agent).map_err(invalid)?;
    terminal::write_data(&text)?;
    Ok(Exit::Fine)
}
