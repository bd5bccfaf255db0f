//! Where a service listens: what a person writes, read once.

use runtime::ports::store::StoreFault;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a service listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// `http://` or `https://` with a host, and a port or a path where there is one; without a slash at the end.
    Web(String),
    /// A Unix socket: `unix:PATH`.
    Socket(PathBuf),
}

impl Address {
    /// Whether a text means a service and no store.
    pub fn is_meant(text: &str) -> bool {
        ["http://", "https://", "unix:"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// What paths are put behind.
    pub(crate) fn base(&self) -> &str {
        match self {
            Address::Web(base) => base,
            // Written into requests, and connected to by nobody.
            Address::Socket(_) => "http://127.0.0.1",
        }
    }

    /// The socket, if it is one.
    pub(crate) fn socket(&self) -> Option<&Path> {
        match self {
            Address::Web(_) => None,
            Address::Socket(path) => Some(path),
        }
    }
}

impl FromStr for Address {
    type Err = StoreFault;

    fn from_str(text: &str) -> Result<Address, StoreFault> {
        let refused = |problem: &str| Err(StoreFault::Refused(format!("`{}` {problem}", shown(text))));
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { refused("names no socket") } else { Ok(Address::Socket(PathBuf::from(path))) };
        }
        let is_plain = text.starts_with("http://");
        let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
            return refused("is no address of a server; give http://HOST:PORT, https://HOST or unix:PATH");
        };
        let rest = rest.trim_end_matches('/');
        let authority = rest.split('/').next().unwrap_or_default();
        let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || "?#\\".contains(letter);
        if authority.is_empty() || rest.contains(is_odd) {
            return refused("is no address of a server; give http://HOST:PORT, https://HOST or unix:PATH");
        }
        if authority.contains('@') {
            return refused("holds a name or a password; keys do not belong into addresses");
        }
        if is_plain && !is_loopback(authority) {
            return refused("would send the key readable over the network; use https://");
        }
        Ok(Address::Web(text.trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Web(base) => formatter.write_str(base),
            Address::Socket(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// Whether a host can only be this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn shown(text: &str) -> String {
    kernel::finding::visible(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_once_or_refused_with_what_would_be_one() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let read = text.parse::<Address>().map(|address| address.to_string()).map_err(|fault| fault.to_string());
            match expected {
                Ok(shown) => assert_eq!(read.as_deref(), Ok(shown), "{text}"),
                Err(word) => assert!(read.as_ref().is_err_and(|problem| problem.contains(word)), "{text}: {read:?}"),
            }
        };
        check("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080"));
        check("http://127.0.0.1:8080/", Ok("http://127.0.0.1:8080"));
        check("http://localhost:1/under/", Ok("http://localhost:1/under"));
        check("http://[::1]:8080", Ok("http://[::1]:8080"));
        check("https://keeper.example", Ok("https://keeper.example"));
        check("unix:/run/writkeeper.sock", Ok("unix:/run/writkeeper.sock"));
        check("http://keeper.example", Err("https://"));
        check("http://127.0.0.1.example:80", Err("https://"));
        check("https://ann:secret@keeper.example", Err("keys do not belong"));
        check("https://", Err("no address"));
        check("https://a.example/?key=1", Err("no address"));
        check("ftp://a.example", Err("no address"));
        check("unix:", Err("no socket"));
    }
}
