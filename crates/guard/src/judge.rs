//! From a host's call to the kernel and back: every call is a proposal on the guard's store.

mod approval;
mod doubts;
mod flow;

use super::call_facts::CallFacts;
use super::hard_links;
use super::installed::{self, Comparison};
use super::place::Guard;
use super::probe;
use super::session::{OpenCall, Session};
use super::stop_check;
use super::ticket::Ticket;
use crate::command_line::{CommandLine, Task};
use crate::daemon::client;
use crate::hooks::{Call, Event, HOSTS, Host, Reply};
use adapters::advisor::PluginAdvisor;
use adapters::location::{Location, OpenOptions, open_store};
use adapters::os_user::os_user;
use adapters::store_sqlite::{LogKeeper, Waits};
use adapters::system_clock::SystemClock;
use doubts::{doubts, left};
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::contract::{Contract, Impact, Mode};
use kernel::detectors::Signal;
use kernel::enforcement::decision::Decision;
use kernel::enforcement::handler::{Answer as HandlerAnswer, Effect, Enforced, Taken};
use kernel::enforcement::plan::{EnforcementPlan, Stakes};
use kernel::enforcement::verdict::{Noticed, binds, decided, enforced};
use kernel::evaluator::Compiled;
use kernel::finding::{Finding, Gate};
use kernel::intent::{IntentEvent, IntentState};
use kernel::lease::book::LeaseBook;
use kernel::lease::kept::BOOK;
use kernel::outcome::{Answer, Verdict};
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::world::{Entity, Row};
use runtime::memory::MemoryStore;
use runtime::ports::advisor::Advisor as _;
use runtime::ports::store::Store;
use runtime::{Answered, Arrival, Minted, Options, PersonAnswer, Runtime};
use shell::Class;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use values::ids::{Digest, TENANT_DEFAULT};
use values::json::{Json, Object};
use writkeeper::finding_text;
use writkeeper::restored::{Unstarted, demand_whole};

/// A hook waits for a daemon and a store that do not go on, both together, until so long after it was called.
pub const CALL_WAIT: Duration = Duration::from_millis(1_800);

/// How long a hook stands in line behind other hooks, as long as the line moves. Hosts give a hook ten seconds.
const LINE_WAIT: Duration = Duration::from_secs(6);

/// How long a hook waits for a store that one other process holds.
const STORE_WAIT: Duration = Duration::from_millis(1_200);

/// The same for a daemon; its hook waits for itself afterwards.
const STORE_WAIT_OF_DAEMON: Duration = Duration::from_millis(600);

// A person who looks at a coding agent takes two seconds for a pause and more for a fault.
const _: () = assert!(CALL_WAIT.as_millis() < 2_000);
const _: () = assert!(STORE_WAIT_OF_DAEMON.as_millis() < client::ANSWER_WAIT.as_millis());
const _: () = assert!(client::ANSWER_WAIT.as_millis() < CALL_WAIT.as_millis());

/// How long a handler may take; what was decided holds without it.
const HANDLER_WAIT: values::time::Duration = values::time::Duration::from_secs(2);

/// How long a hook waits for a decision.
const WAIT: Duration = Duration::from_secs(4);

/// Open questions looked through for the one a call asked.
const QUESTIONS_MAX: usize = 256;

/// The person who answers in a host's own dialog.
pub fn at_host(host: Host) -> String {
    format!("at {}", host.word)
}

/// Judges calls of one host on its guard's runtime.
pub struct CallJudge<'a> {
    host: Host,
    guard: &'a Guard,
    runtime: Arc<Runtime>,
    contract: Arc<Compiled>,
    plan: EnforcementPlan,
    mode: Mode,
    ticket: &'a Ticket,
    program: &'static CommandLine,
    /// How what is installed compares with what was.
    comparison: Comparison,
    /// The flow of the session, once it is known.
    flow: OnceCell<String>,
}

/// How long a hook lets the WAL grow: the next process that opens the store without a daemon has to read all of it.
const LOG_OF_HOOKS: LogKeeper = LogKeeper::Opener(64);

/// How long a daemon lets it grow: about twenty calls. From then on it is overwritten from the start.
const LOG_OF_DAEMON: LogKeeper = LogKeeper::Beside(256);

/// Opens a guard's store for one hook, which waits for nobody who does not go on after this instant.
pub fn open(guard: &Guard, until: std::time::Instant) -> Result<Box<dyn Store>, String> {
    let waits = Waits { line: LINE_WAIT, turn: STORE_WAIT, until: Some(until) };
    open_with(guard, OpenOptions { waits, log: LOG_OF_HOOKS, is_prepared: true })
}

