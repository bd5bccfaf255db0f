//! What advice does to a verdict, row by row.

use super::*;
use crate::contract::PluginSource;
use crate::testing::{Case, case};
use values::time::Duration;

fn plugin() -> Plugin {
    Plugin {
        source: PluginSource::Command(vec!["check".to_owned()]),
        timeout: Duration::from_secs(1),
        env: Vec::new(),
        required: true,
        escalate_below: None,
    }
}

/// A case that asks `check` under a key, as a plug-in the row changes.
fn asking(kind: AdviceKind, change: impl Fn(&mut Plugin)) -> Case {
    case().contract(|contract| {
        let mut plugin = plugin();
        change(&mut plugin);
        let action = contract.actions.get_mut("pay").unwrap();
        let (declared, asked) = match kind {
            AdviceKind::Validator => (&mut contract.validators, &mut action.validators),
            AdviceKind::Judge => (&mut contract.judges, &mut action.judges),
        };
        declared.insert("check".to_owned(), plugin);
        asked.insert("check".to_owned());
    })
}

fn check(kind: AdviceKind, answer: &str, expected: &str) {
    let answer = answer.as_bytes().to_vec();
    asking(kind, |_| {}).answering(move |_| Ok(answer.clone())).check(expected);
}

#[test]
fn a_validator_says_what_happens() {
    let check = |answer: &str, expected: &str| check(AdviceKind::Validator, answer, expected);
    check(r#"{"verdict":"pass","version":"1"}"#, "ACCEPT");
    check(r#"{"verdict":"reject","version":"1","message":"no"}"#, "REJECT VALIDATOR_REJECTED");
    check(r#"{"verdict":"escalate","version":"1","reason":"ODD_HOUR"}"#, "ESCALATE NEEDS_APPROVAL");
}

#[test]
fn a_judge_advises_a_host_and_asks_nobody() {
    let rows = [
        (r#"{"verdict":"pass","version":"1"}"#, "ESCALATE NEEDS_APPROVAL", "ACCEPT", Vec::new()),
        (r#"{"verdict":"reject","version":"1","message":"no"}"#, "ESCALATE NEEDS_APPROVAL", "ACCEPT", vec!["HIGH"]),
        (r#"{"verdict":"escalate","version":"1"}"#, "ESCALATE NEEDS_APPROVAL", "ACCEPT", vec!["LOW"]),
        (r#"{"verdict":"pass","version":"1","score":0.2}"#, "ESCALATE NEEDS_APPROVAL", "ACCEPT", vec!["LOW"]),
    ];
    for (answer, asked, advised, confidence) in rows {
        let case = |_: ()| {
            let answer = answer.as_bytes().to_vec();
            asking(AdviceKind::Judge, |plugin| plugin.escalate_below = Decimal::parse("0.5"))
                .answering(move |_| Ok(answer.clone()))
        };
        case(()).check(if confidence.is_empty() { "ACCEPT" } else { asked });
        let said = case(()).of_host().judge().answer;
        assert_eq!(said.verdict.word(), advised, "{answer}");
        let stated = |finding: &Finding| {
            let value = finding.values.iter().find(|(name, _)| name == "confidence")?;
            (finding.effect == Effect::Advise).then(|| value.1.as_text().unwrap_or_default().to_owned())
        };
        let found: Vec<String> = said.findings.iter().filter_map(stated).collect();
        assert_eq!(found, confidence, "{answer}");
        #[cfg(feature = "bugs")]
        if !confidence.is_empty() {
            values::bugs::with(Bug::JudgesBind, || case(()).of_host().check(asked));
        }
    }
}

#[test]
fn what_is_no_answer_refuses() {
    let long = format!(r#"{{"verdict":"pass","version":"1","message":"{}"}}"#, "x".repeat(ANSWER_BYTES_MAX));
    for garbage in [
        "",
        "pass",
        "[]",
        "{}",
        r#"{"verdict":"pass"}"#,
        r#"{"verdict":"PASS","version":"1"}"#,
        r#"{"verdict":"pass","version":""}"#,
        r#"{"verdict":"pass","version":1}"#,
        r#"{"verdict":"pass","version":"1","extra":true}"#,
        r#"{"verdict":"pass","version":"1","reason":"not a code"}"#,
        r#"{"verdict":"pass","version":"1","score":1}"#,
        r#"{"verdict":"pass","version":"1"} {}"#,
        r#"{"verdict":"pass","verdict":"pass","version":"1"}"#,
        long.as_str(),
    ] {
        check(AdviceKind::Validator, garbage, "REJECT VALIDATOR_FAILED");
        check(AdviceKind::Judge, garbage.replace("\"score\":1", "\"score\":2").as_str(), "ACCEPT");
    }
}

#[test]
fn silence_refuses_where_an_answer_is_required() {
    asking(AdviceKind::Validator, |_| {}).check("REJECT VALIDATOR_FAILED");
    asking(AdviceKind::Validator, |plugin| plugin.required = false).check("ACCEPT");
    asking(AdviceKind::Judge, |_| {}).check("ACCEPT");
    let late = |_: &Needed<'_>| Err("it did not answer within 1000 ms".to_owned());
    asking(AdviceKind::Validator, |_| {}).answering(late).check("REJECT VALIDATOR_FAILED");
    asking(AdviceKind::Judge, |_| {}).answering(late).check("ACCEPT");
}

#[test]
fn a_judge_asks_and_never_refuses() {
    let check = |answer: &str, expected: &str| check(AdviceKind::Judge, answer, expected);
    check(r#"{"verdict":"pass","version":"1","score":0}"#, "ACCEPT");
    check(r#"{"verdict":"reject","version":"1","message":"rude"}"#, "ESCALATE NEEDS_APPROVAL");
    check(r#"{"verdict":"escalate","version":"1"}"#, "ESCALATE NEEDS_APPROVAL");
    let scored = |score: &str, expected: &str| {
        let answer = format!(r#"{{"verdict":"pass","version":"1","score":{score}}}"#);
        let case = asking(AdviceKind::Judge, |plugin| plugin.escalate_below = Decimal::parse("0.6"));
        case.answering(move |_| Ok(answer.clone().into_bytes())).check(expected);
    };
    scored("0.6", "ACCEPT");
    scored("0.59", "ESCALATE NEEDS_APPROVAL");
}

#[test]
fn advice_about_another_proposal_is_none() {
    let pass = |needed: &Needed<'_>| Ok(format!(r#"{{"verdict":"pass","version":"{}"}}"#, needed.name).into_bytes());
    let case = asking(AdviceKind::Validator, |_| {}).answering(pass).check("ACCEPT");
    let said = case.heard.clone();
    assert_eq!(said.len(), 1);
    // The same words, for an amount nobody looked at.
    let case = case.saying(said.clone()).amount(6).check("REJECT VALIDATOR_FAILED");
    let finding = case.last.as_ref().unwrap().answer.findings.first().unwrap();
    assert!(finding.message().contains("another proposal"), "{}", finding.message());
    let mut renamed = said;
    renamed[0].kind = AdviceKind::Judge;
    asking(AdviceKind::Validator, |_| {}).saying(renamed).check("REJECT VALIDATOR_FAILED");
}

#[test]
fn what_is_malformed_is_shown_to_nobody() {
    let case = asking(AdviceKind::Validator, |_| {}).params(r#"{"amount":"lots"}"#);
    let case = case.answering(|_| panic!("nobody is asked")).check("REJECT PARAM_INVALID");
    let findings = &case.last.as_ref().unwrap().answer.findings;
    assert!(findings.iter().all(|finding| finding.gate != Gate::Validators));
}

#[test]
fn the_record_keeps_what_was_said() {
    let answer = br#"{"verdict":"reject","version":"2.1","reason":"IBAN_WRONG","message":"no such bank"}"#;
    let case = asking(AdviceKind::Validator, |_| {}).answering(|_| Ok(answer.to_vec()));
    let case = case.check("REJECT VALIDATOR_REJECTED");
    let body = case.last.as_ref().unwrap().records.first().unwrap().body();
    let said = Advice::list_from_json(body.get("advice")).unwrap();
    assert_eq!(said, case.heard);
    let shown = body.to_canonical();
    for part in ["\"version\":\"2.1\"", "IBAN_WRONG", "no such bank", &said[0].input.to_string()] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn secrets_are_not_shown_to_plug_ins() {
    let schema = Json::parse(br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#).unwrap();
    let case = asking(AdviceKind::Validator, |_| {});
    let case = case.contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone().into());
    case.params(r#"{"amount":5,"pin":"very-secret"}"#)
        .answering(|needed| {
            assert!(!needed.question.contains("very-secret"), "{}", needed.question);
            Ok(br#"{"verdict":"pass","version":"1"}"#.to_vec())
        })
        .check("ACCEPT");
}
