//! What a session did lately, beside the store: enough to match results with calls and for detectors to look at.
//!
//! The ledger is the truth; this file only saves searching it. What it loses is a detector's silence.

use super::place::Guard;
use super::session_line::Line;
use super::ticket::Ticket;
use crate::hooks::Host;
use kernel::detectors::{
    Seen, Signal, Thresholds, breaker, dangling_intent, efficiency, liveness, noop_streak, precursor, productivity,
    scope, stall,
};
use kernel::enforcement::gating::Confidence;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::SystemTime;
use values::decimal::Decimal;
use values::ids::{Digest, identifier_problem};
use values::json::Json;
use values::time::{Duration, Instant};

/// How much of the end of a session is looked at.
const LOOKED_AT_BYTES: u64 = 64 * 1024;

/// Questions of a session that are looked through for one that was answered.
const QUESTIONS_MAX: usize = 8;

/// The memory of one session.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    lines: Vec<Line>,
    thresholds: Thresholds,
    /// Names the call that is being judged, by this process or by a daemon.
    ticket: Ticket,
}

/// A call that was let through or asked about and has no result yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The intent to settle.
    pub intent: Option<String>,
    /// The proposal in question, if a person was asked.
    pub asked: Option<String>,
}

impl Session {
    /// The session of a host, as far as it is remembered.
    pub fn open(guard: &Guard, name: &str, thresholds: Thresholds, ticket: &Ticket) -> Session {
        let path = path_of(guard, name);
        let lines = tail(&path).unwrap_or_default();
        Session { path, lines, thresholds, ticket: ticket.clone() }
    }

    /// A session that leaves nothing behind.
    pub fn fleeting(thresholds: Thresholds, ticket: &Ticket) -> Session {
        Session { path: PathBuf::new(), lines: Vec::new(), thresholds, ticket: ticket.clone() }
    }

    /// Digest of a call's arguments.
    pub fn arguments(input: &values::json::Object) -> String {
        Digest::of(Json::Object(input.clone()).to_canonical()).to_string()
    }

    /// Remembers a call that may run.
    pub fn called(&mut self, id: &str, arguments: &str, action: &str, open: &OpenCall) {
        self.remember(Json::object([
            ("is", Json::text("call")),
            ("id", Json::text(id)),
            ("arguments", Json::text(arguments)),
            ("action", Json::text(action)),
            ("intent", Json::from(open.intent.clone())),
            ("asked", Json::from(open.asked.clone())),
        ]));
    }

    /// Remembers the digests of the files that a call would run, and whether a person was asked about it.
    pub fn looked_into(&mut self, arguments: &str, contents: &[String], is_asked: bool) {
        if !contents.is_empty() {
            self.remember(Json::object([
                ("is", Json::text("contents")),
                ("arguments", Json::text(arguments)),
                ("contents", Json::text(contents.join(" "))),
                ("asked", Json::Bool(is_asked)),
            ]));
        }
    }

    /// Remembers the question that was asked about a call.
    pub fn waits(&mut self, tool: &str, arguments: &str, question: &str) {
        self.remember(Json::object([
            ("is", Json::text("question")),
            ("tool", Json::text(tool)),
            ("arguments", Json::text(arguments)),
            ("question", Json::text(question)),
        ]));
    }

    /// Questions that were asked about a tool, or about this very call of it; the latest first.
    pub fn questions(&self, tool: &str, arguments: Option<&str>) -> impl Iterator<Item = String> {
        let is_it = move |line: &&Line| {
            line.kind() == "question"
                && line.text("tool").as_deref() == Some(tool)
                && arguments.is_none_or(|arguments| line.text("arguments").as_deref() == Some(arguments))
        };
        let found = self.lines.iter().rev().filter(is_it).take(QUESTIONS_MAX);
        found.filter_map(|line| line.text("question").map(|name| name.into_owned()))
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
        let counts = self.failures();
        let counts = if failed { counts.failed() } else { counts.succeeded() };
        let line = Json::object([
            ("is", Json::text("result")),
            ("tool", Json::text(tool)),
            ("arguments", Json::text(arguments)),
            ("result", Json::from(result.map(|(digest, _)| digest.to_string()))),
            ("bytes", Json::from(result.map_or(0, |(_, bytes)| bytes as u64))),
            ("failed", Json::Bool(failed)),
            ("effect", Json::Bool(effect)),
            // The end of a long session alone is read, so its counts go on in every line.
            ("failures_in_a_row", Json::from(counts.consecutive)),
            ("failures", Json::from(counts.total)),
        ]);
        self.remember(line);
    }

