//! Who may do what: a committed table, which the service does not read, against live answers, cell by cell.
//!
//! A row is a route of the served document, or a page that it names. A cell says `ok` (the caller is let through),
//! `403` (not with this role), `404` (there is no such thing for this caller), or another status by which what somebody
//! else sent was refused; a row of the form of records (`POST /v1/changes`) has a line for each act that it names, and the
//! code of the kernel's refusal where there is one. Columns: the six roles of the tenant that
//! owns everything named in the request, another agent of it, and the six roles of another tenant.

use crate::http::{connect, request};
use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};

const TABLE: &str = include_str!("authority.tsv");

const ROLES: [&str; 6] = ["agent", "executor", "operator", "approver", "auditor", "admin"];

/// Things that requests name; all of them belong to one agent of the first tenant.
struct Things {
    flow: String,
    intent: String,
    question: String,
    proposal: String,
    snapshot: String,
    key: String,
    lease: String,
    contract: String,
}

/// What is asked in the name of one line of the table.
struct Asked {
    line: String,
    method: String,
    path: String,
    own: Option<Value>,
    foreign: Option<Value>,
}

/// What is refused after the check of roles.
fn nonsense() -> Option<Value> {
    Some(json!({ "nonsense": 1 }))
}

/// What is sent to a route: the path, what its owner sends, and what strangers send. An owner sends what is refused after
/// the check of roles wherever carrying it out would spoil the next request.
fn sample(method: &str, route: &str, things: &Things) -> (String, Option<Value>, Option<Value>) {
    let because = || Some(json!({ "because": "test" }));
    let path = |id: &str| {
        let spare = route.contains("/token");
        route
            .replace("{id}", id)
            .replace(
                "{name}",
                if route.starts_with("/v1/tenants") {
                    "spare"
                } else if spare {
                    "third-bot"
                } else {
                    "refund-bot"
                },
            )
            .replace("{action}", "issue_refund")
            .replace("{code}", "HALTED")
            .replace("{fence}", &things.lease)
            .replace("{rest}", if route.contains("tile") { "entries/000.p/1" } else { "agents/refund-bot/note" })
    };
    let proposal = json!({ "agent": "refund-bot", "action": "read_order", "params": { "order_id": "A" } });
    let contract = json!({ "contract": CONTRACT });
    let status = json!({ "status": "SUSPENDED", "because": "test" });
    let amendment = json!({ "action": "issue_refund", "param": "amount", "max": 1, "because": "test" });
    let answer = json!({ "decision": "approve", "because": "", "digest": "0".repeat(64) });
    match (method, route) {
        ("POST", "/v1/proposals") => (path(""), Some(proposal.clone()), Some(proposal)),
        ("POST", "/v1/proposals/batch") => (path(""), Some(json!([proposal])), Some(json!([proposal]))),
        ("POST", "/v1/agents" | "/v1/keys") => (path(""), nonsense(), nonsense()),
        ("POST", "/v1/tenants") => (path(""), nonsense(), nonsense()),
        ("POST", "/v1/halt" | "/v1/resume") => (path(""), nonsense(), nonsense()),
        ("POST", "/v1/agents/{name}/activate") => (path(""), nonsense(), Some(contract)),
        ("POST", "/v1/agents/{name}/canary") => {
            (path(""), nonsense(), Some(json!({ "contract": CONTRACT, "share": "5%", "because": "test" })))
        }
        ("POST", "/v1/agents/{name}/canary/promote") => {
            (path(""), nonsense(), Some(json!({ "contract": "0".repeat(64), "because": "test" })))
        }
        ("POST", "/v1/agents/{name}/canary/rollback") => (path(""), nonsense(), because()),
        ("POST", "/v1/agents/{name}/restrict" | "/v1/agents/{name}/lift") => (path(""), nonsense(), Some(status)),
        ("POST", "/v1/agents/{name}/retire") => (path(""), nonsense(), because()),
        ("POST", "/v1/agents/{name}/amend") => (path(""), nonsense(), Some(amendment)),
        ("PUT", "/v1/people/{name}" | "/v1/attention/{name}") => (path(""), nonsense(), nonsense()),
        ("POST", "/v1/flows") => (path(""), nonsense(), Some(json!({ "agent": "refund-bot" }))),
        ("POST", "/v1/flows/{id}/session") => (path(&things.flow), nonsense(), Some(json!({ "values": {} }))),
        ("POST", "/v1/flows/{id}/questions") => (path(&things.flow), nonsense(), Some(json!({ "reason": "unsure" }))),
        ("POST", "/v1/flows/{id}/reservations") => {
            let cash = json!({ "cash": 1 });
            (path(&things.flow), nonsense(), Some(json!({ "resources": cash, "available": cash })))
        }
        ("POST", "/v1/flows/{id}/release") => (path(&things.flow), nonsense(), Some(json!({}))),
        ("POST", "/v1/flows/{id}/notes") => (path(&things.flow), nonsense(), Some(json!({ "name": "SEEN" }))),
        (_, "/v1/flows/{id}" | "/v1/flows/{id}/session" | "/v1/flows/{id}/close" | "/v1/flows/{id}/abort") => {
            (path(&things.flow), None, None)
        }
        ("PUT", "/v1/state/{rest}") => (path(""), nonsense(), Some(json!({ "value": 1 }))),
        ("POST", "/v1/snapshots") => (path(""), nonsense(), Some(json!({ "flow": things.flow, "keys": [] }))),
        ("GET", "/v1/snapshots/{id}") => (path(&things.snapshot), None, None),
        ("GET", "/v1/intents/{id}") => (path(&things.intent), None, None),
        ("POST", "/v1/intents/{id}/claim") => (path(&things.intent), nonsense(), Some(json!({}))),
        ("POST", "/v1/intents/{id}/start") => (path(&things.intent), nonsense(), Some(json!({ "epoch": 1 }))),
        ("POST", "/v1/intents/{id}/finish") => {
            (path(&things.intent), nonsense(), Some(json!({ "epoch": 1, "observed": "UNKNOWN" })))
        }
        ("POST", "/v1/intents/{id}/settle") => (path(&things.intent), nonsense(), Some(json!({ "event": "DOUBT" }))),
        ("POST", "/v1/intents/{id}/undo") => (path(&things.intent), nonsense(), because()),
        ("GET", "/v1/escalations/{id}") => (path(&things.question), None, None),
        ("POST", "/v1/escalations/{id}/answer") => (path(&things.question), Some(answer.clone()), Some(answer)),
        ("POST", "/v1/escalations/{id}/hand-over") => {
            (path(&things.question), nonsense(), Some(json!({ "to": "ann" })))
        }
        ("POST", "/v1/escalations/{id}/snooze") => (path(&things.question), nonsense(), Some(json!({ "for": "1h" }))),
        (_, "/approve/{id}" | "/approve/{id}/receipt") => (path(&things.question), nonsense(), nonsense()),
        ("GET", "/v1/ledger/receipts/{id}") => (path(&things.proposal), None, None),
        ("DELETE", "/v1/keys/{id}") => (path(&things.key), None, None),
        ("POST", "/v1/leases") => {
            (path(""), nonsense(), Some(json!({ "holder": "refund-bot", "regions": ["thing:x"] })))
        }
        ("POST", "/v1/leases/{fence}/heartbeat" | "/v1/leases/{fence}/release") => {
            (path(""), nonsense(), Some(json!({ "holder": "refund-bot" })))
        }
        ("POST", "/v1/leases/{fence}/evict") => (path(""), nonsense(), because()),
        ("POST", "/v1/leases/{fence}/adopt") => (path(""), nonsense(), Some(json!({ "to": "x", "because": "test" }))),
        _ => (path(""), None, None),
    }
}

