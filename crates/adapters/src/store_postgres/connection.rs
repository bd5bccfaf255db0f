//! A connection to PostgreSQL: statements go out one behind the other, and their answers are read when they are needed.
//!
//! Every statement is parsed anew and has no name, so that nothing is left in the server's session: any two transactions
//! may be carried by different sessions, as a pooler in transaction mode does.

use super::address::{Address, Server};
use super::fault::{Problem, Said};
use super::scram::{MECHANISM, Scram};
use super::stream::{self, Stream};
use super::value::{Found, Value};
use std::io::{BufReader, Read as _, Write as _};
use std::time::Duration;

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 196_608;

/// Longer messages are not believed.
const MESSAGE_MAX: usize = 1 << 30;

/// Bytes that may be on their way before an answer is read: they fit into what the systems between keep, so neither side
/// waits for the other to read.
pub(super) const IN_FLIGHT: usize = 64 << 10;

/// A host that has not said hello by then is left for another one, where there are several.
const HELLO_WAIT: Duration = Duration::from_secs(5);

/// What statements found, one behind the other, and what the server says it did.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) found: Vec<Vec<Found>>,
    pub(crate) tags: Vec<String>,
    /// The last thing that the server warned of.
    pub(crate) warning: Option<String>,
}

impl Answers {
    /// What a statement found, by its place.
    pub(crate) fn take(&mut self, place: usize) -> Vec<Found> {
        self.found.get_mut(place).map(std::mem::take).unwrap_or_default()
    }
}

/// A connection.
pub(crate) struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    out: Vec<u8>,
    /// How often the server will still say that it is ready.
    awaited: usize,
    is_broken: bool,
    /// Whether the server said that it follows another one.
    is_standby: bool,
    /// The server, as messages name it.
    name: String,
    /// How long it may take for an answer.
    patience: Duration,
    /// Whether it took longer.
    is_silent: bool,
    /// Whether what a process remembers was looked for over this connection.
    pub(super) is_examined: bool,
}

impl Connection {
    /// Connects within `hello`; whatever is asked must be answered within `patience`. Of several servers the one that takes writes is
    /// meant, whatever is asked: a standby may be behind what was just decided.
    pub(crate) fn open(address: &Address, patience: Duration, hello: Duration) -> Result<Connection, Problem> {
        let mut last = None;
        for server in address.servers() {
            match Connection::open_one(address, server, patience, hello) {
                Ok(connection) if connection.is_standby && address.servers().len() > 1 => {}
                Ok(connection) => return Ok(connection),
                Err(problem) => last = Some(problem),
            }
        }
        let nobody = || Problem::Lost(format!("`{address}`: every host that answers is a standby"));
        Err(last.unwrap_or_else(nobody))
    }

    fn open_one(
        address: &Address,
        server: &Server,
        patience: Duration,
        hello: Duration,
    ) -> Result<Connection, Problem> {
        let hello = if address.servers().len() > 1 { HELLO_WAIT.min(hello) } else { hello };
        let stream = BufReader::with_capacity(32 << 10, stream::open(address, server, hello)?);
        let mut connection = Connection {
            stream,
            out: Vec::new(),
            awaited: 0,
            is_broken: false,
            is_standby: false,
            name: server.to_string(),
            patience: hello,
            is_silent: false,
            is_examined: false,
        };
        connection.start(address, server)?;
        connection.wait_for(patience)?;
        Ok(connection)
    }

    /// Whatever is asked from now on must be answered within `patience`; what counted before.
    pub(super) fn wait_for(&mut self, patience: Duration) -> Result<Duration, Problem> {
        let set = self.stream.get_ref().wait_for(patience);
        set.map_err(|error| self.away(&error))?;
        Ok(std::mem::replace(&mut self.patience, patience))
    }

    /// Whether the server follows another one, as far as it says so.
    pub(crate) fn is_standby(&self) -> bool {
        self.is_standby
    }

    /// Whether it cannot be used any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether the server did not answer in time.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// How many bytes wait to be sent.
    pub(super) fn unsent(&self) -> usize {
        self.out.len()
    }

