//! The checker can fail: one history that is right, and each invariant violated once.

use super::{Effect, Entry, History};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const AT: i64 = 1_767_225_600_000_000;

fn entry(index: u64, body: Value) -> Entry {
    let mut body = body;
    body["at"] = json!(format!("2026-01-01T00:00:{index:02}.000000Z"));
    let leaf = format!("leaf {index}");
    let hash = STANDARD.encode(Sha256::new().chain_update([0]).chain_update(leaf.as_bytes()).finalize());
    Entry { index, hash, leaf, body }
}

fn decision(id: &str, key: &str, verdict: &str) -> Value {
    let intent =
        json!({"id": format!("i-{id}"), "run": {"http": "POST x"}, "holds": [{"resource": "pool", "amount": 5}]});
    let intent = if verdict == "ACCEPT" { intent } else { Value::Null };
    json!({"kind": "decision", "proposal_id": id, "verdict": verdict, "agent": "bot", "door": {"performer": "runtime"},
        "proposal": {"idempotency_key": key}, "intent": intent, "findings": []})
}

fn step(kind: &str, id: &str, from: &str, to: &str, epoch: u64) -> Value {
    json!({"kind": kind, "verdict": "ACCEPT", "command": {"attempt": "a", "epoch": epoch},
        "result": {"intent": format!("i-{id}"), "from": from, "state": to, "epoch": epoch}})
}

fn status(kind: &str, status: &str) -> Value {
    json!({"kind": kind, "verdict": "ACCEPT", "result": {"agent": "bot", "status": status}})
}

fn call(key: &str, id: &str, verdict: &str, began: i64, ended: i64) -> Value {
    let response = json!({"id": id, "verdict": verdict, "reasons": []}).to_string();
    json!({"key": key, "args": "x", "t_inv": began, "t_ret": ended, "status": "ok", "response": response})
}

/// Two accepted and performed, one refused, one failed; a suspension at the end that is lifted again.
fn right() -> History {
    let register = json!({"kind": "register", "verdict": "ACCEPT", "result": {"agent": "bot", "status": "REGISTERED"},
        "command": {"contract": {"resources": {"pool": {"capacity": 20}}}}});
    let bodies = vec![
        register,
        status("activate", "ACTIVE"),
        decision("a", "ka", "ACCEPT"),
        decision("b", "kb", "REJECT"),
        step("claim", "a", "READY", "CLAIMED", 1),
        step("start", "a", "CLAIMED", "IN_FLIGHT", 1),
        step("outcome", "a", "IN_FLIGHT", "IN_DOUBT", 1),
        step("intent_moved", "a", "IN_DOUBT", "READY", 1),
        step("claim", "a", "READY", "CLAIMED", 2),
        step("start", "a", "CLAIMED", "IN_FLIGHT", 2),
        step("outcome", "a", "IN_FLIGHT", "SUCCEEDED", 2),
        decision("c", "kc", "ACCEPT"),
        step("claim", "c", "READY", "CLAIMED", 1),
        step("start", "c", "CLAIMED", "IN_FLIGHT", 1),
        step("outcome", "c", "IN_FLIGHT", "FAILED", 1),
        status("restrict", "SUSPENDED"),
        status("lift", "ACTIVE"),
    ];
    let entries: Vec<Entry> = (0..).zip(bodies).map(|(index, body)| entry(index, body)).collect();
    History {
        calls: vec![
            call("ka", "a", "ACCEPT", 10, 20),
            call("kb", "b", "REJECT", 30, 40),
            call("ka", "a", "ACCEPT", 50, 60),
            call("kc", "c", "ACCEPT", 70, 80),
            json!({"key": "kd", "args": "x", "t_inv": 90, "t_ret": null, "status": "unknown", "response": null}),
        ],
        effects: vec![Effect { key: "key-a".to_owned(), fence: 2, intent: "i-a".to_owned() }],
        size: entries.len() as u64,
        entries,
        counters: [("pool".to_owned(), (0, 5))].into(),
        bounds: (AT, AT + 60_000_000),
    }
}

/// Puts entries behind the others.
fn append(history: &mut History, bodies: Vec<Value>) {
    for body in bodies {
        history.entries.push(entry(history.size, body));
        history.size += 1;
    }
}

