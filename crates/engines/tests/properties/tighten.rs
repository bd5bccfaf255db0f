//! Contracts made tighter in one place, judged in the same world as the looser ones.

use crate::contracts::{AMOUNTS, Made, made};
use crate::proposals::{CONTEXT, Line};
use kernel::apply::apply;
use kernel::command::{Command, MintedIds, Submission};
use kernel::context::Context;
use kernel::outcome::{Answer, Done, Outcome, Verdict};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::world::World;
use proptest::test_runner::TestCaseError;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::{Digest, TENANT_DEFAULT};
use values::json::{Json, Object};
use values::time::Instant;

/// A way to make a contract tighter; the number chooses among its variants. `None` if there is nothing to tighten.
type Way = fn(&mut Object, u64) -> Option<()>;

/// Every way, by name. Naming a unit is none: amounts in that unit were refused before.
pub const WAYS: &[(&str, Way)] = &[
    ("a lower maximum", |contract, choice| bound(contract, choice, "max", Decimal::min)),
    ("a higher minimum", |contract, choice| bound(contract, choice, "min", Decimal::max)),
    ("no negative numbers", |contract, choice| limit(contract, choice, "amount")?.remove("signed").map(drop)),
    ("a set", |contract, choice| {
        let allowed = Json::List(vec![Json::text("late"), Json::text("ann")]);
        limit(contract, choice, ["kind", "payee"][index(choice, 2)])?.entry("allowed".to_owned()).or_insert(allowed);
        Some(())
    }),
    ("a denial", |contract, choice| {
        let limit = limit(contract, choice, ["kind", "payee"][index(choice, 2)])?;
        list(limit, "denied")?.extend(["mallory", "lost", "x", "ann"].map(Json::text));
        limit.insert("match".to_owned(), Json::text("substring"));
        Some(())
    }),
    ("agreement with state", |contract, choice| {
        let state = Json::object([("key", Json::text("limit")), ("tolerance", Json::text("exact"))]);
        limit(contract, choice, "amount")?.entry("state".to_owned()).or_insert(state);
        Some(())
    }),
    ("a refusal", |contract, choice| {
        let when = ["params.amount > 9", "has(params.payee)", "state.limit > 1", "params.fee > 1"][index(choice, 4)];
        let rule = Json::object([("when", Json::text(when)), ("reason", Json::text("NOT_ALLOWED"))]);
        list(action(contract, choice)?, "refuse")?.push(rule);
        Some(())
    }),
    ("less allowed", |contract, choice| {
        // What `allow` names passes before questions are asked: a first `allow` beside questions widens.
        let action = action(contract, choice)?;
        let old = action.get("allow").and_then(Json::as_text).map(str::to_owned);
        let old = if list(action, "ask")?.is_empty() { old.unwrap_or_else(|| "true".to_owned()) } else { old? };
        action.insert("allow".to_owned(), Json::text(format!("({old}) && params.amount < 10")));
        Some(())
    }),
    ("a question", |contract, choice| {
        let rule = Json::object([("when", Json::text("params.amount > 1")), ("reason", Json::text("WHY_SO_MUCH"))]);
        list(action(contract, choice)?, "ask")?.push(rule);
        Some(())
    }),
    ("an action less", |contract, choice| {
        member(contract, "actions")?.remove(["pay", "send", "look"][index(choice, 3)]).map(drop)
    }),
    ("a smaller budget", |contract, choice| {
        let budget = list(holder(contract, choice)?, "budgets")?.first_mut()?;
        let Json::Object(budget) = budget else { return None };
        budget.insert("max".to_owned(), Json::from(1_u64));
        Some(())
    }),
    ("one more budget", |contract, choice| {
        let sum = r#"{"sum":"amount","max":9,"per":"3h"}"#;
        let count = r#"{"count":true,"max":1,"per":"3h"}"#;
        let budget = Json::parse([sum, count][index(choice, 2)].as_bytes()).ok()?;
        list(holder(contract, choice)?, "budgets")?.push(budget);
        Some(())
    }),
    ("less capacity", |contract, _| {
        let pool = member(member(contract, "resources")?, "pool")?;
        pool.insert("capacity".to_owned(), Json::parse(b"0.75").ok()?).map(drop)
    }),
    ("a reservation", |contract, choice| {
        let reserve = Json::object([("resource", Json::text("pool")), ("amount", Json::text("amount"))]);
        list(action(contract, choice)?, "reserves")?.push(reserve);
        Some(())
    }),
    ("an origin", |contract, choice| {
        let param = ["payee", "kind", "amount"][index(choice, 3)];
        let from = member(action(contract, choice)?, "from")?;
        from.insert(param.to_owned(), Json::texts(["user"])).map_or(Some(()), |old| {
            let Json::List(old) = old else { return None };
            old.contains(&Json::text("user")).then_some(())
        })
    }),
    ("a mandatory param", |contract, choice| {
        let schema = member(action(contract, choice)?, "params")?;
        let required = list(schema, "required")?;
        required.push(Json::text(["fee", "payee", "kind", "any"][index(choice, 4)]));
        required.sort_by_key(Json::to_canonical);
        required.dedup();
        Some(())
    }),
    ("closed params", |contract, choice| {
        let schema = member(action(contract, choice)?, "params")?;
        schema.insert("additionalProperties".to_owned(), Json::Bool(false));
        Some(())
    }),
    ("more confidence", |contract, _| {
        let both = r#"{"reject_below":0.95,"escalate_below":1}"#;
        member(contract, "proposal")?.insert("confidence".to_owned(), Json::parse(both.as_bytes()).ok()?);
        Some(())
    }),
    ("a shorter life", |contract, _| {
        let short = r#"{"default":"1s","max":"5s"}"#;
        member(contract, "proposal")?.insert("ttl".to_owned(), Json::parse(short.as_bytes()).ok()?).map(drop)
    }),
    ("no retries", |contract, _| {
        member(contract, "proposal")?.insert("retries".to_owned(), Json::from(0_u64)).map(drop)
    }),
    ("less to spend", |contract, _| {
        let spend = r#"{"steps":1,"tokens":40}"#;
        member(contract, "proposal")?.insert("spend".to_owned(), Json::parse(spend.as_bytes()).ok()?).map(drop)
    }),
    ("fresher snapshots", |contract, _| {
        member(contract, "proposal")?.insert("context_max_age".to_owned(), Json::text("1ms"));
        Some(())
    }),
    ("a drift key", |contract, _| {
        member(contract, "drift")?.insert("limit".to_owned(), Json::text("exact"));
        Some(())
    }),
    ("fewer questions", |contract, _| {
        let budget = member(member(contract, "escalation")?, "budget")?;
        budget.insert("max".to_owned(), Json::from(0_u64)).map(drop)
    }),
    ("a policy", |contract, _| {
        let forbid = "forbid(principal, action, resource) when { context.params has payee };";
        let old = contract.get("policies").and_then(Json::as_text).unwrap_or_default().to_owned();
        contract.insert("policies".to_owned(), Json::text(format!("{old}\n{forbid}")));
        Some(())
    }),
    ("a lesser role", |contract, choice| {
        let executor = contract.get("role") == Some(&Json::text("EXECUTOR"));
        contract.insert("role".to_owned(), Json::text(["STRATEGIST", "MONITOR", "INTERFACE"][index(choice, 3)]));
        executor.then_some(())
    }),
];

