//! `writkeeper report`: what was decided, why, by whom, and what an observing contract would have stopped.

use crate::cli::kept::ReportArgs;
use crate::commands::contract::backtest::{Waiting, wait};
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, BAD, FAINT, STRONG, counted, paint, say, verdict_style};
use guard::installed::{self, Tampering};
use guard::place::Guard;
use kernel::finding::visible;
use kernel::outcome::Verdict;
use runtime::Runtime;
use std::collections::BTreeMap;
use std::path::PathBuf;
use values::json::Json;
use values::time::{Duration, Instant};
use writkeeper::backtest::{Counts, Listener as _, counts_json};
use writkeeper::canary::{self, Comparison};
use writkeeper::report::{Range, Report};
use writkeeper::shadow;

/// Reasons and examples shown to a person.
const TOP: usize = 8;

/// Prints the report.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let since = args.since.as_deref().map(ago).transpose()?;
    let wait = wait(&args.backtest)?;
    let keeper = store::read_only(&args.kept.store)?;
    let report = keeper.report(Range { since, until: None })?;
    let shadows = Shadows::judged(keeper.runtime(), since, wait)?;
    let canaries = canary::comparisons(keeper.runtime())?;
    let tampering = Tampered::in_store(&args.kept.store, keeper.into_runtime(), since);
    if args.kept.json {
        let mut told = report.to_json();
        if let Json::Object(members) = &mut told {
            members.insert("shadows".to_owned(), shadows.to_json());
            let compared = canaries.iter().map(|(agent, compared)| (agent.clone(), compared.to_json()));
            members.insert("canaries".to_owned(), Json::Object(compared.collect()));
        }
        say!("{}", tampering.added_to(told).to_canonical());
    } else {
        print(&report)?;
        shadows.print()?;
        print_canaries(&canaries)?;
        tampering.print()?;
    }
    Ok(Exit::Fine)
}

/// What hooks noticed about the guard of a store, and what is not as it was installed now.
struct Tampered {
    noticed: Vec<Tampering>,
    now: Vec<String>,
}

impl Tampered {
    fn in_store(named: &str, runtime: Runtime, since: Option<Instant>) -> Tampered {
        let is_meant = |noticed: &Tampering| since.is_none_or(|since| noticed.at >= since.to_string());
        let noticed = Tampering::on_record(&runtime).into_iter().filter(is_meant).collect();
        let store = PathBuf::from(store::location(named));
        let folder = store
            .parent()
            .filter(|_| !writkeeper::is_server(named))
            .map(Guard::at)
            .filter(|guard| guard.store() == store);
        let now = folder.and_then(|guard| installed::compare_now(&guard, &runtime).ok());
        Tampered { noticed, now: now.map(|(found, _)| found.differences).unwrap_or_default() }
    }

    fn print(&self) -> anyhow::Result<()> {
        if !self.noticed.is_empty() {
            say!("\n{}", paint(STRONG, "tampering noticed"));
        }
        for noticed in &self.noticed {
            let (at, title) = (terminal::at_text(&noticed.at), noticed.host.title);
            say!("  {at}  by the hook of {title}: {}", visible(&noticed.differences.join("; ")));
        }
        for difference in &self.now {
            say!("\n{} {}", paint(BAD, "not as installed:"), visible(difference));
        }
        if !self.now.is_empty() {
            say!("next: {}", hint::next("writkeeper doctor"));
        }
        Ok(())
    }

    fn added_to(&self, report: Json) -> Json {
        let texts = |texts: &[String]| Json::texts(texts.iter().map(String::as_str));
        let noticed = self.noticed.iter().map(|noticed| {
            Json::object([
                ("at", Json::text(noticed.at.as_str())),
                ("host", Json::text(noticed.host.word)),
                ("differences", texts(&noticed.differences)),
            ])
        });
        match report {
            Json::Object(mut members) => {
                members.insert("tampering".to_owned(), Json::List(noticed.collect()));
                members.insert("not_as_installed".to_owned(), texts(&self.now));
                Json::Object(members)
            }
            other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_)) => other,
        }
    }
}

