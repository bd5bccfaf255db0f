//! The last scene: someone with the database in hand changes one byte of what was decided.

use super::bank::Bank;
use super::desk::Desk;
use crate::commands::ledger::{Site, export_to};
use crate::terminal::{BAD, FAINT, GOOD, STRONG, counted, paint, say};
use adapters::export_files::{ExportPath, Unread};
use anyhow::{Context, bail};
use std::path::Path;
use values::json::Json;

const TITLE: &str = "One byte of history flipped";
const STORY: &str = "Weeks later an auditor gets the ledger. Someone has made 12.5 EUR look like 92.5 EUR in it.";

/// Exports the ledger of the scenes before, verifies it, changes one byte, verifies it again.
pub fn play(number: usize, desk: &Desk, bank: &Bank, json: bool) -> anyhow::Result<()> {
    let site = Site::quiet(desk.location())?;
    let path = bank.folder().join("ledger.export");
    let entries = export_to(&site, &path)?;
    let before = verdict(&path)?;
    let mut bytes = std::fs::read(&path)?;
    let needle = b"\"amount\":12.5";
    let at = bytes.windows(needle.len()).position(|window| window == needle).context("the scene lost its payment")?;
    let byte = bytes.get_mut(at + needle.len() - 4).context("the scene lost its byte")?;
    *byte = b'9';
    std::fs::write(&path, bytes)?;
    let after = verdict(&path)?;
    let (None, Some(damage)) = (&before, &after) else { bail!("the flipped byte was not noticed") };
    let payments = bank.payments()?.len();
    if json {
        let scene = Json::object([
            ("scene", Json::text(TITLE)),
            ("entries", Json::from(entries)),
            (
                "steps",
                Json::List(vec![
                    Json::object([("says", Json::text("verify, before")), ("verdict", Json::text("clean"))]),
                    Json::object([("says", Json::text("verify, after")), ("verdict", Json::text("damaged"))]),
                ]),
            ),
            ("damage", Json::text(damage.as_str())),
            ("payments_in_bank_log", Json::from(payments as u64)),
        ]);
        say!("{}", scene.to_canonical());
        return Ok(());
    }
    say!("{}", paint(STRONG, format!("{number}. {TITLE}")));
    say!("   {STORY}");
    say!("   verify, before: {}, signed, every hash in its place", counted(entries, "entry"));
    say!("     {}", paint(GOOD, "clean"));
    say!("   verify, after one byte changed");
    say!("     {} {damage}", paint(BAD, "damaged"));
    say!("   {} {}, as many as before\n", paint(FAINT, "bank log:"), counted(payments as u64, "payment"));
    Ok(())
}

fn verdict(path: &Path) -> anyhow::Result<Option<String>> {
    match ExportPath::at(path).audit(&mut |_| {}) {
        Ok(_) => Ok(None),
        Err(Unread::Damage(damage)) => Ok(Some(damage.to_string())),
        Err(unread @ Unread::Io(..)) => Err(unread.into()),
    }
}
