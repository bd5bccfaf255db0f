//! Reports as values: what was decided, why, by whom, what became of it, and what an observing contract would have stopped.

use crate::error::Error;
use crate::happening::{Happening, RecordedDecision, object, verdict};
use crate::history::History;
use kernel::consequence::Consequence;
use kernel::contract::EffectClass;
use kernel::escalation::{EscalationState, QuestionKind};
use kernel::finding::Code;
use kernel::intent::{Contradiction, IntentState};
use kernel::outcome::{AnsweredIntent, Verdict};
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::{Entity, Halt, Key, Row};
use runtime::Runtime;
use std::collections::{BTreeMap, BTreeSet};
use values::json::{Json, Object};
use values::time::Instant;

/// Intents under way that are counted; more than these are "more than".
const INTENTS_MAX: usize = 10_000;

/// Open questions counted; more than these are "at least".
const QUESTIONS_MAX: usize = 10_000;

/// From when to when; nothing is without a bound.
///
/// ```
/// use writkeeper::report::Range;
/// let everything = Range::default();
/// assert_eq!((everything.since, everything.until), (None, None));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Range {
    /// The first instant that counts.
    pub since: Option<Instant>,
    /// The first instant that no longer counts.
    pub until: Option<Instant>,
}

/// How often each verdict was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VerdictCounts {
    pub accepted: u64,
    pub rejected: u64,
    pub escalated: u64,
}

/// Whether anything was decided about an agent since an instant.
pub fn has_decisions(runtime: &Runtime, agent: &str, since: Option<Instant>) -> Result<bool, Error> {
    let mut history = History::since(runtime, since)?;
    while let Some(body) = history.next_body()? {
        let decided = body.get("proposal").and_then(|proposal| proposal.get("agent")?.as_text());
        if decided == Some(agent) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was decided about one agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentCounts {
    pub verdicts: VerdictCounts,
    /// Accepted by the answer of a person.
    pub approved: u64,
}

/// How an intent ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ending {
    /// It was called off before anything was sent.
    Cancelled,
    /// It did not happen, without doubt.
    Failed,
    /// A person says that it did not happen.
    Abandoned,
    /// It happened.
    Succeeded,
    /// It happened, and undid another.
    Undone,
}

/// What contracts that only observe would have stopped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observation {
    pub verdicts: VerdictCounts,
    pub reasons: BTreeMap<String, u64>,
}

/// What was decided in a while, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub range: Range,
    pub verdicts: VerdictCounts,
    pub agents: BTreeMap<String, AgentCounts>,
    /// Why proposals were rejected or asked about, by code.
    pub reasons: BTreeMap<String, u64>,
    /// What came in and was no proposal.
    pub refused_inputs: u64,
    /// How questions ended.
    pub answers: BTreeMap<EscalationState, u64>,
    /// How intents ended.
    pub performed: BTreeMap<Ending, u64>,
    /// Reports that say the opposite of how their intent had ended.
    pub contradicted: u64,
    /// How often monitors tripped, by agent and name.
    pub trips: BTreeMap<(String, String), u64>,
    pub would_have_stopped: Observation,
    /// Intents that are not over now, by state.
    pub under_way: BTreeMap<IntentState, u64>,
    /// Whether there are more of them than were counted.
    pub more_under_way: bool,
    /// Questions that wait now.
    pub open_questions: u64,
    /// Whether there are more of them than were counted.
    pub more_questions: bool,
    /// Who stopped everything and why, while it is stopped.
    pub halted: Option<Halt>,
    /// Proposals that a person would have been asked about, but for the attention of the group, by group.
    pub not_asked: BTreeMap<String, u64>,
    /// The same for groups of agents.
    pub halted_groups: BTreeMap<String, Halt>,
}

impl VerdictCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.accepted + self.rejected + self.escalated
    }

    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Accept => self.accepted += 1,
            Verdict::Reject => self.rejected += 1,
            Verdict::Escalate => self.escalated += 1,
        }
    }

    /// By the words of verdicts.
    pub fn to_json(&self) -> Object {
        object([
            (Verdict::Accept.word(), Json::from(self.accepted)),
            (Verdict::Reject.word(), Json::from(self.rejected)),
            (Verdict::Escalate.word(), Json::from(self.escalated)),
        ])
    }
}

