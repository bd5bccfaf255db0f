//! Sealing: the tree over what is committed, and the checkpoints signed over it.
//!
//! A decision never waits for this and knows nothing of it. Everything here is a function of the rows of the ledger, so
//! whatever a crash interrupts is simply done again.

use crate::crash::around;
use crate::mint::Minted;
use crate::ports::signer::{Signer, SignerFault, Stated};
use crate::ports::store::{BatchId, Reader, Store, StoreFault, StoredRecord, one_step};
use ledger::bundle;
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::edge::{Edge, Tile};
use ledger::keyring::Keyring;
use ledger::merkle::{Frontier, Node, TreeHash};
use ledger::note::Note;
use ledger::proof::{ProofProblem, consistency_needs, inclusion_needs, prove_consistency, prove_inclusion, root_needs};
use ledger::publish::{SignRefusal, latest};
use ledger::receipt::{Companion, Receipt};
use ledger::tile_path::{TILE_WIDTH, TileKind, TilePath};
use std::collections::BTreeMap;
use std::fmt;
use values::bugs::{self, Bug};
use values::sealed::Sealed;

/// Records read at a time; as many as a tile holds.
const PAGE: usize = TILE_WIDTH as usize;

/// Why nothing was sealed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SealFault {
    /// The store cannot be read.
    Store(StoreFault),
    /// The signer does not sign.
    Signer(SignerFault),
    /// The ledger has no such entry.
    NoEntry(u64),
}

impl fmt::Display for SealFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SealFault::Store(fault) => fault.fmt(formatter),
            SealFault::Signer(fault) => fault.fmt(formatter),
            SealFault::NoEntry(index) => write!(formatter, "the sealed ledger has no entry {index}"),
        }
    }
}

impl std::error::Error for SealFault {}

impl From<StoreFault> for SealFault {
    fn from(fault: StoreFault) -> SealFault {
        SealFault::Store(fault)
    }
}

/// The right edge of a log's tree, as far as it was read.
#[derive(Clone, Debug)]
pub struct Seal {
    from: u64,
    frontier: Frontier,
    /// Leaves that a writer is about to commit. Nothing of them is ever signed before it was read back.
    announced: Vec<String>,
}

impl Seal {
    /// Of a log whose first entry has this index in the ledger.
    pub fn of(from: u64) -> Seal {
        Seal { from, frontier: Frontier::default(), announced: Vec::new() }
    }

    /// How many entries of the log were read.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// A writer says what it is about to commit; whether it will be is not known.
    pub fn announce(&mut self, leaves: impl IntoIterator<Item = String>) {
        self.announced = leaves.into_iter().collect();
    }

    /// Signs a checkpoint over everything that is committed. Values are read back from the store, whatever the writer
    /// believes to have written.
    pub fn checkpoint(&mut self, reader: &mut dyn Reader, signer: &mut dyn Signer) -> Result<Note, SealFault> {
        let committed = reader.size()?;
        self.checkpoint_over(reader, signer, committed)
    }

    /// The same over the first entries of the ledger only: what another holder of the keys has signed.
    pub fn checkpoint_over(
        &mut self,
        reader: &mut dyn Reader,
        signer: &mut dyn Signer,
        committed: u64,
    ) -> Result<Note, SealFault> {
        let last = signer.stated().size();
        let Some(size) = committed.checked_sub(self.from).filter(|size| *size >= last) else {
            let next = committed.saturating_sub(self.from);
            return Err(SealFault::Signer(SignerFault::Refused(SignRefusal::Below { published: last, next })));
        };
        let proof = match signer.stated() {
            Stated::Nothing => self.extend(reader, size, &[]).map(|_| Vec::new())?,
            Stated::Signed(_) if last == 0 => self.extend(reader, size, &[]).map(|_| Vec::new())?,
            Stated::Signed(_) => self.growth(reader, last, size)?,
            Stated::Declared(_) => self.inclusion(reader, 0, size)?,
        };
        if bugs::on(Bug::SignBeforeCommit) {
            for leaf in std::mem::take(&mut self.announced) {
                let _ = self.frontier.append(TreeHash::of_leaf(leaf.as_bytes()));
            }
        }
        let next = Checkpoint::new(signer.keyring().origin(), self.frontier.size(), self.frontier.root());
        let next = next.map_err(|problem| StoreFault::Corrupt(problem.to_string()))?;
        around("seal.sign", || signer.sign(next, &proof)).map_err(SealFault::Signer)
    }

