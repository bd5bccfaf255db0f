//! The way of a proposal through the service: the five steps of the guide, idempotency, batches.

use crate::http::{request, send};
use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::process::Command;

fn proposal(order: &str, amount: u64) -> Value {
    json!({ "agent": "refund-bot", "action": "issue_refund", "params": { "order_id": order, "amount": amount } })
}

#[test]
fn an_agent_proposes_a_person_answers_and_a_stranger_verifies() {
    let mut server = Server::start();
    let token = server.register(CONTRACT);
    let small = server.post("/v1/proposals", &token, &proposal("A-1", 12));
    assert_eq!((small.status, small.member("verdict")), (200, "ACCEPT".to_owned()), "{}", small.text());

    let asked = server.post("/v1/proposals", &token, &proposal("A-2", 40));
    assert_eq!((asked.status, asked.member("verdict")), (200, "ESCALATE".to_owned()), "{}", asked.text());
    let question = asked.json()["question"].clone();
    let (id, digest) = (question["id"].as_str().unwrap(), question["digest"].as_str().unwrap());
    let ann = server.key("approver", "ann", &["refund-desk"]);
    let card = server.get(&format!("/v1/escalations/{id}"), &ann);
    assert_eq!((card.status, card.member("digest")), (200, digest.to_owned()), "{}", card.text());

    let path = format!("/v1/escalations/{id}/answer");
    let yes = json!({ "decision": "approve", "because": "the parcel was late", "digest": digest });
    let eve = server.key("approver", "eve", &["other-desk"]);
    assert_eq!(server.post(&path, &eve, &yes).status, 403);
    let other = json!({ "decision": "approve", "because": "", "digest": "0".repeat(64) });
    assert_eq!(server.post(&path, &ann, &other).status, 409);
    let answered = server.post(&path, &ann, &yes);
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert!(answered.json()["intent"]["id"].is_string(), "{}", answered.text());
    let again = server.post(&path, &ann, &yes);
    assert_eq!((again.status, again.member("code")), (409, "ALREADY_ANSWERED".to_owned()), "{}", again.text());
    let told = server.get(&format!("/v1/escalations/{id}"), &ann).json();
    assert_eq!(told["answer"]["person"], "ann");
    assert!(told["answer"]["login"].as_str().unwrap().starts_with("key "), "{told}");

    let receipt = server.get(&format!("/v1/ledger/receipts/{}", small.member("id")), &server.admin);
    assert_eq!(receipt.status, 200, "{}", receipt.text());
    let file = server.store.with_extension("receipt");
    std::fs::write(&file, &receipt.body).unwrap();
    server.end();
    let verified = Command::new(env!("CARGO_BIN_EXE_writkeeper")).arg("verify").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.status.success(), "{said}{}", String::from_utf8_lossy(&verified.stderr));
    let export = server.store.with_extension("ledger");
    let writkeeper = || Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    let mut exporting = writkeeper();
    let exported = exporting.args(["ledger", "export", "--out"]).arg(&export).arg("--store").arg(&server.store);
    assert!(exported.output().unwrap().status.success());
    let history = writkeeper().arg("verify").arg(&export).output().unwrap();
    assert!(history.status.success(), "{}", String::from_utf8_lossy(&history.stdout));
}

#[test]
fn a_key_is_told_once_and_stops_when_it_is_revoked() {
    let mut server = Server::start();
    assert!(server.admin.starts_with("wk_default."), "{}", server.admin);
    let made = server.post("/v1/keys", &server.admin, &json!({ "role": "operator", "name": "olga" }));
    let (id, key) = (made.member("id"), made.member("key"));
    assert_eq!(
        server.get("/v1/whoami", &key).json(),
        json!({ "tenant": "default", "role": "operator", "name": "olga" })
    );
    assert!(!server.get("/v1/keys", &server.admin).text().contains(&key));
    assert_eq!(server.ask("DELETE", &format!("/v1/keys/{id}"), &server.admin, None).status, 200);
    assert_eq!(server.get("/v1/whoami", &key).status, 401);
    let (store, admin) = (server.store.clone(), server.admin.clone());
    server.end();
    let again = Server::on(&store, &[]);
    assert_eq!(again.admin, "", "only the first start tells a key");
    assert_eq!(again.get("/v1/whoami", &admin).status, 200);
}

