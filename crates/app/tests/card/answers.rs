//! What the buttons do.

use crate::service::{CONTRACT, Service};
use serde_json::{Value, json};

fn state(service: &Service, id: &str) -> String {
    let question = service.call(&service.admin, "GET", &format!("/v1/escalations/{id}"), &Value::Null).json();
    question["state"].as_str().unwrap().to_owned()
}

#[test]
fn of_two_people_one_wins_and_the_other_sees_who() {
    let service = Service::start();
    let keys = ["ann", "bob"].map(|name| service.key("approver", name, &["desk"]));
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let path = format!("/approve/{id}");
    let [ann, bob] = keys.each_ref().map(|key| service.sign_in(key));
    assert!(ann.get("/approve").body.contains(&path));
    let (of_ann, of_bob) = (ann.get(&path), bob.get(&path));
    let won = ann.answer(&of_ann, &id, &[("decision", "approve"), ("because", "parcel was late")]);
    assert_eq!((won.status, won.header("location")), (303, Some(path.as_str())), "{}", won.body);
    let lost = bob.answer(&of_bob, &id, &[("decision", "deny"), ("because", "no")]);
    assert_eq!(lost.status, 409, "{}", lost.body);
    assert!(lost.body.contains("ann was faster and approved it"), "{}", lost.body);
    assert!(!lost.body.contains("name=\"decision\""), "nothing is left to answer");
    let twice = ann.answer(&of_ann, &id, &[("decision", "approve")]);
    assert!(twice.status == 409 && twice.body.contains("You already approved it"), "{}", twice.body);
    let after = bob.get(&path);
    for part in ["Approved", "ann", "parcel was late", "key "] {
        assert!(after.body.contains(part), "{part}");
    }
    assert_eq!(state(&service, &id), "OVERRIDDEN");
    assert!(ann.get("/approve").body.contains("Nothing waits"));
}

#[test]
fn a_card_that_is_stale_approves_nothing() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let card = ann.get(&format!("/approve/{id}"));
    let other = json!({ "contract": CONTRACT.replace("max: 1000", "max: 900") });
    let activated = service.call(&service.admin, "POST", "/v1/agents/bot/activate", &other);
    assert_eq!(activated.status, 200, "{}", activated.body);
    let stale = ann.answer(&card, &id, &[("decision", "approve")]);
    assert_eq!(stale.status, 409, "{}", stale.body);
    assert!(stale.body.contains("What you saw is no longer what would happen"), "{}", stale.body);
    assert_ne!(stale.hidden("digest"), card.hidden("digest"));
    assert!(stale.body.contains("Another contract is in force"));
    assert_eq!(state(&service, &id), "OPEN");
    assert_eq!(ann.answer(&stale, &id, &[("decision", "approve")]).status, 303, "the card that came back counts");
}

#[test]
fn a_denial_needs_a_reason() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let card = ann.get(&format!("/approve/{id}"));
    for reason in ["", "  "] {
        let refused = ann.answer(&card, &id, &[("decision", "deny"), ("because", reason)]);
        assert!(refused.status == 422 && refused.body.contains("a reason is missing"), "{}", refused.body);
    }
    assert_eq!(state(&service, &id), "OPEN");
    assert_eq!(ann.answer(&card, &id, &[("decision", "deny"), ("because", "sold as damaged")]).status, 303);
    assert_eq!(state(&service, &id), "ABORTED");
    assert!(ann.get(&format!("/approve/{id}")).body.contains("sold as damaged"));
}

