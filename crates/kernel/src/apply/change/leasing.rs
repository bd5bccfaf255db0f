//! Leases as commands: the book is loaded, changed and kept as one row.

use super::{ChangeOutcome, key, not_authorized, step_refused};
use crate::agent::Actor;
use crate::change::Change;
use crate::change::leasing::Leasing;
use crate::event::{Event, GrantedLease, LeaseEnd, LeaseTerms};
use crate::finding::{Finding, Gate};
use crate::lease::book::{Acquisition, LeaseBook, LeaseLoss, Refusal};
use crate::lease::fence::Fence;
use crate::lease::kept::{BOOK, BOOK_BYTES_MAX};
use crate::lease::region::Region;
use crate::lease::{EndedLease, Lease, Party, Request};
use crate::reasons::Reason;
use crate::world::{Entity, Row, StateRow, World};
use values::time::Instant;

/// Leases that ended for another and are told by their numbers; a record need not tell all of them.
const ENDED_TOLD_MAX: usize = 16;

/// Where the book is kept.
pub(super) fn book() -> Entity {
    Entity::State(BOOK.to_owned())
}

pub(super) fn carry_out(world: &mut World, change: &Change, leasing: &Leasing, at: Instant) -> ChangeOutcome {
    if let Some(finding) = forbidden(change, leasing) {
        return ChangeOutcome::refused(finding);
    }
    let (mut book, version) = match loaded(world, change) {
        Ok(loaded) => loaded,
        Err(finding) => return ChangeOutcome::refused(finding),
    };
    let event = match leasing {
        Leasing::Acquire { .. } => acquire(&mut book, leasing, at),
        Leasing::Heartbeat { holder, fence } => heartbeat(&mut book, holder, *fence, at),
        Leasing::Release { holder, fence } => release(&mut book, holder, *fence),
        Leasing::Evict { fence, because } => evict(&mut book, change, *fence, because),
        Leasing::Adopt { fence, heir, .. } => adopt(&mut book, change, *fence, heir, at),
    };
    let event = match event {
        Ok(event) => event,
        Err(finding) => return ChangeOutcome::refused(*finding),
    };
    let value = book.to_json();
    if value.to_canonical().len() > BOOK_BYTES_MAX {
        let problem = format!("all leases together may take {BOOK_BYTES_MAX} bytes");
        return ChangeOutcome::refused(step_refused("the book of leases".to_owned(), "full", problem));
    }
    world.put(key(change, self::book()), Row::State(StateRow { value, version: version.saturating_add(1) }));
    ChangeOutcome::done(event)
}