    /// Remembers that the agent wanted to stop, or that a person typed something.
    pub fn turned(&mut self, what: &str) {
        self.remember(Json::object([("is", Json::text(what))]));
    }

    /// Once for each call, also if a daemon was asked about it before.
    fn remember(&mut self, line: Json) {
        let line = match line {
            Json::Object(mut members) => {
                members.insert("ticket".to_owned(), Json::text(self.ticket.id.as_str()));
                members.insert("at".to_owned(), Json::Number(Decimal::from(self.ticket.at.micros())));
                Json::Object(members)
            }
            other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_)) => other,
        };
        let line = Line::new(line.to_canonical());
        if line.moment().is_some() && self.lines.iter().any(|known| known.moment() == line.moment()) {
            return;
        }
        self.append(&line);
        self.lines.push(line);
    }

    /// The latest call with this id, or with these arguments where hosts give no ids.
    pub fn find(&self, id: Option<&str>, arguments: &str) -> Option<OpenCall> {
        let fits = |line: &&Line| match id {
            Some(id) => line.text("id").as_deref() == Some(id),
            None => line.text("arguments").as_deref() == Some(arguments),
        };
        let text = |line: &Line, key: &str| line.text(key).map(|text| text.into_owned());
        let mut calls = self.lines.iter().rev().filter(|line| line.kind() == "call");
        calls.find(fits).map(|line| OpenCall { intent: text(line, "intent"), asked: text(line, "asked") })
    }

    /// Stops refused since a person last typed something.
    pub fn stops_refused(&self) -> u64 {
        let since = self.lines.iter().rev().take_while(|line| line.kind() != "prompt");
        since.filter(|line| line.kind() == "stop-refused").count() as u64
    }

    /// The same call with the same result again and again, as far as this call goes on with it.
    pub fn stall(&self, tool: &str, arguments: &str) -> Signal {
        let last = self.results().filter_map(step).next_back();
        let repeats = last.is_some_and(|last| last.tool == tool && Some(last.arguments) == Digest::parse(arguments));
        let steps = if repeats { self.results().filter_map(step).collect() } else { Vec::new() };
        let seen = Seen { stall: stall::Evidence { steps }, ..Seen::default() };
        self.signal("stall", &seen)
    }

    /// Failures in a row and in all.
    pub fn breaker(&self) -> Signal {
        self.signal("breaker", &Seen { breaker: self.failures(), ..Seen::default() })
    }

    fn failures(&self) -> breaker::Evidence {
        let fold = |counts: breaker::Evidence, line: &Line| match (
            line.count("failures_in_a_row"),
            line.count("failures"),
            line.flag("failed"),
        ) {
            (Some(consecutive), Some(total), _) => breaker::Evidence { consecutive, total },
            (_, _, Some(true)) => counts.failed(),
            (_, _, Some(false)) => counts.succeeded(),
            (_, _, None) => counts,
        };
        self.results().fold(breaker::Evidence::default(), fold)
    }

    /// Whether this turn moves anything. A call that comes in is a sign of life, a person who types is none.
    pub fn liveness(&self, is_sign: bool) -> Signal {
        let moment = |line: &Line| line.count("at").and_then(|at| i64::try_from(at).ok()).map(Instant::from_micros);
        let since = |then: Instant| Duration::from_micros(self.ticket.at.micros().saturating_sub(then.micros()));
        let turn = self.lines.iter().rposition(|line| line.kind() == "prompt").unwrap_or(0);
        let lines = self.lines.get(turn..).unwrap_or_default();
        let effects = lines.iter().filter(|line| line.flag("effect") == Some(true)).count() as u64;
        let last_sign = lines.iter().rev().find_map(moment).map(since);
        let evidence = liveness::Evidence {
            age: lines.iter().find_map(moment).map(since),
            // A commit is an effect of some call.
            commits: 0,
            effects,
            last_sign: if is_sign { Some(Duration::from_micros(0)) } else { last_sign },
            process: None,
        };
        self.signal("liveness", &Seen { liveness: evidence, ..Seen::default() })
    }

    /// Whether what a call writes lies in the tree that the contract declares.
    pub fn scope(&self, root: String, touched: Vec<String>) -> Signal {
        self.signal("scope", &Seen { scope: scope::Evidence { root, touched }, ..Seen::default() })
    }

    /// Remembers what the agent is to be told when a person types again.
    pub fn note(&mut self, said: &str) {
        self.remember(Json::object([("is", Json::text("note")), ("said", Json::text(said))]));
    }

    /// What the agent was to be told since a person last typed.
    pub fn notes(&self) -> Vec<String> {
        let since = self.lines.iter().rev().take_while(|line| line.kind() != "prompt");
        let said = since.filter(|line| line.kind() == "note").filter_map(|line| line.text("said"));
        let mut notes: Vec<String> = said.map(|said| said.into_owned()).collect();
        notes.reverse();
        notes
    }

    /// Whether a stop was held up since a person last typed something.
    pub fn was_held(&self) -> bool {
        let mut since = self.lines.iter().rev().take_while(|line| line.kind() != "prompt");
        since.any(|line| line.kind() == "stop-held")
    }

    /// Turns that ended without any effect.
    pub fn noop_streak(&self) -> Signal {
        let mut noop_turns = 0;
        let mut moved = false;
        for line in &self.lines {
            match line.kind() {
                "result" => moved |= line.flag("effect") == Some(true),
                "stop-refused" => {
                    noop_turns = if moved { 0 } else { noop_turns + 1 };
                    moved = false;
                }
                _ => {}
            }
        }
        let evidence = noop_streak::Evidence { noop_turns: if moved { 0 } else { noop_turns } };
        self.signal("noop_streak", &Seen { noop_streak: evidence, ..Seen::default() })
    }

    /// Whether a lookup is missing before this change.
    pub fn precursor(&self, tool: &str, is_mutating: bool) -> Signal {
        let prior = |line: &Line| {
            let ended = match line.flag("failed") {
                Some(true) => precursor::Ended::Failed,
                Some(false) => precursor::Ended::Succeeded,
                None => precursor::Ended::Unknown,
            };
            Some(precursor::Prior { tool: line.text("tool")?.into_owned(), ended })
        };
        let prior = self.results().filter_map(prior).collect();
        let evidence = precursor::Evidence { tool: tool.to_owned(), is_mutating, prior };
        self.signal("precursor", &Seen { precursor: evidence, ..Seen::default() })
    }

    /// What each call brought, and what all of them took. Hosts tell neither work nor tokens: the bytes of a result
    /// that was not there before are work, and four bytes of any result count as a token.
    pub fn yields(&self) -> [Signal; 2] {
        let (mut known, mut deltas, mut bytes) = (BTreeSet::new(), Vec::new(), 0_u64);
        for line in self.results() {
            let length = line.count("bytes").unwrap_or(0);
            let is_new = line.text("result").is_some_and(|digest| known.insert(digest));
            deltas.push(if is_new { length } else { 0 });
            bytes = bytes.saturating_add(length);
        }
        let spent = efficiency::Evidence { work: deltas.iter().sum(), tokens: bytes / 4 };
        let seen = Seen { productivity: productivity::Evidence { deltas }, efficiency: spent, ..Default::default() };
        [self.signal("productivity", &seen), self.signal("efficiency", &seen)]
    }

    /// Whether the agent announced something and stops without it.
    pub fn dangling_intent(&self, last_words: &str) -> Signal {
        let evidence = dangling_intent::Evidence { text: last_words.to_owned(), results_after: 0 };
        self.signal("dangling_intent", &Seen { dangling_intent: evidence, ..Seen::default() })
    }

    fn signal(&self, name: &str, seen: &Seen) -> Signal {
        let quiet = Signal {
            detector: "none",
            state: "QUIET",
            confidence: Confidence::None,
            rung: None,
            reason: String::new(),
            details: Json::Null,
        };
        let detector = kernel::detectors::DETECTORS.iter().find(|detector| detector.name == name);
        detector.map_or(quiet, |detector| (detector.judge)(seen, &self.thresholds))
    }

    fn results(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter().filter(|line| line.kind() == "result")
    }

    /// Written without waiting for the disk: what is lost here is lost only for detectors.
    fn append(&self, line: &Line) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        let open = || {
            demand_file(&self.path)?;
            OpenOptions::new().create(true).append(true).open(&self.path)
        };
        let file = open().or_else(|_| {
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            open()
        });
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{}\n", line.as_text()).as_bytes());
        }
    }
}

