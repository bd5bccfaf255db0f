//! Who may do what: a committed table, which the service does not read, against live answers, cell by cell.
//!
//! A row is a route of the served document, or a page that it names. A cell says `ok` (the caller is let through),
//! `403` (not with this role), `404` (there is no such thing for this caller), or another status by which what somebody
//! else sent was refused. Columns: the six roles of the tenant that
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
            .replace("{kind}", "agent")
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
        ("POST", "/v1/agents" | "/v1/keys" | "/v1/changes") => (path(""), nonsense(), nonsense()),
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
        ("GET", "/v1/rows/{kind}/{name}") => (path(""), None, None),
        ("GET", "/v1/follow") => (format!("{route}?intent={}", things.intent), None, None),
        _ => (path(""), None, None),
    }
}

/// The status of an answer; its body may have no end.
fn status(server: &Server, method: &str, path: &str, key: &str, body: Option<&Value>) -> u16 {
    let body = body.map(|body| body.to_string().into_bytes());
    let mut stream = connect(&server.address);
    stream.write_all(&request(method, path, Some(key), body.as_deref())).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{method} {path}: {line}"))
}

/// Of nonsense only a refusal of the caller counts; of what is right in itself, whatever refuses it.
fn cell(status: u16, is_nonsense: bool) -> String {
    match status {
        500.. => panic!("a fault of the service: {status}"),
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
    for (method, route) in routes(&document) {
        let (path, own, foreign) = sample(&method, &route, &things);
        let mut row = vec![format!("{method} {route}")];
        for (column, key) in keys.iter().enumerate() {
            let body = if column < ROLES.len() { &own } else { &foreign };
            let is_nonsense = column < ROLES.len() || foreign == nonsense();
            row.push(cell(status(&server, &method, &path, key, body.as_ref()), is_nonsense));
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
        let path = route.replace(['{', '}'], "");
        for key in ["", "wk_default.0123456789ab.00", "wks_default.refund-bot.00", "wk_acme.0123456789ab.00"] {
            assert_eq!(status(&server, method, &path, key, None), 401, "{method} {path} with `{key}`");
        }
    }
}
