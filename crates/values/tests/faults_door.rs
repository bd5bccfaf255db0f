//! The traps of JSON readers: each is caught, and each test is seen red when the fault is brought back.
#![cfg(feature = "bugs")]

use values::bugs::{self, Bug};
use values::json::{Json, Problem};

/// The check holds in the kernel as it is and fails once its fault is back.
fn demands(bug: Bug, check: fn() -> Result<(), String>) {
    assert_eq!(check(), Ok(()), "{} is not caught", bug.name());
    let with_fault = bugs::with(bug, check);
    assert!(with_fault.is_err(), "the check does not notice {}", bug.name());
    assert_eq!(check(), Ok(()), "{} outlived its switch", bug.name());
}

fn refused(document: &[u8], expected: fn(&Problem) -> bool) -> Result<(), String> {
    match Json::parse(document) {
        Err(refusal) if expected(&refusal.problem) => Ok(()),
        Err(refusal) => Err(format!("refused for another reason: {refusal}")),
        Ok(value) => Err(format!("admitted as {}", value.to_canonical())),
    }
}

#[test]
fn json_duplicate_keys() {
    fn check() -> Result<(), String> {
        // The validator would see 10, an executor that keeps the last would pay 9999.
        refused(
            br#"{"amount": 10, "\u0061mount": 9999}"#,
            |problem| matches!(problem, Problem::DuplicateKey { key } if key == "amount"),
        )
    }
    demands(Bug::JsonDuplicateKeys, check);
}

#[test]
fn json_inexact_numbers() {
    fn check() -> Result<(), String> {
        for number in ["9007199254740993", "18446744073709551615", "0.10000000000000000001"] {
            refused(number.as_bytes(), |problem| matches!(problem, Problem::NumberNotExact))?;
        }
        Ok(())
    }
    demands(Bug::JsonInexactNumbers, check);
}

#[test]
fn json_lone_surrogate() {
    fn check() -> Result<(), String> {
        refused(br#"{"payee": "\ud800"}"#, |problem| *problem == Problem::LoneSurrogate)?;
        refused(br#"{"payee": "\udc00"}"#, |problem| *problem == Problem::LoneSurrogate)
    }
    demands(Bug::JsonLoneSurrogate, check);
}

#[test]
fn json_nul() {
    fn check() -> Result<(), String> {
        refused(br#"{"path": "/tmp/allowed\u0000.txt"}"#, |problem| *problem == Problem::Nul)
    }
    demands(Bug::JsonNul, check);
}

#[test]
fn json_depth() {
    fn check() -> Result<(), String> {
        let deep = "[".repeat(33) + &"]".repeat(33);
        refused(deep.as_bytes(), |problem| matches!(problem, Problem::TooDeep { max: 32 }))
    }
    demands(Bug::JsonDepth, check);
}

#[test]
fn json_byte_order_mark() {
    fn check() -> Result<(), String> {
        refused("\u{feff}{}".as_bytes(), |problem| *problem == Problem::ByteOrderMark)
    }
    demands(Bug::JsonByteOrderMark, check);
}
