//! `writkeeper relay`: events are handed on to a stream.

use crate::cli::relaying::RelayArgs;
use crate::commands::run::duration;
use crate::exit::{Exit, UsageError};
use crate::store;
use crate::terminal::{self, GOOD, counted, paint, say};
use server::{Broker, NatsOptions, RelayOptions, Relayed};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use values::json::Json;

/// Hands events on until a signal, or with `--once` until the stream has everything.
pub fn run(args: &RelayArgs) -> anyhow::Result<Exit> {
    let options = options(args)?;
    let keeper = store::read_only_of(&args.kept.store, &args.tenant)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    if !args.once && !args.kept.json {
        terminal::note("handing events on; end with Ctrl-C");
    }
    let heard = |relayed: &Relayed| match relayed {
        Relayed::UpTo(_) => {}
        Relayed::NotYet { index, problem } => {
            terminal::note(&format!("the stream does not have entry {index} yet: {problem}; it is tried again"));
        }
    };
    let tally = server::relay(keeper.location(), keeper.runtime(), &options, &heard, &stop)?;
    if args.kept.json {
        let members = Json::object([
            ("delivered", Json::from(tally.delivered)),
            ("duplicates", Json::from(tally.duplicates)),
            ("erased", Json::from(tally.erased)),
            ("next", Json::from(tally.next)),
            ("behind", Json::Bool(tally.is_behind)),
        ]);
        say!("{}", members.to_canonical());
    } else {
        let next = format!("the next entry is {}", tally.next);
        say!("{} {}; {next}", paint(GOOD, "handed on"), counted(tally.delivered, "event"));
    }
    Ok(if tally.is_behind { Exit::Unavailable } else { Exit::Fine })
}

fn options(args: &RelayArgs) -> anyhow::Result<RelayOptions> {
    let pause = duration("--retry", &args.retry)?.micros().unsigned_abs();
    let pause = Duration::from_micros(pause);
    Ok(RelayOptions { broker: broker(args)?, from: args.from, once: args.once, pause })
}

#[cfg(feature = "kafka")]
fn broker(args: &RelayArgs) -> anyhow::Result<Broker> {
    let Some(servers) = &args.kafka else { return nats(args) };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if args.topic.is_empty() || !args.topic.bytes().all(is_name) {
        let shown = terminal::echo(&args.topic);
        return Err(UsageError(format!("--topic `{shown}` is no word of letters, digits, `.`, `-` and `_`")).into());
    }
    Ok(Broker::Kafka(server::KafkaOptions { servers: servers.clone(), topic: args.topic.clone() }))
}

#[cfg(not(feature = "kafka"))]
fn broker(args: &RelayArgs) -> anyhow::Result<Broker> {
    nats(args)
}

fn nats(args: &RelayArgs) -> anyhow::Result<Broker> {
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    for (option, text) in [("--stream", &args.stream), ("--prefix", &args.prefix)] {
        if !is_word(text) {
            let shown = terminal::echo(text);
            return Err(UsageError(format!("{option} `{shown}` is no word of letters, digits, `-` and `_`")).into());
        }
    }
    let url = args.nats.clone().unwrap_or_default();
    if url.contains('@') {
        let problem = "--nats holds no user or password; set NATS_USER and NATS_PASSWORD";
        return Err(UsageError(problem.to_owned()).into());
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Ok(Broker::Nats(NatsOptions {
        url,
        stream: args.stream.clone(),
        prefix: args.prefix.clone(),
        login: variable("NATS_USER").zip(variable("NATS_PASSWORD")),
        authorities: args.tls_ca.clone(),
    }))
}
