//! A marker in a secret param, and the keys themselves, appear in no answer, event, log or record.

use crate::server::Server;
use serde_json::json;

const CANARY: &str = "canary-7f3a9c";

const CONTRACT: &str = "\
agent: mailer
actions:
  send:
    params: { type: object, required: [to], properties: { to: { type: string }, password: { type: string, secret: true } } }
    allow: params.to != \"nobody\"
  hold:
    params: { type: object, required: [to], properties: { to: { type: string }, password: { type: string, secret: true } } }
    ask: params.to != \"nobody\"
approvers: [desk]
";

#[test]
fn a_secret_is_seen_nowhere() {
    let mut server = Server::start();
    let token = server.register(CONTRACT);
    let desk = server.key("approver", "ann", &["desk"]);
    let mut seen = Vec::new();
    for action in ["send", "hold", "unknown"] {
        let params = json!({ "to": "bob", "password": CANARY });
        let proposal = json!({ "agent": "mailer", "action": action, "params": params });
        seen.push(server.post("/v1/proposals", &token, &proposal).text());
    }
    for path in ["/v1/escalations", "/v1/flows", "/v1/intents", "/v1/ledger/entries", "/v1/report", "/v1/agents"] {
        let answer = server.get(path, &server.admin);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        seen.push(answer.text());
    }
    let inbox = server.get("/v1/escalations", &desk);
    let id = inbox.json()["questions"][0]["id"].as_str().unwrap_or_else(|| panic!("{}", inbox.text())).to_owned();
    seen.push(server.get(&format!("/v1/escalations/{id}"), &desk).text());
    seen.push(crate::events::read(&server, "/v1/events", 5));
    seen.push(server.end());
    for text in &seen {
        assert!(!text.contains(CANARY), "{text}");
        let key = server.admin.rsplit('.').next().unwrap();
        assert!(!text.contains(key), "{text}");
    }
}
