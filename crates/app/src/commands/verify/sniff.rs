//! What a file is, from its bytes. A damaged one is still recognised by what is left, so that the damage can be named.

use super::unreadable;
use crate::files;
use anyhow::Context as _;
use kernel::intent::SignedIntent;
use ledger::checkpoint::Checkpoint;
use ledger::envelope::Envelope;
use ledger::note::Note;
use ledger::receipt::RECEIPT_FIRST_LINE;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use values::json::{Bounds, Json};

/// Bytes looked at.
const HEAD_BYTES: u64 = 8 * 1024;

/// What can be verified.
pub enum Kind {
    /// A whole ledger, a file or a folder.
    Export,
    /// A receipt.
    Receipt(Vec<u8>),
    /// A proposal with its proof.
    Envelope(Box<Json>),
    /// A signed intent for an executor elsewhere.
    Intent(Vec<u8>),
    /// A checkpoint.
    Checkpoint(Note),
}

/// What lies at a path.
pub fn kind(path: &Path) -> anyhow::Result<Kind> {
    if path.is_dir() {
        return if path.join("export").exists() || path.join("tile").exists() {
            Ok(Kind::Export)
        } else {
            Err(unreadable(path, "is a folder without an exported ledger in it"))
        };
    }
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    if !metadata.is_file() {
        // It would be read twice, and perhaps nobody ever writes into it.
        return Err(unreadable(path, "is neither a file nor a folder; write what it gives into a file first"));
    }
    let mut head = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    file.take(HEAD_BYTES).read_to_end(&mut head).with_context(|| format!("cannot read `{}`", path.display()))?;
    let has = |needle: &str| head.windows(needle.len()).any(|window| window == needle.as_bytes());
    if has("writkeeper.export/") || has("\ntile\t0\t") || has("\"logs\":[{\"checkpoints\":") {
        return Ok(Kind::Export);
    }
    let bytes = files::read(path)?;
    if bytes.starts_with(RECEIPT_FIRST_LINE.as_bytes()) || has("tlog-proof") || has("\nextra ") && has("\nindex ") {
        return Ok(Kind::Receipt(bytes));
    }
    if bytes.starts_with(SignedIntent::HEADING.as_bytes()) || has("\"executor\":") && has("\"not_after\":") {
        return Ok(Kind::Intent(bytes));
    }
    let json = Json::parse_within(&bytes, &Bounds::OWN).ok();
    if let Some(json) = json.filter(Envelope::is_meant) {
        return Ok(Kind::Envelope(Box::new(json)));
    }
    if has("\"payloadType\"") || has("\"signatures\"") {
        return Ok(Kind::Envelope(Box::new(Json::Null)));
    }
    let note = Note::parse(&bytes).ok();
    match note.filter(|note| Checkpoint::parse(note.text()).is_ok()) {
        Some(note) => Ok(Kind::Checkpoint(note)),
        None => Err(unreadable(path, "is neither an exported ledger nor a receipt, a signed intent or a checkpoint")),
    }
}
