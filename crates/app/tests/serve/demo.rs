//! The scenes of the demo through HTTP: the same verdicts for the same reasons, as agents, an executor and Ann get them.

#[path = "../../src/commands/demo/scenes.rs"]
mod scenes;

use crate::http::{Answer, request, send};
use crate::server::Server;
use scenes::{Does, SCENES};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

const CONTRACT: &str = include_str!("../../src/commands/demo/refunds.yaml");

/// The contract of the scene whose answer is lost, but for the port of the bank.
const LOST: &str = "\
agent: payout-bot
actions:
  pay_out:
    once: 'payout:{order_id}'
    params: { order_id: text, amount: money EUR, iban: text }
    allow: amount <= 25
    run: { http: 'POST http://127.0.0.1:9/lost', class: opaque, timeout: 5s }
approvers: [refund-desk]
";

/// Everybody who has a part.
struct Cast {
    server: Server,
    /// Keys of agents whose door states where values come from.
    agents: BTreeMap<&'static str, String>,
    worker: String,
    ann: String,
}

/// A verdict and its reasons, as the demo prints them.
type Said = (String, Vec<String>);

impl Cast {
    fn new() -> Cast {
        let server = Server::start();
        let contracts = [
            ("refund-bot", CONTRACT.to_owned()),
            ("helpdesk-bot", CONTRACT.replace("refund-bot", "helpdesk-bot")),
            ("payout-bot", LOST.to_owned()),
        ];
        let agents = contracts.map(|(name, contract)| {
            server.register(&contract);
            let wanted = json!({ "role": "agent", "name": name, "provenance": true });
            (name, server.post("/v1/keys", &server.admin, &wanted).member("key"))
        });
        let (worker, ann) = (server.key("executor", "w", &[]), server.key("approver", "ann", &["refund-desk"]));
        Cast { server, agents: agents.into(), worker, ann }
    }

    fn propose(&self, proposal: &str) -> Value {
        let agent = serde_json::from_str::<Value>(proposal).unwrap()["agent"].as_str().unwrap().to_owned();
        let asked = request("POST", "/v1/proposals", Some(&self.agents[&*agent]), Some(proposal.as_bytes()));
        send(&self.server.address, &asked).json()
    }

    fn approve(&self, question: &Value, shown: &Value) -> Answer {
        let body = json!({ "decision": "approve", "because": "the parcel was late", "digest": shown["digest"] });
        self.server.post(&format!("/v1/escalations/{}/answer", question["id"].as_str().unwrap()), &self.ann, &body)
    }

    fn perform(&self, intent: &str, observed: &str) {
        let step = |step: &str, body: Value| {
            let answer = self.server.post(&format!("/v1/intents/{intent}/{step}"), &self.worker, &body);
            assert_eq!(answer.status, 200, "{step}: {}", answer.text());
            answer.json()
        };
        let epoch = step("claim", json!({}))["epoch"].clone();
        step("start", json!({ "epoch": epoch }));
        step("finish", json!({ "epoch": epoch, "observed": observed }));
    }
}

fn said(answer: &Value) -> Said {
    let reasons = answer["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap().to_owned());
    (answer["verdict"].as_str().unwrap().to_owned(), reasons.collect())
}

/// What the demo says of a scene, played in its own process.
fn demo() -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_writkeeper")).args(["demo", "--json"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_demo_says_the_same_through_http() {
    let (cast, demo) = (Cast::new(), demo());
    for (scene, expected) in SCENES.iter().zip(&demo) {
        assert_eq!(expected["scene"], scene.title);
        let mut questions: Vec<Value> = Vec::new();
        for (step, expected) in scene.steps.iter().zip(expected["steps"].as_array().unwrap()) {
            let (found, intent) = match &step.does {
                Does::Proposes(proposal) => {
                    let answer = cast.propose(proposal);
                    questions.push(answer["question"].clone());
                    (said(&answer), answer["intent"]["id"].clone())
                }
                Does::Approves { question, shown } => {
                    let answer = cast.approve(&questions[*question], &questions[*shown]);
                    let json = answer.json();
                    let refused = ("REJECT".to_owned(), vec![json["code"].as_str().unwrap_or_default().to_owned()]);
                    let accepted = ("ACCEPT".to_owned(), vec!["VALIDATION_PASSED".to_owned()]);
                    (if answer.status == 200 { accepted } else { refused }, json["intent"]["id"].clone())
                }
            };
            assert_eq!(found, said(expected), "{}: {} {}", scene.title, scene.story, step.says);
            if let Some(intent) = intent.as_str() {
                cast.perform(intent, "POSITIVE");
            }
        }
    }
    lost(&cast, &demo[SCENES.len()]);
}

/// The bank pays, and its answer never arrives.
fn lost(cast: &Cast, expected: &Value) {
    let params = json!({ "order_id": "AB-7", "amount": 20, "iban": "DE89370400440532013000" });
    let proposal = json!({ "agent": "payout-bot", "action": "pay_out", "params": params }).to_string();
    let first = cast.propose(&proposal);
    let intent = first["intent"]["id"].as_str().unwrap().to_owned();
    cast.perform(&intent, "UNKNOWN");
    let stands = || cast.server.get(&format!("/v1/intents/{intent}"), &cast.worker).json();
    let (unknown, again) = (stands(), cast.propose(&proposal));
    let question = unknown["question"].as_str().unwrap().to_owned();
    let card = cast.server.get(&format!("/v1/escalations/{question}"), &cast.ann).json();
    let body = json!({ "decision": "happened", "because": "it is on the statement", "digest": card["digest"] });
    let answered = cast.server.post(&format!("/v1/escalations/{question}/answer"), &cast.ann, &body);
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(json!([unknown["state"], stands()["state"]]), expected["states"]);
    let found: Vec<Said> = [first, again, cast.propose(&proposal)].iter().map(said).collect();
    let expected: Vec<Said> = expected["steps"].as_array().unwrap().iter().map(said).collect();
    assert_eq!(found, expected);
}