impl Ending {
    /// Of the state of an intent, if it is over.
    fn of(state: IntentState, undoes: bool) -> Option<Ending> {
        match state {
            IntentState::Succeeded if undoes => Some(Ending::Undone),
            IntentState::Succeeded => Some(Ending::Succeeded),
            IntentState::Failed => Some(Ending::Failed),
            IntentState::Cancelled => Some(Ending::Cancelled),
            IntentState::Abandoned => Some(Ending::Abandoned),
            IntentState::Ready
            | IntentState::Claimed
            | IntentState::InFlight
            | IntentState::HandedOut
            | IntentState::Unreported
            | IntentState::InDoubt => None,
        }
    }

    /// The word of listings: that of the intent's state, and `UNDONE`.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Cancelled => IntentState::Cancelled.word(),
            Ending::Failed => IntentState::Failed.word(),
            Ending::Abandoned => IntentState::Abandoned.word(),
            Ending::Succeeded => IntentState::Succeeded.word(),
            Ending::Undone => "UNDONE",
        }
    }
}

impl Report {
    /// Of the records of a while.
    pub fn of(runtime: &Runtime, range: Range) -> Result<Report, Error> {
        let mut making = Making { runtime, report: Report { range, ..Report::default() }, undoing: BTreeSet::new() };
        let mut history = History::since(runtime, range.since)?;
        while let Some(body) = history.next_body()? {
            let at = body.get("at").and_then(Json::as_text).and_then(Instant::parse);
            if range.until.is_some_and(|until| at.is_some_and(|at| at >= until)) {
                break;
            }
            making.take(&body)?;
        }
        let open = runtime.due(Kind::Escalation, Instant::from_micros(i64::MAX), QUESTIONS_MAX + 1)?;
        let (under_way, more_under_way) = under_way(runtime, &open)?;
        let counted = u64::try_from(open.len().min(QUESTIONS_MAX)).unwrap_or(u64::MAX);
        let more_questions = open.len() > QUESTIONS_MAX;
        let (halted, halted_groups) = match runtime.read(Entity::Tenant)? {
            Some(Row::Tenant(row)) => (row.halted, row.halted_groups),
            Some(_) | None => (None, BTreeMap::new()),
        };
        let open_questions = counted;
        let now = Report { under_way, more_under_way, open_questions, more_questions, ..making.report };
        Ok(Report { halted, halted_groups, ..now })
    }

    /// Accepted by the answers of people.
    pub fn approved(&self) -> u64 {
        self.agents.values().map(|agent| agent.approved).sum()
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let counted = |counts: &BTreeMap<String, u64>| {
            Json::Object(counts.iter().map(|(code, count)| (code.clone(), Json::from(*count))).collect())
        };
        let agent = |(name, counts): (&String, &AgentCounts)| {
            let mut members = counts.verdicts.to_json();
            members.insert("APPROVED".to_owned(), Json::from(counts.approved));
            (name.clone(), Json::Object(members))
        };
        let answers = self.answers.iter().map(|(state, count)| (state.word().to_owned(), Json::from(*count)));
        let performed = self.performed.iter().map(|(ending, count)| (ending.word().to_owned(), Json::from(*count)));
        let under_way = self.under_way.iter().map(|(state, count)| (state.word().to_owned(), Json::from(*count)));
        let trips = self.trips.iter().map(|((agent, monitor), count)| {
            let (agent, monitor) = (Json::text(agent.as_str()), Json::text(monitor.as_str()));
            Json::object([("agent", agent), ("monitor", monitor), ("count", Json::from(*count))])
        });
        let observed = &self.would_have_stopped;
        let instant = |at: Option<Instant>| Json::from(at.map(|at| at.to_string()));
        Json::object([
            ("since", instant(self.range.since)),
            ("until", instant(self.range.until)),
            ("verdicts", Json::Object(self.verdicts.to_json())),
            ("reasons", counted(&self.reasons)),
            ("agents", Json::Object(self.agents.iter().map(agent).collect())),
            ("not_proposals", Json::from(self.refused_inputs)),
            ("answers", Json::Object(answers.collect())),
            ("approved", Json::from(self.approved())),
            ("performed", Json::Object(performed.collect())),
            ("contradicted", Json::from(self.contradicted)),
            ("trips", Json::List(trips.collect())),
            ("under_way", Json::Object(under_way.collect())),
            ("more_under_way", Json::Bool(self.more_under_way)),
            ("open_questions", Json::from(self.open_questions)),
            ("more_questions", Json::Bool(self.more_questions)),
            ("halted", self.halted.as_ref().map_or(Json::Null, halted)),
            ("not_asked", counted(&self.not_asked)),
            (
                "halted_groups",
                Json::Object(self.halted_groups.iter().map(|(name, halt)| (name.clone(), halted(halt))).collect()),
            ),
            (
                "would_have_stopped",
                Json::object([
                    ("verdicts", Json::Object(observed.verdicts.to_json())),
                    ("reasons", counted(&observed.reasons)),
                ]),
            ),
        ])
    }
}

