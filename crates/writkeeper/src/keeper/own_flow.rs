//! What an agent does in its own flow besides proposing: it asks a person, holds resources, and leaves notes.

use super::{Keeper, carried_out};
use crate::error::Error;
use kernel::agent::Actor;
use kernel::change::{Act, Inquiry, Reservation};
use kernel::finding::Code;
use kernel::reasons::Reason;
use kernel::world::{Entity, ResourceRow, Row};
use runtime::Answered;
use std::time::{Duration, Instant};
use values::json::Object;

/// How often somebody who waits for a resource looks whether it moved.
const LOOK: Duration = Duration::from_millis(50);

/// How long somebody who cannot look waits before the next try.
const BLIND: Duration = Duration::from_secs(1);

impl Keeper {
    /// Asks a person on the agent's own request. The same budget, deadline and rules of answering count as for a proposal
    /// that a gate asks about; an approved proposal is judged again and becomes an intent.
    pub fn ask(&self, actor: &Actor, inquiry: Inquiry) -> Result<Answered, Error> {
        carried_out(self.runtime().ask(actor.clone(), inquiry))
    }

    /// Takes resources for a flow, all or none. What only other flows are in the way of is waited for; when that time is
    /// over the error is RESOURCE_CONTENTION.
    pub fn reserve(&self, actor: &Actor, wanted: &Reservation, wait: Duration) -> Result<Answered, Error> {
        let until = Instant::now() + wait;
        loop {
            // Who may not look, such as an agent of a service, tries again now and then.
            let seen = self.holders(wanted).ok();
            let tried = carried_out(self.runtime().change(actor.clone(), Act::Reserve(wanted.clone())));
            let Err(Error::Refused(findings)) = tried else { return tried };
            if !findings.iter().any(is_contention) {
                return Err(Error::Refused(findings));
            }
            let retry = Instant::now() + BLIND;
            // Trying again before anything moved would only write the same refusal again.
            while seen.is_none() && Instant::now() < retry || seen.is_some() && self.holders(wanted).ok() == seen {
                if Instant::now() >= until {
                    return Err(Error::Refused(findings));
                }
                std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
            }
        }
    }

    /// Who holds what of the resources at this moment.
    fn holders(&self, wanted: &Reservation) -> Result<Vec<Option<ResourceRow>>, Error> {
        let now = self.now();
        let row = |name: &String| {
            let Some(Row::Resource(mut row)) = self.runtime().read(Entity::Resource(name.clone()))? else {
                return Ok(None);
            };
            row.forget_expired(now);
            Ok(Some(row))
        };
        wanted.wanted.keys().map(row).collect()
    }

    /// Gives back what a flow holds: the named resources, or all.
    pub fn release(&self, actor: &Actor, flow: &str, resources: Vec<String>) -> Result<Answered, Error> {
        carried_out(self.runtime().change(actor.clone(), Act::Release { flow: flow.to_owned(), resources }))
    }

    /// Writes something down in a flow under a name; its timeline shows it and nothing follows from it.
    pub fn note(&self, actor: &Actor, flow: &str, name: &str, details: Object) -> Result<Answered, Error> {
        let (flow, name) = (flow.to_owned(), name.to_owned());
        carried_out(self.runtime().change(actor.clone(), Act::Note { flow, name, details }))
    }
}

fn is_contention(finding: &kernel::finding::Finding) -> bool {
    finding.code == Code::Known(Reason::ResourceContention)
}
