//! Approvals given outside of the host: a call that a person approved elsewhere runs once when it is made again. This goes
//! for hosts that cannot ask, and for those that could where nobody sits before them.

use super::{CallJudge, QUESTIONS_MAX};
use crate::hooks::Call;
use crate::session::Session;
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::intent::IntentEvent;
use kernel::outcome::Verdict;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// How long an approval counts for a call that is made again.
const COUNTS_FOR: Duration = Duration::from_secs(60 * 60);

/// Facts that differ at every call.
const EACH_TIME: &[&str] = &["at", "stall", "breaker", "attended", "approved"];

impl CallJudge<'_> {
    /// Keeps which question was asked about a call.
    pub(super) fn waits(&self, session: &mut Session, call: &Call, arguments: &str, proposal: &str) {
        if let Some((question, _)) = self.open_question(proposal) {
            session.waits(&call.name, arguments, &question);
        }
    }

    /// Whether a person approved this very call since it was refused. The approval is used up by saying yes here, in a
    /// transaction, so that of two calls one runs. The contract is the one it was approved under, all facts are the
    /// same, and nobody else holds anything: otherwise it is judged anew.
    pub(super) fn uses_approval(&self, session: &Session, call: &Call, arguments: &str, params: &Object) -> bool {
        let mut questions = session.questions(&call.name, Some(arguments));
        questions.any(|question| self.uses_answer(question, call, params))
    }

    /// Whether a person approved any call of this tool in this session, by the word of the store.
    pub(super) fn knows_tool(&self, session: &Session, call: &Call) -> bool {
        let Ok(flow) = self.flow(call) else { return false };
        let is_approved = |question| match self.runtime.read(Entity::Escalation(question)) {
            Ok(Some(Row::Escalation(row))) => row.state == EscalationState::Overridden && row.flow == flow,
            Ok(_) | Err(_) => false,
        };
        session.questions(&call.name, None).any(is_approved)
    }

    fn uses_answer(&self, question: String, call: &Call, params: &Object) -> bool {
        let Ok(Some(Row::Escalation(row))) = self.runtime.read(Entity::Escalation(question)) else { return false };
        let Some(given) = row.answer.as_ref().filter(|_| row.state == EscalationState::Overridden) else {
            return false;
        };
        let in_time = self.ticket.at < given.at.plus(COUNTS_FOR);
        if !in_time || row.contract != self.contract.digest || !is_same(&row, params) || self.somebody_holds(call) {
            return false;
        }
        // What the tool makes of it stands in its result; that it was given to the host cannot be taken back.
        let event = IntentEvent::Succeed;
        given.intent.clone().is_some_and(|intent| {
            let actor = Actor::Agent(self.host.word.to_owned());
            let answered = self.runtime.change_here(actor, Act::Settle { intent, event, result: None });
            answered.at.is_some() && answered.answer.verdict == Verdict::Accept
        })
    }

    /// The open question of a proposal.
    pub(super) fn open_question(&self, proposal: &str) -> Option<(String, Box<EscalationRow>)> {
        let far = Instant::from_micros(i64::MAX);
        let open = self.runtime.due(Kind::Escalation, far, QUESTIONS_MAX).ok()?;
        open.into_iter().find_map(|(key, row)| match (key.entity, row) {
            (Entity::Escalation(name), Row::Escalation(row)) if row.proposal_id == proposal => Some((name, row)),
            _ => None,
        })
    }

    /// Whether another session holds anything at all; whether this call meets it is judged with the rest.
    fn somebody_holds(&self, call: &Call) -> bool {
        let mut own = vec![self.session_name(call), self.host.word.to_owned()];
        own.extend(self.flow(call));
        self.book().is_some_and(|book| {
            let mut live = book.leases().filter(|lease| !lease.is_expired(self.ticket.at));
            live.any(|lease| !own.iter().any(|own| own == lease.holder.as_str()))
        })
    }
}

fn is_same(row: &EscalationRow, params: &Object) -> bool {
    let lasting = |params: &Object| -> Object {
        let kept = params.iter().filter(|(name, _)| !EACH_TIME.contains(&name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let asked = row.proposal.get("params").and_then(Json::as_object);
    asked.is_some_and(|asked| lasting(asked) == lasting(params))
}
