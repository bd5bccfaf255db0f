//! Dangling intent: the agent stops right after saying that something is left to do.
//!
//! It reads the agent's own words, which prove nothing about the world: it reminds, and holds a stop up once at most.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
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

words! {
    /// What a stop after such words comes to.
    OnStop {
        /// It is on record.
        Observe = "OBSERVE",
        /// The agent is told when it goes on.
        Warn = "WARN",
        /// The stop is held up once.
        Block = "BLOCK",
    }
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["text", "results_after"])?;
        Ok(Evidence { text: fields.text("text", "")?, results_after: fields.count("results_after", 0)? })
    }
}

/// Whether the detector speaks at all, and what it comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// `false` makes it abstain.
    pub enabled: bool,
    /// What the contract names; `None` leaves it to confidence.
    pub on_stop: Option<OnStop>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { enabled: true, on_stop: None }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["enabled", "on_stop"])?;
        let on_stop = match fields.get("on_stop") {
            None => None,
            Some(_) => {
                let word = fields.text("on_stop", "")?;
                let known = OnStop::from_word(&word).ok_or_else(|| {
                    let words = OnStop::WORDS.join("`, `");
                    Fault::new(fields.at("on_stop"), format!("must be one of `{words}`, not `{word}`"))
                })?;
                Some(known)
            }
        };
        Ok(Settings { enabled: fields.flag("enabled", true)?, on_stop })
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
    /// Any word but these.
    Other(&'static [&'static str]),
    /// A word that says something is over: `tested`, `done`.
    Participle,
    /// Whatever stands in so many characters, the words on both sides not counted.
    Gap(usize),
}

use Piece::{Gap, Maybe, One, Other, Participle};

const I: Piece = One(&["i"]);
const TO: Piece = One(&["to"]);
const WILL: &[&str] = &["will", "'ll"];
const SOON: Piece = Maybe(&["still", "now", "then", "next", "also", "first", "just"]);

/// Participles that do not end in `ed`.
const IRREGULAR: [&str; 12] =
    ["done", "made", "sent", "written", "built", "run", "set", "put", "begun", "shown", "dealt", "rebuilt"];

/// What one should do and does in saying so.
const SAYING: &[&str] = &["note", "mention", "say", "add", "point", "stress", "warn", "clarify", "be", "have"];

/// Ways in which an agent says of itself that something is left to do: it owes it, announces it, could not do it, or calls
/// it open. Others are passed over, because a reminder for nothing costs a turn. Commas are not read, and `I'll` is `I will`.
const CUES: [&[Piece]; 17] = [
    // It announces it.
    &[One(&["now"]), TO, Gap(40), I, One(OWES)],
    &[TO, One(&["do", "finish", "complete", "continue"]), Gap(20), I, One(OWES)],
    &[One(&["next"]), I, One(&["will", "'ll", "'m", "am", "need", "have", "should", "must", "plan"])],
    &[I, One(WILL), SOON, One(&["proceed", "continue", "start", "begin"]), Maybe(&["to"])],
    &[I, One(WILL), One(&["now", "next", "then"]), Other(SAYING)],
    // It owes it.
    &[I, SOON, One(&["need", "have", "ought"]), TO],
    &[I, One(WILL), SOON, One(&["need", "have"]), TO],
    &[I, One(&["must"]), SOON, Other(SAYING)],
    &[I, One(&["should"]), SOON, Other(SAYING)],
    // It could not.
    &[I, One(&["was", "am", "'m", "have", "had", "'ve", "'d"]), Maybe(&["been"]), One(&["unable"]), TO],
    &[
        I,
        One(&["was", "am", "'m", "have", "had", "'ve", "'d"]),
        One(&["not"]),
        Maybe(&["yet"]),
        Maybe(&["been"]),
        ABLE,
        TO,
    ],
    &[I, One(&["wasn't", "haven't", "hadn't"]), Maybe(&["yet"]), Maybe(&["been"]), ABLE, TO],
    &[I, One(&["cannot", "can't", "couldn't"]), Gap(40), One(&["yet"])],
    &[I, One(&["have", "had", "'ve", "'d"]), One(&["not"]), Maybe(&["yet"]), One(ENDED)],
    &[I, One(&["haven't", "hadn't"]), Maybe(&["not"]), Maybe(&["yet"]), One(ENDED)],
    // It is open.
    &[One(&["still", "yet", "remain", "remains", "left"]), TO, One(&["be"]), Participle],
    &[One(&["is", "are", "'s"]), Maybe(&["still"]), One(&["left"]), TO, One(&["do"])],
];

