//! What the card shows, and that hostile text stays text.

use crate::service::{CONTRACT, Service};
use serde_json::{Value, json};

#[test]
fn the_card_shows_everything_an_answer_is_for() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    service.key("approver", "bob", &["desk"]);
    let contract = CONTRACT.replace(
        "approvers: [desk]",
        "escalation: { approvers: [desk], timeout: { remind: 2m, reroute: 5m, to: board, after: 15m, then: ABORT } }",
    );
    let agent = service.agent(&contract);
    let first = service.ask(&agent, json!({ "order": "A", "amount": 30 }), "late");
    let card = ann.get(&format!("/approve/{first}"));
    assert!(card.body.contains("No question about this action of this agent was approved"), "{}", card.body);
    assert_eq!(ann.answer(&card, &first, &[("decision", "approve")]).status, 303);
    let id = service.ask(&agent, json!({ "order": "B", "amount": 40.5, "note": "" }), "the parcel was late");
    let card = ann.get(&format!("/approve/{id}"));
    let question = service.call(&service.admin, "GET", &format!("/v1/escalations/{id}"), &Value::Null).json();
    let digest = question["digest"].as_str().unwrap();
    // In the order of the ten things that a card has.
    for part in [
        "<p class=\"amount\"><bdi>40.5 EUR</bdi></p>",
        "<dt><bdi>order</bdi></dt><dd><bdi>B</bdi>",
        "POST https://bank.example/refunds/B",
        "<dt>Agent</dt><dd><strong><bdi>bot</bdi>",
        "<dt>Contract</dt>",
        "NEEDS_APPROVAL",
        "In the agent\u{2019}s own words",
        "<blockquote><bdi>the parcel was late</bdi></blockquote>",
        "Where these values came from is not known",
        "HIGH impact",
        "the other side takes a repeated call for the same one",
        "DELETE https://bank.example/refunds/B",
        "within <bdi>2h</bdi>",
        "30 \u{2192} <strong>70.5</strong> of 1000",
        "Approved by <bdi>ann</bdi>",
        "<dt><bdi>amount</bdi></dt><dd><strong><bdi>30 EUR</bdi></strong> \u{2192} <strong><bdi>40.5 EUR</bdi></strong>",
        "If nobody answers by then it is denied, and nothing happens.",
        "<strong><bdi>desk</bdi></strong> <bdi>ann, bob</bdi>",
        "<strong><bdi>board</bdi></strong> <span class=\"warn\">nobody is in it</span>",
        "Approve once",
        "This digest covers the exact bytes of the proposal above",
        digest,
        "writkeeper verify",
    ] {
        assert!(card.body.contains(part), "{part}\n{}", card.body);
    }
}

#[test]
fn a_door_that_knows_says_where_each_value_came_from() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let token = service.agent(CONTRACT);
    let wanted = json!({ "role": "agent", "name": "bot", "provenance": true });
    let made = service.call(&service.admin, "POST", "/v1/keys", &wanted).json();
    let key = made["key"].as_str().unwrap_or_else(|| panic!("{made}"));
    let proposal = |order: &str| {
        let params = json!({ "order": order, "amount": 40, "note": "x" });
        let origins = json!({ "order": "tool", "amount": "user", "note": "none" });
        json!({ "agent": "bot", "action": "refund", "params": params, "provenance": origins })
    };
    let ask = |key: &str, order: &str| {
        let answer = service.call(key, "POST", "/v1/proposals", &proposal(order)).json();
        let id = answer["question"]["id"].as_str().map(str::to_owned);
        id.map(|id| ann.get(&format!("/approve/{id}")).body)
    };
    let stated = ask(key, "A").unwrap();
    for part in ["the user said it", "from a tool\u{2019}s output", "it appeared nowhere before"] {
        assert!(stated.contains(part), "{part}: {stated}");
    }
    // What an agent claims by itself is no question at all, or is marked as a claim.
    if let Some(claimed) = ask(&token, "B") {
        assert!(claimed.contains("That is its own claim and counts for nothing"), "{claimed}");
    }
}

