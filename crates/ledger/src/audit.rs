//! The audit of an exported ledger: every entry has the hash it must have, every body belongs to its entry, and the
//! entries lead to every root that was signed. Damage is named with its place.

use super::bundle::ENTRY_BYTES_MAX;
use super::checkpoint::Checkpoint;
use super::discontinuity::Discontinuity;
use super::export::{Exported, Header, LogHead};
use super::merkle::{Frontier, TreeHash};
use super::tile_path::TILE_WIDTH;
use std::fmt;
use std::sync::Arc;
use values::count::{counted, was};
use values::json::Json;
use values::sealed::Sealed;
use values::time::Instant;

/// Where damage is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// In what stands before the entries.
    Header,
    /// At an entry, from 0.
    Entry(u64),
    /// Among the entries below a checkpoint of this size; no single one can be named.
    Below(u64),
    /// At the signed checkpoint of this size.
    Checkpoint(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Header => formatter.write_str("header"),
            Place::Entry(index) => write!(formatter, "entry {index}"),
            Place::Below(size) => write!(formatter, "entries below {size}"),
            Place::Checkpoint(size) => write!(formatter, "checkpoint {size}"),
        }
    }
}

/// Something is not as it was signed or recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Where.
    pub place: Place,
    /// What; a sentence about the place.
    pub problem: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for Damage {}

/// What an audit found, where nothing was damaged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audited {
    /// Entries.
    pub entries: u64,
    /// Entries without a body.
    pub erased: u64,
    /// Signed checkpoints that the entries lead to.
    pub checkpoints: u64,
    /// Entries behind the last checkpoint.
    pub unsigned: u64,
    /// The last checkpoint.
    pub last: Option<Checkpoint>,
}

/// An audit under way. It holds one frontier and the hashes of one tile, however long the ledger is.
#[derive(Clone, Debug)]
pub struct Audit {
    header: Arc<Header>,
    /// Signed checkpoints per log, the smallest first.
    signed: Arc<Vec<Vec<Checkpoint>>>,
    log: usize,
    frontier: Frontier,
    /// The hashes the next entries must have.
    tile: Arc<[TreeHash]>,
    next: u64,
    last_at: Option<Instant>,
    erased: u64,
    proved: u64,
}

impl Audit {
    /// Starts with a header; the signatures of its checkpoints are verified by its own keys.
    pub fn begin(header: Header) -> Result<Audit, Damage> {
        let mut signed = Vec::with_capacity(header.logs.len());
        for log in &header.logs {
            signed.push(checkpoints(log)?);
        }
        Ok(Audit {
            header: Arc::new(header),
            signed: Arc::new(signed),
            log: 0,
            frontier: Frontier::default(),
            tile: Arc::from([]),
            next: 0,
            last_at: None,
            erased: 0,
            proved: 0,
        })
    }

    /// What stands before the entries.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Index of the entry that comes next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Which log the next entry belongs to, from 0.
    pub fn log(&self) -> usize {
        if self.next == self.end() && self.log + 1 < self.header.logs.len() { self.log + 1 } else { self.log }
    }

    /// How many hashes have to come before the next entry; `None` if an entry, or nothing, comes next.
    pub fn wants_hashes(&self) -> Option<u16> {
        let (from, end) = match self.header.logs.get(self.log + 1) {
            Some(log) if log.from == self.next => (log.from, self.end_of(self.log + 1)),
            Some(_) | None => (self.from(), self.end()),
        };
        let within = self.next.checked_sub(from)? % u64::from(TILE_WIDTH);
        let left = end.saturating_sub(self.next).min(u64::from(TILE_WIDTH));
        (within == 0 && left > 0 && self.tile.is_empty()).then_some(left as u16)
    }

    /// Takes the hashes of the entries that come next.
    pub fn hashes(&mut self, hashes: Vec<TreeHash>) {
        self.tile = hashes.into();
    }

    /// Takes the next entry.
    pub fn entry(&mut self, entry: &Exported<'_>) -> Result<(), Damage> {
        let index = self.next;
        let damaged = |problem: &str| Damage { place: Place::Entry(index), problem: problem.to_owned() };
        if index >= self.header.size {
            return Err(damaged("it stands behind the last one"));
        }
        if index == self.end() {
            self.begin_log(entry)?;
        }
        let within = (index - self.from()) % u64::from(TILE_WIDTH);
        let hash = TreeHash::of_leaf(entry.leaf.as_bytes());
        if self.tile.get(within as usize) != Some(&hash) {
            return Err(damaged("its leaf does not have the hash that stands in its tile"));
        }
        if entry.leaf.len() > ENTRY_BYTES_MAX {
            return Err(damaged("its leaf is longer than an entry may be"));
        }
        self.judge(entry).map_err(damaged)?;
        self.frontier.append(hash).map_err(|_| damaged("the tree is full"))?;
        self.next = index + 1;
        if within + 1 == self.tile.len() as u64 {
            self.tile = Arc::from([]);
        }
        self.compare_roots()
    }

