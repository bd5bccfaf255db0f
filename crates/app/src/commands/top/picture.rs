//! What there is to see, read at once and bounded. Every text in it is safe to print.

use super::super::escalations::{left, show};
use super::super::monitors::chart;
use crate::hint;
use crate::store;
use crate::terminal;
use kernel::agent::AgentStatus;
use kernel::escalation::QuestionKind;
use kernel::finding::visible;
use kernel::flow::FlowState;
use kernel::monitors::Reading;
use kernel::outcome::{Answer, Verdict};
use kernel::stored::Kind;
use kernel::world::{Entity, Halt, Row};
use runtime::Runtime;
use runtime::ports::store::StoredRecord;
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;
use writkeeper::Keeper;
use writkeeper::inbox::{RowPage, shown_proposal};
use writkeeper::monitors::MonitorSummary;

/// Agents on the screen; whoever has more looks at `agents`.
const AGENTS_MAX: usize = 64;

/// Latest entries of the ledger that are looked through for verdicts and flows, so that a long ledger costs nothing.
const RECENT: usize = 256;

/// Verdicts and flows kept of them.
const KEPT: usize = 64;

/// Questions on the screen.
const QUESTIONS_MAX: usize = 256;

/// Everything on the screen.
pub struct Picture {
    /// When it was taken.
    pub at: Instant,
    /// Entries of the ledger.
    pub entries: u64,
    /// Who pulled the kill switch and why.
    pub halted: Option<String>,
    /// Agents by name.
    pub agents: Vec<AgentLine>,
    /// Whether there are more.
    pub more_agents: bool,
    /// Monitors: those whose alarm holds an agent first, then those that are nearest to one.
    pub monitors: Vec<MonitorLine>,
    /// Flows with the latest decisions, latest first.
    pub flows: Vec<FlowLine>,
    /// The latest decisions, latest first.
    pub verdicts: Vec<VerdictLine>,
    /// What waits for people, most urgent first.
    pub questions: Vec<QuestionLine>,
}

/// One agent.
pub struct AgentLine {
    pub name: String,
    pub status: AgentStatus,
    /// What it is restricted for.
    pub because: String,
    /// Its latest decisions: accepted, rejected, escalated.
    pub counts: [usize; 3],
}

/// One monitor.
pub struct MonitorLine {
    /// Whose, and its own name.
    pub name: String,
    /// Whether its alarm holds the agent back.
    pub is_tripped: bool,
    /// How far it is: a full bar is an alarm.
    pub chart: String,
    /// The statistic against its threshold, in words.
    pub reading: String,
    /// In hundredths of the threshold.
    pub part: u64,
}

/// One flow.
pub struct FlowLine {
    pub name: String,
    pub agent: String,
    pub state: FlowState,
    pub steps: u64,
    pub rejected: u64,
}

/// One decision.
pub struct VerdictLine {
    pub at: Instant,
    pub verdict: Verdict,
    /// Whether the contract only observed.
    pub observed: bool,
    pub agent: String,
    pub action: String,
    pub flow: String,
    pub reasons: String,
}

/// One question.
pub struct QuestionLine {
    /// Its whole id.
    pub name: String,
    pub short: String,
    pub impact: &'static str,
    pub agent: String,
    pub action: String,
    pub params: String,
    pub reasons: String,
    pub left: String,
}

/// One question with everything an answer is for.
pub struct Opened {
    pub name: String,
    /// What is known about it, a line each.
    pub facts: Vec<String>,
    /// The exact bytes.
    pub bytes: String,
    /// Whether something in them is withheld.
    pub withheld: bool,
    /// Digest of the bytes under the contract in force: what an answer is bound to.
    pub digest: Digest,
    /// Why it cannot be answered here, and how it can.
    pub elsewhere: Option<String>,
}

fn halted(what: &str, halt: &Halt) -> String {
    let (by, because) = (visible(&halt.by), visible(&halt.because));
    format!("{}{by} since {}: {because}", visible(what), terminal::at(halt.at))
}

