//! Reservations: all or nothing, last of all gates. Checked here, held only if the verdict is ACCEPT.

use crate::contract::Amount;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::request::{Number, Request};
use crate::world::ResourceRow;
use std::collections::BTreeMap;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::Json;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (resource, amount) in wanted(&facts.request) {
        let Some(declared) = facts.request.compiled.contract.resources.get(resource) else { continue };
        let known = facts.resources.get(resource).filter(|_| !bugs::on(Bug::W02HeldIgnored));
        let row = known.cloned().unwrap_or(ResourceRow::UNTOUCHED);
        let free = row.free_for(facts.flow_id, declared.capacity, facts.at);
        let enough = matches!((free, amount), (Some(free), Some(amount)) if amount <= free);
        let refused = amount.is_none_or(|amount| amount <= Decimal::ZERO);
        if enough || refused {
            // Amounts that are not positive numbers have been refused by shape or limits.
            continue;
        }
        let finding = Finding::reject(Gate::Reservations, Reason::ResourceInsufficient).field(resource);
        findings.push(
            finding
                .with("resource", resource)
                .with("free", free.map_or(Json::text("nothing"), Json::from))
                .with("capacity", declared.capacity)
                .with("amount", amount.map_or(Json::Null, Json::from)),
        );
    }
}

/// What the action takes from each resource; `None` where that is not a number.
pub fn wanted<'a>(request: &Request<'a>) -> BTreeMap<&'a str, Option<Decimal>> {
    let mut totals: BTreeMap<&str, Option<Decimal>> = BTreeMap::new();
    let reserves = request.action().map(|action| action.rules.reserves.as_slice()).unwrap_or_default();
    for reserve in reserves {
        let amount = match &reserve.amount {
            Amount::Fixed(amount) => Some(*amount),
            Amount::Param(name) => match request.number(name) {
                Number::Is(amount, _) => Some(amount),
                Number::Missing | Number::Not(_) => None,
            },
        };
        let total = totals.entry(reserve.resource.as_str()).or_insert(Some(Decimal::ZERO));
        *total = total.zip(amount).and_then(|(total, amount)| total.checked_add(amount));
    }
    totals
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn capacity_is_never_exceeded() {
        let case = case().reserve("pool", 100, "amount").amount(40);
        let case = case.check("ACCEPT").check("ACCEPT").check("REJECT RESOURCE_INSUFFICIENT");
        case.amount(20).check("ACCEPT").amount(1).check("REJECT RESOURCE_INSUFFICIENT");
    }

    #[test]
    fn a_negative_amount_creates_no_capacity() {
        let case = case().reserve("pool", 100, "amount").params(r#"{"amount":-1000}"#);
        case.check("REJECT LIMIT_BELOW_MINIMUM")
            .amount(100)
            .check("ACCEPT")
            .amount(1)
            .check("REJECT RESOURCE_INSUFFICIENT");
    }
}