#[test]
fn hostile_text_is_shown_as_text() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let agent = service.agent(CONTRACT);
    let long = format!("<b>{}</b>", "A".repeat(8_000));
    let rows: [(&str, &str); 8] = [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\"><img src=x onerror=alert(1)>", "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"),
        ("</blockquote></section><form action=//evil>", "&lt;/blockquote&gt;&lt;/section&gt;&lt;form"),
        ("pay \u{202e}001\u{202c} EUR", "pay <i class=\"odd\">U+202E</i>001<i class=\"odd\">U+202C</i> EUR"),
        ("ad\u{200b}min\u{feff}", "ad<i class=\"odd\">U+200B</i>min<i class=\"odd\">U+FEFF</i>"),
        ("&lt;b&gt; &amp;amp;", "&amp;lt;b&amp;gt; &amp;amp;amp;"),
        ("one\ntwo\r", "one<i class=\"odd\">\u{21b5}</i>\ntwo<i class=\"odd\">U+000D</i>"),
        (&long, "&lt;b&gt;AAAA"),
    ];
    for (index, (text, expected)) in rows.into_iter().enumerate() {
        let order = format!("order-{index}");
        let id = service.ask(&agent, json!({ "order": order, "amount": 40, "note": text }), text);
        let card = ann.get(&format!("/approve/{id}"));
        assert_eq!(card.status, 200);
        assert!(card.body.matches(expected).count() >= 2, "{text:?} as a param and as a reason: {}", card.body);
        for markup in ["<script", "<img", "onerror=\"", "<b>", "<form action=//evil", "\u{202e}", "\u{200b}"] {
            assert!(!card.body.contains(markup), "{markup}: {}", card.body);
        }
        if text.len() > 1_000 {
            assert!(
                card.body.contains("<bdi class=\"long\" tabindex=\"0\">") && card.body.contains(&"A".repeat(8_000))
            );
        }
    }
}

#[test]
fn a_secret_param_is_withheld_and_stays_as_it_is() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let contract = CONTRACT.replace(
        "{ order: text, amount: money EUR, note: optional text }",
        "{ type: object, properties: { order: { type: string }, amount: { type: number }, pin: { type: string, secret: true } } }",
    ).replace(": amount <=", ": params.amount <=");
    let agent = service.agent(&contract);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40, "pin": "canary-7731" }), "late");
    let path = format!("/approve/{id}");
    let card = ann.get(&path);
    assert!(card.body.contains("withheld: the contract calls it secret"), "{}", card.body);
    assert!(!card.body.contains("canary-7731") && !card.body.contains("param.pin"), "{}", card.body);
    let guess = ann.answer(&card, &id, &[("decision", "modify"), ("param.pin", "canary-7731")]);
    let wrong = ann.answer(&card, &id, &[("decision", "modify"), ("param.pin", "canary-7732")]);
    let banner =
        |body: &str| body.split("role=\"alert\">").nth(1).unwrap().split("</section>").next().unwrap().to_owned();
    assert_eq!((guess.status, banner(&guess.body)), (422, banner(&wrong.body)), "a guess is answered like any other");
}

#[test]
fn the_card_gives_a_receipt_that_verifies() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let id = service.ask(&service.agent(CONTRACT), json!({ "order": "A", "amount": 40 }), "late");
    let path = format!("/approve/{id}/receipt");
    assert!(ann.get(&format!("/approve/{id}")).body.contains(&format!("href=\"{path}\"")));
    let receipt = ann.get(&path);
    assert_eq!(receipt.status, 200, "{}", receipt.body);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("receipt");
    std::fs::write(&file, &receipt.body).unwrap();
    let verified = std::process::Command::new(env!("CARGO_BIN_EXE_writkeeper")).arg("verify").arg(&file).output();
    assert!(verified.unwrap().status.success());
}