#[test]
fn other_params_are_judged_again() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40, "note": "x" }), "late");
    let card = ann.get(&format!("/approve/{id}"));
    assert!(card.body.contains("name=\"param.amount\" value=\"40\""), "{}", card.body);
    let check = |fields: &[(&str, &str)], status: u16, part: &str| {
        let mut all = vec![("decision", "modify"), ("because", "less")];
        all.extend(fields);
        let answer = ann.answer(&card, &id, &all);
        assert_eq!(answer.status, status, "{fields:?}: {}", answer.body);
        assert!(answer.body.contains(part), "{part}: {}", answer.body);
    };
    check(&[("param.amount", "40"), ("param.order", "A")], 422, "no param was changed");
    check(&[("param.amount", "lots")], 422, "cannot be read");
    check(&[("param.iban", "x")], 422, "cannot be changed here");
    let refused = ann.answer(&card, &id, &[("decision", "modify"), ("param.amount", "501")]);
    assert!(refused.status >= 400, "{}", refused.body);
    assert!(refused.body.contains("the question stays open"), "{}", refused.body);
    assert_eq!(state(&service, &id), "OPEN");
    check(&[("param.amount", "30"), ("param.order", "A"), ("param.note", "x")], 303, "");
    assert_eq!(state(&service, &id), "MODIFIED");
}

#[test]
fn where_signatures_count_the_card_gives_a_command_and_no_button() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let contract = CONTRACT.replace("approvers: [desk]", "escalation: { approvers: [desk], signed: true }");
    let agent = service.agent(&contract);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let card = ann.get(&format!("/approve/{id}"));
    for answer in ["approve", "deny"] {
        assert!(!card.body.contains(&format!("value=\"{answer}\"")), "{answer}: {}", card.body);
    }
    for part in ["writkeeper escalations answer", "--digest", "--key", &service.host] {
        assert!(card.body.contains(part), "{part}: {}", card.body);
    }
}

#[test]
fn a_quorum_is_counted_on_the_card() {
    let service = Service::start();
    let keys = ["ann", "bob"].map(|name| service.key("approver", name, &["desk"]));
    let contract = CONTRACT.replace("approvers: [desk]", "escalation: { approvers: [desk], quorum: 2 }");
    let agent = service.agent(&contract);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let path = format!("/approve/{id}");
    let [ann, bob] = keys.each_ref().map(|key| service.sign_in(key));
    assert_eq!(ann.answer(&ann.get(&path), &id, &[("decision", "approve")]).status, 303);
    let card = ann.get(&path);
    assert!(card.body.contains("Your approval is counted") && card.body.contains("1 of 2 so far"), "{}", card.body);
    assert!(!ann.get("/approve").body.contains(&path), "it waits for others");
    assert!(bob.get("/approve").body.contains(&path));
    assert_eq!(bob.answer(&bob.get(&path), &id, &[("decision", "approve")]).status, 303);
    assert_eq!(state(&service, &id), "OVERRIDDEN");
}

#[test]
fn a_doubt_is_answered_by_whoever_looked() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let contract = CONTRACT.replace(", class: keyed", "");
    let (agent, worker) = (service.agent(&contract), service.key("executor", "w", &[]));
    let params = json!({ "order": "A", "amount": 5 });
    let proposal = json!({ "agent": "bot", "action": "refund", "params": params });
    let accepted = service.call(&agent, "POST", "/v1/proposals", &proposal).json();
    let intent = accepted["intent"]["id"].as_str().unwrap_or_else(|| panic!("{accepted}")).to_owned();
    // The answer is lost as often as the contract lets it be tried; then only a person knows.
    let seen = || service.call(&agent, "GET", &format!("/v1/intents/{intent}"), &Value::Null).json();
    let question = loop {
        if let Some(question) = seen()["question"].as_str() {
            break question.to_owned();
        }
        let claimed = service.call(&worker, "POST", &format!("/v1/intents/{intent}/claim"), &json!({})).json();
        let Some(epoch) = claimed.get("epoch").cloned() else { continue };
        let step = |step: &str, body: Value| {
            let answer = service.call(&worker, "POST", &format!("/v1/intents/{intent}/{step}"), &body);
            assert_eq!(answer.status, 200, "{}", answer.body);
        };
        step("start", json!({ "epoch": epoch }));
        step("finish", json!({ "epoch": epoch, "observed": "UNKNOWN", "detail": "the answer was lost" }));
    };
    let path = format!("/approve/{question}");
    let card = ann.get(&path);
    for part in ["nobody knows whether it happened", "It happened", "It did not happen", "Call it again", "5 EUR"] {
        assert!(card.body.contains(part), "{part}: {}", card.body);
    }
    let without = ann.answer(&card, &question, &[("decision", "happened")]);
    assert!(without.status == 422 && without.body.contains("a reason is missing"), "{}", without.body);
    let said = ann.answer(&card, &question, &[("decision", "happened"), ("because", "the bank shows it")]);
    assert_eq!(said.status, 303, "{}", said.body);
    assert_eq!(seen()["state"], "SUCCEEDED");
    let after = ann.get(&path);
    assert!(after.body.contains("Resolved") && after.body.contains("the bank shows it"), "{}", after.body);
}