/// Judges every line under the contract and under tighter ones, each in the world that the first lines left behind.
pub fn check(contract: &Made, proposals: &[Line], choice: u64) -> Result<(), TestCaseError> {
    let mut world = world();
    for (number, Line(proposal)) in (1..).zip(proposals.iter().take(index(choice, 5))) {
        judge(&mut world, contract, proposal, number);
    }
    let judged =
        proposals.iter().map(|Line(proposal)| (proposal, judge(&mut world.clone(), contract, proposal, 99).answer));
    let stopped: Vec<(&Json, Answer)> = judged.filter(|(_, answer)| answer.verdict != Verdict::Accept).collect();
    // Compiling costs more than judging, so each case tries half of the ways.
    let chosen = WAYS.iter().enumerate().filter(|(position, _)| (choice >> (position % 64)) & 1 == 0);
    for (_, (name, way)) in chosen {
        let Some(tight) = tightened(contract, *way, choice) else { continue };
        for (proposal, loose) in &stopped {
            if judge(&mut world.clone(), &tight, proposal, 99).answer.verdict == Verdict::Accept {
                let said = format!("{name} accepts: {}\nbefore: {}", proposal.to_canonical(), loose.to_line());
                return Err(TestCaseError::fail(said));
            }
        }
    }
    Ok(())
}