/// What stands for a route whose answer depends on what is named: a line for each.
fn asked(method: &str, route: &str, things: &Things) -> Vec<Asked> {
    let plain = |line: String, path: String| Asked { line, method: method.to_owned(), path, own: None, foreign: None };
    match (method, route) {
        ("GET", "/v1/rows/{kind}") => ["agent", "contract", "escalation", "flow", "intent", "state", "tenant"]
            .map(|kind| plain(format!("GET /v1/rows/{kind}"), format!("/v1/rows/{kind}")))
            .into(),
        ("GET", "/v1/rows/{kind}/{name}") => [
            ("agent", "refund-bot"),
            ("contract", &things.contract),
            ("escalation", &things.question),
            ("flow", &things.flow),
            ("intent", &things.intent),
            ("session", &things.flow),
            ("snapshot", &things.snapshot),
            ("state", "agents%2Frefund-bot%2Fnote"),
            ("state", &format!("keys%2F{}", things.key)),
        ]
        .map(|(kind, name)| {
            let is_key = name.starts_with("keys");
            let line = format!("GET /v1/rows/{kind}/{{{}}}", if is_key { "key" } else { "name" });
            plain(line, format!("/v1/rows/{kind}/{name}"))
        })
        .into(),
        ("GET", "/v1/follow") => [("intent", &things.intent), ("question", &things.question)]
            .map(|(kind, id)| plain(format!("GET /v1/follow?{kind}"), format!("/v1/follow?{kind}={id}")))
            .into(),
        ("POST", "/v1/changes") => changes(things)
            .into_iter()
            .map(|(what, act, command)| {
                let body = Some(json!({ "act": act, "command": command }));
                let (line, path) = (format!("POST /v1/changes {what}"), route.to_owned());
                Asked { line, method: method.to_owned(), path, own: body.clone(), foreign: body }
            })
            .collect(),
        _ => {
            let (path, own, foreign) = sample(method, route, things);
            vec![Asked { line: format!("{method} {route}"), method: method.to_owned(), path, own, foreign }]
        }
    }
}

