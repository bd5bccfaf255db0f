//! Dangling intent: the agent stops right after saying that something is left to do.
//!
//! It reads the agent's own words, which prove nothing about the world; it may remind, never refuse.

use super::Signal;
use crate::contract::words;
use crate::settings::{Fault, Fields};
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "the last words promise work that was not done";

/// How far back from the end the words are read, in characters.
pub const TAIL_CHARS: usize = 600;

/// The last turn and whether anything ran after it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// What the agent said last.
    pub text: String,
    /// Results that came after it.
    pub results_after: u64,
}

/// Whether the detector speaks at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// `false` makes it abstain.
    pub enabled: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { enabled: true }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        Ok(Settings { enabled: Fields::of(path, written, &["enabled"])?.flag("enabled", true)? })
    }
}

words! {
    /// Whether something was promised.
    State {
        /// It was, and nothing ran after it.
        Dangling = "DANGLING_INTENT",
        /// It was not, or nobody can say.
        Abstain = "ABSTAIN",
    }
}

/// The judgement and the words it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Whether something was promised.
    pub state: State,
    /// The words, as they were written; empty if there are none.
    pub cue: String,
}

/// One place in a cue.
enum Piece {
    /// One of these words.
    One(&'static [&'static str]),
    /// One of these words, or nothing.
    Maybe(&'static [&'static str]),
    /// Between one and so many words, whatever they are.
    Any(usize),
}

use Piece::{Any, Maybe, One};

const WHO: &[&str] = &["i", "we"];
const WILL: &[&str] = &["will", "'ll", "shall"];
const NEED: &[&str] = &["need", "must", "have", "will", "'ll", "should"];
const FINISH: &[&str] = &["finish", "complete", "do", "proceed", "continue", "achieve", "accomplish", "resolve"];
const DONE: &[&str] = &[
    "done",
    "finished",
    "completed",
    "complete",
    "made",
    "updated",
    "created",
    "resolved",
    "fixed",
    "sent",
    "applied",
];

/// Ways to say that something is left to do. Commas are not read.
const CUES: [&[Piece]; 12] = [
    &[One(WHO), Maybe(&["still", "also", "now", "just", "first", "then"]), One(&["need", "have"]), One(&["to"])],
    &[One(WHO), Maybe(&["still", "also", "now", "first", "then"]), One(&["must"])],
    &[One(&["next", "then"]), One(WHO), One(NEED)],
    &[
        One(&["to"]),
        One(FINISH),
        Maybe(&["this", "that", "it", "so", "the"]),
        Maybe(&["task", "work"]),
        One(WHO),
        One(NEED),
    ],
    &[One(&["now", "next", "then"]), One(&["to"]), Any(4), One(WHO), One(NEED)],
    &[One(WHO), One(&["cannot", "can't"]), Maybe(&["yet"]), One(FINISH), Maybe(&["yet", "until"])],
    &[One(WHO), One(&["haven't", "hadn't"]), Maybe(&["not", "yet", "fully"]), One(DONE)],
    &[One(WHO), One(&["have", "'ve"]), One(&["not"]), Maybe(&["yet", "fully"]), One(DONE)],
    &[One(WHO), One(WILL), One(&["now", "next", "then", "proceed", "continue"])],
    &[One(WHO), One(&["am", "'m", "are", "'re"]), Maybe(&["now"]), One(&["going", "about"]), One(&["to"])],
    &[One(&["let"]), One(&["me"]), One(&["now", "next", "then", "first", "also", "proceed", "continue"])],
    &[
        One(&["remaining", "outstanding", "unfinished"]),
        One(&["step", "steps", "task", "tasks", "work", "item", "items"]),
    ],
];

/// Ways to say, in the same sentence, that it has been done after all.
const DONE_ALREADY: [&[Piece]; 3] = [
    &[One(&["already"])],
    &[One(&["has", "have", "was", "were", "had"]), Maybe(&["now", "all"]), Maybe(&["been"]), One(DONE)],
    &[One(&["is", "are", "'s"]), Maybe(&["now", "all"]), One(DONE)],
];

/// Looks for a cue in the last words; a sentence that also says it is done does not count.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let quiet = Judgement { state: State::Abstain, cue: String::new() };
    if !settings.enabled || evidence.results_after > 0 {
        return quiet;
    }
    let tail = tail(&evidence.text);
    for sentence in sentences(tail) {
        let is_done = DONE_ALREADY.iter().any(|cue| find(&sentence, cue).is_some());
        let earliest =
            CUES.iter().filter_map(|cue| find(&sentence, cue)).min_by_key(|(start, end)| (*start, usize::MAX - end));
        if let (false, Some((start, end))) = (is_done, earliest) {
            let cue = tail.get(start..end).unwrap_or_default().to_owned();
            return Judgement { state: State::Dangling, cue };
        }
    }
    quiet
}

fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(TAIL_CHARS - 1).map_or(0, |(start, _)| start);
    text.get(start..).unwrap_or(text)
}

/// A word in lower case and where it stands.
struct Word {
    lower: String,
    start: usize,
    end: usize,
}

