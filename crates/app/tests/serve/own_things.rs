//! What belongs to one agent is nobody else's, however an agent or a worker is called, and whichever way is tried.

use crate::server::{CONTRACT, Server};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

fn state(server: &Server, token: &str, key: &str) -> u16 {
    server.ask("PUT", &format!("/v1/state/{key}"), token, Some(&json!({ "value": "mine" }))).status
}

#[test]
fn no_agent_freezes_what_belongs_to_another_and_reads_it_there() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let eve = server.register(&CONTRACT.replace("refund-bot", "eve"));
    assert_eq!(state(&server, &token, "agents/refund-bot/note"), 200);
    assert_eq!(server.post("/v1/leases", &token, &json!({ "regions": ["thing:door"] })).status, 201);
    let flow = server.post("/v1/flows", &eve, &json!({})).member("flow");
    let freeze = |key: &str| server.post("/v1/snapshots", &eve, &json!({ "flow": flow, "keys": [key] }));
    for key in ["agents/refund-bot/note", "agents/refund-bot/none", "leases/book", "attention/desk", "shadows/eve"] {
        assert_eq!(freeze(key).status, 404, "{key}");
    }
    // Its own, and what operators keep for everybody, it may.
    assert_eq!((state(&server, &eve, "agents/eve/note"), state(&server, &server.admin, "rates/eur")), (200, 200));
    for key in ["agents/eve/note", "rates/eur"] {
        let frozen = freeze(key).member("snapshot");
        let read = server.get(&format!("/v1/snapshots/{frozen}"), &eve).json();
        assert_eq!(read["state"][key], json!("mine"), "{read}");
    }
}

/// What only an admin may say at its own route nobody else says by way of state.
#[test]
fn no_operator_writes_as_state_what_is_for_admins() {
    let server = Server::start();
    let operator = server.key("operator", "olga", &[]);
    let bound = json!({ "value": { "questions": 1, "per": "8h" } });
    for key in ["attention/desk", "service/first-admin", "people/ann"] {
        let put = server.ask("PUT", &format!("/v1/state/{key}"), &operator, Some(&bound));
        assert_eq!(put.status, 403, "{key}: {}", put.text());
        let write = json!({ "expect": null, "key": key, "value": { "questions": 1, "per": "8h" } });
        let merge = json!({ "act": "merge_state", "command": { "writes": [write] } });
        let merged = server.post("/v1/changes", &operator, &merge);
        assert_eq!(
            (merged.status, merged.member("code")),
            (403, "ROLE_FORBIDDEN".to_owned()),
            "{key}: {}",
            merged.text()
        );
    }
    assert_eq!(state(&server, &operator, "rates/eur"), 200);
    assert_eq!(server.ask("PUT", "/v1/attention/desk", &server.admin, Some(&bound["value"])).status, 200);
}

/// Ids that agents choose may begin alike; a whole one is that one.
#[test]
fn a_whole_id_is_no_beginning_of_another() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let eve = server.register(&CONTRACT.replace("refund-bot", "eve"));
    let propose = |token: &str, agent: &str, id: &str| {
        let params = json!({ "order_id": id, "amount": 5 });
        let proposal = json!({ "agent": agent, "action": "issue_refund", "id": id, "params": params });
        let answer = server.post("/v1/proposals", token, &proposal);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    propose(&token, "refund-bot", "q1");
    propose(&eve, "eve", "q1x");
    let receipt = |id: &str| server.get(&format!("/v1/ledger/receipts/{id}"), &server.admin);
    for id in ["q1", "=q1", "q1x"] {
        assert_eq!(receipt(id).status, 200, "{id}: {}", receipt(id).text());
    }
    assert_eq!((receipt("q1").text(), receipt("q").status), (receipt("=q1").text(), 409));
}

#[test]
fn keys_tell_the_groups_that_count_and_questions_go_to_people_only() {
    let server = Server::start();
    let [_, second] = [["desk"], ["other"]].map(|groups| server.key("approver", "flo", &groups));
    let keys = server.get("/v1/keys", &server.admin).json();
    let of_flo = keys["keys"].as_array().unwrap().iter().filter(|key| key["name"] == "flo");
    assert!(of_flo.clone().count() == 2 && of_flo.clone().all(|key| key["groups"] == json!(["other"])), "{keys}");
    assert_eq!(server.get("/v1/whoami", &second).json()["name"], "flo");
}

