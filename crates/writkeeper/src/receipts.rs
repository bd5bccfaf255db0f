//! Receipts: one text per decision that a stranger can check.

use crate::entries::{entries_of, entry_of, entry_of_agent};
use crate::error::Error;
use crate::matter::companions;
use crate::signing::{SealedHead, SigningSite};
use ledger::receipt::{COMPANIONS_MAX, Receipt};
use runtime::ports::store::Reader;
use runtime::seal::{Wanted, receipts};

impl SigningSite {
    /// Seals what is committed and makes the receipt of one id: a proposal, an intent, a question, or an entry.
    pub fn receipt(&self, id: &str) -> Result<Option<Receipt>, Error> {
        Ok(self.receipts(&self.head()?, &[id.to_owned()])?.pop())
    }

    /// Makes a receipt for each id under a checkpoint: of a proposal, an intent, a question, a flow, or an index. A proposal
    /// that was sent several times is the one that most came of; an id under which several agents sent one is ambiguous.
    pub fn receipts(&self, head: &SealedHead, ids: &[String]) -> Result<Vec<Receipt>, Error> {
        let mut reader = self.reader()?;
        let entries: Vec<u64> = ids.iter().map(|id| entry_of(reader.as_mut(), id)).collect::<Result<_, Error>>()?;
        made(reader.as_mut(), head, ids, &entries)
    }

    /// The receipts of what an agent sent or did itself under whole ids, which other agents may have chosen too.
    pub fn receipts_of_agent(&self, head: &SealedHead, agent: &str, ids: &[String]) -> Result<Vec<Receipt>, Error> {
        let mut reader = self.reader()?;
        let ids: Vec<&str> = ids.iter().map(|id| id.strip_prefix('=').unwrap_or(id)).collect();
        let entry = |id: &&str| entry_of_agent(reader.as_mut(), agent, id);
        let entries: Vec<u64> = ids.iter().map(entry).collect::<Result<_, Error>>()?;
        let ids: Vec<String> = ids.iter().map(|id| format!("={id}")).collect();
        made(reader.as_mut(), head, &ids, &entries)
    }

    /// The same for decisions that were made just now: each receipt is of the latest record that tells of the id, and the
    /// ledger is read once for all.
    pub fn latest_receipts(&self, head: &SealedHead, ids: &[String]) -> Result<Vec<Receipt>, Error> {
        let mut reader = self.reader()?;
        let entries = entries_of(reader.as_mut(), ids)?;
        made(reader.as_mut(), head, ids, &entries)
    }
}

fn made(reader: &mut dyn Reader, head: &SealedHead, ids: &[String], entries: &[u64]) -> Result<Vec<Receipt>, Error> {
    // An entry that was asked for by its number is meant alone.
    let with_matter = ids.iter().zip(entries).filter(|(id, _)| !is_index(id)).map(|(_, index)| *index);
    let mut companions = companions(reader, &with_matter.collect::<Vec<_>>())?.into_iter();
    let mut wanted = Vec::with_capacity(ids.len());
    for (id, index) in ids.iter().zip(entries.iter().copied()) {
        let ended = || Error::Invalid(format!("entry {index} is of a log that ended; only its exports prove it"));
        let entry = index.checked_sub(head.from).ok_or_else(ended)?;
        let mut companions = if is_index(id) { Vec::new() } else { companions.next().unwrap_or_default() };
        companions.truncate(COMPANIONS_MAX);
        let companions = companions.into_iter().filter_map(|index| index.checked_sub(head.from)).collect();
        wanted.push(Wanted { entry, companions });
    }
    Ok(receipts(reader, head.from, &head.keyring, &head.note, &wanted)?)
}

fn is_index(id: &str) -> bool {
    id.parse::<u64>().is_ok()
}
