//! Reading what is due, and questions by urgency and by agent.

use super::Runtime;
use crate::ports::store::{Place, StoreFault};
use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use values::time::Instant;

impl Runtime {
    /// Entities of a kind that something must happen to not later than an instant, soonest first.
    pub fn due(&self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.readers.take()?.due(kind, until, limit)
    }

    /// Open questions of an impact, oldest first, behind a place; see [`Reader`](crate::ports::store::Reader).
    pub fn open_questions(
        &self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.readers.take()?.open_questions(impact, behind, limit)
    }

    /// Questions of an agent in the order of their names, after a name.
    pub fn questions_of(&self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.readers.take()?.questions_of(agent, after, limit)
    }

    /// Questions of an agent that something must happen to not later than an instant, soonest first.
    pub fn due_questions_of(&self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.readers.take()?.due_questions_of(agent, until, limit)
    }
}
