//! What became of a case, in one word.

use serde_json::{Value, json};
use std::fmt;

/// One word about a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// The call ran.
    Passed,
    /// The guard refused it.
    Held,
    /// The guard wants a person to look at it, and it did not run.
    Asked,
    /// It did not run, and the reason is a rule of the host itself.
    HostHeld,
    /// A person's approval let it run once, and the next one was asked about again.
    Once,
    /// A person's approval changed nothing.
    Never,
    /// After one approval it runs as often as it likes.
    Always,
    /// What was done behind the guard's back was noticed: nothing with effects runs.
    Noticed,
    /// It was not.
    Unnoticed,
    /// The hooks do not run, and both `init` and `doctor` say so.
    Told,
    /// The hooks do not run, and somebody says that they do.
    Untold,
    /// A subagent was not even started.
    StartHeld,
    /// `doctor` says what is so, before a call and after it.
    True,
    /// It says something else.
    False,
    /// The host has nothing of the kind.
    Absent,
    /// The session came to no end that says anything.
    NotRun,
}

impl Word {
    const ALL: [(Word, &str, &str); 16] = [
        (Word::Passed, "passed", "the call ran"),
        (Word::Held, "held", "the guard refused it, and the model heard why"),
        (Word::Asked, "asked", "it did not run: the guard wants a person to look at it"),
        (Word::HostHeld, "host held", "it did not run because of a rule of the host itself"),
        (Word::Once, "once", "a person's approval let it run once; the next time it was asked about again"),
        (Word::Never, "never", "a person's approval changed nothing"),
        (Word::Always, "always", "one approval let it run more than once"),
        (Word::Noticed, "noticed", "the guard noticed it, and nothing with effects ran from then on"),
        (Word::Unnoticed, "unnoticed", "the guard did not notice it"),
        (Word::Told, "told", "the host runs no hooks, and `init` and `doctor` say so"),
        (
            Word::Untold,
            "untold",
            "the host runs no hooks, and `init` or `doctor` leaves the user in the belief that it does",
        ),
        (Word::StartHeld, "start held", "the guard stopped the start of the subagent itself"),
        (Word::True, "true", "`doctor` says `enforced` after a call has arrived, and not before"),
        (Word::False, "false", "`doctor` says something else than what is so"),
        (Word::Absent, "none", "the host has no tool or mode of this kind"),
        (Word::NotRun, "not run", "the session came to no end that says anything"),
    ];

    fn row(self) -> (&'static str, &'static str) {
        let row = Word::ALL.iter().find(|(word, _, _)| *word == self);
        row.map_or(("", ""), |(_, text, meaning)| (*text, *meaning))
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        self.row().1
    }

    /// The word of a text.
    pub fn from_text(text: &str) -> Option<Word> {
        Word::ALL.iter().find(|(_, name, _)| *name == text).map(|(word, _, _)| *word)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().0)
    }
}

/// A word and what there is to say about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub word: Word,
    /// Which step it was, what the model heard; empty where all is as expected.
    pub note: String,
    /// The longest a call took, in milliseconds.
    pub slowest: u64,
}

impl Outcome {
    pub fn new(word: Word, note: impl Into<String>) -> Outcome {
        Outcome { word, note: note.into(), slowest: 0 }
    }
}

/// One place of the table.
#[derive(Clone, Debug)]
pub struct Cell {
    pub host: String,
    pub case: String,
    pub outcome: Outcome,
    pub is_as_expected: bool,
}

impl Cell {
    pub fn to_json(&self) -> Value {
        json!({
            "host": self.host, "case": self.case, "word": self.outcome.word.to_string(), "note": self.outcome.note,
            "slowest_ms": self.outcome.slowest, "as_expected": self.is_as_expected,
        })
    }

    /// A cell as the process inside of the namespace printed it.
    pub fn from_json(value: &Value) -> Option<Cell> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let word = Word::from_text(&text("word")?)?;
        let slowest = value.get("slowest_ms").and_then(Value::as_u64)?;
        let outcome = Outcome { word, note: text("note")?, slowest };
        let is_as_expected = value.get("as_expected").and_then(Value::as_bool)?;
        Some(Cell { host: text("host")?, case: text("case")?, outcome, is_as_expected })
    }
}
