//! What happened in a flow, told from the records.

use super::{state, status, to_json};
use crate::store::History;
use crate::terminal::{self, FAINT, STRONG, at_text, echo, paint, say, verdict_style};
use kernel::finding::{Finding, visible};
use kernel::outcome::Answer;
use kernel::world::FlowRow;
use runtime::Runtime;
use std::collections::BTreeSet;
use values::json::Json;

/// One thing that happened.
struct Entry {
    at: String,
    /// One line.
    what: String,
    /// Lines below it.
    details: Vec<String>,
    /// For programs.
    json: Json,
}

/// The flow's own ids, collected on the way: later records name only these.
#[derive(Default)]
struct Seen {
    questions: BTreeSet<String>,
    intents: BTreeSet<String>,
}

/// Prints the flow.
pub fn run(runtime: &Runtime, name: &str, row: &FlowRow, json: bool) -> anyhow::Result<()> {
    let mut seen = Seen::default();
    let mut entries = Vec::new();
    let mut ledger = History::since(runtime, row.opened_at)?;
    while let Some(body) = ledger.next_body()? {
        entries.extend(seen.entry(&body, name));
    }
    let status = status::of(runtime, row)?;
    if json {
        let mut body = to_json(name, row, status);
        if let Json::Object(members) = &mut body {
            let timeline = entries.into_iter().map(|entry| entry.json).collect();
            members.insert("timeline".to_owned(), Json::List(timeline));
        }
        say!("{}", body.to_canonical());
        return Ok(());
    }
    say!("flow {}  {} {}", paint(STRONG, visible(name)), state(row, status), visible(&row.agent));
    if let Some(parent) = row.parent() {
        say!("  out of flow {}", visible(parent));
    }
    for Entry { at, what, details, .. } in entries {
        say!("\n{}  {what}", paint(FAINT, at_text(&at)));
        for detail in details {
            say!("    {detail}");
        }
    }
    Ok(())
}

fn text<'j>(json: &'j Json, path: &[&str]) -> &'j str {
    let mut found = Some(json);
    for key in path {
        found = found.and_then(|json| json.get(key));
    }
    found.and_then(Json::as_text).unwrap_or_default()
}

impl Seen {
    /// What a record says about the flow, if it does.
    fn entry(&mut self, body: &Json, flow: &str) -> Option<Entry> {
        let in_flow = text(body, &["command", "flow"]) == flow;
        let (what, details) = match text(body, &["kind"]) {
            "decision" if text(body, &["flow"]) == flow => self.decision(body)?,
            "open_flow" if in_flow => ("opened".to_owned(), Vec::new()),
            "open_flow" if text(body, &["command", "parent"]) == flow => {
                let child = text(body, &["command", "flow"]);
                (format!("child flow {child} opened for {}", text(body, &["command", "agent"])), Vec::new())
            }
            "end_flow" if in_flow => (format!("flow {}", text(body, &["result", "state"])), Vec::new()),
            "merge_session" if in_flow => ("session extended".to_owned(), Vec::new()),
            "snapshot" if in_flow => (format!("snapshot {}", text(body, &["result", "snapshot"])), Vec::new()),
            "answer" if self.questions.contains(text(body, &["command", "question"])) => self.answer(body),
            "question_expired" if self.questions.contains(text(body, &["result", "question"])) => {
                (format!("nobody answered question {} in time", text(body, &["result", "question"])), Vec::new())
            }
            "question_aborted" if self.questions.contains(text(body, &["result", "question"])) => {
                (format!("question {} ended with its flow", text(body, &["result", "question"])), Vec::new())
            }
            "settle" if self.intents.contains(text(body, &["command", "intent"])) => {
                let (intent, state) = (text(body, &["command", "intent"]), text(body, &["result", "state"]));
                (format!("intent {intent} {state}"), Vec::new())
            }
            "claim" | "start" | "outcome" | "resolve" | "undo"
                if self.intents.contains(text(body, &["command", "intent"])) =>
            {
                self.performed(body)
            }
            "intent_moved" if self.intents.contains(text(body, &["result", "intent"])) => {
                let (intent, state) = (text(body, &["result", "intent"]), text(body, &["result", "state"]));
                (format!("intent {intent} {} → {state}", text(body, &["result", "from"])), Vec::new())
            }
            "intent_expired" if self.intents.contains(text(body, &["result", "intent"])) => {
                (format!("intent {} called off: nobody started it in time", text(body, &["result", "intent"])), vec![])
            }
            _ => return None,
        };
        let refused = text(body, &["verdict"]) == "REJECT" && text(body, &["kind"]) != "decision";
        let mut details = details;
        if refused {
            details.extend(findings(body));
        }
        let actor = text(body, &["actor"]);
        let by = if actor.is_empty() { String::new() } else { format!("  by {}", visible(actor)) };
        let what = if refused { format!("refused: {what}{by}") } else { format!("{what}{by}") };
        Some(Entry { at: text(body, &["at"]).to_owned(), what, details, json: short(body) })
    }

