//! A monitor on history: the alarms that a store recorded, against what people say of the decisions.
//!
//! A label holds from its decision until the next label of the same agent, so that a change is told by the proposal with
//! which it began.

use super::label::Label;
use super::recorded::Labelled;
use super::runs::{Run, RunFigures};
use crate::error::Error;
use crate::history::History;
use kernel::consequence::{Consequence, ConsequenceKind};
use kernel::record::RecordKind;
use kernel::watched::Trip;
use runtime::Runtime;
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;

/// Evaluates a monitor by its name, of every agent that has a label. `warnings` says whether those count as alarms.
pub fn evaluate(
    runtime: &Runtime,
    monitor: &str,
    given: &BTreeMap<String, Label>,
    warnings: bool,
) -> Result<RunFigures, Error> {
    let mut history = History::since(runtime, None)?;
    let mut walk = Walk {
        given: Labelled::new(given),
        agents: BTreeMap::new(),
        waiting: Vec::new(),
        tripped: BTreeSet::new(),
        figures: RunFigures::default(),
    };
    while let Some((entry, body)) = history.next_entry()? {
        match RecordKind::of(&body) {
            Some(RecordKind::Consequence(ConsequenceKind::MonitorTripped)) => walk.tripped(&body, monitor, warnings),
            Some(RecordKind::Decision) => walk.decided(entry, &body)?,
            Some(RecordKind::Change(_)) => walk.count_waiting(),
            Some(RecordKind::Consequence(_) | RecordKind::Refusal | RecordKind::Result | RecordKind::Discontinuity)
            | None => {}
        }
    }
    walk.given.demand_used()?;
    walk.demand_monitor(runtime, monitor)?;
    Ok(walk.figures())
}

struct Walk<'a> {
    given: Labelled<'a>,
    /// The label that holds for an agent, and its run.
    agents: BTreeMap<String, (Label, Option<Run>)>,
    /// Agents with an alarm whose command comes next: what follows from a command is recorded before it.
    waiting: Vec<String>,
    /// Agents whose monitor of that name ever raised an alarm.
    tripped: BTreeSet<String>,
    figures: RunFigures,
}

impl Walk<'_> {
    fn tripped(&mut self, body: &Json, monitor: &str, warnings: bool) {
        let Some(Consequence::MonitorTripped(trip)) = Consequence::from_record(body) else { return };
        let Trip { agent, monitor: name, is_drift, .. } = *trip;
        if name == monitor {
            self.tripped.insert(agent.clone());
            self.waiting.extend((is_drift || warnings).then_some(agent));
        }
    }

    fn decided(&mut self, entry: u64, body: &Json) -> Result<(), Error> {
        let text = |key: &str| body.get(key).and_then(Json::as_text);
        if let (Some(agent), Some(proposal)) = (text("agent"), text("proposal_id")) {
            if let Some(label) = self.given.of(proposal)? {
                self.agents.entry(agent.to_owned()).or_insert((label, None)).0 = label;
            }
            if let Some((label, run)) = self.agents.get_mut(agent) {
                self.figures.enter(run, entry, *label);
            }
        }
        self.count_waiting();
        Ok(())
    }

    fn count_waiting(&mut self) {
        for agent in self.waiting.drain(..) {
            if let Some((_, run)) = self.agents.get_mut(&agent) {
                self.figures.alarm(run);
            }
        }
    }

    /// A monitor that no labelled agent ever had would pass everything.
    fn demand_monitor(&self, runtime: &Runtime, monitor: &str) -> Result<(), Error> {
        let kept = crate::monitors::all(runtime)?;
        let labelled = kept.iter().filter(|kept| self.agents.contains_key(&kept.agent));
        let names: BTreeSet<&str> = labelled.map(|kept| kept.name.as_str()).collect();
        if names.contains(monitor) || self.agents.keys().any(|agent| self.tripped.contains(agent)) {
            return Ok(());
        }
        let visible = kernel::finding::visible;
        let known: Vec<&str> = names.iter().copied().collect();
        let meant = kernel::nearest::suggestion(monitor, known.iter().copied());
        let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let problem = format!("no labelled agent has a monitor `{monitor}`{meant} (they have: {list})");
        Err(Error::Invalid(visible(&problem)))
    }

    fn figures(mut self) -> RunFigures {
        for (_, run) in self.agents.values_mut() {
            self.figures.end(run);
        }
        self.figures.evaluation.mistakes.sort_by_key(|mistake| mistake.place);
        self.figures
    }
}
