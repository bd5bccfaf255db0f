//! What a folder of keys knows to be published, for those who only look: no lock, no private key.

use super::{Keyring, LAST_ENTRY, Path, SignerFault, Stated, earlier_rings, parse_signed, read};
use ledger::merkle::TreeHash;
use std::io::ErrorKind;

/// What was published of a ledger, as the signer remembers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Published {
    /// The log that signs now.
    pub log: Keyring,
    /// The logs it follows.
    pub ended: Vec<Keyring>,
    /// How many entries a ledger has at least if it lost none of those that were published.
    pub entries: u64,
    /// The hash of the last of them; folders of before do not say.
    pub last: Option<TreeHash>,
}

impl Published {
    /// What lies in a folder; nothing where there are no keys, or none that we may look at.
    pub fn of(folder: &Path) -> Result<Option<Published>, SignerFault> {
        match std::fs::metadata(folder.join("signed")) {
            Ok(_) => {}
            // It is made before the keyring: one without it has lost what it remembers.
            Err(error) if error.kind() == ErrorKind::NotFound && folder.join("keyring").exists() => {
                let problem = format!("`{}` is missing", folder.join("signed").display());
                return Err(SignerFault::Unavailable(problem));
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => return Ok(None),
            Err(error) => return Err(super::unavailable(folder, error)),
        }
        let damaged = || SignerFault::Unavailable(format!("`{}` cannot be read", folder.join("signed").display()));
        let (from, stated) = parse_signed(&read(&folder.join("signed"))?).ok_or_else(damaged)?;
        let signed = match &stated {
            Stated::Nothing => return Ok(None),
            Stated::Signed(_) => stated.size(),
            // The declaration itself.
            Stated::Declared(_) => 1,
        };
        let log = Keyring::parse(&read(&folder.join("keyring"))?);
        let log = log.map_err(|problem| SignerFault::Unavailable(problem.to_string()))?;
        let entries = from.saturating_add(signed);
        let last = last_entry(folder, entries, log.origin());
        Ok(Some(Published { log, ended: earlier_rings(folder)?, entries, last }))
    }

    /// Whether a folder still says what was signed last, whatever else is wrong with it.
    pub fn is_remembered(folder: &Path) -> bool {
        read(&folder.join("signed")).is_ok_and(|text| parse_signed(&text).is_some())
    }
}

/// The hash of the last entry that was signed, if it is of these entries of this log: whoever died after signing has not
/// written it.
fn last_entry(folder: &Path, entries: u64, log: &str) -> Option<TreeHash> {
    let text = read(&folder.join(LAST_ENTRY)).ok()?;
    let (of, hash) = text.trim_end().rsplit_once(' ')?;
    TreeHash::parse(hash).filter(|_| of == format!("{entries} {log}"))
}
