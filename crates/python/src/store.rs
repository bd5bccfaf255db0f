//! An open store as Python holds it.

use crate::callbacks::{Callbacks, Workers};
use crate::deciding::Reply;
use crate::faults::Fault;
use crate::later::Later;
use crate::{asking, context, deciding, performing, proving, reading};
use pyo3::prelude::*;
use runtime::memory::ManualClock;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use writkeeper::{Actor, Keeper, OpenOptions};

/// Everything that a call needs; shared with calls that are under way while the store is closed.
pub struct Kept {
    pub keeper: Keeper,
    /// Who is recorded where the embedding program acts as the operator.
    pub operator: Actor,
    pub callbacks: Arc<Callbacks>,
    /// The clock of a store that is told the time, for recordings that are played again.
    pub clock: Option<Arc<ManualClock>>,
    /// The token for a server.
    pub key: Option<String>,
}

/// An open store. Every method takes and gives JSON text; the classes that people use are written in Python.
#[pyclass(frozen, module = "writkeeper._native")]
pub struct Store {
    kept: RwLock<Option<Arc<Kept>>>,
    workers: Workers,
    /// The process that opened it: the threads of a store do not survive a fork.
    process: u32,
}

impl Store {
    /// What a call needs, unless the store was closed or this process was forked off.
    fn kept(&self) -> Result<Arc<Kept>, Fault> {
        self.demand_own_process()?;
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner).clone();
        kept.ok_or_else(|| Fault::Closed("the store is closed".to_owned()))
    }

    fn demand_own_process(&self) -> Result<(), Fault> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let problem = "the store was opened before this process was forked off; open it again after fork";
        Err(Fault::Closed(problem.to_owned()))
    }

    /// Calls the library while other Python threads run.
    fn call<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&Arc<Kept>) -> Result<T, Fault> + Send) -> PyResult<T> {
        py.detach(|| self.kept().and_then(|kept| call(&kept))).map_err(|fault| fault.raised(py))
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (location, *, operator, create = true, key = None, clock = None, strangers = None))]
    fn open(
        py: Python<'_>,
        location: &str,
        operator: &str,
        create: bool,
        key: Option<&str>,
        clock: Option<&str>,
        strangers: Option<&str>,
    ) -> PyResult<Store> {
        let opened = py.detach(|| {
            if key.is_some() && !writkeeper::is_server(location) {
                // A file on this machine knows no keys; a server takes them.
                return Err(Fault::usage("only a server takes a token; a store that is a file needs none"));
            }
            let callbacks = Arc::new(Callbacks::default());
            let mut options = OpenOptions { create, advisor: Some(callbacks.clone()), ..OpenOptions::default() };
            options.key = key.map(str::to_owned);
            let clock = clock.map(|at| context::instant(at).map(ManualClock::at)).transpose()?.map(Arc::new);
            if let Some(clock) = &clock {
                options.clock = clock.clone();
            }
            options.strangers = strangers.map(|contract| context::compiled(contract, true)).transpose()?;
            let keeper = Keeper::open(location, &options)?;
            let operator = Actor::Operator(operator.to_owned());
            Ok(Kept { keeper, operator, callbacks, clock, key: options.key })
        });
        let kept = opened.map_err(|fault| fault.raised(py))?;
        let kept = RwLock::new(Some(Arc::new(kept)));
        Ok(Store { kept, workers: Workers::default(), process: std::process::id() })
    }

    /// Serves what waits, ends the workers and closes; closing twice is fine.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            if self.demand_own_process().is_ok() {
                self.workers.stop();
                drop(self.kept.write().unwrap_or_else(PoisonError::into_inner).take());
            }
        });
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| self.kept().is_ok())
    }

    #[getter]
    fn location(&self, py: Python<'_>) -> PyResult<String> {
        self.call(py, |kept| Ok(kept.keeper.location().to_owned()))
    }

    fn notices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.call(py, |kept| Ok(kept.keeper.notices().iter().map(ToString::to_string).collect()))
    }

    /// Tells the time to a store that was opened with a clock of its own.
    fn set_clock(&self, py: Python<'_>, at: &str) -> PyResult<()> {
        self.call(py, |kept| context::set_clock(kept, at))
    }

    #[pyo3(signature = (contract, allow_inert = false))]
    fn enrol(&self, py: Python<'_>, contract: &str, allow_inert: bool) -> PyResult<String> {
        self.call(py, |kept| context::enrol(kept, contract, allow_inert))
    }

    #[pyo3(signature = (proposal, trust_provenance = false, line = None))]
    fn decide(&self, py: Python<'_>, proposal: &str, trust_provenance: bool, line: Option<u64>) -> PyResult<Reply> {
        self.call(py, |kept| deciding::decide(kept, proposal, trust_provenance, line))
    }

    /// How many seconds it takes to judge proposals one after the other without Python in between.
    fn measure(&self, py: Python<'_>, proposals: Vec<String>) -> PyResult<f64> {
        self.call(py, |kept| {
            let begin = Instant::now();
            proposals.iter().try_for_each(|proposal| deciding::decide(kept, proposal, false, None).map(|_| ()))?;
            Ok(begin.elapsed().as_secs_f64())
        })
    }

    /// Sends a proposal; the answer is polled for. It blocks only where validators of the contract have to be asked.
    #[pyo3(signature = (proposal, trust_provenance = false))]
    fn decide_later(&self, py: Python<'_>, proposal: &str, trust_provenance: bool) -> PyResult<Later> {
        self.call(py, |kept| Ok(Later::of(deciding::send(kept, proposal, trust_provenance))))
    }

    /// Whether a proposal of this agent may have to wait for validators.
    fn asks_plugins(&self, py: Python<'_>, agent: &str) -> PyResult<bool> {
        self.call(py, |kept| deciding::asks_plugins(kept, agent))
    }

    #[pyo3(signature = (agent, parent = None, id = None))]
    fn open_flow(&self, py: Python<'_>, agent: &str, parent: Option<&str>, id: Option<&str>) -> PyResult<String> {
        self.call(py, |kept| context::open_flow(kept, agent, parent, id))
    }

    fn end_flow(&self, py: Python<'_>, flow: &str, abort: bool) -> PyResult<()> {
        self.call(py, |kept| context::end_flow(kept, flow, abort))
    }

    fn remember(&self, py: Python<'_>, flow: &str, values: &str) -> PyResult<()> {
        self.call(py, |kept| context::remember(kept, flow, values))
    }

    /// Asks a person on the agent's own request.
    fn ask(&self, py: Python<'_>, agent: &str, flow: &str, said: &str) -> PyResult<String> {
        self.call(py, |kept| context::ask(kept, agent, flow, said))
    }

    fn reserve(&self, py: Python<'_>, flow: &str, said: &str) -> PyResult<String> {
        self.call(py, |kept| context::reserve(kept, flow, said))
    }

    fn release(&self, py: Python<'_>, flow: &str, resources: Vec<String>) -> PyResult<String> {
        self.call(py, |kept| context::release(kept, flow, resources))
    }

    fn note(&self, py: Python<'_>, flow: &str, name: &str, details: &str) -> PyResult<()> {
        self.call(py, |kept| context::note(kept, flow, name, details))
    }

    #[pyo3(signature = (flow, keys))]
    fn snapshot(&self, py: Python<'_>, flow: Option<&str>, keys: Vec<String>) -> PyResult<String> {
        self.call(py, |kept| context::snapshot(kept, flow, &keys))
    }

    /// Takes over a context that was written elsewhere: state, snapshots and restrictions of agents.
    fn take_over(&self, py: Python<'_>, context: &str) -> PyResult<()> {
        self.call(py, |kept| context::take_over(kept, context))
    }

    fn merge(&self, py: Python<'_>, writes: &str) -> PyResult<String> {
        self.call(py, |kept| context::merge(kept, writes))
    }

    fn state(&self, py: Python<'_>, key: &str) -> PyResult<Option<String>> {
        self.call(py, |kept| context::state(kept, key))
    }

    fn restrict(&self, py: Python<'_>, restriction: &str) -> PyResult<()> {
        self.call(py, |kept| context::restrict(kept, restriction))
    }

    fn lift(&self, py: Python<'_>, agent: &str, status: &str, because: &str) -> PyResult<()> {
        self.call(py, |kept| context::lift(kept, agent, status, because))
    }

    fn questions(&self, py: Python<'_>) -> PyResult<String> {
        self.call(py, |kept| asking::questions(kept))
    }

    fn question(&self, py: Python<'_>, id: &str) -> PyResult<String> {
        self.call(py, |kept| asking::question(kept, id))
    }

    fn approved(&self, py: Python<'_>, intent: &str) -> PyResult<Option<String>> {
        self.call(py, |kept| asking::approved(kept, intent))
    }

    fn answer(&self, py: Python<'_>, question: &str, words: &str) -> PyResult<String> {
        self.call(py, |kept| asking::answer(kept, question, words))
    }

    fn people(&self, py: Python<'_>, groups: &str) -> PyResult<usize> {
        self.call(py, |kept| asking::people(kept, groups))
    }

    /// How a question stands after at most so many seconds, or as soon as it is answered.
    fn await_answer(&self, py: Python<'_>, question: &str, seconds: f64) -> PyResult<Option<String>> {
        self.call(py, |kept| asking::await_answer(kept, question, bounded(seconds)))
    }

    #[pyo3(signature = (state = None, limit = 1_000))]
    fn intents(&self, py: Python<'_>, state: Option<&str>, limit: usize) -> PyResult<String> {
        self.call(py, |kept| performing::intents(kept, state, limit))
    }

    fn intent(&self, py: Python<'_>, id: &str) -> PyResult<String> {
        self.call(py, |kept| performing::intent(kept, id))
    }

    fn standing(&self, py: Python<'_>, id: &str) -> PyResult<String> {
        self.call(py, |kept| performing::standing(kept, id))
    }

    fn take_up(&self, py: Python<'_>, intent: &str, asker: bool) -> PyResult<String> {
        self.call(py, |kept| performing::take_up(kept, intent, asker))
    }

    fn call_off(&self, py: Python<'_>, intent: &str) -> PyResult<()> {
        self.call(py, |kept| Ok(kept.keeper.call_off(intent)?))
    }

    #[pyo3(signature = (intent, observed, detail, epoch = None, result = None))]
    fn report(
        &self,
        py: Python<'_>,
        intent: &str,
        observed: &str,
        detail: &str,
        epoch: Option<u64>,
        result: Option<&str>,
    ) -> PyResult<String> {
        self.call(py, |kept| performing::report(kept, intent, (observed, detail), epoch, result))
    }

    /// How an intent stands after at most so many seconds, or as soon as it is over.
    fn await_outcome(&self, py: Python<'_>, intent: &str, seconds: f64) -> PyResult<Option<String>> {
        self.call(py, |kept| performing::await_outcome(kept, intent, bounded(seconds)))
    }

    /// Registers a function as a validator or judge.
    fn set_validator(&self, py: Python<'_>, name: &str, function: Py<PyAny>) -> PyResult<()> {
        self.call(py, |kept| {
            kept.callbacks.set_validator(name, function);
            Ok(())
        })
    }

    /// Registers a function as an executor.
    fn set_executor(&self, py: Python<'_>, name: &str, function: Py<PyAny>) -> PyResult<()> {
        self.call(py, |kept| {
            kept.callbacks.set_executor(name, function);
            Ok(())
        })
    }

    /// Performs what is due with the functions that are registered; what came of it.
    fn perform(&self, py: Python<'_>) -> PyResult<String> {
        self.call(py, performing::perform)
    }

    /// Performs what becomes due on a thread of its own, until the store is closed.
    fn work(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |kept| self.workers.start(kept))
    }

    /// Lets time act on questions and intents that are overdue.
    fn tick(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |kept| {
            // A service lets time act by itself, and an agent has no say in it.
            if kept.keeper.runtime().caller().is_some_and(|caller| caller.role == "agent") {
                return Ok(());
            }
            let ticked = kept.keeper.runtime().tick(kept.keeper.now());
            ticked.map(|_| ()).map_err(|fault| Fault::Library(fault.into()))
        })
    }

    #[pyo3(signature = (agent = None, limit = 100))]
    fn flows(&self, py: Python<'_>, agent: Option<&str>, limit: usize) -> PyResult<String> {
        self.call(py, |kept| reading::flows(kept, agent, limit))
    }

    fn timeline(&self, py: Python<'_>, flow: &str) -> PyResult<String> {
        self.call(py, |kept| reading::timeline(kept, flow))
    }

    fn agent(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.call(py, |kept| reading::agent(kept, name))
    }

    /// How many records the ledger has.
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, |kept| reading::size(kept))
    }

    /// Records of the ledger from an index on: each index with its body.
    fn records(&self, py: Python<'_>, from_index: u64, limit: usize) -> PyResult<Vec<(u64, String)>> {
        self.call(py, |kept| reading::records(kept, from_index, limit))
    }

    fn receipt(&self, py: Python<'_>, id: &str) -> PyResult<String> {
        self.call(py, |kept| proving::receipt(kept, id))
    }

    fn export(&self, py: Python<'_>, path: &str) -> PyResult<u64> {
        self.call(py, |kept| proving::export(kept, path))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.workers.stop_later();
        let mut kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.process != std::process::id() {
            // Its threads are in the other process: closing would wait for them for ever.
            std::mem::forget(kept);
            return;
        }
        // Closing waits for the writer, which may be about to wake an event loop and needs the interpreter for that.
        let closed = Python::try_attach(|py| py.detach(|| drop(kept.take())));
        if closed.is_none() {
            drop(kept);
        }
    }
}

/// The longest single wait; callers wait again.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

fn bounded(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(WAIT_MAX).min(WAIT_MAX)
}
