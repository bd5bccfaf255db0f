//! Asking a daemon. If none serves, it costs one failed system call; one that does not answer costs a bounded wait.

use super::{Address, DaemonFolder, frame, peer};
use crate::hooks::HookOutput;
use crate::place::Guard;
use crate::question::Question;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a person waits for a daemon's word.
pub const PATIENCE: Duration = Duration::from_millis(1_500);

/// How long a daemon may take over a call. Its hook judges by itself afterwards, which must end before its own deadline.
pub const ANSWER_WAIT: Duration = Duration::from_millis(1_500);

/// After so long it is looked at whether the daemon goes on at all.
pub const LOOKED_AFTER: Duration = Duration::from_millis(200);

/// How long a daemon that let a hook wait in vain is not asked again.
const LEFT_ALONE: Duration = Duration::from_secs(10);

/// How a daemon answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DaemonAnswer {
    /// The answer.
    Answer(HookOutput),
    /// No daemon serves.
    Absent,
    /// It let another hook wait in vain a moment ago, and was not asked.
    LeftAlone,
    /// A daemon was asked, and may have decided.
    Lost(String),
    /// The same, after it was waited for in vain.
    Late(String),
}

/// Where a judgement takes place: a daemon somewhere else would see other files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Surroundings(pub [Vec<u8>; 3]);

impl Surroundings {
    /// Of this process: home, folder of temporary files, program.
    pub fn own() -> Surroundings {
        let bytes = |name: &str| std::env::var_os(name).map(OsString::into_vec).unwrap_or_default();
        let binary = std::env::current_exe().map(|path| path.into_os_string().into_vec()).unwrap_or_default();
        Surroundings([bytes("HOME"), bytes("TMPDIR"), binary])
    }
}

/// Asks the daemon of a guard.
pub fn ask(guard: &Guard, question: &Question<'_>) -> DaemonAnswer {
    let (deadline, place) = (Instant::now() + ANSWER_WAIT, DaemonFolder::of(guard));
    if place.is_left_alone(LEFT_ALONE) {
        return DaemonAnswer::LeftAlone;
    }
    let Ok(Some(mut stream)) = connect(&place.socket()) else { return DaemonAnswer::Absent };
    let Surroundings([home, temporary, binary]) = Surroundings::own();
    let ticket = question.ticket;
    let fields: [&[u8]; 11] = [
        b"judge",
        ticket.id.as_bytes(),
        &ticket.at.micros().to_be_bytes(),
        question.host.word.as_bytes(),
        question.event.word().as_bytes(),
        if question.framed { b"framed" } else { b"" },
        guard.folder.as_os_str().as_bytes(),
        &home,
        &temporary,
        &binary,
        question.sent,
    ];
    let stopped = || place.holder().filter(|holder| peer::is_stopped(holder.process));
    let answer = frame::send(&mut stream, &fields, deadline).and_then(|()| {
        if is_silent(&stream, LOOKED_AFTER)
            && let Some(holder) = stopped()
        {
            place.leave_alone();
            return Ok(Err(late(LOOKED_AFTER, &format!("process {}, which is stopped", holder.process))));
        }
        frame::receive(&mut stream, frame::ANSWER_BYTES_MAX, deadline).map(Ok)
    });
    match answer {
        Ok(Err(late)) => late,
        Ok(Ok(fields)) => {
            // Others may have waited in vain while it had much to do.
            place.answered();
            understood(&fields).unwrap_or_else(|| DaemonAnswer::Lost("the daemon's answer is none".to_owned()))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            let holder =
                place.holder().map_or_else(|| "another process".to_owned(), |it| format!("process {}", it.process));
            late(ANSWER_WAIT, &holder)
        }
        Err(error) => DaemonAnswer::Lost(format!("the daemon did not answer: {error}")),
    }
}

fn late(waited: Duration, who: &str) -> DaemonAnswer {
    DaemonAnswer::Late(format!("waited {waited:?} for an answer of the daemon ({who})"))
}

/// Whether nothing comes for so long.
fn is_silent(stream: &UnixStream, wait: Duration) -> bool {
    let Ok(wait) = Timespec::try_from(wait) else { return false };
    matches!(poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&wait)), Ok(0))
}

/// Sends a word to the daemon of a guard; `None` if none serves.
pub fn say(guard: &Guard, word: &[u8]) -> io::Result<Option<Vec<Vec<u8>>>> {
    let deadline = Instant::now() + PATIENCE;
    let Some(mut stream) = connect(&DaemonFolder::of(guard).socket())? else { return Ok(None) };
    frame::send(&mut stream, &[word], deadline)?;
    frame::receive(&mut stream, frame::ANSWER_BYTES_MAX, deadline).map(Some)
}

/// Connects without waiting, to a process of the same user that runs this program.
fn connect(socket: &Path) -> io::Result<Option<UnixStream>> {
    let address = match Address::of(socket) {
        Ok(address) => address,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let end = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
    // With its line full a daemon is as good as none.
    end.set_nonblocking(true)?;
    if let Err(error) = end.connect(&socket2::SockAddr::unix(&address.path)?) {
        let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused, io::ErrorKind::WouldBlock];
        return if nobody.contains(&error.kind()) { Ok(None) } else { Err(error) };
    }
    end.set_nonblocking(false)?;
    let stream = UnixStream::from(OwnedFd::from(end));
    let process = peer::of_same_user(&stream)?;
    Ok(process.is_some_and(peer::runs_this_program).then_some(stream))
}

fn understood(fields: &[Vec<u8>]) -> Option<DaemonAnswer> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    match fields {
        [word, stdout, stderr, code] if word == b"answer" => {
            let code = code.first().copied().filter(|code| matches!(code, 0 | 2))?;
            let stdout = text(stdout).filter(|said| !said.trim().is_empty())?;
            Some(DaemonAnswer::Answer(HookOutput { stdout, stderr: text(stderr)?, code }))
        }
        [word, why] if word == b"declined" => text(why).map(DaemonAnswer::Lost),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_is_one() {
        let fields = |fields: &[&[u8]]| fields.iter().map(|field| field.to_vec()).collect::<Vec<_>>();
        let printed = HookOutput { stdout: "{}\n".to_owned(), stderr: String::new(), code: 0 };
        assert_eq!(understood(&fields(&[b"answer", b"{}\n", b"", &[0]])), Some(DaemonAnswer::Answer(printed)));
        assert_eq!(understood(&fields(&[b"declined", b"no"])), Some(DaemonAnswer::Lost("no".to_owned())));
        for nonsense in [
            fields(&[]),
            fields(&[b"answer"]),
            fields(&[b"answer", b"{}\n", b""]),
            fields(&[b"answer", b"\n", b"", &[0]]),
            fields(&[b"answer", b"{}\n", b"", &[1]]),
            fields(&[b"answer", b"{}\n", b"", &[]]),
            fields(&[b"answer", &[0xff], b"", &[0]]),
            fields(&[b"status", b"{}"]),
            fields(&[b"answer", b"{}\n", b"", &[0], b"more"]),
        ] {
            assert_eq!(understood(&nonsense), None, "{nonsense:?}");
        }
    }
}