impl Picture {
    /// Looks once.
    pub fn take(runtime: &Runtime) -> anyhow::Result<Picture> {
        let at = store::now();
        let entries = runtime.size().map_err(store::unread)?;
        let from = entries.saturating_sub(RECENT as u64);
        let mut bodies: Vec<Json> =
            runtime.records(from, RECENT).map_err(store::unread)?.into_iter().filter_map(body).collect();
        bodies.reverse();
        let verdicts: Vec<VerdictLine> = bodies.iter().filter_map(verdict).collect();
        let halted: Vec<String> = match runtime.read(Entity::Tenant).map_err(store::unread)? {
            Some(Row::Tenant(row)) => {
                let everything = row.halted.map(|halt| (String::new(), halt));
                let groups = row.halted_groups.into_iter().map(|(group, halt)| (format!("group {group}: "), halt));
                everything.into_iter().chain(groups).map(|(what, halt)| halted(&what, &halt)).collect()
            }
            Some(_) | None => Vec::new(),
        };
        let halted = Some(halted.join("; ")).filter(|halted| !halted.is_empty());
        let (agents, more_agents) = agents(runtime, &verdicts)?;
        let flows = flows(runtime, &bodies)?;
        Ok(Picture {
            at,
            entries,
            halted,
            agents,
            more_agents,
            monitors: monitors(runtime)?,
            flows,
            questions: questions(runtime, at)?,
            verdicts: verdicts.into_iter().take(KEPT).collect(),
        })
    }
}

fn monitors(runtime: &Runtime) -> anyhow::Result<Vec<MonitorLine>> {
    let line = |monitor: MonitorSummary| {
        let part = monitor.part.unwrap_or(0);
        let against = |reading: &Reading| format!("{} against {}", reading.statistic, reading.threshold);
        MonitorLine {
            name: visible(&format!("{} {}", monitor.agent, monitor.name)),
            is_tripped: monitor.is_tripped,
            chart: chart(Some(part)),
            reading: monitor.reading.as_ref().map(against).unwrap_or_default(),
            part,
        }
    };
    // What no contract has any more is told by `monitors`; here it would look like a watch.
    let counts = |monitor: &MonitorSummary| monitor.is_tripped || monitor.is_in_contract;
    let all = writkeeper::monitors::all(runtime)?;
    let mut lines: Vec<MonitorLine> = all.into_iter().filter(counts).map(line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.is_tripped, line.part)));
    lines.truncate(KEPT);
    Ok(lines)
}

/// The question as `escalations show` tells it.
pub fn opened(keeper: &Keeper, name: &str) -> anyhow::Result<Opened> {
    let question = keeper.question(&format!("={name}"))?;
    let approvers: Vec<String> = question.entitled.iter().map(|group| visible(group)).collect();
    let (agent, flow) = (visible(&question.agent), visible(&question.flow));
    let mut facts = vec![
        format!("asked     {} by {agent} in flow {flow}", terminal::at(question.asked_at)),
        format!("because   {}", visible(&question.reasons.join(", "))),
        format!("impact    {}", question.impact.word()),
        format!("answered  by {}; it takes {}", approvers.join(", "), question.quorum),
    ];
    facts.extend(question.deadline.map(|deadline| format!("deadline  {}", terminal::at(deadline))));
    facts.extend(show::card_lines(&question.card));
    if question.contract != question.asked_under {
        facts.push("changed   another contract is in force since it was asked".to_owned());
    }
    if !question.votes.is_empty() {
        let people: Vec<String> = question.votes.iter().map(|person| visible(person)).collect();
        facts.push(format!("agreed    {} of {}: {}", people.len(), question.quorum, people.join(", ")));
    }
    let elsewhere = match question.kind {
        QuestionKind::Doubt => {
            let intent = visible(&question.intent);
            Some(format!(
                "it may have happened: say what you saw with `{}`",
                hint::next(&format!("writkeeper intents resolve {intent} …"))
            ))
        }
        QuestionKind::Proposal | QuestionKind::Request if !question.is_open() => {
            Some(format!("the question is {} already", question.state.word()))
        }
        QuestionKind::Proposal | QuestionKind::Request if question.signed => {
            let command = format!("writkeeper escalations answer {} approve|deny", visible(&question.id));
            let command = hint::next(&format!("{command} --as YOU --because … --key FILE"));
            Some(format!("only signed answers count: `{command}`"))
        }
        QuestionKind::Proposal | QuestionKind::Request => None,
    };
    Ok(Opened {
        name: question.id,
        facts,
        withheld: !question.card.is_whole,
        bytes: visible(&question.card.proposal.to_canonical()),
        digest: question.digest,
        elsewhere,
    })
}

