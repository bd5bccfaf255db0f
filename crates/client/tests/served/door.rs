//! A small HTTP door over the functions that serve calls: enough of the protocol for the client, and four keys.

use kernel::agent::Actor;
use kernel::command::{Door, UnseenFlow};
use kernel::person::Identity;
use runtime::ports::store::StoreFault;
use runtime::wire::call::Call;
use runtime::wire::serve::{self, Caller, RowQuery};
use runtime::wire::{Failure, REPLY_TYPE, reply, rows};
use runtime::{Arrival, Runtime};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use values::json::Json;
use values::time::{Duration, Instant};

/// The key of an operator, of the person `ann`, of the agent `bot` and of a worker.
pub const KEYS: [(&str, &str, &str); 4] = [
    ("wk_default.1.operator", "operator", "root"),
    ("wk_default.2.ann", "approver", "ann"),
    ("wk_default.3.bot", "agent", "bot"),
    ("wk_default.4.worker", "executor", "worker"),
];

/// Seals the store; the lines of the header.
pub type Sealing = Box<dyn Fn() -> Result<String, String> + Send + Sync>;

/// A server at work until it is dropped.
pub struct Served {
    pub address: String,
    connections: Arc<AtomicUsize>,
    site: Arc<Site>,
    stop: Arc<AtomicBool>,
}

struct Site {
    runtime: Runtime,
    seal: Sealing,
}

struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

type Response = (u16, &'static str, Vec<u8>);

impl Served {
    pub fn start(runtime: Runtime, seal: Sealing) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (connections, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let site = Arc::new(Site { runtime, seal });
        let served = Served { address, connections: connections.clone(), site: site.clone(), stop: stop.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let site = site.clone();
                let stream = stream.unwrap();
                std::thread::spawn(move || serve_connection(&site, &stream, &stream));
            }
        });
        served
    }
}

impl Served {
    /// Answers at a Unix socket too.
    pub fn at_socket(&self, path: &Path) {
        let (site, listener) = (self.site.clone(), UnixListener::bind(path).unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (site, stream) = (site.clone(), stream.unwrap());
                std::thread::spawn(move || serve_connection(&site, &stream, &stream));
            }
        });
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address.trim_start_matches("http://"));
    }
}

