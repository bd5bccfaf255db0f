//! What agents do in their own flows besides proposing, over HTTP and through a client.

use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};

fn post(server: &Server, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let answer = server.post(path, key, body);
    (answer.status, answer.json())
}

#[test]
fn an_agent_asks_holds_and_notes_in_its_own_flow_only() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let stranger = server.register(&CONTRACT.replace("refund-bot", "other-bot"));
    let flow = server.post("/v1/flows", &token, &json!({})).member("flow");
    let path = |what: &str| format!("/v1/flows/{flow}/{what}");
    let asked = json!({ "reason": "two accounts look alike", "context": { "accounts": ["A", "B"] } });
    let cash = json!({ "resources": { "cash": 60.5 }, "available": { "cash": 100 } });
    let note = json!({ "name": "PRICE_SEEN", "details": { "price": 12.5 } });
    for (what, body) in [("questions", &asked), ("reservations", &cash), ("notes", &note)] {
        assert_eq!(post(&server, &path(what), &stranger, body).0, 404, "{what}");
        let (status, told) = post(&server, &path(what), &token, body);
        assert_eq!(status, 201, "{what}: {told}");
    }
    let other = server.post("/v1/flows", &token, &json!({})).member("flow");
    let (status, told) = post(&server, &format!("/v1/flows/{other}/reservations"), &token, &cash);
    assert_eq!((status, told["code"].as_str()), (409, Some("RESOURCE_CONTENTION")), "{told}");
    let (_, released) = post(&server, &path("release"), &token, &json!({}));
    assert_eq!(released["resources"], json!(["cash"]), "{released}");
    let (status, told) = post(&server, &format!("/v1/flows/{other}/reservations"), &token, &cash);
    assert_eq!(status, 201, "{told}");
    let timeline = server.get(&format!("/v1/flows/{flow}"), &token).json();
    let kinds: Vec<&str> =
        timeline["timeline"].as_array().unwrap().iter().filter_map(|entry| entry["kind"].as_str()).collect();
    assert_eq!(kinds, ["open_flow", "ask", "reserve", "note", "release"]);
}

#[test]
fn a_person_answers_what_an_agent_asked() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let flow = server.post("/v1/flows", &token, &json!({})).member("flow");
    let proposal = json!({ "action": "issue_refund", "params": { "order_id": "A-9", "amount": 7 } });
    let body = json!({ "reason": "the customer wrote twice", "proposal": proposal, "impact": "LOW" });
    let (status, asked) = post(&server, &format!("/v1/flows/{flow}/questions"), &token, &body);
    assert_eq!(status, 201, "{asked}");
    let ann = server.key("approver", "ann", &["refund-desk"]);
    let id = asked["question"].as_str().unwrap();
    let card = server.get(&format!("/v1/escalations/{id}"), &ann).json();
    assert_eq!(
        (card["request"]["reason"].as_str(), card["reasons"][0].as_str()),
        (Some("the customer wrote twice"), Some("AGENT_ASKS"))
    );
    let yes = json!({ "decision": "approve", "because": "fine", "digest": card["digest"] });
    let (status, answered) = post(&server, &format!("/v1/escalations/{id}/answer"), &ann, &yes);
    assert_eq!(status, 200, "{answered}");
    assert!(answered["intent"]["id"].is_string(), "{answered}");
}

#[test]
fn whoever_asks_in_an_agents_name_is_on_the_card_and_does_not_approve_it() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let flow = server.post("/v1/flows", &token, &json!({})).member("flow");
    let operator = server.key("operator", "ann", &[]);
    let proposal = json!({ "action": "issue_refund", "params": { "order_id": "A-9", "amount": 7 } });
    let body = json!({ "reason": "the customer wrote twice", "proposal": proposal, "impact": "LOW" });
    let (status, asked) = post(&server, &format!("/v1/flows/{flow}/questions"), &operator, &body);
    assert_eq!(status, 201, "{asked}");
    let id = asked["question"].as_str().unwrap();
    let answer = |person: &str| {
        let key = server.key("approver", person, &["refund-desk"]);
        let card = server.get(&format!("/v1/escalations/{id}"), &key).json();
        assert_eq!(card["by"], json!("operator:ann"), "{card}");
        let yes = json!({ "decision": "approve", "because": "fine", "digest": card["digest"] });
        post(&server, &format!("/v1/escalations/{id}/answer"), &key, &yes)
    };
    for asker in ["ann", "Ann"] {
        let (status, refused) = answer(asker);
        assert_eq!((status, refused["code"].as_str()), (403, Some("APPROVER_NOT_ENTITLED")), "{asker}: {refused}");
    }
    let (status, answered) = answer("bob");
    assert_eq!(status, 200, "{answered}");
}

#[test]
fn an_agent_changes_nothing_else_in_the_form_of_records() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let stranger = server.register(&CONTRACT.replace("refund-bot", "other-bot"));
    let flow = server.post("/v1/flows", &token, &json!({})).member("flow");
    let note = json!({ "act": "note", "command": { "flow": flow, "name": "SEEN", "details": {} } });
    assert_eq!(server.post("/v1/changes", &token, &note).status, 200);
    let foreign = server.post("/v1/changes", &stranger, &note);
    assert!(foreign.text().contains("FLOW_UNKNOWN"), "{}", foreign.text());
    for (act, command) in
        [("halt", json!({ "because": "x" })), ("retire", json!({ "agent": "refund-bot", "because": "x" }))]
    {
        assert_eq!(server.post("/v1/changes", &token, &json!({ "act": act, "command": command })).status, 403, "{act}");
    }
}
