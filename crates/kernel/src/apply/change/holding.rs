//! Resources that a flow holds outside of a proposal: all of them or none, until it gives them back, ends, or their time
//! is over.

use super::flows::{closed, flow_row, may, unknown};
use super::inquiring::invalid;
use super::{ChangeOutcome, key, step_refused};
use crate::apply::known::resource_row;
use crate::change::{Change, Reservation};
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::reasons::Reason;
use crate::world::{Entity, FlowHold, FlowRow, Key, KeySet, ResourceRow, Row, World};
use std::collections::BTreeMap;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::time::Instant;

/// Flows that hold some of one resource at once; the row of a resource names each of them.
const HOLDERS_MAX: usize = 1_024;

/// Resources that one flow holds at once; ending a flow gives back each of them.
pub(crate) const HELD_MAX: usize = 256;

fn resource(change: &Change, name: &str) -> Key {
    key(change, Entity::Resource(name.to_owned()))
}

/// What taking or giving back touches: the flow, and the resources that are named or, where none is, all it holds.
pub(super) fn keys<'a>(world: &World, change: &Change, flow: &str, named: impl Iterator<Item = &'a String>) -> KeySet {
    let mut keys: KeySet = named.map(|name| resource(change, name)).collect();
    let held = flow_row(world, change, flow).map(|row| row.held.as_slice()).unwrap_or_default();
    keys.extend(held.iter().map(|name| resource(change, name)));
    keys.insert(key(change, Entity::Flow(flow.to_owned())));
    keys
}

pub(super) fn reserve(world: &mut World, change: &Change, wanted: &Reservation, at: Instant) -> ChangeOutcome {
    let flow = &wanted.flow;
    let Some(row) = flow_row(world, change, flow).filter(|row| may(change, row)) else { return unknown(flow) };
    if !row.state.is_open() {
        return closed(flow, row.state);
    }
    if let Some((field, problem)) = wanted.problem() {
        return invalid(&field, problem);
    }
    if wanted.until.is_some_and(|until| until <= at) {
        return invalid("until", "is over already".to_owned());
    }
    let mut row = row.clone();
    let mut taken: Vec<(String, ResourceRow)> = Vec::new();
    for (name, amount) in &wanted.wanted {
        let before = resource_row(world, &resource(change, name));
        match take(before, wanted, name, *amount, at) {
            Ok(after) => taken.push((name.clone(), after)),
            Err(finding) => return ChangeOutcome::refused(*finding),
        }
    }
    row.held.extend(wanted.wanted.keys().filter(|name| !row.held.contains(name)).cloned().collect::<Vec<_>>());
    row.held.sort();
    if row.held.len() > HELD_MAX {
        let problem = format!("a flow holds at most {HELD_MAX} resources");
        return ChangeOutcome::refused(step_refused(format!("flow `{flow}`"), "full", problem));
    }
    let held: BTreeMap<String, Decimal> = taken.iter().map(|(name, row)| (name.clone(), row.held_by(flow))).collect();
    for (name, row) in taken {
        world.put(resource(change, &name), Row::Resource(row));
    }
    world.put(key(change, Entity::Flow(flow.clone())), Row::Flow(row));
    ChangeOutcome::done(Event::Reserved { flow: flow.clone(), held, until: wanted.until })
}

/// The resource with the hold in it. What the flow has already is its own and adds to what it asks for.
fn take(
    mut row: ResourceRow,
    wanted: &Reservation,
    name: &str,
    amount: Decimal,
    at: Instant,
) -> Result<ResourceRow, Box<Finding>> {
    row.forget_expired(at);
    let flow = &wanted.flow;
    let (own, available) = (row.held_by(flow), wanted.available.get(name).copied().unwrap_or(Decimal::ZERO));
    let total = own.checked_add(amount);
    let others = if bugs::on(Bug::W02HeldIgnored) { Some(Decimal::ZERO) } else { row.held_by_others(flow, at) };
    let free = others.and_then(|others| available.checked_sub(others));
    let fits = |free: Option<Decimal>| matches!((total, free), (Some(total), Some(free)) if total <= free);
    if !fits(free) {
        // More than there is never fits; what only the others are in the way of may fit later.
        let reason = if fits(Some(available)) { Reason::ResourceContention } else { Reason::ResourceInsufficient };
        let left = free.map_or(values::json::Json::text("nothing"), values::json::Json::from);
        let finding = Finding::reject(Gate::Reservations, reason).field(name).with("resource", name);
        return Err(Box::new(finding.with("free", left).with("capacity", available).with("amount", amount)));
    }
    let total = total.unwrap_or(own);
    let until = wanted.until;
    if row.flows.len() >= HOLDERS_MAX && !row.flows.contains_key(flow) {
        let problem = format!("{HOLDERS_MAX} flows hold some of it");
        return Err(Box::new(step_refused(format!("resource `{name}`"), "full", problem)));
    }
    row.flows.insert(flow.clone(), FlowHold { amount: total, until });
    Ok(row)
}

pub(super) fn release(world: &mut World, change: &Change, flow: &str, named: &[String]) -> ChangeOutcome {
    let Some(row) = flow_row(world, change, flow).filter(|row| may(change, row)) else { return unknown(flow) };
    let mut row = row.clone();
    let is_meant = |name: &String| named.is_empty() || named.contains(name);
    let (released, held) = row.held.drain(..).partition(is_meant);
    row.held = held;
    give_back(world, change, flow, &released);
    world.put(key(change, Entity::Flow(flow.to_owned())), Row::Flow(row));
    ChangeOutcome::done(Event::Released { flow: flow.to_owned(), resources: released })
}

/// An ended flow holds nothing.
pub(super) fn release_all(world: &mut World, change: &Change, flow: &str, row: &mut FlowRow) {
    let held = std::mem::take(&mut row.held);
    give_back(world, change, flow, &held);
}

fn give_back(world: &mut World, change: &Change, flow: &str, names: &[String]) {
    for name in names {
        let key = resource(change, name);
        let Some(row) = world.resource(&key).filter(|row| row.flows.contains_key(flow)) else { continue };
        let mut row = row.clone();
        row.flows.remove(flow);
        world.put(key, Row::Resource(row));
    }
}

#[cfg(test)]
mod tests;
