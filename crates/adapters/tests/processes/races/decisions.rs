//! Keys, capacity, questions and retries.

use super::{CONTRACT, PROCESSES, caught, demand, refund};
use crate::crew::Crew;
use crate::ledger::Ledger;
use crate::site::{Site, operator, propose, said};
use crate::worker::{Desk, report, together};
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use std::collections::BTreeSet;
use values::bugs::Bug;
use values::decimal::Decimal;

const KEYS: usize = 10;

#[test]
fn w01_one_key_is_decided_once_and_answered_alike() {
    caught(Bug::W01KeyForgotten, |bug| {
        let site = Site::with(CONTRACT);
        let reports = Crew::run("one_key", &site, PROCESSES, bug, "");
        for key in 0..KEYS {
            let key = key.to_string();
            let answers = reports.iter().filter(|report| report[0] == key).map(|report| &report[1]);
            let different: BTreeSet<_> = answers.clone().collect();
            demand(answers.count() == 8 * PROCESSES, || format!("key {key}: someone got no answer"))?;
            demand(different.len() == 1, || format!("key {key}: {} different answers", different.len()))?;
        }
        let ledger = Ledger::of(site.reader().as_mut())?;
        demand(ledger.decisions.len() == KEYS, || format!("{} decisions", ledger.decisions.len()))
    });
}

pub fn one_key_work(desk: &Desk) {
    together(8, |_| {
        for key in 0..KEYS {
            let text = refund(&format!("order-{key}"), 10, &format!(r#","idempotency_key":"key-{key}""#));
            report(&[&key.to_string(), &propose(&desk.runtime, &text).answer.to_line()]);
        }
    });
}

const POOL: &str = r#"
agent: refunds
resources: { pool: { kind: stock, capacity: 100 } }
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    reserves: [ { resource: pool, amount: amount } ]
    run: { http: "POST http://127.0.0.1:9911/refunds", class: keyed }
"#;

#[test]
fn w02_six_flows_of_forty_on_a_capacity_of_a_hundred() {
    caught(Bug::W02HeldIgnored, |bug| {
        let site = Site::with(POOL);
        let reports = Crew::run("capacity", &site, PROCESSES, bug, "");
        let count = |said: &str| reports.iter().filter(|report| report[0] == said).count();
        let (accepted, refused) = (count("ACCEPT"), count("REJECT RESOURCE_INSUFFICIENT"));
        demand((accepted, refused) == (2, 4), || format!("{accepted} accepted, {refused} refused: {reports:?}"))?;
        let Some(Row::Resource(row)) = site.row(Entity::Resource("pool".to_owned())) else { panic!("no pool") };
        demand(row.held == Decimal::from(80), || format!("{} is held", row.held))
    });
}

pub fn capacity_work(desk: &Desk) {
    let flow = |thread| format!("flow-{}-{thread}", desk.process);
    for thread in 0..3 {
        let itself = Actor::Agent("refunds".to_owned());
        let open = Act::OpenFlow { flow: flow(thread), agent: "refunds".to_owned(), parent: None };
        assert_eq!(said(&desk.runtime.change(itself, open).wait()), "ACCEPT");
    }
    together(3, |thread| {
        let flow = flow(thread);
        let answered = propose(&desk.runtime, &refund(&flow, 40, &format!(r#","flow":"{flow}""#)));
        report(&[&said(&answered)]);
    });
}

#[test]
fn w03_ten_callers_on_a_budget_of_three_questions() {
    caught(Bug::W03QuestionsUncounted, |bug| {
        let site = Site::with(CONTRACT);
        let reports = Crew::run("questions", &site, PROCESSES, bug, "");
        let asked = reports.iter().filter(|report| report[0].starts_with("ESCALATE")).count();
        demand(reports.len() == 10 && asked == 3, || format!("{asked} of {} were asked", reports.len()))?;
        let open = site.rows(Kind::Escalation).len();
        demand(open == 3, || format!("{open} questions stand"))
    });
}

pub fn questions_work(desk: &Desk) {
    together(5, |thread| {
        let answered = propose(&desk.runtime, &refund(&format!("{}-{thread}", desk.process), 60, ""));
        report(&[&said(&answered)]);
    });
}

#[test]
fn w05_every_rejection_of_a_flow_counts() {
    caught(Bug::W05RetriesUncounted, |bug| {
        let site = Site::with(CONTRACT);
        let runtime = site.runtime();
        let open = Act::OpenFlow { flow: "f".to_owned(), agent: "refunds".to_owned(), parent: None };
        assert_eq!(said(&runtime.change(operator(), open).wait()), "ACCEPT");
        let reports = Crew::run("retries", &site, PROCESSES, bug, "");
        let plain = reports.iter().filter(|report| report[0] == "REJECT NOT_ALLOWED").count();
        demand(reports.len() == 8, || format!("{} answers", reports.len()))?;
        demand(plain == 3, || format!("{plain} attempts before the flow was exhausted"))?;
        let Some(Row::Flow(flow)) = site.row(Entity::Flow("f".to_owned())) else { panic!("no flow") };
        demand((flow.rejected, flow.steps) == (8, 8), || format!("{} of {} counted", flow.rejected, flow.steps))?;
        let next = said(&propose(&runtime, &refund("good", 10, r#","flow":"f""#)));
        demand(next == "REJECT REASONING_EXHAUSTION", || format!("the next attempt: {next}"))
    });
}

pub fn retries_work(desk: &Desk) {
    together(4, |thread| {
        let order = format!("{}-{thread}", desk.process);
        report(&[&said(&propose(&desk.runtime, &refund(&order, 500, r#","flow":"f""#)))]);
    });
}
