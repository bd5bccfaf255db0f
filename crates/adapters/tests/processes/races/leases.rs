//! Many ask for the same regions at once: each is given to one of them.

use super::{CONTRACT, PROCESSES, caught, demand};
use crate::crew::Crew;
use crate::site::{Site, operator, said};
use crate::worker::{Desk, report, together};
use kernel::change::Act;
use kernel::change::leasing::Leasing;
use kernel::lease::Mode;
use kernel::lease::book::LeaseBook;
use kernel::lease::kept::BOOK;
use kernel::world::{Entity, Row};
use std::collections::BTreeMap;
use values::bugs::Bug;
use values::time::Duration;

const THREADS: usize = 4;
const REGIONS: usize = 12;

#[test]
fn a_region_is_given_to_one_of_those_who_ask_at_once() {
    caught(Bug::LeaseGivenTwice, |bug| {
        let site = Site::with(CONTRACT);
        let reports = Crew::run("leases", &site, PROCESSES, bug, "");
        let mut given: BTreeMap<&str, usize> = BTreeMap::new();
        for report in reports.iter().filter(|report| report[1] == "ACCEPT") {
            *given.entry(report[0].as_str()).or_default() += 1;
        }
        let refused = reports.iter().filter(|report| report[1] == "REJECT REGION_LEASED").count();
        println!("leases: {} given, {refused} refused", given.len());
        demand(reports.len() == PROCESSES * THREADS * REGIONS, || format!("{} answers", reports.len()))?;
        demand(given.values().all(|times| *times == 1), || format!("given more than once: {given:?}"))?;
        demand(given.len() == REGIONS && refused == reports.len() - REGIONS, || format!("{reports:?}"))?;
        let Some(Row::State(row)) = site.row(Entity::State(BOOK.to_owned())) else { panic!("no book") };
        let kept = LeaseBook::from_json(&row.value).map(|book| book.leases().len());
        demand(kept == Some(REGIONS), || format!("the book holds {kept:?}"))
    });
}

pub fn work(desk: &Desk) {
    together(THREADS, |thread| {
        for region in 0..REGIONS {
            // A file inside of what others ask for stands in their way as much as the folder does.
            let inner = if thread % 2 == 0 { "" } else { "/a.rs" };
            let name = format!("/ws/{region}");
            let leasing = Leasing::Acquire {
                holder: format!("refunds:{}-{thread}", desk.process),
                mode: Mode::Exclusive,
                regions: vec![format!("{name}{inner}")],
                ttl: Duration::from_secs(600),
            };
            let answered = desk.runtime.change(operator(), Act::Lease(leasing)).wait();
            report(&[&name, &said(&answered)]);
        }
    });
}