#[test]
fn a_question_is_handed_over_from_its_card() {
    let service = Service::start();
    let [ann, bob] = ["ann", "bob"].map(|name| service.sign_in(&service.key("approver", name, &["desk"])));
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let card = ann.get(&format!("/approve/{id}"));
    assert!(
        card.body.contains("<option value=\"bob\">") && !card.body.contains("<option value=\"ann\">"),
        "{}",
        card.body
    );
    let check = |to: &str, status: u16| {
        let given = ann.answer(&card, &id, &[("decision", "hand-over"), ("to", to), ("because", "<b>on leave</b>")]);
        assert_eq!(given.status, status, "{to}: {}", given.body);
        given.body
    };
    assert!(check("bot", 403).contains("Your answer was not counted"), "an agent is nobody to hand it to");
    check("bob", 303);
    assert!(ann.get("/approve").body.contains("You handed 1 to others"));
    let list = bob.get("/approve").body;
    assert!(list.contains("handed to you by <bdi>ann</bdi>"), "{list}");
    let handed = bob.get(&format!("/approve/{id}"));
    assert!(
        handed.body.contains("&lt;b&gt;on leave&lt;/b&gt;") && handed.body.contains("Handed over"),
        "{}",
        handed.body
    );
    assert_eq!(state(&service, &id), "OPEN");
    assert_eq!(ann.answer(&card, &id, &[("decision", "approve")]).status, 303, "who handed it over may still answer");
}

#[test]
fn a_question_is_put_off_from_its_card() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let lasting = "escalation: { approvers: [desk], timeout: { after: 2d, then: ABORT } }";
    let agent = service.agent(&CONTRACT.replace("approvers: [desk]", lasting));
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let card = ann.get(&format!("/approve/{id}"));
    assert!(card.body.contains("<summary>Not now</summary>"), "{}", card.body);
    assert!(card.body.contains("<option value=\"1h\">"), "{}", card.body);
    assert!(!card.body.contains("<option value=\"7d\">"), "longer than people have is not offered: {}", card.body);
    let check = |length: &str, status: u16| {
        let given = ann.answer(&card, &id, &[("decision", "snooze"), ("for", length)]);
        assert_eq!(given.status, status, "{length}: {}", given.body);
        given
    };
    assert!(check("7d", 422).body.contains("put it off for less"));
    assert_eq!(check("1h", 303).header("location"), Some("/approve"));
    let list = ann.get("/approve").body;
    assert!(list.contains("Nothing waits") && list.contains("Put off by you: 1"), "{list}");
    let hidden = ann.get("/approve?snoozed=only").body;
    assert!(hidden.contains("on your list again in") && hidden.contains(&id), "{hidden}");
    let again = ann.get(&format!("/approve/{id}")).body;
    assert!(again.contains("You put this off until") && again.contains("Approve once"), "{again}");
    assert_eq!(state(&service, &id), "OPEN");
    assert_eq!(ann.answer(&card, &id, &[("decision", "approve")]).status, 303, "it can be answered all the same");
}
