//! Functions of the embedding program: validators that are asked, and executors that cause effects.
//!
//! Python does the reading and writing of their JSON; here they are called, and whatever they raise is an answer that is
//! missing or an outcome that nobody knows.

use crate::context::parsed;
use crate::faults::Fault;
use crate::performing::read_observed;
use crate::store::Kept;
use kernel::contract::{Plugin, PluginSource};
use kernel::result::{Response, ResponseStatus};
use pyo3::prelude::*;
use runtime::Minted;
use runtime::execute::{self, Options};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use values::json::Json;
use writkeeper::{Advisor, Attempt, Executors, Function, Observation, PluginAdvisor, SystemClock};

/// How long a worker waits when nothing is ready.
const PAUSE: Duration = Duration::from_millis(20);

type Functions = Mutex<BTreeMap<String, Arc<Py<PyAny>>>>;

/// The functions that are registered.
#[derive(Default)]
pub struct Callbacks {
    validators: Functions,
    executors: Functions,
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Callbacks")
    }
}

impl Callbacks {
    pub fn set_validator(&self, name: &str, function: Py<PyAny>) {
        lock(&self.validators).insert(name.to_owned(), Arc::new(function));
    }

    pub fn set_executor(&self, name: &str, function: Py<PyAny>) {
        lock(&self.executors).insert(name.to_owned(), Arc::new(function));
    }

    /// Everyone who performs.
    pub fn executors(&self) -> Executors {
        let mut executors = Executors::default();
        for (name, function) in lock(&self.executors).iter() {
            let function = function.clone();
            let perform = move |attempt: &Attempt| performed(&function, attempt);
            executors = executors.with_function(name.clone(), Arc::new(Function(perform)));
        }
        executors
    }
}

impl Advisor for Callbacks {
    fn ask(&self, plugin: &Plugin, question: &str) -> Result<Vec<u8>, String> {
        let PluginSource::Function(name) = &plugin.source else { return PluginAdvisor.ask(plugin, question) };
        let function = lock(&self.validators).get(name).cloned();
        let function = function.ok_or_else(|| format!("this process has no function `{name}`"))?;
        let begin = Instant::now();
        let answer = called(&function, question)?;
        let timeout = u64::try_from(plugin.timeout.micros()).map(Duration::from_micros).unwrap_or_default();
        // A function cannot be cut off; what it says too late does not count.
        if begin.elapsed() > timeout {
            Err("it took longer than its timeout".to_owned())
        } else {
            Ok(answer.into_bytes())
        }
    }
}

/// Calls a function with JSON text; its JSON text, or what it raised.
fn called(function: &Py<PyAny>, text: &str) -> Result<String, String> {
    let result = Python::try_attach(|py| {
        let answer = function.call1(py, (text,)).and_then(|answer| answer.extract::<String>(py));
        answer.map_err(|error| format!("it raised {error}"))
    });
    result.unwrap_or_else(|| Err("the interpreter is shutting down".to_owned()))
}

/// Calls an executor. Whatever goes wrong on the way, nobody knows whether the effect happened.
fn performed(function: &Py<PyAny>, attempt: &Attempt) -> Observation {
    let asked = Json::object([
        ("intent", Json::text(attempt.intent.as_str())),
        ("action", Json::text(attempt.order.action.as_str())),
        ("agent", Json::text(attempt.order.agent.as_str())),
        ("params", Json::Object(attempt.params.clone())),
        ("key", Json::text(attempt.key.as_str())),
        ("epoch", Json::from(attempt.epoch)),
        ("doubted", Json::Bool(attempt.doubted)),
        ("undoes", Json::from(attempt.undoes.clone())),
    ]);
    let said = called(function, &asked.to_canonical());
    let said = said.and_then(|text| parsed(&text).map_err(|_| "it gave no JSON back".to_owned()));
    let answer = match said {
        Ok(answer) => answer,
        Err(problem) => return Observation::unknown(problem),
    };
    let text = |key: &str| answer.get(key).and_then(Json::as_text);
    let Some(observed) = text("observed").and_then(read_observed) else {
        return Observation::unknown("it did not say what became of it");
    };
    let detail = text("detail").unwrap_or_default().to_owned();
    let observation = Observation { observed, detail, response: None };
    match text("result") {
        Some(body) => observation.answered(Response {
            status: ResponseStatus::Reported,
            content_type: Some("application/json".to_owned()),
            body: body.as_bytes().to_vec(),
            complete: true,
            secrets: Vec::new(),
        }),
        None => observation,
    }
}

/// The threads that perform what becomes due.
#[derive(Default)]
pub struct Workers {
    running: Mutex<Vec<Worker>>,
}

struct Worker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Workers {
    /// Starts a worker with the executors that are registered now, in place of the one before.
    pub fn start(&self, kept: &Arc<Kept>) -> Result<(), Fault> {
        let mut running = lock(&self.running);
        running.retain(|worker| !worker.thread.is_finished());
        running.iter().for_each(|worker| worker.stop.store(true, Ordering::SeqCst));
        let stop = Arc::new(AtomicBool::new(false));
        let (kept, stopped) = (kept.clone(), stop.clone());
        let work = move || serve(&kept, &stopped);
        let thread = std::thread::Builder::new().name("executor".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Fault::usage(format!("no thread for the executors: {error}")))?;
        running.push(Worker { stop, thread });
        Ok(())
    }

    /// Ends all of them and waits for what they have in hand.
    pub fn stop(&self) {
        let running = std::mem::take(&mut *lock(&self.running));
        running.iter().for_each(|worker| worker.stop.store(true, Ordering::SeqCst));
        for worker in running {
            // One that panicked has nothing left to finish.
            let _ = worker.thread.join();
        }
    }

    /// Ends all of them without waiting.
    pub fn stop_later(&self) {
        lock(&self.running).iter().for_each(|worker| worker.stop.store(true, Ordering::SeqCst));
    }
}

/// Performs until it is told to stop; a store that cannot be reached is tried again.
fn serve(kept: &Kept, stop: &AtomicBool) {
    let options = Options {
        worker: format!("python@{}@{}", std::process::id(), Minted::id()),
        clock: Arc::new(SystemClock),
        lease: None,
        threads: 1,
        pause: PAUSE,
        once: false,
        waits: Arc::new(|_, _| {}),
        away: Arc::new(|_| {}),
        performed: Arc::new(|_| {}),
    };
    let executors = kept.callbacks.executors();
    while !stop.load(Ordering::SeqCst) {
        let halt = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) && !halt.load(Ordering::SeqCst) {
                    std::thread::sleep(PAUSE);
                }
                halt.store(true, Ordering::SeqCst);
            });
            let _ = execute::run(kept.keeper.runtime(), &executors, &options, &halt);
            halt.store(true, Ordering::SeqCst);
        });
        std::thread::sleep(PAUSE);
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