    fn decision(&mut self, body: &Json) -> Option<(String, Vec<String>)> {
        let answer = Answer::from_record(body)?;
        let verdict = answer.verdict.word();
        let params = body.get("proposal").and_then(|proposal| proposal.get("params")).and_then(Json::as_object);
        let what = format!(
            "{} {}  {}  {}",
            paint(verdict_style(verdict), verdict),
            paint(STRONG, echo(text(body, &["proposal", "action"]))),
            params.map(terminal::params).unwrap_or_default(),
            answer.reasons().join(", ")
        );
        let mut details = vec![paint(FAINT, format!("proposal {}", visible(&answer.id)))];
        details.extend(findings(body));
        if let Some(intent) = &answer.intent {
            self.intents.insert(intent.id().to_owned());
            let until = at_text(text(body, &["intent", "valid_until"]));
            details.push(format!("intent {}, valid until {until}", intent.id()));
        }
        let question = text(body, &["escalation", "id"]);
        if !question.is_empty() {
            self.questions.insert(question.to_owned());
            details.push(format!("question {question}, deadline {}", text(body, &["escalation", "deadline"])));
        }
        Some((what, details))
    }

    fn performed(&mut self, body: &Json) -> (String, Vec<String>) {
        let (kind, intent) = (text(body, &["kind"]), text(body, &["command", "intent"]));
        let undo = text(body, &["command", "undo"]);
        if !undo.is_empty() {
            self.intents.insert(undo.to_owned());
        }
        let said = match kind {
            "outcome" => format!("{} ", text(body, &["command", "observed"])),
            "resolve" => format!("{} ", text(body, &["command", "decision"])),
            "undo" => format!("by intent {undo} "),
            _ => String::new(),
        };
        let state = text(body, &["result", "state"]);
        (format!("{kind} of intent {intent} {said}{state}").trim_end().to_owned(), Vec::new())
    }

    fn answer(&mut self, body: &Json) -> (String, Vec<String>) {
        let intent = text(body, &["intent", "id"]);
        let mut details = vec![format!("because {}", visible(text(body, &["command", "reason"])))];
        if !intent.is_empty() {
            self.intents.insert(intent.to_owned());
            details.push(format!("intent {intent}, valid until {}", at_text(text(body, &["intent", "valid_until"]))));
        }
        let instead = body.get("command").and_then(|command| command.get("modified")?.get("proposal")?.get("params"));
        if let Some(params) = instead.and_then(Json::as_object) {
            details.push(format!("instead {}", terminal::params(params)));
        }
        let decision = visible(text(body, &["command", "decision"]));
        (format!("{decision} to question {}", visible(text(body, &["command", "question"]))), details)
    }
}

fn findings(body: &Json) -> Vec<String> {
    let found = body.get("findings").and_then(Json::as_list).unwrap_or_default();
    found.iter().filter_map(Finding::from_record).map(|finding| finding.message()).collect()
}

/// A record without what the flow or the contract says already.
fn short(body: &Json) -> Json {
    const LEFT_OUT: [&str; 5] = ["contract", "semantics", "tenant", "version", "fingerprint"];
    let members = body.as_object().into_iter().flatten();
    let kept = members.filter(|(key, _)| !LEFT_OUT.contains(&key.as_str()));
    Json::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}
