//! The addresses of a host, looked up once and checked as a whole, so that what was checked is what is talked to.

use crate::addresses::{self, Range};
use crate::host_names::HostNames;
use runtime::ports::executor::Missing;
use std::net::SocketAddr;

/// Everything a host resolves to, refused as a whole if any of it is on the inside and nobody named it. Without TLS only
/// what was named may be talked to.
pub(crate) fn addresses(
    names: &dyn HostNames,
    host: &str,
    by_tls: bool,
    ranges: &[Range],
) -> Result<Vec<SocketAddr>, Missing> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = if by_tls { 443 } else { 80 };
    let place = if has_port { host.to_owned() } else { format!("{host}:{port}") };
    let found = names.addresses(&place).map_err(|problem| format!("the host `{host}` {problem}"))?;
    for address in &found {
        let ip = address.ip().to_canonical();
        if let Some(is) = addresses::problem(ip, ranges) {
            return Err(Missing::Address { host: host.to_owned(), address: ip, is });
        }
        if !by_tls && !addresses::is_named(ip, ranges) {
            return Err(Missing::Other(format!("`{host}` is outside, at {ip}, and needs https in its address")));
        }
    }
    Ok(found)
}