#[test]
fn no_agent_has_a_name_under_which_it_owns_things_of_another() {
    let server = Server::start();
    let named = |name: &str| {
        let contract = CONTRACT.replace("refund-bot", &format!("'{name}'"));
        server.post("/v1/agents", &server.admin, &json!({ "contract": contract }))
    };
    let key = |name: &str| server.post("/v1/keys", &server.admin, &json!({ "role": "agent", "name": name }));
    assert_eq!((named("team/bot").status, named("desk").status, key("clerk").status), (201, 201, 201));
    for name in ["team", "team/bot/7", "team/bot:7", "desk/", "desk:7", "desk/a/b"] {
        let refused = named(name);
        assert!(refused.status == 422 && refused.text().contains("overlaps with agent"), "{name}: {}", refused.text());
        assert_eq!(key(name).status, 422, "{name}");
    }
    let contract = writkeeper::Keeper::contract(&CONTRACT.replace("refund-bot", "desk:7")).unwrap();
    let contract: Value = contract.contract.to_json().to_canonical().parse().unwrap();
    let command = json!({ "contract": contract, "version": null, "session": null });
    let refused = server.post("/v1/changes", &server.admin, &json!({ "act": "register", "command": command }));
    assert!(refused.text().contains("overlaps with agent"), "{}", refused.text());
    for name in ["desk-7", "desk7", "team.bot", "teams/bot", "de"] {
        assert_eq!(named(name).status, 201, "{name}");
    }
    // Whoever is there may come again.
    assert_eq!((named("team/bot").status, key("desk").status), (201, 201));
}

#[test]
fn no_executor_has_a_name_under_which_it_speaks_for_another() {
    let server = Server::start();
    for name in ["w/7", "agent:refund-bot", "/"] {
        let refused = server.post("/v1/keys", &server.admin, &json!({ "role": "executor", "name": name }));
        assert!(refused.status == 422 && refused.text().contains("executor"), "{name}: {}", refused.text());
    }
    assert_eq!(server.post("/v1/keys", &server.admin, &json!({ "role": "executor", "name": "w-7" })).status, 201);
}

/// What an agent reads of its own costs what is its own, however many questions of others stand before them.
#[test]
fn an_agent_reads_its_questions_in_one_request_behind_thousands_of_others() {
    let server = Server::start();
    let asks = |name: &str, count: usize| {
        let limits = "approvers: [refund-desk]\nescalation: { budget: { max: 10000, per: 24h } }\n";
        let contract = CONTRACT.replace("approvers: [refund-desk]\n", limits).replace("refund-bot", name);
        let token = server.register(&contract);
        let proposal = |order: usize| {
            let params = json!({ "order_id": format!("{name}-{order}"), "amount": 40 });
            json!({ "agent": name, "action": "issue_refund", "params": params })
        };
        for first in (0..count).step_by(250) {
            let batch: Vec<Value> = (first..count.min(first + 250)).map(proposal).collect();
            let answers = server.post("/v1/proposals/batch", &token, &json!(batch));
            assert_eq!(answers.text().matches("\"question\":{").count(), batch.len(), "{}", answers.text());
        }
        token
    };
    asks("crowd", 2_250);
    let token = asks("refund-bot", 3);
    for query in ["limit=100", "limit=100&due=9000000000000000", "limit=100&agent=refund-bot"] {
        let rows = server.get(&format!("/v1/rows/escalation?{query}"), &token).json()["rows"].clone();
        let agents: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["row"]["agent"]).collect();
        assert_eq!(agents, [&json!("refund-bot"); 3], "{query}");
    }
    assert_eq!(server.get("/v1/rows/escalation?agent=crowd", &token).status, 404);
    let all = server.get("/v1/rows/escalation?impact=HIGH", &token);
    assert_eq!(all.status, 422, "{}", all.text());
}

/// The records that a receipt tells.
fn told(receipt: &str) -> String {
    let extra = receipt.lines().find_map(|line| line.strip_prefix("extra ")).unwrap_or_default();
    String::from_utf8(STANDARD.decode(extra).unwrap()).unwrap()
}

