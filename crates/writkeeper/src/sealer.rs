//! Sealing in the background of whatever stays: off the path of decisions, which never wait for it.

use crate::error::Error;
use crate::restored::another_history;
use crate::sealing_turn::SealingTurn;
use crate::signing::{SigningSite, demand_own, remember_last};
use adapters::signer_file::FileSigner;
use runtime::ports::signer::{Signer, SignerFault};
use runtime::ports::store::{Reader, StoreFault};
use runtime::seal::{Seal, SealFault, demand_whole};
use runtime::sealing::{Hearer, Sealing};
use std::time::Duration;

/// Seals what a site commits, every so often, as long as its keys are there.
///
/// The first time before anything is decided: a history that is not the one that was published is an error.
pub fn start(site: SigningSite, every: Duration, heard: Hearer) -> Result<Sealing, Error> {
    let reader = site.reader()?;
    let turn = SealingTurn::of(&site)?;
    let mut turns = Turns { site, reader, turn, seal: None, seen: None };
    // What fails for another reason fails again, and is told then.
    if let Err(SealFault::Signer(SignerFault::Refused(refusal))) = turns.take()
        && refusal.is_another_history()
    {
        return Err(another_history(&turns.site.location, &refusal.to_string()));
    }
    Ok(Sealing::beside(Box::new(move || turns.take()), every, heard)?)
}

struct Turns {
    site: SigningSite,
    reader: Box<dyn Reader>,
    turn: SealingTurn,
    seal: Option<(u64, Seal)>,
    /// How many entries there were when everything was signed.
    seen: Option<u64>,
}

impl Turns {
    /// The keys are held for one checkpoint only: a person who types `ledger checkpoint` must not have to wait.
    fn take(&mut self) -> Result<bool, SealFault> {
        let committed = self.reader.size()?;
        if self.seen == Some(committed) {
            return Ok(false);
        }
        let opened = FileSigner::open_if_free(&self.site.folder).map_err(SealFault::Signer)?;
        let Some(mut signer) = opened else { return Ok(false) };
        demand_own(self.reader.as_mut(), &signer)?;
        demand_whole(&signer, &[], committed)?;
        // Another log may have started since.
        let from = signer.from();
        let mut seal = self.seal.take().filter(|(of, _)| *of == from).map_or_else(|| Seal::of(from), |(_, seal)| seal);
        let is_new = committed > from.saturating_add(signer.stated().size());
        // Whoever begins shows that what was published is of this ledger.
        if is_new || self.seen.is_none() && signer.stated().size() > 0 {
            if !self.turn.take()? {
                self.follow(&mut signer, &mut seal)?;
                self.seal = Some((from, seal));
                return Ok(false);
            }
            let introduced = self.site.introduce(self.reader.as_mut(), &mut signer, &mut seal);
            introduced.map_err(|error| SealFault::Store(StoreFault::Unavailable(error.to_string())))?;
            let note = seal.checkpoint(self.reader.as_mut(), &mut signer)?;
            self.turn.keep(from.saturating_add(signer.stated().size()), &note.to_string())?;
            remember_last(self.reader.as_mut(), &signer)?;
            signer.lay_out().map_err(SealFault::Signer)?;
        }
        self.seen = Some(from.saturating_add(signer.stated().size()));
        self.seal = Some((from, seal));
        Ok(is_new)
    }

    /// Remembers beside these keys what another holder of copies has signed, so that a database which comes back older is
    /// noticed on every machine that has them. The same keys make the same checkpoint, and it is not laid out.
    fn follow(&mut self, signer: &mut FileSigner, seal: &mut Seal) -> Result<(), SealFault> {
        let signed = self.turn.others_signed();
        let own = signer.from().saturating_add(signer.stated().size());
        if signed > own && signed <= self.reader.size()? {
            seal.checkpoint_over(self.reader.as_mut(), signer, signed)?;
            remember_last(self.reader.as_mut(), signer)?;
        }
        Ok(())
    }
}
