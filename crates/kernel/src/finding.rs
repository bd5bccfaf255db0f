//! Findings: what a gate has to say. Code and named values; the sentence is put together on reading.

pub use crate::gates::Gate;

use crate::reasons::Reason;
use std::borrow::Cow;
use std::collections::BTreeSet;
use values::ids::is_deceptive;
use values::json::{Json, Object};

/// Longest value shown in a sentence.
const SHOWN_CHARS_MAX: usize = 80;

/// Longest part of a sentence that says what is wrong.
const PROBLEM_CHARS_MAX: usize = 400;

/// Findings kept; a proposal with more than this wrong is wrong enough.
const FINDINGS_MAX: usize = 128;

/// A built-in reason, or one the contract defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// From the registry.
    Known(Reason),
    /// From a rule of the contract; the text is the rule's expression.
    Custom {
        /// The contract's code.
        code: String,
        /// The expression that held.
        when: String,
    },
}

impl Code {
    /// The stable text.
    pub fn as_str(&self) -> &str {
        match self {
            Code::Known(reason) => reason.code(),
            Code::Custom { code, .. } => code,
        }
    }
}

/// What a finding does to the verdict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// It is told to whoever enforces, and changes no verdict.
    Advise,
    /// A person must look.
    Escalate,
    /// It must not happen.
    Reject,
}

/// What one gate found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which gate.
    pub gate: Gate,
    /// The reason.
    pub code: Code,
    /// What it does to the verdict.
    pub effect: Effect,
    /// The field it is about.
    pub field: Option<String>,
    /// Named values of the sentence.
    pub values: Vec<(Cow<'static, str>, Json)>,
}

impl Finding {
    /// A rejecting finding.
    pub fn reject(gate: Gate, reason: Reason) -> Finding {
        Finding { gate, code: Code::Known(reason), effect: Effect::Reject, field: None, values: Vec::new() }
    }

    /// An escalating finding.
    pub fn escalate(gate: Gate, reason: Reason) -> Finding {
        Finding { effect: Effect::Escalate, ..Finding::reject(gate, reason) }
    }

    /// A finding for whoever enforces.
    pub fn advise(gate: Gate, reason: Reason) -> Finding {
        Finding { effect: Effect::Advise, ..Finding::reject(gate, reason) }
    }

    /// Names the field.
    pub fn field(mut self, field: impl Into<String>) -> Finding {
        self.field = Some(field.into());
        self
    }

    /// Adds a named value.
    pub fn with(mut self, name: &'static str, value: impl Into<Json>) -> Finding {
        self.values.push((Cow::Borrowed(name), value.into()));
        self
    }

    /// What happened, in one sentence.
    pub fn message(&self) -> String {
        match &self.code {
            Code::Known(reason) => self.fill(reason.entry().sentence),
            Code::Custom { when, .. } => match self.effect {
                Effect::Reject => format!("the contract refuses this when {when}"),
                Effect::Escalate => format!("the contract asks a person when {when}"),
                Effect::Advise => format!("the contract looks out for {when}"),
            },
        }
    }

    /// What the agent can do about it.
    pub fn fix(&self) -> String {
        match (&self.code, self.effect) {
            (Code::Known(reason), _) => self.fill(reason.entry().fix_agent),
            (Code::Custom { .. }, Effect::Reject) => "propose something the rule does not refuse".to_owned(),
            (Code::Custom { .. }, Effect::Escalate) => "wait for the answer".to_owned(),
            (Code::Custom { .. }, Effect::Advise) => "look at what was noticed".to_owned(),
        }
    }

    /// What the operator can do about it.
    pub fn fix_operator(&self) -> String {
        match &self.code {
            Code::Known(reason) => self.fill(reason.entry().fix_operator),
            Code::Custom { code, .. } => format!("read the rule with reason {code} in the contract"),
        }
    }

    /// The record form: code and values, no prose.
    pub fn to_record(&self) -> Json {
        let mut members = Object::new();
        members.insert("gate".to_owned(), Json::text(self.gate.word()));
        members.insert("code".to_owned(), Json::text(self.code.as_str()));
        let effect = match self.effect {
            Effect::Reject => "reject",
            Effect::Escalate => "escalate",
            Effect::Advise => "advise",
        };
        members.insert("effect".to_owned(), Json::text(effect));
        if let Code::Custom { when, .. } = &self.code {
            members.insert("when".to_owned(), Json::text(when.as_str()));
        }
        if let Some(field) = &self.field {
            members.insert("field".to_owned(), Json::text(field.as_str()));
        }
        let values: Object =
            self.values.iter().map(|(name, value)| (name.clone().into_owned(), value.clone())).collect();
        members.insert("values".to_owned(), Json::Object(values));
        Json::Object(members)
    }

