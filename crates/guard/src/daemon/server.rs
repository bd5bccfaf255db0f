//! The daemon: one runtime for all hooks of a guard, so that calls at the same time share a commit.
use adapters::system_clock::SystemClock;
use runtime::ports::clock::Clock;

use super::client::Surroundings;
use super::{Address, DaemonFolder, frame, peer};
use crate::command_line::CommandLine;
use crate::hooks::{self, Event, HookOutput, Host};
use crate::judge::start_resident;
use crate::place::{self, Guard};
use crate::question::{Progress, Question, lock};
use crate::ticket::Ticket;
use runtime::Runtime;
use std::ffi::OsStr;
use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use values::time::Instant as Moment;

/// Hooks served at the same time; more wait in the system's line, and judge by themselves if they wait too long.
const SERVED_AT_ONCE: usize = 32;

/// How long one connection may take to say what it wants, and to take its answer.
const CONNECTION: Duration = Duration::from_secs(2);

/// A call older than this has been answered elsewhere, or blocked: its hook is gone.
const CALL_AGE_MAX: Duration = Duration::from_secs(8);

/// A clock ahead by more than this is not the clock of this machine.
const CALL_AHEAD_MAX: Duration = Duration::from_secs(5);

/// How often the daemon looks whether it is still wanted.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long the daemon waits for open connections at the end.
const FAREWELL: Duration = Duration::from_secs(5);

/// Commands of an agent are taken apart by recursion, as deep as on the main thread.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Why a daemon ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// A person or a program told it to.
    Told,
    /// No hook called for a while.
    Idle,
    /// Its store, program or socket is another one now.
    Replaced,
}

/// Why a daemon does not start.
#[derive(Debug)]
pub enum Refusal {
    /// Another one serves this guard.
    Held(String),
    /// The store cannot be opened.
    Store(String),
    /// The system said no.
    Io(String, io::Error),
}

/// Everything connections share.
struct Shared {
    guard: Guard,
    program: &'static CommandLine,
    runtime: Arc<Runtime>,
    /// Database and log, as they were opened.
    store: [Option<(u64, u64)>; 2],
    surroundings: Surroundings,
    started: Instant,
    serving: AtomicUsize,
    /// Threads that take calls, and those of them that wait for one.
    hired: AtomicUsize,
    free: AtomicUsize,
    served: AtomicU64,
    /// Seconds from the start to the last call.
    called: AtomicU64,
    replaced: AtomicBool,
    wake: UnixStream,
}

/// A daemon that holds its guard and has not begun to serve.
pub struct Daemon {
    shared: Arc<Shared>,
    place: DaemonFolder,
    listener: Arc<UnixListener>,
    woken: UnixStream,
    /// Held as long as the daemon lives.
    _lock: File,
}

impl Daemon {
    /// Takes hold of a guard: lock, store, socket.
    pub fn take(guard: &Guard, program: &'static CommandLine) -> Result<Daemon, Refusal> {
        let place = DaemonFolder::of(guard);
        let failed = |what: &Path| {
            let what = what.display().to_string();
            move |error| Refusal::Io(what, error)
        };
        place.make().map_err(failed(&guard.folder))?;
        let lock = held(&place)?;
        let runtime = start_resident(guard).map_err(Refusal::Store)?;
        let socket = place.socket();
        // The daemon that left it there no longer holds the lock.
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&socket)(error)),
            Ok(()) | Err(_) => {}
        }
        let listener = Address::of(&socket).and_then(|address| UnixListener::bind(&address.path));
        let listener = Arc::new(listener.map_err(failed(&socket))?);
        std::fs::set_permissions(&socket, Permissions::from_mode(0o600)).map_err(failed(&socket))?;
        let (wake, woken) = UnixStream::pair().map_err(failed(&socket))?;
        let shared = Shared {
            guard: guard.clone(),
            program,
            runtime,
            store: identities(guard),
            surroundings: Surroundings::own(),
            started: Instant::now(),
            serving: AtomicUsize::new(0),
            hired: AtomicUsize::new(0),
            free: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            called: AtomicU64::new(0),
            replaced: AtomicBool::new(false),
            wake,
        };
        Ok(Daemon { shared: Arc::new(shared), place, listener, woken, _lock: lock })
    }

    /// Decides for every hook.
    pub fn runtime(&self) -> &Runtime {
        &self.shared.runtime
    }

    /// Serves until it is told to end, or until no hook has called for so long.
    pub fn serve(mut self, idle: Option<Duration>) -> io::Result<End> {
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::low_level::pipe::register(signal, self.shared.wake.try_clone()?)?;
        }
        self.shared.hire(&self.listener)?;
        let end = self.wait(idle)?;
        self.leave(end);
        Ok(end)
    }

    fn wait(&mut self, idle: Option<Duration>) -> io::Result<End> {
        self.woken.set_read_timeout(Some(LOOK_AGAIN))?;
        let own = identity(&self.place.socket());
        let program = std::env::current_exe().ok();
        let program = program.as_deref().map(|path| (path.to_path_buf(), identity(path)));
        loop {
            let told = match self.woken.read(&mut [0; 16]) {
                Ok(_) => true,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let shared = &self.shared;
            if shared.replaced.load(Ordering::SeqCst) || !shared.is_own_store() {
                return Ok(End::Replaced);
            }
            // By a hook's owner, or by a signal.
            if told {
                return Ok(End::Told);
            }
            let moved = program.as_ref().is_some_and(|(path, was)| identity(path) != *was);
            if moved || identity(&self.place.socket()) != own {
                return Ok(End::Replaced);
            }
            if idle.is_some_and(|idle| shared.has_rested(idle)) {
                return Ok(End::Idle);
            }
        }
    }

    /// Takes no more calls, waits a while for those that are being judged, closes the store.
    fn leave(self, end: End) {
        let _ = std::fs::remove_file(self.place.socket());
        let until = Instant::now() + FAREWELL;
        while self.shared.serving.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        if end == End::Replaced {
            // Closing would take our log into a file that is another one by now.
            std::mem::forget(self);
        }
    }
}

