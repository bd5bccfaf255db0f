//! Proof: receipts, exports and their verification.

use crate::faults::Fault;
use crate::store::Kept;
use pyo3::prelude::*;
use std::path::Path;
use values::json::Json;
use writkeeper::signing::SigningSite;
use writkeeper::{ExportPath, Verification};

/// The receipt of one id.
pub fn receipt(kept: &Kept, id: &str) -> Result<String, Fault> {
    let missing = || Fault::usage(format!("nothing in the ledger is called `{id}`"));
    site(kept)?.receipt(id)?.map(|receipt| receipt.to_string()).ok_or_else(missing)
}

/// Writes an export; how many entries it has.
pub fn export(kept: &Kept, path: &str) -> Result<u64, Fault> {
    Ok(site(kept)?.export(&ExportPath::File(path.into()))?.header.size)
}

fn site(kept: &Kept) -> Result<SigningSite, Fault> {
    let location = kept.keeper.location();
    if location.starts_with("memory:") {
        return Err(Fault::usage("a store in memory has no keys; open a file to prove something with it"));
    }
    let mut site = SigningSite::beside(location, kept.operator.clone());
    site.options.key.clone_from(&kept.key);
    Ok(site)
}

/// Verifies an export without its store: whether it is whole, how many records were made again, and what is damaged.
#[pyfunction]
pub fn verify(py: Python<'_>, path: &str) -> PyResult<String> {
    let verified = py.detach(|| writkeeper::verify(Path::new(path)));
    match verified {
        Ok(Verification::Whole { completeness, .. }) => {
            let whole = completeness.is_complete();
            let replayed = Json::from(completeness.replayed.same);
            let told = [("whole", Json::Bool(whole)), ("replayed", replayed), ("damage", Json::Null)];
            Ok(Json::object(told).to_canonical())
        }
        Ok(Verification::Damaged(damage)) => {
            let damage = Json::text(damage.to_string());
            Ok(Json::object([("whole", Json::Bool(false)), ("replayed", Json::Null), ("damage", damage)])
                .to_canonical())
        }
        Err(error) => Err(Fault::Library(error).raised(py)),
    }
}
