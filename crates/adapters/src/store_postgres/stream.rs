//! The way to the server: over TCP, over TLS, or over a socket of this machine.

use super::address::{Address, Server, Tls};
use super::fault::Problem;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use socket2::{SockRef, TcpKeepalive};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What is said of a server that is not there, and may be in a moment.
const AWAY: [ErrorKind; 6] = [
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::ConnectionAborted,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkUnreachable,
    ErrorKind::NotFound,
];

/// How long a connection may take to come about where another host may be the one that answers.
const CONNECT_WAIT_OF_SEVERAL: Duration = Duration::from_secs(2);

/// A host that is gone without a word is asked whether it is there after so long, and then as often as the system does.
const SILENCE: Duration = Duration::from_secs(10);
const SILENCE_AGAIN: Duration = Duration::from_secs(2);

/// Asks for TLS before anything else is said.
const ASK_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A way to the server and back.
pub(super) trait Stream: Read + Write + Send {
    /// Whatever is asked from now on has so long to be answered.
    fn wait_for(&self, patience: Duration) -> std::io::Result<()>;
}

impl Stream for TcpStream {
    fn wait_for(&self, patience: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(patience)).and_then(|()| self.set_write_timeout(Some(patience)))
    }
}

#[cfg(unix)]
impl Stream for UnixStream {
    fn wait_for(&self, patience: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(patience)).and_then(|()| self.set_write_timeout(Some(patience)))
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn wait_for(&self, patience: Duration) -> std::io::Result<()> {
        self.sock.wait_for(patience)
    }
}

/// Goes to one of the servers. Whatever it is asked, it has so long to answer.
pub(super) fn open(address: &Address, server: &Server, patience: Duration) -> Result<Box<dyn Stream>, Problem> {
    let lost = |problem: &dyn std::fmt::Display| Problem::Lost(format!("`{address}`: {problem}"));
    let unreached = |error: std::io::Error| {
        if is_silence(&error) {
            Problem::Away(silence(&server.to_string(), patience))
        } else if AWAY.contains(&error.kind()) {
            Problem::Away(format!("`{address}`: {error}"))
        } else {
            lost(&error)
        }
    };
    match server {
        #[cfg(unix)]
        Server::Unix(folder, port) => {
            let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).map_err(unreached)?;
            stream.wait_for(patience).map_err(|error| lost(&error))?;
            Ok(Box::new(stream))
        }
        #[cfg(not(unix))]
        Server::Unix(..) => Err(lost(&"this system has no such sockets")),
        Server::Tcp(host, port) => {
            let wait = if address.servers().len() > 1 { CONNECT_WAIT_OF_SEVERAL.min(patience) } else { patience };
            let stream = tcp(host, *port, wait).map_err(unreached)?;
            notice_silence(&stream).map_err(|error| lost(&error))?;
            stream.wait_for(patience).and_then(|()| stream.set_nodelay(true)).map_err(|error| lost(&error))?;
            match address.tls() {
                Tls::Disabled => Ok(Box::new(stream)),
                Tls::Verified(authorities) => {
                    let config = trusting(authorities.as_deref()).map_err(|problem| lost(&problem))?;
                    encrypted(stream, host, config).map_err(unreached)
                }
            }
        }
    }
}

/// Whether nothing came for as long as was waited.
pub(super) fn is_silence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// What a person hears of a server that does not answer.
pub(super) fn silence(server: &str, waited: Duration) -> String {
    format!("PostgreSQL at {server} did not answer within {} s", waited.as_secs_f64().ceil())
}

/// A machine that lost its power closes no connection: its silence has to be noticed.
fn notice_silence(stream: &TcpStream) -> std::io::Result<()> {
    let asked = TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE_AGAIN);
    SockRef::from(stream).set_tcp_keepalive(&asked)
}

/// The first of the host's addresses that takes a connection.
fn tcp(host: &str, port: u16, wait: Duration) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, wait) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whose certificates are believed.
fn trusting(authorities: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let unread = |problem: &dyn std::fmt::Display| format!("sslrootcert `{}`: {problem}", path.display());
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
            for certificate in certificates {
                roots.add(certificate.map_err(|error| unread(&error))?).map_err(|error| unread(&error))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn encrypted(mut stream: TcpStream, host: &str, config: ClientConfig) -> std::io::Result<Box<dyn Stream>> {
    stream.write_all(&ASK_FOR_TLS)?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    if answer != *b"S" {
        let problem = "the server has no TLS; set `ssl = on` there, or `sslmode=disable` here";
        return Err(std::io::Error::other(problem));
    }
    let name = ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
    let client = ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(client, stream);
    // Who answers is checked before a name or a password is sent.
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(Box::new(stream))
}
