//! Checkpoints that someone kept elsewhere, compared with an exported ledger: of its log, or of one that it follows.

use crate::terminal::counted;
use adapters::export_files::{AuditedExport, ExportPath, Unread};
use ledger::audit::{Damage, Place};
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::merkle::{Frontier, TreeHash};
use ledger::note::Note;
use runtime::export::stated_size;
use std::collections::BTreeMap;

/// What a comparison found where nothing contradicts.
#[derive(Default)]
pub struct Compared {
    /// What is worth saying.
    pub lines: Vec<String>,
    /// Something could not be compared.
    pub is_open: bool,
}

/// A checkpoint that another file carries inside of it.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Which of the files that are verified.
    pub file: usize,
    /// Its name.
    pub name: String,
    /// The checkpoint.
    pub note: Note,
    /// Whether the file is a receipt: whoever shows one wants it in the ledger.
    pub is_receipt: bool,
}

/// What stands in other files about a tree of the same log and size, where it is another tree.
pub fn contradicted(own: &[&Note], others: &[Carried]) -> Option<String> {
    let known: BTreeMap<(String, u64), TreeHash> =
        own.iter().filter_map(|note| Checkpoint::parse(note.text()).ok()).map(tree).collect();
    others.iter().find_map(|other| {
        let (of, root) = tree(Checkpoint::parse(other.note.text()).ok()?);
        let size = of.1;
        let differs = known.get(&of).is_some_and(|known| *known != root);
        differs.then(|| {
            format!("`{}` has another root for {}: two histories were signed", other.name, counted(size, "entry"))
        })
    })
}

fn tree(checkpoint: Checkpoint) -> ((String, u64), TreeHash) {
    ((checkpoint.origin().to_owned(), checkpoint.size()), checkpoint.root())
}

/// The same for checkpoints inside of other files. Of another log, or signed by a key this ledger does not know, they
/// may be about something else.
pub fn compare_carried(export: &ExportPath, seen: &AuditedExport, carried: &[Carried]) -> Result<Compared, Damage> {
    let (mut known, mut compared) = (Vec::new(), Compared::default());
    for one in carried {
        let Ok(kept) = verified(seen, &one.name, &one.note) else { continue };
        let from = seen.header.logs.get(kept.log).map_or(0, |log| log.from);
        let upto = seen.header.logs.get(kept.log + 1).map_or(seen.audited.entries, |next| next.from);
        if kept.checkpoint.size() <= upto.saturating_sub(from) {
            known.push((one.name.clone(), one.note.clone()));
        } else if one.is_receipt && kept.log + 1 == seen.header.logs.len() {
            compared.is_open = true;
            let (name, size) = (&one.name, kept.checkpoint.size());
            compared
                .lines
                .push(format!("`{name}` is of {}, and fewer were exported: not compared", counted(size, "entry")));
        }
    }
    let inner = compare(export, seen, &known)?;
    compared.is_open |= inner.is_open;
    compared.lines.extend(inner.lines);
    Ok(compared)
}

/// One of them.
struct Kept<'a> {
    name: &'a str,
    checkpoint: Checkpoint,
    /// Which log of the export it is of.
    log: usize,
}

/// What the entries lead to, as far as it is asked for.
struct Rebuilt {
    roots: BTreeMap<(usize, u64), TreeHash>,
    /// What ended each log but the last.
    ends: BTreeMap<usize, Discontinuity>,
}

/// Each must be a root of this very ledger, or be what a declaration says was lost.
pub fn compare(export: &ExportPath, seen: &AuditedExport, beside: &[(String, Note)]) -> Result<Compared, Damage> {
    let mut kept = Vec::with_capacity(beside.len());
    for (name, note) in beside {
        kept.push(verified(seen, name, note)?);
    }
    if kept.is_empty() {
        return Ok(Compared::default());
    }
    let rebuilt = rebuilt(export, seen, &kept)?;
    let mut compared = Compared::default();
    for one in &kept {
        judge(one, seen, &rebuilt, &mut compared)?;
    }
    Ok(compared)
}

