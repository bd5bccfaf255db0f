//! Hostile and ordinary input together in large batches: what one thread folds while another saves is judged as it would
//! be alone, and everything that was answered can be made again from the file.

use crate::folder::Folder;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::command::Door;
use kernel::flow::FlowEvent;
use kernel::outcome::Verdict;
use runtime::memory::MemoryStore;
use runtime::ports::store::Store;
use runtime::{Answered, Arrival, Options, Pending, Runtime};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

const AGENTS: usize = 4;

/// Questions of each agent. Agents share nothing, so each hears the same whoever else asks in between.
const QUESTIONS: usize = 900;

/// As many wait at the same time.
const IN_FLIGHT: usize = 700;

fn contract(agent: usize) -> String {
    format!(
        "agent: bot-{agent}
actions:
  pay:
    once: \"pay:{{order}}\"
    params: {{ order: text, amount: number }}
    allow: amount <= 25
    ask: amount <= 50
    budget: {{ sum: amount, max: 1000000, per: 24h }}
  tip:
    once: \"tip:{{order}}\"
    params: {{ order: text, amount: number }}
    allow: amount <= 25
    budget: {{ sum: amount, max: 20, per: 24h }}
  look: {{ params: {{ order: text }}, reads: true }}
escalation:
  budget: {{ max: 1000, per: 1h }}
"
    )
}

