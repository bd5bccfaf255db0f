//! The refund desk of the demo: a store or a server, two agents, and Ann.

use super::bank::Bank;
use super::cast::Cast;
use super::scenes::Does;
use crate::store;
use anyhow::{Context, bail};
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::command::Door;
use kernel::escalation::EscalationRow;
use kernel::intent::IntentEvent;
use kernel::outcome::Answer;
use kernel::person::Identity;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::{Answered, Arrival, PersonAnswer};
use std::path::Path;
use values::json::Json;

/// Whose contract it is, and who else has one like it.
const AGENTS: [&str; 2] = ["refund-bot", "helpdesk-bot"];

/// More questions than the scenes ask.
const QUESTIONS_MAX: usize = 64;

/// Where decisions are made and kept.
pub struct Desk(Cast);

impl Desk {
    /// Opens a store, in a folder where none is named, or comes to a server, and puts the contract in force for both
    /// agents.
    pub fn open(contract: &str, folder: &Path, named: Option<&str>) -> anyhow::Result<Desk> {
        let own = || folder.join("decisions.db").to_string_lossy().into_owned();
        let mut cast = Cast::gather(named.map_or_else(own, str::to_owned), named.is_some())?;
        let [own, other] = AGENTS;
        cast.enrol(contract)?;
        cast.enrol(&contract.replace(own, other))?;
        Ok(Desk(cast))
    }

    /// Does what a step says; earlier answers of the scene tell which questions there are.
    pub fn carry_out(&self, does: &Does, answers: &[Answer]) -> anyhow::Result<Answer> {
        let answered = match does {
            Does::Proposes(proposal) => {
                let arrival = Arrival { trust_provenance: true, ..Arrival::through(Door::PURE) };
                self.0.proposer(proposal)?.judge(proposal.as_bytes(), arrival).wait()
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
        self.0.person().answer(answer).wait()
    }

    /// The question that became of a step.
    fn question(&self, answers: &[Answer], step: usize) -> anyhow::Result<(String, EscalationRow)> {
        let asked = &answers.get(step).context("the scene refers to a step that is yet to come")?.id;
        let rows = self.0.person().scan(Kind::Escalation, None, QUESTIONS_MAX).map_err(store::unread)?;
        let mut questions = rows.into_iter().filter_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            (row.proposal_id == *asked).then(|| (key.entity.parts().0.to_owned(), *row))
        });
        questions.next().context("the step asked nothing")
    }

    /// Everybody who has a part.
    pub fn cast(&mut self) -> &mut Cast {
        &mut self.0
    }

    /// Where decisions are kept.
    pub fn location(&self) -> &str {
        self.0.location()
    }

    /// Closes the desk; its store is left behind.
    pub fn close(self) -> anyhow::Result<()> {
        self.0.leave()
    }

    /// Lets the bank do what an intent permits, and says that it did.
    pub fn perform(&self, intent: &Json, bank: &Bank) -> anyhow::Result<()> {
        let field = |name: &str| intent.get(name).and_then(Json::as_text).unwrap_or_default().to_owned();
        let (id, agent) = (field("id"), field("agent"));
        if self.0.operator().caller().is_some() {
            return self.0.worker_performs(&id, || bank.perform(intent));
        }
        bank.perform(intent)?;
        let settle = Act::Settle { intent: id, event: IntentEvent::Succeed, result: None };
        store::done(self.0.agent(&agent).change(Actor::Agent(agent.clone()), settle)).map(|_| ())
    }
}