#[test]
fn no_agent_gets_the_receipt_of_another_by_an_id_that_both_use() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let eve = server.register(&CONTRACT.replace("refund-bot", "eve"));
    let propose = |key: &str, agent: &str, id: &str, flow: Option<&str>| {
        let params = json!({ "order_id": format!("{agent}-{id}"), "amount": 1 });
        let mut proposal = json!({ "agent": agent, "action": "issue_refund", "id": id, "params": params });
        if let Some(flow) = flow {
            proposal["flow"] = json!(flow);
        }
        let answer = server.post("/v1/proposals", key, &proposal);
        assert!(answer.text().contains("ACCEPT"), "{}", answer.text());
    };
    propose(&token, "refund-bot", "p1", None);
    propose(&token, "refund-bot", "p2", None);
    // The same id, and a flow that is called like the id, or like the place in the ledger, of somebody else.
    propose(&eve, "eve", "p1", None);
    propose(&eve, "eve", "q", Some("p2"));
    let size = server.get("/v1/ledger/size", &server.admin).json()["size"].as_u64().unwrap();
    let own = |key: &str, agent: &str, id: &str| {
        let receipt = server.get(&format!("/v1/ledger/receipts/{id}"), key);
        assert_eq!(receipt.status, 200, "{agent} {id}: {}", receipt.text());
        let told = told(&receipt.text());
        let other = if agent == "eve" { "refund-bot" } else { "eve" };
        assert!(told.contains(&format!("{agent}-")) && !told.contains(&format!("{other}-")), "{agent} {id}: {told}");
    };
    own(&token, "refund-bot", "p1");
    own(&token, "refund-bot", "p2");
    own(&eve, "eve", "p1");
    own(&eve, "eve", "p2");
    for index in 0..size {
        assert_eq!(server.get(&format!("/v1/ledger/receipts/{index}"), &eve).status, 404, "entry {index}");
    }
    // The card's is that of its own question, too.
    let params = json!({ "order_id": "refund-bot-asked", "amount": 40 });
    let asked = json!({ "agent": "refund-bot", "action": "issue_refund", "id": "same", "params": params });
    let question = server.post("/v1/proposals", &token, &asked).json()["question"]["id"].clone();
    propose(&eve, "eve", "same", None);
    let card = server.get(&format!("/approve/{}/receipt", question.as_str().unwrap()), &server.admin);
    assert!(told(&card.text()).contains("refund-bot-asked"), "{}", told(&card.text()));
}

/// Agents choose the ids of their proposals: none of them gets hold of the receipt of another agent by its choice.
#[test]
fn no_agent_takes_the_receipt_of_another_by_the_id_it_chooses() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let eve = server.register(&CONTRACT.replace("refund-bot", "eve"));
    let propose = |agent: &str, token: &str, id: &str, amount: u32| {
        let params = json!({ "order_id": format!("{agent} {id}"), "amount": amount });
        let proposal = json!({ "agent": agent, "action": "issue_refund", "id": id, "params": params });
        server.post("/v1/proposals", token, &proposal).json()
    };
    let question = propose("refund-bot", &token, "p2", 40)["question"]["id"].as_str().unwrap().to_owned();
    let intent = propose("refund-bot", &token, "p3", 4)["intent"]["id"].as_str().unwrap().to_owned();
    for id in ["p2", &question, &intent] {
        propose("eve", &eve, id, 1);
    }
    let receipt = |path: &str| server.get(&format!("/v1/ledger/receipts/{path}"), &server.admin);
    let ambiguous = receipt("p2");
    assert_eq!((ambiguous.status, &ambiguous.json()["code"]), (409, &json!("ID_AMBIGUOUS")), "{}", ambiguous.text());
    assert!(ambiguous.text().contains("p2 of eve") && ambiguous.text().contains("p2 of refund-bot"));
    // What the kernel minted is meant before what an agent calls so; and an agent can be named.
    for path in [&*question, &*intent, "p2?agent=refund-bot", &format!("{question}?agent=refund-bot")] {
        let found = receipt(path);
        assert_eq!(found.status, 200, "{path}: {}", found.text());
        let body = base64_bodies(&found.text());
        assert!(body.contains("refund-bot") && !body.contains("eve"), "{path}: {body}");
    }
    assert!(base64_bodies(&receipt("p2?agent=eve").text()).contains("eve"));
    assert_eq!(server.get("/v1/ledger/receipts/p2?agent=refund-bot", &eve).status, 404);
    let store = server.store.to_string_lossy().into_owned();
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        let output = command.args(["ledger", "receipt"]).args(words).args(["--store", &store]).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), said)
    };
    let (is_there, said) = run(&["p2"]);
    assert!(!is_there && said.contains("p2 of eve"), "{said}");
    let (is_there, said) = run(&["p2", "--agent", "refund-bot"]);
    assert!(is_there && base64_bodies(&said).contains("refund-bot"), "{said}");
}

/// Everything in a receipt that is written in base64.
fn base64_bodies(receipt: &str) -> String {
    let decoded = receipt.split_whitespace().filter_map(|word| STANDARD.decode(word).ok());
    decoded.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect::<Vec<_>>().join("\n") + receipt
}
