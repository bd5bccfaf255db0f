//! `writkeeper bench`: how fast this machine decides, and what the pieces cost.

mod database;
mod durable;
mod leases;
mod monitors;
mod proof;
mod records;
mod service;

use crate::cli::BenchArgs;
use crate::exit::Exit;
use crate::terminal::say;
use anyhow::anyhow;
use engines::load::load;
use kernel::apply::apply;
use kernel::command::{Command, MintedIds, Submission};
use kernel::context::Context;
use kernel::evaluator::{AgentView, Compiled, Scope, StateView};
use kernel::outcome::{Outcome, Verdict};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use values::ids::{Digest, TENANT_DEFAULT};
use values::json::Json;
use values::time::Instant as At;

pub use durable::write_until_killed;

const CONTRACT: &str = include_str!("bench/plain.yaml");
const POLICIES: &str = include_str!("bench/policies.cedar");

/// Decisions before the world starts afresh, so that a figure does not depend on how long it ran.
const DECISIONS_PER_WORLD: u64 = 1_000;

/// Prints the figures.
pub fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let budget = Duration::from_millis(args.millis);
    if args.monitors {
        say!("{}", monitors::figures(budget, args.records)?);
        return Ok(Exit::Fine);
    }
    if let Some(records) = args.records {
        return records::run((args.store.as_deref(), args.beside.as_deref()), records, budget, args.json);
    }
    if let Some(store) = &args.store {
        return database::run(store, budget, args.json);
    }
    let plain = compile(CONTRACT)?;
    let with_policies: String = format!("{CONTRACT}policies: |\n{}", indented(POLICIES));
    let cedar = compile(&with_policies)?;
    let mut figures = json!({
        "pure": { "plain": decisions(&plain, budget)?, "cedar": decisions(&cedar, budget)? },
        "cost_us": costs(&cedar, budget)?,
        "leases": leases::figures(budget / 4)?,
        "shell": { "ordinary_commands_per_s": shell_speed(budget) },
        "machine": { "cores": std::thread::available_parallelism().map_or(0, usize::from), "build": build() },
    });
    if !args.pure
        && let Some(members) = figures.as_object_mut()
    {
        members.extend(durable::figures(budget, !args.no_growth)?);
    }
    if args.serve
        && let Some(members) = figures.as_object_mut()
    {
        members.insert("http".to_owned(), service::figures(budget)?);
    }
    if args.json {
        say!("{figures}");
    } else {
        print(&figures)?;
    }
    Ok(Exit::Fine)
}

fn build() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn compile(text: &str) -> anyhow::Result<Arc<Compiled>> {
    let loaded = load(text).map_err(|errors| anyhow!("the benchmark's contract is broken: {errors:?}"))?;
    Ok(Arc::new(loaded.compiled))
}

fn proposal_text(number: u64) -> String {
    format!(
        r#"{{"agent":"bench-bot","action":"issue_refund","params":{{"order_id":"AB-{number}","amount":12.5,"iban":"DE89370400440532013000","category":"damaged","note":"arrived broken"}},"confidence":0.9,"snapshot":"current","justification":"the customer sent a photo","provenance":{{"iban":"user"}}}}"#
    )
}

fn world() -> Context {
    let mut context = Context::default();
    context.state.insert("risk_score".to_owned(), Json::parse(b"0.1").unwrap_or_default());
    for number in 0..DECISIONS_PER_WORLD {
        context.state.insert(format!("accounts/AB-{number}/status"), Json::text("open"));
    }
    context
}

/// A parsed proposal in, a decision out: every gate, the verdict, the intent, the record, and everything an
/// acceptance takes. Ids are the door's work and minted before; records are written out when someone reads them.
fn decisions(contract: &Arc<Compiled>, budget: Duration) -> anyhow::Result<Value> {
    let parse =
        |number| Proposal::parse(proposal_text(number).as_bytes()).map_err(|malformed| anyhow!("{malformed:?}"));
    let proposals: Vec<Proposal> = (0..DECISIONS_PER_WORLD).map(parse).collect::<anyhow::Result<_>>()?;
    let tenant: Arc<str> = Arc::from(TENANT_DEFAULT);
    let mut times: Vec<u64> = Vec::new();
    let started = Instant::now();
    while started.elapsed() < budget {
        let mut world = world().into_world(&tenant, &contract.contract.agent);
        for (number, proposal) in proposals.iter().enumerate() {
            let proposal = proposal.clone();
            let ids = ids(number);
            let begin = Instant::now();
            let provenance = Provenance::of(&proposal, true);
            let submission = Submission::new(tenant.clone(), proposal, contract.clone(), provenance, ids);
            let outcome = apply(&mut world, &Command::Submit(Arc::new(submission)), At::PURE_DEFAULT);
            times.push(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
            accepted(&outcome)?;
        }
    }
    let total: u64 = times.iter().sum();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 1000).copied().unwrap_or_default() as f64 / 1_000.0;
    let per_second = times.len() as f64 / (total.max(1) as f64 / 1e9);
    Ok(json!({
        "ops_per_s": per_second.round(),
        "p50_us": at(500),
        "p99_us": at(990),
        "decisions": times.len(),
    }))
}

