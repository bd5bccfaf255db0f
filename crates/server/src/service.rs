//! A service from its start to its end.

use crate::background::Background;
use crate::identity::jwt::Verifier;
use crate::listen::Listener;
use crate::options::ServeOptions;
use crate::routes::router;
use crate::site::Site;
use crate::tenants::Tenants;
use kernel::agent::Actor;
use runtime::memory::ManualClock;
use runtime::ports::clock::Clock;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use values::time::Instant;
use writkeeper::{Error, SystemClock};

/// Why a service did not start, or did not go on.
pub type ServeError = Error;

/// What a service tells whoever started it.
pub enum Told<'a> {
    /// The first key of an admin; nobody hears of it again.
    AdminKey(&'a str),
    /// Where it listens.
    Listening(&'a str),
    /// Something an operator should hear.
    Note(&'a str),
}

/// Serves a store until the process is told to end, and then until what was acknowledged is done.
///
/// Whoever started it may fail to take what it is told. Only the key of an admin must be taken.
pub fn serve(
    options: ServeOptions,
    tell: impl FnMut(Told<'_>) -> io::Result<()> + Send + 'static,
) -> Result<(), Error> {
    let tell = Arc::new(Mutex::new(tell));
    let told = tell.clone();
    let say = move |said: Told<'_>| (told.lock().unwrap_or_else(PoisonError::into_inner))(said);
    let lines = options.clock_of_lines.then(|| Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    if lines.is_some() && !options.listen.is_local() {
        return Err(Error::Usage("--clock-of-lines is for tests on this machine; listen on 127.0.0.1".to_owned()));
    }
    let clock: Arc<dyn Clock> = match &lines {
        Some(lines) => lines.clone(),
        None => Arc::new(SystemClock),
    };
    let tenants = Tenants::open(&options.store, options.keys.clone(), clock)?;
    for notice in tenants.default().keeper.notices() {
        let _ = say(Told::Note(&notice.to_string()));
    }
    let verifier = options.jwt.clone().map(Verifier::open).transpose()?;
    let unstarted = |error: std::io::Error| Error::Unavailable(format!("the service cannot start: {error}"));
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("http").build();
    let threads = threads.map_err(unstarted)?;
    let listener = threads.block_on(Listener::open(&options.listen, options.tls.as_ref()))?;
    let log = Box::new(move |said: &str| {
        // Nobody reads; the service goes on.
        let _ = (tell.lock().unwrap_or_else(PoisonError::into_inner))(Told::Note(said));
    });
    let site = Arc::new(Site::new(options, tenants, lines, verifier, log));
    let background = Background::start(&site)?;
    // Nobody can read the key again, so it is made when nothing can go wrong any more.
    let keeper = &site.tenants.default().keeper;
    if let Some(made) = keeper.first_admin()?
        && let Err(error) = say(Told::AdminKey(&made.key))
    {
        keeper.revoke_key(&Actor::Kernel, &made.id)?;
        background.stop();
        return Err(Error::Unavailable(format!(
            "the key of the first admin could not be written to standard output ({error}), so it was revoked"
        )));
    }
    let _ = say(Told::Listening(&listener.address()));
    let router = router(&site);
    threads
        .block_on(async {
            let ending = site.ending.clone();
            let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
            tokio::spawn(async move {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = int.recv() => {}
                }
                ending.send_replace(true);
            });
            listener.serve(router, &site).await;
            Ok(())
        })
        .map_err(unstarted)?;
    // Threads that still wait for something are not waited for: what they acknowledged is durable.
    threads.shutdown_background();
    background.stop();
    Ok(())
}
