//! Cards of the inbox: what would happen, what it costs and how it is undone, as values for every door.

use super::contract_in_force;
use crate::error::Error;
use crate::history::History;
use adapters::executor_http::rendered;
use kernel::argument;
use kernel::command::{MintedIds, Submission};
use kernel::contract::amend::effective_limits;
use kernel::contract::{Executor, Undo};
use kernel::escalation::{EscalationRow, EscalationState, QuestionKind};
use kernel::evaluator::Compiled;
use kernel::finding::{Code, Effect, Finding};
use kernel::intent::{BudgetDraw, IntentState};
use kernel::proposal::Proposal;
use kernel::reasons::Reason;
use kernel::request::Provenance;
use kernel::result::ResultRecord;
use kernel::world::{Entity, Row};
use runtime::{Minted, Runtime};
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Records read at once for the rules: a question stands in the record of its own instant.
const RECORDS: usize = 16;

/// What an approver needs besides the question itself. Whatever the contract calls secret is withheld.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    /// The proposal as a person may see it; of a doubt the intent.
    pub proposal: Json,
    /// Whether nothing of it is withheld.
    pub is_whole: bool,
    /// What an acceptance calls, with the params filled in: method and address, or a program with its arguments.
    pub call: Option<String>,
    /// The business key of the effect.
    pub effect_key: Option<String>,
    /// Every budget that an acceptance takes from, by the contracts in force: an answer is judged under these.
    pub budgets: Vec<BudgetUse>,
    /// Limits of its params that were changed for a while.
    pub limits: Vec<AmendedLimit>,
    /// The rules that asked.
    pub rules: Vec<AskingRule>,
    /// How the effect is undone.
    pub undo: Option<UndoPlan>,
    /// What the other side of an effect in doubt answered last.
    pub result: Option<ResultRecord>,
}

/// A budget before and after an acceptance.
#[derive(Clone, PartialEq, Debug)]
pub struct BudgetUse {
    /// Whose.
    pub agent: String,
    /// Its name, which says what is summed and over which window.
    pub name: String,
    /// Used now; nothing where the window cannot tell, which counts as full.
    pub used: Option<Decimal>,
    /// What this proposal takes.
    pub amount: Decimal,
    /// The most the window may hold.
    pub max: Decimal,
    /// How long the window is.
    pub per: Duration,
    /// The most it could hold under the contract that asked, where another is in force since; nothing where the two
    /// agree, or where that contract had no such budget.
    pub max_when_asked: Option<Decimal>,
}

/// A limit that an amendment changed, with the value that the proposal has.
#[derive(Clone, PartialEq, Debug)]
pub struct AmendedLimit {
    pub param: String,
    /// What the proposal says; nothing where it is withheld or no number.
    pub value: Option<Decimal>,
    pub min: Option<Decimal>,
    pub max: Option<Decimal>,
    /// What the contract says without the amendment.
    pub contract_min: Option<Decimal>,
    pub contract_max: Option<Decimal>,
}

impl BudgetUse {
    /// Used once this is accepted.
    pub fn after(&self) -> Option<Decimal> {
        self.used.and_then(|used| used.checked_add(self.amount))
    }
}

/// A rule that made the proposal a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskingRule {
    /// The reason code.
    pub reason: String,
    /// The expression, where the rule has one of its own.
    pub when: Option<String>,
    /// What it says about this proposal.
    pub message: String,
}

/// How an effect is undone.
#[derive(Clone, PartialEq, Debug)]
pub struct UndoPlan {
    /// Which way.
    pub kind: String,
    /// The request that undoes it, with the params filled in.
    pub call: Option<String>,
    /// For how long.
    pub within: Option<String>,
}