/// The contract with one thing tightened; `None` where the result would be no contract.
pub fn tightened(contract: &Made, way: Way, choice: u64) -> Option<Made> {
    let Json::Object(mut members) = contract.json.clone() else { return None };
    way(&mut members, choice)?;
    made(&Json::Object(members))
}

fn world() -> World {
    let context = Json::parse(CONTEXT.as_bytes()).expect("the context is JSON");
    let tenant: Arc<str> = Arc::from(TENANT_DEFAULT);
    Context::from_json(&context).expect("the context reads").into_world(&tenant, "bot")
}

fn judge(world: &mut World, contract: &Made, proposal: &Json, number: u64) -> Done {
    let proposal = Proposal::from_json(proposal.clone()).expect("runs hold proposals");
    let at = proposal.created_at.unwrap_or(Instant::PURE_DEFAULT);
    let provenance = Provenance::of(&proposal, true);
    let minted = |kind: &str| Digest::of(format!("{kind} {number}")).to_uuid_text();
    let ids = MintedIds {
        proposal: minted("proposal"),
        flow: minted("flow"),
        intent: minted("intent"),
        escalation: minted("escalation"),
    };
    let tenant: Arc<str> = Arc::from(TENANT_DEFAULT);
    let submission = Submission::new(tenant, proposal, contract.compiled.clone(), provenance, ids);
    match apply(world, &Command::Submit(Arc::new(submission)), at) {
        Outcome::Done(done) => *done,
        Outcome::Prepare => panic!("the registry names no contract"),
        Outcome::Need(keys) => panic!("a whole world needs nothing: {keys:?}"),
    }
}

fn index(choice: u64, ways: u64) -> usize {
    usize::try_from((choice >> 7) % ways).expect("it is small")
}

fn member<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    let found = object.entry(key.to_owned()).or_insert(Json::Object(Object::new()));
    if let Json::Object(members) = found { Some(members) } else { None }
}

fn list<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Vec<Json>> {
    let found = object.entry(key.to_owned()).or_insert(Json::List(Vec::new()));
    if let Json::List(items) = found { Some(items) } else { None }
}

fn action(contract: &mut Object, choice: u64) -> Option<&mut Object> {
    member(member(contract, "actions")?, ["pay", "send"][usize::from(choice.is_multiple_of(3))])
}

fn limit<'a>(contract: &'a mut Object, choice: u64, param: &str) -> Option<&'a mut Object> {
    member(member(action(contract, choice)?, "limits")?, param)
}

/// The contract itself or an action: both hold budgets.
fn holder(contract: &mut Object, choice: u64) -> Option<&mut Object> {
    if choice.is_multiple_of(2) { Some(contract) } else { action(contract, choice) }
}

fn bound(contract: &mut Object, choice: u64, key: &str, tighter: fn(Decimal, Decimal) -> Decimal) -> Option<()> {
    let new = Decimal::parse(AMOUNTS[index(choice, AMOUNTS.len() as u64)])?;
    let limit = limit(contract, choice, ["amount", "fee", "price"][index(choice >> 3, 3)])?;
    let old = limit.get(key).and_then(Json::as_number).unwrap_or(new);
    limit.insert(key.to_owned(), Json::from(tighter(old, new)));
    Some(())
}