#[test]
fn a_token_is_renewed_and_revoked() {
    let server = Server::start();
    let first = server.register(CONTRACT);
    assert_eq!(server.get("/v1/whoami", &first).json()["role"], "agent");
    let second = server.ask("POST", "/v1/agents/refund-bot/token", &server.admin, None);
    assert_eq!(second.status, 201, "{}", second.text());
    assert_eq!(server.get("/v1/whoami", &first).status, 401);
    assert_eq!(server.get("/v1/whoami", &second.member("token")).status, 200);
    assert_eq!(server.ask("DELETE", "/v1/agents/refund-bot/token", &server.admin, None).status, 200);
    assert_eq!(server.get("/v1/whoami", &second.member("token")).status, 401);
}

#[test]
fn the_same_key_brings_the_same_answer_and_no_other_proposal() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let send_keyed = |key: &str, proposal: &Value| {
        let body = proposal.to_string().into_bytes();
        let plain = request("POST", "/v1/proposals", Some(&token), Some(&body));
        let plain = String::from_utf8(plain).unwrap();
        let keyed = plain.replacen("host: test", &format!("host: test\r\nidempotency-key: {key}"), 1);
        send(&server.address, keyed.as_bytes())
    };
    let first = send_keyed("k-1", &proposal("A-1", 12));
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(send_keyed("k-1", &proposal("A-1", 12)).body, first.body);
    let other = send_keyed("k-1", &proposal("A-1", 13));
    assert_eq!((other.status, other.member("code")), (422, "IDEMPOTENCY_KEY_REUSED".to_owned()), "{}", other.text());
    let mut own = proposal("A-3", 1);
    own["idempotency_key"] = json!("k-2");
    assert_eq!(send_keyed("k-1", &own).status, 422);
}

#[test]
fn answers_of_a_batch_stand_in_its_order() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let batch = json!([proposal("A-1", 1), proposal("A-1", 1), { "agent": "refund-bot" }]);
    let answered = server.post("/v1/proposals/batch", &token, &batch).json();
    let verdicts: Vec<&str> =
        answered["answers"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["ACCEPT", "REJECT", "REJECT"], "{answered}");
}

#[test]
fn an_executor_claims_starts_and_finishes() {
    let server = Server::start();
    let contract = CONTRACT
        .replace("    ask: amount <= 50\n", "    ask: amount <= 50\n    run: POST http://127.0.0.1:9/refunds\n");
    let token = server.register(&contract);
    server.post("/v1/proposals", &token, &proposal("A-1", 12));
    let worker = server.key("executor", "w1", &[]);
    let due = server.get("/v1/intents", &worker).json();
    let intent = due["intents"][0]["id"].as_str().unwrap_or_else(|| panic!("{due}")).to_owned();
    let claimed = server.ask("POST", &format!("/v1/intents/{intent}/claim"), &worker, None);
    assert_eq!(claimed.status, 200, "{}", claimed.text());
    let epoch = claimed.json()["epoch"].clone();
    let started = server.post(&format!("/v1/intents/{intent}/start"), &worker, &json!({ "epoch": epoch }));
    assert_eq!(started.status, 200, "{}", started.text());
    let report =
        json!({ "epoch": epoch, "observed": "POSITIVE", "result": { "status": 201, "body": "{\"refund\":\"r-77\"}" } });
    let finished = server.post(&format!("/v1/intents/{intent}/finish"), &worker, &report);
    assert_eq!(finished.status, 200, "{}", finished.text());
    let seen = server.get(&format!("/v1/intents/{intent}"), &token).json();
    assert_eq!(seen["state"], "SUCCEEDED", "{seen}");
    assert!(seen["result"].to_string().contains("r-77"), "{seen}");
}

#[test]
fn tenants_are_apart_and_can_be_closed() {
    let server = Server::start();
    server.register(CONTRACT);
    let made = server.post("/v1/tenants", &server.admin, &json!({ "name": "acme" }));
    assert_eq!(made.status, 201, "{}", made.text());
    let admin = made.member("key");
    assert_eq!(server.get("/v1/agents", &admin).json()["agents"], json!([]));
    assert_eq!(server.get("/v1/agents/refund-bot", &admin).status, 404);
    assert_eq!(server.get("/v1/tenants", &admin).status, 404);
    let listed = server.get("/v1/tenants", &server.admin).json();
    assert_eq!(listed, json!({ "tenants": [{ "tenant": "acme", "state": "OPEN" }] }));
    assert_eq!(server.ask("POST", "/v1/tenants/acme/close", &server.admin, None).status, 200);
    let closed = server.get("/v1/whoami", &admin);
    assert_eq!((closed.status, closed.member("code")), (403, "TENANT_CLOSED".to_owned()));
    // Whoever is not known there does not learn that it was ever there.
    for stranger in ["wk_acme.0123456789ab.00", "wk_never.0123456789ab.00", "wks_acme.refund-bot.00"] {
        assert_eq!(server.get("/v1/whoami", stranger).status, 401, "{stranger}");
    }
}
