//! What a person says counts, and counts once.

use crate::hosts::Host;
use crate::outcome::{Outcome, Word};
use crate::places::{WORKSPACE, mark, store};
use crate::script::{Script, after, step};
use crate::session::{Setting, last_words, play, short, slowest};
use crate::site::{is_marked, keeper};
use anyhow::{Result, ensure};
use std::sync::{Arc, Mutex, PoisonError};

/// Letters of a proposal's id.
const ID_LETTERS: usize = 36;

pub fn overridden(host: &dyn Host) -> Result<Outcome> {
    approved(host, &Setting::USUAL)
}

pub fn overridden_asking(host: &dyn Host) -> Result<Outcome> {
    if host.start_asking(0).is_none() {
        return Ok(Outcome::new(Word::Absent, ""));
    }
    approved(host, &Setting { asks: true, ..Setting::USUAL })
}

fn approved(host: &dyn Host, setting: &Setting) -> Result<Outcome> {
    let people = || -> Result<()> {
        std::fs::write(format!("{WORKSPACE}/people.yaml"), "maintainers: [anna]\n")?;
        let known = keeper(&["people", "set", "people.yaml", "--store", &store()])?;
        ensure!(known.code == Some(0), "`people set`: {}", known.both());
        Ok(())
    };
    let said: Arc<Mutex<String>> = Arc::default();
    let heard_by_person = Arc::clone(&said);
    let approve = move |heard: &[String]| {
        let id = heard.first().and_then(|text| proposal(text)).unwrap_or_default();
        let because = ["--as", "anna", "--because", "it may", "--store", &store()].map(str::to_owned);
        let because = because.each_ref().map(String::as_str);
        let answer = keeper(&[&["escalations", "answer", id, "approve"], &because[..]].concat());
        let answer = answer.map_or_else(|error| format!("{error:#}"), |ended| ended.both());
        *heard_by_person.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    };
    // Each time the mark is taken away again, so that every call shows for itself.
    let call = host.shell(&format!("mkdir {}", mark("approved")));
    let unmark = |_: &[String]| drop(std::fs::rename(mark("approved"), mark("first")));
    let script = |_| Script::of(vec![step(call.clone()), after(approve, call.clone()), after(unmark, call)]);
    let session = play(host, setting, people, script)?;
    let said = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let second = session.heard.main.get(1).map_or_else(|| last_words(&session.ended), |heard| short(heard));
    let outcome = match (is_marked("first"), is_marked("approved"), session.heard.main.len()) {
        (true, false, 3..) => Outcome::new(Word::Once, ""),
        (true, true, _) => Outcome::new(Word::Always, ""),
        (false, _, 3..) => {
            Outcome::new(Word::Never, format!("the person heard: {}; the model: {second}", short(&said)))
        }
        (_, _, _) => Outcome::new(Word::NotRun, last_words(&session.ended)),
    };
    Ok(Outcome { slowest: slowest(&session), ..outcome })
}

/// The proposal that a refusal names.
fn proposal(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("Proposal ")?;
    rest.get(..ID_LETTERS)
}
