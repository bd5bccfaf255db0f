//! One call, from what the host sent to what the host reads. The hook and the daemon both go through here.

use super::call_facts::{self, CallFacts};
use super::judge::{CallJudge, unjudged};
use super::place::Guard;
use super::probe;
use super::ticket::Ticket;
use super::wrapper::FRAME;
use crate::command_line::{CommandLine, Task};
use crate::hooks::{self, Call, Event, HookOutput, Host, Reply};
use runtime::Runtime;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use values::json::{Bounds, Json};

/// What a host may send.
pub const INPUT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a hook was asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The host that calls.
    pub host: Host,
    /// The moment.
    pub event: Event,
    /// Whether the answer stands behind a mark.
    pub framed: bool,
    /// The guard's folder, where it was named.
    pub guard: Option<&'a Path>,
    /// What the host sent.
    pub sent: &'a [u8],
    /// Names the call.
    pub ticket: &'a Ticket,
    /// The command line that people type.
    pub program: &'static CommandLine,
}

/// What is known about a call so far, so that an answer after a failure can still tell a read from a write.
#[derive(Default)]
pub struct Progress {
    /// The host's own name of the moment.
    pub moment: String,
    /// What the call would do.
    pub facts: Option<Arc<CallFacts>>,
}

/// Locks the progress; a panic elsewhere leaves it whole.
pub fn lock(known: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Question<'_> {
    /// Judges the call on a runtime; the error says why nothing was decided.
    pub fn judge(
        &self,
        known: &Mutex<Progress>,
        start: &dyn Fn(&Guard) -> Result<Arc<Runtime>, String>,
    ) -> Result<Reply, String> {
        let sent =
            Json::parse_within(self.sent, &Bounds::FILE).map_err(|refusal| format!("what the host sent: {refusal}"))?;
        if let Some(moment) = sent.get("hook_event_name").and_then(Json::as_text) {
            moment.clone_into(&mut lock(known).moment);
        }
        let call: Call =
            hooks::read(self.host, self.event, &sent).map_err(|problem| format!("what the host sent: {problem}"))?;
        if !Path::new(&call.cwd).is_absolute() {
            return Err(format!("the host says the agent works in `{}`, which is no absolute path", call.cwd));
        }
        let guard = match self.guard {
            Some(folder) => Some(Guard::at(folder)),
            None => Guard::find(Path::new(&call.cwd)),
        };
        let facts = Arc::new(call_facts::of(&call, guard.as_ref(), self.program, self.host));
        lock(known).facts = Some(facts.clone());
        let Some(guard) = guard else {
            let again = (self.program.typed)(&Task::Install(self.host));
            return Err(format!("there is no guard for `{}`; run `{again}`", call.cwd));
        };
        let desk = CallJudge::open(self.host, &guard, self.ticket, self.program, start)?;
        if probe::is_probe(&call.session) {
            return desk.rehearse(&call, &facts);
        }
        let desk = desk.of_call(&call)?;
        let reply = desk.judge(self.event, &call, &facts)?;
        // Only what hosts run says where its answer begins.
        if self.framed && self.event == Event::PreTool {
            desk.note_arrival();
        }
        Ok(reply)
    }

    /// What the host reads when nothing could be judged.
    pub fn unjudged(&self, known: &Progress, problem: &str) -> HookOutput {
        self.printed(&known.moment, &unjudged(self.event, known.facts.as_deref(), problem, self.program))
    }

    /// A reply as the host reads it.
    pub fn printed(&self, moment: &str, reply: &Reply) -> HookOutput {
        let printed = hooks::write(self.host, self.event, moment, reply);
        let frame = if self.framed { FRAME } else { "" };
        HookOutput { stdout: format!("{frame}{}\n", printed.stdout), ..printed }
    }

    /// The folder of the guard, from what was named or from where the agent works.
    pub fn guard(&self) -> Option<Guard> {
        if let Some(folder) = self.guard {
            return Some(Guard::at(folder));
        }
        let sent = Json::parse_within(self.sent, &Bounds::FILE).ok()?;
        let call = hooks::read(self.host, self.event, &sent).ok()?;
        Guard::find(Path::new(&call.cwd))
    }
}