fn body(record: StoredRecord) -> Option<Json> {
    let (body, _) = record.body?;
    Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()
}

fn text<'j>(body: &'j Json, key: &str) -> &'j str {
    body.get(key).and_then(Json::as_text).unwrap_or_default()
}

fn verdict(body: &Json) -> Option<VerdictLine> {
    if text(body, "kind") != "decision" {
        return None;
    }
    let answer = Answer::from_record(body)?;
    let action = body.get("proposal").and_then(|proposal| proposal.get("action")).and_then(Json::as_text);
    Some(VerdictLine {
        at: Instant::parse(text(body, "at"))?,
        verdict: answer.verdict,
        observed: text(body, "mode") == kernel::contract::Mode::Observe.word(),
        agent: visible(text(body, "agent")),
        action: terminal::echo(action.unwrap_or_default()),
        flow: visible(text(body, "flow")),
        reasons: visible(&answer.reasons().join(", ")),
    })
}

fn agents(runtime: &Runtime, verdicts: &[VerdictLine]) -> anyhow::Result<(Vec<AgentLine>, bool)> {
    let mut page = runtime.scan(Kind::Agent, None, AGENTS_MAX + 1).map_err(store::unread)?;
    let more = page.len() > AGENTS_MAX;
    page.truncate(AGENTS_MAX);
    let line = |(key, row): (kernel::world::Key, Row)| {
        let Row::Agent(row) = row else { return None };
        let name = visible(key.entity.parts().0);
        let count = |verdict| verdicts.iter().filter(|line| line.agent == name && line.verdict == verdict).count();
        let counts = [count(Verdict::Accept), count(Verdict::Reject), count(Verdict::Escalate)];
        let because = row.because().map(visible).unwrap_or_default();
        Some(AgentLine { name, status: row.status(), because, counts })
    };
    Ok((page.into_iter().filter_map(line).collect(), more))
}

fn flows(runtime: &Runtime, bodies: &[Json]) -> anyhow::Result<Vec<FlowLine>> {
    let mut names: Vec<&str> = Vec::new();
    for name in bodies.iter().map(|body| text(body, "flow")) {
        if !name.is_empty() && names.len() < KEPT && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut lines = Vec::new();
    for name in names {
        let Some(Row::Flow(row)) = runtime.read(Entity::Flow(name.to_owned())).map_err(store::unread)? else {
            continue;
        };
        let (name, agent) = (visible(name), visible(&row.agent));
        lines.push(FlowLine { name, agent, state: row.state, steps: row.steps, rejected: row.rejected });
    }
    Ok(lines)
}

fn questions(runtime: &Runtime, now: Instant) -> anyhow::Result<Vec<QuestionLine>> {
    let open = RowPage::of(runtime, None, QUESTIONS_MAX, now)?.rows;
    let names: Vec<String> = open.iter().map(|(name, _)| name.clone()).collect();
    let lines =
        store::short_ids(runtime, Kind::Escalation, &names)?.into_iter().zip(open).map(|(short, (name, row))| {
            let seen = shown_proposal(runtime, &row);
            QuestionLine {
                name,
                short: visible(&short),
                impact: row.impact.word(),
                agent: visible(&row.agent),
                action: terminal::echo(row.proposal.get("action").and_then(Json::as_text).unwrap_or_default()),
                params: seen.get("params").and_then(Json::as_object).map(terminal::params).unwrap_or_default(),
                reasons: visible(&row.reasons.join(", ")),
                left: left(row.deadline, now),
            }
        });
    Ok(lines.collect())
}
