//! `writkeeper escalations …`: what waits for people, exactly what an answer is for, and answering.

use crate::cli::kept::{AnswerArgs, Decision, EscalationsArgs, EscalationsCommand};
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::store;
use crate::terminal::{ATTENTION, FAINT, STRONG, paint, say, verdict_style};
use kernel::command::{Door, Submission};
use kernel::contract::Impact;
use kernel::escalation::EscalationRow;
use kernel::finding::visible;
use kernel::ids::Digest;
use kernel::json::{Bounds, Json};
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::stored::Kind;
use kernel::time::{Duration, Instant};
use kernel::world::Row;
use runtime::{Minted, PersonAnswer, Runtime};

/// Questions listed; whoever has more open ones needs another answer than a longer list.
const LISTED_MAX: usize = 1_000;

/// Questions looked through for a proposal, a flow or an intent.
const PAGE: usize = 512;

/// Lists, shows and answers.
pub fn run(args: &EscalationsArgs) -> anyhow::Result<Exit> {
    let json = args.kept.json;
    let runtime = store::open(&args.kept.store)?;
    match args.command.as_ref().unwrap_or(&EscalationsCommand::List) {
        EscalationsCommand::List => list(&runtime, json)?,
        EscalationsCommand::Show { id } => {
            let (name, row) = question(&runtime, id)?;
            show(&runtime, &name, &row, json)?;
        }
        EscalationsCommand::Answer(args) => answer(&runtime, args, json)?,
    }
    Ok(Exit::Fine)
}

/// Risk times age: what may hurt most and waits longest comes first.
fn urgency(row: &EscalationRow, now: Instant) -> i64 {
    let weight = match row.impact {
        Impact::Low => 1,
        Impact::Medium => 3,
        Impact::High => 10,
        Impact::Critical => 30,
    };
    now.since(row.asked_at).micros().max(1).saturating_mul(weight)
}

fn list(runtime: &Runtime, json: bool) -> anyhow::Result<()> {
    let now = store::now();
    let far = Instant::from_micros(i64::MAX);
    let open = runtime.due(Kind::Escalation, far, LISTED_MAX).map_err(store::unread)?;
    let open = open.into_iter().filter_map(|(key, row)| {
        let Row::Escalation(row) = row else { return None };
        Some((key.entity.parts().0.to_owned(), row))
    });
    let mut open: Vec<(String, Box<EscalationRow>)> = open.collect();
    open.sort_by_key(|(_, row)| std::cmp::Reverse(urgency(row, now)));
    if json {
        for (name, row) in &open {
            say!("{}", to_json(runtime, name, row).to_canonical());
        }
        return Ok(());
    }
    if open.is_empty() {
        say!("nothing waits for an answer");
        return Ok(());
    }
    let names: Vec<String> = open.iter().map(|(name, _)| name.clone()).collect();
    for (short, (_, row)) in store::short_ids(&names).iter().zip(&open) {
        let action = row.proposal.get("action").and_then(Json::as_text).unwrap_or_default();
        say!(
            "{}  {:<8} {} {}  {}  {}",
            paint(STRONG, short),
            row.impact.word(),
            row.agent,
            paint(STRONG, action),
            params(&shown_proposal(runtime, row)),
            paint(FAINT, format!("{}; {}", row.reasons.join(", "), left(row, now)))
        );
    }
    say!("\nnext: writkeeper escalations show ID");
    Ok(())
}

fn params(proposal: &Json) -> String {
    let members = proposal.get("params").and_then(Json::as_object);
    let shown = members.into_iter().flatten().map(|(name, value)| format!("{name}={}", kernel::finding::shown(value)));
    shown.collect::<Vec<_>>().join(" ")
}

/// The proposal as a person may see it: what the contract calls secret is withheld, as in answers and records.
fn shown_proposal(runtime: &Runtime, row: &EscalationRow) -> Json {
    let proposal = Proposal::from_json(row.proposal.clone()).ok();
    let Some((proposal, contract)) = proposal.zip(runtime.contract(row.contract).ok()) else {
        return Json::object([("withheld", Json::Bool(true))]);
    };
    let (tenant, ids) = (runtime.tenant().clone(), Minted::ids());
    let submission = Submission::new(tenant, proposal, contract, Provenance::Unknown, ids);
    submission.proposal.to_json(submission.shown_params())
}

/// How long people have, in a unit that reads well.
fn left(row: &EscalationRow, now: Instant) -> String {
    if now > row.deadline {
        return format!("over since {}", row.deadline);
    }
    let seconds = row.deadline.since(now).micros() / 1_000_000;
    let rounded = if seconds > 7_200 { seconds / 3_600 * 3_600 } else { seconds / 60 * 60 };
    if rounded == 0 { "less than a minute left".to_owned() } else { format!("{} left", Duration::from_secs(rounded)) }
}

