//! Whether the host runs our hooks at all, and whether it is noticed when it no longer does.

use super::calls::free;
use crate::hosts::{Host, Trust};
use crate::outcome::{Outcome, Word};
use crate::places::{inside, mark};
use crate::script::{Script, after, step};
use crate::session::{Setting, last_words, play, short, slowest, stopped_by};
use crate::site::{is_marked, keeper};
use anyhow::{Result, ensure};

pub fn init_alone(host: &dyn Host) -> Result<Outcome> {
    let setting = Setting { trust: Trust::InitAlone, ..Setting::USUAL };
    let call = host.shell(&format!("touch {}", mark("alone")));
    let session = play(host, &setting, || Ok(()), |_| Script::of(vec![step(call)]))?;
    let outcome = match (is_marked("alone"), session.heard.main.first()) {
        (true, _) => unguarded(host, &session.init)?,
        (false, Some(heard)) => Outcome::new(stopped_by(heard), ""),
        (false, None) => Outcome::new(Word::HostHeld, last_words(&session.ended)),
    };
    Ok(Outcome { slowest: slowest(&session), ..outcome })
}

/// The hooks did not run; what matters is who says so.
fn unguarded(host: &dyn Host, init: &str) -> Result<Outcome> {
    let line = diagnosis(host)?;
    let boasts = says_enforced(&line);
    let is_silent = !init.contains("trust");
    let outcome = match (boasts, is_silent) {
        (false, false) => Outcome::new(Word::Told, format!("doctor: {}", short(&line))),
        (true, _) => Outcome::new(Word::Untold, format!("the call ran; doctor: {}", short(&line))),
        (false, true) => Outcome::new(Word::Untold, "the call ran; `init` names no step that is left"),
    };
    Ok(outcome)
}

pub fn switching(host: &dyn Host) -> Result<Outcome> {
    let setting = Setting { options: &["--observe"], ..Setting::USUAL };
    let enforce = || -> Result<()> {
        let said = keeper(&["init", "--host", host.word()])?;
        ensure!(said.code == Some(0), "`writkeeper init` failed: {}", said.both());
        Ok(())
    };
    let call = host.shell(&format!("touch {}", mark("switched")));
    let session = play(host, &setting, enforce, |_| Script::of(vec![step(call)]))?;
    let outcome = match (is_marked("switched"), session.heard.main.first()) {
        (true, _) => Outcome::new(Word::Passed, "what the host trusted was lost with the change"),
        (false, Some(heard)) => Outcome::new(stopped_by(heard), ""),
        (false, None) => Outcome::new(Word::NotRun, last_words(&session.ended)),
    };
    Ok(Outcome { slowest: slowest(&session), ..outcome })
}

/// What `doctor` says about a host, in its first line.
fn diagnosis(host: &dyn Host) -> Result<String> {
    let doctor = keeper(&["doctor"])?;
    Ok(doctor.output.lines().find(|line| line.starts_with(host.title())).unwrap_or_default().to_owned())
}

fn says_enforced(line: &str) -> bool {
    line.contains("enforced") && !line.contains("not enforced")
}

pub fn doctor(host: &dyn Host) -> Result<Outcome> {
    let mut before = String::new();
    let look = || -> Result<()> {
        before = diagnosis(host)?;
        Ok(())
    };
    let session = play(host, &Setting::USUAL, look, |_| Script::of(vec![step(host.shell("ls"))]))?;
    let after = diagnosis(host)?;
    let outcome = match (session.heard.main.first(), says_enforced(&before), says_enforced(&after)) {
        (None, _, _) => Outcome::new(Word::NotRun, last_words(&session.ended)),
        (Some(_), false, true) => Outcome::new(Word::True, ""),
        (Some(_), true, _) => Outcome::new(Word::False, format!("before any call: {}", short(&before))),
        (Some(_), false, false) => Outcome::new(Word::False, format!("after a call: {}", short(&after))),
    };
    Ok(Outcome { slowest: slowest(&session), ..outcome })
}

pub fn tampering(host: &dyn Host) -> Result<Outcome> {
    let configuration = inside(host.configuration());
    let nothing = if host.configuration().ends_with(".toml") { "" } else { "{}\n" };
    let tamper = move |_: &[String]| drop(std::fs::write(&configuration, nothing));
    let steps = vec![step(free(host, "before.txt")), after(tamper, free(host, "after.txt")), step(host.shell("ls"))];
    let session = play(host, &Setting::USUAL, || Ok(()), |_| Script::of(steps))?;
    let second = session.heard.main.get(1);
    let outcome = match (inside("before.txt").exists(), inside("after.txt").exists(), second) {
        (true, false, Some(heard)) if heard.contains("Writkeeper") => Outcome::new(Word::Noticed, ""),
        (true, true, Some(heard)) => Outcome::new(Word::Unnoticed, short(heard)),
        (_, _, Some(heard)) => Outcome::new(Word::NotRun, short(heard)),
        (_, _, None) => Outcome::new(Word::NotRun, last_words(&session.ended)),
    };
    Ok(Outcome { slowest: slowest(&session), ..outcome })
}