    /// Adds a statement to what is sent next.
    pub(crate) fn statement(&mut self, sql: &str, values: &[Value<'_>]) {
        self.message(b'P', |out| {
            out.push(0);
            push_text(sql, out);
            out.extend_from_slice(&0_i16.to_be_bytes());
        });
        self.message(b'B', |out| {
            // No name for the portal and none for the statement; everything goes and comes in binary form.
            out.extend_from_slice(&[0, 0, 0, 1, 0, 1]);
            out.extend_from_slice(&u16::try_from(values.len()).unwrap_or(u16::MAX).to_be_bytes());
            values.iter().for_each(|value| value.push_onto(out));
            out.extend_from_slice(&[0, 1, 0, 1]);
        });
        self.message(b'E', |out| out.extend_from_slice(&[0, 0, 0, 0, 0]));
    }

    /// Sends what was added, and ends it: what stands behind an error is left out, and the server counts its patience
    /// with an open transaction from here.
    pub(crate) fn send(&mut self) -> Result<(), Problem> {
        self.message(b'S', |_| {});
        self.awaited += 1;
        self.flush()
    }

    /// Sends what was added, and reads all answers that are still to come.
    pub(crate) fn ask(&mut self) -> Result<Answers, Problem> {
        self.send()?;
        self.answers()
    }

    /// One statement and what it finds.
    pub(crate) fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Found>, Problem> {
        self.statement(sql, values);
        Ok(self.ask()?.take(0))
    }

    /// Several statements without values, one behind the other.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), Problem> {
        self.message(b'Q', |out| push_text(sql, out));
        self.awaited += 1;
        self.flush()?;
        self.answers().map(|_| ())
    }

    /// Reads all answers that are still to come; the first error of them is the one that counts.
    pub(crate) fn answers(&mut self) -> Result<Answers, Problem> {
        let (mut answers, mut rows, mut problem) = (Answers::default(), Vec::new(), None);
        while self.awaited > 0 {
            let (tag, body) = match self.receive() {
                Ok(message) => message,
                // What the server said last says more than that it has gone.
                Err(lost) => return Err(problem.map_or(lost, Problem::Said)),
            };
            match tag {
                b'D' => rows.push(Found::read(body).ok_or_else(|| self.broken("a row cannot be read"))?),
                b'C' => {
                    answers.found.push(std::mem::take(&mut rows));
                    answers.tags.push(text_of(&body).to_owned());
                }
                b'E' => {
                    let said = said(&body);
                    self.is_broken |= said.is_fatal();
                    problem.get_or_insert(said);
                }
                b'Z' => self.awaited -= 1,
                b'N' => {
                    let said = said(&body);
                    if said.is_warning() {
                        answers.warning = Some(said.message);
                    }
                }
                // Parsed, bound, a changed setting: nothing that anybody waits for.
                _ => {}
            }
        }
        problem.map_or(Ok(answers), |said| Err(Problem::Said(said)))
    }

    /// Undoes what is open. Where that fails the connection is given up, and the server undoes it.
    pub(crate) fn roll_back(&mut self) {
        self.out.clear();
        if self.is_broken {
            return;
        }
        let _earlier = self.answers();
        if !self.is_broken && self.run("ROLLBACK").is_err() {
            self.is_broken = true;
        }
    }

    fn broken(&mut self, problem: &str) -> Problem {
        self.is_broken = true;
        Problem::Lost(format!("the connection to the database is lost: {problem}"))
    }

    /// The way to the server is gone, or it is silent.
    fn away(&mut self, error: &std::io::Error) -> Problem {
        self.is_broken = true;
        self.is_silent = stream::is_silence(error);
        Problem::Away(match self.is_silent {
            true => stream::silence(&self.name, self.patience),
            false => format!("the connection to the database is lost: {error}"),
        })
    }

    fn message(&mut self, tag: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(tag);
        counted(&mut self.out, fill);
    }

    fn flush(&mut self) -> Result<(), Problem> {
        if self.is_broken {
            return Err(self.broken("it was lost before"));
        }
        let out = std::mem::take(&mut self.out);
        let stream = self.stream.get_mut();
        let sent = stream.write_all(&out).and_then(|()| stream.flush());
        self.out = out;
        self.out.clear();
        sent.map_err(|error| self.away(&error))
    }

