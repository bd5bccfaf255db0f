//! A provider for tests: a process of its own whose log, synced line by line, is the truth about effects.
//!
//! `fake_provider LOG` prints its port. The address says how it behaves: `/CLASS/HOW`, where CLASS is keyed (recognises
//! keys), fenced (refuses smaller fences) or opaque (neither), and HOW is `ok`, `hang` (applies, then never answers the
//! first), `lost` (applies, then drops the first), `slow` (applies, answers the first after a while), `error` (500 to the
//! first), `refuse` (422), `late` (applies the first only after someone asked whether it did), `away` (redirects). As
//! `/advice` it is a validator that has nothing against anything.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[derive(Default)]
struct State {
    seen: BTreeMap<String, u64>,
    applied: BTreeSet<String>,
    fences: BTreeMap<String, u64>,
    /// Keys whose first request waits, and those whose first request was let go.
    waiting: BTreeSet<String>,
    asked: BTreeSet<String>,
}

struct Provider {
    log: Mutex<File>,
    state: Mutex<State>,
    changed: Condvar,
}

struct Asked {
    class: String,
    how: String,
    key: String,
    fence: u64,
    step: String,
    intent: String,
}

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let log = OpenOptions::new().create(true).append(true).open(path).unwrap();
    let provider = Arc::new(Provider { log: Mutex::new(log), state: Mutex::default(), changed: Condvar::new() });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    for stream in listener.incoming().flatten() {
        let provider = provider.clone();
        std::thread::spawn(move || provider.serve(&stream));
    }
}

impl Provider {
    fn serve(&self, stream: &TcpStream) {
        let Some(asked) = read(stream) else { return };
        if asked.class == "advice" {
            return answer(stream, 200, "{\"verdict\":\"pass\",\"version\":\"1\"}");
        }
        let first = {
            let mut state = self.state.lock().unwrap();
            let seen = state.seen.entry(asked.key.clone()).or_default();
            *seen += 1;
            *seen == 1
        };
        if !asked.step.is_empty() {
            return self.fence(stream, &asked);
        }
        match (asked.how.as_str(), first) {
            ("refuse", _) => answer(stream, 422, "{}"),
            ("error", true) => answer(stream, 500, "{}"),
            ("away", _) => answer(stream, 307, "{}"),
            ("hang", true) => {
                self.apply(&asked);
                std::thread::sleep(Duration::from_secs(600));
            }
            ("lost", true) => {
                self.apply(&asked);
            }
            ("slow", true) => {
                let status = self.apply(&asked);
                std::thread::sleep(Duration::from_secs(2));
                answer(stream, status, "{}");
            }
            ("late", true) => self.apply_late(&asked),
            ("late", false) => {
                self.until(|state| !state.waiting.contains(&asked.key));
                answer(stream, self.apply(&asked), "{}");
            }
            _ => answer(stream, self.apply(&asked), "{}"),
        }
    }

    /// Arrives after somebody has asked whether it did.
    fn apply_late(&self, asked: &Asked) {
        self.state.lock().unwrap().waiting.insert(asked.key.clone());
        self.until(|state| state.asked.contains(&asked.key));
        self.apply(asked);
        self.state.lock().unwrap().waiting.remove(&asked.key);
        self.changed.notify_all();
    }

    fn until(&self, holds: impl Fn(&State) -> bool) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !holds(state)).unwrap());
    }

    /// Says whether the effect is there; `fence` also refuses everything older from now on.
    fn fence(&self, stream: &TcpStream, asked: &Asked) {
        let mut state = self.state.lock().unwrap();
        if asked.step == "fence" {
            let fence = state.fences.entry(asked.key.clone()).or_default();
            *fence = asked.fence.max(*fence);
        }
        let applied = state.applied.contains(&asked.key);
        answer(stream, 200, &format!("{{\"applied\":{applied}}}"));
        state.asked.insert(asked.key.clone());
        drop(state);
        self.changed.notify_all();
    }

    /// Applies as its class does; the status to answer.
    fn apply(&self, asked: &Asked) -> u16 {
        let mut state = self.state.lock().unwrap();
        if asked.class == "keyed" && state.applied.contains(&asked.key) {
            return 200;
        }
        if asked.class == "fenced" {
            let fence = state.fences.entry(asked.key.clone()).or_default();
            if asked.fence < *fence {
                return 409;
            }
            *fence = asked.fence;
        }
        state.applied.insert(asked.key.clone());
        let mut log = self.log.lock().unwrap();
        writeln!(log, "{} {} {}", asked.key, asked.fence, asked.intent).unwrap();
        log.sync_all().unwrap();
        200
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    Some(Asked {
        class: parts[0].to_owned(),
        how: parts.get(1).copied().unwrap_or("ok").to_owned(),
        key: header("idempotency-key"),
        fence: header("writkeeper-fence").parse().unwrap_or(0),
        step: header("writkeeper-step"),
        intent: header("writkeeper-intent"),
    })
}

fn answer(mut stream: &TcpStream, status: u16, body: &str) {
    let location = if status == 307 { "location: http://127.0.0.1:9/\r\n" } else { "" };
    let text = format!("HTTP/1.1 {status} X\r\n{location}content-length: {}\r\n\r\n{body}", body.len());
    // Whoever asked may be gone.
    let _ = stream.write_all(text.as_bytes());
}
