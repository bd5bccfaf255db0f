//! Keys: the first one, the next one, the last of an old one; and what to do when entries are lost.

use super::{Site, last_checkpoint, lost_keys};
use crate::cli::proof::KeysCommand;
use crate::exit::{InvalidData, Refused};
use crate::store;
use crate::terminal::{ATTENTION, FAINT, GOOD, STRONG, paint, say};
use adapters::signer_file::FileSigner;
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::keyring::Keyring;
use ledger::merkle::{Frontier, TreeHash};
use ledger::note::Note;
use runtime::ports::signer::{Signer, Stated};
use runtime::ports::store::Reader;
use runtime::seal::{Seal, append_declaration};
use values::ids::TENANT_DEFAULT;
use values::json::Json;
use writkeeper::signing::demand_own;
use writkeeper::signing::random_origin;

/// Records read at once.
const PAGE: usize = 512;

pub fn run(site: &Site, command: Option<&KeysCommand>) -> anyhow::Result<()> {
    match command.unwrap_or(&KeysCommand::List) {
        KeysCommand::List => list(site),
        KeysCommand::New { origin } => new(site, origin.as_deref()),
        KeysCommand::Retire { id } => retire(site, id),
    }
}

fn list(site: &Site) -> anyhow::Result<()> {
    if writkeeper::is_server(&site.location) {
        return show(&site.head()?.keyring, site.json);
    }
    if !FileSigner::is_at(&site.folder) {
        let problem = format!(
            "there are no keys in `{}`; `{}` makes one",
            site.folder.display(),
            crate::hint::next("writkeeper ledger keys new")
        );
        return Err(InvalidData(problem).into());
    }
    show(FileSigner::open(&site.folder)?.keyring(), site.json)
}

fn show(keyring: &Keyring, json: bool) -> anyhow::Result<()> {
    for period in keyring.periods() {
        let last = period.last.map_or_else(|| "-".to_owned(), |last| last.to_string());
        if json {
            let members = [
                ("id", Json::text(period.key.id().to_string())),
                ("key", Json::text(period.key.to_string())),
                ("from", Json::from(period.from)),
                ("last", period.last.map_or(Json::Null, Json::from)),
            ];
            say!("{}", Json::object(members).to_canonical());
        } else {
            let state = if period.last.is_none() { paint(GOOD, "in use") } else { paint(FAINT, "retired") };
            say!("{} {state} sizes {} to {last}  {}", paint(STRONG, period.key.id()), period.from, period.key);
        }
    }
    Ok(())
}

fn new(site: &Site, origin: Option<&str>) -> anyhow::Result<()> {
    site.demand_here("ledger keys new")?;
    if !FileSigner::is_at(&site.folder) {
        if store::exists(&site.location).is_ok() {
            site.demand_unsigned(site.reader()?.as_mut())?;
        }
        let origin = origin.map_or_else(random_origin, str::to_owned);
        let signer = FileSigner::create(&site.folder, &origin)?;
        let key = signer.keyring().periods().first().map(|period| period.key.to_string()).unwrap_or_default();
        return told(site, "made", &key);
    }
    if origin.is_some() {
        let problem = "the log has its name already; leave --origin out to add a key to it".to_owned();
        return Err(InvalidData(problem).into());
    }
    // The new key counts from the size behind the last checkpoint, so there must be one.
    let (mut signer, _) = site.sealed()?;
    let key = signer.introduce_key()?;
    site.record(&signer, &format!("key {} joins", key.id()))?;
    told(site, "joins from the next checkpoint on", &key.to_string())
}

fn retire(site: &Site, id: &str) -> anyhow::Result<()> {
    site.demand_here("ledger keys retire")?;
    let (mut signer, _) = site.sealed()?;
    let known = signer.keyring().periods().iter().map(|period| period.key.id()).find(|known| known.to_string() == id);
    let known = known.ok_or_else(|| InvalidData(format!("the log has no key `{id}`; `ledger keys` lists them")))?;
    signer.retire_key(known)?;
    site.record(&signer, &format!("key {id} retires"))?;
    told(site, "retired", id)
}

fn told(site: &Site, what: &str, key: &str) -> anyhow::Result<()> {
    if site.json {
        let members = [("key", Json::text(key)), ("folder", Json::text(site.folder.to_string_lossy()))];
        say!("{}", Json::object(members).to_canonical());
    } else {
        say!("{} {key}", paint(GOOD, what));
    }
    Ok(())
}

