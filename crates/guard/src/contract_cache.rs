//! A cache of the contract in force, beside the store, so that a hook without a daemon need not compile it from the store.
//!
//! An entry is used only if its digest is the one in force according to the store.

use super::place::Guard;
use crate::hooks::Host;
use kernel::evaluator::Compiled;
use std::path::PathBuf;
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Bounds, Json};

/// A longer file was not written by us.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Named like the store, so that patterns for the store's files include it.
fn path(guard: &Guard, host: Host) -> PathBuf {
    guard.folder.join(format!("guard.db-{}.json", host.word))
}

/// The cached contract.
pub fn read(guard: &Guard, host: Host) -> Option<Arc<Compiled>> {
    let path = path(guard, host);
    let found = std::fs::metadata(&path).ok().filter(|found| found.is_file() && found.len() <= BYTES_MAX);
    found.and_then(|_| std::fs::read(&path).ok()).and_then(|bytes| understood(&bytes)).map(Arc::new)
}

fn understood(bytes: &[u8]) -> Option<Compiled> {
    let json = Json::parse_within(bytes, &Bounds::OWN).ok()?;
    engines::load::load_known(json, Digest::of(bytes))
}

/// Writes the contract in force for the next hook. A failure only costs the next hook time.
pub fn keep(guard: &Guard, host: Host, contract: &Compiled) {
    let (path, text) = (path(guard, host), contract.contract.to_json().to_canonical());
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    if std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, &path)).is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_the_same_contract_and_what_was_changed_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let guard = Guard::at(folder.path());
        let host = crate::hooks::host("claude-code").unwrap();
        assert!(read(&guard, host).is_none());
        let text = "agent: claude-code\nactions:\n  look: { params: { id: text }, reads: true }\n";
        let compiled = engines::load::load(text).unwrap().compiled;
        keep(&guard, host, &compiled);
        assert_eq!(read(&guard, host).map(|known| known.digest), Some(compiled.digest));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
        let file = path(&guard, host);
        let kept = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, kept.replace("look", "fire")).unwrap();
        assert_ne!(read(&guard, host).map(|known| known.digest), Some(compiled.digest));
        for nonsense in ["", "{", "[]", "{\"agent\":1}"] {
            std::fs::write(&file, nonsense).unwrap();
            assert!(read(&guard, host).is_none(), "{nonsense}");
        }
    }
}
