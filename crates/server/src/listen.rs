//! Sockets: where the service listens, how connections are bounded, and how it ends.

use crate::neighbours::{Neighbours, Seat};
use crate::options::{CONNECTIONS_MAX, TlsFiles};
use crate::patience::{Answers, Patience, Watched};
use crate::site::Site;
use axum::Router;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use writkeeper::Error;

/// How long a handshake may take.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(5);

/// Bytes of all headers of a request.
const HEADERS_MAX: usize = 32 * 1024;

/// How long requests may go on that were begun when the service was told to end.
const ENDING_WAIT: Duration = Duration::from_secs(20);

/// Before the next try where the system has no more sockets.
const EXHAUSTED_WAIT: Duration = Duration::from_millis(50);

/// Where a service listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    /// `ADDRESS:PORT` or `unix:PATH`.
    fn from_str(text: &str) -> Result<Listen, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err("names no file".to_owned()) } else { Ok(Listen::Unix(path.into())) };
        }
        let text = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
        text.parse().map(Listen::Tcp).map_err(|_| "is not ADDRESS:PORT or unix:PATH".to_owned())
    }
}

impl Listen {
    /// Whether only this machine reaches it.
    pub fn is_local(&self) -> bool {
        match self {
            Listen::Tcp(address) => address.ip().is_loopback(),
            Listen::Unix(_) => true,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(address) => address.fmt(formatter),
            Listen::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// A socket that listens.
pub enum Listener {
    Tcp(TcpListener, Option<TlsAcceptor>),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Opens the socket. Without a certificate only this machine is served.
    pub async fn open(listen: &Listen, tls: Option<&TlsFiles>) -> Result<Listener, Error> {
        let unopened = |error: std::io::Error| Error::Invalid(format!("cannot listen on {listen}: {error}"));
        match listen {
            Listen::Unix(path) => {
                if is_left_behind(path) {
                    std::fs::remove_file(path).map_err(unopened)?;
                }
                Ok(Listener::Unix(UnixListener::bind(path).map_err(unopened)?, path.clone()))
            }
            Listen::Tcp(address) => {
                if tls.is_none() && !listen.is_local() {
                    return Err(Error::Usage(format!(
                        "{address} is reached from other machines, and keys would travel in the clear; give \
                         --tls-cert and --tls-key, or listen on 127.0.0.1"
                    )));
                }
                let acceptor = tls.map(acceptor).transpose()?;
                Ok(Listener::Tcp(TcpListener::bind(address).await.map_err(unopened)?, acceptor))
            }
        }
    }

    /// Where it listens; the port is known by now.
    pub fn address(&self) -> String {
        match self {
            Listener::Tcp(listener, tls) => {
                let address = listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string());
                format!("{}://{address}", if tls.is_some() { "https" } else { "http" })
            }
            Listener::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    /// Serves until it is to end, and then until what was begun is answered.
    pub async fn serve(self, router: Router, site: &Site) {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let neighbours = Neighbours::new(site.options.per_address);
        let ending = site.ending.subscribe();
        let mut end = ending.clone();
        loop {
            let permit = tokio::select! {
                permit = room.clone().acquire_owned() => permit,
                () = ended(&mut end) => break,
            };
            let Ok(permit) = permit else { break };
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                () = ended(&mut end) => break,
            };
            match accepted {
                Ok(Accepted::Unix(stream)) => {
                    tokio::spawn(connection(stream, router.clone(), (permit, None), ending.clone()));
                }
                Ok(Accepted::Tcp(stream, address)) => match neighbours.admit(address.ip()) {
                    Some(seat) => self.serve_tcp(stream, &router, (permit, Some(seat)), &ending),
                    // Without a word, which would take the same seat.
                    None => site.crowd(address.ip(), neighbours.most()),
                },
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
                Err(_) => tokio::time::sleep(EXHAUSTED_WAIT).await,
            }
        }
        if let Listener::Unix(_, path) = &self {
            // Whoever comes next finds nobody, which is true.
            let _ = std::fs::remove_file(path);
        }
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        // Those who do not come to an end in time are cut off.
        let _ = tokio::time::timeout(ENDING_WAIT, room.acquire_many(all)).await;
    }

    async fn accept(&self) -> std::io::Result<Accepted> {
        match self {
            Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Accepted::Unix(stream)),
            Listener::Tcp(listener, _) => listener.accept().await.map(|(stream, from)| Accepted::Tcp(stream, from)),
        }
    }

    fn serve_tcp(&self, stream: TcpStream, router: &Router, place: Place, ending: &watch::Receiver<bool>) {
        let (router, ending) = (router.clone(), ending.clone());
        // An answer is one piece, and nobody waits for the next. A connection that is gone already is noticed later.
        let _ = stream.set_nodelay(true);
        match self {
            Listener::Unix(..) | Listener::Tcp(_, None) => {
                tokio::spawn(connection(stream, router, place, ending));
            }
            Listener::Tcp(_, Some(acceptor)) => {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_WAIT, acceptor.accept(stream)).await {
                        connection(stream, router, place, ending).await;
                    }
                });
            }
        }
    }
}

/// Whether this is the socket of a service that was killed. Any other file stays: it is somebody's, perhaps the store.
fn is_left_behind(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    is_socket && std::os::unix::net::UnixStream::connect(path).is_err()
}

/// A connection that was taken.
enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

/// What a connection takes up as long as it is open: one of all, and one of its address.
type Place = (OwnedSemaphorePermit, Option<Seat>);

/// Comes back when the service is to end.
pub async fn ended(ending: &mut watch::Receiver<bool>) {
    // Whoever could say it is gone: it ends as well.
    let _ = ending.wait_for(|is_ending| *is_ending).await;
}

/// One connection, request after request.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    place: Place,
    mut ending: watch::Receiver<bool>,
) {
    let patience = Patience::new(Instant::now());
    let stream = Watched { stream, patience: patience.clone() };
    let answers = Answers { router: TowerToHyperService::new(router), patience: patience.clone() };
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.header_read_timeout(None).max_buf_size(HEADERS_MAX);
    let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answers));
    tokio::select! {
        // How a connection ended is the client's business.
        _ = served.as_mut() => {}
        () = patience.is_over() => {}
        () = ended(&mut ending) => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                _ = served => {}
                () = patience.is_over() => {}
            }
        }
    }
    drop(place);
}

/// What makes connections secret.
fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, Error> {
    let unread = |what: &str, error: String| Error::Invalid(format!("the {what} of TLS cannot be used: {error}"));
    let chain = CertificateDer::pem_file_iter(&files.certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| unread("certificate", error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unread("key", error.to_string()))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| unread("configuration", error.to_string()))?;
    let config = config.with_no_client_auth().with_single_cert(chain, key);
    Ok(TlsAcceptor::from(Arc::new(config.map_err(|error| unread("certificate", error.to_string()))?)))
}
