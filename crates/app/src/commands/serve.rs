//! `writkeeper serve`: the store behind a door.

use crate::cli::service::ServeArgs;
use crate::commands::notify;
use crate::commands::run::duration;
use crate::exit::{Exit, UsageError};
use crate::terminal::{self, echo};
use adapters::addresses::Range;
use server::{JwtOptions, Listen, ServeOptions, TlsFiles, Told};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use writkeeper::webhooks::{self, Endpoint};

/// Serves until the process is told to end.
pub fn run(args: &ServeArgs) -> anyhow::Result<Exit> {
    if args.document {
        terminal::write_data(server::openapi::text())?;
        return Ok(Exit::Fine);
    }
    let listen = args.listen.parse::<Listen>();
    let listen = listen.map_err(|problem| UsageError(format!("--listen `{}` {problem}", echo(&args.listen))))?;
    let seal_every = Duration::from_micros(duration("--seal-every", &args.seal.seal_every)?.micros().unsigned_abs());
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let jwt = args.jwks.clone().map(|jwks| JwtOptions {
        jwks,
        issuer: args.jwt_issuer.clone().unwrap_or_default(),
        audience: args.jwt_audience.clone().unwrap_or_default(),
        groups_claim: args.jwt_groups_claim.clone(),
        name_claim: args.jwt_name_claim.clone(),
    });
    let options = ServeOptions {
        store: args.store.clone(),
        listen,
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        rate: args.rate,
        streams: usize::try_from(args.streams).unwrap_or(usize::MAX),
        per_address: usize::try_from(args.per_address).unwrap_or(usize::MAX),
        jwt,
        seal_every,
        keys: args.seal.keys.clone(),
        clock_of_lines: args.clock_of_lines,
    };
    let mut notifier = Notifier::wanted(args)?;
    let stop = notifier.as_ref().map(|notifier| notifier.stop.clone());
    allow_many_sockets();
    let served = server::serve(options, move |told| match told {
        Told::AdminKey(key) => is_read().and_then(|()| print(&format!("admin key: {key}"))).inspect_err(|_| {
            terminal::note("`writkeeper keys new --role admin` on this machine makes a key and tells it");
        }),
        Told::Listening(address) => {
            // The store is there now.
            if let Some(notifier) = notifier.take() {
                notifier.start();
            }
            print(&format!("listening on {address}"))
        }
        Told::Note(said) => {
            terminal::note(said);
            Ok(())
        }
    });
    if let Some(stop) = stop {
        stop.store(true, Ordering::SeqCst);
    }
    served?;
    Ok(Exit::Fine)
}

/// Tells people of questions while the service runs. What is not told when it ends is told by the next one.
struct Notifier {
    store: String,
    endpoints: Vec<Endpoint>,
    ranges: Vec<Range>,
    stop: Arc<AtomicBool>,
}

impl Notifier {
    fn wanted(args: &ServeArgs) -> anyhow::Result<Option<Notifier>> {
        let Some(path) = &args.webhooks else { return Ok(None) };
        let (endpoints, ranges) = (notify::endpoints(path)?, notify::ranges(&args.webhooks_private)?);
        Ok(Some(Notifier { store: args.store.clone(), endpoints, ranges, stop: Arc::default() }))
    }

    fn start(self) {
        let run = move || {
            let options = webhooks::Options::default();
            let told =
                notify::deliver(&self.store, &self.endpoints, (self.ranges, &options), &notify::told, &self.stop);
            if let Err(error) = told {
                terminal::note(&format!("nobody is told of questions any more: {error:#}"));
            }
        };
        if std::thread::Builder::new().name("webhooks".to_owned()).spawn(run).is_err() {
            terminal::note("nobody is told of questions: there is no thread for it");
        }
    }
}

/// Refuses a standard output that forgets everything. One that was closed is opened as such by the standard library.
fn is_read() -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let (out, nowhere) = (rustix::fs::fstat(std::io::stdout())?, std::fs::metadata("/dev/null")?);
    if out.st_rdev == nowhere.rdev() && out.st_ino == nowhere.ino() {
        return Err(std::io::Error::other("it leads nowhere"));
    }
    Ok(())
}

/// At once, also into a pipe: whoever started it waits for this line.
fn print(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}

/// A thousand sockets is the usual bound of a process, and few for a service. Where more is not granted it goes on.
fn allow_many_sockets() {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let wanted = rustix::process::Rlimit { current: limits.maximum, ..limits };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, wanted);
}
