//! What a session did lately, beside the store: enough to match results with calls and for detectors to look at.
//!
//! The ledger is the truth; this file only saves searching it. What it loses is a detector's silence.

use super::place::Guard;
use kernel::detectors::{
    Signal, Thresholds, breaker, dangling_intent, efficiency, noop_streak, precursor, productivity, stall,
};
use kernel::ids::Digest;
use kernel::json::Json;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// How much of the end of a session is looked at.
const LOOKED_AT_BYTES: u64 = 64 * 1024;

/// Lines between two of one call: a second answer comes within seconds.
const REPEATED_WITHIN: usize = 64;

/// The memory of one session.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    lines: Vec<Json>,
    thresholds: Thresholds,
    /// Names the call that is being judged, whoever judges it.
    ticket: String,
}

/// A call that was let through or asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// The intent to settle.
    pub intent: Option<String>,
    /// The proposal in question, if a person was asked.
    pub asked: Option<String>,
}

impl Session {
    /// The session of a host, as far as it is remembered.
    pub fn open(guard: &Guard, name: &str, thresholds: Thresholds, ticket: &str) -> Session {
        let path = guard.sessions().join(format!("{}.jsonl", Digest::of(name).to_uuid_text()));
        let lines = tail(&path).unwrap_or_default();
        Session { path, lines, thresholds, ticket: ticket.to_owned() }
    }

    /// Digest of a call's arguments.
    pub fn arguments(input: &kernel::json::Object) -> String {
        Digest::of(Json::Object(input.clone()).to_canonical()).to_string()
    }

    /// Remembers a call that may run.
    pub fn called(&mut self, id: &str, arguments: &str, action: &str, open: &Open) {
        self.remember(Json::object([
            ("is", Json::text("call")),
            ("id", Json::text(id)),
            ("arguments", Json::text(arguments)),
            ("action", Json::text(action)),
            ("intent", Json::from(open.intent.clone())),
            ("asked", Json::from(open.asked.clone())),
        ]));
    }

    /// Remembers what a call returned.
    pub fn returned(
        &mut self,
        tool: &str,
        arguments: &str,
        result: Option<(Digest, usize)>,
        failed: bool,
        effect: bool,
    ) {
        let line = Json::object([
            ("is", Json::text("result")),
            ("tool", Json::text(tool)),
            ("arguments", Json::text(arguments)),
            ("result", Json::from(result.map(|(digest, _)| digest.to_string()))),
            ("bytes", Json::from(result.map_or(0, |(_, bytes)| bytes as u64))),
            ("failed", Json::Bool(failed)),
            ("effect", Json::Bool(effect)),
        ]);
        self.remember(line);
    }

    /// Remembers that the agent wanted to stop, or that a person typed something.
    pub fn turned(&mut self, what: &str) {
        self.remember(Json::object([("is", Json::text(what))]));
    }

