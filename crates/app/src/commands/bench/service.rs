//! Decisions over HTTP beside decisions in this process, by turns on the same disk: the service is a process of its own, and
//! this one is all of its clients.

use super::durable::{Folder, Keys, Load, TURNS, median, proposal};
use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Connections that propose at once.
const CONNECTIONS: usize = 64;

/// Agents that share the load, as in the figures without a service.
const AGENTS: u64 = 8;

/// Times that an agent is suspended while it floods.
const SUSPENSIONS: usize = 100;

/// A service that ends with this value.
struct Service {
    process: Child,
    address: String,
    admin: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        // It is gone either way; nothing it acknowledged is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    fn start(folder: &Folder) -> anyhow::Result<Service> {
        let binary = std::env::current_exe().context("where this program lies is not known")?;
        let store = folder.file("served.db");
        let mut command = Command::new(binary);
        command.arg("serve").arg("--store").arg(&store).args(["--listen", "127.0.0.1:0", "--rate", "10000000"]);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = process.stdout.take().context("the service has no output")?;
        let mut service = Service { process, address: String::new(), admin: String::new() };
        for line in BufReader::new(output).lines() {
            let line = line?;
            if let Some(key) = line.strip_prefix("admin key: ") {
                key.clone_into(&mut service.admin);
            }
            if let Some(address) = line.strip_prefix("listening on http://") {
                address.clone_into(&mut service.address);
                return Ok(service);
            }
        }
        bail!("the service ended before it listened")
    }

    fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream), sent: Instant::now() })
    }

    fn enrol(&self, connection: &mut Connection) -> anyhow::Result<()> {
        for agent in 0..AGENTS {
            let contract = super::durable::contract(agent);
            connection.ask("POST", "/v1/agents", &self.admin, &json!({ "contract": contract }).to_string())?;
        }
        Ok(())
    }
}

/// One connection that is kept.
struct Connection {
    stream: BufReader<TcpStream>,
    sent: Instant,
}

impl Connection {
    fn send(&mut self, method: &str, path: &str, bearer: &str, body: &str) -> anyhow::Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.sent = Instant::now();
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    /// The status and body of the answer that is due, and how long it took.
    fn receive(&mut self) -> anyhow::Result<(u16, Vec<u8>, Duration)> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| anyhow!("the service answered `{}`", line.trim_end()))?;
        let mut length = 0;
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the service closed the connection");
            }
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body, self.sent.elapsed()))
    }

    /// A request that must be carried out.
    fn ask(&mut self, method: &str, path: &str, bearer: &str, body: &str) -> anyhow::Result<Duration> {
        self.send(method, path, bearer, body)?;
        match self.receive()? {
            (200..=299, _, took) => Ok(took),
            (status, body, _) => bail!("{method} {path}: {status} {}", String::from_utf8_lossy(&body)),
        }
    }
}

/// Proposes on every connection for so long; how many answers there were a second, and how long each took.
fn load(
    connections: &mut [Connection],
    bearer: &str,
    time: Duration,
    times: &mut Vec<Duration>,
) -> anyhow::Result<f64> {
    // Written before anybody looks at the clock: agents think elsewhere.
    let mut texts: Vec<String> = (0..20_000).map(|number| proposal(number, Keys::Ordered)).collect();
    let mut text = || texts.pop().unwrap_or_else(|| proposal(0, Keys::Ordered));
    let (started, before) = (Instant::now(), times.len());
    for connection in connections.iter_mut() {
        connection.send("POST", "/v1/proposals", bearer, &text())?;
    }
    let mut is_over = false;
    while !is_over {
        is_over = started.elapsed() >= time;
        for connection in connections.iter_mut() {
            let (status, body, took) = connection.receive()?;
            if status != 200 || !body.windows(8).any(|part| part == b"\"ACCEPT\"") {
                bail!("the benchmark measures acceptances, not {status} {}", String::from_utf8_lossy(&body));
            }
            times.push(took);
            if !is_over {
                connection.send("POST", "/v1/proposals", bearer, &text())?;
            }
        }
    }
    Ok((times.len() - before) as f64 / started.elapsed().as_secs_f64())
}

/// How long it takes until a suspension is acknowledged while the agent floods.
fn suspensions(service: &Service, connections: &mut [Connection]) -> anyhow::Result<Vec<Duration>> {
    let mut operator = service.connect()?;
    let mut times = Vec::with_capacity(SUSPENSIONS);
    let flood = |connection: &mut Connection| {
        let text = proposal(0, Keys::Ordered);
        connection.send("POST", "/v1/proposals", &service.admin, &text)
    };
    for connection in connections.iter_mut() {
        flood(connection)?;
    }
    let body = json!({ "status": "SUSPENDED", "because": "a benchmark" }).to_string();
    for _ in 0..SUSPENSIONS {
        operator.send("POST", "/v1/agents/bench-0/restrict", &service.admin, &body)?;
        for connection in connections.iter_mut() {
            connection.receive()?;
            flood(connection)?;
        }
        let (status, said, _) = operator.receive()?;
        if status >= 300 {
            bail!("the suspension was refused: {status} {}", String::from_utf8_lossy(&said));
        }
        times.push(operator.sent.elapsed());
        operator.ask("POST", "/v1/agents/bench-0/lift", &service.admin, &body)?;
    }
    for connection in connections.iter_mut() {
        connection.receive()?;
    }
    Ok(times)
}

/// Decisions over HTTP, beside those in this process in the same turns.
pub fn figures(budget: Duration) -> anyhow::Result<Value> {
    let folder = Folder::new()?;
    let service = Service::start(&folder)?;
    service.enrol(&mut service.connect()?)?;
    // Opened for each figure: the service closes what is idle.
    let connected = |count: usize| (0..count).map(|_| service.connect()).collect::<anyhow::Result<Vec<_>>>();
    let mut figures = serde_json::Map::new();
    for in_flight in [1, CONNECTIONS] {
        let mut embedded = Load::start(&folder.file(&format!("embedded-{in_flight}.db")), in_flight, Keys::Ordered)?;
        let mut connections = connected(in_flight)?;
        let (mut own, mut served, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            own.push(embedded.run(budget / 4)?);
            served.push(load(&mut connections, &service.admin, budget / 4, &mut times)?);
        }
        let (own, served) = (median(own), median(served));
        figures.insert(
            in_flight.to_string(),
            json!({
                "embedded_decisions_per_s": own.round(),
                "http_decisions_per_s": served.round(),
                "ratio": served / own.max(1.0),
                "embedded_p50_us": embedded.percentile(500),
                "http_p50_us": percentile(&mut times, 500),
                "http_p99_us": percentile(&mut times, 990),
            }),
        );
    }
    let mut suspended = suspensions(&service, &mut connected(CONNECTIONS)?)?;
    figures.insert(
        "suspension_under_flood".to_owned(),
        json!({ "p50_us": percentile(&mut suspended, 500), "p99_us": percentile(&mut suspended, 990) }),
    );
    Ok(Value::Object(figures))
}

fn percentile(times: &mut [Duration], share: usize) -> f64 {
    times.sort_unstable();
    let at = times.get(times.len() * share / 1000).copied().unwrap_or_default();
    at.as_nanos() as f64 / 1_000.0
}
