//! `writkeeper sign`: the agent's side of a proof.

use crate::cli::proof::SignArgs;
use crate::commands::lines::Lines;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::key_file::{self, Owner};
use crate::terminal::{self, say};
use kernel::statement;
use ledger::envelope::key_text;
use values::json::Json;

/// Signs every line, or makes a key.
pub fn run(args: &SignArgs) -> anyhow::Result<Exit> {
    if let Some(path) = &args.new {
        let key = key_file::make(path, Owner::Agent)?;
        say!("{}", key_text(&key.public()));
        return Ok(Exit::Fine);
    }
    let (Some(key), Some(contract)) = (&args.key, &args.contract) else {
        return Err(UsageError("give --key and --contract, or --new".to_owned()).into());
    };
    let key = key_file::read(key, Owner::Agent)?;
    let compiled = contract_file::open(contract)?.loaded.compiled;
    let mut input = Lines::open(args.proposals.as_deref())?;
    while let Some((number, line)) = input.next_filled_line()? {
        let proposal = Json::parse(line).map_err(|refusal| InvalidData(format!("line {number}: {refusal}")))?;
        let envelope = statement::sign(&proposal, &compiled.contract, compiled.digest, args.snapshot.as_deref(), &key);
        terminal::write_data(&format!("{}\n", envelope.to_json().to_canonical()))?;
    }
    Ok(Exit::Fine)
}
