//! Waiting for what becomes of a decision: the answer of people, the outcome of the effect, and what the other side said.
//!
//! It is looked at again when something was committed, by whichever process ([`crate::commits`]).

use crate::ports::service::Service;
use crate::ports::store::StoreFault;
use crate::runtime::Runtime;
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::intent::{IntentRow, IntentState};
use kernel::outcome::Answer;
use kernel::record::RecordKind;
use kernel::result::ResultRecord;
use kernel::world::{Entity, Row};
use std::time::Duration;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Between two questions to a service that answers at once.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Records read at once.
const PAGE: usize = 256;

/// Records looked at for the result of an intent that does not say when it was recorded.
const SEARCHED_MAX: usize = 100_000;

/// What became of a decision, as far as it came in time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FollowUp {
    /// How the question ended, where people were asked.
    pub answer: Option<QuestionOutcome>,
    /// What became of the intent, where there is one.
    pub outcome: Option<IntentOutcome>,
}

/// How a question stands.
#[derive(Clone, PartialEq, Debug)]
pub struct QuestionOutcome {
    /// The question.
    pub question: String,
    /// Where it stands; OPEN if nobody answered in time.
    pub state: EscalationState,
    /// Who answered; nobody where time did.
    pub person: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// How an intent stands.
#[derive(Clone, PartialEq, Debug)]
pub struct IntentOutcome {
    /// The intent.
    pub intent: String,
    /// Where it stands.
    pub state: IntentState,
    /// Since when it is over.
    pub over_at: Option<Instant>,
    /// The question to people whether it happened.
    pub question: Option<String>,
    /// Who claimed it last.
    pub worker: Option<String>,
    /// What the other side answered last, unless that was erased.
    pub result: Option<ResultRecord>,
}

impl IntentOutcome {
    /// Whether waiting longer can bring nothing but what a person says.
    pub fn is_settled(&self) -> bool {
        self.state.over().is_some() || self.question.is_some() || self.state == IntentState::Unreported
    }
}

impl FollowUp {
    /// Whether waiting longer can bring nothing but what a person says about a doubt.
    pub fn is_settled(&self) -> bool {
        let is_open = self.answer.as_ref().is_some_and(|answer| answer.state == EscalationState::Open);
        !is_open && self.outcome.as_ref().is_none_or(IntentOutcome::is_settled)
    }

    /// The line of the answer with what became of it: `answer`, `outcome` and `result` behind its own members.
    pub fn to_line(&self, answer: &Answer) -> String {
        let mut line = answer.to_line();
        line.truncate(line.len().saturating_sub(1));
        let end = self.answer.as_ref().map(QuestionOutcome::to_json);
        let outcome = self.outcome.as_ref().map(IntentOutcome::to_json);
        let result = self.outcome.as_ref().and_then(|outcome| outcome.result.as_ref()).map(ResultRecord::to_answer);
        let asked = answer.question.is_some().then_some(("answer", end));
        for (key, value) in asked.into_iter().chain([("outcome", outcome), ("result", result)]) {
            line.push_str(&format!(",\"{key}\":"));
            value.unwrap_or_default().write_canonical(&mut line);
        }
        line.push('}');
        line
    }
}

impl QuestionOutcome {
    fn of(question: &str, row: &EscalationRow) -> QuestionOutcome {
        let given = row.answer.as_ref();
        QuestionOutcome {
            question: question.to_owned(),
            state: row.state,
            person: given.and_then(|given| given.person.clone()),
            reason: given.map(|given| given.reason.clone()),
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::object([
            ("question", Json::text(self.question.as_str())),
            ("state", Json::text(self.state.word())),
            ("by", Json::from(self.person.clone())),
            ("reason", Json::from(self.reason.clone())),
        ])
    }
}

impl IntentOutcome {
    pub(crate) fn to_json(&self) -> Json {
        Json::object([
            ("intent", Json::text(self.intent.as_str())),
            ("state", Json::text(self.state.word())),
            ("at", Json::from(self.over_at.map(|at| at.to_string()))),
            ("question", Json::from(self.question.clone())),
        ])
    }
}

impl Runtime {
    /// Follows a decision until a deadline: an acceptance to its outcome, an escalation to its answer and then to the
    /// outcome of what the answer accepted.
    pub fn follow(&self, answer: &Answer, deadline: std::time::Instant) -> Result<FollowUp, StoreFault> {
        let question = answer.question.as_ref().map(|question| question.id.as_str());
        let intent = answer.intent.as_ref().map(|intent| intent.id());
        match self.service() {
            Some(service) => follow_there(service.as_ref(), question, intent, deadline),
            None => self.follow_up(question, intent, deadline),
        }
    }

    /// Follows a question, or where there is none an intent, as [`Runtime::follow`] does.
    pub fn follow_up(
        &self,
        question: Option<&str>,
        intent: Option<&str>,
        deadline: std::time::Instant,
    ) -> Result<FollowUp, StoreFault> {
        let (end, intent) = match (question, intent) {
            (Some(question), _) => {
                let row = self.await_answer(question, deadline)?;
                let intent = row.as_ref().and_then(|row| row.answer.as_ref()?.intent.clone());
                (row.map(|row| QuestionOutcome::of(question, &row)), intent)
            }
            (None, intent) => (None, intent.map(str::to_owned)),
        };
        let outcome = match intent {
            Some(intent) => self.await_outcome(&intent, deadline)?,
            None => None,
        };
        Ok(FollowUp { answer: end, outcome })
    }