    /// Proof that the tree of `size` entries continues the one of `last`.
    fn growth(&mut self, reader: &mut dyn Reader, last: u64, size: u64) -> Result<Vec<TreeHash>, SealFault> {
        // What lies left of the last checkpoint is known only from its own edge.
        if self.size() != last {
            self.frontier = Frontier::default();
        }
        let needs = consistency_needs(last, size).map_err(unprovable)?;
        let nodes = self.extend(reader, size, &needs)?;
        prove_consistency(&|node| nodes.get(&node).copied(), last, size).map_err(unprovable)
    }

    fn inclusion(&mut self, reader: &mut dyn Reader, index: u64, size: u64) -> Result<Vec<TreeHash>, SealFault> {
        self.frontier = Frontier::default();
        let needs = inclusion_needs(index, size).map_err(unprovable)?;
        let nodes = self.extend(reader, size, &needs)?;
        prove_inclusion(&|node| nodes.get(&node).copied(), index, size).map_err(unprovable)
    }

    /// Reads the log up to a size; the hashes of the needed nodes that it passes, and of those at the edge it starts at.
    fn extend(
        &mut self,
        reader: &mut dyn Reader,
        size: u64,
        needs: &[Node],
    ) -> Result<BTreeMap<Node, TreeHash>, SealFault> {
        let edge = root_needs(self.size()).into_iter().zip(self.frontier.hashes().iter().copied());
        let mut nodes: BTreeMap<Node, TreeHash> = edge.collect();
        let needs: std::collections::BTreeSet<Node> = needs.iter().copied().collect();
        while self.size() < size {
            for record in page(reader, self.from, self.size(), size)? {
                let watch = |node, hash| {
                    if needs.contains(&node) {
                        nodes.insert(node, hash);
                    }
                };
                let appended = self.frontier.append_watched(TreeHash::of_leaf(record.leaf.as_bytes()), watch);
                appended.map_err(|full| StoreFault::Refused(full.to_string()))?;
            }
        }
        Ok(nodes)
    }
}

/// What a receipt is to prove, by indices of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The entry it is for.
    pub entry: u64,
    /// Entries of the same matter that it carries too.
    pub companions: Vec<u64>,
}

/// Receipts for entries of a log, under a checkpoint: one pass over the leaves, however many are asked for.
///
/// Each receipt carries leaf, body and salt, so that it can be checked alone.
pub fn receipts(
    reader: &mut dyn Reader,
    from: u64,
    keyring: &Keyring,
    note: &Note,
    wanted: &[Wanted],
) -> Result<Vec<Receipt>, SealFault> {
    let size = Checkpoint::parse(note.text()).map_or(0, |checkpoint| checkpoint.size());
    let mut needs = Vec::new();
    for index in wanted.iter().flat_map(|wanted| std::iter::once(&wanted.entry).chain(&wanted.companions)) {
        needs.extend(inclusion_needs(*index, size).map_err(|_| SealFault::NoEntry(*index))?);
    }
    let mut seal = Seal::of(from);
    let nodes = seal.extend(reader, size, &needs)?;
    let mut proved = |index: u64| {
        let proof = prove_inclusion(&|node| nodes.get(&node).copied(), index, size).map_err(unprovable)?;
        let record = reader.records(from.saturating_add(index), 1)?.pop().ok_or(SealFault::NoEntry(index))?;
        Ok::<Companion, SealFault>(Companion { index, proof, leaf: record.leaf, body: record.body })
    };
    let mut made = Vec::with_capacity(wanted.len());
    for Wanted { entry, companions } in wanted {
        let own = proved(*entry)?;
        let companions = companions.iter().map(|index| proved(*index)).collect::<Result<Vec<_>, _>>()?;
        let receipt = Receipt::new(*entry, own.proof, note.clone()).ok_or(SealFault::NoEntry(*entry))?;
        let body = own.body.as_ref().map(|(body, salt)| (body.as_str(), *salt));
        made.push(receipt.carrying(&own.leaf, body, keyring, &companions));
    }
    Ok(made)
}

