//! Where HTTP must not go on: certificates that prove nothing, and names that change what they say between the look and
//! the request. The other side is real TLS on a real socket; what it decrypted is the truth about what was sent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use adapters::addresses::Range;
use adapters::executor_http::HttpExecutor;
use adapters::host_names::HostNames;
use kernel::agent::Actor;
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::contract::{EffectClass, ExecutorKind};
use kernel::intent::Order;
use kernel::world::{Entity, Row};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use runtime::execute::{self, Executors};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::executor::{Attempt, Executor, Missing, Observation};
use runtime::{Arrival, Runtime};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Duration;

/// An authority that signs certificates, known by its PEM.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }
}

/// Says yes to every request over TLS, and remembers what it could read.
struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Shows a certificate for a name.
    fn start(authority: &Authority, name: &str) -> Server {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heard.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
                let mut tls = rustls::Stream::new(&mut connection, &mut stream);
                let mut bytes = [0; 4096];
                let Ok(count) = tls.read(&mut bytes) else { continue };
                kept.lock().unwrap().push(String::from_utf8_lossy(bytes.get(..count).unwrap()).into_owned());
                let _ = tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        });
        Server { address, heard }
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    fn requests(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

/// Says what a list says, one after the other, and remembers how often it was asked.
#[derive(Debug)]
struct Fickle {
    says: Vec<Vec<SocketAddr>>,
    asked: Mutex<usize>,
}

impl Fickle {
    fn saying(says: &[&[SocketAddr]]) -> Arc<Fickle> {
        Arc::new(Fickle { says: says.iter().map(|list| list.to_vec()).collect(), asked: Mutex::default() })
    }
}

impl HostNames for Fickle {
    fn addresses(&self, _: &str) -> Result<Vec<SocketAddr>, String> {
        let mut asked = self.asked.lock().unwrap();
        let said = self.says.get(*asked).or(self.says.last()).unwrap().clone();
        *asked += 1;
        Ok(said)
    }
}

/// An order that is performed as `run` says.
fn order(run: &Json) -> Order {
    let mut members = run.as_object().unwrap().clone();
    for (name, value) in [("class", Json::text("opaque")), ("timeout", Json::text("5s")), ("headers", Json::object([]))]
    {
        members.entry(name.to_owned()).or_insert(value);
    }
    let run = Json::Object(members);
    let text = r#"{"action":"pay","agent":"bot","class":"opaque","contract":"DIGEST","effect_key":"k","flow":"f","holds":[],
        "id":"i","impact":"HIGH","params":{},"proposal":"p","run":RUN,"undo":null,"valid_until":"2026-01-01T00:00:00Z"}"#;
    let text = text.replace("DIGEST", &Digest::of("contract").to_string()).replace("RUN", &run.to_canonical());
    Order::from_json(&Json::parse(text.as_bytes()).unwrap()).unwrap()
}

fn attempt(host: &str) -> Attempt {
    let run = Json::object([("http", Json::text(format!("POST https://{host}/pay")))]);
    Attempt {
        intent: "i".to_owned(),
        order: order(&run),
        params: Object::new(),
        key: "k".to_owned(),
        undoes: None,
        epoch: 1,
        class: EffectClass::Opaque,
        doubted: false,
        deadline: std::time::Duration::from_secs(10),
    }
}

/// May ask the host, at `localhost`'s own addresses.
fn executor(host: &str) -> HttpExecutor {
    let ranges = ["127.0.0.0/8", "::1"].map(|range| Range::parse(range).unwrap());
    HttpExecutor::new(vec![host.to_owned()], ranges.to_vec())
}

fn word(observation: &Observation) -> String {
    format!("{}: {}", observation.observed.word().to_lowercase(), observation.detail)
}

#[test]
fn a_certificate_that_proves_nothing_ends_it_before_the_first_byte() {
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let check = |signed_by: &Authority, name: &str, trusted: Option<&Authority>, expected: &str, requests: usize| {
        let server = Server::start(signed_by, name);
        let http = executor(&server.host());
        let http = match trusted {
            Some(authority) => http.trusting(authority.pem.as_bytes()).unwrap(),
            None => http,
        };
        let observed = word(&http.perform(&attempt(&server.host())));
        assert!(observed.starts_with(expected), "{name}: {observed}");
        assert_eq!(server.requests(), requests, "{name}: {observed}");
    };
    check(&known, "localhost", Some(&known), "positive: HTTP 200", 1);
    check(
        &known,
        "pay.example",
        Some(&known),
        "negative: not sent: invalid peer certificate: certificate not valid for name",
        0,
    );
    check(&other, "localhost", Some(&known), "negative: not sent: invalid peer certificate: UnknownIssuer", 0);
    check(&other, "localhost", None, "negative: not sent: invalid peer certificate: UnknownIssuer", 0);
    assert!(executor("x").trusting(b"no certificate").is_none());
}

/// Without TLS at the other end there is no connection either; once there is one, nobody knows what arrived.
#[test]
fn only_what_was_never_connected_is_known_not_to_be_sent() {
    let check = |answer: Option<&'static [u8]>, scheme: &str, expected: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(answer.unwrap_or_default());
        });
        let mut attempt = attempt(&host);
        let run = Json::object([("http", Json::text(format!("POST {scheme}://{host}/pay")))]);
        attempt.order = order(&run);
        let observed = word(&executor(&host).perform(&attempt));
        server.join().unwrap();
        assert!(observed.starts_with(expected), "{observed}");
    };
    check(Some(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "https", "negative: not sent");
    check(None, "https", "negative: not sent");
    check(None, "http", "unknown: ");
}

