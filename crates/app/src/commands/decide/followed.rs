//! `writkeeper decide --wait`: what became of a decision, on the same line.

use super::Judged;
use crate::exit::UsageError;
use crate::hint;
use crate::terminal;
use adapters::addresses;
use adapters::executor_http::host_of_order;
use kernel::contract::Executor;
use kernel::escalation::EscalationState;
use kernel::intent::{IntentState, Order};
use kernel::outcome::Verdict;
use kernel::world::{Entity, Row};
use runtime::{FollowUp, IntentOutcome};
use std::net::{IpAddr, Ipv4Addr};
use values::time::Duration;
use writkeeper::Keeper;

/// The longest wait for one line: whoever wants to wait for days asks again.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// How a decision ended that was waited for.
pub enum End {
    /// As a verdict would say it: it happened, it did not, a person must look.
    Verdict(Verdict),
    /// It is not over.
    Open,
}

/// How long to wait.
pub fn bound(text: &str) -> anyhow::Result<std::time::Duration> {
    let problem = || UsageError(format!("--wait `{}` is no duration up to 1h, such as 30s", terminal::echo(text)));
    let wait = Duration::parse(text).filter(|wait| *wait <= WAIT_MAX && wait.micros() >= 0).ok_or_else(problem)?;
    Ok(std::time::Duration::from_micros(wait.micros().unsigned_abs()))
}

/// Waits for what becomes of a decision. A store that cannot be read takes nothing of the decision back.
pub fn follow(keeper: &Keeper, judged: Judged, wait: Option<std::time::Duration>, quiet: bool) -> Judged {
    let Some(wait) = wait.filter(|_| judged.is_decided) else { return judged };
    let followed = match keeper.follow(&judged.answer, wait) {
        Ok(followed) => followed,
        Err(fault) => {
            terminal::note(&format!(
                "proposal {} was decided; what became of it is unknown: {fault}",
                judged.answer.id
            ));
            return Judged { followed: Some(FollowUp::default()), ..judged };
        }
    };
    if let Some(open) = still_open(keeper, &followed).filter(|_| !quiet) {
        let is_over = followed.outcome.as_ref().is_some_and(|outcome| outcome.over_at.is_some());
        match is_over || followed.outcome.as_ref().is_some_and(|outcome| is_doubt(outcome.state)) {
            true => terminal::note(&open),
            false => terminal::note(&format!("after {} s {open}", wait.as_secs())),
        }
    }
    Judged { followed: Some(followed), ..judged }
}

/// Whether people must say what happened; waiting does not.
fn is_doubt(state: IntentState) -> bool {
    matches!(state, IntentState::InDoubt | IntentState::Unreported)
}

/// How it ended; `None` where the verdict says it all.
pub fn end(followed: &FollowUp) -> Option<End> {
    let answered = followed.answer.as_ref().map(|answer| match answer.state {
        EscalationState::Open => Verdict::Escalate,
        EscalationState::Overridden | EscalationState::Modified | EscalationState::Resolved => Verdict::Accept,
        EscalationState::Aborted | EscalationState::Expired => Verdict::Reject,
    });
    let Some(outcome) = &followed.outcome else { return answered.map(End::Verdict) };
    Some(match outcome.state {
        IntentState::Succeeded => End::Verdict(Verdict::Accept),
        IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => End::Verdict(Verdict::Reject),
        IntentState::InDoubt | IntentState::Unreported => End::Verdict(Verdict::Escalate),
        IntentState::Ready | IntentState::Claimed | IntentState::InFlight | IntentState::HandedOut => End::Open,
    })
}

/// What is left to happen, and who has to do it.
fn still_open(keeper: &Keeper, followed: &FollowUp) -> Option<String> {
    if let Some(answer) = followed.answer.as_ref().filter(|answer| answer.state == EscalationState::Open) {
        let question = &answer.question;
        let command = hint::next(&format!("writkeeper escalations show {question}"));
        return Some(format!("nobody has answered question {question}: {command}"));
    }
    let IntentOutcome { intent, state, worker, .. } = followed.outcome.as_ref()?;
    let by = worker.as_deref().unwrap_or("a worker");
    match state {
        IntentState::Ready => {
            let needs = order(keeper, intent).and_then(|order| needs(&order));
            let command = needs.map(|needs| format!("? {}", hint::next(&format!("writkeeper run {needs}"))));
            let command = command.unwrap_or_else(|| "?".to_owned());
            Some(format!("no worker has taken intent {intent}; is one running that may perform it{command}"))
        }
        IntentState::Claimed | IntentState::InFlight if is_lease_over(keeper, intent) => {
            let fix = hint::next("writkeeper tick");
            Some(format!("{by} took intent {intent} and its lease is over; to find out where it stands: {fix}"))
        }
        IntentState::Claimed | IntentState::InFlight => Some(format!("{by} is still performing intent {intent}")),
        IntentState::HandedOut => {
            let fix = hint::next(&format!("writkeeper intents report {intent} succeeded|failed|doubt"));
            Some(format!("whoever performs intent {intent} has not reported: {fix}"))
        }
        IntentState::InDoubt | IntentState::Unreported => {
            let fix = hint::next(&format!("writkeeper intents show {intent}"));
            Some(format!("nobody knows whether intent {intent} happened: {fix}"))
        }
        IntentState::Succeeded | IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => None,
    }
}

/// Whether whoever took an intent has had all the time there was.
fn is_lease_over(keeper: &Keeper, intent: &str) -> bool {
    let row = keeper.runtime().read(Entity::Intent(intent.to_owned()));
    let Ok(Some(Row::Intent(row))) = row else { return false };
    row.due().is_some_and(|due| due < keeper.now())
}

/// What an intent permits; nothing where that cannot be read, which takes nothing of what is known back.
fn order(keeper: &Keeper, intent: &str) -> Option<Order> {
    let row = keeper.runtime().read(Entity::Intent(intent.to_owned())).ok()??;
    let Row::Intent(row) = row else { return None };
    row.running.map(|running| running.order)
}

/// The flags without which `run` performs nothing like this; nothing where `run` is not who performs it.
fn needs(order: &Order) -> Option<String> {
    match order.executor()? {
        Executor::Http(_) => {
            let host = host_of_order(order)?;
            let private = private_address(host).map(|address| format!(" --allow-private {address}"));
            Some(format!("--allow-host {}{}", hint::quoted(host), private.unwrap_or_default()))
        }
        Executor::Command(_) => Some("--allow-programs".to_owned()),
        Executor::Function(_) | Executor::Host => None,
    }
}

/// The address of a host on the inside, where its name says it: nobody is asked.
fn private_address(host: &str) -> Option<IpAddr> {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_start_matches('[').trim_end_matches(']');
    let address = match name == "localhost" || name.ends_with(".localhost") {
        true => IpAddr::V4(Ipv4Addr::LOCALHOST),
        false => name.parse().ok()?,
    };
    addresses::problem(address, &[]).map(|_| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_inside_is_known_by_its_name() {
        for (host, expected) in [
            ("127.0.0.1:8080", Some("127.0.0.1")),
            ("10.1.2.3", Some("10.1.2.3")),
            ("localhost:99", Some("127.0.0.1")),
            ("[::1]:8080", Some("::1")),
            ("pay.example", None),
            ("pay.example:8443", None),
            ("93.184.215.14", None),
        ] {
            assert_eq!(private_address(host).map(|address| address.to_string()).as_deref(), expected, "{host}");
        }
    }
}