/// Starts a runtime for one hook; what is known of its contract need not be read again.
pub fn start(
    guard: &Guard,
    store: Box<dyn Store>,
    host: Host,
    known: Option<Arc<Compiled>>,
) -> Result<Arc<Runtime>, String> {
    start_with(guard, store, Some(host.word.to_owned()), known)
}

/// Starts a runtime on a guard's store for the daemon.
pub fn start_resident(guard: &Guard) -> Result<Arc<Runtime>, String> {
    let waits = Waits { line: LINE_WAIT, turn: STORE_WAIT_OF_DAEMON, until: None };
    let options = OpenOptions { waits, log: LOG_OF_DAEMON, ..OpenOptions::default() };
    start_with(guard, open_with(guard, options)?, None, None)
}

fn open_with(guard: &Guard, options: OpenOptions) -> Result<Box<dyn Store>, String> {
    let path = guard.store();
    if !path.is_file() {
        return Err(format!("there is no store at `{}`", path.display()));
    }
    let store = open_store(&Location::Sqlite(path), TENANT_DEFAULT, Arc::new(SystemClock), options);
    store.map_err(|fault| fault.to_string())
}

fn start_with(
    guard: &Guard,
    store: Box<dyn Store>,
    first: Option<String>,
    known: Option<Arc<Compiled>>,
) -> Result<Arc<Runtime>, String> {
    let seen = Unstarted::of(store.as_ref()).map_err(|fault| fault.to_string())?;
    // A notice about the keys is dropped: a hook has nobody to show it to.
    let keys = std::env::var_os("WRITKEEPER_KEYS").filter(|named| !named.is_empty()).map(PathBuf::from);
    demand_whole(&guard.store().to_string_lossy(), keys.as_deref(), &seen).map_err(|refused| refused.to_string())?;
    let (advisor, known) = (Some(Arc::new(PluginAdvisor) as _), known.into_iter().collect());
    let options = Options { wait: WAIT, first, known, advisor, ..Options::default() };
    Runtime::start(store, options).map(Arc::new).map_err(|fault| fault.to_string())
}