fn halted(halt: &Halt) -> Json {
    Json::object([
        ("by", Json::text(halt.by.as_str())),
        ("because", Json::text(halt.because.as_str())),
        ("at", Json::text(halt.at.to_string())),
    ])
}

/// The intents that are not over, by state, and whether there are more than were counted. Most of them are due some time;
/// the others wait for a person, and the question about them is open.
fn under_way(runtime: &Runtime, questions: &[(Key, Row)]) -> Result<(BTreeMap<IntentState, u64>, bool), Error> {
    let due = runtime.due(Kind::Intent, Instant::from_micros(i64::MAX), INTENTS_MAX + 1)?;
    let more = due.len() > INTENTS_MAX;
    let mut states: BTreeMap<String, IntentState> = BTreeMap::new();
    for (key, row) in due.into_iter().take(INTENTS_MAX) {
        if let Row::Intent(row) = row {
            states.insert(key.entity.parts().0.to_owned(), row.state);
        }
    }
    for (_, row) in questions {
        let Row::Escalation(row) = row else { continue };
        if row.kind != QuestionKind::Doubt || states.contains_key(&row.intent) {
            continue;
        }
        if let Some(Row::Intent(intent)) = runtime.read(Entity::Intent(row.intent.clone()))? {
            states.insert(row.intent.clone(), intent.state);
        }
    }
    let mut counts = BTreeMap::new();
    for state in states.into_values().filter(|state| state.over().is_none()) {
        *counts.entry(state).or_default() += 1;
    }
    Ok((counts, more))
}

/// A report that is being made.
struct Making<'r> {
    runtime: &'r Runtime,
    report: Report,
    /// Intents that undo others.
    undoing: BTreeSet<String>,
}

