//! A log whose keys are lost: what the ledger itself knows of it, and how another one follows.

use super::Site;
use super::keys::{begin, next_origin};
use crate::exit::{InvalidData, Refused};
use crate::store;
use crate::terminal::{ATTENTION, paint, say};
use adapters::signer_file::FileSigner;
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::keyring::Keyring;
use ledger::merkle::{Frontier, TreeHash};
use runtime::ports::signer::Signer;
use runtime::ports::store::{Reader, StoredRecord};
use runtime::seal::append_declaration;
use std::collections::BTreeMap;
use values::ids::TENANT_DEFAULT;
use values::json::{Bounds, Json};
use writkeeper::signing::recorded;

/// Records read at once.
const PAGE: usize = 512;

/// Ends a log without its keys. What it published is not known any more, so all that is there is declared as kept.
pub fn discontinue(site: &Site, reader: &mut dyn Reader, because: &str) -> anyhow::Result<()> {
    let Some(known) = recorded(reader).map_err(store::unread)? else {
        return Err(Refused("nothing was ever signed, so nothing can be lost".to_owned()).into());
    };
    let Told { logs, frontier } = told(reader, &known)?;
    let kept = Checkpoint::new(known.origin(), frontier.size(), frontier.root());
    let kept = kept.map_err(|problem| InvalidData(problem.to_string()))?;
    let next = next_origin(known.origin());
    let declared = Discontinuity::declare(TENANT_DEFAULT, &next, &kept, &kept, because);
    let declared = declared.map_err(|problem| InvalidData(problem.to_string()))?;
    let mut store = store::open_file(&site.location)?;
    let from = append_declaration(store.as_mut(), &declared).map_err(store::unread)?;
    drop(store);
    let signer = FileSigner::create_after(&site.folder, &declared, from, &logs)?;
    let key = signer.keyring().periods().first().map(|period| period.key.to_string()).unwrap_or_default();
    let note = begin(site, reader, signer)?;
    say!("{} log {next} starts at entry {from}", paint(ATTENTION, "discontinued:"));
    say!("what log {} published is not known without its keys; compare checkpoints that others hold", known.origin());
    say!("checkpoint {}; tell whoever verifies: {key}", runtime::export::stated_size(&note));
    Ok(())
}

/// What a ledger tells of its logs.
struct Told {
    /// Where each starts and its keys, the oldest first.
    logs: Vec<(u64, Keyring)>,
    /// The tree of the last one.
    frontier: Frontier,
}

/// Reads the ledger for declarations and recorded keys, and the tree of the log that is in force.
fn told(reader: &mut dyn Reader, known: &Keyring) -> anyhow::Result<Told> {
    let mut rings: BTreeMap<String, Keyring> = BTreeMap::new();
    let mut declarations: Vec<(u64, Discontinuity)> = Vec::new();
    each(reader, 0, &mut |record| {
        declarations.extend(declared(record).map(|declared| (record.index, declared)));
        rings.extend(ring(record).map(|ring| (ring.origin().to_owned(), ring)));
        Ok(())
    })?;
    rings.insert(known.origin().to_owned(), known.clone());
    // Backwards: each log was declared last by the declaration that counts; others came to nothing.
    let mut starts = Vec::new();
    let (mut origin, mut before) = (known.origin().to_owned(), u64::MAX);
    while let Some((index, declared)) =
        declarations.iter().rfind(|(index, declared)| declared.origin() == origin && *index < before)
    {
        starts.push((*index, origin));
        (origin, before) = (declared.published().origin().to_owned(), *index);
    }
    starts.push((0, origin));
    starts.reverse();
    let mut logs = Vec::with_capacity(starts.len());
    for (from, origin) in starts {
        let ring = rings.get(&origin);
        let problem =
            || format!("the keys of log `{origin}` are not recorded; name the folder that has them by --keys");
        logs.push((from, ring.ok_or_else(|| InvalidData(problem()))?.clone()));
    }
    let mut frontier = Frontier::default();
    each(reader, logs.last().map_or(0, |(from, _)| *from), &mut |record| {
        let appended = frontier.append(TreeHash::of_leaf(record.leaf.as_bytes()));
        appended.map_err(|full| InvalidData(full.to_string()).into())
    })?;
    Ok(Told { logs, frontier })
}

fn each(
    reader: &mut dyn Reader,
    from: u64,
    show: &mut dyn FnMut(&StoredRecord) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut next = from;
    loop {
        let page = reader.records(next, PAGE).map_err(store::unread)?;
        let Some(last) = page.last() else { return Ok(()) };
        next = last.index + 1;
        page.iter().try_for_each(&mut *show)?;
    }
}

fn declared(record: &StoredRecord) -> Option<Discontinuity> {
    let is_meant = record.leaf.contains("\"discontinuity\"");
    is_meant.then(|| Discontinuity::parse(record.leaf.as_bytes()).ok()).flatten()
}

fn ring(record: &StoredRecord) -> Option<Keyring> {
    let (body, _) = record.body.as_ref().filter(|_| record.leaf.contains("\"rotate_keys\""))?;
    let json = Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()?;
    Keyring::parse(json.get("command")?.get("keyring")?.as_text()?).ok()
}