impl<'a> CallJudge<'a> {
    /// Opens a runtime on the guard's store; the error says why nothing can be judged.
    pub fn open(
        host: Host,
        guard: &'a Guard,
        ticket: &'a Ticket,
        program: &'static CommandLine,
        start: &dyn Fn(&Guard) -> Result<Arc<Runtime>, String>,
    ) -> Result<CallJudge<'a>, String> {
        let install = || (program.typed)(&Task::Install(host));
        let file = guard.contract(host);
        if !file.is_file() {
            return Err(format!("there is no contract at `{}`; run `{}`", file.display(), install()));
        }
        let runtime = start(guard)?;
        let line = runtime.line(host.word).map_err(|fault| fault.to_string())?;
        if line.contract.contract.agent != host.word {
            return Err(format!("agent `{}` has no contract in force; run `{}`", host.word, install()));
        }
        let (mode, plan) = (line.contract.contract.mode, line.contract.contract.enforcement_plan());
        let comparison = installed::compare(guard, &runtime);
        let (contract, flow) = (line.contract, OnceCell::new());
        Ok(CallJudge { host, guard, runtime, contract, plan, mode, ticket, program, comparison, flow })
    }

    /// Notes that a call of the host arrived by the command line that was written for it.
    pub fn note_arrival(&self) {
        installed::note_arrival(self.guard, self.host, &self.comparison, self.ticket.at);
    }

    /// Judges one call of a host.
    pub fn judge(&self, event: Event, call: &Call, facts: &CallFacts) -> Result<Reply, String> {
        let differences = &self.comparison.differences;
        let is_touched = event == Event::PreTool && !differences.is_empty() && !facts.is_harmless();
        let touched = is_touched.then(|| facts.amid_tampering(differences, &self.settled_by()));
        let facts = touched.as_ref().unwrap_or(facts);
        let reply = match event {
            Event::PreTool => self.before_tool(call, facts)?,
            Event::PostTool => self.after_tool(call, facts)?,
            Event::Stop => self.stop(call, facts)?,
            Event::SessionStart => self.session_start(call)?,
            Event::Prompt => self.prompt(call)?,
        };
        let reply = match reply {
            Reply::Deny(_) | Reply::Ask(_) if !binds(self.mode) => Reply::Pass,
            Reply::Deny(_) | Reply::Ask(_) | Reply::Pass | Reply::Warn(_) => reply,
        };
        if self.comparison.is_news {
            let act =
                Act::Merge(vec![self.comparison.record(self.host, &self.flow(call)?, &self.ticket.at.to_string())]);
            let _ = self.runtime.change_here(Actor::Agent(self.host.word.to_owned()), act);
        }
        Ok(self.with_notice(event, reply))
    }

    /// Tells of tampering once when it is noticed, and whenever a session or a turn begins.
    fn with_notice(&self, event: Event, reply: Reply) -> Reply {
        let is_told = self.comparison.is_news || matches!(event, Event::SessionStart | Event::Prompt);
        if self.comparison.differences.is_empty() || !is_told {
            return reply;
        }
        let consequence = match binds(self.mode) {
            true => "Calls that change something are refused until a person settles it with",
            false => "Nothing is stopped, because the contract only observes; a person settles it with",
        };
        let differences = self.comparison.differences.join("; ");
        let notice = format!("Writkeeper noticed that {differences}. {consequence} {}.", self.settled_by());
        match reply {
            Reply::Pass => Reply::Warn(notice),
            Reply::Warn(said) => Reply::Warn(format!("{said}\n{notice}")),
            Reply::Deny(_) | Reply::Ask(_) => reply,
        }
    }

    /// What a person types to have things as they were installed, or not installed.
    fn settled_by(&self) -> String {
        let names = |host: &Host| self.comparison.differences.iter().any(|said| said.contains(host.title));
        let host = HOSTS.into_iter().find(names).unwrap_or(self.host);
        let (again, away) = ((self.program.typed)(&Task::Install(host)), (self.program.typed)(&Task::Uninstall(host)));
        format!("`{again}`, or with `{away}` if the host is not to be guarded")
    }

    /// What the session did lately, seen with the contract's thresholds.
    fn session(&self, call: &Call) -> Session {
        Session::open(self.guard, &self.session_name(call), self.contract.contract.thresholds(), self.ticket)
    }

    fn before_tool(&self, call: &Call, facts: &CallFacts) -> Result<Reply, String> {
        let mut session = self.session(call);
        let arguments = Session::arguments(&call.input);
        let (stall, breaker) = (session.stall(&call.name, &arguments), session.breaker());
        let mut params = self.params(&session, call, facts);
        let others = hard_links::of(&facts.writes, || self.book());
        if !others.is_empty() {
            let all = facts.writes.iter().chain(&others).map(String::as_str);
            params.insert("writes".to_owned(), Json::texts(all));
        }
        if binds(self.mode) && self.uses_approval(&session, call, &arguments, &params) {
            let open = OpenCall { intent: None, asked: None };
            session.called(call.id.as_deref().unwrap_or_default(), &arguments, facts.action, &open);
            return Ok(Reply::Pass);
        }
        let answered = self.submit(call, facts.action, params)?;
        let id = answered.answer.id.clone();
        let mut noticed = vec![stall, breaker, session.precursor(&call.name, !facts.is_harmless())];
        noticed.push(session.scope(facts.workspace.to_string_lossy().into_owned(), facts.writes.clone()));
        noticed.extend(Some(session.liveness(true)).filter(|signal| self.sets(signal)));
        noticed.extend(doubts(&answered.answer.findings));
        let reply = self.enforced(call, facts, &answered, Noticed { stakes: self.stakes(facts), signals: &noticed })?;
        session.looked_into(&arguments, &facts.contents, answered.answer.verdict == Verdict::Escalate);
        let runs = matches!(reply, Reply::Pass | Reply::Warn(_) | Reply::Ask(_)) || !binds(self.mode);
        // Where nothing is stopped nobody was asked, so that nobody has answered by letting it run.
        let is_asked = answered.answer.verdict == Verdict::Escalate && binds(self.mode);
        if is_asked {
            self.waits(&mut session, call, &arguments, &id);
        }
        if runs {
            let intent = answered.answer.intent.as_ref().map(|intent| intent.id().to_owned());
            let open = OpenCall { intent, asked: is_asked.then_some(id) };
            session.called(call.id.as_deref().unwrap_or_default(), &arguments, facts.action, &open);
        } else if let (Verdict::Accept, Some(intent)) = (answered.answer.verdict, &answered.answer.intent) {
            // Only a finding objected, and the host does not run it.
            self.settle(intent.id(), IntentEvent::Cancel);
        }
        Ok(reply)
    }

    /// What the contract is told about a call.
    fn params(&self, session: &Session, call: &Call, facts: &CallFacts) -> Object {
        let arguments = Session::arguments(&call.input);
        let mut params = facts.params(call, self.host.word, &self.ticket.at.to_string());
        params.insert("stall".to_owned(), Json::text(session.stall(&call.name, &arguments).state));
        params.insert("breaker".to_owned(), Json::text(session.breaker().state));
        // Contracts from before there was this fact do not name it, and params are closed.
        if matches!(facts.action, "tool.mcp" | "tool.other") && self.names(facts.action, "approved") {
            params.insert("approved".to_owned(), Json::Bool(self.knows_tool(session, call)));
        }
        params
    }

    /// What would be decided about a call that nobody makes, under the contract in force and on a store that is gone
    /// afterwards. Whatever it is, the host hears a refusal.
    pub fn rehearse(&self, call: &Call, facts: &CallFacts) -> Result<Reply, String> {
        let store = Box::new(MemoryStore::new(Arc::new(SystemClock)).tenant_named(TENANT_DEFAULT));
        let options = Options { wait: WAIT, advisor: Some(Arc::new(PluginAdvisor)), ..Options::default() };
        let runtime = Arc::new(Runtime::start(store, options).map_err(|fault| fault.to_string())?);
        let operator = || Actor::Operator("probe".to_owned());
        for pending in [
            runtime.register(operator(), self.contract.clone(), None, None),
            runtime.activate(operator(), self.contract.clone()),
        ] {
            let answered = pending.wait();
            if answered.answer.verdict != Verdict::Accept {
                return Err(undecided(&answered.answer));
            }
        }
        let session = Session::fleeting(self.contract.contract.thresholds(), self.ticket);
        let comparison = Comparison::default();
        let (contract, plan) = (self.contract.clone(), self.contract.contract.enforcement_plan());
        let CallJudge { host, guard, mode, ticket, program, .. } = *self;
        let flow = OnceCell::new();
        let judge = CallJudge { host, guard, runtime, contract, plan, mode, ticket, program, comparison, flow };
        let answered = judge.submit(call, facts.action, judge.params(&session, call, facts))?;
        let codes: Vec<&str> = answered.answer.findings.iter().map(|finding| finding.code.as_str()).collect();
        Ok(Reply::Deny(probe::said(answered.answer.verdict, &codes)))
    }

    /// The leases in the store. If they cannot be read, the gate itself refuses.
    fn book(&self) -> Option<LeaseBook> {
        match self.runtime.read(Entity::State(BOOK.to_owned())) {
            Ok(Some(Row::State(row))) => LeaseBook::from_json(&row.value),
            Ok(_) | Err(_) => None,
        }
    }

    /// The verdict as a rung of the ladder, and the rung as the host understands it.
    fn enforced(
        &self,
        call: &Call,
        facts: &CallFacts,
        answered: &Answered,
        noticed: Noticed<'_>,
    ) -> Result<Reply, String> {
        let answer = &answered.answer;
        if answered.at.is_none() {
            return Err(undecided(answer));
        }
        let concerns: Vec<&str> =
            noticed.signals.iter().filter(|signal| signal.is_concern()).map(|signal| signal.reason.as_str()).collect();
        let why = match answer.verdict {
            Verdict::Accept if concerns.is_empty() => "Writkeeper noticed nothing about this call".to_owned(),
            Verdict::Accept => format!("Writkeeper noticed: {}", concerns.join("; ")),
            Verdict::Reject => told(&answer.findings, &facts.why, "refused", &answer.id),
            Verdict::Escalate => told(&answer.findings, &facts.why, "wants a person to look at", &answer.id),
        };
        let decision = decided(&self.plan, self.mode, answer.verdict, noticed, &call.name, &why);
        let (enforced, note) = self.settled(call, &answer.id, &decision);
        let is_found = answer.verdict == Verdict::Accept;
        if is_found && enforced.withholds_call() {
            self.remember(call, &enforced, None);
        }
        let why = note.map_or_else(|| why.clone(), |note| format!("{why}\n{note}"));
        Ok(match enforced.effect {
            Effect::Run if enforced.rung != *self.plan.ladder().softest() => Reply::Warn(why),
            Effect::Run => Reply::Pass,
            // The mark keeps what we say out of what counts as evidence.
            Effect::Answer(corrective) if is_found => {
                Reply::Deny(format!("{why}. {WITHHELD}\n{}", marked(&corrective.to_json())))
            }
            Effect::Answer(corrective) => Reply::Deny(format!("{why}\n{}", marked(&corrective.to_json()))),
            // The host's own dialog cannot sign.
            Effect::Wait if call.can_ask && (is_found || !self.contract.contract.escalation.signed) => Reply::Ask(why),
            Effect::Wait if is_found => Reply::Deny(format!("{why}. {WITHHELD} This host cannot ask a person.")),
            Effect::Wait => Reply::Deny(format!("{why}\n{}", self.how_to_approve(&answer.id))),
        })
    }

    /// What a decision comes to, and what the handler adds for the agent.
    fn settled(&self, call: &Call, proposal: &str, decision: &Decision) -> (Enforced, Option<String>) {
        let asked = self.ask_handler(call, proposal, decision);
        let enforced = enforced(&self.plan, self.mode, decision, asked.as_ref().map(|(answer, _)| answer));
        let Some((_, question)) = asked else { return (enforced, None) };
        self.remember(call, &enforced, Some(question));
        let is_followed = enforced.taken == Taken::Followed && !enforced.note.trim().is_empty();
        let note = is_followed.then(|| enforced.note.trim().to_owned());
        (enforced, note)
    }

    /// What is at stake in a call before it runs.
    fn stakes(&self, facts: &CallFacts) -> Stakes {
        let action = self.contract.contract.actions.get(facts.action);
        let weighs = match action.map(|action| action.impact) {
            Some(Impact::High | Impact::Critical) => true,
            Some(Impact::Low | Impact::Medium) | None => false,
        };
        match facts.class {
            _ if facts.is_harmless() => Stakes::None,
            Class::Destructive | Class::Catastrophic => Stakes::High,
            Class::Read | Class::Write | Class::Unknown if weighs => Stakes::High,
            Class::Read | Class::Write | Class::Unknown => Stakes::Ordinary,
        }
    }

    /// Whether the contract has settings for a detector. What little means depends on the work, so some of them speak
    /// only where it says so.
    fn sets(&self, signal: &Signal) -> bool {
        let settings = self.contract.contract.detectors.as_ref();
        settings.is_some_and(|settings| settings.get(signal.detector).is_some())
    }

    /// The answer of the external handler that the contract names, with the digest of the question.
    fn ask_handler(&self, call: &Call, proposal: &str, decision: &Decision) -> Option<(HandlerAnswer, Digest)> {
        let name = self.plan.handler().as_str();
        let mut plugin = self.contract.contract.handlers.get(name)?.clone();
        // Nothing is softer than letting it run, so there is nothing to ask.
        if !binds(self.mode) || decision.rung() == self.plan.ladder().softest() {
            return None;
        }
        plugin.timeout = plugin.timeout.min(HANDLER_WAIT);
        let question = Json::object([
            ("format", Json::text("writkeeper/handler/v1")),
            ("handler", Json::text(name)),
            ("host", Json::text(self.host.word)),
            ("session", Json::text(self.session_name(call))),
            ("proposal", Json::text(proposal)),
            ("decision", decision.to_json()),
            ("reason", Json::text(decision.reason())),
        ]);
        let question = question.to_canonical();
        let answer = match PluginAdvisor.ask(&plugin, &question) {
            Err(problem) => HandlerAnswer::Failed(problem),
            Ok(bytes) => match Json::parse(&bytes) {
                Ok(json) => HandlerAnswer::read(&json),
                Err(refusal) => HandlerAnswer::Nonsense(refusal.to_string()),
            },
        };
        Some((answer, Digest::of(&question)))
    }

    /// Records what became of a call, and the digest of the question to a handler.
    fn remember(&self, call: &Call, enforced: &Enforced, question: Option<Digest>) {
        let mut told = object([("enforced", enforced.to_json())]);
        if let Some(question) = question {
            told.insert("question".to_owned(), Json::text(question.to_string()));
        }
        let values = object([("enforced", Json::Object(told))]);
        let Ok(flow) = self.flow(call) else { return };
        let act = Act::Remember { flow, values };
        let actor = Actor::Agent(self.host.word.to_owned());
        let _ = self.runtime.change_here(actor, act);
    }

    fn how_to_approve(&self, proposal: &str) -> String {
        let (store, is_signed) = (self.guard.store(), self.contract.contract.escalation.signed);
        let why = if is_signed { "The contract counts only signed answers." } else { "This host cannot ask." };
        let once = (self.program.typed)(&Task::AllowOnce { proposal, store: &store, is_signed });
        let for_a_while = (self.program.typed)(&Task::AllowForAWhile { proposal, store: &store });
        format!(
            "{why} A person allows this call once with `{once}`, after which it is made again, or exactly this command for \
             a while with `{for_a_while}`"
        )
    }

    fn after_tool(&self, call: &Call, facts: &CallFacts) -> Result<Reply, String> {
        let mut session = self.session(call);
        let arguments = Session::arguments(&call.input);
        let open = session.find(call.id.as_deref(), &arguments);
        let text = call.result.as_ref().map(Json::to_canonical);
        // What the guard itself wrote is no result of a tool.
        let genuine =
            call.result.as_ref().is_none_or(|result| kernel::enforcement::corrective::Evidence::read(result).is_ok());
        let digest = text.as_ref().filter(|_| genuine).map(Digest::of);
        let kept = digest.map(|digest| (digest, text.as_ref().map_or(0, String::len)));
        session.returned(&call.name, &arguments, kept, call.failed, !facts.is_harmless() && !call.failed);
        let (stall, breaker) = (session.stall(&call.name, &arguments), session.breaker());
        let mut noticed = vec![stall.clone(), breaker.clone()];
        noticed.extend(session.yields().into_iter().filter(|signal| self.sets(signal)));
        let result = Json::object([
            ("sha256", Json::from(digest.map(|digest| digest.to_string()))),
            ("bytes", Json::from(text.as_ref().map_or(0, String::len) as u64)),
        ]);
        let params = object([
            ("host", Json::text(self.host.word)),
            ("session", Json::text(self.session_name(call))),
            ("tool", Json::text(call.name.as_str())),
            ("failed", Json::Bool(call.failed)),
            ("result", result),
            ("stall", Json::text(stall.state)),
            ("breaker", Json::text(breaker.state)),
        ]);
        if let Some(open) = open {
            self.report(&open);
        }
        let answered = self.submit(call, "tool.result", params)?;
        noticed.extend(doubts(&answered.answer.findings));
        self.enforced(call, facts, &answered, Noticed { stakes: Stakes::None, signals: &noticed })
    }

    /// Settles a call that ran; if it was asked about, a person approved it.
    fn report(&self, open: &OpenCall) {
        let intent = match &open.asked {
            Some(proposal) => self.approved_in_host(proposal),
            None => open.intent.clone(),
        };
        if let Some(intent) = intent.filter(|intent| self.is_open(intent)) {
            // The host performed it; whether the tool liked the outcome stands in the result.
            self.settle(&intent, IntentEvent::Succeed);
        }
    }

    fn settle(&self, intent: &str, event: IntentEvent) {
        let act = kernel::change::Act::Settle { intent: intent.to_owned(), event, result: None };
        let actor = kernel::agent::Actor::Agent(self.host.word.to_owned());
        let _ = self.runtime.change_here(actor, act);
    }

    /// Whether the outcome of an intent is still unknown; a daemon that was asked before may have settled it.
    fn is_open(&self, intent: &str) -> bool {
        match self.runtime.read(Entity::Intent(intent.to_owned())) {
            Ok(Some(Row::Intent(row))) => row.state != IntentState::Succeeded,
            Ok(_) | Err(_) => true,
        }
    }

    /// The host showed our question, and the call ran: the person there said yes.
    fn approved_in_host(&self, proposal: &str) -> Option<String> {
        let (question, row) = self.open_question(proposal)?;
        let answered = self.runtime.answer(PersonAnswer {
            person: at_host(self.host),
            question,
            decision: "OVERRIDE".to_owned(),
            digest: row.digest,
            reason: "approved in the host's own dialog; the call ran".to_owned(),
            instead: None,
            door: door(),
            identity: Identity { os_user: Some(os_user()), ..Identity::default() },
        });
        answered.wait().answer.intent.map(|intent| intent.id().to_owned())
    }

    fn stop(&self, call: &Call, facts: &CallFacts) -> Result<Reply, String> {
        let mut session = self.session(call);
        let checked = self.verify(call, facts)?;
        let (verified, said) = match &checked {
            None => ("none", String::new()),
            Some(checked) if checked.passed => ("yes", String::new()),
            Some(checked) => ("no", checked.said.clone()),
        };
        let (head, dirty) = stop_check::git(&facts.workspace);
        let (witness, unseen) = stop_check::witnessed(&self.contract.contract.witnesses, &facts.workspace);
        let dangling = session.dangling_intent(call.prompt.as_deref().unwrap_or_default());
        let is_unseen = !unseen.is_empty();
        let said = [said].into_iter().chain(unseen).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        let mut params = object([
            ("host", Json::text(self.host.word)),
            ("session", Json::text(self.session_name(call))),
            ("verified", Json::text(verified)),
            ("refused", Json::from(session.stops_refused())),
            ("noop", Json::text(session.noop_streak().state)),
            ("head", Json::text(head)),
            ("dirty", Json::Bool(dirty)),
        ]);
        // Contracts from before there were these facts do not name them, and params are closed.
        let liveness = session.liveness(true).state;
        for (name, value) in [("witness", witness.word()), ("dangling", dangling.state), ("liveness", liveness)] {
            if self.names("session.stop", name) {
                params.insert(name.to_owned(), Json::text(value));
            }
        }
        let answered = self.submit(call, "session.stop", params)?;
        if answered.at.is_some() && answered.answer.verdict == Verdict::Reject {
            session.turned("stop-refused");
            let failed = (verified == "no").then(|| "the check that the contract names did not pass".to_owned());
            let unseen = is_unseen.then(|| "witnesses do not see what the contract expects".to_owned());
            let why: Vec<String> = failed.into_iter().chain(unseen).collect();
            let why = told(&answered.answer.findings, &why, "does not count this as done", &answered.answer.id);
            return Ok(Reply::Deny(format!("{why}\n{said}")));
        }
        session.turned("stop");
        let noticed = doubts(&answered.answer.findings).chain([dangling]).collect();
        Ok(self.left_open(call, &answered.answer.id, &mut session, noticed))
    }

    /// What a stop comes to after words that promise more, or where a judge doubts it. It is held up once at most, so
    /// nothing goes round in circles.
    fn left_open(&self, call: &Call, proposal: &str, session: &mut Session, noticed: Vec<Signal>) -> Reply {
        let said: Vec<String> = noticed.iter().filter(|signal| signal.is_concern()).map(left).collect();
        if said.is_empty() {
            return Reply::Pass;
        }
        let why = format!("Writkeeper noticed: {}", said.join("; "));
        let decision = self.plan.notice("stop", Stakes::Ordinary, &noticed, &why);
        let (enforced, note) = self.settled(call, proposal, &decision);
        let why = note.map_or_else(|| why.clone(), |note| format!("{why}\n{note}"));
        match enforced.effect {
            Effect::Run if enforced.rung == *self.plan.ladder().softest() => Reply::Pass,
            Effect::Answer(_) | Effect::Wait if !session.was_held() => {
                session.turned("stop-held");
                Reply::Deny(format!("{why}. What to do: do it now, or say that it is left open, and for whom."))
            }
            // Hosts show an agent nothing when it stops, so it is told when it goes on.
            Effect::Run | Effect::Answer(_) | Effect::Wait => {
                session.note(&why);
                Reply::Pass
            }
        }
    }

    /// Runs the check the contract names, as an intent of its own.
    fn verify(&self, call: &Call, facts: &CallFacts) -> Result<Option<stop_check::CheckResult>, String> {
        let Some(run) = run_of(&self.contract.contract, VERIFY) else { return Ok(None) };
        let params = object([("host", Json::text(self.host.word)), ("session", Json::text(self.session_name(call)))]);
        let answered = self.submit(call, VERIFY, params)?;
        if answered.answer.verdict != Verdict::Accept {
            let said = undecided(&answered.answer);
            return Ok(Some(stop_check::CheckResult { passed: false, said }));
        }
        let checked = stop_check::check(&run, &facts.workspace);
        let intent = answered.answer.intent.as_ref().map(|intent| intent.id().to_owned());
        if let (Some(_), Some(intent)) = (&checked, intent) {
            let open = OpenCall { intent: Some(intent), asked: None };
            self.report(&open);
        }
        Ok(checked)
    }

    fn session_start(&self, call: &Call) -> Result<Reply, String> {
        let params = object([
            ("host", Json::text(self.host.word)),
            ("session", Json::text(self.session_name(call))),
            ("cwd", Json::text(call.cwd.as_str())),
        ]);
        self.submit(call, "session.start", params)?;
        let asleep = self.noticed_asleep(&self.session(call)).map(|said| format!(" {said}."));
        let mode = match self.mode {
            Mode::Enforce => "Writkeeper judges every tool call of this session.",
            Mode::Observe => "Writkeeper observes every tool call of this session and stops none.",
        };
        let glass =
            self.broken_glass().map(|until| format!(" Glass is broken until {until}: questions are not asked."));
        let advice = " A refusal says why and what to do instead; the guard's own files are out of reach.";
        Ok(Reply::Warn(format!("{mode}{}{advice}{}", glass.unwrap_or_default(), asleep.unwrap_or_default())))
    }

    /// What is said of a session that stood still, where the contract wants it.
    fn noticed_asleep(&self, session: &Session) -> Option<String> {
        let signal = session.liveness(false);
        let decision = self.plan.notice("session", Stakes::None, std::slice::from_ref(&signal), &signal.reason);
        let is_told = signal.is_concern() && self.sets(&signal) && decision.rung() != self.plan.ladder().softest();
        is_told.then(|| format!("Writkeeper noticed: {}", signal.reason))
    }

    /// Until when a person has switched the questions off.
    fn broken_glass(&self) -> Option<String> {
        let Ok(Some(Row::State(row))) = self.runtime.read(Entity::State(BREAK_GLASS.to_owned())) else { return None };
        let until = row.value.as_text()?.to_owned();
        (until > self.ticket.at.to_string()).then_some(until)
    }

    fn prompt(&self, call: &Call) -> Result<Reply, String> {
        let mut session = self.session(call);
        let mut told = session.notes();
        told.extend(self.noticed_asleep(&session));
        session.turned("prompt");
        let prompt = call.prompt.as_deref().unwrap_or_default();
        let params = object([
            ("host", Json::text(self.host.word)),
            ("session", Json::text(self.session_name(call))),
            // What people type is theirs: only that it was typed is kept.
            (
                "prompt",
                Json::object([
                    ("sha256", Json::text(Digest::of(prompt).to_string())),
                    ("bytes", Json::from(prompt.len() as u64)),
                ]),
            ),
        ]);
        self.submit(call, "session.prompt", params)?;
        Ok(if told.is_empty() { Reply::Pass } else { Reply::Warn(told.join("\n")) })
    }

    /// Whether an action of the contract has a param.
    fn names(&self, action: &str, param: &str) -> bool {
        let action = self.contract.contract.actions.get(action);
        action.is_some_and(|action| kernel::contract::params::has(action, param))
    }

    fn submit(&self, call: &Call, action: &str, params: Object) -> Result<Answered, String> {
        if let Some(given) = self.answered_before(action)? {
            return Ok(given);
        }
        let own = action != VERIFY;
        let step = if own { self.ticket.id.clone() } else { Minted::id() };
        let mut proposal = object([
            ("agent", Json::text(self.host.word)),
            ("action", Json::text(action)),
            ("params", Json::Object(params)),
            ("flow", Json::text(self.flow(call)?)),
            // Each call is a step of its own: running the tests twice is two effects.
            ("step", Json::text(step.as_str())),
        ]);
        if own {
            // Asked about this call again, this process or a daemon gives the same answer.
            proposal.insert("idempotency_key".to_owned(), Json::text(step));
        }
        let proposal = Proposal::from_json(Json::Object(proposal))
            .map_err(|malformed| malformed.findings.iter().map(Finding::message).collect::<Vec<_>>().join("; "))?;
        let answered = self.runtime.submit_here(proposal, Arrival::through(door()));
        if answered.at.is_none() {
            return Err(undecided(&answered.answer));
        }
        Ok(answered)
    }

    /// What was answered when this call was asked about elsewhere.
    fn answered_before(&self, action: &str) -> Result<Option<Answered>, String> {
        if !self.ticket.is_repeated || action == VERIFY {
            return Ok(None);
        }
        let name = Entity::Idempotency(self.host.word.to_owned(), self.ticket.id.clone());
        let found = self.runtime.read(name).map_err(|fault| fault.to_string())?;
        let Some(Row::Idempotency(stored)) = found else { return Ok(None) };
        Ok(Some(Answered {
            answer: stored.answer,
            event: None,
            at: Some(self.ticket.at),
            records: Vec::new(),
            told: Vec::new(),
        }))
    }
}

