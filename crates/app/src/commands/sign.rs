//! `writkeeper sign`: the agent's side of a proof.

use crate::cli::proof::SignArgs;
use crate::commands::lines::Lines;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::terminal::{self, say};
use adapters::durable_file::{random_seed, replace};
use anyhow::Context as _;
use kernel::statement;
use ledger::ed25519::SecretKey;
use ledger::envelope::key_text;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use values::ids::Digest;
use values::json::Json;

/// What the file of a private key starts with.
const PREFIX: &str = "writkeeper-agent-key ";

/// Signs every line, or makes a key.
pub fn run(args: &SignArgs) -> anyhow::Result<Exit> {
    if let Some(path) = &args.new {
        return make(path);
    }
    let (Some(key), Some(contract)) = (&args.key, &args.contract) else {
        return Err(UsageError("give --key and --contract, or --new".to_owned()).into());
    };
    let key = secret(key)?;
    let compiled = contract_file::open(contract)?.loaded.compiled;
    let mut input = Lines::open(args.proposals.as_deref())?;
    while let Some((number, line)) = input.next_line()? {
        let proposal = Json::parse(line).map_err(|refusal| InvalidData(format!("line {number}: {refusal}")))?;
        let envelope = statement::sign(&proposal, &compiled.contract, compiled.digest, args.snapshot.as_deref(), &key);
        terminal::write_data(&format!("{}\n", envelope.to_json().to_canonical()))?;
    }
    Ok(Exit::Fine)
}

fn make(path: &Path) -> anyhow::Result<Exit> {
    if path.exists() {
        return Err(InvalidData(format!("`{}` is there already; a key is never overwritten", path.display())).into());
    }
    let seed = random_seed().context("no random bytes")?;
    let text = format!("{PREFIX}{}\n", Digest::from_bytes(seed));
    replace(path, text.as_bytes(), 0o600).with_context(|| format!("cannot write `{}`", path.display()))?;
    say!("{}", key_text(&SecretKey::from_seed(&seed).public()));
    Ok(Exit::Fine)
}

/// A private key; one that others can read is not used.
fn secret(path: &Path) -> anyhow::Result<SecretKey> {
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let problem = format!("`{}` can be read by others; run `chmod 600` on it", path.display());
        return Err(InvalidData(problem).into());
    }
    let text = crate::files::read_text(path)?;
    let seed = text.trim_end().strip_prefix(PREFIX).and_then(Digest::parse);
    let seed = seed.ok_or_else(|| InvalidData(format!("`{}` holds no key of an agent", path.display())))?;
    Ok(SecretKey::from_seed(seed.bytes()))
}
