//! The port: proposals, changes, waiting, sealing.

use crate::address::Address;
use crate::connection::{Connection, Request};
use crate::reader::{ServiceReader, encoded};
use runtime::ports::service::{Asked, Service, ServiceCaller};
use runtime::ports::store::{Reader, StoreFault};
use runtime::wire::call::Call;
use runtime::wire::{BLANK_LINE, CALL_BOUNDS, REPLY_TYPE, follow, reply};
use runtime::{Answered, FollowUp};
use std::sync::Arc;
use std::time::Duration;
use values::json::Json;

/// Longest time that one request waits for what becomes of a decision.
const WAIT_MAX: Duration = Duration::from_secs(25);

/// How a service is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The key or token that says who calls.
    pub key: Option<String>,
    /// The authorities that certificates are believed from, as PEM; without them the well-known ones.
    pub authorities: Option<Vec<u8>>,
    /// How long one request may take, from the first look at the name to the last byte.
    pub timeout: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { key: None, authorities: None, timeout: Duration::from_secs(60) }
    }
}

/// A service behind HTTP. It keeps a few connections open and may be shared between threads.
pub struct Client {
    connection: Arc<Connection>,
    caller: ServiceCaller,
}

impl Client {
    /// Reaches a service and asks who it takes its caller for.
    pub fn connect(address: &Address, settings: &Settings) -> Result<Client, StoreFault> {
        if settings.key.is_none() {
            return Err(StoreFault::Refused(format!("there is no key for the server at {address}")));
        }
        let connection = Arc::new(Connection::new(address, settings)?);
        let body = connection.demand(&Request::get("/v1/whoami"))?;
        let caller = caller(&body).ok_or_else(|| connection.unreadable())?;
        Ok(Client { connection, caller })
    }
}

impl Service for Client {
    fn caller(&self) -> &ServiceCaller {
        &self.caller
    }

    fn propose(&self, proposal: &[u8], asked: Asked) -> Result<Answered, StoreFault> {
        let Asked { line, flows } = asked;
        let line = line.map(|line| format!("line={line}"));
        let flows = flows.map(|flows| format!("flows={}", flows.word()));
        let query: Vec<String> = line.into_iter().chain(flows).collect();
        let path = format!("/v1/proposals?{}", query.join("&"));
        let proposal = if proposal.is_empty() { BLANK_LINE } else { proposal };
        self.reply(&Request { accept: Some(REPLY_TYPE), ..Request::post(path.trim_end_matches('?'), proposal) })
    }

    fn change(&self, call: &Call) -> Result<Answered, StoreFault> {
        self.reply(&Request::post("/v1/changes", &call.write()))
    }

    fn follow(&self, question: Option<&str>, intent: Option<&str>, wait: Duration) -> Result<FollowUp, StoreFault> {
        let wait = wait.min(WAIT_MAX);
        let named = |(key, id): (&str, Option<&str>)| id.map(|id| format!("&{key}={}", encoded(id)));
        let named: String = [("question", question), ("intent", intent)].into_iter().filter_map(named).collect();
        let wait_word = if wait.as_millis() > 0 { format!("&wait={}ms", wait.as_millis()) } else { String::new() };
        let path = format!("/v1/follow?{}", format!("{named}{wait_word}").trim_start_matches('&'));
        let body = self.connection.demand(&Request { wait, ..Request::get(&path) })?;
        follow::read(&body).ok_or_else(|| self.connection.unreadable())
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(ServiceReader { connection: self.connection.clone(), tenant: self.caller.tenant.clone() })
    }

    fn seal(&self) -> Result<String, StoreFault> {
        let body = self.connection.demand(&Request::post("/v1/ledger/seal", b"{}"))?;
        String::from_utf8(body).map_err(|_| self.connection.unreadable())
    }
}

impl Client {
    fn reply(&self, request: &Request<'_>) -> Result<Answered, StoreFault> {
        let body = self.connection.demand(request)?;
        reply::read(&body).ok_or_else(|| self.connection.unreadable())
    }
}

fn caller(body: &[u8]) -> Option<ServiceCaller> {
    let json = Json::parse_within(body, &CALL_BOUNDS).ok()?;
    let text = |key: &str| json.get(key)?.as_text().map(str::to_owned);
    Some(ServiceCaller { tenant: Arc::from(text("tenant")?), role: text("role")?, name: text("name")? })
}
