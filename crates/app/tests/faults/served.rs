//! A service under load from many connections, killed at any moment: nothing acknowledged is lost, nothing is decided twice.

use crate::site::{BINARY, Site, now, proposal};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Connections that propose at once.
const CONNECTIONS: usize = 64;

/// The kills that the test command sees; `WRITKEEPER_SERVE_KILLS` says otherwise.
const KILLS: usize = 40;

/// Longer than any answer takes; a client that waits for a dead service hears of it at once.
const ANSWER_MAX: Duration = Duration::from_secs(60);

pub struct Service {
    process: Child,
    pub address: SocketAddr,
    /// Only the first start of a store tells one.
    pub admin: Option<String>,
}

impl Service {
    pub fn start(site: &Site) -> Service {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--store", &site.location, "--listen", "127.0.0.1:0", "--rate", "1000000"]);
        command.env("XDG_STATE_HOME", site.folder.path());
        let said = std::fs::File::options().create(true).append(true).open(site.path("serve.err")).unwrap();
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(said).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut admin = None;
        let address = loop {
            let line = lines.next().expect("the service said where it listens").unwrap();
            if let Some(key) = line.strip_prefix("admin key: ") {
                admin = Some(key.to_owned());
            }
            if let Some(address) = line.strip_prefix("listening on ") {
                break address.trim_start_matches("http://").parse().unwrap();
            }
        };
        Service { process, address, admin }
    }

    /// What services said that ended by themselves, if this one did.
    pub fn demand_alive(&mut self, site: &Site) {
        let ended = self.process.try_wait().unwrap();
        let said = std::fs::read_to_string(site.path("serve.err")).unwrap_or_default();
        assert!(ended.is_none(), "a service ended by itself with {ended:?}: {said}");
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// One connection that is kept; the body of the answer, or nothing if there is none.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: SocketAddr) -> Option<Connection> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(ANSWER_MAX)).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Connection(BufReader::new(stream)))
    }

    fn post(&mut self, path: &str, bearer: &str, body: &str) -> Option<(u16, String)> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {bearer}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            line.clear();
            self.0.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let header = line.trim_end().to_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some((status, String::from_utf8(body).ok()?))
    }
}

fn text(number: u64) -> (String, String) {
    let key = format!("h-{number}");
    let amount = if number.is_multiple_of(16) { 5 } else { 500 };
    let args = proposal(&key, "keyed", "ok", amount);
    (key, args)
}

/// What the clients share.
pub struct Load<'s> {
    site: &'s Site,
    /// Services of the same store, one of which a client asks at a time.
    addresses: Mutex<Vec<SocketAddr>>,
    token: String,
    next: AtomicU64,
    /// Which service the next connection is made to.
    turn: AtomicUsize,
    pub answered: AtomicUsize,
    is_over: AtomicBool,
}

/// Ends a load when it is dropped.
pub struct Ending<'l>(&'l AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<'s> Load<'s> {
    /// Against services, with an agent's token.
    pub fn on(site: &'s Site, addresses: Vec<SocketAddr>, token: String) -> Load<'s> {
        let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let (turn, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Load { site, addresses: Mutex::new(addresses), token, next, turn, answered, is_over }
    }

    /// A service that came after one that died.
    pub fn replace(&self, place: usize, address: SocketAddr) {
        if let Some(slot) = self.addresses.lock().unwrap_or_else(PoisonError::into_inner).get_mut(place) {
            *slot = address;
        }
    }

    /// No more proposals once it is dropped, also by a failure: the clients would go on for ever.
    pub fn ended_with_this(&self) -> Ending<'_> {
        Ending(&self.is_over)
    }

    /// One client: each proposal until it is answered, also by the service that comes after the one that died.
    pub fn run(&self) {
        let mut connection = None;
        while !self.is_over.load(Ordering::SeqCst) {
            let (key, args) = text(self.next.fetch_add(1, Ordering::SeqCst));
            let mut first: Option<String> = None;
            // Every sixteenth is asked twice: the second answer must have the same bytes.
            while !self.is_over.load(Ordering::SeqCst) {
                let began = now();
                let answer = self.ask(&mut connection, &args);
                self.site.log(&key, &args, began, answer.as_deref());
                let Some(answer) = answer else { continue };
                self.answered.fetch_add(1, Ordering::SeqCst);
                match &first {
                    Some(first) => assert_eq!(*first, answer, "the same key was answered otherwise"),
                    None if args.contains("\"amount\":5,") => {
                        first = Some(answer);
                        continue;
                    }
                    None => {}
                }
                break;
            }
        }
    }

    /// Asks once over a connection of its own, and hears whatever is said.
    pub fn posted(&self, args: &str) -> Option<(u16, String)> {
        let address = *self.addresses.lock().unwrap_or_else(PoisonError::into_inner).first()?;
        Connection::open(address)?.post("/v1/proposals", &self.token, args)
    }

    fn ask(&self, connection: &mut Option<Connection>, args: &str) -> Option<String> {
        if connection.is_none() {
            let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // Another one each time: where one does not answer, the next may.
            let place = self.turn.fetch_add(1, Ordering::SeqCst) % addresses.len().max(1);
            *connection = addresses.get(place).and_then(|address| Connection::open(*address));
        }
        let Some(open) = connection else {
            // Nobody listens until the next service is up.
            std::thread::sleep(Duration::from_millis(5));
            return None;
        };
        match open.post("/v1/proposals", &self.token, args) {
            Some((200, body)) => Some(body),
            Some((503, _)) => None,
            Some((status, body)) => panic!("{status}: {body}"),
            None => {
                *connection = None;
                None
            }
        }
    }
}

pub fn enrolled(site: &Site, service: &Service) -> String {
    let contract = std::fs::read_to_string(site.path("bot.yaml")).unwrap();
    let body = json!({ "contract": contract, "ttl": "2h" }).to_string();
    let admin = service.admin.as_deref().expect("a first start tells a key");
    let answer = Connection::open(service.address).and_then(|mut open| open.post("/v1/agents", admin, &body));
    let (status, body) = answer.unwrap();
    assert!(status < 300, "{status}: {body}");
    serde_json::from_str::<Value>(&body).unwrap()["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_service_killed_under_load_loses_nothing_and_decides_nothing_twice() {
    let kills = std::env::var("WRITKEEPER_SERVE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let site = Site::new();
    let mut service = Service::start(&site);
    let token = enrolled(&site, &service);
    let load = Load::on(&site, vec![service.address], token);
    std::thread::scope(|scope| {
        let _ended = load.ended_with_this();
        for _ in 0..CONNECTIONS {
            scope.spawn(|| load.run());
        }
        for round in 0..kills {
            // At any moment, and never before something was acknowledged again.
            let enough = load.answered.load(Ordering::SeqCst) + 20 + (round * 37) % 150;
            while load.answered.load(Ordering::SeqCst) < enough {
                std::thread::sleep(Duration::from_millis(1));
            }
            service.kill();
            service = Service::start(&site);
            assert!(service.admin.is_none(), "only the first start tells a key");
            load.replace(0, service.address);
        }
    });
    service.kill();
    let (history, broken, code) = site.judge();
    let unknown = history.calls.iter().filter(|call| call["status"] == "unknown").count();
    println!(
        "serve: {kills} kills, {CONNECTIONS} connections, {} calls answered and {unknown} not, {} entries, verify {code}",
        history.calls.len() - unknown,
        history.size
    );
    assert_eq!(broken, []);
    println!("serve: 0 lost, 0 duplicate, 0 gaps");
}
