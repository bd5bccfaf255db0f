//! A marker in a secret param, and the keys themselves, appear in no answer, event, log or record.

use crate::http::{request, send};
use crate::server::Server;
use serde_json::json;

const CANARY: &str = "canary-7f3a9c";

const CONTRACT: &str = "\
agent: mailer
actions:
  send:
    params: { type: object, required: [to], properties: { to: { type: string }, password: { type: string, secret: true } } }
    allow: params.to != \"nobody\"
  post:
    params: { type: object, required: [to], properties: { to: { type: string }, password: { type: string, secret: true } } }
    allow: params.to != \"nobody\"
    run: POST http://127.0.0.1:9/mail
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
    let mut intent = String::new();
    for action in ["send", "post", "hold", "unknown"] {
        let params = json!({ "to": "bob", "password": CANARY });
        let proposal = json!({ "agent": "mailer", "action": action, "id": action, "params": params });
        let answer = server.post("/v1/proposals?wait=1ms", &token, &proposal);
        if action == "post" {
            answer.json()["intent"]["id"]
                .as_str()
                .unwrap_or_else(|| panic!("{}", answer.text()))
                .clone_into(&mut intent);
        }
        seen.push(answer.text());
    }
    for path in [
        "/v1/escalations",
        "/v1/flows",
        "/v1/intents",
        "/v1/ledger/entries",
        "/v1/report",
        "/v1/agents",
        "/v1/monitors",
    ] {
        let answer = server.get(path, &server.admin);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        seen.push(answer.text());
    }
    let inbox = server.get("/v1/escalations", &desk);
    let id = inbox.json()["questions"][0]["id"].as_str().unwrap_or_else(|| panic!("{}", inbox.text())).to_owned();
    seen.push(server.get(&format!("/v1/escalations/{id}"), &desk).text());
    seen.push(crate::events::read(&server, "/v1/events", 5));
    let paths = [
        format!("/approve/{id}"),
        format!("/v1/rows/escalation/{id}"),
        "/v1/rows/escalation".to_owned(),
        format!("/v1/rows/intent/{intent}"),
        "/v1/rows/intent".to_owned(),
        "/v1/rows/flow".to_owned(),
        "/v1/rows/effect".to_owned(),
        format!("/v1/intents/{intent}"),
        format!("/v1/follow?intent={intent}"),
        "/v1/flows/hold".to_owned(),
        "/v1/ledger/receipts/post".to_owned(),
        "/v1/ledger/receipts/hold".to_owned(),
    ];
    let [operator, auditor] = ["operator", "auditor"].map(|role| server.key(role, "somebody", &[]));
    for path in &paths {
        for key in [&server.admin, &desk, &operator, &auditor] {
            let answer = server.get(path, key);
            assert!(answer.status == 200 || *path == paths[0] && answer.status == 403, "{path}: {}", answer.text());
            seen.push(answer.text());
        }
    }
    // Hashes of keys are no secret, and only an admin needs them, to revoke one.
    for (key, shows) in [(&operator, false), (&auditor, false), (&server.admin, true)] {
        let keys = server.get("/v1/rows/state?after=keys", key).text();
        assert!(keys.contains("keys/") && keys.contains("\"hash\"") == shows, "{keys}");
    }
    // An executor has no part in what it did not claim.
    let [worker, other] = ["w", "w2"].map(|name| server.key("executor", name, &[]));
    let rows = [format!("/v1/rows/intent/{intent}"), "/v1/rows/intent".to_owned()];
    let read = |key: &str| rows.iter().map(|path| server.get(path, key).text()).collect::<String>();
    seen.extend([&worker, &other].map(|key| read(key)));
    // Only whoever performs it gets it, and nobody else may claim it.
    let claim = format!("/v1/intents/{intent}/claim");
    let refused = server.post(&claim, &operator, &json!({}));
    assert_eq!(refused.status, 403, "{}", refused.text());
    seen.push(refused.text());
    let claimed = server.post(&claim, &worker, &json!({})).json();
    assert_eq!(claimed["secrets"], json!({ "password": CANARY }), "{claimed}");
    assert_eq!(read(&worker).matches(CANARY).count(), 2, "it performs what it claimed");
    seen.push(read(&other));
    let report = json!({ "epoch": claimed["epoch"], "observed": "POSITIVE", "detail": format!("said {CANARY}"),
        "result": { "status": 200, "body": format!("you sent {CANARY}") } });
    let start = server.post(&format!("/v1/intents/{intent}/start"), &worker, &json!({ "epoch": claimed["epoch"] }));
    assert_eq!(start.status, 200, "{}", start.text());
    seen.push(server.post(&format!("/v1/intents/{intent}/finish"), &worker, &report).text());
    // The same once more, when the intent has forgotten what its secrets are.
    let late = server.post(&format!("/v1/intents/{intent}/finish"), &worker, &report);
    assert!(late.status == 200 && late.json()["late"] == json!(true), "{}", late.text());
    seen.push(late.text());
    seen.push(server.get(&format!("/v1/intents/{intent}"), &token).text());
    seen.push(server.get("/v1/ledger/entries", &server.admin).text());
    seen.push(server.end());
    for text in &seen {
        assert!(!text.contains(CANARY), "{text}");
        let key = server.admin.rsplit('.').next().unwrap();
        assert!(!text.contains(key), "{text}");
    }
}

#[test]
fn a_secret_number_that_cannot_be_kept_exactly_is_told_nowhere() {
    const CARD: &str = "4111111111111111222";
    let mut server = Server::start();
    let params = "{ type: object, required: [card], properties: { card: { type: number, secret: true } } }";
    let token = server.register(&format!("agent: till\nactions:\n  pay: {{ params: {params} }}\n"));
    let body = format!(r#"{{"agent":"till","action":"pay","params":{{"card":{CARD}}}}}"#);
    let answer = send(&server.address, &request("POST", "/v1/proposals", Some(&token), Some(body.as_bytes())));
    assert_eq!(answer.json()["reasons"], json!(["NUMBER_NOT_EXACT"]), "{}", answer.text());
    assert!(answer.text().contains("line 1, column 49"), "{}", answer.text());
    let told = [
        answer.text(),
        server.get("/v1/ledger/entries", &server.admin).text(),
        crate::events::read(&server, "/v1/events", 4),
        server.end(),
    ];
    assert!(told.iter().all(|text| !text.contains(CARD)), "{told:?}");
}
