//! What acts on intents tell.

use super::with;
use crate::consequence::{IntentStep, text_or_null};
use crate::contract::UndoKind;
use crate::intent::IntentState;
use crate::stored::text_of;
use values::json::Json;
use values::time::Instant;

/// Evidence about an attempt that moves its intent no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptEvidence {
    pub intent: String,
    /// Where the intent stands, and stays.
    pub state: IntentState,
    /// The epoch that counts.
    pub epoch: u64,
    /// Whether it says the opposite of how the intent ended.
    pub contradicts: bool,
}

impl KeptEvidence {
    pub(super) fn to_json(&self) -> Json {
        let KeptEvidence { intent, state, epoch, contradicts } = self;
        let (question, retry_at) = (None, None);
        let stays = IntentStep { intent: intent.clone(), from: *state, to: *state, epoch: *epoch, question, retry_at };
        let mut members = stays.members();
        members.insert("late".to_owned(), Json::Bool(true));
        with(members, "contradicts", Json::Bool(*contradicts))
    }

    pub(super) fn read(json: &Json) -> Option<KeptEvidence> {
        let IntentStep { intent, to: state, epoch, .. } = IntentStep::read(json)?;
        Some(KeptEvidence { intent, state, epoch, contradicts: json.get("contradicts")?.as_bool()? })
    }
}

/// What happened is to be undone, by an intent of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcceptedUndo {
    /// What happened.
    pub intent: String,
    /// The intent that undoes it.
    pub undo: String,
    pub kind: UndoKind,
    /// Where the intent that undoes it stands.
    pub state: IntentState,
    pub until: Instant,
    /// The question to those who undo it by hand.
    pub question: Option<String>,
}

impl AcceptedUndo {
    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("intent", Json::text(self.intent.as_str())),
            ("undo", Json::text(self.undo.as_str())),
            ("kind", Json::text(self.kind.word())),
            ("state", Json::text(self.state.word())),
            ("until", Json::text(self.until.to_string())),
            ("question", Json::from(self.question.clone())),
        ])
    }

    pub(super) fn read(json: &Json) -> Option<AcceptedUndo> {
        Some(AcceptedUndo {
            intent: text_of(json, "intent")?,
            undo: text_of(json, "undo")?,
            kind: UndoKind::from_word(json.get("kind")?.as_text()?)?,
            state: IntentState::from_word(json.get("state")?.as_text()?)?,
            until: Instant::parse(json.get("until")?.as_text()?)?,
            question: text_or_null(json, "question")?,
        })
    }
}
