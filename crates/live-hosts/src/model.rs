//! A model on this machine that plays a script and keeps what it hears back.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;
mod turn;

use crate::script::{SUBAGENT, Script, ToolCall};
use anyhow::{Context, Result};
use http::{Answer, Request};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use turn::{Reply, Turn};

/// What a page of the model's own says to whoever fetches it: a script that would leave a mark outside of the workspace.
pub const PAGE: &str = "/page";

/// How long a subagent is waited for; where its start was refused there is none.
const SUBAGENT_TIME: Duration = Duration::from_secs(10);

/// What the model was told.
#[derive(Clone, Default, Debug)]
pub struct Heard {
    /// What came back from each call of the agent, in order.
    pub main: Vec<String>,
    /// The same for its subagent.
    pub subagent: Vec<String>,
    /// How long each call of the agent took.
    pub took: Vec<Duration>,
    /// What the agent may call.
    pub tools: Vec<String>,
    /// Requests that nothing here answers.
    pub unknown: Vec<String>,
}

/// A conversation as far as it went.
#[derive(Default)]
struct Played {
    /// Made once, so that a repeated request does nothing twice.
    calls: Vec<(ToolCall, Instant)>,
    results: Vec<(String, Instant)>,
}

struct State {
    script: Script,
    page: String,
    main: Mutex<Played>,
    subagent: Mutex<Played>,
    rest: Mutex<Heard>,
    number: AtomicU64,
    is_over: AtomicBool,
}

/// The model while it serves.
pub struct Model {
    pub port: u16,
    state: Arc<State>,
}

