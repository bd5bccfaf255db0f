//! Signed intents for executors elsewhere.

use crate::commands::run::duration;
use crate::exit::{Exit, InvalidData, Refused, UsageError};
use crate::files;
use crate::store;
use crate::terminal::{self, GOOD, paint, say};
use kernel::change::Act;
use kernel::event::Event;
use kernel::intent::{SignedIntent, provider_key};
use ledger::keys::{NoteSigner, VerifierKey};
use runtime::Runtime;
use std::path::Path;
use values::json::Json;
use values::time::Duration;
use writkeeper::lookup;

/// Claims, marks and signs: from now on it may happen, and only a report says whether it did.
pub fn sign(runtime: &Runtime, id: &str, executor: &str, key: &Path, within: &str, json: bool) -> anyhow::Result<()> {
    let within = duration("--within", within)?;
    let text =
        String::from_utf8(files::read(key)?).map_err(|_| InvalidData(format!("`{}` is no key", key.display())))?;
    let line = text.lines().find(|line| line.starts_with("PRIVATE+KEY+")).unwrap_or_default();
    let problem = || {
        InvalidData(format!(
            "`{}` holds no line PRIVATE+KEY+NAME+…; `writkeeper ledger keys new` makes such a key, in STORE.keys/KEYID.key",
            key.display()
        ))
    };
    let signer = NoteSigner::parse(line).map_err(|_| problem())?;
    let (intent, row) = lookup::intent(runtime, id)?;
    let Some(running) = row.running.as_ref().filter(|running| !running.by_host) else {
        return Err(Refused(format!("intent {intent} is not for the runtime to perform")).into());
    };
    if !running.secrets.is_empty() {
        return Err(Refused(format!("intent {intent} needs secret params, which are never signed")).into());
    }
    let now = store::now();
    let until = SignedIntent::until(&row, now, within);
    if until < now.plus(within) {
        terminal::note(&format!("the intent ends at {until}, so the executor has until then and not {within}"));
    }
    let within = Duration::from_micros(until.since(now).micros().max(0));
    let lease = Duration::from_micros(within.micros().saturating_add(running.timeout().micros()));
    let claim = Act::Claim { intent: intent.clone(), worker: format!("remote {executor}"), lease };
    let claimed = store::told(runtime.change(store::operator(), claim))?;
    let Event::IntentClaimed { step, .. } = claimed.as_ref() else { return Err(store::other_event()) };
    let epoch = step.epoch;
    let start = Act::Start { intent: intent.clone(), epoch, attempt: running.digest() };
    let started = store::done(runtime.change(store::operator(), start))?;
    let signed = SignedIntent {
        order: running.order.clone(),
        key: provider_key(runtime.tenant(), row.facts.effect_key()),
        epoch,
        executor: executor.to_owned(),
        not_after: SignedIntent::until(&row, started.at.unwrap_or(now), within),
    };
    let Some(text) = signed.sign(&signer) else {
        return Err(InvalidData(format!("intent {intent} is too long to be signed")).into());
    };
    if json {
        let until = Json::text(signed.not_after.to_string());
        let told = [("intent", Json::text(intent)), ("not_after", until), ("signed", Json::text(text))];
        say!("{}", Json::object(told).to_canonical());
    } else {
        say!("{}", text.trim_end_matches('\n'));
    }
    Ok(())
}

/// Checks one with public keys alone.
pub fn check(file: &Path, keys: &[String], executor: &str, json: bool) -> anyhow::Result<Exit> {
    let known = keys.iter().map(|text| {
        VerifierKey::parse(text).map_err(|_| UsageError(format!("--key `{text}` is no public key: name+hash+base64")))
    });
    let known: Vec<VerifierKey> = known.collect::<Result<_, _>>()?;
    let signed = SignedIntent::check(&files::read(file)?, &known, executor, store::now());
    let signed = signed.map_err(|problem| Refused(format!("do not perform it: {problem}")))?;
    if json {
        let told =
            [("order", signed.order.to_json()), ("key", Json::text(signed.key)), ("epoch", Json::from(signed.epoch))];
        say!("{}", Json::object(told).to_canonical());
    } else {
        say!("{} once, not after {}, under epoch {}", paint(GOOD, "may be performed"), signed.not_after, signed.epoch);
        say!("{}", signed.order.to_canonical());
    }
    Ok(Exit::Fine)
}
