//! Who gets to a page: keys, cookies, forms of others, roles and tenants.

use crate::service::{CONTRACT, Service, form};
use serde_json::{Value, json};

#[test]
fn signing_in_gives_a_cookie_that_is_hard_to_steal_and_signing_out_takes_it() {
    let service = Service::start();
    let key = service.key("approver", "ann", &["desk"]);
    let asked = service.send("GET", "/approve", &[], "");
    assert_eq!(asked.status, 401);
    assert!(asked.body.contains("<form method=\"post\" action=\"/login\">"), "{}", asked.body);
    let own = format!("http://{}", service.host);
    let sent = |key: &str, next: &str| {
        service.send("POST", "/login", &[("Origin", &own)], &form(&[("key", key), ("next", next)]))
    };
    let wrong = sent("wk_default.0.0", "/approve");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let answer = sent(&key, "//evil.example");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/approve")));
    let cookie = answer.header("set-cookie").unwrap();
    let parts: Vec<&str> = cookie.split("; ").skip(1).collect();
    assert_eq!(parts, ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=28800"]);
    // Behind somebody else's TLS.
    let https = format!("https://{}", service.host);
    let secret = service.send("POST", "/login", &[("Origin", &https)], &form(&[("key", &key)]));
    let cookie = secret.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-writkeeper=") && cookie.ends_with("; Secure"), "{cookie}");

    let ann = service.sign_in(&key);
    let list = ann.get("/approve");
    assert_eq!(list.status, 200, "{}", list.body);
    let left = ann.post("/logout", &[("csrf", &list.hidden("csrf"))]);
    assert_eq!(left.status, 303);
    assert!(left.head.contains("Max-Age=0"), "{}", left.head);
    assert_eq!(ann.get("/approve").status, 401);
}

#[test]
fn every_page_forbids_what_it_does_not_need() {
    let service = Service::start();
    let ann = service.sign_in(&service.key("approver", "ann", &["desk"]));
    let pages = [ann.get("/approve"), ann.get("/approve/nothing"), service.send("GET", "/login", &[], "")];
    for page in pages {
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        for part in ["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("same-origin"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert!(!page.body.contains("<script") && !page.body.contains(" style="), "{}", page.body);
    }
}

#[test]
fn a_form_that_is_not_ours_is_refused() {
    let service = Service::start();
    let (ann, bob) = (service.key("approver", "ann", &["desk"]), service.key("approver", "bob", &["desk"]));
    let token = service.agent(CONTRACT);
    let id = service.ask(&token, json!({ "order": "A", "amount": 40 }), "late");
    let path = format!("/approve/{id}");
    let ann = service.sign_in(&ann);
    let card = ann.get(&path);
    let (own, digest) = (format!("http://{}", service.host), card.hidden("digest"));
    let bobs = service.sign_in(&bob).get(&path).hidden("csrf");
    let check = |headers: &[(&str, &str)], token: &str, expected: u16| {
        let fields = [("csrf", token), ("digest", &digest), ("decision", "approve")];
        let mut all = vec![("Cookie", ann.cookie.as_str())];
        all.extend(headers);
        let answer = service.send("POST", &path, &all, &form(&fields));
        assert_eq!(answer.status, expected, "{headers:?} {token}: {}", answer.body);
        if expected == 403 {
            assert!(answer.body.contains("FORM_FOREIGN"), "{}", answer.body);
        }
    };
    let own_token = card.hidden("csrf");
    check(&[], &own_token, 403);
    check(&[("Origin", "https://evil.example")], &own_token, 403);
    check(&[("Origin", "null")], &own_token, 403);
    check(&[("Origin", &own), ("Sec-Fetch-Site", "cross-site")], &own_token, 403);
    check(&[("Origin", &own), ("Sec-Fetch-Site", "same-site")], &own_token, 403);
    check(&[("Origin", "https://evil.example"), ("Sec-Fetch-Site", "same-origin")], &own_token, 403);
    check(&[("Origin", &format!("{own}.evil.example"))], &own_token, 403);
    check(&[("Origin", &own)], "", 403);
    check(&[("Origin", &own)], &bobs, 403);
    assert_eq!(
        service.call(&service.admin, "GET", &format!("/v1/escalations/{id}"), &Value::Null).json()["state"],
        "OPEN"
    );
    check(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")], &own_token, 303);
}

#[test]
fn a_link_from_elsewhere_is_followed_once_more_and_a_revoked_key_is_signed_out() {
    let service = Service::start();
    let ann = service.key("approver", "ann", &["desk"]);
    // A browser keeps the cookie back where somebody else's page or mail holds the link.
    let first = service.send("GET", "/approve/some", &[("Sec-Fetch-Site", "cross-site")], "");
    assert_eq!((first.status, first.header("refresh")), (401, Some("0;url=/approve/some")));
    let then = service.send("GET", "/approve/some", &[("Sec-Fetch-Site", "same-origin")], "");
    assert_eq!((then.status, then.header("refresh")), (401, None));
    assert_eq!(then.hidden("next"), "/approve/some");
    let browser = service.sign_in(&ann);
    assert_eq!(browser.get("/approve").status, 200);
    let id = ann.split('.').nth(1).unwrap();
    let revoked = service.call(&service.admin, "DELETE", &format!("/v1/keys/{id}"), &Value::Null);
    assert!(revoked.status < 300, "{}", revoked.body);
    assert_eq!(browser.get("/approve").status, 401);
}

#[test]
fn roles_see_and_do_what_the_table_says() {
    let service = Service::start();
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let path = format!("/approve/{id}");
    let answer = form(&[("decision", "deny"), ("digest", "0"), ("because", "no")]);
    let check = |who: &str, key: &str, looks: u16, answers: u16| {
        let bearer = format!("Bearer {key}");
        let headers: &[(&str, &str)] = if key.is_empty() { &[] } else { &[("Authorization", &bearer)] };
        for page in ["/approve", &path] {
            assert_eq!(service.send("GET", page, headers, "").status, looks, "{who} {page}");
        }
        assert_eq!(service.send("POST", &path, headers, &answer).status, answers, "{who}");
    };
    check("nobody", "", 401, 401);
    check("agent", &agent, 403, 403);
    check("executor", &service.key("executor", "worker", &[]), 403, 403);
    check("auditor", &service.key("auditor", "iris", &[]), 403, 403);
    check("operator", &service.key("operator", "otto", &[]), 200, 403);
    check("admin", &service.admin, 200, 403);
    // Let in; what was sent is no digest.
    check("approver", &service.key("approver", "ann", &["desk"]), 200, 422);
    let watched = service.call(&service.admin, "GET", &path, &Value::Null);
    assert!(!watched.body.contains("name=\"decision\"") && watched.body.contains("You cannot answer this"));
    let stranger = service.call(&service.key("approver", "carl", &["board"]), "GET", &path, &Value::Null);
    assert!(
        !stranger.body.contains("name=\"decision\"") && stranger.body.contains("Only members of"),
        "{}",
        stranger.body
    );
    let own = format!("http://{}", service.host);
    let refused = service.send("POST", "/login", &[("Origin", &own)], &form(&[("key", &agent)]));
    assert_eq!((refused.status, refused.header("set-cookie")), (401, None), "an agent is no person");
}

#[test]
fn a_question_of_another_tenant_is_a_question_that_does_not_exist() {
    let service = Service::start();
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A", "amount": 40 }), "late");
    let made = service.call(&service.admin, "POST", "/v1/tenants", &json!({ "name": "acme" })).json();
    let other = made["key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let wanted = json!({ "role": "approver", "name": "ann", "groups": ["desk"] });
    let theirs = service.call(&other, "POST", "/v1/keys", &wanted).json()["key"].as_str().unwrap().to_owned();
    let browser = service.sign_in(&theirs);
    let missing = browser.get(&format!("/approve/{}", id.replace(|letter: char| letter.is_ascii_digit(), "0")));
    let foreign = browser.get(&format!("/approve/{id}"));
    assert_eq!((missing.status, foreign.status), (404, 404));
    assert_eq!(missing.body, foreign.body);
    let list = browser.get("/approve");
    let fields = [("csrf", list.hidden("csrf")), ("decision", "approve".to_owned()), ("digest", "0".repeat(64))];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(browser.post(&format!("/approve/{id}"), &fields).status, 404);
    assert!(list.body.contains("Nothing waits"), "{}", list.body);
}
