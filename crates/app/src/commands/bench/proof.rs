//! What sealing costs beside deciding, and how fast a ledger is verified.

use super::durable::{Folder, Keys, Load, TURNS, median};
use adapters::export_files::ExportPath;
use adapters::signer_file::FileSigner;
use adapters::spilled_rows::SpilledRows;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use anyhow::anyhow;
use ledger::export::{Header, LogHead};
use runtime::export::stated_size;
use runtime::ports::signer::Signer;
use runtime::ports::store::Store;
use runtime::seal::Seal;
use runtime::sealing::Sealing;
use runtime::verify::Verify;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Decisions waiting at the same time.
const IN_FLIGHT: usize = 64;

/// Off and on by turns, so that a busy moment falls on neither side: the middle turn of each counts.
pub fn figures(folder: &Folder, budget: Duration) -> anyhow::Result<Map<String, Value>> {
    let mut plain = Load::start(&folder.file("unsealed.db"), IN_FLIGHT, Keys::Ordered)?;
    let path = folder.file("sealed.db");
    let reader = SqliteStore::open(&path, Arc::new(SystemClock))?.reader()?;
    let signer = FileSigner::create(&crate::store::keys_beside(&path.to_string_lossy()), "bench.local/seal/0")?;
    let sealing = Sealing::start(reader, Box::new(signer))?;
    let mut sealed = Load::start(&path, IN_FLIGHT, Keys::Ordered)?;
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        off.push(plain.run(budget / 4)?);
        on.push(sealed.run(budget / 4)?);
    }
    drop((plain, sealed));
    let checkpoints = sealing.stop()?;
    let (off, on) = (median(off), median(on));
    let overhead = (off - on) / off.max(1.0) * 100.0;
    let mut all = Map::new();
    all.insert(
        "seal".to_owned(),
        json!({
            "off": { "decisions_per_s": off.round() },
            "on": { "decisions_per_s": on.round(), "checkpoints": checkpoints },
            "overhead_percent": (overhead * 10.0).round() / 10.0,
        }),
    );
    all.insert("verify".to_owned(), verified(folder, &path)?);
    Ok(all)
}

/// Exports what was decided and verifies it: hashes, signatures, and every decision again.
fn verified(folder: &Folder, path: &Path) -> anyhow::Result<Value> {
    let mut reader = SqliteStore::open(path, Arc::new(SystemClock))?.reader()?;
    let mut signer = FileSigner::open(&crate::store::keys_beside(&path.to_string_lossy()))?;
    let note = Seal::of(0).checkpoint(reader.as_mut(), &mut signer)?;
    let log = LogHead { keyring: signer.keyring().clone(), from: 0, checkpoints: vec![note.clone()] };
    let header = Header { logs: vec![log], size: stated_size(&note) };
    let export = ExportPath::File(folder.file("bench.export"));
    export.write(reader.as_mut(), &header)?;
    let begin = Instant::now();
    let seen = export.audit(&mut |_| {})?;
    let hashing = begin.elapsed();
    let mut verify = Verify::new(Box::new(SpilledRows::default()))?;
    let mut problem = None;
    export.each(&seen.header, &mut |entry| {
        problem = match verify.entry(entry) {
            Ok(damage) => damage.map(|damage| damage.to_string()),
            Err(fault) => Some(fault.to_string()),
        };
        problem.is_none()
    })?;
    if let Some(problem) = problem {
        return Err(anyhow!("the benchmark's own ledger does not verify: {problem}"));
    }
    let entries = seen.audited.entries as f64;
    Ok(json!({
        "entries": seen.audited.entries,
        "entries_per_s": (entries / begin.elapsed().as_secs_f64().max(1e-6)).round(),
        "hashes_and_signatures_per_s": (entries / hashing.as_secs_f64().max(1e-6)).round(),
    }))
}
