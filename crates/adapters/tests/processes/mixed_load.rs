//! More demand than there is: counters equal sums in every commit one looks at, and no prefix of the ledger exceeds
//! a capacity.

use crate::crew::{Crew, Report};
use crate::ledger::Ledger;
use crate::site::{Site, door, enroll, operator, said};
use crate::worker::{Desk, Dice, FILE, report, scale, together};
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::change::Act;
use kernel::command::{Door, Performer};
use kernel::contract::ResourceKind;
use kernel::intent::IntentEvent;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::ports::store::{Reader, Store};
use runtime::{Answered, Arrival};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::bugs::Bug;
use values::decimal::Decimal;
use values::json::Json;

const PROCESSES: usize = 2;
const TASKS: usize = 64;
const AGENTS: u64 = 4;
/// Commits one looks at, at least, besides the last one.
const SAMPLES: u64 = 20;
const DESKS: u64 = 60;

/// The capacity of the pool; what the tasks want of it, over all, is about a unit and a half for each command.
fn pool(commands: usize) -> u64 {
    (TASKS * commands * 2 / 5) as u64
}

fn contract(agent: u64, pool: u64) -> String {
    let budget = pool / 3;
    format!(
        r#"
agent: agent-{agent}
proposal: {{ ttl: {{ default: 2s, max: 5m }}, retries: 1000000 }}
resources:
  pool: {{ kind: stock, capacity: {pool} }}
  desks: {{ kind: slots, capacity: {DESKS} }}
actions:
  buy:
    once: "buy:{{name}}"
    params: {{ name: text, amount: number }}
    budgets: [ {{ sum: amount, max: {budget}, per: 24h }}, {{ count: true, max: 1000000, per: 24h }} ]
    reserves: [ {{ resource: pool, amount: amount }} ]
    run: {{ http: "POST http://127.0.0.1:9911/buy", class: keyed }}
  rent:
    once: "rent:{{name}}"
    params: {{ name: text, amount: number }}
    budgets: [ {{ sum: amount, max: 100000000, per: 24h }} ]
    reserves: [ {{ resource: desks, amount: amount }}, {{ resource: pool, amount: 0.01 }} ]
    run: {{ http: "POST http://127.0.0.1:9911/rent", class: keyed }}
"#
    )
}

/// Proposes and settles at random; some of what it holds it forgets, and time has to call it off.
pub fn work(desk: &Desk) {
    together(TASKS / PROCESSES, |task| {
        let mut dice = Dice(1 + (desk.process * TASKS + task) as u64);
        let mut held: Vec<String> = Vec::new();
        for number in 0..desk.words.parse().unwrap() {
            let settles = !held.is_empty() && (held.len() > 3 || dice.below(10) < 4);
            if settles {
                let place = usize::try_from(dice.below(held.len() as u64)).unwrap();
                let intent = held.swap_remove(place);
                if !settle(desk, &intent, &mut dice) {
                    held.push(intent);
                }
                continue;
            }
            let (action, amount) =
                if dice.below(2) == 0 { ("buy", 1 + dice.below(9)) } else { ("rent", 1 + dice.below(5)) };
            let (agent, name) = (dice.below(AGENTS), format!("{}-{task}-{number}", desk.process));
            let text = format!(
                r#"{{"agent":"agent-{agent}","action":"{action}","params":{{"name":"{name}","amount":{amount}}}}}"#
            );
            // What is handed out only a report brings back; what waits is called off by time.
            let performer = if dice.below(2) == 0 { Performer::Caller } else { Performer::Runtime };
            let door = Door { performer, ..door() };
            let answered = desk.runtime.judge(text.as_bytes(), Arrival::through(door)).wait();
            let wanted = if action == "buy" { amount.to_string() } else { "0".to_owned() };
            tell("decision", &answered, &wanted);
            let intent = answered.answer.intent.as_ref().map(|intent| intent.id().to_owned());
            held.extend(intent.filter(|_| performer == Performer::Caller || dice.below(10) > 0));
        }
    });
}

/// Folds the whole ledger again. All it gets is the file.
pub fn replay_work(_: &Desk) {
    let store = SqliteStore::open(std::env::var(FILE).unwrap(), Arc::new(SystemClock)).unwrap();
    let replayed = runtime::replay::replay(store.reader().unwrap().as_mut()).unwrap();
    match replayed.differs {
        Some((index, problem)) => report(&["differs", &index.to_string(), &problem]),
        None => report(&["same", &replayed.same.to_string()]),
    }
}

