//! Evidence of alarms: whoever alters what an alarm rests on and signs the history anew is found by deciding again.

use crate::desk::{Desk, text};
use adapters::location::{Location, OpenOptions, open_store};
use adapters::system_clock::SystemClock;
use runtime::ports::store::{BatchId, Store, StoredRecord, one_step};
use serde_json::Value;
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::sealed::Sealed;

/// A series of amounts.
type Series = fn() -> Vec<u32>;

/// Every kind of monitor on amounts or on what is said of them, and the amounts that make it trip.
const KINDS: [(&str, &str, Series); 13] = [
    ("mean", "{ mean: params.amount, max: 10, over: 3, then: NOTIFY }", || vec![5, 12, 14]),
    ("sum", "{ sum: params.amount, max: 20, over: 1h, then: NOTIFY }", || vec![5, 7, 9]),
    ("share", "{ share: params.amount > 10, max: 0.5, over: 4, then: NOTIFY }", || vec![5, 12, 14, 13]),
    ("margin", "{ margin: params.amount, value: 10, over: 2, times: 2, then: NOTIFY }", || vec![5, 19, 18, 17]),
    ("e_sr", "{ e_sr: params.amount > 10, m0: 0.1, arl: 20, then: NOTIFY }", || vec![5, 4, 12, 13, 14, 15]),
    ("cusum", "{ cusum: params.amount, mu0: 5, sigma: 1, h: 4, then: NOTIFY }", || vec![5, 6, 9, 9, 9]),
    ("adwin", "{ adwin: params.amount, clock: 1 }", || steps(80, 40)),
    ("page_hinkley", "{ page_hinkley: params.amount }", || steps(60, 40)),
    ("ddm", "{ ddm: params.amount > 10 }", || steps(60, 40)),
    ("eddm", "{ eddm: params.amount > 10 }", errors),
    ("hddm_a", "{ hddm_a: params.amount > 10 }", || steps(60, 40)),
    ("hddm_w", "{ hddm_w: params.amount > 10 }", || steps(60, 40)),
    ("kswin", "{ kswin: params.amount, window_size: 40, stat_size: 12 }", || steps(60, 40)),
];

/// Small amounts, now and then a large one, and then only large ones.
fn steps(small: u32, large: u32) -> Vec<u32> {
    let small = (0..small).map(|place| if place % 17 == 5 { 21 } else { 3 + place % 2 });
    small.chain((0..large).map(|place| 21 + place % 3)).collect()
}

/// Large amounts that come rarely, and then often.
fn errors() -> Vec<u32> {
    let every = |every: u32, times: u32| (0..every * times).map(move |place| if place % every == 0 { 21 } else { 3 });
    every(9, 40).chain(every(2, 40)).collect()
}

fn desk(watch: &str, amounts: &[u32]) -> Desk {
    let desk = Desk::new();
    let contract =
        "agent: bot\nactions:\n  pay:\n    once: 'pay:{order}'\n    params: { order: text, amount: number }\n";
    std::fs::write(desk.path("watched.yaml"), format!("{contract}watch:\n  m: {watch}\n")).unwrap();
    let line = |(order, amount)| {
        format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"o{order}\",\"amount\":{amount}}}}}\n")
    };
    let lines: String = amounts.iter().enumerate().map(line).collect();
    let decided = desk.run("decide --quiet --store s.db --contract watched.yaml", &lines);
    assert_eq!(decided.status.code(), Some(0), "{}", text(&decided.stderr));
    desk
}

fn open(desk: &Desk, name: &str) -> Box<dyn Store> {
    let location = Location::Sqlite(desk.path(name));
    open_store(&location, TENANT_DEFAULT, Arc::new(SystemClock), OpenOptions::default()).unwrap()
}

/// A body as whoever rewrites history would write it: the leaf states its digest.
fn sealed(record: &StoredRecord, body: String) -> Sealed {
    let salt = record.body.as_ref().unwrap().1;
    let mut leaf: Value = serde_json::from_str(&record.leaf).unwrap();
    leaf["body"] = Value::from(Sealed::digest(&salt, &body).to_string());
    Sealed { leaf: leaf.to_string(), body, salt }
}

/// What `verify` says of a history in which some bodies are told otherwise or left out, exported and signed like any other.
fn verified(
    desk: &Desk,
    name: &str,
    records: &[StoredRecord],
    told: &dyn Fn(&StoredRecord, &str) -> Option<String>,
) -> String {
    let forged = records.iter().filter_map(|record| {
        let (body, _) = record.body.as_ref().unwrap();
        told(record, body).map(|body| sealed(record, body))
    });
    let forged: Vec<Sealed> = forged.collect();
    assert!(forged.iter().all(Sealed::is_consistent));
    open(desk, name).transact(BatchId(1), Vec::new(), &mut one_step(|_, _| forged)).unwrap();
    desk.says(&format!("ledger export --store {name} --out {name}.export"), 0);
    let verified = desk.run(&format!("verify {name}.export"), "");
    text(&verified.stdout) + &text(&verified.stderr)
}

#[test]
fn an_alarm_of_any_kind_whose_window_was_altered_is_named() {
    for (kind, watch, amounts) in KINDS {
        let desk = desk(watch, &amounts());
        let records = open(&desk, "s.db").reader().unwrap().records(0, 10_000).unwrap();
        let body = |record: &StoredRecord| record.body.as_ref().unwrap().0.clone();
        let trip = records.iter().find(|record| body(record).contains("monitor_tripped"));
        let trip = trip.unwrap_or_else(|| panic!("{kind} did not trip"));
        let said = verified(&desk, "same.db", &records, &|_, body| Some(body.to_owned()));
        assert!(!said.contains("damaged"), "{kind}: {said}");
        let named = "the alarm of monitor `m` of agent `bot` does not recompute";
        // Another window, statistic or threshold than the decisions give.
        let result: Value = serde_json::from_str::<Value>(&body(trip)).unwrap()["result"].clone();
        for (number, key) in ["window", "statistic", "threshold", "from", "to"].into_iter().enumerate() {
            let was = &result[key];
            let other = was
                .as_str()
                .map_or_else(|| Value::from(was.as_u64().unwrap() + 1), |was| Value::from(format!("1{was}")));
            let (was, other) = (format!("\"{key}\":{was}"), format!("\"{key}\":{other}"));
            let told = |record: &StoredRecord, body: &str| {
                Some(if record.index == trip.index { body.replace(&was, &other) } else { body.to_owned() })
            };
            let said = verified(&desk, &format!("{number}.db"), &records, &told);
            assert!(said.contains(named), "{kind}, {was} as {other}: {said}");
        }
        // A decision of the window that nobody is to see.
        let evidence = trip.index - 1;
        let told = |record: &StoredRecord, body: &str| (record.index != evidence).then(|| body.to_owned());
        let said = verified(&desk, "short.db", &records, &told);
        assert!(said.contains(named), "{kind} without entry {evidence}: {said}");
    }
}