/// Lays a log out as tiles and entry bundles. A pure function of its rows: whoever publishes twice publishes the same.
pub fn tiles(
    reader: &mut dyn Reader,
    from: u64,
    size: u64,
    publish: &mut dyn FnMut(&Tile) -> Result<(), String>,
) -> Result<(), SealFault> {
    let mut edge = Edge::default();
    let refused = |problem: String| SealFault::Store(StoreFault::Refused(problem));
    // What cannot be written now may be written later: a full disk, mostly.
    let unwritten = |problem: String| SealFault::Store(StoreFault::Unavailable(problem));
    while edge.size() < size {
        let start = edge.size();
        let records = page(reader, from, start, size)?;
        let leaves: Vec<&[u8]> = records.iter().map(|record| record.leaf.as_bytes()).collect();
        let bytes = bundle::to_bytes(&leaves).map_err(|problem| refused(problem.to_string()))?;
        let index = start / u64::from(TILE_WIDTH);
        let path = TilePath::new(TileKind::Entries, index, leaves.len() as u16);
        let path = path.ok_or_else(|| refused("the ledger is full".to_owned()))?;
        around("publish.tile", || publish(&Tile { path, bytes })).map_err(unwritten)?;
        for leaf in leaves {
            let filled = edge.append(TreeHash::of_leaf(leaf)).map_err(|full| refused(full.to_string()))?;
            filled.iter().try_for_each(&mut *publish).map_err(unwritten)?;
        }
    }
    edge.partial_tiles().iter().try_for_each(publish).map_err(unwritten)
}

/// Appends the declaration of a discontinuity, as the first entry of the log it starts; its index.
pub fn append_declaration(store: &mut dyn Store, declared: &Discontinuity) -> Result<u64, StoreFault> {
    let entry = String::from_utf8(declared.entry()).map_err(|error| StoreFault::Refused(error.to_string()))?;
    let sealed = Sealed { leaf: entry.clone(), body: entry, salt: Minted::salt() };
    let committed = store.transact(BatchId(Minted::batch()), Vec::new(), &mut one_step(|_, _| vec![sealed]))?;
    Ok(committed.first)
}

/// The largest checkpoint anyone is known to hold must not be larger than the ledger: otherwise entries were lost.
pub fn demand_whole(signer: &dyn Signer, published: &[&Checkpoint], committed: u64) -> Result<(), SealFault> {
    let refused = |refusal| SealFault::Signer(SignerFault::Refused(refusal));
    let own = match signer.stated() {
        Stated::Signed(note) => Checkpoint::parse(note.text()).ok(),
        Stated::Nothing | Stated::Declared(_) => None,
    };
    let seen: Vec<&Checkpoint> = published.iter().copied().chain(own.as_ref()).collect();
    let next = committed.saturating_sub(signer.from());
    if matches!(signer.stated(), Stated::Declared(_)) && next == 0 {
        // The declaration itself is gone.
        return Err(refused(SignRefusal::Below { published: 1, next }));
    }
    match latest(&seen).map_err(refused)? {
        Some(last) if last.size() > next => Err(refused(SignRefusal::Below { published: last.size(), next })),
        Some(_) | None => Ok(()),
    }
}

/// The next records of a log, at most to the end of a tile.
pub(crate) fn page(reader: &mut dyn Reader, from: u64, start: u64, size: u64) -> Result<Vec<StoredRecord>, StoreFault> {
    let aligned = PAGE - (start % PAGE as u64) as usize;
    let left = usize::try_from(size.saturating_sub(start)).unwrap_or(usize::MAX).min(aligned);
    let first = from.saturating_add(start);
    let records = reader.records(first, left)?;
    let is_whole = records.len() == left && (first..).zip(&records).all(|(index, record)| record.index == index);
    if is_whole { Ok(records) } else { Err(StoreFault::Corrupt(format!("the ledger has a gap behind {first}"))) }
}

fn unprovable(problem: ProofProblem) -> SealFault {
    SealFault::Signer(SignerFault::Refused(SignRefusal::NotContinued(problem)))
}
