//! What is kept of a response, and what is replaced in it.

use super::*;
use proptest::prelude::*;

fn response(body: impl Into<Vec<u8>>) -> Response {
    let (status, content_type) = (ResponseStatus::Http(200), Some("application/json".to_owned()));
    Response { status, content_type, body: body.into(), complete: true, secrets: Vec::new() }
}

fn known(secrets: &[&str]) -> Secrets {
    Secrets::Known(secrets.iter().map(|secret| secret.as_bytes().to_vec()).collect())
}

fn text(result: &EffectResult) -> &str {
    let ResultBody::Text(text) = result.body() else { panic!("{result:?}") };
    text
}

#[track_caller]
fn check(secret: &str, body: &str, expected: &str) {
    let result = EffectResult::of(response(body), known(&[secret]));
    assert_eq!(text(&result), expected, "{body}");
    assert_eq!(result.digest(), Some(Digest::of(expected)), "the digest gives nothing away either");
}

#[test]
fn a_secret_is_replaced_however_it_is_written() {
    check("hunter2-secret", r#"{"a":"hunter2-secret"}"#, r#"{"a":"[secret]"}"#);
    // JSON: minimal, with slashes escaped, in ASCII of either case, as a pair of surrogates.
    check("a\"b\\c/d", r#""a\"b\\c/d" "a\"b\\c\/d""#, r#""[secret]" "[secret]""#);
    check("Grüße€", "\"Gr\\u00fc\\u00DFe\\u20ac\" Grüße€", "\"[secret]\" [secret]");
    check("key😀", "\"key\\ud83d\\ude00\"", "\"[secret]\"");
    check("line\nend", "\"line\\nend\"", "\"[secret]\"");
    // Percent-encoding: of a path, of a form, of either case.
    check("p@ss word+1", "p%40ss%20word%2B1 p%40ss+word%2b1 p%40ss%20word+1", "[secret] [secret] [secret]");
    // Base64: alone, without padding, of addresses, inside of something longer at any offset.
    let alone = STANDARD.encode("hunter2-secret");
    check("hunter2-secret", &format!("x {alone} {}", alone.trim_end_matches('=')), "x [secret]= [secret]");
    let inside = STANDARD.encode("bot:hunter2-secret");
    let result = EffectResult::of(response(format!("Basic {inside}")), known(&["hunter2-secret"]));
    assert!(text(&result).starts_with("Basic Ym90"), "{result:?}");
    assert!(text(&result).ends_with("[secret]"), "{result:?}");
    check("??>>??>>", "Pz8-Pj8_Pj4 Pz8+Pj8/Pj4= Pz8+Pj8\\/Pj4=", "[secret] [secret]= [secret]=");
    // What is short is replaced too, and its base64 only as a whole.
    check("42", "42 142 NDI= NDIx", "[secret] 1[secret] [secret] NDIx");
    check("aa", "aaaaa", "[secret]");
}

#[test]
fn other_texts_stay_as_they_are() {
    for body in ["", "{}", "hunter", "%zz %4", "\\u12", "\\ud83d", "\\", "%", "=+/="] {
        check("hunter2-secret", body, body);
    }
    let result = EffectResult::of(response("all of it"), known(&[]));
    assert_eq!((text(&result), result.is_cut(), result.bytes()), ("all of it", false, 9));
}

#[test]
fn a_body_is_cut_behind_its_secrets_and_between_characters() {
    // The secret lies over the place where the body is cut.
    let before = "x".repeat(BODY_BYTES_MAX - 4);
    let result = EffectResult::of(response(format!("{before}hunter2-secret and more")), known(&["hunter2-secret"]));
    assert!(result.is_cut());
    assert_eq!(text(&result), format!("{before}[sec"));
    assert_eq!(result.digest(), Some(Digest::of(format!("{before}[secret] and more"))));
    let before = "x".repeat(BODY_BYTES_MAX - 1);
    let result = EffectResult::of(response(format!("{before}€uro")), known(&[]));
    assert_eq!(text(&result), before);
}

#[test]
fn a_body_that_broke_off_ends_before_a_part_of_a_secret() {
    let whole = format!("{} pin=\\u0068\\u0075nter2-secret", "x".repeat(200));
    for length in 200..whole.len() {
        let (part, _) = whole.split_at(length);
        let broken = Response { complete: false, ..response(part) };
        let result = EffectResult::of(broken, known(&["hunter2-secret"]));
        let kept = text(&result);
        assert!(!kept.contains("\\u0068"), "{kept}");
        assert!(kept.len() > 100 && !result.is_complete(), "{kept}");
    }
}

#[test]
fn what_is_no_text_is_kept_as_bytes() {
    for body in [vec![0xFF, 0xFE], b"a\0b".to_vec(), "€".as_bytes()[..2].to_vec()] {
        let result = EffectResult::of(response(body.clone()), known(&[]));
        assert_eq!(result.body(), &ResultBody::Bytes(body));
        assert_eq!(EffectResult::from_json(&result.to_json()), Some(result));
    }
}

#[test]
fn a_content_type_is_plain_and_holds_no_secret() {
    let of = |content_type: &str| {
        let response = Response { content_type: Some(content_type.to_owned()), ..response("") };
        EffectResult::of(response, known(&["hunter2-secret"])).content_type().map(str::to_owned)
    };
    assert_eq!(of("text/plain; a=hunter2-secret").as_deref(), Some("text/plain; a=[secret]"));
    assert_eq!(of("text/\r\nplain\u{1}").as_deref(), Some("text/plain"));
    assert_eq!(of("\n"), None);
    assert_eq!(of(&"x".repeat(500)).map(|text| text.len()), Some(CONTENT_TYPE_BYTES_MAX));
}

#[test]
fn secrets_of_an_intent_are_known_until_it_has_forgotten_them() {
    let params = Object::from([("pin".to_owned(), Json::object([("secret", Json::Bool(true))]))]);
    let mut running = Running::new(crate::intent::Order { params, ..crate::testing::order() });
    assert_eq!(Secrets::of(&running), Secrets::Forgotten);
    let result = EffectResult::of(response("1234"), Secrets::of(&running));
    assert_eq!((result.body(), result.digest()), (&ResultBody::Withheld, None));
    assert_eq!(EffectResult::from_json(&result.to_json()), Some(result));
    let inner = Json::object([("user", Json::text("bot")), ("code", Json::from(1234_u64)), ("on", Json::Bool(true))]);
    running.secrets = Object::from([("pin".to_owned(), inner)]);
    let body = r#"{"code":1234,"on":true,"user":"bot"} user bot true 1234"#;
    let result = EffectResult::of(response(body), Secrets::of(&running));
    assert_eq!(text(&result), "[secret] user [secret] true [secret]");
}

#[test]
fn secrets_of_the_executor_are_replaced_as_well() {
    let echoed = Response { secrets: vec!["Bearer tok-123".to_owned()], ..response("got Bearer tok-123") };
    assert_eq!(text(&EffectResult::of(echoed, known(&[]))), "got [secret]");
    assert_eq!(known(&["tok"]).removed_from("no tok here"), "no [secret] here");
}

#[test]
fn a_result_is_read_back_from_its_record() {
    for status in
        [ResponseStatus::Http(201), ResponseStatus::Exit(-1), ResponseStatus::Signal(9), ResponseStatus::Reported]
    {
        for epoch in [None, Some(3)] {
            let result = EffectResult::of(Response { status, ..response("body") }, known(&[]));
            let (tenant, intent) = (Arc::from("default"), "i-1".to_owned());
            let record = ResultRecord {
                tenant,
                intent,
                epoch,
                result,
                at: Instant::PURE_DEFAULT,
                semantics: crate::semantics::Semantics::CURRENT,
            };
            let body = crate::record::Record::Result(Arc::new(record.clone())).body();
            assert_eq!(ResultRecord::from_record(&body), Some(record));
        }
    }
}

proptest! {
    /// No encoding of a secret is left, whatever is around it.
    #[test]
    fn nothing_of_a_secret_is_left(
        secret in "[a-zA-Z0-9 /+\"\\\\%ü€]{6,24}",
        before in "[a-z%\\\\+/ ]{0,9}",
        after in "[a-z%\\\\+/ ]{0,9}",
    ) {
        let escaped = Json::text(secret.as_str()).to_canonical();
        let escaped = escaped.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap().to_owned();
        let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for form in [secret.clone(), escaped, percent, STANDARD.encode(&secret)] {
            let body = format!("{before} {form} {after}");
            let result = EffectResult::of(response(body), known(&[&secret]));
            let form = form.trim_end_matches('=');
            prop_assert!(!text(&result).contains(form), "{form} in {result:?}");
        }
    }
}