#[test]
fn a_right_history_is_right_and_every_broken_invariant_is_named() {
    assert_eq!(right().check(), []);
    assert_eq!(right().check_settled(), []);
    let mut rows = 0;
    let mut check = |what: &str, expected: &str, doctor: &dyn Fn(&mut History)| {
        let mut history = right();
        doctor(&mut history);
        let mut found = history.check();
        found.extend(history.check_settled());
        assert!(found.iter().any(|(name, _)| *name == expected), "{what}: {expected} expected, found {found:?}");
        rows += 1;
    };
    check("an answer that is not in the ledger", "I1", &|history| {
        history.calls.push(call("kz", "z", "ACCEPT", 90, 95))
    });
    check("another verdict than was answered", "I1", &|history| history.entries[3].body["verdict"] = json!("ESCALATE"));
    check("one proposal decided twice", "I1", &|history| append(history, vec![decision("b", "kq", "REJECT")]));
    check("a leaf with another hash", "I1", &|history| history.entries[3].leaf.push('x'));
    check("a hole", "I2", &|history| drop(history.entries.remove(3)));
    check("an entry twice", "I2", &|history| history.entries[4].index = 3);
    check("fewer than the header states", "I2", &|history| history.size += 1);
    check("answered before it began, placed behind", "I3", &|history| history.calls[0]["t_inv"] = json!(45));
    check("a clock that ran backwards", "I4", &|history| {
        history.entries[4].body["at"] = json!("2026-01-01T00:00:01.000000Z");
    });
    check("a time nobody lived in", "I4", &|history| history.bounds.1 = AT + 9_000_000);
    check("one key, two answers", "I7", &|history| {
        history.calls[2]["response"] = json!("{\"id\":\"a\",\"verdict\":\"ACCEPT\"}")
    });
    check("one key for two things", "I7", &|history| history.calls[2]["args"] = json!("y"));
    check("one key decided twice", "I7", &|history| append(history, vec![decision("d", "kb", "REJECT")]));
    check("accepted after its time", "I8", &|history| {
        history.entries[2].body["proposal"]["valid_until"] = json!("2026-01-01T00:00:01Z");
    });
    check("more than there is", "I11", &|history| {
        let many = ["p", "q", "r", "s"].map(|id| decision(id, id, "ACCEPT"));
        append(history, many.to_vec());
    });
    check("a counter that is no sum", "I12", &|history| history.counters.get_mut("pool").unwrap().0 = 5);
    check("accepted while suspended", "I18", &|history| history.entries.swap(11, 15));
    check("accepted behind a suspension", "I18", &|history| {
        append(history, vec![status("restrict", "SUSPENDED"), decision("e", "ke", "ACCEPT")]);
    });
    check("started while suspended", "I19", &|history| {
        let claim = step("claim", "e", "READY", "CLAIMED", 1);
        let start = step("start", "e", "CLAIMED", "IN_FLIGHT", 1);
        append(history, vec![decision("e", "ke", "ACCEPT"), claim, status("restrict", "SUSPENDED"), start]);
    });
    check("an effect nobody accepted", "I20", &|history| {
        history.effects.push(Effect { key: "key-x".to_owned(), fence: 1, intent: "i-x".to_owned() });
    });
    check("an effect under an epoch that never started", "I20", &|history| history.effects[0].fence = 3);
    check("other params than were started before", "I20", &|history| {
        history.entries[9].body["command"]["attempt"] = json!("b");
    });
    check("an effect twice", "I21", &|history| history.effects.push(history.effects[0].clone()));
    check("succeeded without an effect", "I22", &|history| history.effects.clear());
    check("failed with an effect", "I22", &|history| {
        history.effects.push(Effect { key: "key-c".to_owned(), fence: 1, intent: "i-c".to_owned() });
    });
    check("a step that is not there", "I23", &|history| history.entries[14].body["result"]["state"] = json!("READY"));
    check("a step from elsewhere", "I23", &|history| history.entries[14].body["result"]["from"] = json!("IN_DOUBT"));
    check("an end that is taken back", "I23", &|history| {
        append(history, vec![step("outcome", "c", "FAILED", "SUCCEEDED", 1)]);
    });
    check("an intent nobody performs", "I24", &|history| append(history, vec![decision("e", "ke", "ACCEPT")]));
    check("called off although it was sent", "I23", &|history| {
        let claim = step("claim", "e", "READY", "CLAIMED", 1);
        let start = step("start", "e", "CLAIMED", "IN_FLIGHT", 1);
        let over = json!({"kind": "intent_expired", "verdict": null, "result": {"intent": "i-e"}});
        append(history, vec![decision("e", "ke", "ACCEPT"), claim, start, over]);
    });
    check("an epoch claimed again", "I25", &|history| history.entries[8].body["result"]["epoch"] = json!(1));
    check("started under an epoch of before", "I25", &|history| history.entries[9].body["command"]["epoch"] = json!(1));
    println!("history checker: {rows} doctored histories, all noticed");
}
