//! Requests over a Unix socket: the same HTTP, on a file in place of a port.

use socket2::{Domain, SockAddr, Socket, Type};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport};

/// How long connecting may take: on one machine somebody listens or nobody does.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Connects to a socket, whatever the address of the request says.
#[derive(Debug)]
pub(crate) struct SocketConnector(pub PathBuf);

impl Connector for SocketConnector {
    type Out = SocketTransport;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<SocketTransport>, Error> {
        let timeout = left(details.timeout).map_or(CONNECT_MAX, |left| left.min(CONNECT_MAX));
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.connect_timeout(&SockAddr::unix(&self.0)?, timeout).map_err(|error| {
            // The file is not there, or nobody is behind it, or there is no room in the line.
            let absent = [ErrorKind::NotFound, ErrorKind::ConnectionRefused, ErrorKind::WouldBlock];
            if absent.contains(&error.kind()) { Error::ConnectionFailed } else { Error::Io(error) }
        })?;
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(SocketTransport { stream: UnixStream::from(OwnedFd::from(socket)), buffers }))
    }
}

/// A connection.
pub(crate) struct SocketTransport {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl fmt::Debug for SocketTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SocketTransport")
    }
}

impl Transport for SocketTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.set_write_timeout(left(timeout))?;
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream.write_all(output).map_err(|error| timed(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.set_read_timeout(left(timeout))?;
        let room = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.map_err(|error| timed(error, timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // Nothing is expected between two requests: what can be read is the end.
        let probe = self.stream.set_nonblocking(true).and_then(|()| self.stream.read(&mut [0]));
        let is_waiting = probe.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        is_waiting && self.stream.set_nonblocking(false).is_ok()
    }
}

/// How long is left; nothing is no bound.
fn left(timeout: NextTimeout) -> Option<Duration> {
    timeout.not_zero().map(|left| *left)
}

fn timed(error: io::Error, timeout: NextTimeout) -> Error {
    let is_late = [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind());
    if is_late { Error::Timeout(timeout.reason) } else { Error::Io(error) }
}
