//! What a worker process does: opens the store, says that it is ready, waits for the word and does its job.

use crate::site::start;
use crate::{kill_loop, mixed_load, paused_store, races};
use runtime::Runtime;
use std::io::Write;
use std::path::Path;
use std::sync::Barrier;
use values::bugs::Bug;

/// Which job a process was started for.
pub const JOB: &str = "WRITKEEPER_TEST_JOB";
/// The store it works on.
pub const FILE: &str = "WRITKEEPER_TEST_FILE";
/// Its number among its fellows.
pub const NUMBER: &str = "WRITKEEPER_TEST_NUMBER";
/// The fault that is switched on in it.
pub const BUG: &str = "WRITKEEPER_TEST_BUG";
/// More to know, for some jobs.
pub const WORDS: &str = "WRITKEEPER_TEST_WORDS";
/// Starts a line of a report; the test harness prints lines of its own.
pub const MARK: &str = "=";

/// What a job has to work with.
pub struct Desk {
    pub runtime: Runtime,
    pub process: usize,
    pub words: String,
}

type Job = fn(&Desk);

const JOBS: &[(&str, Job)] = &[
    ("one_key", races::decisions::one_key_work),
    ("capacity", races::decisions::capacity_work),
    ("questions", races::decisions::questions_work),
    ("retries", races::decisions::retries_work),
    ("handshake", races::registry::handshake_work),
    ("suspension", races::registry::suspension_work),
    ("amendment", races::registry::amendment_work),
    ("session", races::context::session_work),
    ("compare_and_set", races::context::compare_and_set_work),
    ("ended_flow", races::context::ended_flow_work),
    ("leases", races::leases::work),
    ("own_answer", races::people::own_answer_work),
    ("other_bytes", races::people::other_bytes_work),
    ("two_people", races::people::two_people_work),
    ("new_contract", races::people::new_contract_work),
    ("kill_loop", kill_loop::work),
    ("mixed_load", mixed_load::work),
    ("replay", mixed_load::replay_work),
    ("paused_store", paused_store::work),
];

/// Does nothing unless the process was started as a worker.
#[test]
fn worker() {
    let Ok(name) = std::env::var(JOB) else { return };
    let word = |name: &str| std::env::var(name).unwrap_or_default();
    switch_on(&word(BUG));
    let (_, job) = JOBS.iter().find(|(known, _)| *known == name).unwrap();
    let runtime = start(Path::new(&word(FILE)));
    let desk = Desk { runtime, process: word(NUMBER).parse().unwrap(), words: word(WORDS) };
    report(&["ready"]);
    await_word();
    job(&desk);
}

/// Waits until the parent says something; `false` if it has gone.
pub fn await_word() -> bool {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap() > 0
}

/// One line for the parent. It leaves at once and whole, so that killing the process afterwards cannot take it back.
pub fn report(fields: &[&str]) {
    let line = format!("\n{MARK}\t{}\n", fields.join("\t"));
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

/// Does the same on several threads that begin together.
pub fn together<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let start = |thread| {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread)
            })
        };
        let running: Vec<_> = (0..threads).map(start).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// How large a test is; its issue asks for more than every run can spend.
pub fn scale(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Numbers that look random; a test prints where it began.
pub struct Dice(pub u64);

impl Dice {
    /// Below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn switch_on(name: &str) {
    let Some(bug) = Bug::ALL.iter().find(|bug| bug.name() == name) else { return };
    #[cfg(feature = "bugs")]
    values::bugs::everywhere(*bug);
    #[cfg(not(feature = "bugs"))]
    panic!("`{}` cannot be switched on in this build", bug.name());
}
