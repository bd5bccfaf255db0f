//! Sessions, state and flows.

use super::{CONTRACT, PROCESSES, caught, demand, refund};
use crate::crew::Crew;
use crate::ledger::Ledger;
use crate::site::{Site, operator, propose, said};
use crate::worker::{Desk, report, together};
use kernel::change::{Act, Write};
use kernel::flow::FlowEvent;
use kernel::world::{Entity, Row};
use std::sync::Barrier;
use values::bugs::Bug;
use values::json::{Json, Object};

const THREADS: usize = 8;
const ROUNDS: usize = 10;

fn with_flow() -> Site {
    let site = Site::with(CONTRACT);
    let open = Act::OpenFlow { flow: "f".to_owned(), agent: "refunds".to_owned(), parent: None };
    assert_eq!(said(&site.runtime().change(operator(), open).wait()), "ACCEPT");
    site
}

#[test]
fn w06_merges_of_different_keys_keep_all_of_them() {
    caught(Bug::W06SessionBlind, |bug| {
        let site = with_flow();
        let reports = Crew::run("session", &site, PROCESSES, bug, "");
        let refused = reports.iter().filter(|report| report[0] != "ACCEPT").count();
        demand(refused == 0, || format!("{refused} merges were refused"))?;
        let Some(Row::Session(values)) = site.row(Entity::Session("f".to_owned())) else { panic!("no session") };
        let all = PROCESSES * THREADS * ROUNDS;
        demand((reports.len(), values.len()) == (all, all), || format!("{} of {all} values are there", values.len()))
    });
}

pub fn session_work(desk: &Desk) {
    together(THREADS, |thread| {
        for round in 0..ROUNDS {
            let name = format!("{}-{thread}-{round}", desk.process);
            let values = Object::from_iter([(name, Json::from(round as u64))]);
            let merged = desk.runtime.change(operator(), Act::Remember { flow: "f".to_owned(), values }).wait();
            report(&[&said(&merged)]);
        }
    });
}

/// Everyone reads a counter and writes it back one higher: every accepted write must be in the sum.
#[test]
fn w06_compare_and_set_loses_no_update() {
    caught(Bug::W06MergeBlind, |bug| {
        let site = Site::with(CONTRACT);
        let reports = Crew::run("compare_and_set", &site, PROCESSES, bug, "");
        let accepted = reports.iter().filter(|report| report[0] == "ACCEPT").count() as u64;
        let refused = reports.iter().filter(|report| report[0] == "REJECT STATE_CONFLICT").count() as u64;
        let Some(Row::State(row)) = site.row(Entity::State("counter".to_owned())) else { panic!("no counter") };
        let counted = row.value.as_number().and_then(|number| number.to_i64()).unwrap_or_default();
        println!("compare and set: {accepted} accepted, {refused} refused");
        demand(accepted + refused == (PROCESSES * THREADS * ROUNDS) as u64, || format!("{reports:?}"))?;
        demand(row.version == accepted, || format!("version {} after {accepted} writes", row.version))?;
        demand(counted.unsigned_abs() == accepted, || format!("{accepted} writes counted {counted}"))
    });
}

pub fn compare_and_set_work(desk: &Desk) {
    let everyone_has_read = Barrier::new(THREADS);
    together(THREADS, |_| {
        for _ in 0..ROUNDS {
            let row = desk.runtime.read(Entity::State("counter".to_owned())).unwrap();
            let (value, version) = match row {
                Some(Row::State(row)) => {
                    (row.value.as_number().and_then(|number| number.to_i64()).unwrap(), row.version)
                }
                Some(_) | None => (0, 0),
            };
            everyone_has_read.wait();
            let value = Json::from((value + 1).unsigned_abs());
            let write = Write { key: "counter".to_owned(), value, expect: Some(version) };
            report(&[&said(&desk.runtime.change(operator(), Act::Merge(vec![write])).wait())]);
            everyone_has_read.wait();
        }
    });
}

#[test]
fn w08_a_flow_that_is_over_takes_nothing_and_ends_once() {
    caught(Bug::W08ClosedFlowActs, |bug| {
        let site = with_flow();
        let reports = Crew::run("ended_flow", &site, PROCESSES, bug, "");
        let count =
            |what: &str, said: &str| reports.iter().filter(|report| report[0] == what && report[1] == said).count();
        let (ended, refused) = (count("end", "ACCEPT"), count("end", "REJECT STEP_REFUSED"));
        demand((ended, refused) == (1, PROCESSES * 4 - 1), || format!("ended {ended} times, refused {refused} times"))?;
        let late = reports.iter().filter(|report| report[0] == "after" && report[1] != "REJECT FLOW_CLOSED").count();
        demand(late == 0, || format!("{late} proposals were not refused after the end"))?;
        demand(count("after", "REJECT FLOW_CLOSED") == PROCESSES * 4, || format!("{reports:?}"))?;
        let ledger = Ledger::of(site.reader().as_mut())?;
        let end = ledger.first("end_flow").ok_or("the end left no record")?;
        let behind = ledger.verdicts_behind(end, "ACCEPT");
        demand(behind == 0, || format!("{behind} acceptances stand behind the end"))?;
        let Some(Row::Flow(flow)) = site.row(Entity::Flow("f".to_owned())) else { panic!("no flow") };
        demand(flow.state.word() == "CLOSED", || format!("the flow is {}", flow.state.word()))
    });
}

pub fn ended_flow_work(desk: &Desk) {
    together(4, |thread| {
        let propose = |number: usize| {
            let order = format!("{}-{thread}-{number}", desk.process);
            said(&propose(&desk.runtime, &refund(&order, 1, r#","flow":"f""#)))
        };
        for number in 0..5 {
            report(&["before", &propose(number)]);
        }
        let close = Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Close };
        report(&["end", &said(&desk.runtime.change(operator(), close).wait())]);
        report(&["after", &propose(5)]);
    });
}