fn ids(number: usize) -> MintedIds {
    MintedIds {
        proposal: format!("p-{number}"),
        flow: format!("f-{number}"),
        intent: format!("i-{number}"),
        escalation: format!("e-{number}"),
    }
}

fn accepted(outcome: &Outcome) -> anyhow::Result<()> {
    match outcome {
        Outcome::Done(done) if done.answer.verdict == Verdict::Accept => Ok(()),
        Outcome::Done(done) => Err(anyhow!("the benchmark measures acceptances, not {}", done.answer.to_line())),
        Outcome::Prepare => Err(anyhow!("a world without a registry names no contract")),
        Outcome::Need(keys) => Err(anyhow!("a complete world needs nothing: {keys:?}")),
    }
}

/// The pieces apart, in microseconds a call.
fn costs(contract: &Compiled, budget: Duration) -> anyhow::Result<Value> {
    let text = proposal_text(1);
    let json = Json::parse(text.as_bytes()).map_err(|refusal| anyhow!("{refusal}"))?;
    let proposal = Proposal::parse(text.as_bytes()).map_err(|malformed| anyhow!("{malformed:?}"))?;
    let action = contract.actions.get("issue_refund").ok_or_else(|| anyhow!("no action"))?;
    let state: StateView = StateView::from([("risk_score".to_owned(), Json::parse(b"0.1").unwrap_or_default())]);
    let scope = Scope {
        params: &proposal.params,
        state: &state,
        agent: AgentView { id: "bench-bot", role: contract.contract.role },
        action: "issue_refund",
        confidence: proposal.confidence,
    };
    let slice = budget / 4;
    Ok(json!({
        "parse_json": each(slice, || Json::parse(black_box(text.as_bytes())).is_ok()),
        "parse_proposal": each(slice, || Proposal::parse(black_box(text.as_bytes())).is_ok()),
        "jcs": each(slice, || black_box(&json).to_canonical().len()),
        "sha256": each(slice, || Digest::of(black_box(text.as_bytes()))),
        "schema": each(slice, || action.schema.faults(black_box(&proposal.params)).len()),
        "cel": each(slice, || action.allow.as_ref().map(|rule| rule.holds(black_box(&scope)))),
        "cedar": each(slice, || contract.policies.as_ref().map(|policies| policies.judge(black_box(&scope)))),
    }))
}

/// Ordinary commands of a working day.
const ORDINARY: &[&str] = &[
    "ls -la src",
    "git status --short",
    "cargo test -p kernel -- --nocapture",
    "grep -rn 'fn main' src | head -5",
    "npm run build && npm test",
    "cat Cargo.toml | sed -n '1,20p'",
    "git commit -m 'fix: bounds'",
    "python3 -m pytest -q tests",
    "docker compose up -d",
    "mkdir -p out && cp -r src out/",
    "for f in *.txt; do echo \"$f\"; done",
    "curl -s https://example.com/api | jq .name",
];

/// How many ordinary shell commands are understood in a second on one core.
fn shell_speed(budget: Duration) -> f64 {
    let view = shell::View::default();
    let round = each(budget, || {
        for command in ORDINARY {
            black_box(shell::classify(black_box(command), &view));
        }
    });
    (ORDINARY.len() as f64 / round * 1e6).round()
}

fn each<T>(budget: Duration, mut call: impl FnMut() -> T) -> f64 {
    let mut calls = 0_u64;
    let started = Instant::now();
    while started.elapsed() < budget {
        for _ in 0..100 {
            black_box(call());
        }
        calls += 100;
    }
    let micros = started.elapsed().as_nanos() as f64 / 1_000.0 / calls.max(1) as f64;
    (micros * 1_000.0).round() / 1_000.0
}

