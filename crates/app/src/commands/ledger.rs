//! `writkeeper ledger …`: seal, hand out, keep keys, erase.

mod find;
mod forget;
mod keys;
mod lost_keys;
mod output;
mod receipts;
mod retention;
pub mod sealer;
mod site;
mod upkeep;

pub use site::Site;

use crate::cli::proof::{LedgerArgs, LedgerCommand};
use crate::exit::{Exit, StoreUnavailable, UsageError};
use crate::hint;
use crate::terminal::{self, GOOD, STRONG, paint, say};
use adapters::export_files::{ExportPath, write_part};
use adapters::signer_file::FileSigner;
use ledger::checkpoint::Checkpoint;
use ledger::note::Note;
use runtime::crash::around;
use runtime::export::stated_size;
use runtime::ports::signer::{Signer, Stated};
use runtime::seal::tiles;
use std::path::Path;
use values::json::Json;
use writkeeper::signing::SealedHead;

/// Does what was asked of the ledger.
pub fn run(args: &LedgerArgs) -> anyhow::Result<Exit> {
    let site = Site::of(args)?;
    match &args.command {
        LedgerCommand::Export { out } => export(&site, out)?,
        LedgerCommand::Checkpoint => {
            let note = site.head()?.note;
            if site.json {
                say!("{}", checkpoint_json(&note).to_canonical());
            } else {
                terminal::write_data(&note.to_string())?;
            }
        }
        LedgerCommand::Tiles { out } => publish_tiles(&site, out)?,
        LedgerCommand::Receipt { ids, agent, out } => receipts::run(&site, ids, agent.as_deref(), out.as_deref())?,
        LedgerCommand::Find { id, export } => return find::run(&site, id, export.as_deref()),
        LedgerCommand::Keys { command } => keys::run(&site, command.as_ref())?,
        LedgerCommand::Erase { id, result, from, to, because } => {
            let what = match (id, result, from.zip(*to)) {
                (Some(id), _, _) => upkeep::Erased::Record(id),
                (None, Some(intent), _) => upkeep::Erased::Result(intent),
                (None, None, Some((from, to))) => upkeep::Erased::Range(from, to),
                (None, None, None) => {
                    return Err(UsageError("give an id, --result, or --from and --to".to_owned()).into());
                }
            };
            upkeep::erase(&site, &what, because)?;
        }
        LedgerCommand::Retain { keep, subject, dry_run, because } => {
            let wanted = retention::Wanted { keep: keep.as_deref(), subject: subject.as_deref(), dry_run: *dry_run };
            retention::run(&site, &wanted, because)?;
        }
        LedgerCommand::Forget { keep, because } => forget::run(&site, keep.as_deref(), because)?,
        LedgerCommand::Hold { name, from, to, because } => upkeep::hold(&site, name, *from, *to, because)?,
        LedgerCommand::Release { name, because } => upkeep::release(&site, name, because)?,
        LedgerCommand::Discontinue { because } => keys::discontinue(&site, because)?,
    }
    Ok(Exit::Fine)
}

/// Receipts for decisions that were just made, as files named after them.
pub fn write_receipts(location: &str, ids: &[String], folder: &Path) -> anyhow::Result<()> {
    receipts::write_all(&Site::beside(location)?, ids, folder)
}

/// Exports everything into a file; how many entries there are.
pub fn export_to(site: &Site, out: &Path) -> anyhow::Result<u64> {
    Ok(site.export(&ExportPath::File(out.to_path_buf()))?.header.size)
}

fn export(site: &Site, out: &Path) -> anyhow::Result<()> {
    let ends_with_slash = out.to_string_lossy().ends_with('/');
    let path = if out.is_dir() || ends_with_slash {
        output::demand_apart(site, out)?;
        ExportPath::Folder(out.to_path_buf())
    } else {
        output::demand_free_file(site, out)?;
        ExportPath::File(out.to_path_buf())
    };
    let SealedHead { header, keyring, note, first_key, .. } = site.export(&path)?;
    site.announce(first_key.as_deref());
    let key = keyring.periods().last().map(|period| period.key.to_string()).unwrap_or_default();
    if site.json {
        let members = [
            ("out", Json::text(out.to_string_lossy())),
            ("entries", Json::from(header.size)),
            ("checkpoint", checkpoint_json(&note)),
            ("key", Json::text(key)),
        ];
        say!("{}", Json::object(members).to_canonical());
        return Ok(());
    }
    say!("{} {} in {}", paint(GOOD, "exported"), terminal::counted(header.size, "entry"), out.display());
    say!("key  {key}");
    say!("next: writkeeper verify {}", hint::path(out));
    Ok(())
}

fn publish_tiles(site: &Site, out: &Path) -> anyhow::Result<()> {
    output::demand_apart(site, out)?;
    let head = site.head()?;
    let note = &head.note;
    let mut written = 0_u64;
    let mut publish = |tile: &ledger::edge::Tile| {
        written += 1;
        write_part(out, &tile.path.to_string(), &tile.bytes).map_err(|error| format!("`{}`: {error}", tile.path))
    };
    tiles(site.reader()?.as_mut(), head.from, stated_size(note), &mut publish)?;
    // The checkpoint comes last: whoever reads it finds every tile it speaks of.
    around("publish.checkpoint", || write_part(out, "checkpoint", note.to_string().as_bytes()))
        .map_err(|error| StoreUnavailable(format!("cannot write into `{}`: {error}", out.display())))?;
    if site.json {
        let members = [("tiles", Json::from(written)), ("checkpoint", checkpoint_json(note))];
        say!("{}", Json::object(members).to_canonical());
        return Ok(());
    }
    let written = terminal::counted(written, "file");
    say!("{} {written} of tiles and bundles in {}", paint(GOOD, "published"), paint(STRONG, out.display()));
    Ok(())
}

fn checkpoint_json(note: &Note) -> Json {
    let checkpoint = Checkpoint::parse(note.text()).ok();
    let field = |show: fn(&Checkpoint) -> String| Json::from(checkpoint.as_ref().map(show));
    Json::object([
        ("origin", field(|checkpoint| checkpoint.origin().to_owned())),
        ("size", checkpoint.as_ref().map_or(Json::Null, |checkpoint| Json::from(checkpoint.size()))),
        ("root", field(|checkpoint| checkpoint.root().to_string())),
        ("note", Json::text(note.to_string())),
    ])
}

/// What was stated last, if anything.
fn last_checkpoint(signer: &FileSigner) -> Option<Checkpoint> {
    match signer.stated() {
        Stated::Signed(note) => Checkpoint::parse(note.text()).ok(),
        Stated::Nothing | Stated::Declared(_) => None,
    }
}