/// Acts in the form of records about things of the first agent: what the line is called, the act, and its command.
fn changes(things: &Things) -> Vec<(&'static str, &'static str, Value)> {
    let write = |key: &str, value: Value| json!({ "writes": [{ "key": key, "value": value, "expect": null }] });
    let (intent, none) = (&things.intent, "0".repeat(64));
    let because = "test";
    vec![
        ("note", "note", json!({ "flow": things.flow, "name": "SEEN", "details": {} })),
        ("merge_state own", "merge_state", write("agents/refund-bot/note", json!(2))),
        ("merge_state shared", "merge_state", write("rates/eur", json!(2))),
        ("merge_state people", "merge_state", write("people/eve", json!(["refund-desk"]))),
        ("merge_state keys", "merge_state", write("keys/0af3", json!({}))),
        ("merge_state tenants", "merge_state", write("tenants/evil", json!({ "state": "OPEN" }))),
        ("merge_state handed", "merge_state", write(&format!("handed/{}", things.question), json!({}))),
        ("merge_state snooze", "merge_state", write("snooze/ann", json!({}))),
        ("merge_session", "merge_session", json!({ "flow": things.flow, "values": {} })),
        ("snapshot", "snapshot", json!({ "flow": things.flow, "keys": ["agents/refund-bot/note"] })),
        ("claim", "claim", json!({ "intent": intent, "worker": "7", "lease_us": 600_000_000 })),
        ("start", "start", json!({ "intent": intent, "epoch": 1, "attempt": none })),
        (
            "outcome",
            "outcome",
            json!({ "intent": intent, "epoch": 1, "observed": "UNKNOWN", "detail": "", "result": false }),
        ),
        ("settle", "settle", json!({ "intent": intent, "event": "SUCCEED", "result": false })),
        (
            "answer",
            "answer",
            json!({ "question": things.question, "decision": "OVERRIDE", "digest": none, "reason": because }),
        ),
        ("expire_questions", "expire_questions", json!({ "questions": [] })),
        (
            "restrict",
            "restrict",
            json!({ "agent": "spare-bot", "status": "PASSIVE", "because": because, "actions": [] }),
        ),
        ("retire", "retire", json!({ "agent": "spare-bot", "because": because })),
    ]
}

/// What came of a change in the form of records: the kernel answers too, and its refusal is an answer.
fn change_cell(server: &Server, key: &str, body: &Value) -> String {
    let answer = server.post("/v1/changes", key, body);
    let json = answer.json();
    match (answer.status, json["answer"]["verdict"].as_str()) {
        (200, Some("ACCEPT")) => "ok".to_owned(),
        (200, _) => json["answer"]["findings"][0]["code"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned(),
        (500.., _) => panic!("a fault of the service: {json}"),
        (status, _) => status.to_string(),
    }
}

/// The status of an answer; its body may have no end.
fn status(server: &Server, method: &str, path: &str, key: &str, body: Option<&Value>) -> u16 {
    let body = body.map(|body| body.to_string().into_bytes());
    let mut stream = connect(&server.address);
    stream.write_all(&request(method, path, Some(key), body.as_deref())).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.filter(|status| *status < 500).unwrap_or_else(|| panic!("{method} {path}: {line}"))
}

/// Of nonsense only a refusal of the caller counts; of what is right in itself, whatever refuses it.
fn cell(status: u16, is_nonsense: bool) -> String {
    match status {
        401 | 403 | 404 => status.to_string(),
        400.. if !is_nonsense => status.to_string(),
        _ => "ok".to_owned(),
    }
}

fn things(server: &Server) -> Things {
    let contract = CONTRACT.replace("    ask:", "    run: POST http://127.0.0.1:9/x\n    ask:");
    let token = server.register(&contract);
    server.register(&CONTRACT.replace("refund-bot", "other-bot"));
    server.register(&CONTRACT.replace("refund-bot", "third-bot"));
    server.register(&CONTRACT.replace("refund-bot", "spare-bot"));
    let contract = server.get("/v1/agents/refund-bot/contract", &token).member("digest");
    let flow = server.post("/v1/flows", &token, &json!({}));
    let flow = flow.member("flow");
    let propose = |amount: u64| {
        let params = json!({ "order_id": format!("A-{amount}"), "amount": amount });
        let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "flow": flow, "params": params });
        server.post("/v1/proposals", &token, &proposal).json()
    };
    let (small, large) = (propose(1), propose(40));
    let snapshot = server.post("/v1/snapshots", &token, &json!({ "flow": flow, "keys": [] })).member("snapshot");
    let note = server.ask("PUT", "/v1/state/agents/refund-bot/note", &token, Some(&json!({ "value": 1 })));
    assert_eq!(note.status, 200, "{}", note.text());
    let key = server.post("/v1/keys", &server.admin, &json!({ "role": "auditor", "name": "spare" })).member("id");
    let lease = server.post("/v1/leases", &token, &json!({ "regions": ["thing:door"] })).json();
    assert_eq!(server.post("/v1/tenants", &server.admin, &json!({ "name": "spare" })).status, 201);
    let text = |json: &Value| json.as_str().unwrap_or_else(|| panic!("{json}")).to_owned();
    Things {
        intent: text(&small["intent"]["id"]),
        proposal: text(&small["id"]),
        question: text(&large["question"]["id"]),
        lease: lease["fence"].as_str().map_or_else(|| lease["fence"].to_string(), str::to_owned),
        flow,
        snapshot,
        key,
        contract,
    }
}