    /// Reads the record form back; `None` if it is not one.
    pub fn from_record(json: &Json) -> Option<Finding> {
        let text = |key: &str| json.get(key).and_then(Json::as_text);
        let gate = Gate::ALL.iter().copied().find(|gate| Some(gate.word()) == text("gate"))?;
        let code = match text("when") {
            Some(when) => Code::Custom { code: text("code")?.to_owned(), when: when.to_owned() },
            None => Code::Known(Reason::from_code(text("code")?)?),
        };
        let effect = match text("effect")? {
            "reject" => Effect::Reject,
            "escalate" => Effect::Escalate,
            "advise" => Effect::Advise,
            _ => return None,
        };
        let values = json.get("values")?.as_object()?;
        let values = values.iter().map(|(name, value)| (Cow::Owned(name.clone()), value.clone())).collect();
        Some(Finding { gate, code, effect, field: text("field").map(str::to_owned), values })
    }

    /// A sentence with the values of this finding for the names in braces.
    pub fn fill(&self, sentence: &str) -> String {
        let mut text = String::with_capacity(sentence.len() + 32);
        let mut rest = sentence;
        while let Some((before, behind)) = rest.split_once('{') {
            text.push_str(before);
            let Some((name, remaining)) = behind.split_once('}') else { break };
            self.push_value(name, &mut text);
            rest = remaining;
        }
        text.push_str(rest);
        text
    }

    fn push_value(&self, name: &str, text: &mut String) {
        if name == "field" {
            text.push_str(&visible(self.field.as_deref().unwrap_or("the proposal")));
            return;
        }
        let found = self.values.iter().find(|(known, _)| *known == name);
        if let Some((_, value)) = found {
            // A problem is our own sentence; what of it is the user's was cut when it was written.
            let most = if name == "problem" { PROBLEM_CHARS_MAX } else { SHOWN_CHARS_MAX };
            text.push_str(&shown_within(value, most));
        }
    }
}

/// A value as a sentence shows it: text as it is, everything else as JSON, cut at 80 characters.
pub fn shown(value: &Json) -> String {
    shown_within(value, SHOWN_CHARS_MAX)
}

fn shown_within(value: &Json, most: usize) -> String {
    let text = match value {
        Json::Text(text) => text.clone(),
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_)) => {
            other.to_canonical()
        }
    };
    let text = visible(&text);
    if text.chars().count() <= most {
        return text;
    }
    let cut: String = text.chars().take(most).collect();
    format!("{cut}…")
}

/// Hostile text as text: what would move a cursor, end a line or turn its direction is spelled out.
pub fn visible(text: &str) -> String {
    if !text.chars().any(is_deceptive) {
        return text.to_owned();
    }
    text.chars()
        .map(|letter| if is_deceptive(letter) { format!("\\u{{{:x}}}", u32::from(letter)) } else { letter.to_string() })
        .collect()
}

/// All findings of one judgement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    /// Adds one, unless the same was said already.
    pub fn push(&mut self, finding: Finding) {
        // A rejecting finding must never be crowded out by escalating ones.
        let full = self.list.len() >= FINDINGS_MAX;
        let crowded_out = full && (finding.effect != Effect::Reject || self.list.len() >= 2 * FINDINGS_MAX);
        if !crowded_out && !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }

    /// Adds what there is.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// Everything found, ordered by gate.
    pub fn into_ordered(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| finding.gate);
        self.list
    }

    /// As found so far.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter()
    }

    /// Params and fields whose shape was refused: no gate can judge such a value.
    pub fn refused_fields(&self) -> BTreeSet<String> {
        let root = |field: &String| field.split('.').next().unwrap_or_default().to_owned();
        let shape = self.list.iter().filter(|finding| finding.gate == Gate::Shape);
        shape.filter_map(|finding| finding.field.as_ref().map(root)).collect()
    }
}
