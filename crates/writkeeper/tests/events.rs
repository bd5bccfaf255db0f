//! Every record of a real store as a CloudEvents value.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kernel::change::{Act, Write};
use runtime::ports::store::StoredRecord;
use values::json::Json;
use writkeeper::events::{self, CloudEvent};
use writkeeper::{Actor, HumanDecision, Keeper};

const CONTRACT: &str = "
agent: bot
actions:
  pay:
    params:
      type: object
      required: [order, amount, pin]
      additionalProperties: false
      properties: { order: { type: string }, amount: { type: number }, pin: { type: string, secret: true } }
    allow: params.amount <= 25
    ask: params.amount <= 200
approvers: [desk]
";

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

/// A store in which a bit of everything happened.
fn lived() -> Keeper {
    let keeper = writkeeper::open("memory:").unwrap();
    keeper.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
    keeper.set_groups(&operator(), "bob", &["desk"]).unwrap();
    let open = |flow: &str| Act::OpenFlow { flow: flow.to_owned(), agent: "bot".to_owned(), parent: None };
    keeper.runtime().change(operator(), open("f")).wait();
    keeper.runtime().change(operator(), open("f")).wait();
    let proposal = |id: &str, amount: u32| {
        format!(
            r#"{{"agent":"bot","action":"pay","id":"{id}","flow":"f","params":{{"order":"{id}","amount":{amount},"pin":"CANARY"}}}}"#
        )
    };
    for (id, amount) in [("small", 5), ("large", 100), ("huge", 500)] {
        keeper.decide(proposal(id, amount).as_bytes()).unwrap();
    }
    keeper.decide(br#"{"agent":"bot""#).unwrap();
    let question = keeper.question("f").unwrap();
    keeper.respond(&question, "bob", HumanDecision::Abort, "no").unwrap();
    let write = Write { key: "region/note".to_owned(), value: Json::text("VALUE OF STATE"), expect: None };
    keeper.runtime().change(operator(), Act::Merge(vec![write])).wait();
    keeper.runtime().change(operator(), Act::Halt { group: None, because: "drill".to_owned() }).wait();
    keeper
}

fn records(keeper: &Keeper) -> Vec<StoredRecord> {
    keeper.runtime().records(0, 1_000).unwrap()
}

#[test]
fn every_record_is_an_event_with_all_attributes_in_their_place() {
    let keeper = lived();
    for record in records(&keeper) {
        let json = events::of(&record).unwrap().to_json();
        let text = |key: &str| json.get(key).and_then(Json::as_text).map(str::to_owned);
        let leaf = Json::parse(record.leaf.as_bytes()).unwrap();
        assert_eq!(text("specversion").as_deref(), Some("1.0"));
        assert_eq!(text("id"), Some(record.index.to_string()));
        assert_eq!(text("source").as_deref(), Some("/tenants/default"));
        assert_eq!(text("time").as_deref(), leaf.get("at").and_then(Json::as_text));
        let kind = leaf.get("kind").and_then(Json::as_text).unwrap();
        assert_eq!(text("type"), Some(format!("writkeeper.{kind}")));
        assert!(json.get("data").and_then(Json::as_object).is_some_and(|data| !data.is_empty()), "{kind}");
        let again = events::of(&record).unwrap().to_json();
        assert_eq!(again.to_canonical(), json.to_canonical(), "the same bytes every time");
    }
}

/// The declaration that a log goes on after a loss names no instant, and receivers need it most.
#[test]
fn a_declared_loss_is_an_event_and_no_gap() {
    let body = r#"{"kind":"discontinuity","tenant":"default","origin":"new.example/2","reason":"restored"}"#;
    let record = StoredRecord { index: 7, leaf: body.to_owned(), body: Some((body.to_owned(), [0; 16])) };
    let json = events::of(&record).unwrap().to_json();
    assert_eq!(json.get("type").and_then(Json::as_text), Some("writkeeper.discontinuity"));
    assert_eq!((json.get("time"), json.get("id").and_then(Json::as_text)), (None, Some("7")));
    let said = json.get("data").and_then(|data| data.get("reason")).and_then(Json::as_text);
    assert_eq!(said, Some("restored"));
    let erased = StoredRecord { body: None, ..record };
    assert!(events::of(&erased).is_none());
}

#[test]
fn an_event_says_what_it_is_about() {
    let keeper = lived();
    let question = keeper.question("f").unwrap().id;
    let told: Vec<CloudEvent> = records(&keeper).iter().map(|record| events::of(record).unwrap()).collect();
    let check = |kind: &str, subject: Option<&str>, agent: Option<&str>| {
        let found = told.iter().find(|event| event.kind == kind && event.subject.as_deref() == subject);
        let found = found.unwrap_or_else(|| panic!("{kind} {subject:?}: {told:#?}"));
        assert_eq!(found.agent(), agent, "{kind}");
    };
    check("register", Some("agents/bot"), Some("bot"));
    check("activate", Some("agents/bot"), Some("bot"));
    check("open_flow", Some("flows/f"), Some("bot"));
    check("decision", Some("proposals/small"), Some("bot"));
    check("answer", Some(&format!("questions/{question}")), None);
    check("merge_state", None, None);
    check("halt", None, None);
    assert!(told.iter().any(|event| event.kind == "refusal" && event.subject.is_some()));
    let refused = |event: &&CloudEvent| event.kind == "open_flow" && event.to_json().to_canonical().contains("gate");
    assert_eq!(told.iter().filter(refused).count(), 1, "the second attempt to open the flow");
}

#[test]
fn secrets_contracts_and_values_of_state_stay_out() {
    let keeper = lived();
    for record in records(&keeper) {
        let event = events::of(&record).unwrap().to_json().to_canonical();
        for kept in ["CANARY", "VALUE OF STATE", "additionalProperties", "token_hash"] {
            assert!(!event.contains(kept), "{kept} in {event}");
        }
    }
}

#[test]
fn an_erased_body_is_a_gap() {
    let record = StoredRecord { body: None, ..records(&lived()).remove(0) };
    assert_eq!(events::of(&record), None);
}

#[test]
fn a_tenant_is_part_of_the_source() {
    assert_eq!(events::source("blue team/2"), "/tenants/blue%20team%2F2");
}