const ABLE: Piece = One(&["able"]);
const OWES: &[&str] = &["need", "will", "'ll", "have", "must"];
const ENDED: &[&str] = &["done", "finished", "completed", "started", "tested"];

/// Says, in the same sentence, that it has been done after all.
const DONE_ALREADY: &[Piece] = &[One(&["have", "has", "already", "now"]), Maybe(&["been"]), Participle];

fn is_participle(word: &str) -> bool {
    word.len() > 3 && word.ends_with("ed") && !word.ends_with("eed") || IRREGULAR.contains(&word)
}

/// Looks for a cue in the last words; a sentence that also says it is done does not count.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let quiet = Judgement { state: State::Abstain, cue: String::new() };
    if !settings.enabled || evidence.results_after > 0 {
        return quiet;
    }
    let tail = tail(&evidence.text);
    let sentences = sentences(tail);
    let open: Vec<&Vec<Word>> = sentences.iter().filter(|sentence| find(sentence, DONE_ALREADY).is_none()).collect();
    let heard = CUES.iter().find_map(|cue| open.iter().find_map(|sentence| find(sentence, cue)));
    heard.map_or(quiet, |(start, end)| {
        let cue = tail.get(start..end).unwrap_or_default().to_owned();
        Judgement { state: State::Dangling, cue }
    })
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
    let length = |taken: usize| match (words.first(), taken.checked_sub(1).and_then(|last| words.get(last))) {
        (Some(first), Some(last)) => last.end.saturating_sub(first.start),
        (_, _) => 0,
    };
    let is_one = |known: &[&str]| words.first().is_some_and(|word| known.contains(&word.lower.as_str()));
    match piece {
        Piece::One(known) => is_one(known).then(|| next(1))?,
        Piece::Other(known) => (!words.is_empty() && !is_one(known)).then(|| next(1))?,
        Piece::Participle => words.first().is_some_and(|word| is_participle(&word.lower)).then(|| next(1))?,
        Piece::Maybe(known) => is_one(known).then(|| next(1)).flatten().or_else(|| next(0)),
        Piece::Gap(most) => (0..words.len()).rev().filter(|taken| length(*taken) <= *most).find_map(next),
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let Judgement { state, cue } = judge(evidence, settings);
    Signal {
        detector: "dangling_intent",
        state: state.word(),
        confidence: match state {
            State::Dangling => Confidence::Low,
            State::Abstain => Confidence::None,
        },
        rung: settings.on_stop.filter(|_| state == State::Dangling).map(OnStop::word),
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
        check("I have to wait.", "I have to");
        check("Done with part one. Next, I will create the user.", "Next, I will");
        check("Next I'll create the user.", "Next I'll");
        check("I'll now proceed to run the tests", "I'll now proceed to");
        check("I should continue tomorrow", "I should continue");
        check("I must still restart the worker", "I must still restart");
        check("There is still left to do: the docs", "is still left to do");
        check("I was unable to push it", "I was unable to");
        check("To finish this, I must wait", "To finish this, I must");
        check("Now, to wrap this up I need a key", "Now, to wrap this up I need");
        check("I have not yet finished", "I have not yet finished");
        check("I haven\u{2019}t been able to look", "I haven\u{2019}t been able to");
        check("The key is yet to be added", "yet to be added");
        check("One step remains to be done", "remains to be done");
        check("I can't proceed with that yet", "I can't proceed with that yet");
    }

    #[test]
    fn what_is_done_is_not_promised() {
        check("", "");
        check("Everything is done.", "");
        check("I need to update it, which has been done.", "");
        check("I have to say: it was already fixed", "");
        check("I need to check. Everything has been completed.", "I need to");
        check("I need to add it, now done. I need to push it.", "I need to");
        check("Let me know if it helps.", "");
        check("I will be here.", "");
        check("I was able to fix it.", "");
        check("I should note that it is slow.", "");
        check("I must say it looks good.", "");
        check("I have not changed anything else.", "");
        check("They need to decide.", "");
        check(&format!("I cannot say {} yet", "why ".repeat(12)), "");
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
        assert_eq!(judge(&evidence, &Settings { enabled: false, on_stop: None }).state, State::Abstain);
    }
}