fn step(line: &Line) -> Option<stall::Step> {
    let digest = |key: &str| line.text(key).and_then(|text| Digest::parse(&text));
    let tool = line.text("tool")?.into_owned();
    Some(stall::Step { tool, arguments: digest("arguments")?, result: digest("result") })
}

/// What a session has settled about files that were run.
#[derive(Default, Debug)]
pub struct Settled {
    /// Digests of contents that a person let run.
    pub digests: BTreeSet<String>,
    /// When the session began.
    pub began: Option<SystemTime>,
}

/// What the session of a name has settled: a question about a content is settled when the call it was asked about ran.
pub fn settled(guard: &Guard, name: &str) -> Settled {
    let path = path_of(guard, name);
    let began = std::fs::metadata(&path).ok().and_then(|about| about.created().ok());
    let lines = tail(&path).unwrap_or_default();
    let (mut open, mut digests) = (BTreeMap::new(), BTreeSet::new());
    for line in &lines {
        let Some(arguments) = line.text("arguments") else { continue };
        match line.kind() {
            "contents" if line.flag("asked") == Some(true) => {
                open.insert(arguments, line.text("contents").unwrap_or_default());
            }
            "contents" => _ = open.remove(&arguments),
            "result" => {
                let contents = open.remove(&arguments).unwrap_or_default();
                digests.extend(contents.split_whitespace().map(str::to_owned));
            }
            _ => {}
        }
    }
    Settled { digests, began }
}

