//! `writkeeper report`: what was decided, why, by whom, and what an observing contract would have stopped.

use crate::cli::kept::ReportArgs;
use crate::exit::{Exit, UsageError};
use crate::store::{self, History};
use crate::terminal::{self, ATTENTION, FAINT, STRONG, paint, say, verdict_style};
use kernel::contract::Mode;
use kernel::escalation::EscalationState;
use kernel::finding::visible;
use kernel::intent::Contradiction;
use kernel::outcome::{Answer, Verdict};
use kernel::stored::Kind;
use std::collections::BTreeMap;
use values::json::Json;
use values::time::{Duration, Instant};

/// Reasons and examples shown to a person.
const TOP: usize = 8;

/// Open questions counted; more than these are "at least".
const QUESTIONS_MAX: usize = 10_000;

#[derive(Default)]
struct Counts([u64; 3]);

impl Counts {
    fn add(&mut self, verdict: Verdict) {
        let [accepted, rejected, escalated] = &mut self.0;
        match verdict {
            Verdict::Accept => *accepted += 1,
            Verdict::Reject => *rejected += 1,
            Verdict::Escalate => *escalated += 1,
        }
    }

    fn to_json(&self) -> Json {
        let [accepted, rejected, escalated] = self.0;
        Json::object([
            ("ACCEPT", Json::from(accepted)),
            ("REJECT", Json::from(rejected)),
            ("ESCALATE", Json::from(escalated)),
        ])
    }
}

#[derive(Default)]
struct Report {
    all: Counts,
    agents: BTreeMap<String, Counts>,
    reasons: BTreeMap<String, u64>,
    refused_input: u64,
    /// How questions ended, by state.
    answers: BTreeMap<String, u64>,
    /// Reports that say the opposite of how their intent had ended.
    contradicted: u64,
    /// What observing contracts would have stopped: how many, and why.
    observed: Counts,
    observed_reasons: BTreeMap<String, u64>,
}

/// Prints the report.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let since = args.since.as_deref().map(ago).transpose()?;
    let runtime = store::view(&args.kept.store)?;
    let mut report = Report::default();
    let mut ledger = History::since(&runtime, since)?;
    while let Some(body) = ledger.next_body()? {
        report.take(&body);
    }
    let far = Instant::from_micros(i64::MAX);
    let open = runtime.due(Kind::Escalation, far, QUESTIONS_MAX).map_err(store::unread)?.len() as u64;
    if args.kept.json {
        say!("{}", report.to_json(since, open).to_canonical());
    } else {
        report.print(since, open)?;
    }
    Ok(Exit::Fine)
}

fn ago(text: &str) -> anyhow::Result<Instant> {
    let problem = || UsageError(format!("--since `{}` is no duration, such as 7d, 12h or 30m", terminal::echo(text)));
    Ok(store::now().minus(Duration::parse(text).ok_or_else(problem)?))
}

impl Report {
    fn take(&mut self, body: &Json) {
        let text = |key: &str| body.get(key).and_then(Json::as_text).unwrap_or_default();
        match text("kind") {
            "decision" => {}
            "refusal" => {
                self.refused_input += 1;
                return;
            }
            "answer" | "question_expired" => {
                let state = body.get("result").and_then(|result| result.get("state")).and_then(Json::as_text);
                let ended = state.and_then(EscalationState::from_word).filter(|state| *state != EscalationState::Open);
                // A refused answer tells how the question ended before.
                if let Some(state) = ended.filter(|_| text("verdict") != Verdict::Reject.word()) {
                    *self.answers.entry(state.word().to_owned()).or_default() += 1;
                }
                return;
            }
            "settle" | "outcome" => {
                self.contradicted += u64::from(Contradiction::in_record(body).is_some());
                return;
            }
            _ => return,
        }
        let Some(answer) = Answer::from_record(body) else { return };
        let verdict = answer.verdict;
        self.all.add(verdict);
        self.agents.entry(text("agent").to_owned()).or_default().add(verdict);
        if verdict == Verdict::Accept {
            return;
        }
        let observed = text("mode") == Mode::Observe.word();
        if observed {
            self.observed.add(verdict);
        }
        for code in answer.reasons() {
            *self.reasons.entry(code.to_owned()).or_default() += 1;
            if observed {
                *self.observed_reasons.entry(code.to_owned()).or_default() += 1;
            }
        }
    }