fn ago(text: &str) -> anyhow::Result<Instant> {
    let problem = || UsageError(format!("--since `{}` is no duration, such as 7d, 12h or 30m", terminal::echo(text)));
    Ok(store::now().minus(Duration::parse(text).ok_or_else(problem)?))
}

/// Where candidates that are judged beside contracts differ from them, as far as that was found out in time.
struct Shadows {
    counts: Vec<(String, Counts)>,
    /// The entries that were read, of so many, where time was over.
    cut_off: Option<(u64, u64)>,
}

impl Shadows {
    fn judged(runtime: &Runtime, since: Option<Instant>, wait: Option<std::time::Duration>) -> anyhow::Result<Shadows> {
        let Some(wait) = wait else { return Ok(Shadows { counts: Vec::new(), cut_off: None }) };
        let mut waiting = Waiting::new(runtime.size()?, wait);
        let counts = shadow::counts(runtime, since, &mut |entries| waiting.passed(entries));
        waiting.bar.finish_and_clear();
        Ok(Shadows { counts: counts?, cut_off: waiting.cut_off() })
    }

    fn to_json(&self) -> Json {
        let told = |(agent, counts): &(String, Counts)| {
            let mut told = counts_json(counts);
            if let Json::Object(members) = &mut told {
                members.insert("complete".to_owned(), Json::Bool(self.cut_off.is_none()));
            }
            (agent.clone(), told)
        };
        Json::Object(self.counts.iter().map(told).collect())
    }

    fn print(&self) -> anyhow::Result<()> {
        for (agent, counts) in &self.counts {
            let (agent, decisions) = (visible(agent), counted(counts.decisions, "decision"));
            say!("\n{}: the candidate decides {} of {decisions} otherwise", paint(ATTENTION, &agent), counts.flipped);
            if let Some((read, size)) = self.cut_off {
                let read = format!("{read} of {}", counted(size, "entry"));
                say!("  the time was over after {read}; --backtest 5m waits longer");
            }
            say!("next: {}", hint::next(&format!("writkeeper contract shadow show {agent}")));
        }
        Ok(())
    }
}

/// What was decided under candidates that some flows are under.
fn print_canaries(canaries: &[(String, Comparison)]) -> anyhow::Result<()> {
    for (agent, compared) in canaries {
        let (agent, share, candidate) = (visible(agent), compared.canary.share, &compared.candidate);
        let (decisions, accepted) = (counted(candidate.decisions(), "decision"), candidate.verdicts.accepted);
        say!(
            "\n{}: {share} of the flows are under a candidate: {decisions}, {accepted} accepted",
            paint(ATTENTION, &agent)
        );
        say!("next: {}", hint::next(&format!("writkeeper contract canary show {agent}")));
    }
    Ok(())
}