fn print_durable(figures: &Value) -> anyhow::Result<()> {
    let number = |path: String| figures.pointer(&path).and_then(Value::as_f64).unwrap_or_default();
    let pragma = |key: &str| figures.pointer(&format!("/pragma/{key}")).and_then(Value::as_str).unwrap_or("?");
    say!("\ndurable, journal_mode={}, synchronous={}:", pragma("journal_mode"), pragma("synchronous"));
    for in_flight in [1, 64, 512] {
        say!(
            "  {in_flight:>3} in flight {:>9.0} decisions/s   p50 {:>7.0} µs   p99 {:>7.0} µs   {:>8.0} raw rows/s   ratio {:.2}",
            number(format!("/durable/{in_flight}/decisions_per_s")),
            number(format!("/durable/{in_flight}/p50_us")),
            number(format!("/durable/{in_flight}/p99_us")),
            number(format!("/raw_sqlite/{in_flight}/rows_per_s")),
            number(format!("/durable/{in_flight}/ratio_to_raw")),
        );
    }
    say!(
        "  sealing: {:.0} decisions/s without, {:.0} with ({:.1} % less); verifying {:.0} entries/s",
        number("/seal/off/decisions_per_s".to_owned()),
        number("/seal/on/decisions_per_s".to_owned()),
        number("/seal/overhead_percent".to_owned()),
        number("/verify/entries_per_s".to_owned()),
    );
    say!(
        "  killed in the middle: {:.0} acknowledged, {:.0} of them missing",
        number("/killed/acknowledged".to_owned()),
        number("/killed/missing".to_owned()),
    );
    if figures.get("growth").is_some() {
        say!(
            "  with 10⁶ flows stored a decision costs {:.2} × what it costs with 10³ (random keys: {:.0} instead of {:.0}/s)",
            number("/growth/cost_of_1e6_over_1e3".to_owned()),
            number("/growth/1e6/random".to_owned()),
            number("/growth/1e6/uuid_v7".to_owned()),
        );
    }
    Ok(())
}

fn print_http(figures: &Value) -> anyhow::Result<()> {
    let number = |path: String| figures.pointer(&path).and_then(Value::as_f64).unwrap_or_default();
    say!("\nover HTTP, beside decisions in this process:");
    for connections in [1, 64] {
        say!(
            "  {connections:>3} connections {:>7.0} decisions/s   p50 {:>6.0} µs   p99 {:>6.0} µs   embedded {:>7.0}/s, p50 {:>6.0} µs   ratio {:.2}",
            number(format!("/http/{connections}/http_decisions_per_s")),
            number(format!("/http/{connections}/http_p50_us")),
            number(format!("/http/{connections}/http_p99_us")),
            number(format!("/http/{connections}/embedded_decisions_per_s")),
            number(format!("/http/{connections}/embedded_p50_us")),
            number(format!("/http/{connections}/ratio")),
        );
    }
    say!(
        "  a suspension is acknowledged while the agent floods: p50 {:.1} ms, p99 {:.1} ms",
        number("/http/suspension_under_flood/p50_us".to_owned()) / 1_000.0,
        number("/http/suspension_under_flood/p99_us".to_owned()) / 1_000.0,
    );
    Ok(())
}

fn print(figures: &Value) -> anyhow::Result<()> {
    let number = |path: &str| figures.pointer(path).and_then(Value::as_f64).unwrap_or_default();
    for (title, path) in [("plain", "/pure/plain"), ("with Cedar", "/pure/cedar")] {
        say!(
            "{title:<12} {:>9.0} decisions/s   p50 {:.2} µs   p99 {:.2} µs",
            number(&format!("{path}/ops_per_s")),
            number(&format!("{path}/p50_us")),
            number(&format!("{path}/p99_us")),
        );
    }
    say!("{:<12} {:>9.0} commands/s understood", "shell", number("/shell/ordinary_commands_per_s"));
    say!(
        "{:<12} {:>9.2} µs to find a region free, {:.2} held, {:.2} the whole tree, with {:.0} live leases",
        "leases",
        number("/leases/free_us"),
        number("/leases/held_us"),
        number("/leases/whole_tree_all_own_us"),
        number("/leases/live"),
    );
    if figures.get("durable").is_some() {
        print_durable(figures)?;
    }
    if figures.get("http").is_some() {
        print_http(figures)?;
    }
    say!("\nthe pieces, µs a call:");
    for piece in ["parse_json", "parse_proposal", "jcs", "sha256", "schema", "cel", "cedar"] {
        say!("  {piece:<15} {:>8.3}", number(&format!("/cost_us/{piece}")));
    }
    if build() == "debug" {
        crate::terminal::note(
            "this is a development build; `cargo run --profile dist -- bench` gives figures that mean something",
        );
    }
    Ok(())
}
