//! `writkeeper report`: what was decided, why, by whom, and what an observing contract would have stopped.

use crate::cli::kept::ReportArgs;
use crate::exit::{Exit, UsageError};
use crate::store::{self, History};
use crate::terminal::{self, ATTENTION, FAINT, STRONG, paint, say, verdict_style};
use kernel::contract::{EffectClass, Mode};
use kernel::escalation::EscalationState;
use kernel::finding::visible;
use kernel::intent::{Contradiction, IntentState};
use kernel::outcome::{Answer, Verdict};
use kernel::stored::Kind;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Accepted by the answer of a person, by agent.
    approved: BTreeMap<String, u64>,
    /// Who asked which question.
    asked: BTreeMap<String, String>,
    /// How intents ended, by state.
    performed: BTreeMap<String, u64>,
    /// Intents that undo others.
    undoing: BTreeSet<String>,
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
            "answer" | "question_expired" | "question_aborted" => return self.answered(body),
            "undo" | "settle" | "outcome" | "resolve" | "intent_moved" | "intent_expired" => {
                self.contradicted += u64::from(Contradiction::in_record(body).is_some());
                return self.moved(body);
            }
            _ => return,
        }
        let Some(answer) = Answer::from_record(body) else { return };
        let verdict = answer.verdict;
        self.all.add(verdict);
        self.agents.entry(text("agent").to_owned()).or_default().add(verdict);
        if verdict == Verdict::Accept {
            // What is written to our own store happens with its decision.
            let class = body.get("intent").and_then(|intent| intent.get("class")).and_then(Json::as_text);
            if class == Some(EffectClass::Local.word()) {
                self.ended(IntentState::Succeeded.word());
            }
            return;
        }
        let question = body.get("escalation").and_then(|escalation| escalation.get("id")).and_then(Json::as_text);
        if let Some(question) = question {
            self.asked.insert(question.to_owned(), text("agent").to_owned());
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

    fn answered(&mut self, body: &Json) {
        let said = |key: &str| body.get("result").and_then(|result| result.get(key)).and_then(Json::as_text);
        // A refused answer tells how the question ended before.
        if body.get("verdict").and_then(Json::as_text) == Some(Verdict::Reject.word()) {
            return;
        }
        let ended = said("state").and_then(EscalationState::from_word).filter(|state| *state != EscalationState::Open);
        let Some(state) = ended else { return };
        *self.answers.entry(state.word().to_owned()).or_default() += 1;
        if matches!(state, EscalationState::Overridden | EscalationState::Modified) {
            let agent = said("question").and_then(|question| self.asked.get(question)).cloned();
            *self.approved.entry(agent.unwrap_or_default()).or_default() += 1;
        }
    }

    /// A record that moved an intent; what ends, ends once.
    fn moved(&mut self, body: &Json) {
        let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_text).map(str::to_owned);
        let (kind, result) = (text(body, "kind"), body.get("result").unwrap_or(&Json::Null));
        if text(body, "verdict").as_deref() == Some(Verdict::Reject.word()) {
            return;
        }
        if kind.as_deref() == Some("undo") {
            self.undoing.extend(text(result, "undo"));
            return;
        }
        let expired = (kind.as_deref() == Some("intent_expired")).then_some(IntentState::Cancelled);
        let state = expired.or_else(|| IntentState::from_word(&text(result, "state")?));
        let stays = text(result, "from").is_some() && text(result, "from") == text(result, "state");
        let Some(state) = state.filter(|state| state.over().is_some() && !stays) else { return };
        let undoes = text(result, "intent").is_some_and(|intent| self.undoing.contains(&intent));
        self.ended(if undoes && state == IntentState::Succeeded { "UNDONE" } else { state.word() });
    }

    fn ended(&mut self, word: &str) {
        *self.performed.entry(word.to_owned()).or_default() += 1;
    }

    fn to_json(&self, since: Option<Instant>, open: u64) -> Json {
        let counted = |counts: &BTreeMap<String, u64>| {
            Json::Object(counts.iter().map(|(code, count)| (code.clone(), Json::from(*count))).collect())
        };
        let agent = |(agent, counts): (&String, &Counts)| {
            let mut counts = counts.to_json();
            if let Json::Object(members) = &mut counts {
                members
                    .insert("APPROVED".to_owned(), Json::from(self.approved.get(agent).copied().unwrap_or_default()));
            }
            (agent.clone(), counts)
        };
        let agents = self.agents.iter().map(agent).collect();
        Json::object([
            ("since", Json::from(since.map(|since| since.to_string()))),
            ("verdicts", self.all.to_json()),
            ("reasons", counted(&self.reasons)),
            ("agents", Json::Object(agents)),
            ("not_proposals", Json::from(self.refused_input)),
            ("answers", counted(&self.answers)),
            ("approved", Json::from(self.approved.values().sum::<u64>())),
            ("performed", counted(&self.performed)),
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
        let approved: u64 = self.approved.values().sum();
        for (verdict, count) in [("ACCEPT", accepted), ("REJECT", rejected), ("ESCALATE", escalated)] {
            let note = match (verdict, approved) {
                ("ESCALATE", 1..) => format!(", {approved} of them accepted by a person"),
                _ => String::new(),
            };
            say!("  {} {count:>6}{note}", paint(verdict_style(verdict), format!("{verdict:<9}")));
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
            let approved = self.approved.get(agent).copied().unwrap_or_default();
            let accepted = accepted + approved;
            let note = if approved > 0 { format!(", {approved} accepted by a person") } else { String::new() };
            let agent = visible(agent);
            say!("  {agent:<24} {accepted:>6} accepted {rejected:>6} rejected {escalated:>6} escalated{note}");
        }
        if !self.performed.is_empty() {
            say!("\n{}", paint(STRONG, "performed"));
        }
        for (state, count) in &self.performed {
            say!("  {count:>6}  {state}");
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
