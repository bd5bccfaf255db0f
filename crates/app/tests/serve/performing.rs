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
    let mut unreadable = proposal("other-bot", "C");
    unreadable["nonsense"] = json!(1);
    for other in [proposal("other-bot", "B"), unreadable] {
        let batch = json!([proposal("refund-bot", "A"), other]);
        assert_eq!(server.post("/v1/proposals/batch", &token, &batch).status, 403);
    }
    assert_eq!(size(), before);
}

/// An agent whose action something performs: its token, and an intent that is ready.
fn bot(server: &Server, name: &str, run: &str) -> (String, String) {
    let contract = CONTRACT.replace("    ask:", &format!("    run: {run}\n    ask:"));
    let token = server.register(&contract.replace("refund-bot", name));
    let params = json!({ "order_id": name, "amount": 12 });
    let proposal = json!({ "agent": name, "action": "issue_refund", "params": params });
    let answer = server.post("/v1/proposals", &token, &proposal);
    let intent = answer.json()["intent"]["id"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned();
    (token, intent)
}

#[test]
fn an_agent_performs_the_functions_of_its_own_proposals() {
    let server = Server::start();
    let (token, intent) = bot(&server, "refund-bot", "{ function: refund }");
    let path = |step: &str| format!("/v1/intents/{intent}/{step}");
    let claimed = server.post(&path("claim"), &token, &json!({ "worker": "7", "lease": "60s" }));
    assert_eq!(claimed.status, 200, "{}", claimed.text());
    let told = claimed.json();
    assert_eq!(told["order"]["params"]["amount"], json!(12), "{told}");
    let epoch = &told["epoch"];
    // Another agent does not even learn that it is there, and an executor of the same name speaks for other claims.
    let (stranger, _) = bot(&server, "other-bot", "{ function: refund }");
    let namesake = server.key("executor", "refund-bot", &[]);
    for (key, status) in [(&stranger, 404), (&namesake, 403)] {
        assert_eq!(server.post(&path("start"), key, &json!({ "epoch": epoch })).status, status);
        let finish = json!({ "epoch": epoch, "observed": "POSITIVE" });
        assert_eq!(server.post(&path("finish"), key, &finish).status, status);
    }
    assert_eq!(server.post(&path("start"), &token, &json!({ "epoch": epoch })).status, 200);
    let result = json!({ "content_type": "application/json", "body": "{\"refund\":1}" });
    let finish = json!({ "epoch": epoch, "observed": "POSITIVE", "result": result });
    let finished = server.post(&path("finish"), &token, &finish);
    assert_eq!((finished.status, finished.json()["state"].as_str()), (200, Some("SUCCEEDED")), "{}", finished.text());
    let page = server.get(&format!("/v1/intents/{intent}"), &token);
    assert!(page.text().contains("agent:refund-bot/7") && page.text().contains("refund"), "{}", page.text());
}

#[test]
fn an_agent_performs_its_functions_in_the_form_of_records() {
    let server = Server::start();
    let (token, intent) = bot(&server, "refund-bot", "{ function: refund }");
    let (stranger, foreign) = bot(&server, "other-bot", "{ function: refund }");
    let row = |key: &str, id: &str| server.get(&format!("/v1/rows/intent/{id}"), key);
    assert_eq!(
        (row(&token, &intent).status, row(&token, &foreign).status, row(&stranger, &intent).status),
        (200, 404, 404)
    );
    assert_eq!(server.get("/v1/rows/intent", &token).status, 403, "it lists nobody's");
    assert_eq!(server.get("/v1/rows/agent/refund-bot", &token).status, 403);
    let act = |key: &str, act: &str, command: Value| {
        server.post("/v1/changes", key, &json!({ "act": act, "command": command }))
    };
    let claim = json!({ "intent": intent, "worker": "7", "lease_us": 60_000_000 });
    assert_eq!(act(&stranger, "claim", claim.clone()).status, 404);
    let claimed = act(&token, "claim", claim);
    assert!(claimed.status == 200 && claimed.text().contains("CLAIMED"), "{}", claimed.text());
    let attempt = server.get(&format!("/v1/intents/{intent}"), &token).text();
    assert!(attempt.contains("agent:refund-bot/7"), "{attempt}");
    let settle = json!({ "intent": foreign, "event": "CANCEL", "result": false });
    assert_eq!(act(&token, "settle", settle).status, 404);
    let expire = act(&token, "expire_intents", json!({}));
    assert_eq!(expire.status, 403, "{}", expire.text());
}

#[test]
fn what_only_executors_perform_is_refused_to_agents() {
    let server = Server::start();
    for (name, run) in
        [("http-bot", "POST http://127.0.0.1:9/refunds"), ("command-bot", "{ command: [\"/bin/true\"] }")]
    {
        let (token, intent) = bot(&server, name, run);
        let claimed = server.post(&format!("/v1/intents/{intent}/claim"), &token, &json!({}));
        assert_eq!((claimed.status, claimed.member("code").as_str()), (403, "NOT_AUTHORIZED"), "{name}");
        let command = json!({ "intent": intent, "worker": "7", "lease_us": 60_000_000 });
        let claimed = server.post("/v1/changes", &token, &json!({ "act": "claim", "command": command }));
        assert!(claimed.text().contains("NOT_AUTHORIZED"), "{name}: {}", claimed.text());
        let state = server.get(&format!("/v1/intents/{intent}"), &server.admin).json()["state"].clone();
        assert_eq!(state, json!("READY"), "{name}");
    }
}

#[test]
fn an_agent_reads_its_own_questions_and_nobody_elses() {
    let server = Server::start();
    let asked = |name: &str| {
        let token = server.register(&CONTRACT.replace("refund-bot", name));
        let params = json!({ "order_id": name, "amount": 40 });
        let proposal = json!({ "agent": name, "action": "issue_refund", "params": params });
        let answer = server.post("/v1/proposals", &token, &proposal);
        let question = answer.json()["question"]["id"].as_str().map(str::to_owned);
        (token, question.unwrap_or_else(|| panic!("{}", answer.text())))
    };
    // More questions of others than a page holds stand before and behind it.
    let others: Vec<(String, String)> = (0..6).map(|number| asked(&format!("bot-{number}"))).collect();
    let (token, question) = asked("refund-bot");
    let rows = server.get("/v1/rows/escalation?limit=1", &token);
    assert!(rows.status == 200 && rows.text().contains(&question), "{}", rows.text());
    for (_, foreign) in &others {
        assert!(!server.get("/v1/rows/escalation", &token).text().contains(foreign));
        assert_eq!(server.get(&format!("/v1/rows/escalation/{foreign}"), &token).status, 404);
    }
    assert_eq!(server.get(&format!("/v1/rows/escalation/{question}"), &token).status, 200);
    let state = |key: &str| server.get(&format!("/v1/rows/state/{key}"), &token).status;
    assert_eq!((state("agents%2Fbot-1%2Ftaken%2Fx"), state("keys%2Fx"), state("people%2Fdesk")), (404, 404, 404));
    assert_eq!(server.get("/v1/rows/state", &token).status, 403);
}
