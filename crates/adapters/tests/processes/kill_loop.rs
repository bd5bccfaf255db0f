//! Workers killed at random moments under load: what was acknowledged is there, once, and answered alike for ever.

use crate::crew::{Crew, Hand, Report};
use crate::ledger::Ledger;
use crate::site::{Site, propose};
use crate::worker::{Desk, Dice, report, scale, together};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use values::bugs::Bug;
use values::json::Json;

const CONTRACT: &str = r#"
agent: refunds
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    allow: amount <= 50
    run: POST http://127.0.0.1:9911/refunds
"#;

/// Keys before the last acknowledged one that the next workers ask for again.
const OVERLAP: u64 = 50;

/// A third is refused.
fn text(number: u64) -> String {
    let amount = if number.is_multiple_of(3) { 500 } else { 5 };
    format!(
        r#"{{"agent":"refunds","action":"refund","idempotency_key":"key-{number}","params":{{"order":"{number}","amount":{amount}}}}}"#
    )
}

/// Proposes one number after another from where it was told, and says so after every answer.
pub fn work(desk: &Desk) {
    let next = AtomicU64::new(desk.words.parse().unwrap());
    together(8, |_| {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            let answered = propose(&desk.runtime, &text(number));
            if answered.at.is_some() {
                report(&[&number.to_string(), &answered.answer.to_line()]);
            }
        }
    });
}

/// Every acknowledged answer, by number.
type Acknowledged = BTreeMap<u64, String>;

#[test]
fn nothing_acknowledged_is_lost_or_there_twice_however_often_workers_are_killed() {
    run(scale("WRITKEEPER_KILLS", 42), None);
}

#[test]
#[cfg(feature = "bugs")]
fn a_key_that_is_decided_twice_is_noticed() {
    let bug = Bug::W01KeyForgotten;
    assert!(std::panic::catch_unwind(|| run(6, Some(bug))).is_err(), "{} came back and nobody noticed", bug.name());
}

fn run(kills_wanted: usize, bug: Option<Bug>) {
    let site = Site::with(CONTRACT);
    let seed = u64::from(std::process::id()) ^ std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut dice = Dice(seed);
    let (mut kills, mut rounds, mut reports, mut repeated) = (0, 0, 0, 0);
    let mut acknowledged = Acknowledged::new();
    let mut ledger = Ledger::default();
    while kills < kills_wanted {
        let start = acknowledged.keys().next_back().map_or(0, |last| last.saturating_sub(OVERLAP));
        let processes = 1 + rounds % 2;
        let mut crew = Crew::hire("kill_loop", &site, processes, bug, &start.to_string());
        crew.go();
        let lives: Vec<u64> = (0..processes).map(|_| dice.below(300)).collect();
        for report in kill_all(crew.hands(), &lives) {
            take(&mut acknowledged, &report);
            reports += 1;
        }
        ledger.read_on(site.reader().as_mut()).unwrap();
        all_there(&acknowledged, &ledger);
        repeated += ask_again(&site, &acknowledged, &mut dice, &ledger);
        kills += processes;
        rounds += 1;
    }
    let whole = Ledger::of(site.reader().as_mut()).unwrap();
    assert_eq!(whole.records, ledger.records, "what was once read has changed");
    all_there(&acknowledged, &whole);
    println!(
        "kill loop: seed {seed}, {kills} kills in {rounds} rounds, {reports} answers to {} keys acknowledged, \
         {} decisions in {} records, {repeated} keys asked again",
        acknowledged.len(),
        whole.decisions.len(),
        whole.size
    );
}

/// Kills every worker after so many of its answers, and hands back all that it said.
fn kill_all(hands: &mut [Hand], lives: &[u64]) -> Vec<Report> {
    std::thread::scope(|scope| {
        let kill = |(hand, life): (&'_ mut Hand, u64)| {
            let mut heard: Vec<Report> = (0..life).map_while(|_| hand.next()).collect();
            assert_eq!(heard.len() as u64, life, "a worker ended by itself");
            hand.kill();
            heard.extend(hand.rest());
            heard
        };
        let running: Vec<_> =
            hands.iter_mut().zip(lives).map(|(hand, life)| scope.spawn(move || kill((hand, *life)))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn take(acknowledged: &mut Acknowledged, report: &Report) {
    let number = report[0].parse().unwrap();
    let line = acknowledged.entry(number).or_insert_with(|| report[1].clone());
    assert_eq!(*line, report[1], "key {number} was answered in two ways");
}

/// Every acknowledged answer stands in the ledger; [`Ledger`] has seen that nothing stands there twice.
fn all_there(acknowledged: &Acknowledged, ledger: &Ledger) {
    for (number, line) in acknowledged {
        let answer = Json::parse(line.as_bytes()).unwrap();
        let text = |name: &str| answer.get(name).and_then(Json::as_text).unwrap().to_owned();
        let id = text("id");
        assert_eq!(ledger.keys.get(&format!("key-{number}")), Some(&id), "key {number} is lost");
        assert_eq!(ledger.decisions.get(&id).map(|(_, verdict)| verdict.as_str()), Some(text("verdict").as_str()));
    }
}

/// Asks for some of them in this process: the same bytes again, and nothing new in the ledger.
fn ask_again(site: &Site, acknowledged: &Acknowledged, dice: &mut Dice, ledger: &Ledger) -> usize {
    let runtime = site.runtime();
    let numbers: Vec<&u64> = acknowledged.keys().collect();
    let mut asked = 0;
    for _ in 0..5.min(numbers.len()) {
        let number = numbers[usize::try_from(dice.below(numbers.len() as u64)).unwrap()];
        assert_eq!(propose(&runtime, &text(*number)).answer.to_line(), acknowledged[number]);
        asked += 1;
    }
    assert_eq!(site.reader().size().unwrap(), ledger.size, "an answer given again is not a new decision");
    asked
}
