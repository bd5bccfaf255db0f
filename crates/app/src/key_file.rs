//! Files of private keys: made once, never written over, and used only if nobody else can read them.

use crate::exit::InvalidData;
use crate::files;
use adapters::durable_file::{random_seed, replace};
use anyhow::Context as _;
use ledger::ed25519::SecretKey;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use values::ids::Digest;

/// Whose key a file holds; the first word of the file says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    Agent,
    Person,
}

impl Owner {
    fn first_word(self) -> &'static str {
        match self {
            Owner::Agent => "writkeeper-agent-key",
            Owner::Person => "writkeeper-person-key",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Owner::Agent => "an agent",
            Owner::Person => "a person",
        }
    }
}

/// Makes a key and a file for it that only its owner can read.
pub fn make(path: &Path, owner: Owner) -> anyhow::Result<SecretKey> {
    if path.exists() {
        return Err(InvalidData(format!("`{}` is there already; a key is never overwritten", path.display())).into());
    }
    let seed = random_seed().context("no random bytes")?;
    let text = format!("{} {}\n", owner.first_word(), Digest::from_bytes(seed));
    replace(path, text.as_bytes(), 0o600).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(SecretKey::from_seed(&seed))
}

/// Reads a private key; one that others can read is not used.
pub fn read(path: &Path, owner: Owner) -> anyhow::Result<SecretKey> {
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let problem = format!("`{}` can be read by others; run `chmod 600` on it", path.display());
        return Err(InvalidData(problem).into());
    }
    let text = files::read_text(path)?;
    let parts = text.trim_end().split_once(' ').filter(|(word, _)| *word == owner.first_word());
    let seed = parts.and_then(|(_, seed)| Digest::parse(seed));
    let seed = seed.ok_or_else(|| InvalidData(format!("`{}` holds no key of {}", path.display(), owner.title())))?;
    Ok(SecretKey::from_seed(seed.bytes()))
}