impl Model {
    /// Begins to serve on a free port, so that hosts can be told of it before their script is known.
    pub fn listen() -> Result<(TcpListener, u16)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening on loopback")?;
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    }

    /// Plays a script.
    pub fn play(listener: TcpListener, port: u16, script: Script, page: String) -> Model {
        let state = Arc::new(State {
            script,
            page,
            main: Mutex::default(),
            subagent: Mutex::default(),
            rest: Mutex::default(),
            number: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&serving);
                std::thread::spawn(move || stream.and_then(|stream| state.serve(&stream)));
            }
        });
        Model { port, state }
    }

    /// What was heard.
    pub fn heard(&self) -> Heard {
        let results = |played: &Mutex<Played>| -> Vec<String> {
            let played = played.lock().unwrap_or_else(PoisonError::into_inner);
            played.results.iter().map(|(text, _)| text.clone()).collect()
        };
        let mut heard = self.state.rest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        heard.main = results(&self.state.main);
        heard.subagent = results(&self.state.subagent);
        let main = self.state.main.lock().unwrap_or_else(PoisonError::into_inner);
        let both = main.calls.iter().zip(&main.results);
        heard.took = both.map(|((_, made), (_, came))| came.saturating_duration_since(*made)).collect();
        heard
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        // Whoever waits for a connection looks at the word once more.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl State {
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let Some(request) = http::read(stream)? else { return Ok(()) };
        http::send(stream, &self.answer(&request))
    }

    fn answer(&self, request: &Request) -> Answer {
        let path = request.path.as_str();
        if request.method != "POST" {
            return self.page(path);
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
            Answer::json(&json!({ "input_tokens": 10, "totalTokens": 10 }))
        } else if path.ends_with("/messages") {
            anthropic::write(&body, &self.reply(anthropic::read(&body)), number)
        } else if path.ends_with("/responses") {
            responses::write(&body, &self.reply(responses::read(&body)), number)
        } else if path.ends_with("/chat/completions") {
            chat::write(&body, &self.reply(chat::read(&body)), number)
        } else if path.contains("enerateContent") {
            gemini::write(&self.reply(gemini::read(&body)), path.contains("stream"))
        } else {
            let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
            rest.unknown.push(format!("POST {path}"));
            Answer { status: 404, ..Answer::json(&json!({ "error": { "message": "unknown" } })) }
        }
    }

    fn page(&self, path: &str) -> Answer {
        if path.starts_with(PAGE) {
            return Answer { status: 200, kind: "text/plain", body: self.page.clone() };
        }
        if path.contains("models") {
            let models = json!({ "object": "list", "data": [{ "id": "live", "object": "model" }], "models": [] });
            return Answer::json(&models);
        }
        Answer { status: 404, ..Answer::json(&json!({ "error": "unknown" })) }
    }

    /// A subagent that works beside its parent comes to its end before the parent goes on; a parent that ends takes it along.
    fn wait_for_subagent(&self, heard: usize) {
        let has_handed_on = || {
            let main = self.main.lock().unwrap_or_else(PoisonError::into_inner);
            let last = heard.checked_sub(1).and_then(|last| main.calls.get(last));
            last.is_some_and(|(call, _)| call.arguments().contains(SUBAGENT))
        };
        let is_done = || {
            let subagent = self.subagent.lock().unwrap_or_else(PoisonError::into_inner);
            subagent.results.len() >= self.script.subagent.len()
        };
        let begun = Instant::now();
        while has_handed_on() && !is_done() && begun.elapsed() < SUBAGENT_TIME {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The next call of a conversation, or its end.
    fn reply(&self, turn: Turn) -> Reply {
        if let Some(aside) = turn.aside {
            return Reply::Text(aside);
        }
        let is_subagent = turn.is_of_subagent();
        let (steps, played) =
            if is_subagent { (&self.script.subagent, &self.subagent) } else { (&self.script.main, &self.main) };
        if !is_subagent && turn.results.is_empty() {
            self.rest.lock().unwrap_or_else(PoisonError::into_inner).tools.clone_from(&turn.tools);
        }
        let locked = || played.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut played = locked();
            let fresh = turn.results.iter().skip(played.results.len()).cloned();
            let fresh: Vec<_> = fresh.map(|result| (result, Instant::now())).collect();
            played.results.extend(fresh);
        }
        if !is_subagent {
            self.wait_for_subagent(turn.results.len());
        }
        let mut played = locked();
        let index = turn.results.len();
        let Some(step) = steps.get(index) else { return Reply::Text("DONE".to_owned()) };
        if played.calls.len() <= index {
            let call = step(&turn.results);
            played.calls.push((call, Instant::now()));
        }
        match played.calls.get(index) {
            Some((call, _)) => Reply::Call(index, call.clone()),
            None => Reply::Text("DONE".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{after, step};
    use std::io::{Read, Write};

    /// What the model answers to a request, as a client on this machine hears it.
    fn ask(port: u16, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let body = body.to_string();
        let head = format!("POST {path}?beta=true HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn messages(results: &[&str]) -> Value {
        let mut messages = vec![json!({ "role": "user", "content": "go" })];
        for result in results {
            let block = json!({ "type": "tool_result", "content": [{ "type": "text", "text": result }] });
            messages.push(json!({ "role": "user", "content": [block] }));
        }
        json!({ "model": "m", "messages": messages, "tools": [{ "name": "Bash" }, { "name": "Read" }] })
    }

    #[test]
    fn a_script_is_played_step_by_step_and_a_repeated_request_does_nothing_twice() {
        let deeds = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&deeds);
        let deed = move |heard: &[String]| {
            assert_eq!(heard, ["first result"]);
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let call = |name: &str| ToolCall::new(name, json!({ "command": "ls" }));
        let script = Script::of(vec![step(call("Bash")), after(deed, call("Read"))]);
        let (listener, port) = Model::listen().unwrap();
        let model = Model::play(listener, port, script, String::new());
        assert!(ask(port, "/v1/messages", &messages(&[])).contains(r#""name":"Bash""#));
        for _ in 0..2 {
            assert!(ask(port, "/v1/messages", &messages(&["first result"])).contains(r#""name":"Read""#));
        }
        assert!(ask(port, "/v1/messages", &messages(&["first result", "second"])).contains("DONE"));
        let heard = model.heard();
        assert_eq!(
            (heard.main, deeds.load(Ordering::SeqCst)),
            (vec!["first result".to_owned(), "second".to_owned()], 1)
        );
        assert_eq!((heard.tools.len(), heard.took.len()), (2, 2));
    }

    #[test]
    fn every_interface_tells_results_and_hears_calls() {
        let tools = json!([{ "name": "a", "function": { "name": "a" } }, { "name": "b", "function": { "name": "b" } }]);
        let anthropic = messages(&["result"]);
        let responses = json!({ "tools": tools, "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "go" }] },
            { "type": "function_call", "name": "a" }, { "type": "function_call_output", "output": "result" },
        ] });
        let chat = json!({ "tools": tools, "messages": [
            { "role": "user", "content": "go" }, { "role": "assistant", "tool_calls": [{ "id": "1" }] },
            { "role": "tool", "content": "result" },
        ] });
        let gemini = json!({ "tools": [{ "functionDeclarations": tools }], "contents": [
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "user", "parts": [{ "functionResponse": { "response": "result" } }] },
        ] });
        let turns =
            [anthropic::read(&anthropic), responses::read(&responses), chat::read(&chat), gemini::read(&gemini)];
        for turn in turns {
            assert_eq!((turn.tools.len(), turn.said.as_str(), turn.aside.as_deref()), (2, "go", None), "{turn:?}");
            assert_eq!(turn.results.len(), 1, "{turn:?}");
            assert!(turn.results.iter().all(|text| text.contains("result")), "{turn:?}");
        }
        let call = Reply::Call(3, ToolCall::new("touch", json!({ "target": "x" })));
        let streamed = json!({ "stream": true, "model": "m" });
        let answers = [
            anthropic::write(&streamed, &call, 1),
            responses::write(&streamed, &call, 1),
            chat::write(&streamed, &call, 1),
            gemini::write(&call, true),
        ];
        for answer in answers {
            assert_eq!(answer.kind, "text/event-stream");
            assert!(answer.body.contains("touch") && answer.body.contains("target"), "{}", answer.body);
        }
    }

    #[test]
    fn a_subagent_is_known_by_what_it_was_told() {
        let told = Turn { said: format!("{}: go", SUBAGENT), ..Turn::default() };
        assert!(told.is_of_subagent());
        // Its parent hears the word as well, when it is told what became of the task that it handed on.
        let parent = Turn { called: told.said.clone(), said: told.said, ..Turn::default() };
        assert!(!parent.is_of_subagent());
    }
}
