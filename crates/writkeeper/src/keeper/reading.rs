//! The read model: what every door shows, as values. Each of them has one `to_json`, which every door serves.

use super::Keeper;
use crate::agents::{AgentPage, AgentSummary};
use crate::error::Error;
use crate::flows::{FlowList, Span, Timeline};
use crate::inbox::{Inbox, InboxQuery, Question};
use crate::intents::{IntentPage, IntentSummary};
use crate::lookup::{self, Found};
use crate::report::{Range, Report};
use kernel::stored::Kind;
use kernel::world::Row;

/// Agents read at once.
const PAGE: usize = 256;

impl Keeper {
    /// What waits for people, most urgent first, each with what a person must see before answering: at most
    /// [`Inbox::LIMIT`].
    ///
    /// ```
    /// let keeper = writkeeper::open("memory:")?;
    /// let inbox = keeper.inbox()?;
    /// assert!(inbox.questions.is_empty() && inbox.next.is_none());
    /// # Ok::<(), writkeeper::Error>(())
    /// ```
    pub fn inbox(&self) -> Result<Inbox, Error> {
        self.inbox_page(&InboxQuery::default())
    }

    /// A page of what waits, perhaps of one person.
    pub fn inbox_page(&self, query: &InboxQuery<'_>) -> Result<Inbox, Error> {
        Inbox::of(self.runtime(), query, self.now())
    }

    /// What a person put off.
    pub fn snoozed_inbox(&self, person: &str) -> Result<Inbox, Error> {
        Inbox::snoozed_by(self.runtime(), person, self.now())
    }

    /// One question, by its own id or by its proposal, flow or intent. A beginning will do.
    pub fn question(&self, id: &str) -> Result<Question, Error> {
        let (id, row) = lookup::question(self.runtime(), id)?;
        Question::of(self.runtime(), &id, &row, self.now())
    }

    /// The latest flows, newest first, of one agent if one is named.
    pub fn flows(&self, agent: Option<&str>, limit: usize) -> Result<FlowList, Error> {
        let agent = match agent {
            Some(agent) => Some(lookup::agent_named(self.runtime(), agent)?.0),
            None => None,
        };
        FlowList::of(self.runtime(), agent.as_deref(), limit)
    }

    /// What happened in a flow, by its own id or by a question, an intent or a proposal of it. A beginning will do.
    ///
    /// ```
    /// use writkeeper::{Actor, Keeper, Verdict, flows::Span, happening::Happening};
    /// let keeper = writkeeper::open("memory:")?;
    /// let contract = Keeper::contract("{agent: bot, actions: {look: {reads: true, params: {what: text}}}}")?;
    /// keeper.enrol(&Actor::Operator("ann".to_owned()), &contract)?;
    /// keeper.decide(br#"{"agent":"bot","action":"look","id":"p-1","params":{"what":"A"}}"#)?;
    ///
    /// let timeline = keeper.timeline("p-1", Span::default())?;
    /// let Happening::Decided(decision) = &timeline.entries[0].happened else { panic!("decided first") };
    /// assert_eq!(decision.answer.verdict, Verdict::Accept);
    /// # Ok::<(), writkeeper::Error>(())
    /// ```
    pub fn timeline(&self, flow: &str, span: Span) -> Result<Timeline, Error> {
        let (id, row) = lookup::flow(self.runtime(), flow)?;
        Timeline::of(self.runtime(), &id, &row, span)
    }

    /// One intent, by its own id or by its proposal, its flow or the question about it. A beginning will do.
    pub fn intent(&self, id: &str) -> Result<IntentPage, Error> {
        let (id, row) = lookup::intent(self.runtime(), id)?;
        IntentPage::of(self.runtime(), &id, &row)
    }

    /// Where an intent stands, without its history: what an agent may read of its own.
    pub fn intent_standing(&self, id: &str) -> Result<IntentSummary, Error> {
        let (id, row) = lookup::intent(self.runtime(), id)?;
        Ok(IntentSummary::of(&id, &row))
    }

    /// What was decided in a while, and what became of it.
    ///
    /// ```
    /// let keeper = writkeeper::open("memory:")?;
    /// let report = keeper.report(writkeeper::report::Range::default())?;
    /// assert_eq!(report.verdicts.total(), 0);
    /// # Ok::<(), writkeeper::Error>(())
    /// ```
    pub fn report(&self, range: Range) -> Result<Report, Error> {
        Report::of(self.runtime(), range)
    }

    /// Agents after a name, in the order of their names.
    pub fn agents(&self, after: Option<&str>) -> Result<Vec<AgentSummary>, Error> {
        let (runtime, now) = (self.runtime(), self.now());
        let page = runtime.scan(Kind::Agent, after, PAGE)?;
        let mut agents = Vec::with_capacity(page.len());
        for (key, row) in &page {
            if let Row::Agent(row) = row {
                agents.push(AgentSummary::of(runtime, key.entity.parts().0, row, now)?);
            }
        }
        Ok(agents)
    }

    /// One agent and what the registry did to it, by its name. A beginning will do.
    ///
    /// ```
    /// use writkeeper::{Actor, Keeper, agents::AgentChange};
    /// let keeper = writkeeper::open("memory:")?;
    /// let contract = Keeper::contract("{agent: bot, actions: {look: {reads: true}}}")?;
    /// keeper.enrol(&Actor::Operator("ann".to_owned()), &contract)?;
    ///
    /// let page = keeper.agent("bot")?;
    /// assert_eq!(page.agent.contract.map(|contract| contract.digest), Some(contract.digest));
    /// assert!(matches!(page.history[1].change, AgentChange::Activated { .. }));
    /// # Ok::<(), writkeeper::Error>(())
    /// ```
    pub fn agent(&self, name: &str) -> Result<AgentPage, Error> {
        let (name, row) = lookup::agent_like(self.runtime(), name)?;
        AgentPage::of(self.runtime(), &name, &row, self.now())
    }

    /// What an id means, or the beginning of one; `=ID` is the whole id.
    pub fn find(&self, id: &str) -> Result<Found, Error> {
        lookup::anything(self.runtime(), id)
    }
}
