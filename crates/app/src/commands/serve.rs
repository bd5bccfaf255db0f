//! `writkeeper serve`: the store behind a door.

use crate::cli::service::ServeArgs;
use crate::commands::run::duration;
use crate::exit::{Exit, UsageError};
use crate::terminal::{self, echo};
use server::{JwtOptions, Listen, ServeOptions, TlsFiles, Told};
use std::io::Write;
use std::time::Duration;

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
        jwt,
        seal_every,
        keys: args.seal.keys.clone(),
    };
    allow_many_sockets();
    server::serve(options, |told| match told {
        Told::AdminKey(key) => print(&format!("admin key: {key}")),
        Told::Listening(address) => print(&format!("listening on {address}")),
        Told::Note(said) => terminal::note(said),
    })?;
    Ok(Exit::Fine)
}

/// At once, also into a pipe: whoever started it waits for this line.
fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody reads; the service goes on.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A thousand sockets is the usual bound of a process, and few for a service. Where more is not granted it goes on.
fn allow_many_sockets() {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let wanted = rustix::process::Rlimit { current: limits.maximum, ..limits };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, wanted);
}