    /// Once for each call, also if a daemon was asked about it before.
    fn remember(&mut self, line: Json) {
        if self.lines.iter().any(|known| kind(known) == kind(&line) && ticket(known) == Some(&self.ticket)) {
            return;
        }
        let line = match line {
            Json::Object(mut members) => {
                members.insert("ticket".to_owned(), Json::text(self.ticket.as_str()));
                Json::Object(members)
            }
            other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_)) => other,
        };
        self.append(&line);
        self.lines.push(line);
    }

    /// The latest call with this id, or with these arguments where hosts give no ids.
    pub fn find(&self, id: Option<&str>, arguments: &str) -> Option<Open> {
        let text = |line: &Json, key: &str| line.get(key).and_then(Json::as_text).map(str::to_owned);
        let fits = |line: &&Json| match id {
            Some(id) => text(line, "id").as_deref() == Some(id),
            None => text(line, "arguments").as_deref() == Some(arguments),
        };
        let mut calls = self.lines.iter().rev().filter(|line| kind(line) == "call");
        calls.find(fits).map(|line| Open { intent: text(line, "intent"), asked: text(line, "asked") })
    }

    /// Stops refused since a person last typed something.
    pub fn stops_refused(&self) -> u64 {
        let since = self.lines.iter().rev().take_while(|line| kind(line) != "prompt");
        since.filter(|line| kind(line) == "stop-refused").count() as u64
    }

    /// The same call with the same result again and again, as far as this call goes on with it.
    pub fn stall(&self, tool: &str, arguments: &str) -> Signal {
        let mut steps = self.steps();
        let repeats =
            steps.last().is_some_and(|last| last.tool == tool && Some(last.arguments) == Digest::parse(arguments));
        if !repeats {
            steps.clear();
        }
        let seen = kernel::detectors::Seen { stall: stall::Evidence { steps }, ..Default::default() };
        self.signal("stall", &seen)
    }

    /// Failures in a row and in all.
    pub fn breaker(&self) -> Signal {
        let fold = |counts: breaker::Evidence, line: &Json| match line.get("failed").and_then(Json::as_bool) {
            Some(true) => counts.failed(),
            Some(false) => counts.succeeded(),
            None => counts,
        };
        let evidence = self.lines.iter().fold(breaker::Evidence::default(), fold);
        self.signal("breaker", &kernel::detectors::Seen { breaker: evidence, ..Default::default() })
    }

    /// Turns that ended without any effect.
    pub fn noop_streak(&self) -> Signal {
        let mut noop_turns = 0;
        let mut moved = false;
        for line in &self.lines {
            match kind(line) {
                "result" => moved |= line.get("effect").and_then(Json::as_bool) == Some(true),
                "stop-refused" => {
                    noop_turns = if moved { 0 } else { noop_turns + 1 };
                    moved = false;
                }
                _ => {}
            }
        }
        let evidence = noop_streak::Evidence { noop_turns: if moved { 0 } else { noop_turns } };
        self.signal("noop_streak", &kernel::detectors::Seen { noop_streak: evidence, ..Default::default() })
    }

    /// Whether a lookup is missing before this change.
    pub fn precursor(&self, tool: &str, is_mutating: bool) -> Signal {
        let prior = |line: &Json| {
            let ended = match line.get("failed").and_then(Json::as_bool) {
                Some(true) => precursor::Ended::Failed,
                Some(false) => precursor::Ended::Succeeded,
                None => precursor::Ended::Unknown,
            };
            Some(precursor::Prior { tool: line.get("tool").and_then(Json::as_text)?.to_owned(), ended })
        };
        let prior = self.lines.iter().filter(|line| kind(line) == "result").filter_map(prior).collect();
        let evidence = precursor::Evidence { tool: tool.to_owned(), is_mutating, prior };
        self.signal("precursor", &kernel::detectors::Seen { precursor: evidence, ..Default::default() })
    }

    /// What each call brought, and what all of them took. Hosts tell neither work nor tokens: the bytes of a result
    /// that was not there before are work, and four bytes of any result count as a token.
    pub fn yields(&self) -> [Signal; 2] {
        let (mut known, mut deltas, mut bytes) = (BTreeSet::new(), Vec::new(), 0_u64);
        for line in self.lines.iter().filter(|line| kind(line) == "result") {
            let length = line.get("bytes").and_then(Json::as_number).and_then(|number| number.to_i64());
            let length = length.and_then(|length| u64::try_from(length).ok()).unwrap_or(0);
            let is_new = line.get("result").and_then(Json::as_text).is_some_and(|digest| known.insert(digest));
            deltas.push(if is_new { length } else { 0 });
            bytes = bytes.saturating_add(length);
        }
        let spent = efficiency::Evidence { work: deltas.iter().sum(), tokens: bytes / 4 };
        let seen = kernel::detectors::Seen {
            productivity: productivity::Evidence { deltas },
            efficiency: spent,
            ..Default::default()
        };
        [self.signal("productivity", &seen), self.signal("efficiency", &seen)]
    }

    /// Whether the agent announced something and stops without it.
    pub fn dangling_intent(&self, last_words: &str) -> Signal {
        let evidence = dangling_intent::Evidence { text: last_words.to_owned(), results_after: 0 };
        self.signal("dangling_intent", &kernel::detectors::Seen { dangling_intent: evidence, ..Default::default() })
    }

    fn signal(&self, name: &str, seen: &kernel::detectors::Seen) -> Signal {
        let quiet =
            Signal { detector: "none", state: "QUIET", is_concern: false, reason: String::new(), details: Json::Null };
        let detector = kernel::detectors::DETECTORS.iter().find(|detector| detector.name == name);
        detector.map_or(quiet, |detector| (detector.judge)(seen, &self.thresholds))
    }

    fn steps(&self) -> Vec<stall::Step> {
        let digest = |line: &Json, key: &str| line.get(key).and_then(Json::as_text).and_then(Digest::parse);
        let step = |line: &Json| {
            let tool = line.get("tool").and_then(Json::as_text)?.to_owned();
            Some(stall::Step { tool, arguments: digest(line, "arguments")?, result: digest(line, "result") })
        };
        self.lines.iter().filter(|line| kind(line) == "result").filter_map(step).collect()
    }

    /// Written without waiting for the disk: what is lost here is lost only for detectors.
    fn append(&self, line: &Json) {
        if let Some(folder) = self.path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{}\n", line.to_canonical()).as_bytes());
        }
    }
}

fn kind(line: &Json) -> &str {
    line.get("is").and_then(Json::as_text).unwrap_or_default()
}

fn ticket(line: &Json) -> Option<&str> {
    line.get("ticket").and_then(Json::as_text)
}

/// The last lines that are whole.
fn tail(path: &std::path::Path) -> std::io::Result<Vec<Json>> {
    let mut file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let start = size.saturating_sub(LOOKED_AT_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let cut = usize::from(start > 0);
    let mut lines: Vec<Json> = Vec::new();
    for line in text.lines().skip(cut).filter_map(|line| Json::parse(line.as_bytes()).ok()) {
        // Two who judged one call at the same time both wrote it down.
        let again =
            |known: &Json| ticket(known).is_some() && ticket(known) == ticket(&line) && kind(known) == kind(&line);
        if !lines.iter().rev().take(REPEATED_WITHIN).any(again) {
            lines.push(line);
        }
    }
    Ok(lines)
}