impl Making<'_> {
    fn take(&mut self, body: &Json) -> Result<(), Error> {
        if body.get("kind").and_then(Json::as_text) == Some("refusal") {
            self.report.refused_inputs += 1;
            return Ok(());
        }
        let Some(happened) = Happening::from_record(body) else { return Ok(()) };
        self.report.contradicted += u64::from(Contradiction::in_record(body).is_some());
        if let Happening::Decided(decision) = &happened {
            self.decided(decision);
            return Ok(());
        }
        // What was refused changed nothing; a refused answer tells how the question ended before.
        if verdict(body) == Some(Verdict::Reject) {
            return Ok(());
        }
        match happened {
            Happening::Answered(answer) => self.answered(&answer.question, answer.state),
            Happening::Followed(consequence) => self.followed(*consequence),
            Happening::UndoOrdered { undo, .. } => {
                self.undoing.insert(undo);
                Ok(())
            }
            Happening::Settled { intent, state, .. } | Happening::Resolved { intent, state, .. } => {
                self.ended(&intent, state)
            }
            Happening::Observed { intent, state, .. } => {
                let stays = said(body, "from") == said(body, "state");
                self.ended(&intent, state.filter(|_| !stays))
            }
            Happening::Decided(_)
            | Happening::FlowOpened { .. }
            | Happening::FlowEnded { .. }
            | Happening::SessionExtended { .. }
            | Happening::Asked { .. }
            | Happening::Reserved(_)
            | Happening::Released { .. }
            | Happening::Noted { .. }
            | Happening::SnapshotTaken { .. }
            | Happening::Claimed { .. }
            | Happening::Started { .. }
            | Happening::ResultRecorded(_) => Ok(()),
        }
    }

    fn followed(&mut self, consequence: Consequence) -> Result<(), Error> {
        match consequence {
            Consequence::QuestionExpired(end) | Consequence::QuestionAborted(end) => {
                self.answered(&end.question, Some(end.state))
            }
            Consequence::IntentMoved { step, .. } => {
                self.ended(&step.intent, Some(step.to).filter(|to| *to != step.from))
            }
            Consequence::IntentExpired { intent, .. } => self.ended(&intent, Some(IntentState::Cancelled)),
            Consequence::QuestionReminded(_) | Consequence::QuestionRerouted(_) => Ok(()),
            Consequence::MonitorTripped(trip) => {
                *self.report.trips.entry((trip.agent, trip.monitor)).or_default() += 1;
                Ok(())
            }
        }
    }

    fn decided(&mut self, decision: &RecordedDecision) {
        let (report, answer) = (&mut self.report, &decision.answer);
        report.verdicts.add(answer.verdict);
        report.agents.entry(decision.agent.clone()).or_default().verdicts.add(answer.verdict);
        if answer.verdict == Verdict::Accept {
            // What is written to our own store happens with its decision.
            let class = answer.intent.as_ref().and_then(class_of);
            if class == Some(EffectClass::Local) {
                *report.performed.entry(Ending::Succeeded).or_default() += 1;
            }
            return;
        }
        for finding in answer.findings.iter().filter(|finding| finding.code == Code::Known(Reason::AttentionSpent)) {
            let group = finding.values.iter().find(|(name, _)| *name == "group");
            let group = group.map_or_else(String::new, |(_, value)| value.as_text().unwrap_or_default().to_owned());
            *report.not_asked.entry(group).or_default() += 1;
        }
        let observed = &mut report.would_have_stopped;
        if decision.is_observed {
            observed.verdicts.add(answer.verdict);
        }
        for code in answer.reasons() {
            *report.reasons.entry(code.to_owned()).or_default() += 1;
            if decision.is_observed {
                *observed.reasons.entry(code.to_owned()).or_default() += 1;
            }
        }
    }

    /// A question that ended.
    fn answered(&mut self, question: &str, state: Option<EscalationState>) -> Result<(), Error> {
        let Some(state) = state.filter(|state| *state != EscalationState::Open) else { return Ok(()) };
        *self.report.answers.entry(state).or_default() += 1;
        if matches!(state, EscalationState::Overridden | EscalationState::Modified) {
            // Who asked stands in the question, which may have been asked before the report begins.
            let row = self.runtime.read(Entity::Escalation(question.to_owned()))?;
            let agent = match row {
                Some(Row::Escalation(row)) => row.agent,
                Some(_) | None => String::new(),
            };
            self.report.agents.entry(agent).or_default().approved += 1;
        }
        Ok(())
    }

    /// An intent that moved; what ends, ends once.
    fn ended(&mut self, intent: &str, state: Option<IntentState>) -> Result<(), Error> {
        let Some(state) = state.filter(|state| state.over().is_some()) else { return Ok(()) };
        let undoes = state == IntentState::Succeeded && self.undoes(intent)?;
        if let Some(ending) = Ending::of(state, undoes) {
            *self.report.performed.entry(ending).or_default() += 1;
        }
        Ok(())
    }

    /// Whether an intent undoes another. One that was ordered before the report begins says so itself.
    fn undoes(&self, intent: &str) -> Result<bool, Error> {
        if self.undoing.contains(intent) || self.report.range.since.is_none() {
            return Ok(self.undoing.contains(intent));
        }
        Ok(match self.runtime.read(Entity::Intent(intent.to_owned()))? {
            Some(Row::Intent(row)) => row.running.is_some_and(|running| running.undoes.is_some()),
            Some(_) | None => false,
        })
    }
}

fn class_of(intent: &AnsweredIntent) -> Option<EffectClass> {
    EffectClass::from_word(intent.to_json().get("class")?.as_text()?)
}

/// What a change came to, in its own words.
fn said<'j>(body: &'j Json, key: &str) -> Option<&'j str> {
    body.get("result")?.get(key)?.as_text()
}