/// Takes the lock of a daemon and writes process, version and start into it.
fn held(place: &DaemonFolder) -> Result<File, Refusal> {
    let path = place.lock();
    let failed = |error| Refusal::Io(path.display().to_string(), error);
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = opened.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = place.holder().map_or_else(
                || "another process".to_owned(),
                |holder| format!("process {} (version {}, since {})", holder.process, holder.version, holder.since),
            );
            return Err(Refusal::Held(holder));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let own = format!("{} {} {}\n", std::process::id(), env!("CARGO_PKG_VERSION"), SystemClock.now());
    file.set_len(0).and_then(|()| file.write_all(own.as_bytes())).map_err(failed)?;
    Ok(file)
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Which files a store consists of; an emptied database is none.
fn identities(guard: &Guard) -> [Option<(u64, u64)>; 2] {
    let store = guard.store();
    let mut log = store.clone().into_os_string();
    log.push("-wal");
    let filled = std::fs::metadata(&store).ok().filter(|found| found.len() > 0);
    [filled.map(|found| (found.dev(), found.ino())), identity(&PathBuf::from(log))]
}

impl Shared {
    /// One more thread that takes calls, as long as there may be one more.
    fn hire(self: &Arc<Shared>, listener: &Arc<UnixListener>) -> io::Result<()> {
        let number = self.hired.fetch_add(1, Ordering::SeqCst);
        if number >= SERVED_AT_ONCE {
            self.hired.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
        self.free.fetch_add(1, Ordering::SeqCst);
        let (shared, listener) = (self.clone(), listener.clone());
        let worker = std::thread::Builder::new().name(format!("hook {number}")).stack_size(STACK_BYTES);
        let hired = worker.spawn(move || shared.accept(&listener));
        if hired.is_err() {
            self.free.fetch_sub(1, Ordering::SeqCst);
            self.hired.fetch_sub(1, Ordering::SeqCst);
        }
        hired.map(drop)
    }

    /// Takes calls, one after the other. A thread that takes a call first makes sure that another one waits for the next.
    /// Usually two threads alternate, which keeps their memory warm.
    fn accept(self: &Arc<Shared>, listener: &Arc<UnixListener>) {
        loop {
            let Ok((mut stream, _)) = listener.accept() else {
                // Usually out of file descriptors: a connection will end and free one.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            self.serving.fetch_add(1, Ordering::SeqCst);
            if self.free.fetch_sub(1, Ordering::SeqCst) == 1 {
                // Where the machine gives no thread, calls wait for this one.
                let _ = self.hire(listener);
            }
            let answered = catch_unwind(AssertUnwindSafe(|| self.serve(&mut stream)));
            if !matches!(answered, Ok(Ok(()))) {
                // The hook hears that its connection ends, and judges by itself.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
            self.serving.fetch_sub(1, Ordering::SeqCst);
            self.free.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn serve(&self, stream: &mut UnixStream) -> io::Result<()> {
        if peer::of_same_user(stream)?.is_none() {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let fields = frame::receive(stream, frame::QUESTION_BYTES_MAX, Instant::now() + CONNECTION)?;
        let send = |stream: &mut UnixStream, fields: &[&[u8]]| frame::send(stream, fields, Instant::now() + CONNECTION);
        match fields.first().map(Vec::as_slice) {
            Some(b"judge") => {
                self.called.store(self.started.elapsed().as_secs(), Ordering::SeqCst);
                match self.judge(&fields) {
                    Ok(said) => {
                        self.served.fetch_add(1, Ordering::SeqCst);
                        send(stream, &[b"answer", said.stdout.as_bytes(), said.stderr.as_bytes(), &[said.code]])
                    }
                    Err(why) => send(stream, &[b"declined", why.as_bytes()]),
                }
            }
            Some(b"status") => send(stream, &[b"status", self.status().as_bytes()]),
            Some(b"stop") => {
                send(stream, &[b"ending"])?;
                (&self.wake).write_all(&[0])
            }
            Some(_) | None => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }

    fn status(&self) -> String {
        let status = serde_json::json!({
            "process": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "seconds": self.started.elapsed().as_secs(),
            "served": self.served.load(Ordering::SeqCst),
            // The connection that asks is one of them.
            "serving": self.serving.load(Ordering::SeqCst).saturating_sub(1),
        });
        status.to_string()
    }

    /// Judges a call as its hook would; the error says why the hook has to do it.
    fn judge(&self, fields: &[Vec<u8>]) -> Result<HookOutput, String> {
        let [_, id, at, host, event, framed, guard, home, temporary, binary, sent] = fields else {
            return Err("the question is none".to_owned());
        };
        let surroundings = Surroundings([home.clone(), temporary.clone(), binary.clone()]);
        let folder = Path::new(OsStr::from_bytes(guard));
        let is_here = || place::canonical(folder) == place::canonical(&self.guard.folder);
        if surroundings != self.surroundings || folder != self.guard.folder && !is_here() {
            return Err("the hook runs in other surroundings".to_owned());
        }
        let ticket = ticket(id, at)?;
        let word = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "the question is none".to_owned());
        let unknown = || "the host or the moment is none that is known here".to_owned();
        let host = hooks::host(&word(host)?).ok_or_else(unknown)?;
        let event = Event::from_word(&word(event)?).ok_or_else(unknown)?;
        if event == Event::Stop {
            return Err("a check runs where the hook runs".to_owned());
        }
        let framed = framed == b"framed";
        let question =
            Question { host, event, framed, guard: Some(folder), sent, ticket: &ticket, program: self.program };
        let known = Mutex::new(Progress::default());
        let reply = question.judge(&known, &|_: &Guard| self.runtime_for(host))?;
        if !self.is_own_store() {
            // The decision may have gone into a log that will not be read again.
            self.retire();
            return Err("the store was replaced".to_owned());
        }
        let moment = lock(&known).moment.clone();
        Ok(question.printed(&moment, &reply))
    }

    /// The runtime, as long as it stands for what a hook would open now.
    fn runtime_for(&self, host: Host) -> Result<Arc<Runtime>, String> {
        if !self.is_own_store() {
            self.retire();
            return Err("the store was replaced".to_owned());
        }
        // What is remembered of the contract may have been replaced since.
        let line = self.runtime.line_now(host.word).map_err(|fault| fault.to_string())?;
        let asks =
            |contract: &kernel::contract::Contract| !contract.validators.is_empty() || !contract.judges.is_empty();
        if std::iter::once(&line.contract).chain(&line.ancestors).any(|contract| asks(&contract.contract)) {
            return Err("the contract asks programs, which run where the hook runs".to_owned());
        }
        Ok(self.runtime.clone())
    }

    fn is_own_store(&self) -> bool {
        identities(&self.guard) == self.store
    }

    fn retire(&self) {
        self.replaced.store(true, Ordering::SeqCst);
        let _ = (&self.wake).write_all(&[0]);
    }

    fn has_rested(&self, idle: Duration) -> bool {
        let called = Duration::from_secs(self.called.load(Ordering::SeqCst));
        self.serving.load(Ordering::SeqCst) == 0 && self.started.elapsed().saturating_sub(called) >= idle
    }
}

fn ticket(id: &[u8], at: &[u8]) -> Result<Ticket, String> {
    let nonsense = || "the ticket is none".to_owned();
    let id = String::from_utf8(id.to_vec()).map_err(|_| nonsense())?;
    let at = Moment::from_micros(i64::from_be_bytes(at.try_into().map_err(|_| nonsense())?));
    let (now, at_micros) = (SystemClock.now().micros(), at.micros());
    let within = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    if now.saturating_sub(at_micros) > within(CALL_AGE_MAX) || at_micros.saturating_sub(now) > within(CALL_AHEAD_MAX) {
        return Err("the call is not of now".to_owned());
    }
    // Its hook may have been given up on and asked again.
    Ok(Ticket { id, at, is_repeated: false })
}