#[test]
fn a_name_that_changes_its_mind_reaches_only_what_was_checked() {
    let authority = Authority::new("known");
    let server = Server::start(&authority, "pay.example");
    let host = format!("pay.example:{}", server.address.port());
    let inside: SocketAddr = "10.0.0.7:443".parse().unwrap();
    let public: SocketAddr = "1.1.1.1:443".parse().unwrap();
    let order = attempt(&host).order;
    let http = |names: Arc<Fickle>| {
        let ranges = vec![Range::parse("127.0.0.1").unwrap()];
        HttpExecutor::new(vec![host.clone()], ranges).trusting(authority.pem.as_bytes()).unwrap().asking(names)
    };
    // Checked while it was good, bad from then on: the request goes to what was checked, and nobody asks again.
    let names = Fickle::saying(&[&[server.address], &[inside]]);
    let prepared = http(names.clone()).prepare(&order).unwrap().unwrap();
    assert_eq!(word(&prepared.perform(&attempt(&host))), "positive: HTTP 200");
    assert_eq!((server.requests(), *names.asked.lock().unwrap()), (1, 1));
    // The next request is checked again; one address of the inside is enough, wherever it stands.
    let executor = http(Fickle::saying(&[&[public], &[inside]]));
    assert!(executor.prepare(&order).is_ok());
    let problem = executor.prepare(&order).err().unwrap();
    let (named, address) = (host.clone(), inside.ip());
    assert_eq!(problem, Missing::Address { host: named, address, is: "a private address" });
    for says in [vec![inside], vec![public, inside], vec![inside, server.address]] {
        let names = Fickle::saying(&[&says]);
        let executor = http(names.clone());
        assert!(executor.prepare(&order).is_err(), "{says:?}");
        // Who waits for it does not look it up over and over.
        assert!(executor.can_perform(&order).is_err(), "{says:?}");
        assert_eq!(*names.asked.lock().unwrap(), 1);
        assert!(word(&executor.perform(&attempt(&host))).starts_with("negative"), "{says:?}");
    }
    // Outside of named ranges only with TLS.
    let plain = self::order(&Json::object([("http", Json::text(format!("POST http://{host}/pay")))]));
    let problem = http(Fickle::saying(&[&[public]])).prepare(&plain).err().unwrap().to_string();
    assert!(problem.contains("needs https"), "{problem}");
    assert_eq!(server.requests(), 1);
}

const CONTRACT: &str = "
agent: bot
actions:
  pay: { once: 'pay:{order}', params: { order: text }, run: { http: 'POST https://HOST/pay', timeout: 5s } }
approvers: [desk]
";

/// What was provably not sent fails without doubt: nobody has to be asked, and its effect may be proposed again.
#[test]
fn an_intent_whose_certificate_was_refused_is_free_to_be_tried_again() {
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let server = Server::start(&known, "localhost");
    let clock = Arc::new(ManualClock::at(values::time::Instant::PURE_DEFAULT));
    let runtime = Runtime::start(Box::new(MemoryStore::new(clock.clone())), runtime::Options::default()).unwrap();
    let contract = engines::load::load(&CONTRACT.replace("HOST", &server.host()));
    let contract = Arc::new(contract.unwrap_or_else(|problems| panic!("{problems:?}")).compiled);
    let ann = || Actor::Operator("ann".to_owned());
    runtime.register(ann(), contract.clone(), None, None).wait();
    runtime.activate(ann(), contract).wait();
    let perform = |trusted: &Authority| {
        let door = Door { flows: UnseenFlow::Opens, performer: Performer::Runtime, session: None, by: None };
        let text = br#"{"agent":"bot","action":"pay","params":{"order":"A"}}"#;
        let line = runtime.judge(text, Arrival::through(door)).wait().answer.to_line();
        let answer = Json::parse(line.as_bytes()).unwrap();
        let intent =
            answer.get("intent").and_then(|intent| intent.get("id")?.as_text()).unwrap_or_else(|| panic!("{line}"));
        let http: Arc<dyn Executor> = Arc::new(executor(&server.host()).trusting(trusted.pem.as_bytes()).unwrap());
        let executors = Executors::default().with(ExecutorKind::Http, http);
        let options = execute::Options {
            worker: "w".to_owned(),
            clock: clock.clone(),
            lease: Some(Duration::from_secs(20)),
            threads: 1,
            pause: std::time::Duration::from_millis(1),
            once: true,
            waits: Arc::new(|_, _| {}),
            away: Arc::new(|_| {}),
            performed: Arc::new(|_| {}),
        };
        execute::run(&runtime, &executors, &options, &AtomicBool::new(false)).unwrap();
        match runtime.read(Entity::Intent(intent.to_owned())) {
            Ok(Some(Row::Intent(row))) => row.state.word(),
            other => panic!("no intent: {other:?}"),
        }
    };
    assert_eq!((perform(&other), server.requests()), ("FAILED", 0));
    assert_eq!((perform(&known), server.requests()), ("SUCCEEDED", 1));
    let heard = server.heard.lock().unwrap().concat();
    assert!(heard.to_lowercase().contains("idempotency-key: "), "{heard}");
}