/// Whether it is over: after doubt it is not, and someone has to come back to it.
fn settle(desk: &Desk, intent: &str, dice: &mut Dice) -> bool {
    let event = match dice.below(10) {
        0..5 => IntentEvent::Succeed,
        5..8 => IntentEvent::Fail,
        8 => IntentEvent::Cancel,
        _ => IntentEvent::Doubt,
    };
    let settled =
        desk.runtime.change(operator(), Act::Settle { intent: intent.to_owned(), event, result: None }).wait();
    tell("settled", &settled, "0");
    match event {
        IntentEvent::Succeed | IntentEvent::Fail => true,
        IntentEvent::Cancel | IntentEvent::Doubt => false,
    }
}

fn tell(what: &str, answered: &Answered, wanted: &str) {
    // Without a decision the whole answer is told: it says why there is none.
    let word = if answered.at.is_none() { answered.answer.to_line() } else { said(answered) };
    report(&[what, &answered.answer.id, &word, wanted]);
}

#[test]
fn counters_equal_sums_at_every_moment_and_no_capacity_is_exceeded() {
    run(scale("WRITKEEPER_MIXED_COMMANDS", 400), None);
}

#[test]
#[cfg(feature = "bugs")]
fn a_capacity_that_is_exceeded_is_noticed() {
    let bug = values::bugs::Bug::W02HeldIgnored;
    assert!(std::panic::catch_unwind(|| run(20, Some(bug))).is_err(), "{} came back and nobody noticed", bug.name());
}

fn run(commands: usize, bug: Option<Bug>) {
    let begin = std::time::Instant::now();
    let site = Site::new();
    let capacities = [("pool", pool(commands)), ("desks", DESKS)];
    for agent in 0..AGENTS {
        enroll(&site.runtime(), &contract(agent, pool(commands)));
    }
    let mut crew = Crew::hire("mixed_load", &site, PROCESSES, bug, &commands.to_string());
    crew.go();
    let (reports, samples) = sampled(&site, crew, (TASKS * commands) as u64, &capacities);
    let ledger = Ledger::of(site.reader().as_mut()).unwrap();
    let most = every_prefix_fits(&ledger, &capacities);
    let (decided, refused, wanted) = all_acknowledged(&reports, &ledger);
    assert_eq!(reports.len(), TASKS * commands);
    println!(
        "mixed load: {PROCESSES} processes, {TASKS} tasks of {commands} commands, {} records, {samples} samples, \
         {:.0} s\n{decided} decisions, {refused} of them refused ({} %); {wanted} wanted of the pool; held or used at \
         most {most:?} of {capacities:?}",
        ledger.size,
        begin.elapsed().as_secs_f64(),
        refused * 100 / decided,
    );
    assert_eq!(Crew::run("replay", &site, 1, None, ""), [["same", &ledger.size.to_string()]]);
    assert!(refused * 10 >= decided * 3, "only {refused} of {decided} were refused");
    assert!(wanted >= 3 * pool(commands), "only {wanted} was wanted of the pool");
}

/// Lets them work and looks at the books again and again meanwhile; says how often.
fn sampled(site: &Site, crew: Crew, total: u64, capacities: &[(&str, u64)]) -> (Vec<Report>, u32) {
    let store = site.store();
    std::thread::scope(|scope| {
        let working = scope.spawn(|| crew.reports());
        let (mut samples, mut next) = (0, 0);
        let mut reader = site.reader();
        while !working.is_finished() {
            if reader.size().unwrap() < next {
                std::thread::sleep(std::time::Duration::from_millis(5));
                continue;
            }
            next = books_are_right(store.snapshot().unwrap().as_mut(), capacities) + total / SAMPLES;
            samples += 1;
        }
        books_are_right(store.snapshot().unwrap().as_mut(), capacities);
        (working.join().unwrap(), samples + 1)
    })
}

fn decimal(json: Option<&Json>) -> Decimal {
    json.and_then(|json| json.as_number().or_else(|| Decimal::parse(json.as_text()?))).unwrap()
}

fn add(sums: &mut BTreeMap<String, Decimal>, name: String, amount: Decimal) {
    let sum = sums.entry(name).or_insert(Decimal::ZERO);
    *sum = sum.checked_add(amount).unwrap();
}