impl Card {
    /// Of a question at an instant.
    pub fn of(runtime: &Runtime, name: &str, row: &EscalationRow, now: Instant) -> Result<Card, Error> {
        if row.kind == QuestionKind::Doubt {
            let result = match runtime.read(Entity::Intent(row.intent.clone()))? {
                Some(Row::Intent(intent)) => runtime.result(&row.intent, &intent)?,
                Some(_) | None => None,
            };
            return Ok(Card { result, ..Card::of_intent(&row.proposal) });
        }
        if row.kind == QuestionKind::Request {
            return Ok(Card::of_proposal(row.proposal.clone()));
        }
        let line = runtime.line_for(&row.agent, &row.flow)?;
        // What is over stays under the contract it was asked under; what is open is answered under the one in force.
        let is_over = row.due().is_none() || line.contract.contract.agent != row.agent;
        let (Some(asked), Some(shown)) = (submission(runtime, row, row.contract), shown_params(runtime, row)) else {
            return Ok(Card { is_whole: false, ..Card::of_proposal(withheld()) });
        };
        let in_force = if is_over { None } else { submission(runtime, row, line.contract.digest) };
        let submission = in_force.as_ref().unwrap_or(&asked);
        let action = submission.contract.contract.actions.get(&submission.proposal.action);
        Ok(Card {
            call: action.and_then(|action| call_of(&action.run.as_ref()?.executor, &shown)),
            effect_key: submission.effect_key().map(str::to_owned),
            budgets: match answered(runtime, row)? {
                Answered::Open => budgets(runtime, submission, (&asked, &line.ancestors), &shown, now)?,
                Answered::Took(draws, at) => {
                    let uses = budgets(runtime, submission, (&asked, &line.ancestors), &shown, now)?;
                    uses.into_iter().filter_map(|used| before(used, &draws, at, now)).collect()
                }
                // It took nothing, and nothing will.
                Answered::TookNothing => Vec::new(),
            },
            limits: if is_over { Vec::new() } else { limits(runtime, submission, &shown, now)? },
            rules: rules(runtime, name, row)?,
            undo: action.map(|action| undo_of(&action.undo, &shown)),
            result: None,
            is_whole: shown == asked.proposal.params,
            proposal: asked.proposal.to_json(shown),
        })
    }

    /// A card with nothing but the proposal.
    fn of_proposal(proposal: Json) -> Card {
        let (budgets, limits, rules) = (Vec::new(), Vec::new(), Vec::new());
        let (call, effect_key, undo, result) = (None, None, None, None);
        Card { proposal, is_whole: true, call, effect_key, budgets, limits, rules, undo, result }
    }

    /// Of an intent in doubt: it was called already, so no budget changes.
    fn of_intent(order: &Json) -> Card {
        let params = order.get("params").and_then(Json::as_object).cloned().unwrap_or_default();
        let run = order.get("run");
        let http = run.and_then(|run| run.get("http")?.as_text()).map(|request| filled(request, &params));
        let words = run.and_then(|run| run.get("command")?.as_list());
        let program = words.map(|words| program(words.iter().filter_map(Json::as_text), &params));
        let undo = order.get("undo").and_then(|undo| {
            let text = |key: &str| undo.get(key).and_then(Json::as_text);
            let call = text("http").map(|request| filled(request, &params));
            Some(UndoPlan { kind: text("kind")?.to_owned(), call, within: text("within").map(str::to_owned) })
        });
        let effect_key = order.get("effect_key").and_then(Json::as_text).map(str::to_owned);
        Card { call: http.or(program), effect_key, undo, ..Card::of_proposal(order.clone()) }
    }

    /// What is proposed, or was to happen.
    pub fn action(&self) -> &str {
        self.proposal.get("action").and_then(Json::as_text).unwrap_or_default()
    }

    /// Whether it is about undoing something by hand.
    pub fn undoes(&self) -> bool {
        self.proposal.get("undoes").is_some_and(|undoes| *undoes != Json::Null)
    }