/// A question of an agent: mostly in order, and every trick between.
fn question(agent: usize, number: usize) -> Vec<u8> {
    let order = number / 3;
    let bot = format!("bot-{agent}");
    let pay = |order: &str, amount: &str, more: &str| {
        format!(r#"{{"agent":"{bot}","action":"pay","params":{{"order":{order},"amount":{amount}}}{more}}}"#)
    };
    let name = format!("\"{agent}-{order}\"");
    let text = match number % 24 {
        0 | 5 | 9 | 13 => pay(&name, "12.5", ""),
        // Twice the same key and text, and once the same key and another text.
        1 | 2 => pay(&format!("\"k-{agent}-{}\"", number / 23), "3", &key(agent, number / 23)),
        3 => pay(&format!("\"other-{agent}-{number}\""), "3", &key(agent, number / 23)),
        4 => pay(&name, "40", ""),
        6 => pay(&name, "12500", ""),
        7 => pay(&name, "-1", ""),
        8 => pay(&name, "1e-7", ""),
        10 => pay("\"\\u0000\"", "1", ""),
        11 => pay("\"\\ud800\"", "1", ""),
        12 => pay(&format!("\"{}\"", "💣\\n\\\"".repeat(300)), "2", ""),
        14 => pay(&name, "1", r#","flow":"01890a5d-ac96-774b-bcce-b302099a8057""#),
        15 => pay(&name, "1", r#","idempotency_key":"' OR 1=1; DROP TABLE ledger; --""#),
        16 => pay(&name, "1", r#","provenance":{"order":"user"}"#),
        17 => format!("{}1{}", "[".repeat(400), "]".repeat(400)),
        18 => format!(r#"{{"agent":"{bot}","agent":"bot-0","action":"pay","params":{{}}}}"#),
        19 => format!(r#"{{"agent":"nobody-{number}","action":"pay","params":{{}}}}"#),
        // Nothing is wrong with it, and each value can be written in another way.
        20 => format!(
            r#"{{"agent":"{bot}","action":"look","params":{{"order":{name}}},"step":{number},"tokens":0,"flow":null,
            "valid_until":"2100-01-01T02:00:00.120+02:00","confidence":0.50,"snapshot":null,"justification":null}}"#
        ),
        21 => pay(&name, "1", r#","ttl_s":-1,"created_at":"2026-01-01T00:00:00""#),
        // What does not fit into a budget is looked at a second time, behind what came after it.
        22 => format!(r#"{{"agent":"{bot}","action":"tip","params":{{"order":"{agent}-{number}","amount":1}}}}"#),
        _ => return vec![0xFF, 0xFE, 0, b'{', 0x80],
    };
    text.into_bytes()
}

fn key(agent: usize, number: usize) -> String {
    // Texts that are UUIDs and texts that are not are kept in two forms.
    match number % 2 {
        0 => format!(r#","idempotency_key":"01890a5d-ac96-774b-bcce-{agent:04}{number:08}""#),
        _ => format!(r#","idempotency_key":"retry {agent}/{number} é""#),
    }
}

fn started(store: Box<dyn Store>) -> Runtime {
    let runtime = Runtime::start(store, Options::default()).unwrap();
    let operator = || Actor::Operator("ann".to_owned());
    for agent in 0..AGENTS {
        let contract = Arc::new(engines::load::load(&contract(agent)).unwrap().compiled);
        assert_eq!(runtime.register(operator(), contract.clone(), None, None).wait().answer.verdict, Verdict::Accept);
        assert_eq!(runtime.activate(operator(), contract).wait().answer.verdict, Verdict::Accept);
    }
    runtime
}

/// Every question, and now and then an operator in between; so many wait at the same time.
fn ask_all(runtime: &Runtime, in_flight: usize) -> Vec<Answered> {
    let mut answered = Vec::new();
    let mut waiting: VecDeque<Pending> = VecDeque::new();
    for number in 0..QUESTIONS {
        for agent in 0..AGENTS {
            waiting.push_back(runtime.judge(&question(agent, number), Arrival::through(Door::PURE)));
            if number % 100 == 50 {
                let act = Act::EndFlow { flow: format!("none-{agent}"), event: FlowEvent::Close };
                waiting.push_back(runtime.change(Actor::Operator("ann".to_owned()), act));
            }
            while waiting.len() >= in_flight {
                answered.extend(waiting.pop_front().map(Pending::wait));
            }
        }
    }
    answered.extend(waiting.into_iter().map(Pending::wait));
    answered
}

fn said(answered: &Answered) -> (Verdict, Vec<&str>) {
    (answered.answer.verdict, answered.answer.reasons())
}

#[test]
fn large_batches_are_judged_as_each_command_would_be_alone() {
    let folder = Folder::new();
    let path = folder.path("store");
    let store = SqliteStore::open(&path, Arc::new(SystemClock)).unwrap();
    let together = ask_all(&started(Box::new(store)), IN_FLIGHT);
    let memory = MemoryStore::new(Arc::new(SystemClock));
    let alone = ask_all(&started(Box::new(memory)), 1);
    assert_eq!(together.len(), alone.len());
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for (place, (one, other)) in together.iter().zip(&alone).enumerate() {
        assert_eq!(said(one), said(other), "question {place}");
        assert!(one.at.is_some(), "question {place} was not decided: {}", one.answer.to_line());
        *verdicts.entry(format!("{:?}", one.answer.verdict)).or_default() += 1;
    }
    assert!(verdicts.len() == 3 && verdicts.values().all(|count| *count >= 100), "{verdicts:?}");
    whole(&path, &together);
}

/// The file in a fresh process' eyes: everything that was answered, each once, in order of time, and the same again.
fn whole(path: &Path, answered: &[Answered]) {
    let mut reader = SqliteStore::open(path, Arc::new(SystemClock)).unwrap().reader().unwrap();
    let kept: usize = answered.iter().map(|answered| answered.records.len()).sum();
    // Each contract was offered and put in force.
    assert_eq!(reader.size().unwrap(), (kept + 2 * AGENTS) as u64);
    let replayed = runtime::replay::replay(reader.as_mut()).unwrap();
    assert_eq!(replayed.differs, None);
    let mut effects: BTreeMap<String, usize> = BTreeMap::new();
    for answered in answered.iter().filter(|answered| !answered.records.is_empty()) {
        let intent = answered.answer.intent.as_ref().map(|intent| intent.to_json());
        let effect = intent.as_ref().and_then(|intent| intent.get("effect_key")?.as_text());
        effects.extend(effect.map(|name| (name.to_owned(), effects.get(name).copied().unwrap_or_default() + 1)));
    }
    assert!(effects.len() >= 100, "{} effects", effects.len());
    let twice: Vec<_> = effects.iter().filter(|(name, count)| name.starts_with("pay:") && **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
