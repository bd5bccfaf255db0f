//! What happens to agents: handshakes, suspensions and amendments.

use super::{CONTRACT, PROCESSES, caught, demand, refund};
use crate::crew::Crew;
use crate::ledger::Ledger;
use crate::site::{Site, compiled, operator, propose, said};
use crate::worker::{Desk, await_word, report, together};
use kernel::agent::{Actor, AgentStatus};
use kernel::change::{Act, Write};
use kernel::contract::amend::Amendment;
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use values::bugs::Bug;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Instant;

fn suspend() -> Act {
    Act::Restrict {
        agent: "refunds".to_owned(),
        status: AgentStatus::Suspended,
        because: "too many refunds".to_owned(),
        actions: Vec::new(),
    }
}

/// Everything kept of the agent: its row, its budgets, its state.
fn kept(site: &Site) -> Vec<(Key, Row)> {
    [Kind::Agent, Kind::Budget, Kind::State].into_iter().flat_map(|kind| site.rows(kind)).collect()
}

#[test]
fn w04_a_suspended_agent_that_shakes_hands_again_stays_what_it_was() {
    caught(Bug::W04HandshakeResets, |bug| {
        let site = Site::with(CONTRACT);
        let runtime = site.runtime();
        for order in ["a", "b", "c"] {
            assert_eq!(said(&propose(&runtime, &refund(order, 60, ""))), "ESCALATE NEEDS_APPROVAL");
        }
        let own = Write { key: "agents/refunds/seen".to_owned(), value: Json::from(7_u64), expect: None };
        assert_eq!(said(&runtime.change(operator(), Act::Merge(vec![own])).wait()), "ACCEPT");
        assert_eq!(said(&runtime.change(operator(), suspend()).wait()), "ACCEPT");
        let before = kept(&site);
        let reports = Crew::run("handshake", &site, PROCESSES, bug, "");
        for report in &reports {
            let refused = report[0] == "REJECT AGENT_SUSPENDED" && report[1].contains("AGENT_SUSPENDED");
            demand(refused, || format!("shook hands: {}, proposed: {}", report[0], report[1]))?;
        }
        demand(reports.len() == 8, || format!("{} answers", reports.len()))?;
        demand(kept(&site) == before, || "the agent's row, budgets or state changed".to_owned())
    });
}

pub fn handshake_work(desk: &Desk) {
    let wider = compiled(&CONTRACT.replace("<= 50", "<= 1000000"));
    together(4, |thread| {
        let itself = Actor::Agent("refunds".to_owned());
        let shaken = desk.runtime.register(itself, wider.clone(), None, None).wait();
        let proposed = propose(&desk.runtime, &refund(&format!("{}-{thread}", desk.process), 1_000, ""));
        report(&[&said(&shaken), &said(&proposed)]);
    });
}

#[test]
fn a_suspension_that_returned_holds_in_every_process() {
    caught(Bug::SuspensionIgnored, |bug| {
        let site = Site::with(CONTRACT);
        let runtime = site.runtime();
        let mut crew = Crew::hire("suspension", &site, PROCESSES, bug, "");
        crew.go();
        // Every process has accepted something before, so its memory of the agent is warm.
        for hand in crew.hands() {
            let first = hand.next();
            demand(first.as_ref().is_some_and(|report| report[0] == "ACCEPT"), || format!("before: {first:?}"))?;
        }
        assert_eq!(said(&runtime.change(operator(), suspend()).wait()), "ACCEPT");
        crew.go();
        let reports = crew.reports();
        let late = reports.iter().filter(|report| report[0] == "after" && report[1] == "ACCEPT").count();
        demand(late == 0, || format!("{late} accepted after the suspension returned"))?;
        let ledger = Ledger::of(site.reader().as_mut())?;
        let suspended = ledger.first("restrict").ok_or("the suspension left no record")?;
        let behind = ledger.verdicts_behind(suspended, "ACCEPT");
        demand(behind == 0, || format!("{behind} acceptances stand behind the suspension"))?;
        println!("suspension: {} decisions around it", ledger.decisions.len());
        Ok(())
    });
}

/// Threads propose without a pause while the parent suspends, and go on after it said so.
pub fn suspension_work(desk: &Desk) {
    let first = propose(&desk.runtime, &refund(&format!("{}-first", desk.process), 1, ""));
    report(&[&said(&first)]);
    let told = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let told = &told;
            scope.spawn(move || {
                let mut after = 0;
                for number in 0..10_000 {
                    // Read before the proposal is sent: only then does what comes back lie behind the suspension.
                    let told = told.load(std::sync::atomic::Ordering::SeqCst);
                    let order = format!("{}-{thread}-{number}", desk.process);
                    let answered = said(&propose(&desk.runtime, &refund(&order, 1, "")));
                    if told {
                        report(&["after", &answered]);
                        after += 1;
                    }
                    if after == 10 {
                        return;
                    }
                }
            });
        }
        await_word();
        told.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

const AMENDABLE: &str = r#"
agent: refunds
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    limits: { amount: { max: 50 } }
    amendable: { amount: { max: { floor: 10, ceiling: 80 }, ttl: 8h } }
    run: { http: "POST http://127.0.0.1:9911/refunds", class: keyed }
"#;

#[test]
fn an_amendment_neither_removes_nor_exceeds_a_ceiling() {
    caught(Bug::AmendmentUnbounded, |bug| {
        let site = Site::with(AMENDABLE);
        let reports = Crew::run("amendment", &site, PROCESSES, bug, "");
        for report in &reports {
            demand(report[1] == report[2], || format!("{}: {} where {} was due", report[0], report[1], report[2]))?;
        }
        demand(reports.len() == 4 * 7 * PROCESSES, || format!("{} answers", reports.len()))
    });
}

pub fn amendment_work(desk: &Desk) {
    let amend = |min: Option<i64>, max: Option<i64>| {
        let amendment = Amendment {
            action: "refund".to_owned(),
            param: "amount".to_owned(),
            min: min.map(Decimal::from),
            max: max.map(Decimal::from),
            actor: String::new(),
            because: "a rush".to_owned(),
            at: Instant::PURE_DEFAULT,
            expires: None,
        };
        said(&desk.runtime.amend(operator(), "refunds", amendment).wait())
    };
    together(4, |thread| {
        const REFUSED: &str = "REJECT AMENDMENT_REFUSED";
        report(&["one above the ceiling", &amend(None, Some(81)), REFUSED]);
        report(&["far above the ceiling", &amend(None, Some(1_000_000_000)), REFUSED]);
        report(&["below the floor", &amend(None, Some(9)), REFUSED]);
        report(&["nothing", &amend(None, None), REFUSED]);
        report(&["a bound that is not amendable", &amend(Some(1), None), REFUSED]);
        report(&["the ceiling itself", &amend(None, Some(80)), "ACCEPT"]);
        let order = format!("{}-{thread}", desk.process);
        report(&["81", &said(&propose(&desk.runtime, &refund(&order, 81, ""))), "REJECT LIMIT_EXCEEDED"]);
    });
}
