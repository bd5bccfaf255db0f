//! Verifying an export without the store: first what is hashed and signed, then every decision again.

use crate::error::Error;
use adapters::export_files::{AuditedExport, ExportPath, Unread};
use adapters::spilled_rows::SpilledRows;
use ledger::audit::{Damage, Place};
use runtime::ports::store::StoreFault;
use runtime::verify::{Completeness, Verify};
use std::path::Path;

/// What an export turned out to be.
pub enum Verification {
    /// Hashes and signatures fit, and every decision that can be made again came out the same.
    Whole {
        /// What is hashed and signed.
        export: Box<AuditedExport>,
        /// What is left open.
        completeness: Box<Completeness>,
    },
    /// Something was changed.
    Damaged(Damage),
}

/// Verifies the export at a path. Whose keys it is signed with is for the caller to compare.
pub fn verify(path: &Path) -> Result<Verification, Error> {
    let export = ExportPath::at(path);
    let audited = match export.audit(&mut |_| {}) {
        Ok(audited) => audited,
        Err(Unread::Damage(damage)) => return Ok(Verification::Damaged(damage)),
        Err(unread @ Unread::Io(..)) => return Err(Error::Invalid(unread.to_string())),
    };
    Ok(match replay(&export, &audited, &mut |_| {})? {
        Ok(completeness) => Verification::Whole { export: Box::new(audited), completeness: Box::new(completeness) },
        Err(damage) => Verification::Damaged(damage),
    })
}

/// Makes every decision of an audited export again. `passed` is told how many entries were read.
pub fn replay(
    export: &ExportPath,
    audited: &AuditedExport,
    passed: &mut dyn FnMut(u64),
) -> Result<Result<Completeness, Damage>, Error> {
    let mut verify = Verify::new(Box::new(SpilledRows::default()))?;
    let mut found: Result<Option<Damage>, StoreFault> = Ok(None);
    let mut count = 0_u64;
    let read = export.each(&audited.header, &mut |entry| {
        count += 1;
        passed(count);
        found = verify.entry(entry);
        matches!(found, Ok(None))
    });
    if let Err(unread @ Unread::Io(..)) = read {
        return Err(Error::Invalid(unread.to_string()));
    }
    if let Some(damage) = found? {
        return Ok(Err(damage));
    }
    if let Some((ring, log)) = verify.keyring().zip(audited.header.logs.last()) {
        let is_told = audited.header.logs.iter().any(|log| log.keyring.origin() == ring.origin());
        if !is_told || ring.origin() == log.keyring.origin() && *ring != log.keyring {
            let origin = ring.origin();
            let problem = format!("its keys are not those that the ledger records for log `{origin}`");
            return Ok(Err(Damage { place: Place::Header, problem }));
        }
    }
    Ok(Ok(verify.finish()?))
}
