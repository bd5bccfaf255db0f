//! The refund desk of the demo: a runtime on a SQLite file, two agents, and Ann.

use super::scenes::Does;
use crate::exit::UsageError;
use crate::store;
use adapters::system_clock::SystemClock;
use anyhow::{Context, anyhow, bail};
use engines::load::load;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::escalation::EscalationRow;
use kernel::intent::IntentEvent;
use kernel::outcome::Answer;
use kernel::person::Identity;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::{Answered, Arrival, PersonAnswer, Runtime};
use std::path::Path;
use std::sync::Arc;
use values::json::Json;

/// Whose contract it is, and who else has one like it.
const AGENTS: [&str; 2] = ["refund-bot", "helpdesk-bot"];

/// More questions than the scenes ask.
const QUESTIONS_MAX: usize = 64;

/// Where decisions are made and kept.
pub struct Desk(Runtime, String);

impl Desk {
    /// Opens a store, in a folder where none is named, and puts the contract in force for both agents.
    pub fn open(contract: &str, folder: &Path, named: Option<&str>) -> anyhow::Result<Desk> {
        let own = || folder.join("decisions.db").to_string_lossy().into_owned();
        let location = named.map_or_else(own, str::to_owned);
        let runtime = store::start(&location, Arc::new(SystemClock), None)?;
        if named.is_some() && runtime.size().map_err(store::unread)? > 0 {
            return Err(UsageError(format!("the store `{location}` is not empty; name an empty one")).into());
        }
        let [own, other] = AGENTS;
        for text in [contract.to_owned(), contract.replace(own, other)] {
            let loaded = load(&text).map_err(|errors| anyhow!("the demo's contract is broken: {errors:?}"))?;
            let contract = Arc::new(loaded.compiled);
            store::done(runtime.register(store::operator(), contract.clone(), None, None))?;
            store::done(runtime.activate(store::operator(), contract))?;
        }
        let people = Act::Merge(vec![Write::groups("ann", ["refund-desk"])]);
        store::done(runtime.change(store::operator(), people))?;
        Ok(Desk(runtime, location))
    }

    /// Does what a step says; earlier answers of the scene tell which questions there are.
    pub fn carry_out(&self, does: &Does, answers: &[Answer]) -> anyhow::Result<Answer> {
        let answered = match does {
            Does::Proposes(proposal) => {
                let arrival = Arrival { trust_provenance: true, ..Arrival::through(Door::PURE) };
                self.0.judge(proposal.as_bytes(), arrival).wait()
            }
            Does::Approves { question, shown } => {
                let (name, _) = self.question(answers, *question)?;
                let (_, seen) = self.question(answers, *shown)?;
                self.approve(name, &seen)
            }
        };
        if answered.at.is_none() {
            bail!("{}", store::sentences(&answered.answer));
        }
        Ok(answered.answer)
    }

    fn approve(&self, question: String, shown: &EscalationRow) -> Answered {
        let answer = PersonAnswer {
            person: "ann".to_owned(),
            question,
            decision: "OVERRIDE".to_owned(),
            digest: shown.digest,
            reason: "the parcel was late".to_owned(),
            instead: None,
            door: Door::PURE,
            identity: Identity::default(),
        };
        self.0.answer(answer).wait()
    }

    /// The question that became of a step.
    fn question(&self, answers: &[Answer], step: usize) -> anyhow::Result<(String, EscalationRow)> {
        let asked = &answers.get(step).context("the scene refers to a step that is yet to come")?.id;
        let rows = self.0.scan(Kind::Escalation, None, QUESTIONS_MAX).map_err(store::unread)?;
        let mut questions = rows.into_iter().filter_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            (row.proposal_id == *asked).then(|| (key.entity.parts().0.to_owned(), *row))
        });
        questions.next().context("the step asked nothing")
    }

    /// Where decisions are made.
    pub fn runtime(&self) -> &Runtime {
        &self.0
    }

    /// Closes the desk; its store is left behind.
    pub fn close(self) -> String {
        self.1
    }

    /// The agent says that the bank did it.
    pub fn report_success(&self, intent: &Json) -> anyhow::Result<()> {
        let field = |name: &str| intent.get(name).and_then(Json::as_text).unwrap_or_default().to_owned();
        let settle = Act::Settle { intent: field("id"), event: IntentEvent::Succeed, result: None };
        store::done(self.0.change(Actor::Agent(field("agent")), settle)).map(|_| ())
    }
}