/// Ends a log whose entries were lost. What was published stays published; the new log says so in its first entry.
pub fn discontinue(site: &Site, because: &str) -> anyhow::Result<()> {
    site.demand_here("ledger discontinue")?;
    let mut reader = site.reader()?;
    if !FileSigner::is_at(&site.folder) {
        return lost_keys::discontinue(site, reader.as_mut(), because);
    }
    let signer = FileSigner::open(&site.folder)?;
    demand_own(reader.as_mut(), &signer)?;
    if let Stated::Declared(declared) = signer.stated() {
        let started = declared.origin();
        return Err(Refused(format!("log {started} was started already; `ledger checkpoint` signs it")).into());
    }
    let Some(published) = last_checkpoint(&signer) else {
        return Err(Refused("nothing was ever signed, so nothing can be lost".to_owned()).into());
    };
    let committed = reader.size().map_err(store::unread)?;
    let kept = kept(reader.as_mut(), &signer, &published)?;
    if kept == published {
        let problem = "nothing is lost: the ledger continues what was signed; `ledger checkpoint` signs it".to_owned();
        return Err(Refused(problem).into());
    }
    let next = next_origin(published.origin());
    let declared = Discontinuity::declare(TENANT_DEFAULT, &next, &published, &kept, because);
    let declared = declared.map_err(|problem| InvalidData(problem.to_string()))?;
    let mut store = store::open_file(&site.location)?;
    let from = append_declaration(store.as_mut(), &declared).map_err(store::unread)?;
    debug_assert!(from >= committed, "a ledger only grows");
    let signer = signer.follow(&declared, from)?;
    let note = begin(site, reader.as_mut(), signer)?;
    let lost = declared.lost();
    say!("{} log {next} starts at entry {from}", paint(ATTENTION, "discontinued:"));
    say!("{} of {} published entries are lost; everyone who verifies will read that", lost.end - lost.start, lost.end);
    say!("checkpoint {}", runtime::export::stated_size(&note));
    Ok(())
}

/// The first checkpoint of a log that follows another, after the ledger has said who signs it.
pub fn begin(site: &Site, reader: &mut dyn Reader, mut signer: FileSigner) -> anyhow::Result<Note> {
    site.record(&signer, "this log follows")?;
    let note = Seal::of(signer.from()).checkpoint(reader, &mut signer)?;
    signer.publish()?;
    Ok(note)
}

/// The name of the log that follows one.
pub fn next_origin(origin: &str) -> String {
    match origin.rsplit_once('/').and_then(|(name, number)| Some((name, number.parse::<u64>().ok()?))) {
        Some((name, number)) => format!("{name}/{}", number.saturating_add(1)),
        None => format!("{origin}/1"),
    }
}

/// What is left of the log: the largest published checkpoint that the rows still lead to, or all of them where fewer
/// are left than were signed.
fn kept(reader: &mut dyn Reader, signer: &FileSigner, published: &Checkpoint) -> anyhow::Result<Checkpoint> {
    let size = reader.size().map_err(store::unread)?.saturating_sub(signer.from());
    let notes = signer.published()?;
    let known: Vec<Checkpoint> = notes.iter().filter_map(|note| Checkpoint::parse(note.text()).ok()).collect();
    let mut frontier = Frontier::default();
    let mut proved = Checkpoint::new(published.origin(), 0, TreeHash::of_nothing()).ok();
    while frontier.size() < size {
        let page = reader.records(signer.from() + frontier.size(), PAGE).map_err(store::unread)?;
        if page.is_empty() {
            break;
        }
        for record in page {
            let _ = frontier.append(TreeHash::of_leaf(record.leaf.as_bytes()));
            let fits = |known: &&Checkpoint| known.size() == frontier.size() && known.root() == frontier.root();
            if let Some(fitting) = known.iter().chain([published]).find(fits) {
                proved = Some(fitting.clone());
            }
        }
    }
    let all = Checkpoint::new(published.origin(), frontier.size(), frontier.root()).ok();
    let contradicted = known.iter().chain([published]).any(|known| {
        proved.as_ref().is_some_and(|proved| known.size() > proved.size()) && known.size() <= frontier.size()
    });
    let kept = if contradicted || size > published.size() { proved } else { all };
    kept.ok_or_else(|| InvalidData("the log cannot be named".to_owned()).into())
}