    fn receive(&mut self) -> Result<(u8, Vec<u8>), Problem> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).map_err(|error| self.away(&error))?;
        let [tag, length @ ..] = header;
        let length = u32::from_be_bytes(length) as usize;
        let length = length.checked_sub(4).filter(|length| *length <= MESSAGE_MAX);
        let length = length.ok_or_else(|| self.broken("what answers is no PostgreSQL server"))?;
        let mut body = Vec::new();
        let read = (&mut self.stream).take(length as u64).read_to_end(&mut body);
        match read {
            Ok(read) if read == length => Ok((tag, body)),
            Ok(_) => Err(self.broken("it ended within an answer")),
            Err(error) => Err(self.away(&error)),
        }
    }

    /// Says who asks for what, and shows that it may.
    fn start(&mut self, address: &Address, server: &Server) -> Result<(), Problem> {
        let mut start = Vec::new();
        counted(&mut start, |out| {
            out.extend_from_slice(&PROTOCOL.to_be_bytes());
            let given = [
                ("user", address.user()),
                ("database", address.database()),
                ("client_encoding", "UTF8"),
                ("application_name", "writkeeper"),
            ];
            for (name, value) in given {
                push_text(name, out);
                push_text(value, out);
            }
            out.push(0);
        });
        self.out = start;
        self.flush()?;
        let mut scram = None;
        loop {
            let (tag, body) = self.receive()?;
            match tag {
                b'R' => self.authenticate(address, server, &body, &mut scram)?,
                b'S' => self.is_standby |= body == *b"in_hot_standby\0on\0",
                b'E' => {
                    self.is_broken = true;
                    return Err(Problem::Said(said(&body)));
                }
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }

    fn authenticate(
        &mut self,
        address: &Address,
        server: &Server,
        body: &[u8],
        scram: &mut Option<Scram>,
    ) -> Result<(), Problem> {
        let Some((kind, rest)) = body.split_first_chunk::<4>() else {
            return Err(self.broken("what answers is no PostgreSQL server"));
        };
        let wrong = || Problem::Lost(format!("`{address}`: the server does not show that it knows the password"));
        match u32::from_be_bytes(*kind) {
            0 => Ok(()),
            10 if rest.split(|byte| *byte == 0).any(|offered| offered == MECHANISM.as_bytes()) => {
                let Some(password) = address.password(server) else {
                    return Err(Problem::Lost(format!(
                        "`{address}`: the server asks for a password; write it into ~/.pgpass or set PGPASSWORD"
                    )));
                };
                let made = Scram::new(&password).ok_or_else(wrong)?;
                let first = made.first();
                *scram = Some(made);
                self.message(b'p', |out| {
                    push_text(MECHANISM, out);
                    out.extend_from_slice(&i32::try_from(first.len()).unwrap_or(i32::MAX).to_be_bytes());
                    out.extend_from_slice(first.as_bytes());
                });
                self.flush()
            }
            11 => {
                let said = std::str::from_utf8(rest).unwrap_or_default();
                let answer = scram.as_mut().and_then(|scram| scram.answer(said)).ok_or_else(wrong)?;
                self.message(b'p', |out| out.extend_from_slice(answer.as_bytes()));
                self.flush()
            }
            12 => {
                let said = std::str::from_utf8(rest).unwrap_or_default();
                scram.as_ref().filter(|scram| scram.is_shown(said)).map(|_| ()).ok_or_else(wrong)
            }
            _ => Err(Problem::Lost(format!(
                "`{address}`: the server asks for a way to log in that is not spoken here; let it ask for scram-sha-256, \
                 or for nothing"
            ))),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_broken {
            // A server that does not hear it notices that the connection has ended.
            let _unheard = self.stream.get_mut().write_all(&[b'X', 0, 0, 0, 4]);
        }
    }
}

/// Appends what `fill` appends, with its length before it.
fn counted(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn text_of(body: &[u8]) -> &str {
    let end = body.iter().position(|byte| *byte == 0).unwrap_or(body.len());
    body.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

/// What an error says, field by field.
fn said(body: &[u8]) -> Said {
    let mut said = Said::default();
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { continue };
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            b'V' => said.severity = text,
            b'C' => said.code = text,
            b'M' => said.message = text,
            _ => {}
        }
    }
    said
}