/// An agent acts for itself and its own sessions; taking away and handing over is for operators.
fn forbidden(change: &Change, leasing: &Leasing) -> Option<Finding> {
    let holder = match leasing {
        Leasing::Acquire { holder, .. } | Leasing::Heartbeat { holder, .. } | Leasing::Release { holder, .. } => {
            Some(holder)
        }
        Leasing::Evict { .. } | Leasing::Adopt { .. } => None,
    };
    let own = |name: &str, holder: &str| {
        holder.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let may = match (&change.actor, holder) {
        (Actor::Operator(_), _) => true,
        (Actor::Agent(name), Some(holder)) => own(name, holder),
        (Actor::Agent(_), None) | (Actor::Monitor(_) | Actor::Kernel, _) => false,
    };
    let what = match holder {
        Some(holder) => format!("hold regions as `{holder}`"),
        None => "take leases from others".to_owned(),
    };
    (!may).then(|| not_authorized(change, what))
}

fn loaded(world: &World, change: &Change) -> Result<(LeaseBook, u64), Finding> {
    let Some(row) = world.state(&key(change, book())) else { return Ok((LeaseBook::default(), 0)) };
    match LeaseBook::from_json(&row.value) {
        Some(book) => Ok((book, row.version)),
        None => Err(step_refused("the book of leases".to_owned(), "damaged", "it cannot be read".to_owned())),
    }
}

fn invalid(field: &str, problem: String) -> Box<Finding> {
    Box::new(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(field).with("problem", problem))
}

fn party(name: &str) -> Result<Party, Box<Finding>> {
    Party::parse(name).map_err(|problem| invalid("holder", format!("is a name that {problem}")))
}

fn acquire(book: &mut LeaseBook, leasing: &Leasing, at: Instant) -> Result<Event, Box<Finding>> {
    let Leasing::Acquire { holder, mode, regions, ttl } = leasing else {
        return Err(invalid("lease", "is no request".to_owned()));
    };
    let region = |text: &String| {
        Region::from_text(text).map_err(|fault| invalid("regions", format!("has `{text}`, which {fault}")))
    };
    let regions: Vec<Region> = regions.iter().map(region).collect::<Result<_, _>>()?;
    let request = Request::new(party(holder)?, *mode, regions, *ttl);
    let request = request.map_err(|fault| invalid("lease", format!("has {fault}")))?;
    let acquired = book.acquire(&request, at);
    granted(book, acquired)
}

fn granted(book: &LeaseBook, acquired: Acquisition) -> Result<Event, Box<Finding>> {
    match acquired {
        Acquisition::Granted { fence, ended, .. } => Ok(held_now(book, fence, false, &ended)),
        Acquisition::Renewed { fence, .. } => Ok(held_now(book, fence, true, &[])),
        Acquisition::Refused(Refusal::Held { by, more }) => {
            let first = by.first().and_then(|fence| book.lease(*fence));
            Err(Box::new(held(Gate::Agent, first, by.len(), more)))
        }
        Acquisition::Refused(refusal @ (Refusal::Full | Refusal::NoFenceLeft)) => {
            Err(Box::new(step_refused("the book of leases".to_owned(), "full", refusal.to_string())))
        }
    }
}

/// Who stands in the way.
fn held(gate: Gate, lease: Option<&Lease>, count: usize, more: bool) -> Finding {
    let finding = Finding::reject(gate, Reason::RegionLeased);
    let Some(lease) = lease else { return finding };
    let others = if count > 1 || more { ", and others hold parts of it" } else { "" };
    let region = lease.regions.first().map(Region::to_text).unwrap_or_default();
    finding
        .with("region", region)
        .with("holder", lease.holder.as_str())
        .with("fence", lease.fence.to_string())
        .with("until", lease.expires_at.to_string())
        .with("others", others)
}

fn held_now(book: &LeaseBook, fence: Fence, renewed: bool, ended: &[EndedLease]) -> Event {
    Event::LeaseGranted(GrantedLease {
        fence,
        renewed,
        terms: book.lease(fence).map(LeaseTerms::of),
        ended: ended.iter().take(ENDED_TOLD_MAX).map(|ended| ended.lease.fence).collect(),
        ended_count: ended.len() as u64,
    })
}

fn lost(fence: Fence, holder: &str, problem: LeaseLoss) -> Box<Finding> {
    let finding = Finding::reject(Gate::Agent, Reason::LeaseLost);
    Box::new(finding.with("fence", fence.to_string()).with("holder", holder).with("problem", problem.to_string()))
}

fn heartbeat(book: &mut LeaseBook, holder: &str, fence: Fence, at: Instant) -> Result<Event, Box<Finding>> {
    let renewed = book.heartbeat(&party(holder)?, fence, at);
    renewed.map_err(|problem| lost(fence, holder, problem))?;
    Ok(held_now(book, fence, true, &[]))
}

fn release(book: &mut LeaseBook, holder: &str, fence: Fence) -> Result<Event, Box<Finding>> {
    let ended = book.release(&party(holder)?, fence);
    ended.map(|ended| Event::LeaseReleased(over(&ended))).map_err(|problem| lost(fence, holder, problem))
}

fn evict(book: &mut LeaseBook, change: &Change, fence: Fence, because: &str) -> Result<Event, Box<Finding>> {
    let operator = party(operator(change))?;
    let ended = book.evict(fence, &operator, because);
    ended.map(|ended| Event::LeaseEvicted(over(&ended))).map_err(|problem| lost(fence, "anybody", problem))
}

fn adopt(book: &mut LeaseBook, change: &Change, fence: Fence, heir: &str, at: Instant) -> Result<Event, Box<Finding>> {
    let (heir, operator) = (party(heir)?, party(operator(change))?);
    let acquired = book.adopt(fence, &heir, &operator, at).map_err(|problem| lost(fence, heir.as_str(), problem))?;
    granted(book, acquired)
}

fn operator(change: &Change) -> &str {
    match &change.actor {
        Actor::Operator(name) | Actor::Agent(name) | Actor::Monitor(name) => name,
        Actor::Kernel => "kernel",
    }
}

fn over(ended: &EndedLease) -> LeaseEnd {
    LeaseEnd { fence: ended.lease.fence, holder: ended.lease.holder.as_str().to_owned() }
}
