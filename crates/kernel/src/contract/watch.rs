//! What a contract watches: one monitor over one series, and what its alarm does.

use super::shape::{Direction, shape};
use super::{Mode, words};
use crate::agent::AgentStatus;
use crate::monitors::{Monitor, MonitorKind, SettingFault, Settings};
use crate::nearest::suggestion;
use std::collections::{BTreeMap, BTreeSet};
use values::ids::Digest;
use values::json::{Json, Object};

/// Monitors that a contract may name: each one is a row that every decision it watches reads and writes.
pub const WATCHES_MAX: usize = 32;

/// Longest expression.
const WHEN_BYTES_MAX: usize = 4_096;

shape! {
    /// A monitor. How another kind, series or setting moves it cannot be told.
    WATCH = "monitor" {
        "kind": Direction::Unclear;
        "of": Direction::Unclear;
        "when": Direction::Unclear;
        "value": Direction::Unclear;
        "actions": Direction::Unclear;
        "revoke": Direction::Unclear;
        "max": Direction::MoreWidens;
        "min": Direction::MoreNarrows;
        "then": Direction::Words(&["SUSPENDED", "ESCALATION_ONLY", "DEGRADED", "NOTIFY", "WARN"]);
    }
}

words! {
    /// What an alarm does.
    Then {
        /// It is recorded and shown.
        Warn = "WARN",
        /// It is recorded, and people are told.
        Notify = "NOTIFY",
        /// Named actions are revoked.
        Degraded = "DEGRADED",
        /// Everything needs a person.
        EscalationOnly = "ESCALATION_ONLY",
        /// The agent may do nothing.
        Suspended = "SUSPENDED",
    }
}

impl Then {
    /// The state that an alarm puts the agent in, where it does.
    pub fn status(self) -> Option<AgentStatus> {
        match self {
            Then::Warn | Then::Notify => None,
            Then::Degraded => Some(AgentStatus::Degraded),
            Then::EscalationOnly => Some(AgentStatus::EscalationOnly),
            Then::Suspended => Some(AgentStatus::Suspended),
        }
    }
}

/// What a monitor watches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Series {
    /// A numeric param of what is accepted.
    Param(String),
    /// One param less another, of what is accepted.
    Margin { value: String, cost: String },
    /// 1 where an expression holds for what is accepted, else 0.
    When(String),
    /// 1 where a proposal is rejected, else 0.
    Rejected,
    /// 1 where a person is asked, else 0.
    Escalated,
    /// 1 where an intent failed, 0 where it succeeded.
    Failed,
}

const VERDICT_REJECTED: &str = "verdict.rejected";
const VERDICT_ESCALATED: &str = "verdict.escalated";
const OUTCOME_FAILED: &str = "outcome.failed";

impl Series {
    /// Whether its values are 0 and 1.
    fn is_binary(&self) -> bool {
        match self {
            Series::Param(_) | Series::Margin { .. } => false,
            Series::When(_) | Series::Rejected | Series::Escalated | Series::Failed => true,
        }
    }

    /// The params it reads.
    pub fn params(&self) -> Vec<&str> {
        match self {
            Series::Param(name) => vec![name],
            Series::Margin { value, cost } => vec![value, cost],
            Series::When(_) | Series::Rejected | Series::Escalated | Series::Failed => Vec::new(),
        }
    }

    /// In words, for sentences.
    pub fn words(&self) -> String {
        match self {
            Series::Param(name) => name.clone(),
            Series::Margin { value, cost } => format!("{value} less {cost}"),
            Series::When(when) => when.clone(),
            Series::Rejected => "rejected proposals".to_owned(),
            Series::Escalated => "questions to people".to_owned(),
            Series::Failed => "failed intents".to_owned(),
        }
    }
}

/// One monitor of a contract.
#[derive(Clone, PartialEq, Debug)]
pub struct Watch {
    pub kind: MonitorKind,
    pub series: Series,
    /// Whose proposals count; empty means every action that is no read and has the params.
    pub actions: BTreeSet<String>,
    /// Settings of the monitor, as written.
    pub settings: BTreeMap<String, Json>,
    pub then: Then,
    /// For DEGRADED: the actions that are revoked.
    pub revoke: BTreeSet<String>,
}

