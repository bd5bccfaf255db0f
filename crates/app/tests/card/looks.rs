//! The card in Chromium: with and without scripts, dark, on a phone, with hostile text. Pictures are kept for people.

use crate::browser::{Chromium, program};
use crate::service::{CONTRACT, Service};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Where the pictures are.
fn picture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("card");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.png"))
}

/// Signs in with the keyboard alone.
fn sign_in(browser: &mut Chromium, service: &Service, key: &str, path: &str) {
    browser.open(&format!("http://{}{path}", service.host));
    browser.focus("#key");
    browser.types(key);
    browser.enter();
}

#[test]
fn a_person_answers_with_the_keyboard_with_and_without_scripts() {
    let Some(program) = program() else { return };
    for scripts in [true, false] {
        let service = Service::start();
        let key = service.key("approver", "ann", &["desk"]);
        service.key("approver", "bob", &["desk"]);
        let agent = service.agent(CONTRACT);
        let first = service.ask(&agent, json!({ "order": "A-16", "amount": 120 }), "The parcel came late.");
        let id = service.ask(&agent, json!({ "order": "A-17", "amount": 249.90 }), "The screen was broken on arrival.");
        let mut browser = Chromium::start(&program);
        browser.scripts(scripts);
        browser.look(390, "light");
        let name = |what: &str| picture(&format!("{what}-{}", if scripts { "scripts" } else { "plain" }));
        browser.open(&format!("http://{}/approve", service.host));
        assert!(browser.picture(&name("login")) <= 390.0, "nothing is wider than a phone");
        sign_in(&mut browser, &service, &key, &format!("/approve/{first}"));
        browser.focus("form input[value=approve] ~ label input");
        browser.enter();
        assert!(browser.markup().contains("<h2>Approved</h2>"), "{}", browser.markup());
        assert!(browser.picture(&name("approved")) <= 390.0);
        browser.open(&format!("http://{}/approve", service.host));
        assert_eq!(browser.count(".questions li"), 1);
        assert!(browser.picture(&name("list")) <= 390.0);
        browser.open(&format!("http://{}/approve/{id}", service.host));
        assert!(browser.picture(&name("phone")) <= 390.0);
        browser.look(390, "dark");
        assert!(browser.picture(&name("phone-dark")) <= 390.0);
        browser.look(1_180, "light");
        browser.picture(&name("wide"));
        browser.focus("form input[value=deny] ~ button");
        browser.look(1_180, "dark");
        browser.picture(&name("wide-dark"));
        browser.focus("form input[value=deny] ~ label input");
        browser.types("It was sold as damaged.");
        browser.enter();
        let markup = browser.markup();
        assert!(markup.contains("<h2>Denied</h2>") && markup.contains("sold as damaged"), "{markup}");
        assert_eq!(browser.complaints, Vec::<String>::new());
    }
}

#[test]
fn hostile_text_does_nothing_in_a_browser() {
    let Some(program) = program() else { return };
    let service = Service::start();
    let key = service.key("approver", "ann", &["desk"]);
    let agent = service.agent(CONTRACT);
    let text = "<script>alert(1)</script><img src=x onerror=alert(2)>\n</blockquote><form action=//evil.example><button>Approve\
                </button></form> pay \u{202e}001\u{202c} EUR to ad\u{200b}min";
    let long = format!("{} {}", "W".repeat(700), "and on and on ".repeat(200));
    let id = service.ask(&agent, json!({ "order": "<b>A-17</b>", "amount": 40, "note": long }), text);
    let mut browser = Chromium::start(&program);
    browser.look(390, "light");
    sign_in(&mut browser, &service, &key, &format!("/approve/{id}"));
    assert_eq!(browser.count("script, img, blockquote form, [onerror]"), 0);
    assert_eq!(browser.count("blockquote > bdi"), 1);
    assert!(browser.picture(&picture("hostile-phone")) <= 390.0, "a long word is broken, not the page");
    browser.look(1_180, "dark");
    browser.picture(&picture("hostile-wide-dark"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn whoever_comes_second_sees_who_was_first() {
    let Some(program) = program() else { return };
    let service = Service::start();
    let (ann, bob) = (service.key("approver", "ann", &["desk"]), service.key("approver", "bob", &["desk"]));
    let agent = service.agent(CONTRACT);
    let id = service.ask(&agent, json!({ "order": "A-17", "amount": 249.90 }), "Broken on arrival.");
    let mut browser = Chromium::start(&program);
    browser.look(390, "light");
    sign_in(&mut browser, &service, &bob, &format!("/approve/{id}"));
    let other = service.sign_in(&ann);
    assert_eq!(other.answer(&other.get(&format!("/approve/{id}")), &id, &[("decision", "approve")]).status, 303);
    browser.focus("form input[value=approve] ~ button");
    browser.enter();
    assert!(browser.markup().contains("ann was faster and approved it"), "{}", browser.markup());
    assert!(browser.picture(&picture("second-phone")) <= 390.0);
}