fn serve_connection(site: &Site, reader: impl Read, mut writer: impl Write) {
    let mut reader = BufReader::new(reader);
    while let Some(request) = read_request(&mut reader) {
        let (status, kind, body) = answer(site, &request);
        let head = format!("HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(&body)).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<impl Read>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), decoded(value)));
    let query = query.split('&').filter_map(pair).collect();
    Some(Request { method, path: path.to_owned(), query, headers, body })
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        match (first, behind.split_at_checked(2)) {
            (b'%', Some((hex, behind))) => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap());
                rest = behind;
            }
            (_, _) => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn answer(site: &Site, request: &Request) -> Response {
    let bearer = request.headers.get("authorization").and_then(|text| text.strip_prefix("Bearer "));
    let known = KEYS.iter().find(|(key, _, _)| bearer == Some(key));
    let Some((_, role, name)) = known else { return problem(401, "KEY_UNKNOWN", "nobody has this key") };
    let served = routed(site, request, role, name);
    served.unwrap_or_else(|failure| match failure {
        Failure::Malformed(detail) => problem(400, "INVALID_DATA", &detail),
        Failure::Missing => problem(404, "NOT_FOUND", "there is no such thing"),
        Failure::Store(StoreFault::Corrupt(detail)) => problem(500, "STORE_DAMAGED", &detail),
        Failure::Store(StoreFault::Refused(detail)) => problem(422, "INVALID_DATA", &detail),
        Failure::Store(
            StoreFault::Unavailable(detail) | StoreFault::Conflict(detail) | StoreFault::Ambiguous(detail),
        ) => problem(503, "UNAVAILABLE", &detail),
    })
}

fn routed(site: &Site, request: &Request, role: &str, name: &str) -> Result<Response, Failure> {
    let runtime = &site.runtime;
    let json = |body: Vec<u8>| (200, "application/json", body);
    let number = |key: &str, usual: u64| request.query.get(key).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let limit = usize::try_from(number("limit", 100)).unwrap();
    let parts: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
    let is_agent = role == "agent";
    Ok(match (request.method.as_str(), &parts[..]) {
        ("GET", ["v1", "whoami"]) => {
            let told =
                [("tenant", "default"), ("role", role), ("name", name)].map(|(key, text)| (key, Json::text(text)));
            json(Json::object(told).to_canonical().into_bytes())
        }
        ("POST", ["v1", "proposals"]) => proposed(runtime, request)?,
        ("GET", ["v1", "follow"]) => {
            let wait = request.query.get("wait").map_or(Duration::from_secs(0), |text| Duration::parse(text).unwrap());
            let deadline = std::time::Instant::now() + std::time::Duration::from_micros(wait.micros().unsigned_abs());
            let id = |key: &str| request.query.get(key).map(String::as_str);
            json(serve::follow(runtime, id("question"), id("intent"), deadline)?)
        }
        (_, _) if is_agent => problem(403, "FORBIDDEN", "agents see only their own"),
        ("POST", ["v1", "changes"]) => {
            let body = serve::change(runtime, &caller(role, name), Call::read(&request.body)?)?;
            (200, REPLY_TYPE, body)
        }
        ("GET", ["v1", "rows", kind]) => {
            let due = request.query.get("due").map(|micros| Instant::from_micros(micros.parse().unwrap()));
            let query = RowQuery { after: request.query.get("after").cloned(), limit, due, ..RowQuery::default() };
            json(rows::write_page(&serve::rows(runtime, kind, &query)?))
        }
        ("GET", ["v1", "rows", kind, name]) => {
            let second = request.query.get("second").map(String::as_str);
            let (entity, row) = serve::row(runtime, kind, &decoded(name), second)?;
            json(rows::write_row(&entity, &row))
        }
        ("GET", ["v1", "ledger", "entries"]) => json(serve::entries(runtime, number("from", 0), limit)?),
        ("GET", ["v1", "ledger", "size"]) => json(serve::size(runtime)?),
        ("POST", ["v1", "ledger", "seal"]) => match (site.seal)() {
            Ok(lines) => (200, "text/plain", lines.into_bytes()),
            Err(detail) => problem(503, "UNAVAILABLE", &detail),
        },
        (_, _) => problem(404, "NOT_FOUND", "there is no such route"),
    })
}

fn proposed(runtime: &Runtime, request: &Request) -> Result<Response, Failure> {
    let flows = request.query.get("flows").and_then(|word| UnseenFlow::from_word(word)).unwrap_or(UnseenFlow::Opens);
    let arrival = Arrival::through(Door { flows, ..Door::STORED });
    let line = request.query.get("line").and_then(|text| text.parse().ok());
    let answered = serve::propose(runtime, arrival, line, &request.body);
    if answered.at.is_none() {
        return Err(serve::undecided(&answered));
    }
    Ok(match request.headers.get("accept").map(String::as_str) {
        Some(REPLY_TYPE) => (200, REPLY_TYPE, reply::write(&answered, None)),
        Some(_) | None => (200, "application/json", answered.answer.to_line().into_bytes()),
    })
}

fn caller(role: &str, name: &str) -> Caller {
    Caller {
        actor: Actor::Operator(name.to_owned()),
        person: (role == "approver").then(|| name.to_owned()),
        identity: Identity::default(),
        worker: (role == "executor").then(|| name.to_owned()),
    }
}

fn problem(status: u16, code: &str, detail: &str) -> Response {
    let body = Json::object([("code", Json::text(code)), ("detail", Json::text(detail))]);
    (status, "application/problem+json", body.to_canonical().into_bytes())
}
