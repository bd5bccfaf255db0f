//! What kind of entry a record is: a decision, a change by its act, what followed by its consequence.

use crate::change::ActKind;
use crate::consequence::ConsequenceKind;
use values::json::Json;

/// The kind of a record, one word in its leaf and in its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// A proposal was judged.
    Decision,
    /// Something that was no proposal was refused.
    Refusal,
    /// What the other side of an effect answered; not folded.
    Result,
    /// A log starts anew after its keys were lost; not folded.
    Discontinuity,
    /// A change that someone asked for.
    Change(ActKind),
    /// What followed from the command whose record comes next.
    Consequence(ConsequenceKind),
}

impl RecordKind {
    /// Kinds that are neither a change nor a consequence.
    const OTHERS: [RecordKind; 4] =
        [RecordKind::Decision, RecordKind::Refusal, RecordKind::Result, RecordKind::Discontinuity];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            RecordKind::Decision => "decision",
            RecordKind::Refusal => "refusal",
            RecordKind::Result => "result",
            RecordKind::Discontinuity => ledger::discontinuity::KIND,
            RecordKind::Change(act) => act.word(),
            RecordKind::Consequence(consequence) => consequence.word(),
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<RecordKind> {
        let other = || RecordKind::OTHERS.into_iter().find(|kind| kind.word() == word);
        let act = || ActKind::from_word(word).map(RecordKind::Change);
        let consequence = || ConsequenceKind::from_word(word).map(RecordKind::Consequence);
        other().or_else(act).or_else(consequence)
    }

    /// The kind that a leaf or a body names; `None` if this program knows no such kind.
    pub fn of(record: &Json) -> Option<RecordKind> {
        RecordKind::from_word(record.get("kind")?.as_text()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_is_one_kind() {
        let others = RecordKind::OTHERS.iter().map(|kind| kind.word());
        let words: Vec<&str> = others.chain(ActKind::WORDS.iter().chain(ConsequenceKind::WORDS).copied()).collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        for word in words {
            assert_eq!(RecordKind::from_word(word).map(RecordKind::word), Some(word));
        }
        assert_eq!(RecordKind::from_word("DECISION"), None);
    }
}
