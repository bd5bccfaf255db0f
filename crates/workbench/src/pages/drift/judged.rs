//! A scenario judged again: each decision with its number, its verdict, and what the monitor measured then.

use super::Shown;
use anyhow::{Context as _, Result, anyhow, ensure};
use kernel::consequence::Consequence;
use kernel::context::Context;
use kernel::outcome::{Done, Verdict};
use kernel::proposal::Proposal;
use kernel::pure::PureRun;
use kernel::template::Template;
use kernel::world::{Entity, Key, Loaded, Row};
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::json::{Json, Object};

/// One decision.
pub struct Step {
    /// The number that is shown.
    pub value: f64,
    pub accepted: bool,
    /// What the monitor measured after it, as far as it takes values.
    pub statistic: Option<f64>,
}

/// All of them.
pub struct Judged {
    pub steps: Vec<Step>,
    /// Decisions of the healthy half.
    pub healthy: usize,
    /// The step of the alarm, from 1.
    pub tripped: usize,
    /// What the alarm says.
    pub sentence: String,
    /// The monitor's bound.
    pub bound: f64,
}

impl Judged {
    /// What was accepted.
    pub fn accepted(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter().filter(|step| step.accepted)
    }

    /// The mean of the last so many that were accepted.
    pub fn last_mean(&self, count: usize) -> f64 {
        self.accepted().rev().take(count).map(|step| step.value).sum::<f64>() / count as f64
    }
}

/// Judges the proposals of a scenario under its contract.
pub fn judge(text: &str, shown: Shown) -> Result<Judged> {
    let contract = blocks(text, "yaml").concat();
    let loaded = engines::load::load(&contract).map_err(|problems| anyhow!("the contract is wrong: {problems:?}"))?;
    let contract = Arc::new(loaded.compiled);
    let state = blocks(text, "json").concat();
    let state = if state.is_empty() { Json::Object(Object::new()) } else { parsed(&state)? };
    let context = Context::from_json(&state).map_err(|problem| anyhow!("the state is wrong: {problem}"))?;
    let (name, _) = contract.contract.watch.iter().next().context("the contract watches nothing")?;
    let entity = Entity::Monitor(contract.contract.agent.clone(), name.clone());
    let monitor = Key { tenant: Arc::from(TENANT_DEFAULT), entity };
    let mut run = PureRun::new(contract.clone(), context, None, false);
    let (mut steps, mut healthy, mut alarm) = (Vec::new(), 0, None);
    let (mut bound, mut window, mut readings) = (0.0, 0, Vec::new());
    let mut is_healthy = true;
    for line in blocks(text, "proposals").iter().flat_map(|block| block.lines()) {
        if let Some(phase) = line.strip_prefix("# ") {
            is_healthy &= phase == "healthy";
        }
        if !line.starts_with('{') {
            continue;
        }
        let done = run.judge(steps.len() as u64 + 1, line.as_bytes());
        if let Some(sentence) = tripped(&done) {
            ensure!(alarm.is_none(), "it trips twice");
            alarm = Some((steps.len() + 1, sentence));
        }
        let reading = match run.world().get(&monitor) {
            Loaded::Present(Row::Monitor(row))
                if !row.held || alarm.as_ref().is_some_and(|(at, _)| *at > steps.len()) =>
            {
                row.reading()
            }
            Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => None,
        };
        if let Some(reading) = &reading {
            bound = reading.threshold.parse().context("a threshold that is no number")?;
            window = window.max(reading.window);
        }
        readings.push(reading);
        let value = value(line, &state, shown)?;
        steps.push(Step { value, accepted: done.answer.verdict == Verdict::Accept, statistic: None });
        healthy += usize::from(is_healthy);
    }
    // Nothing can trip before the window is full.
    for (step, reading) in steps.iter_mut().zip(readings) {
        let full = reading.filter(|reading| reading.window == window);
        step.statistic = full.map(|reading| reading.statistic.parse()).transpose()?;
    }
    let (tripped, sentence) = alarm.context("it does not trip")?;
    Ok(Judged { steps, healthy, tripped, sentence, bound })
}

/// What the alarm that a decision raised says.
fn tripped(done: &Done) -> Option<String> {
    done.records.iter().find_map(|record| {
        let Some(Consequence::MonitorTripped(trip)) = Consequence::from_record(&record.body()) else { return None };
        Some(trip.sentence())
    })
}

fn value(line: &str, state: &Json, shown: Shown) -> Result<f64> {
    let proposal = Proposal::parse_line(line.as_bytes(), 1).map_err(|_| anyhow!("`{line}` is no proposal"))?;
    let number = match shown {
        Shown::Param(name) => proposal.params.get(name).cloned(),
        Shown::State(template) => {
            let template = Template::parse(template).map_err(|_| anyhow!("`{template}` is no template"))?;
            let key = template.render(&proposal.params).map_err(|_| anyhow!("`{line}` names no state"))?;
            state.get("state").and_then(|state| state.get(&key)).cloned()
        }
    };
    let number = number.and_then(|number| number.as_number()).with_context(|| format!("`{line}` has no number"))?;
    Ok(number.to_string().parse()?)
}

fn parsed(text: &str) -> Result<Json> {
    Json::parse(text.as_bytes()).map_err(|refusal| anyhow!("{refusal}"))
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside: Option<bool> = None;
    for line in text.lines() {
        match (inside, line.strip_prefix("```")) {
            (None, Some(word)) => {
                inside = Some(word == language);
                found.extend((word == language).then(String::new));
            }
            (Some(_), Some(_)) => inside = None,
            (Some(true), None) => {
                if let Some(block) = found.last_mut() {
                    block.push_str(line);
                    block.push('\n');
                }
            }
            (Some(false) | None, None) => {}
        }
    }
    found
}