/// The keys of the columns.
fn keys(server: &Server) -> Vec<String> {
    let name = |role: &str| if role == "agent" { "refund-bot" } else { "somebody" }.to_owned();
    let own = ROLES.map(|role| server.key(role, &name(role), &["refund-desk"]));
    let other = server.key("agent", "other-bot", &[]);
    let admin = server.post("/v1/tenants", &server.admin, &json!({ "name": "acme" })).member("key");
    let theirs = ROLES.map(|role| {
        let wanted = json!({ "role": role, "name": name(role), "groups": ["refund-desk"] });
        server.post("/v1/keys", &admin, &wanted).member("key")
    });
    own.into_iter().chain([other]).chain(theirs).collect()
}

/// Every route that demands a key, and every page that demands a login; to sign in, everybody is let through.
fn routes(document: &Value) -> Vec<(String, String)> {
    let mut routes = Vec::new();
    for (route, methods) in document["paths"].as_object().unwrap() {
        let demanding = methods.as_object().unwrap().iter().filter(|(_, operation)| operation["security"] != json!([]));
        routes.extend(demanding.map(|(method, _)| (method.to_uppercase(), route.clone())));
    }
    let pages =
        document["x-pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap().split_once(' ').unwrap());
    let pages = pages.filter(|(_, route)| *route != "/login");
    routes.extend(pages.map(|(method, route)| (method.to_owned(), route.to_owned())));
    routes
}

#[test]
fn every_cell_of_the_table_is_what_happens() {
    let server = Server::start();
    let (things, keys) = (things(&server), keys(&server));
    let document = server.get("/v1/openapi.json", "").json();
    let mut rows = Vec::new();
    let mut left: BTreeSet<String> = TABLE.lines().skip(1).map(str::to_owned).collect();
    for Asked { line, method, path, own, foreign } in
        routes(&document).iter().flat_map(|(method, route)| asked(method, route, &things))
    {
        let mut row = vec![line];
        for (column, key) in keys.iter().enumerate() {
            let body = if column < ROLES.len() { &own } else { &foreign };
            let is_nonsense = column < ROLES.len() || foreign == nonsense();
            row.push(match body {
                Some(body) if path == "/v1/changes" => change_cell(&server, key, body),
                body => cell(status(&server, &method, &path, key, body.as_ref()), is_nonsense),
            });
        }
        rows.push(row.join("\t"));
    }
    let wrong: Vec<&String> = rows.iter().filter(|row| !left.remove(*row)).collect();
    let shown = |rows: Vec<&String>| rows.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(
        wrong.is_empty() && left.is_empty(),
        "happens:\n{}\nthe table says:\n{}",
        shown(wrong),
        shown(left.iter().collect())
    );
}

#[test]
fn strangers_are_refused_everywhere_and_told_nothing() {
    let server = Server::start();
    for row in TABLE.lines().skip(1) {
        let (method, route) = row.split('\t').next().unwrap().split_once(' ').unwrap();
        let route = route.split(' ').next().unwrap();
        let path = route.replace(['{', '}'], "");
        for key in ["", "wk_default.0123456789ab.00", "wks_default.refund-bot.00", "wk_acme.0123456789ab.00"] {
            assert_eq!(status(&server, method, &path, key, None), 401, "{method} {path} with `{key}`");
        }
    }
}