fn verified<'a>(seen: &AuditedExport, name: &'a str, note: &Note) -> Result<Kept<'a>, Damage> {
    let damaged = |problem: String| Damage { place: Place::Checkpoint(stated_size(note)), problem };
    let stated = Checkpoint::parse(note.text()).map_err(|problem| damaged(format!("`{name}`: {problem}")))?;
    let mut logs = seen.header.logs.iter().enumerate();
    let of = logs.find(|(_, log)| log.keyring.origin() == stated.origin());
    let (log, head) =
        of.ok_or_else(|| damaged(format!("`{name}` is of log `{}`, which is not this ledger's", stated.origin())))?;
    let trusted = head.keyring.verify(note).map_err(|problem| damaged(format!("`{name}`: {problem}")))?;
    Ok(Kept { name, checkpoint: trusted.checkpoint, log })
}

/// Goes over the entries once.
fn rebuilt(export: &ExportPath, seen: &AuditedExport, kept: &[Kept<'_>]) -> Result<Rebuilt, Damage> {
    let wanted: Vec<(usize, u64)> = kept.iter().map(|one| (one.log, one.checkpoint.size())).collect();
    let mut rebuilt = Rebuilt { roots: BTreeMap::new(), ends: BTreeMap::new() };
    let (mut log, mut index) = (0, 0);
    let mut frontier = Frontier::default();
    let mut note = |log: usize, frontier: &Frontier| {
        if wanted.contains(&(log, frontier.size())) {
            rebuilt.roots.insert((log, frontier.size()), frontier.root());
        }
    };
    let read = export.each(&seen.header, &mut |entry| {
        if seen.header.logs.get(log + 1).is_some_and(|next| next.from == index) {
            // The audit has shown that a declaration stands here.
            rebuilt.ends.extend(Discontinuity::parse(entry.leaf.as_bytes()).ok().map(|declared| (log, declared)));
            (log, frontier) = (log + 1, Frontier::default());
        }
        note(log, &frontier);
        let _ = frontier.append(TreeHash::of_leaf(entry.leaf.as_bytes()));
        note(log, &frontier);
        index += 1;
        true
    });
    match read {
        Err(Unread::Damage(damage)) => Err(damage),
        Ok(()) | Err(Unread::Io(..)) => Ok(rebuilt),
    }
}

fn judge(one: &Kept<'_>, seen: &AuditedExport, rebuilt: &Rebuilt, compared: &mut Compared) -> Result<(), Damage> {
    let Kept { name, checkpoint, log } = one;
    let size = checkpoint.size();
    let damaged = |problem: String| Err(Damage { place: Place::Checkpoint(size), problem });
    let same_root = |root: TreeHash| match root == checkpoint.root() {
        true => Ok(()),
        false => damaged(format!("`{name}` has another root: two histories were signed")),
    };
    let Some(declared) = rebuilt.ends.get(log) else {
        let from = seen.header.logs.get(*log).map_or(0, |log| log.from);
        if size > seen.audited.entries.saturating_sub(from) {
            return damaged(format!("`{name}` states more entries than were exported: the tail is missing"));
        }
        return rebuilt.roots.get(&(*log, size)).copied().map_or(Ok(()), same_root);
    };
    let (before, next) = (checkpoint.origin(), declared.origin());
    let (kept, published) = (declared.kept().size(), declared.published());
    if size <= kept {
        let root = rebuilt.roots.get(&(*log, size)).copied();
        root.map_or(Ok(()), same_root)?;
        compared.lines.push(format!("`{name}` is of log `{before}`, which `{next}` follows; its entries are these"));
        return Ok(());
    }
    if size > published.size() {
        let said = published.size();
        return damaged(format!(
            "`{name}` states {}, and `{next}` says that {said} were published before",
            counted(size, "entry")
        ));
    }
    let lost =
        format!("`{name}` is of log `{before}`, which `{next}` follows; entries {kept} to {size} are declared lost");
    if size == published.size() {
        same_root(published.root())?;
        compared.lines.push(format!("{lost}, and it is the checkpoint that the declaration names"));
    } else {
        compared.is_open = true;
        compared.lines.push(format!("{lost}, so it cannot be compared"));
    }
    Ok(())
}