    /// Nothing comes any more.
    pub fn finish(&self) -> Result<Audited, Damage> {
        if self.next < self.header.size {
            let size = self.header.size;
            let problem = format!("it is missing: {} {} exported", counted(size, "entry"), was(size));
            return Err(Damage { place: Place::Entry(self.next), problem });
        }
        let own = self.signed.get(self.log).map(Vec::as_slice).unwrap_or_default();
        let last = own.last().cloned();
        let size = self.frontier.size();
        if let Some(beyond) = own.iter().find(|checkpoint| checkpoint.size() > size) {
            let size = beyond.size();
            let problem = format!("it is missing: {} {} signed", counted(size, "entry"), was(size));
            return Err(Damage { place: Place::Entry(self.next), problem });
        }
        let unsigned = size - last.as_ref().map_or(0, Checkpoint::size);
        Ok(Audited { entries: self.next, erased: self.erased, checkpoints: self.proved, unsigned, last })
    }

    fn from(&self) -> u64 {
        self.header.logs.get(self.log).map_or(0, |log| log.from)
    }

    fn end(&self) -> u64 {
        self.end_of(self.log)
    }

    fn end_of(&self, log: usize) -> u64 {
        self.header.logs.get(log + 1).map_or(self.header.size, |next| next.from)
    }

    /// Leaf and body belong together, and no entry is older than the one before it.
    fn judge(&mut self, entry: &Exported<'_>) -> Result<(), &'static str> {
        let leaf = Json::parse(entry.leaf.as_bytes()).map_err(|_| "its leaf is not JSON")?;
        if leaf.get("kind").and_then(Json::as_text) == Some("discontinuity") {
            return Ok(());
        }
        let at = leaf.get("at").and_then(Json::as_text).and_then(Instant::parse).ok_or("its leaf has no instant")?;
        if self.last_at.is_some_and(|last| at < last) {
            return Err("it is older than the one before it");
        }
        self.last_at = Some(at);
        match entry.body {
            None => self.erased += 1,
            Some((body, salt)) => {
                if leaf.get("body").and_then(Json::as_text) != Some(Sealed::digest(&salt, body).to_string().as_str()) {
                    return Err("its body does not have the digest that its leaf states");
                }
            }
        }
        Ok(())
    }

    fn begin_log(&mut self, entry: &Exported<'_>) -> Result<(), Damage> {
        let damaged = |problem: String| Damage { place: Place::Entry(self.next), problem };
        let declared = Discontinuity::parse(entry.leaf.as_bytes())
            .map_err(|problem| damaged(format!("a log starts here without a declaration: {problem}")))?;
        let origin = self.header.logs.get(self.log + 1).map(|log| log.keyring.origin());
        let kept = declared.kept();
        // Rows that were written after a part was lost belong to no log; then what is kept was signed earlier.
        let own = self.signed.get(self.log).map(Vec::as_slice).unwrap_or_default();
        let was_signed = own.iter().any(|one| one.size() == kept.size() && one.root() == kept.root());
        let is_all = kept.size() == self.frontier.size() && kept.root() == self.frontier.root();
        let is_kept = is_all || kept.size() < self.frontier.size() && (was_signed || kept.size() == 0);
        let before = self.header.logs.get(self.log).map(|log| log.keyring.origin());
        if origin != Some(declared.origin()) || before != Some(kept.origin()) || !is_kept {
            return Err(damaged("the declaration that starts this log is of another one".to_owned()));
        }
        let lost = self.signed.get(self.log).into_iter().flatten();
        if let Some(beyond) = lost.into_iter().find(|one| one.size() > declared.published().size()) {
            let signed = format!("{} {} signed", counted(beyond.size(), "entry"), was(beyond.size()));
            let problem = format!("{signed} before it, and it does not say so");
            return Err(damaged(problem));
        }
        self.log += 1;
        self.frontier = Frontier::default();
        Ok(())
    }

    fn compare_roots(&mut self) -> Result<(), Damage> {
        let size = self.frontier.size();
        for signed in self.signed.get(self.log).into_iter().flatten().filter(|signed| signed.size() == size) {
            let is_last = self.log + 1 == self.header.logs.len();
            if signed.root() != self.frontier.root() && !is_last {
                continue;
            }
            if signed.root() != self.frontier.root() {
                let problem = "they do not lead to the root that was signed".to_owned();
                return Err(Damage { place: Place::Below(self.next), problem });
            }
            self.proved += 1;
        }
        Ok(())
    }
}

/// The checkpoints of a log, verified.
fn checkpoints(log: &LogHead) -> Result<Vec<Checkpoint>, Damage> {
    let mut signed: Vec<Checkpoint> = Vec::with_capacity(log.checkpoints.len());
    for note in &log.checkpoints {
        let size = Checkpoint::parse(note.text()).map_or(0, |checkpoint| checkpoint.size());
        let damaged = |problem: String| Damage { place: Place::Checkpoint(size), problem };
        let trusted = log.keyring.verify(note).map_err(|problem| damaged(problem.to_string()))?;
        if let Some(key) = log.keyring.missing(&trusted).next() {
            return Err(damaged(format!("the key {} has to sign and did not", key.id())));
        }
        if signed.last().is_some_and(|last| last.size() >= size) {
            return Err(damaged("checkpoints are not in order".to_owned()));
        }
        signed.push(trusted.checkpoint);
    }
    Ok(signed)
}