impl Watch {
    /// Reads either form. In the short form the kind is a key and what it watches its value.
    pub fn read(json: &Json) -> Result<Watch, SettingFault> {
        let Some(members) = json.as_object() else {
            return Err(fault("", "a monitor is written as { mean: params.amount, max: 12, over: 50 }"));
        };
        let mut members = members.clone();
        let (kind, of) = kind_and_series(&mut members)?;
        let when = taken_text(&mut members, "when")?;
        let actions = taken_names(&mut members, "actions")?;
        let revoke = taken_names(&mut members, "revoke")?;
        let then = taken_text(&mut members, "then")?;
        let then = match &then {
            None if kind.only_warns() => Then::Warn,
            None => Then::Suspended,
            Some(word) => Then::from_word(word).ok_or_else(|| {
                let meant = suggestion(word, Then::WORDS.iter().copied());
                fault("then", format!("`then` must be one of {}; `{word}` is not{meant}", Then::WORDS.join(", ")))
            })?,
        };
        let series = series(kind, of, when, &mut members)?;
        let watch = Watch { kind, series, actions, settings: members.into_iter().collect(), then, revoke };
        watch.check()?;
        Ok(watch)
    }

    fn check(&self) -> Result<(), SettingFault> {
        self.monitor()?;
        let only_binary = matches!(self.kind, MonitorKind::Share | MonitorKind::Ddm | MonitorKind::Eddm)
            || self.kind == MonitorKind::Cusum && self.settings.contains_key("p0");
        if only_binary && !self.series.is_binary() {
            let kind = self.kind.word();
            return Err(fault(
                "of",
                format!("`{kind}` counts what is so: give it `when:`, {VERDICT_REJECTED} or the like"),
            ));
        }
        if self.kind.only_warns() && self.then.status().is_some() {
            let problem = format!("`{}` promises nothing about false alarms, so it only warns", self.kind.word());
            return Err(fault("then", format!("{problem}; write WARN or NOTIFY")));
        }
        if (self.then == Then::Degraded) == self.revoke.is_empty() {
            return Err(fault(
                "revoke",
                "`revoke` names the actions that DEGRADED takes away; the two belong together",
            ));
        }
        Ok(())
    }

    /// What tells this wording from others, under a contract that observes or one that does not.
    pub fn wording(&self, mode: Mode) -> Digest {
        Digest::of_parts(&[mode.word().as_bytes(), self.to_json().to_canonical().as_bytes()])
    }

    /// What an expression that errs counts as: whatever hurts. Where only a lower bound is watched that is 0.
    pub fn error_counts_as(&self) -> bool {
        let is_down = self.settings.get("mode").and_then(Json::as_text) == Some("down");
        let only_min = self.settings.contains_key("min") && !self.settings.contains_key("max");
        !is_down && !only_min
    }

    /// A monitor that has seen nothing.
    pub fn monitor(&self) -> Result<Monitor, SettingFault> {
        let mut settings = Vec::new();
        for (key, value) in &self.settings {
            let text = match value {
                Json::Text(text) => text.clone(),
                Json::Number(_) | Json::Bool(_) => value.to_canonical(),
                Json::Null | Json::List(_) | Json::Object(_) => {
                    return Err(fault(key, format!("`{key}` must be a number or a word")));
                }
            };
            settings.push((key.clone(), text));
        }
        Monitor::new(self.kind, Settings::of(settings))
    }

    /// The full form.
    pub fn to_json(&self) -> Json {
        let mut members: Object = self.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
        put("kind", Json::text(self.kind.word()));
        put("then", Json::text(self.then.word()));
        match &self.series {
            Series::Param(name) => put("of", Json::text(format!("params.{name}"))),
            Series::Margin { value, cost } => {
                put("value", Json::text(format!("params.{value}")));
                put("of", Json::text(format!("params.{cost}")))
            }
            Series::When(when) => put("when", Json::text(when.as_str())),
            Series::Rejected => put("of", Json::text(VERDICT_REJECTED)),
            Series::Escalated => put("of", Json::text(VERDICT_ESCALATED)),
            Series::Failed => put("of", Json::text(OUTCOME_FAILED)),
        };
        for (key, names) in [("actions", &self.actions), ("revoke", &self.revoke)] {
            if !names.is_empty() {
                members.insert(key.to_owned(), Json::texts(names.iter().map(String::as_str)));
            }
        }
        Json::Object(members)
    }
}