    fn to_json(&self, since: Option<Instant>, open: u64) -> Json {
        let counted = |counts: &BTreeMap<String, u64>| {
            Json::Object(counts.iter().map(|(code, count)| (code.clone(), Json::from(*count))).collect())
        };
        let agents = self.agents.iter().map(|(agent, counts)| (agent.clone(), counts.to_json())).collect();
        Json::object([
            ("since", Json::from(since.map(|since| since.to_string()))),
            ("verdicts", self.all.to_json()),
            ("reasons", counted(&self.reasons)),
            ("agents", Json::Object(agents)),
            ("not_proposals", Json::from(self.refused_input)),
            ("answers", counted(&self.answers)),
            ("contradicted", Json::from(self.contradicted)),
            ("open_questions", Json::from(open)),
            (
                "would_have_stopped",
                Json::object([("verdicts", self.observed.to_json()), ("reasons", counted(&self.observed_reasons))]),
            ),
        ])
    }

    fn print(&self, since: Option<Instant>, open: u64) -> anyhow::Result<()> {
        let [accepted, rejected, escalated] = self.all.0;
        let when = since.map_or_else(String::new, |since| format!(" since {since}"));
        let total = accepted + rejected + escalated;
        let decisions = if total == 1 { "decision" } else { "decisions" };
        say!("{}{when}", paint(STRONG, format!("{total} {decisions}")));
        for (verdict, count) in [("ACCEPT", accepted), ("REJECT", rejected), ("ESCALATE", escalated)] {
            say!("  {} {count:>6}", paint(verdict_style(verdict), format!("{verdict:<9}")));
        }
        if self.refused_input > 0 {
            say!("  {:<9} {:>6}", "no proposal", self.refused_input);
        }
        print_top("why", &self.reasons)?;
        if !self.agents.is_empty() {
            say!("\n{}", paint(STRONG, "agents"));
        }
        for (agent, counts) in &self.agents {
            let [accepted, rejected, escalated] = counts.0;
            say!("  {:<24} {accepted:>6} accepted {rejected:>6} rejected {escalated:>6} escalated", visible(agent));
        }
        if !self.answers.is_empty() {
            say!("\n{}", paint(STRONG, "answers"));
        }
        for (state, count) in &self.answers {
            say!("  {count:>6}  {state}");
        }
        if self.contradicted > 0 {
            let reports = if self.contradicted == 1 {
                "report says the opposite of how its intent ended"
            } else {
                "reports say the opposite of how their intent ended"
            };
            let where_to_look = paint(FAINT, "writkeeper ledger export, then verify names them");
            say!("\n{}: {where_to_look}", paint(ATTENTION, format!("{} {reports}", self.contradicted)));
        }
        let [_, stopped, asked] = self.observed.0;
        if stopped + asked > 0 {
            let would = format!("contracts that only observe would have stopped {stopped} and asked about {asked}");
            say!("\n{}", paint(ATTENTION, would));
            print_top("why", &self.observed_reasons)?;
        }
        if open > 0 {
            let questions = if open == 1 { "question waits" } else { "questions wait" };
            say!("\n{open} {questions} for an answer: {}", paint(FAINT, "writkeeper escalations"));
        }
        Ok(())
    }
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
        say!("  {count:>6}  {code}");
    }
    if let Some(more) = sorted.len().checked_sub(TOP).filter(|more| *more > 0) {
        say!("  {}", paint(FAINT, format!("and {more} more; --json has all")));
    }
    Ok(())
}
