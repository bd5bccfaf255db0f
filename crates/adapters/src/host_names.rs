//! Addresses of hosts, asked once for each request and in bounded time.

use std::fmt::Debug;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;

/// Longest wait for an answer.
const WITHIN: Duration = Duration::from_secs(5);

/// Says which addresses a host has.
pub trait HostNames: Debug + Send + Sync {
    /// Every address of `HOST:PORT`. The error completes "the host `x` …".
    fn addresses(&self, place: &str) -> Result<Vec<SocketAddr>, String>;
}

/// As this machine resolves names.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNames;

impl HostNames for SystemNames {
    fn addresses(&self, place: &str) -> Result<Vec<SocketAddr>, String> {
        let place = place.to_owned();
        let (sender, found) = mpsc::channel();
        // The system may wait for longer than anyone here wants to.
        std::thread::spawn(move || sender.send(place.to_socket_addrs().map(Iterator::collect::<Vec<_>>)));
        match found.recv_timeout(WITHIN) {
            Ok(Ok(found)) if !found.is_empty() => Ok(found),
            Ok(Ok(_) | Err(_)) => Err("is not known to this machine".to_owned()),
            Err(_) => Err(format!("was not looked up within {} s", WITHIN.as_secs())),
        }
    }
}