fn fault(key: &str, problem: impl Into<String>) -> SettingFault {
    SettingFault { key: key.to_owned(), problem: problem.into() }
}

fn kind_and_series(members: &mut Object) -> Result<(MonitorKind, Option<String>), SettingFault> {
    if let Some(word) = taken_text(members, "kind")? {
        let kind = MonitorKind::from_word(&word).ok_or_else(|| {
            let meant = suggestion(&word, MonitorKind::WORDS.iter().copied());
            fault("kind", format!("there is no monitor `{word}`{meant}"))
        })?;
        return Ok((kind, taken_text(members, "of")?));
    }
    let short: Vec<&str> = MonitorKind::WORDS.iter().filter(|word| members.get(**word).is_some()).copied().collect();
    match short.as_slice() {
        [word] => {
            let of = taken_text(members, word)?;
            MonitorKind::from_word(word).map(|kind| (kind, of)).ok_or_else(|| fault("kind", "`kind` is missing"))
        }
        [] => Err(fault("kind", format!("name one kind of monitor: {}", MonitorKind::WORDS.join(", ")))),
        [one, two, ..] => Err(fault(two, format!("`{one}` and `{two}` are two monitors; give each a name of its own"))),
    }
}

fn series(
    kind: MonitorKind,
    of: Option<String>,
    when: Option<String>,
    members: &mut Object,
) -> Result<Series, SettingFault> {
    let (text, is_expression) = match (of, when) {
        (Some(of), None) if is_path(&of) => (of, false),
        (Some(when), None) | (None, Some(when)) => (when, true),
        (Some(_), Some(_)) => return Err(fault("when", "`of` and `when` both say what is watched; keep one")),
        (None, None) => return Err(fault("of", "`of` or `when` is missing: what is watched")),
    };
    if is_expression {
        if text.len() > WHEN_BYTES_MAX {
            return Err(fault("when", "`when` is longer than 4,096 bytes"));
        }
        return Ok(Series::When(text));
    }
    match text.as_str() {
        VERDICT_REJECTED => return Ok(Series::Rejected),
        VERDICT_ESCALATED => return Ok(Series::Escalated),
        OUTCOME_FAILED => return Ok(Series::Failed),
        _ => {}
    }
    let param = text.strip_prefix("params.").unwrap_or(&text);
    if param.contains('.') {
        let known = [VERDICT_REJECTED, VERDICT_ESCALATED, OUTCOME_FAILED];
        let meant = suggestion(&text, known);
        return Err(fault("of", format!("`{text}` is neither params.NAME nor one of {}{meant}", known.join(", "))));
    }
    let value = members.get("value").and_then(Json::as_text).and_then(|value| value.strip_prefix("params."));
    if let Some(value) = value.filter(|_| kind == MonitorKind::Margin).map(str::to_owned) {
        members.remove("value");
        return Ok(Series::Margin { value, cost: param.to_owned() });
    }
    Ok(Series::Param(param.to_owned()))
}

fn is_path(text: &str) -> bool {
    let letters = |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    text.split('.').all(letters) && !text.starts_with(|letter: char| letter.is_numeric())
}