/// What the session of a host is called: the host's word, and its own id for the session.
pub fn session_name(host: Host, session: &str) -> String {
    let name = format!("{}:{session}", host.word);
    if identifier_problem(&name).is_none() {
        return name;
    }
    format!("{}:{}", host.word, Digest::of(session).to_uuid_text())
}

fn path_of(guard: &Guard, name: &str) -> PathBuf {
    guard.sessions().join(format!("{}.jsonl", Digest::of(name).to_uuid_text()))
}

/// Refuses anything but a regular file: reading a pipe could block until the host gives up.
fn demand_file(path: &std::path::Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(std::io::Error::from(std::io::ErrorKind::InvalidInput)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The last lines that are whole.
fn tail(path: &std::path::Path) -> std::io::Result<Vec<Line>> {
    demand_file(path)?;
    let mut file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let start = size.saturating_sub(LOOKED_AT_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::with_capacity(usize::try_from(size - start).unwrap_or_default() + 1);
    file.take(LOOKED_AT_BYTES).read_to_end(&mut bytes)?;
    let text =
        String::from_utf8(bytes).unwrap_or_else(|damaged| String::from_utf8_lossy(damaged.as_bytes()).into_owned());
    let cut = usize::from(start > 0);
    let lines: Vec<Line> = text.lines().skip(cut).map(|line| Line::new(line.to_owned())).collect();
    // Two processes that judged one call at the same time have both written it.
    let mut moments = HashSet::with_capacity(lines.len());
    let is_first: Vec<bool> =
        lines.iter().map(|line| line.moment().is_none_or(|moment| moments.insert(moment))).collect();
    Ok(lines.into_iter().zip(is_first).filter_map(|(line, is_first)| is_first.then_some(line)).collect())
}
