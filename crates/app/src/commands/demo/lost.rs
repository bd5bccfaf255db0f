//! The answer of the bank is lost, and the agent tries again: nobody knows, so nobody pays twice.

use super::bank::Bank;
use super::desk::Desk;
use super::{print_step, step_json};
use crate::store;
use crate::terminal::{ATTENTION, FAINT, GOOD, STRONG, counted, paint, say};
use adapters::addresses::Range;
use adapters::executor_http::HttpExecutor;
use adapters::system_clock::SystemClock;
use anyhow::{Context, bail};
use kernel::agent::Actor;
use kernel::change::{Act, DoubtAnswer};
use kernel::command::Door;
use kernel::contract::ExecutorKind;
use kernel::outcome::Answer;
use kernel::person::Identity;
use kernel::world::{Entity, Row};
use runtime::execute::{self, Executors, Options};
use runtime::{Arrival, Runtime};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use values::json::Json;
use values::time::Duration;

const TITLE: &str = "The answer is lost, and the agent tries again";
const STORY: &str = "The bank pays, and its answer never arrives. The agent asks again, with new ids, as agents do.";

/// Its effects are performed by the runtime, and the other side recognises nothing twice.
const CONTRACT: &str = "\
agent: payout-bot
actions:
  pay_out:
    once: 'payout:{order_id}'
    params: { order_id: text, amount: money EUR, iban: text }
    allow: amount <= 25
    run: { http: 'POST http://127.0.0.1:PORT/lost', class: opaque, timeout: 5s }
approvers: [refund-desk]
";

const PROPOSAL: &str = r#"{"agent":"payout-bot","action":"pay_out","params":{"order_id":"AB-7","amount":20,"iban":"DE89370400440532013000"}}"#;

/// Plays the scene.
pub fn play(number: usize, desk: &mut Desk, bank: &Bank, json: bool) -> anyhow::Result<()> {
    let cast = desk.cast();
    cast.enrol(&CONTRACT.replace("PORT", &bank.port().to_string()))?;
    let (runtime, agent) = (cast.operator(), cast.proposer(PROPOSAL)?);
    let before = bank.payments()?.len();
    let first = proposed(agent)?;
    let intent = first.intent.as_ref().context("the scene lost its payment")?.id().to_owned();
    perform(cast.worker(), bank)?;
    let unknown = state(runtime, &intent)?;
    let again = proposed(agent)?;
    let (question, digest) = question(runtime, &intent)?;
    let decision = "HAPPENED".to_owned();
    let reason = "it is on the statement".to_owned();
    let answer =
        DoubtAnswer { intent: intent.clone(), question, decision, digest, reason, identity: Identity::default() };
    store::done(cast.person().change(Actor::Operator("ann".to_owned()), Act::Resolve(Box::new(answer))))?;
    let known = state(runtime, &intent)?;
    let once_more = proposed(agent)?;
    let payments = bank.payments()?.len();
    if payments != before + 1 {
        bail!("the bank paid {}", counted((payments - before) as u64, "time"));
    }
    let steps = [("the first proposal", &first), ("the same again", &again), ("and once more", &once_more)];
    if json {
        let told: Vec<Json> = steps.iter().map(|(says, answer)| step_json(says, answer)).collect();
        let scene = Json::object([
            ("scene", Json::text(TITLE)),
            ("steps", Json::List(told)),
            ("states", Json::texts([unknown, known])),
            ("payments_in_bank_log", Json::from(payments as u64)),
        ]);
        say!("{}", scene.to_canonical());
        return Ok(());
    }
    say!("{}", paint(STRONG, format!("{number}. {TITLE}")));
    say!("   {STORY}");
    print_step("the runtime performs what it accepted; the connection breaks after the payment", &first)?;
    say!("     intent is {}: it may have happened, so it is not tried again", paint(ATTENTION, unknown));
    print_step("the agent proposes the same under new ids", &again)?;
    say!("   Ann reads the bank's statement and says that it happened");
    say!("     intent is {}", paint(GOOD, known));
    print_step("the agent proposes it once more", &once_more)?;
    say!("   {} one payment more, {payments} so far\n", paint(FAINT, "bank log:"));
    Ok(())
}

fn proposed(runtime: &Runtime) -> anyhow::Result<Answer> {
    let arrival = Arrival { trust_provenance: true, ..Arrival::through(Door::STORED) };
    let answered = runtime.judge(PROPOSAL.as_bytes(), arrival).wait();
    if answered.at.is_none() {
        bail!("{}", store::sentences(&answered.answer));
    }
    Ok(answered.answer)
}

/// A worker performs what is ready, once.
fn perform(runtime: &Runtime, bank: &Bank) -> anyhow::Result<()> {
    let ranges = Range::parse("127.0.0.0/8").into_iter().collect();
    let http = HttpExecutor::new(vec![format!("127.0.0.1:{}", bank.port())], ranges);
    let executors = Executors::default().with(ExecutorKind::Http, Arc::new(http));
    let options = Options {
        worker: "demo".to_owned(),
        clock: Arc::new(SystemClock),
        lease: Some(Duration::from_secs(30)),
        threads: 1,
        pause: std::time::Duration::from_millis(10),
        once: true,
        waits: Arc::new(|_, _| {}),
        away: Arc::new(|_| {}),
        performed: Arc::new(|_| {}),
    };
    execute::run(runtime, &executors, &options, &AtomicBool::new(false)).map_err(store::unread)?;
    Ok(())
}

fn state(runtime: &Runtime, intent: &str) -> anyhow::Result<&'static str> {
    match runtime.read(Entity::Intent(intent.to_owned())).map_err(store::unread)? {
        Some(Row::Intent(row)) => Ok(row.state.word()),
        Some(_) | None => bail!("the scene lost its intent"),
    }
}

/// The question whether it happened, and what is shown to whoever answers.
fn question(runtime: &Runtime, intent: &str) -> anyhow::Result<(String, values::ids::Digest)> {
    let Some(Row::Intent(row)) = runtime.read(Entity::Intent(intent.to_owned())).map_err(store::unread)? else {
        bail!("the scene lost its intent");
    };
    let name = row.running.and_then(|running| running.question).context("nobody was asked")?;
    match runtime.read(Entity::Escalation(name.clone())).map_err(store::unread)? {
        Some(Row::Escalation(row)) => Ok((name, row.digest)),
        Some(_) | None => bail!("the scene lost its question"),
    }
}