fn print(report: &Report) -> anyhow::Result<()> {
    let when = report.range.since.map(|since| format!(" since {}", terminal::at(since))).unwrap_or_default();
    if let Some(halt) = &report.halted {
        let (by, because) = (visible(&halt.by), visible(&halt.because));
        say!("{} by {by} at {}: {because}", paint(BAD, "halted"), terminal::at(halt.at));
        say!("next: {}\n", hint::next("writkeeper resume --because REASON"));
    }
    for (group, halt) in &report.halted_groups {
        let (by, because) = (visible(&halt.by), visible(&halt.because));
        say!("{} group `{}` by {by} at {}: {because}", paint(BAD, "halted"), visible(group), terminal::at(halt.at));
        let resume = format!("writkeeper resume --group {} --because REASON", visible(group));
        say!("next: {}\n", hint::next(&resume));
    }
    say!("{}{when}", paint(STRONG, counted(report.verdicts.total(), "decision")));
    print_verdicts(report)?;
    print_top("why", &report.reasons)?;
    print_agents(report)?;
    print_counts("under way", report.under_way.iter().map(|(state, count)| (state.word(), *count)))?;
    if report.more_under_way {
        say!("  {}", paint(FAINT, "and more"));
    }
    print_counts("performed", report.performed.iter().map(|(ending, count)| (ending.word(), *count)))?;
    print_counts("answers", report.answers.iter().map(|(state, count)| (state.word(), *count)))?;
    if report.contradicted > 0 {
        let reports = match report.contradicted {
            1 => "1 report says the opposite of how its intent ended".to_owned(),
            count => format!("{count} reports say the opposite of how their intent ended"),
        };
        say!("\n{}; `verify` on an export names them", paint(ATTENTION, reports));
        say!("next: {}", hint::next("writkeeper ledger export --out FILE"));
    }
    for (group, count) in &report.not_asked {
        let asked =
            if *count == 1 { "1 proposal was refused".to_owned() } else { format!("{count} proposals were refused") };
        let group = visible(group);
        say!("\n{} that group `{group}` would have been asked about: its attention was spent", paint(ATTENTION, asked));
        say!("next: {}", hint::next("writkeeper people attention"));
    }
    if !report.trips.is_empty() {
        say!("\n{}", paint(ATTENTION, "alarms of monitors"));
        for ((agent, monitor), count) in &report.trips {
            say!("  {count:>6}  {}", visible(&format!("{agent} {monitor}")));
        }
        say!("next: {}", hint::next("writkeeper monitors"));
    }
    let observed = &report.would_have_stopped;
    if observed.verdicts.total() > 0 {
        let (stopped, asked) = (observed.verdicts.rejected, observed.verdicts.escalated);
        let would = format!("contracts that only observe would have stopped {stopped} and asked about {asked}");
        say!("\n{}", paint(ATTENTION, would));
        print_top("why", &observed.reasons)?;
    }
    if report.open_questions > 0 {
        let wait = match (report.open_questions, report.more_questions) {
            (1, false) => "1 question waits".to_owned(),
            (count, false) => format!("{count} questions wait"),
            (count, true) => format!("more than {count} questions wait"),
        };
        say!("\n{wait} for an answer");
        say!("next: {}", hint::next("writkeeper escalations"));
    }
    Ok(())
}

fn print_verdicts(report: &Report) -> anyhow::Result<()> {
    let approved = report.approved();
    let verdicts = &report.verdicts;
    for (verdict, count) in [
        (Verdict::Accept, verdicts.accepted),
        (Verdict::Reject, verdicts.rejected),
        (Verdict::Escalate, verdicts.escalated),
    ] {
        let note = match (verdict, approved) {
            (Verdict::Escalate, 1..) => format!(", {approved} of them accepted by a person"),
            (Verdict::Accept | Verdict::Reject | Verdict::Escalate, _) => String::new(),
        };
        let word = verdict.word();
        say!("  {} {count:>6}{note}", paint(verdict_style(word), format!("{word:<11}")));
    }
    if report.refused_inputs > 0 {
        say!("  {:<11} {:>6}", "no proposal", report.refused_inputs);
    }
    Ok(())
}

fn print_agents(report: &Report) -> anyhow::Result<()> {
    if !report.agents.is_empty() {
        say!("\n{}", paint(STRONG, "agents"));
    }
    for (agent, counts) in &report.agents {
        let (verdicts, approved) = (&counts.verdicts, counts.approved);
        let (accepted, rejected, escalated) = (verdicts.accepted, verdicts.rejected, verdicts.escalated);
        let note = if approved > 0 { format!(", {approved} of them accepted by a person") } else { String::new() };
        let agent = visible(agent);
        say!("  {agent:<24} {accepted:>6} accepted {rejected:>6} rejected {escalated:>6} escalated{note}");
    }
    Ok(())
}

fn print_counts<'w>(title: &str, counts: impl Iterator<Item = (&'w str, u64)>) -> anyhow::Result<()> {
    for (index, (word, count)) in counts.enumerate() {
        if index == 0 {
            say!("\n{}", paint(STRONG, title));
        }
        say!("  {count:>6}  {word}");
    }
    Ok(())
}

/// The most frequent first; equals in the order of their names.
fn print_top(title: &str, counts: &BTreeMap<String, u64>) -> anyhow::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    say!("\n{}", paint(STRONG, title));
    for (code, count) in sorted.iter().take(TOP) {
        say!("  {count:>6}  {}", visible(code));
    }
    if let Some(more) = sorted.len().checked_sub(TOP).filter(|more| *more > 0) {
        say!("  {}", paint(FAINT, format!("and {more} more; --json has all")));
    }
    Ok(())
}