fn taken_text(members: &mut Object, key: &str) -> Result<Option<String>, SettingFault> {
    match members.remove(key) {
        None => Ok(None),
        Some(Json::Text(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(_) => Err(fault(key, format!("`{key}` must be some text"))),
    }
}

fn taken_names(members: &mut Object, key: &str) -> Result<BTreeSet<String>, SettingFault> {
    let wrong = || fault(key, format!("`{key}` must be a list of actions"));
    let Some(value) = members.remove(key) else { return Ok(BTreeSet::new()) };
    let names = value.as_list().filter(|names| !names.is_empty()).ok_or_else(wrong)?;
    names.iter().map(|name| name.as_text().map(str::to_owned).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Watch, SettingFault> {
        Watch::read(&Json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn both_forms_come_to_the_same_and_are_read_back() {
        let rows = [
            (
                r#"{"mean":"percent","max":12,"over":50}"#,
                r#"{"kind":"mean","max":12,"of":"params.percent","over":50,"then":"SUSPENDED"}"#,
            ),
            (
                r#"{"sum":"params.amount","max":5000,"over":"24h","then":"ESCALATION_ONLY"}"#,
                r#"{"kind":"sum","max":5000,"of":"params.amount","over":"24h","then":"ESCALATION_ONLY"}"#,
            ),
            (
                r#"{"share":"params.hours <= 48","max":0.15}"#,
                r#"{"kind":"share","max":0.15,"then":"SUSPENDED","when":"params.hours <= 48"}"#,
            ),
            (
                r#"{"margin":"cpc","value":1.8}"#,
                r#"{"kind":"margin","of":"params.cpc","then":"SUSPENDED","value":1.8}"#,
            ),
            (
                r#"{"margin":"cpc","value":"params.ltv"}"#,
                r#"{"kind":"margin","of":"params.cpc","then":"SUSPENDED","value":"params.ltv"}"#,
            ),
            (
                r#"{"e_sr":"outcome.failed","m0":0.02}"#,
                r#"{"kind":"e_sr","m0":0.02,"of":"outcome.failed","then":"SUSPENDED"}"#,
            ),
            (
                r#"{"adwin":"amount","delta":0.01}"#,
                r#"{"delta":0.01,"kind":"adwin","of":"params.amount","then":"WARN"}"#,
            ),
            (
                r#"{"cusum":"verdict.rejected","p0":0.1,"p1":0.3,"actions":["pay"],"then":"DEGRADED","revoke":["pay"]}"#,
                r#"{"actions":["pay"],"kind":"cusum","of":"verdict.rejected","p0":0.1,"p1":0.3,"revoke":["pay"],"then":"DEGRADED"}"#,
            ),
        ];
        for (short, full) in rows {
            let watch = read(short).unwrap();
            assert_eq!(watch.to_json().to_canonical(), full);
            assert_eq!(read(full), Ok(watch));
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let rows = [
            (r#"{"max":1}"#, "kind", "name one kind"),
            (r#"{"mean":"a","sum":"b","max":1}"#, "sum", "two monitors"),
            (r#"{"kind":"meen","of":"a"}"#, "kind", "did you mean `mean`?"),
            (r#"{"mean":"a","max":1,"ovr":5}"#, "ovr", "did you mean `over`?"),
            (r#"{"mean":"verdict.refused","max":1}"#, "of", "neither params.NAME nor"),
            (r#"{"kind":"mean","max":1}"#, "of", "what is watched"),
            (r#"{"kind":"share","of":"a","when":"b > 1","max":1}"#, "when", "keep one"),
            (r#"{"share":"amount","max":1}"#, "of", "counts what is so"),
            (r#"{"adwin":"amount","then":"SUSPENDED"}"#, "then", "so it only warns"),
            (r#"{"mean":"amount","max":1,"then":"suspend"}"#, "then", "must be one of WARN"),
            (r#"{"mean":"amount","max":1,"then":"DEGRADED"}"#, "revoke", "belong together"),
            (r#"{"mean":"amount","max":1,"revoke":["pay"]}"#, "revoke", "belong together"),
            (r#"{"mean":"amount","max":1,"actions":[]}"#, "actions", "a list of actions"),
            (r#"{"mean":"amount","max":[1]}"#, "max", "a number or a word"),
            (r#"{"mean":"amount"}"#, "max", "no bound"),
            (r#""mean""#, "", "is written as"),
        ];
        for (text, key, part) in rows {
            let fault = read(text).unwrap_err();
            assert_eq!(fault.key, key, "{text}: {}", fault.problem);
            assert!(fault.problem.contains(part), "{text}: {}", fault.problem);
        }
    }
}
