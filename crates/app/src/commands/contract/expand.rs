//! `writkeeper contract expand`

use crate::cli::ExpandArgs;
use crate::contract_file;
use crate::exit::Exit;
use crate::terminal;
use crate::terminal::say;

/// Prints the full form.
pub fn run(args: &ExpandArgs) -> anyhow::Result<Exit> {
    let file = contract_file::open(&args.file)?;
    let full = file.loaded.compiled.contract.to_json();
    if args.json {
        say!("{}", full.to_canonical());
        return Ok(Exit::Fine);
    }
    say!("# full form; sha256 {}", file.loaded.compiled.digest);
    terminal::write_data(&engines::yaml_text::write(&full))?;
    Ok(Exit::Fine)
}
