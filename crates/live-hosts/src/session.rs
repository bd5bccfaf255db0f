//! One session of a host, and what became of each of its calls.

use crate::hosts::{Host, Trust};
use crate::model::{Heard, Model};
use crate::outcome::{Outcome, Word};
use crate::places::mark;
use crate::process::{self, Ended};
use crate::script::{Script, ToolCall, step};
use crate::site::Site;
use anyhow::Result;
use std::time::Duration;

/// How long a session may take: the guard gives up on a binary that hangs after ten seconds a call.
const PATIENCE: Duration = Duration::from_secs(150);

/// Bytes of a text that a note shows.
const NOTE_BYTES: usize = 120;

/// What was heard, and how the host ended.
pub struct Session {
    pub heard: Heard,
    pub ended: Ended,
    /// What `init` printed.
    pub init: String,
}

/// How a session is set up.
pub struct Setting<'s> {
    pub trust: Trust,
    /// More words for `writkeeper init`.
    pub options: &'s [&'s str],
    /// Whether the host would ask a person, though nobody is there.
    pub asks: bool,
}

impl Setting<'_> {
    /// As a person leaves it who followed the guide.
    pub const USUAL: Setting<'static> = Setting { trust: Trust::Given, options: &[], asks: false };
}

/// Plays a script in a fresh home; `spoil` is called between `init` and the session.
pub fn play(
    host: &dyn Host,
    setting: &Setting,
    spoil: impl FnOnce() -> Result<()>,
    script: impl FnOnce(u16) -> Script,
) -> Result<Session> {
    let (listener, port) = Model::listen()?;
    let site = Site::fresh(host, setting.trust, port, setting.options)?;
    spoil()?;
    let page = format!("touch {}\n", mark("page"));
    let model = Model::play(listener, port, script(port), page);
    let asking = if setting.asks { host.start_asking(port) } else { None };
    let ended = process::run(&mut asking.unwrap_or_else(|| host.start(setting.trust, port)), PATIENCE)?;
    Ok(Session { heard: model.heard(), ended, init: site.said })
}

/// One thing that is tried: the calls it takes, and whether the last one had its effect.
pub struct Probe {
    pub name: &'static str,
    pub calls: Vec<ToolCall>,
    pub happened: Box<dyn Fn(&str) -> bool>,
}

impl Probe {
    pub fn new(name: &'static str, calls: Vec<ToolCall>, happened: impl Fn(&str) -> bool + 'static) -> Probe {
        Probe { name, calls, happened: Box::new(happened) }
    }
}

/// What became of a probe.
pub struct Tried {
    pub name: &'static str,
    pub word: Word,
    pub heard: String,
}

/// Plays probes one after the other in one session; they are made when the model's port is known.
pub fn try_all(
    host: &dyn Host,
    spoil: impl FnOnce() -> Result<()>,
    probes: impl FnOnce(u16) -> Vec<Probe>,
) -> Result<(Vec<Tried>, Session)> {
    let mut made = Vec::new();
    let session = play(host, &Setting::USUAL, spoil, |port| {
        made = probes(port);
        Script::of(made.iter().flat_map(|probe| probe.calls.iter().cloned().map(step)).collect())
    })?;
    let mut end: usize = 0;
    let tried = made.iter().map(|probe| {
        end += probe.calls.len();
        let heard = end.checked_sub(1).and_then(|last| session.heard.main.get(last)).cloned();
        let word = match &heard {
            Some(heard) if (probe.happened)(heard) => Word::Passed,
            Some(heard) => stopped_by(heard),
            None => Word::NotRun,
        };
        Tried { name: probe.name, word, heard: heard.unwrap_or_else(|| last_words(&session.ended)) }
    });
    Ok((tried.collect(), session))
}

/// Who stopped a call, going by what the model heard.
pub fn stopped_by(heard: &str) -> Word {
    if !heard.contains("Writkeeper") {
        Word::HostHeld
    } else if heard.contains("wants a person") {
        Word::Asked
    } else {
        Word::Held
    }
}

/// One outcome for several probes: the first word of `ranking` that any of them earned.
pub fn worst(tried: &[Tried], session: &Session, ranking: &[Word]) -> Outcome {
    let word = ranking.iter().copied().find(|word| tried.iter().any(|one| one.word == *word)).unwrap_or(Word::NotRun);
    let is_uniform = tried.iter().all(|one| one.word == word);
    let is_telling = matches!(word, Word::Passed | Word::NotRun);
    let told = tried.iter().filter(|one| one.word != word || is_telling).map(|one| {
        let heard = if one.word == word { format!(", {}", short(&one.heard)) } else { String::new() };
        format!("{}: {}{heard}", one.name, one.word)
    });
    let note = if is_uniform { String::new() } else { told.collect::<Vec<_>>().join("; ") };
    Outcome { slowest: slowest(session), ..Outcome::new(word, note) }
}

/// The longest a call took, in milliseconds.
pub fn slowest(session: &Session) -> u64 {
    let longest = session.heard.took.iter().max().copied().unwrap_or_default();
    u64::try_from(longest.as_millis()).unwrap_or(u64::MAX)
}

/// What a host said before it ended without an answer.
pub fn last_words(ended: &Ended) -> String {
    let end = match (ended.ran_out_of_time, ended.code) {
        (true, _) => "the host ran out of time".to_owned(),
        (false, Some(code)) => format!("the host ended with {code}"),
        (false, None) => "the host was killed".to_owned(),
    };
    let mut lines = ended.output.lines().chain(ended.errors.lines()).rev();
    let last = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
    format!("{end}: {}", short(last))
}

/// The beginning of a text, on one line.
pub fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = (0..=NOTE_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    let (shown, rest) = line.split_at(end);
    if rest.is_empty() { line } else { format!("{shown}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stopped_a_call_is_read_from_what_the_model_heard() {
        for (heard, expected) in [
            ("hook error: Writkeeper refused this call (CATASTROPHIC)", Word::Held),
            ("Writkeeper wants a person to look at this call", Word::Asked),
            ("Writkeeper did not answer, so this call does not run", Word::Held),
            ("Path not in workspace", Word::HostHeld),
        ] {
            assert_eq!(stopped_by(heard), expected, "{heard}");
        }
    }

    #[test]
    fn notes_are_short_and_on_one_line() {
        assert_eq!(short("a\n  b"), "a b");
        let long = short(&"ä".repeat(NOTE_BYTES));
        assert!(long.ends_with('…') && long.len() <= NOTE_BYTES + '…'.len_utf8(), "{long}");
    }
}