/// What an agent reads where a finding and no rule of the contract withholds a call.
const WITHHELD: &str = "The call was not made. What to do: look at what was noticed, and go about it another way.";

/// Checks that a contract names are steps of their own.
const VERIFY: &str = "session.verify";

/// The state key that says until when questions are switched off.
pub const BREAK_GLASS: &str = "break_glass";

fn door() -> Door {
    Door { flows: UnseenFlow::Opens, performer: Performer::Host, session: None, by: None }
}

fn run_of(contract: &Contract, action: &str) -> Option<kernel::contract::Run> {
    contract.actions.get(action)?.run.clone()
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Object {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Why the runtime gave no decision, with what the operator can do about it.
fn undecided(answer: &Answer) -> String {
    finding_text::sentences(&answer.findings, Finding::fix_operator)
}

/// What the agent reads: who, which codes, why in the call's own words, and what to do.
fn told(findings: &[Finding], facts: &[String], verb: &str, id: &str) -> String {
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    // What a rule of the contract means is said by the facts it looked at; other gates speak for themselves.
    let gates = findings.iter().filter(|finding| finding.gate != Gate::Rules).map(Finding::message);
    let mut why: Vec<String> = gates.chain(facts.iter().take(3).cloned()).collect();
    if why.is_empty() {
        why = findings.iter().map(Finding::message).collect();
    }
    let why = why.join("; ");
    let fix: BTreeSet<String> = findings.iter().map(Finding::fix).filter(|fix| !fix.is_empty()).collect();
    let fix = fix.into_iter().collect::<Vec<_>>().join("; ");
    let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
    format!("Writkeeper {verb} this call ({codes}): {why}. What to do: {fix}. Proposal {id}.")
}

fn marked(corrective: &Json) -> String {
    let mark = kernel::enforcement::corrective::MARK;
    let kept = corrective.as_object().map(|members| {
        let kept = members.iter().filter(|(key, _)| *key == mark || *key == "status");
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    });
    Json::Object(kept.unwrap_or_default()).to_canonical()
}

/// What a hook says when nothing could be judged: reading goes on, everything else waits.
pub fn unjudged(event: Event, facts: Option<&CallFacts>, problem: &str, program: &CommandLine) -> Reply {
    match event {
        Event::PreTool if facts.is_some_and(CallFacts::is_proven_read) => Reply::Pass,
        Event::PreTool => Reply::Deny(format!(
            "Writkeeper could not judge this call, so it does not run: {problem}. What to do: tell the person; \
             `{}` says what is wrong.",
            (program.typed)(&Task::Diagnose)
        )),
        // The call has run, or there is none: stopping here would only lock the person out.
        Event::PostTool | Event::Stop | Event::SessionStart | Event::Prompt => Reply::Pass,
    }
}