    /// Waits until an intent is over, or only a person can say what became of it; at the deadline how it stands then.
    /// `None` if there is no such intent.
    pub fn await_outcome(
        &self,
        intent: &str,
        deadline: std::time::Instant,
    ) -> Result<Option<IntentOutcome>, StoreFault> {
        self.look_until(deadline, || {
            let Some(Row::Intent(row)) = self.read(Entity::Intent(intent.to_owned()))? else { return Ok(Ok(None)) };
            let outcome = self.outcome_of(intent, &row)?;
            Ok(if outcome.is_settled() { Ok(Some(outcome)) } else { Err(Some(outcome)) })
        })
    }

    /// Waits until a question is answered; at the deadline how it stands then. `None` if there is no such question.
    pub fn await_answer(
        &self,
        question: &str,
        deadline: std::time::Instant,
    ) -> Result<Option<Box<EscalationRow>>, StoreFault> {
        self.look_until(deadline, || {
            let row = self.read(Entity::Escalation(question.to_owned()))?;
            let Some(Row::Escalation(row)) = row else { return Ok(Ok(None)) };
            Ok(if row.state == EscalationState::Open { Err(Some(row)) } else { Ok(Some(row)) })
        })
    }

    fn outcome_of(&self, intent: &str, row: &IntentRow) -> Result<IntentOutcome, StoreFault> {
        let running = row.running.as_deref();
        Ok(IntentOutcome {
            intent: intent.to_owned(),
            state: row.state,
            over_at: running.and_then(|running| running.over_at),
            question: running.and_then(|running| running.question.clone()),
            worker: running.map(|running| running.owner.clone()).filter(|owner| !owner.is_empty()),
            result: self.result(intent, row)?,
        })
    }

    /// What the other side of an effect answered last, unless nothing was recorded or it was erased.
    pub fn result(&self, intent: &str, row: &IntentRow) -> Result<Option<ResultRecord>, StoreFault> {
        let (from, only) = match &row.running {
            Some(running) => match running.answered_at {
                Some(at) => (at, Some(at)),
                None => return Ok(None),
            },
            // Nothing is kept about its performing, so the ledger is searched.
            None if row.state.over().is_none() => return Ok(None),
            None => (row.accepted_at, None),
        };
        let (mut next, mut found) = (self.first_at(from)?, None);
        let end = next.saturating_add(SEARCHED_MAX as u64);
        while next < end {
            let page = self.records(next, PAGE)?;
            let Some(last) = page.last() else { break };
            next = last.index.saturating_add(1);
            for record in page {
                let Some((at, kind)) = header(&record.leaf) else { continue };
                if only.is_some_and(|only| at > only) {
                    return Ok(found);
                }
                let Some((body, _)) = record.body.filter(|_| kind == Some(RecordKind::Result)) else { continue };
                let body = Json::parse_within(body.as_bytes(), &Bounds::OWN).unwrap_or_default();
                let result = ResultRecord::from_record(&body);
                let own = |result: &ResultRecord| result.intent == intent && result.tenant == *self.tenant();
                found = result.filter(own).or(found);
            }
        }
        Ok(found)
    }

    /// Looks until something is over, or the deadline; what was seen last.
    fn look_until<T>(
        &self,
        deadline: std::time::Instant,
        mut look: impl FnMut() -> Result<Result<T, T>, StoreFault>,
    ) -> Result<T, StoreFault> {
        loop {
            // Read before the store is: whatever is committed after the look wakes.
            let seen = self.commits().size();
            // Whatever is committed before the deadline counts.
            let is_late = std::time::Instant::now() >= deadline;
            match look()? {
                Ok(over) => return Ok(over),
                Err(seen) if is_late => return Ok(seen),
                Err(_) => {}
            }
            self.commits().wait_beyond(seen, deadline);
        }
    }

    /// The index of the first record at or after an instant; instants never decrease along a ledger.
    pub fn first_at(&self, since: Instant) -> Result<u64, StoreFault> {
        let (mut low, mut high) = (0, self.size()?);
        while low < high {
            let middle = low + (high - low) / 2;
            let record = self.records(middle, 1)?.pop();
            if record.and_then(|record| header(&record.leaf)).is_some_and(|(at, _)| at < since) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// Follows a decision at the service that made it, which bounds how long it holds one request.
fn follow_there(
    service: &dyn Service,
    question: Option<&str>,
    intent: Option<&str>,
    deadline: std::time::Instant,
) -> Result<FollowUp, StoreFault> {
    if question.is_none() && intent.is_none() {
        return Ok(FollowUp::default());
    }
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let asked = std::time::Instant::now();
        let seen = service.follow(question, intent, left)?;
        if seen.is_settled() || left.is_zero() {
            return Ok(seen);
        }
        // A service that does not wait is not asked without a pause.
        let pause = ASK_AGAIN.saturating_sub(asked.elapsed());
        std::thread::sleep(pause.min(deadline.saturating_duration_since(std::time::Instant::now())));
    }
}

/// When the record of a leaf was made, and its kind.
fn header(leaf: &str) -> Option<(Instant, Option<RecordKind>)> {
    let leaf = Json::parse(leaf.as_bytes()).ok()?;
    Some((Instant::parse(leaf.get("at")?.as_text()?)?, RecordKind::of(&leaf)))
}
