//! Executors: each speaks of its own claims, in the name of nobody else.

use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};

fn ready(server: &Server, order: &str) -> String {
    let contract = CONTRACT.replace("    ask:", "    run: POST http://127.0.0.1:9/refunds\n    ask:");
    let token = server.register(&contract.replace("refund-bot", &format!("bot-{order}")));
    let params = json!({ "order_id": order, "amount": 12 });
    let proposal = json!({ "agent": format!("bot-{order}"), "action": "issue_refund", "params": params });
    let answer = server.post("/v1/proposals", &token, &proposal);
    answer.json()["intent"]["id"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

#[test]
fn an_executor_reports_only_what_it_claimed() {
    let server = Server::start();
    let [one, two] = ["one", "two"].map(|name| server.key("executor", name, &[]));
    // A name that begins like another is another.
    let longer = server.key("executor", "one-more", &[]);
    let intent = ready(&server, "A");
    let path = |step: &str| format!("/v1/intents/{intent}/{step}");
    let claimed = server.post(&path("claim"), &one, &json!({ "worker": "w", "lease": "60s" }));
    assert_eq!(claimed.status, 200, "{}", claimed.text());
    let epoch = claimed.json()["epoch"].clone();
    let attempt = claimed.member("attempt");
    let act = |act: &str, command: Value| json!({ "act": act, "command": command });
    let steps = |key: &str| {
        [
            server.post(&path("start"), key, &json!({ "epoch": epoch })),
            server.post(&path("finish"), key, &json!({ "epoch": epoch, "observed": "POSITIVE" })),
            server.post(
                "/v1/changes",
                key,
                &act("start", json!({ "intent": intent, "epoch": epoch, "attempt": attempt })),
            ),
        ]
    };
    for key in [&two, &longer] {
        for refused in steps(key) {
            assert_eq!(refused.status, 403, "{}", refused.text());
        }
    }
    let settled = server.post(&path("settle"), &one, &json!({ "event": "FAIL" }));
    assert_eq!(settled.status, 403, "an executor is no person: {}", settled.text());
    assert_eq!(server.post(&path("start"), &one, &json!({ "epoch": epoch })).status, 200);
    let finished = server.post(&path("finish"), &one, &json!({ "epoch": epoch, "observed": "POSITIVE" }));
    assert_eq!(finished.status, 200, "{}", finished.text());
    // Late evidence of the same attempt is heard, and of nobody else.
    let late = server.post(&path("finish"), &two, &json!({ "epoch": epoch, "observed": "NEGATIVE" }));
    assert_eq!(late.status, 403, "{}", late.text());
}

#[test]
fn an_operator_who_proposes_for_an_agent_is_on_record() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let olga = server.key("operator", "olga", &[]);
    for (order, key) in [("A", &token), ("B", &olga)] {
        let params = json!({ "order_id": order, "amount": 1 });
        let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "id": order, "params": params });
        assert_eq!(server.post("/v1/proposals", key, &proposal).status, 200);
    }
    let entries = server.get("/v1/ledger/entries", &server.admin).json();
    let bodies = entries["entries"].as_array().unwrap().iter().filter_map(|entry| entry["body"].as_str());
    let decided: Vec<&str> = bodies.filter(|body| body.contains("\"kind\":\"decision\"")).collect();
    let by: Vec<bool> = decided.iter().map(|body| body.contains("\"by\":\"operator:olga\"")).collect();
    assert_eq!(by, [false, true], "{decided:?}");
}

#[test]
fn nobody_approves_what_they_proposed_in_the_name_of_an_agent() {
    let server = Server::start();
    server.register(CONTRACT);
    let operator = server.key("operator", "olga", &[]);
    let [olga, ann] = ["olga", "ann"].map(|name| server.key("approver", name, &["refund-desk"]));
    let params = json!({ "order_id": "A", "amount": 40 });
    let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params });
    let question = server.post("/v1/proposals", &operator, &proposal).json()["question"].clone();
    let path = format!("/v1/escalations/{}/answer", question["id"].as_str().unwrap());
    let yes = json!({ "decision": "approve", "because": "mine", "digest": question["digest"] });
    let own = server.post(&path, &olga, &yes);
    assert_eq!((own.status, own.member("code")), (403, "APPROVER_NOT_ENTITLED".to_owned()), "{}", own.text());
    assert_eq!(server.post(&path, &ann, &yes).status, 200);
}

#[test]
fn a_batch_with_the_proposal_of_another_agent_decides_nothing() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let proposal = |agent: &str, order: &str| {
        let params = json!({ "order_id": order, "amount": 1 });
        json!({ "agent": agent, "action": "issue_refund", "params": params })
    };
    let size = || server.get("/v1/ledger/size", &server.admin).json()["size"].clone();
    let before = size();
    let batch = json!([proposal("refund-bot", "A"), proposal("other-bot", "B")]);
    assert_eq!(server.post("/v1/proposals/batch", &token, &batch).status, 403);
    assert_eq!(size(), before);
}
