//! What goes over the socket: a mark, a length, and fields with a length each. Every read and write has an end.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The first bytes; another number for another form.
const MARK: &[u8; 4] = b"WKH1";

/// Fields of one frame.
const FIELDS_MAX: usize = 16;

/// Most bytes of a question: what a host may send, and what stands around it.
pub const QUESTION_BYTES_MAX: usize = crate::question::INPUT_BYTES_MAX + 64 * 1024;

/// Most bytes of an answer.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Sends fields, not later than a deadline.
pub fn send(stream: &mut UnixStream, fields: &[&[u8]], deadline: Instant) -> io::Result<()> {
    let bytes: usize = fields.iter().map(|field| field.len() + 4).sum();
    let mut frame = Vec::with_capacity(bytes + 8);
    frame.extend_from_slice(MARK);
    frame.extend_from_slice(&length(bytes)?);
    for field in fields {
        frame.extend_from_slice(&length(field.len())?);
        frame.extend_from_slice(field);
    }
    let mut rest = frame.as_slice();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        match stream.write(rest) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Receives fields, at most so many bytes, not later than a deadline.
pub fn receive(stream: &mut UnixStream, most: usize, deadline: Instant) -> io::Result<Vec<Vec<u8>>> {
    let mut head = [0_u8; 8];
    fill(stream, &mut head, deadline)?;
    let (mark, bytes) = head.split_at(MARK.len());
    let bytes = number(bytes).filter(|bytes| mark == MARK && *bytes <= most).ok_or_else(nonsense)?;
    let mut body = vec![0_u8; bytes];
    fill(stream, &mut body, deadline)?;
    fields(&body).ok_or_else(nonsense)
}

fn fields(mut body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    while !body.is_empty() {
        let (head, rest) = body.split_at_checked(4)?;
        let (field, rest) = rest.split_at_checked(number(head)?)?;
        if found.len() >= FIELDS_MAX {
            return None;
        }
        found.push(field.to_vec());
        body = rest;
    }
    Some(found)
}

fn fill(stream: &mut UnixStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(rest) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The time that is left; none is an error, because a timeout of nothing would wait for ever.
fn left(deadline: Instant) -> io::Result<std::time::Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
}

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    u32::try_from(bytes).map(u32::to_le_bytes).map_err(|_| nonsense())
}

fn number(bytes: &[u8]) -> Option<usize> {
    let bytes: [u8; 4] = bytes.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what came over the socket is no frame")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn what_is_sent_arrives_and_nonsense_does_not() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        send(&mut here, &[b"judge", b"", &[0, 255]], soon()).unwrap();
        assert_eq!(receive(&mut there, 64, soon()).unwrap(), [b"judge".to_vec(), vec![], vec![0, 255]]);
        let huge = [MARK.as_slice(), &u32::MAX.to_le_bytes()].concat();
        let cut = [MARK.as_slice(), &8_u32.to_le_bytes(), &9_u32.to_le_bytes(), b"abcd"].concat();
        let many = [MARK.as_slice(), &80_u32.to_le_bytes(), &[0; 80]].concat();
        for bytes in [huge, cut, many, b"GET / HTTP/1.1\r\n".to_vec()] {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            here.write_all(&bytes).unwrap();
            let fault = receive(&mut there, 1024, soon()).unwrap_err();
            assert_eq!(fault.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
    }

    #[test]
    fn nobody_is_waited_for_beyond_the_deadline() {
        let (mut here, _there) = UnixStream::pair().unwrap();
        let deadline = Instant::now() + Duration::from_millis(20);
        assert!(receive(&mut here, 64, deadline).is_err());
        let (mut here, there) = UnixStream::pair().unwrap();
        drop(there);
        assert_eq!(receive(&mut here, 64, soon()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(send(&mut here, &[b"x"], Instant::now()).is_err());
    }
}