    /// For programs.
    pub fn to_json(&self) -> Object {
        let decimal = |value: Option<Decimal>| value.map_or(Json::Null, Json::from_decimal);
        let budget = |budget: &BudgetUse| {
            Json::object([
                ("agent", Json::text(budget.agent.as_str())),
                ("name", Json::text(budget.name.as_str())),
                ("used", decimal(budget.used)),
                ("amount", decimal(Some(budget.amount))),
                ("after", decimal(budget.after())),
                ("max", decimal(Some(budget.max))),
                ("max_when_asked", decimal(budget.max_when_asked)),
            ])
        };
        let limit = |limit: &AmendedLimit| {
            Json::object([
                ("param", Json::text(limit.param.as_str())),
                ("value", decimal(limit.value)),
                ("min", decimal(limit.min)),
                ("max", decimal(limit.max)),
                ("contract_min", decimal(limit.contract_min)),
                ("contract_max", decimal(limit.contract_max)),
            ])
        };
        let rule = |rule: &AskingRule| {
            Json::object([
                ("reason", Json::text(rule.reason.as_str())),
                ("when", Json::from(rule.when.clone())),
                ("message", Json::text(rule.message.as_str())),
            ])
        };
        let undo = |undo: &UndoPlan| {
            Json::object([
                ("kind", Json::text(undo.kind.as_str())),
                ("call", Json::from(undo.call.clone())),
                ("within", Json::from(undo.within.clone())),
            ])
        };
        let members = [
            ("proposal", self.proposal.clone()),
            ("whole", Json::Bool(self.is_whole)),
            ("call", Json::from(self.call.clone())),
            ("effect_key", Json::from(self.effect_key.clone())),
            ("budgets", Json::List(self.budgets.iter().map(budget).collect())),
            ("limits", Json::List(self.limits.iter().map(limit).collect())),
            ("rules", Json::List(self.rules.iter().map(rule).collect())),
            ("undo", self.undo.as_ref().map_or(Json::Null, undo)),
            ("result", self.result.as_ref().map_or(Json::Null, ResultRecord::to_answer)),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The proposal of a question as a person may see it: what the contract calls secret is withheld, as in answers and
/// records.
pub fn shown_proposal(runtime: &Runtime, row: &EscalationRow) -> Json {
    // An intent is shown as the ledger holds it.
    if row.kind == QuestionKind::Doubt {
        return row.proposal.clone();
    }
    let proposal = Proposal::from_json(row.proposal.clone()).ok();
    let shown = proposal.zip(shown_params(runtime, row));
    shown.map_or_else(withheld, |(proposal, shown)| proposal.to_json(shown))
}

/// A proposal of which nothing may be seen.
fn withheld() -> Json {
    Json::object([("withheld", Json::Bool(true))])
}

/// The params of a question as a person may see them. Another contract in force may call more of them secret, and none
/// that was secret when it was asked is shown because of it.
fn shown_params(runtime: &Runtime, row: &EscalationRow) -> Option<Object> {
    let asked = submission(runtime, row, row.contract)?;
    let mut shown = asked.shown_params();
    let in_force = contract_in_force(runtime, row).ok()?;
    if in_force != row.contract {
        let now = submission(runtime, row, in_force)?;
        let own = now.shown_params();
        let hidden = own.into_iter().filter(|(name, value)| now.proposal.params.get(name) != Some(value));
        shown.extend(hidden);
    }
    Some(shown)
}

/// The proposal of a question as it would be judged again under a contract.
fn submission(runtime: &Runtime, row: &EscalationRow, contract: Digest) -> Option<Submission> {
    let proposal = Proposal::from_json(row.proposal.clone()).ok()?;
    let contract = runtime.contract(contract).ok()?;
    let ids = MintedIds {
        proposal: row.proposal_id.clone(),
        flow: row.flow.clone(),
        intent: row.intent.clone(),
        ..Minted::ids()
    };
    Some(Submission::new(runtime.tenant().clone(), proposal, contract, Provenance::Unknown, ids))
}

fn call_of(executor: &Executor, shown: &Object) -> Option<String> {
    match executor {
        Executor::Http(request) => Some(filled(request, shown)),
        Executor::Command(words) => Some(program(words.iter().map(String::as_str), shown)),
        Executor::Function(name) => Some(format!("function {name}")),
        Executor::Host => None,
    }
}

/// A program as it would be started, each argument in quotes where it needs them.
fn program<'w>(words: impl Iterator<Item = &'w str>, shown: &Object) -> String {
    let word = |word: &str| {
        let text = argument::render(word, shown).unwrap_or_else(|_| word.to_owned());
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,{}".contains(letter);
        if text.is_empty() || !text.chars().all(is_plain) { Json::text(text).to_canonical() } else { text }
    };
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// Puts params into an address as the executor does. A placeholder whose value is withheld or missing stays.
fn filled(request: &str, shown: &Object) -> String {
    let mut text = String::with_capacity(request.len());
    let mut rest = request;
    while let Some((literal, behind)) = rest.split_once('{') {
        let Some((name, after)) = behind.split_once('}') else { break };
        let placeholder = format!("{{{name}}}");
        text.push_str(literal);
        text.push_str(&rendered(&placeholder, shown).unwrap_or(placeholder));
        rest = after;
    }
    text.push_str(rest);
    text
}

fn undo_of(undo: &Undo, shown: &Object) -> UndoPlan {
    UndoPlan {
        kind: undo.kind.word().to_owned(),
        call: undo.http.as_deref().map(|request| filled(request, shown)),
        within: undo.within.map(|within| within.to_string()),
    }
}

/// What an answer took of budgets.
enum Answered {
    /// Nobody answered yet.
    Open,
    TookNothing,
    /// What the intent took, and when.
    Took(Vec<BudgetDraw>, Instant),
}

fn answered(runtime: &Runtime, row: &EscalationRow) -> Result<Answered, Error> {
    if row.state == EscalationState::Open {
        return Ok(Answered::Open);
    }
    let Some((intent, at)) = row.answer.as_ref().and_then(|given| Some((given.intent.clone()?, given.at))) else {
        return Ok(Answered::TookNothing);
    };
    let Some(Row::Intent(intent)) = runtime.read(Entity::Intent(intent))? else { return Ok(Answered::TookNothing) };
    let is_given_back = matches!(intent.state, IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned);
    let draws = if is_given_back { Vec::new() } else { intent.facts.taken().to_vec() };
    Ok(Answered::Took(draws, at))
}

/// A budget as it stands without what an answer took of it, as long as the window still holds that.
fn before(used: BudgetUse, draws: &[BudgetDraw], at: Instant, now: Instant) -> Option<BudgetUse> {
    let draw = draws.iter().find(|draw| draw.agent == used.agent && draw.budget == used.name)?;
    let is_held = at.plus(used.per) > now;
    let without = |total: Decimal| if is_held { total.checked_sub(draw.amount) } else { Some(total) };
    Some(BudgetUse { amount: draw.amount, used: used.used.and_then(without), ..used })
}

/// The budgets of a contract and of those above. Where another contract asked, what that one allowed is told too.
fn budgets(
    runtime: &Runtime,
    submission: &Submission,
    (asked, above): (&Submission, &[Arc<Compiled>]),
    shown: &Object,
    now: Instant,
) -> Result<Vec<BudgetUse>, Error> {
    let action = &submission.proposal.action;
    let mut uses: Vec<BudgetUse> = Vec::new();
    for contract in std::iter::once(&submission.contract).chain(above) {
        let Some(compiled) = contract.actions.get(action) else { continue };
        for planned in &compiled.plan.budgets {
            let amount = match &planned.rule.sum {
                Some(param) => shown.get(param).and_then(amount),
                None => Some(Decimal::from(1)),
            };
            let Some(amount) = amount else { continue };
            let agent = &contract.contract.agent;
            let entity = Entity::Budget(agent.clone(), planned.name.clone());
            let used = match runtime.read(entity)? {
                Some(Row::Budget(window)) => window.used(now, planned.rule.per),
                Some(_) | None => Some(Decimal::ZERO),
            };
            let asked = Some(&asked.contract).filter(|asked| asked.contract.agent == *agent);
            let asked = asked.and_then(|asked| asked.actions.get(action));
            let asked = asked.and_then(|asked| asked.plan.budgets.iter().find(|budget| budget.name == planned.name));
            let max_when_asked = asked.map(|budget| budget.rule.max).filter(|max| *max != planned.rule.max);
            let (agent, name, max) = (agent.clone(), planned.name.clone(), planned.rule.max);
            uses.push(BudgetUse { agent, name, used, amount, max, per: planned.rule.per, max_when_asked });
        }
    }
    Ok(uses)
}

/// The limits of an action's params that are not what the contract says, because an operator changed them for a while.
fn limits(
    runtime: &Runtime,
    submission: &Submission,
    shown: &Object,
    now: Instant,
) -> Result<Vec<AmendedLimit>, Error> {
    let (proposal, contract) = (&submission.proposal, &submission.contract);
    let Some(Row::Agent(row)) = runtime.read(Entity::Agent(proposal.agent.clone()))? else { return Ok(Vec::new()) };
    if row.canary.is_some() && row.contract != Some(contract.digest) {
        return Ok(Vec::new());
    }
    let mut in_force = effective_limits(&contract.contract, &row.amendments, now);
    let Some(in_force) = in_force.remove(&proposal.action) else { return Ok(Vec::new()) };
    let written = contract.contract.actions.get(&proposal.action).map(|action| &action.limits);
    let amended = in_force.into_iter().filter_map(|(param, limit)| {
        let written = written?.get(&param)?;
        let is_same = (limit.min, limit.max) == (written.min, written.max);
        (!is_same).then(|| AmendedLimit {
            value: shown.get(&param).and_then(amount),
            min: limit.min,
            max: limit.max,
            contract_min: written.min,
            contract_max: written.max,
            param,
        })
    });
    Ok(amended.collect())
}

fn amount(value: &Json) -> Option<Decimal> {
    value.as_number().or_else(|| Decimal::parse(value.as_text()?))
}

/// What the record of the decision says about who asked. Once it is erased, nobody knows.
fn rules(runtime: &Runtime, name: &str, row: &EscalationRow) -> Result<Vec<AskingRule>, Error> {
    let mut history = History::since(runtime, Some(row.asked_at))?.by(RECORDS);
    while let Some(body) = history.next_body()? {
        let question = body.get("escalation").filter(|question| question.get("repeated").is_none());
        let asked = question.and_then(|question| question.get("id")).and_then(Json::as_text);
        if asked != Some(name) {
            // Everything of one instant stands together, and the question was asked in its own.
            let at = body.get("at").and_then(Json::as_text).and_then(Instant::parse);
            if at.is_some_and(|at| at > row.asked_at) {
                break;
            }
            continue;
        }
        let findings = body.get("findings").and_then(Json::as_list).unwrap_or_default();
        let asking = findings.iter().filter_map(Finding::from_record).filter(|found| found.effect == Effect::Escalate);
        let rule = |finding: Finding| AskingRule {
            reason: finding.code.as_str().to_owned(),
            when: match &finding.code {
                Code::Custom { when, .. } => Some(when.clone()),
                // A rule without a code of its own.
                Code::Known(Reason::NeedsApproval) => {
                    let problem = finding.values.iter().find(|(name, _)| name == "problem");
                    problem.and_then(|(_, when)| when.as_text()).map(str::to_owned)
                }
                Code::Known(_) => None,
            },
            message: finding.message(),
        };
        return Ok(asking.map(rule).collect());
    }
    Ok(Vec::new())
}