fn sentences(text: &str) -> Vec<Vec<Word>> {
    let mut sentences = vec![Vec::new()];
    let mut word_start: Option<usize> = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let is_inside = character.is_alphanumeric() || matches!(character, '\'' | '\u{2019}');
        if is_inside {
            word_start.get_or_insert(at);
        }
        let next = characters.peek().map(|(_, next)| *next);
        let ends_here = next.is_none_or(|next| !(next.is_alphanumeric() || matches!(next, '\'' | '\u{2019}')));
        if let (Some(start), true) = (word_start, is_inside && ends_here) {
            let end = at + character.len_utf8();
            if let (Some(sentence), Some(word)) = (sentences.last_mut(), text.get(start..end)) {
                push_word(word, start, sentence);
            }
            word_start = None;
        }
        let stops = matches!(character, '.' | '!' | '?') && next.is_none_or(char::is_whitespace);
        if stops || matches!(character, '\n' | ';') {
            sentences.push(Vec::new());
        }
    }
    sentences
}

/// `I'll` is two words, `haven't` is one.
fn push_word(written: &str, start: usize, sentence: &mut Vec<Word>) {
    let end = start + written.len();
    let apostrophe = written.find(['\'', '\u{2019}']).filter(|at| *at > 0);
    let lower = |text: &str| text.to_lowercase().replace('\u{2019}', "'");
    let (stem, clitic) = match apostrophe.and_then(|at| written.split_at_checked(at)) {
        Some((stem, clitic)) if lower(clitic) != "'t" => (stem, clitic),
        Some(_) | None => (written, ""),
    };
    sentence.push(Word { lower: lower(stem), start, end: start + stem.len() });
    if !clitic.is_empty() {
        sentence.push(Word { lower: lower(clitic), start: start + stem.len(), end });
    }
}

/// Where a cue begins and ends.
fn find(sentence: &[Word], cue: &[Piece]) -> Option<(usize, usize)> {
    (0..sentence.len()).find_map(|from| {
        let words = sentence.get(from..)?;
        let count = fits(words, cue)?;
        Some((words.first()?.start, words.get(count.checked_sub(1)?)?.end))
    })
}

/// How many words a cue takes, the longest way, if they fit.
fn fits(words: &[Word], cue: &[Piece]) -> Option<usize> {
    let Some((piece, rest)) = cue.split_first() else { return Some(0) };
    let next = |taken: usize| words.get(taken..).and_then(|behind| fits(behind, rest)).map(|more| taken + more);
    let is_one = |known: &[&str]| words.first().is_some_and(|word| known.contains(&word.lower.as_str()));
    match piece {
        Piece::One(known) => is_one(known).then(|| next(1))?,
        Piece::Maybe(known) => is_one(known).then(|| next(1)).flatten().or_else(|| next(0)),
        Piece::Any(most) => (1..=*most).find_map(next),
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let Judgement { state, cue } = judge(evidence, settings);
    Signal {
        detector: "dangling_intent",
        state: state.word(),
        is_concern: state == State::Dangling,
        reason: match state {
            State::Dangling => format!("the agent stopped after saying `{cue}`"),
            State::Abstain => "nothing was promised, or something ran after it".to_owned(),
        },
        details: Json::object([("cue", Json::text(cue))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, cue: &str) {
        let judgement = judge(&Evidence { text: text.to_owned(), results_after: 0 }, &Settings::default());
        assert_eq!(judgement.cue, cue, "{text}");
        assert_eq!(judgement.state == State::Dangling, !cue.is_empty(), "{text}");
    }

    #[test]
    fn promises_are_heard() {
        check("I still need to assign the ticket.", "I still need to");
        check("Done with part one. Next, I will create the user.", "Next, I will");
        check("I'll now run the tests", "I'll now");
        check("I\u{2019}m going to push it", "I\u{2019}m going to");
        check("To finish the work, I must wait", "To finish the work, I must");
        check("Now, to wrap this up I need a key", "Now, to wrap this up I need");
        check("I have not yet finished", "I have not yet finished");
        check("Let me now check v1.2 of it", "Let me now");
        check("There are outstanding tasks", "outstanding tasks");
        check("I can't proceed until then", "I can't proceed until");
    }

    #[test]
    fn what_is_done_is_not_promised() {
        check("", "");
        check("Everything is done.", "");
        check("I need to update it, which has been done.", "");
        check("I have to say: it was already fixed", "");
        check("I need to check. Everything has been completed.", "I need to");
        check("Let me know if it helps.", "");
        check("I will be here.", "");
        check("They need to decide.", "");
    }

    #[test]
    fn only_the_end_is_read() {
        check(&format!("I need to go. {}", "x ".repeat(300)), "");
        check(&format!("{} I need to go.", "é ".repeat(300)), "I need to");
    }

    #[test]
    fn something_that_ran_speaks_for_itself() {
        let evidence = Evidence { text: "I need to go".to_owned(), results_after: 1 };
        assert_eq!(judge(&evidence, &Settings::default()).state, State::Abstain);
        let evidence = Evidence { results_after: 0, ..evidence };
        assert_eq!(judge(&evidence, &Settings { enabled: false }).state, State::Abstain);
    }
}
