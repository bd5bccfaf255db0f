//! Sockets: where the service listens, how connections are bounded, and how it ends.

use crate::options::{CONNECTIONS_MAX, TlsFiles};
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use writkeeper::Error;

/// How long the headers of a request may take, and how long a connection may be silent.
const HEADERS_WAIT: Duration = Duration::from_secs(5);

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
                if path.exists() && std::os::unix::net::UnixStream::connect(path).is_err() {
                    // Left behind by a service that was killed.
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
    pub async fn serve(self, router: Router, ending: watch::Receiver<bool>) {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut end = ending.clone();
        loop {
            let permit = tokio::select! {
                permit = room.clone().acquire_owned() => permit,
                () = ended(&mut end) => break,
            };
            let Ok(permit) = permit else { break };
            let accepted = tokio::select! {
                accepted = self.accept(&router, permit, &ending) => accepted,
                () = ended(&mut end) => break,
            };
            if let Err(error) = accepted
                && !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
            {
                tokio::time::sleep(EXHAUSTED_WAIT).await;
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

    async fn accept(
        &self,
        router: &Router,
        permit: OwnedSemaphorePermit,
        ending: &watch::Receiver<bool>,
    ) -> std::io::Result<()> {
        let (router, ending) = (router.clone(), ending.clone());
        match self {
            Listener::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                tokio::spawn(connection(stream, router, permit, ending));
            }
            Listener::Tcp(listener, None) => {
                let (stream, _) = listener.accept().await?;
                // An answer is one piece, and nobody waits for the next.
                stream.set_nodelay(true)?;
                tokio::spawn(connection(stream, router, permit, ending));
            }
            Listener::Tcp(listener, Some(acceptor)) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_WAIT, acceptor.accept(stream)).await {
                        connection(stream, router, permit, ending).await;
                    }
                });
            }
        }
        Ok(())
    }
}

/// Comes back when the service is to end.
pub async fn ended(ending: &mut watch::Receiver<bool>) {
    // Whoever could say it is gone: it ends as well.
    let _ = ending.wait_for(|is_ending| *is_ending).await;
}

/// One connection, request after request.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    permit: OwnedSemaphorePermit,
    mut ending: watch::Receiver<bool>,
) {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS_WAIT).max_buf_size(HEADERS_MAX);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = std::pin::pin!(served);
    tokio::select! {
        // How a connection ended is the client's business.
        _ = served.as_mut() => {}
        () = ended(&mut ending) => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
    drop(permit);
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
