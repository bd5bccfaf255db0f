//! `writkeeper contract expand`

use crate::cli::ExpandArgs;
use crate::contract_file;
use crate::exit::Exit;
use crate::terminal;
use crate::terminal::say;
use contract::sentence::sentences;

/// Prints the full form.
pub fn run(args: &ExpandArgs) -> anyhow::Result<Exit> {
    let file = contract_file::open(&args.file)?;
    let contract = &file.loaded.compiled.contract;
    let full = contract.to_json();
    let said = sentences(contract);
    if args.json {
        say!("{}", full.to_canonical());
        // Standard output is the contract itself, and JSON has no comments.
        said.iter().for_each(|sentence| terminal::note(&sentence.to_string()));
        return Ok(Exit::Fine);
    }
    say!("# full form; sha256 {}", file.loaded.compiled.digest);
    for sentence in &said {
        say!("# {sentence}");
    }
    terminal::write_data(&engines::yaml_text::write(&full))?;
    Ok(Exit::Fine)
}