/// By its own id, or by its proposal, flow or intent.
fn question(runtime: &Runtime, text: &str) -> anyhow::Result<(String, EscalationRow)> {
    let unknown = match store::find(runtime, Kind::Escalation, "question", text) {
        Ok((name, Row::Escalation(row))) => return Ok((name, *row)),
        Ok(_) => InvalidData(format!("`{text}` is no question")).into(),
        Err(unknown) => unknown,
    };
    let mut after: Option<String> = None;
    let mut found: Vec<(String, EscalationRow)> = Vec::new();
    loop {
        let page = runtime.scan(Kind::Escalation, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in page {
            let Row::Escalation(row) = row else { continue };
            if is_of(&row, |id| id.starts_with(text)) {
                found.push((key.entity.parts().0.to_owned(), *row));
            }
        }
    }
    // A whole id is meant, even if others start with it.
    if found.iter().any(|(_, row)| is_of(row, |id| id == text)) {
        found.retain(|(_, row)| is_of(row, |id| id == text));
    }
    match found.len() {
        1 => found.pop().ok_or(unknown),
        0 => Err(unknown),
        _ => {
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            Err(InvalidData(format!("`{text}` belongs to several questions: {}", names.join(", "))).into())
        }
    }
}

/// Whether the id of something the question belongs to fits.
fn is_of(row: &EscalationRow, fits: impl Fn(&str) -> bool) -> bool {
    [&row.proposal_id, &row.flow, &row.intent].into_iter().any(|id| fits(id))
}

fn show(runtime: &Runtime, name: &str, row: &EscalationRow, json: bool) -> anyhow::Result<()> {
    if json {
        say!("{}", to_json(runtime, name, row).to_canonical());
        return Ok(());
    }
    say!("question {}  {}", paint(STRONG, name), paint(ATTENTION, row.state.word()));
    say!("  asked     {} by {} in flow {}", row.asked_at, row.agent, row.flow);
    say!("  because   {}", row.reasons.join(", "));
    say!("  impact    {}", row.impact.word());
    let who = row.entitled(store::now()).join(", ");
    say!("  answered  by {who}; {} of {} agreed", row.votes.len(), row.quorum);
    say!("  deadline  {}", row.deadline);
    if let Ok(contract) = runtime.contract(row.contract) {
        say!("  contract  {} {} sha256 {}", contract.contract.id, contract.contract.version, row.contract);
    }
    let shown = shown_proposal(runtime, row);
    say!("\n{}\n", visible(&shown.to_canonical()));
    if shown == row.proposal {
        say!("digest of exactly these bytes under this contract: {}", paint(STRONG, row.digest));
    } else {
        say!("digest of these bytes, with what is withheld here, under this contract: {}", paint(STRONG, row.digest));
    }
    match &row.answer {
        Some(answer) => {
            let said = answer.decision.map_or("nobody", |decision| decision.word());
            let by = answer.person.as_deref().map(|person| format!(" by {person}")).unwrap_or_default();
            say!("answered  {said}{by} at {}: {}", answer.at, visible(&answer.reason));
        }
        None => {
            say!("next: writkeeper escalations answer {name} override|modify|abort --as YOU --because …")
        }
    }
    Ok(())
}

fn to_json(runtime: &Runtime, name: &str, row: &EscalationRow) -> Json {
    let answer = row.answer.as_ref().map_or(Json::Null, |answer| {
        Json::object([
            ("decision", Json::from(answer.decision.map(|decision| decision.word().to_owned()))),
            ("person", Json::from(answer.person.clone())),
            ("reason", Json::text(answer.reason.as_str())),
            ("at", Json::text(answer.at.to_string())),
            ("intent", Json::from(answer.intent.clone())),
        ])
    });
    Json::object([
        ("id", Json::text(name)),
        ("state", Json::text(row.state.word())),
        ("agent", Json::text(row.agent.as_str())),
        ("flow", Json::text(row.flow.as_str())),
        ("proposal_id", Json::text(row.proposal_id.as_str())),
        ("proposal", shown_proposal(runtime, row)),
        ("digest", Json::text(row.digest.to_string())),
        ("contract", Json::text(row.contract.to_string())),
        ("reasons", Json::texts(row.reasons.iter().map(String::as_str))),
        ("impact", Json::text(row.impact.word())),
        ("approvers", Json::texts(row.approvers.iter().map(String::as_str))),
        ("quorum", Json::from(row.quorum)),
        ("votes", Json::texts(row.votes.iter().map(|vote| vote.person.as_str()))),
        ("asked_at", Json::text(row.asked_at.to_string())),
        ("deadline", Json::text(row.deadline.to_string())),
        ("answer", answer),
    ])
}

fn answer(runtime: &Runtime, args: &AnswerArgs, json: bool) -> anyhow::Result<()> {
    let (name, row) = question(runtime, &args.id)?;
    let digest = match &args.digest {
        Some(text) => {
            let problem =
                || UsageError(format!("--digest `{text}` is no SHA-256: 64 hexadecimal digits, as `show` prints"));
            Digest::parse(text).ok_or_else(problem)?
        }
        None => row.digest,
    };
    let instead = match args.instead.as_deref() {
        Some(path) => {
            let parsed = Json::parse_within(&files::read(path)?, &Bounds::FILE);
            Some(parsed.map_err(|refusal| InvalidData(format!("`{}`: {refusal}", path.display())))?)
        }
        None => None,
    };
    let decision = match args.decision {
        Decision::Override => "OVERRIDE",
        Decision::Modify => "MODIFY",
        Decision::Abort => "ABORT",
    };
    let answered = store::done(runtime.answer(PersonAnswer {
        person: args.person.clone(),
        question: name,
        decision: decision.to_owned(),
        digest,
        reason: args.because.clone(),
        instead,
        door: Door::PURE,
    }))?;
    if json {
        let intent = answered.answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json());
        say!("{}", Json::object([("result", answered.body), ("intent", intent)]).to_canonical());
        return Ok(());
    }
    let said = |key: &str| answered.body.get(key).and_then(Json::as_text);
    if let Some(refused) = said("refused") {
        say!("{refused}");
        return Ok(());
    }
    say!("{}", paint(ATTENTION, said("state").unwrap_or_default()));
    if let Some(votes) = answered.body.get("votes") {
        let quorum = answered.body.get("quorum").map(Json::to_canonical).unwrap_or_default();
        say!("{} of {quorum} agreed so far", votes.to_canonical());
    }
    if let Some(intent) = &answered.answer.intent {
        say!("{} intent {}", paint(verdict_style("ACCEPT"), "may now be performed:"), intent.id());
    }
    Ok(())
}
