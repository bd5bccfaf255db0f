//! One picture as text and as JSON, where nobody sits before a screen.

use super::picture::Picture;
use crate::hint;
use crate::terminal::{self, ATTENTION, BAD, FAINT, STRONG, paint, say, verdict_style};
use values::json::Json;
use writkeeper::Keeper;

/// Lines of each list that a person is shown.
const LINES: usize = 10;

/// For a person.
pub fn print(picture: &Picture) -> anyhow::Result<()> {
    say!("{}  {} in the ledger", terminal::at(picture.at), terminal::counted(picture.entries, "entry"));
    if let Some(halted) = &picture.halted {
        say!("{} {halted}", paint(BAD, "HALTED by"));
    }
    say!("\n{}", paint(STRONG, format!("waiting for people ({})", picture.questions.len())));
    for line in picture.questions.iter().take(LINES) {
        let impact = paint(ATTENTION, format!("{:<8}", line.impact));
        say!(
            "  {}  {impact} {} {}  {}  {}",
            line.short,
            line.agent,
            line.action,
            line.params,
            paint(FAINT, format!("{}; {}", line.reasons, line.left))
        );
    }
    let more = if picture.more_agents { " and more" } else { "" };
    say!("\n{}", paint(STRONG, format!("agents ({}{more})", picture.agents.len())));
    for line in picture.agents.iter().take(LINES) {
        let [accepted, rejected, escalated] = line.counts;
        let counts = format!("lately {accepted} accepted, {rejected} rejected, {escalated} escalated");
        say!("  {:<24} {:<15} {counts}  {}", line.name, line.status.word(), paint(FAINT, &line.because));
    }
    if !picture.monitors.is_empty() {
        say!("\n{}", paint(STRONG, format!("monitors ({})", picture.monitors.len())));
    }
    for line in picture.monitors.iter().take(LINES) {
        let state = if line.is_tripped { paint(BAD, "tripped ") } else { paint(FAINT, "watching") };
        say!("  {:<24} {state} {} {}", line.name, line.chart, paint(FAINT, &line.reading));
    }
    say!("\n{}", paint(STRONG, "flows, latest first"));
    for line in picture.flows.iter().take(LINES) {
        say!(
            "  {:<36} {:<8} {:<20} {}, {} rejected",
            line.name,
            line.state.word(),
            line.agent,
            terminal::counted(line.steps, "proposal"),
            line.rejected
        );
    }
    say!("\n{}", paint(STRONG, "verdicts, latest first"));
    for line in picture.verdicts.iter().take(LINES) {
        let verdict = line.verdict.word();
        let observed = if line.observed { " (observed only)" } else { "" };
        say!(
            "  {}  {} {} {}  {}{observed}",
            paint(FAINT, terminal::at(line.at)),
            paint(verdict_style(verdict), format!("{verdict:<8}")),
            line.agent,
            line.action,
            line.reasons
        );
    }
    if !picture.questions.is_empty() {
        let (show, live) = (hint::next("writkeeper escalations show ID"), hint::next("writkeeper top --as YOU"));
        say!("\nnext: {show}, or `{live}` on a terminal");
    }
    Ok(())
}

/// For a program.
pub fn json(keeper: &Keeper, picture: &Picture) -> anyhow::Result<()> {
    let agents = picture.agents.iter().map(|line| {
        let [accepted, rejected, escalated] = line.counts.map(|count| Json::from(count as u64));
        Json::object([
            ("agent", Json::text(line.name.as_str())),
            ("status", Json::text(line.status.word())),
            ("because", Json::text(line.because.as_str())),
            ("lately", Json::object([("ACCEPT", accepted), ("REJECT", rejected), ("ESCALATE", escalated)])),
        ])
    });
    let monitors = picture.monitors.iter().map(|line| {
        Json::object([
            ("monitor", Json::text(line.name.as_str())),
            ("tripped", Json::Bool(line.is_tripped)),
            ("hundredths", Json::from(line.part)),
            ("reading", Json::text(line.reading.as_str())),
        ])
    });
    let flows = picture.flows.iter().map(|line| {
        Json::object([
            ("flow", Json::text(line.name.as_str())),
            ("agent", Json::text(line.agent.as_str())),
            ("state", Json::text(line.state.word())),
            ("proposals", Json::from(line.steps)),
            ("rejected", Json::from(line.rejected)),
        ])
    });
    let verdicts = picture.verdicts.iter().map(|line| {
        Json::object([
            ("at", Json::text(line.at.to_string())),
            ("verdict", Json::text(line.verdict.word())),
            ("observed", Json::Bool(line.observed)),
            ("agent", Json::text(line.agent.as_str())),
            ("action", Json::text(line.action.as_str())),
            ("flow", Json::text(line.flow.as_str())),
            ("reasons", Json::text(line.reasons.as_str())),
        ])
    });
    let mut questions = Vec::new();
    for line in &picture.questions {
        questions.push(keeper.question(&format!("={}", line.name))?.to_json());
    }
    let json = Json::object([
        ("at", Json::text(picture.at.to_string())),
        ("entries", Json::from(picture.entries)),
        ("halted", Json::from(picture.halted.clone())),
        ("agents", Json::List(agents.collect())),
        ("more_agents", Json::Bool(picture.more_agents)),
        ("monitors", Json::List(monitors.collect())),
        ("flows", Json::List(flows.collect())),
        ("verdicts", Json::List(verdicts.collect())),
        ("questions", Json::List(questions)),
    ]);
    say!("{}", json.to_canonical());
    Ok(())
}