/// In one commit: what is held and used of resources and windows is what intents hold and took. Says how long the
/// ledger is then.
fn books_are_right(reader: &mut dyn Reader, capacities: &[(&str, u64)]) -> u64 {
    let (mut held, mut used, mut taken) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (_, row) in reader.scan(Kind::Intent, None, usize::MAX).unwrap() {
        let Row::Intent(intent) = row else { panic!("no intent") };
        let over = intent.state.over();
        let (is_live, happened) = (over.is_none(), over == Some(true));
        for hold in intent.facts.holds() {
            if is_live {
                add(&mut held, hold.resource.clone(), hold.amount);
            } else if happened && hold.kind == ResourceKind::Stock {
                add(&mut used, hold.resource.clone(), hold.amount);
            }
        }
        for part in intent.facts.taken().iter().filter(|_| is_live || happened) {
            add(&mut taken, format!("{} {}", part.agent, part.budget), part.amount);
        }
    }
    for (key, row) in reader.scan(Kind::Resource, None, usize::MAX).unwrap() {
        let (name, Row::Resource(row)) = (key.entity.parts().0, row) else { panic!("no resource") };
        let sum = |sums: &BTreeMap<String, Decimal>| sums.get(name).copied().unwrap_or(Decimal::ZERO);
        assert_eq!((row.held, row.consumed), (sum(&held), sum(&used)), "{name}");
        let (_, capacity) = capacities.iter().find(|(known, _)| *known == name).unwrap();
        assert!(
            row.free_for("", Decimal::from(*capacity), values::time::Instant::from_micros(0))
                .is_some_and(|free| !free.is_negative()),
            "{name}: {row:?}"
        );
    }
    let mut windows = 0;
    for (key, row) in reader.scan(Kind::Budget, None, usize::MAX).unwrap() {
        let (agent, budget) = key.entity.parts();
        let json = Json::parse(row.to_stored().as_bytes()).unwrap();
        let amounts = json.get("entries").and_then(Json::as_list).unwrap().iter();
        let amounts = amounts.map(|entry| decimal(entry.as_list().and_then(|entry| entry.get(1))));
        let sum = amounts.fold(Decimal::ZERO, |sum, amount| sum.checked_add(amount).unwrap());
        let name = format!("{agent} {}", budget.unwrap_or_default());
        assert_eq!(sum, taken.remove(&name).unwrap_or(Decimal::ZERO), "{name}");
        windows += 1;
    }
    taken.retain(|_, sum| !sum.is_zero());
    assert!(taken.is_empty(), "taken of {windows} windows and of none: {taken:?}");
    reader.size().unwrap()
}

/// Follows the ledger from its beginning: what is held and used up never exceeds what is there. Says how much it was.
fn every_prefix_fits(ledger: &Ledger, capacities: &[(&str, u64)]) -> Vec<String> {
    let mut live: BTreeMap<String, Vec<(String, Decimal)>> = BTreeMap::new();
    let mut now = BTreeMap::from([("pool".to_owned(), Decimal::ZERO), ("desks".to_owned(), Decimal::ZERO)]);
    let mut most = now.clone();
    for (kind, body) in &ledger.records {
        let accepted = body.get("verdict").and_then(Json::as_text) == Some("ACCEPT");
        if let Some(intent) = body.get("intent").filter(|intent| kind == "decision" && **intent != Json::Null) {
            let holds: Vec<_> = intent.get("holds").and_then(Json::as_list).unwrap().iter().map(hold).collect();
            for (resource, amount) in &holds {
                add(&mut now, resource.clone(), *amount);
            }
            live.insert(text(intent, "id"), holds);
        }
        let result = body.get("result");
        let over = match kind.as_str() {
            "intent_expired" => Some(("CANCELLED".to_owned(), text(result.unwrap(), "intent"))),
            "settle" if accepted => result.map(|result| (text(result, "state"), text(result, "intent"))),
            _ => None,
        };
        let Some((state, intent)) = over.filter(|(state, _)| state != "IN_DOUBT") else {
            for (resource, held) in &now {
                let highest = most.get_mut(resource).unwrap();
                *highest = (*highest).max(*held);
            }
            continue;
        };
        for (resource, amount) in live.remove(&intent).unwrap() {
            if state != "SUCCEEDED" || resource == "desks" {
                add(&mut now, resource, amount.negated());
            }
        }
    }
    for (name, capacity) in capacities {
        assert!(most[*name] <= Decimal::from(*capacity), "{} of {name}", most[*name]);
    }
    capacities.iter().map(|(name, _)| most[*name].to_string()).collect()
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_text).unwrap().to_owned()
}

fn hold(json: &Json) -> (String, Decimal) {
    (text(json, "resource"), decimal(json.get("amount")))
}

/// Every acknowledged decision stands in the ledger with its verdict, and every decision there was acknowledged.
fn all_acknowledged(reports: &[Report], ledger: &Ledger) -> (u64, u64, u64) {
    let (mut decided, mut refused, mut wanted) = (0, 0, 0);
    for report in reports {
        assert!(!report[2].contains("UNAVAILABLE"), "{report:?}");
        wanted += report[3].parse::<u64>().unwrap();
        if report[0] == "decision" {
            decided += 1;
            let verdict = report[2].split(' ').next();
            let recorded = ledger.decisions.get(&report[1]).map(|(_, verdict)| verdict.as_str());
            assert_eq!(recorded, verdict, "{report:?}");
            refused += u64::from(verdict == Some("REJECT"));
        }
    }
    assert_eq!(ledger.decisions.len() as u64, decided, "someone was not told");
    (decided, refused, wanted)
}
