//! `writkeeper eval …`: how good something is that judges, on cases that a person labelled.

mod show;
mod watched;

use crate::cli::eval::{CaseArgs, DetectorArgs, EvalArgs, EvalCommand, JudgedArgs, ProposalArgs};
use crate::commands::decide::context;
use crate::commands::lines::Lines;
use crate::contract_file;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::store;
use crate::terminal::echo;
use adapters::advisor::PluginAdvisor;
use kernel::advice::AdviceKind;
use kernel::detectors::Thresholds;
use kernel::evaluator::Compiled;
use kernel::pure::PureRun;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use values::json::Json;
use writkeeper::evaluation::cost::Prices;
use writkeeper::evaluation::interval::CASES_MAX;
use writkeeper::evaluation::label::{self, Label};
use writkeeper::evaluation::recorded::{self, LABELS_MAX, Labels, RecordedDetector, Whose};
use writkeeper::evaluation::subjects::{self, DetectorOf, Flags, Gates, PluginOf};
use writkeeper::evaluation::{Evaluation, Subject};

/// Evaluates.
pub fn run(args: &EvalArgs) -> anyhow::Result<Exit> {
    match &args.what {
        EvalCommand::Gate(args) => {
            let gate = subjects::gate(&args.name).map_err(UsageError)?;
            gates(&format!("gate {}", args.name), Some(gate), &args.on)
        }
        EvalCommand::Contract(args) => gates("contract", None, &args.on),
        EvalCommand::Validator(args) => plugin(AdviceKind::Validator, args),
        EvalCommand::Judge(args) => plugin(AdviceKind::Judge, args),
        EvalCommand::Detector(args) => detector(args),
        EvalCommand::Monitor(args) => watched::run(args),
    }
}

fn gates(title: &str, gate: Option<kernel::finding::Gate>, on: &ProposalArgs) -> anyhow::Result<Exit> {
    let flags = Flags { gate, only_refusals: on.refusals };
    let prices = prices(&on.cases)?;
    let evaluation = match &on.contract {
        None => on_store(&Whose::Gates(flags), on)?,
        Some(path) => {
            let context = on.context.as_deref().map(context).transpose()?.unwrap_or_default();
            let run = PureRun::new(contract(path)?, context, None, true);
            judged(&mut Gates { run, flags, advisor: &PluginAdvisor }, "proposal", &on.cases)?
        }
    };
    show::print(title, &evaluation, &prices, on.cases.json)
}

fn plugin(kind: AdviceKind, args: &JudgedArgs) -> anyhow::Result<Exit> {
    let (name, on) = (&args.name, &args.on);
    let prices = prices(&on.cases)?;
    let evaluation = match &on.contract {
        None => on_store(&Whose::Plugin(kind, name.clone()), on)?,
        Some(path) => {
            let subject = PluginOf::new(contract(path)?, kind, name, &PluginAdvisor);
            judged(&mut subject.map_err(InvalidData)?, "proposal", &on.cases)?
        }
    };
    show::print(&format!("{} {name}", kind.word()), &evaluation, &prices, on.cases.json)
}

fn detector(args: &DetectorArgs) -> anyhow::Result<Exit> {
    let prices = prices(&args.cases)?;
    let detector = subjects::detector(&args.name).map_err(UsageError)?;
    let thresholds = match (&args.by.store, &args.by.contract) {
        (Some(store), _) => {
            let whose = Whose::Detector(RecordedDetector::of(detector).map_err(UsageError)?);
            let evaluation = from_store(store, &whose, args.answers, &args.cases)?;
            return show::print(&format!("detector {}", args.name), &evaluation, &prices, args.cases.json);
        }
        (None, Some(path)) => Thresholds::read(contract(path)?.contract.detectors.as_ref())
            .map_err(|fault| InvalidData(fault.to_string()))?,
        (None, None) => subjects::settings(detector.name, &pairs(&args.by.settings)?).map_err(UsageError)?,
    };
    let mut subject = DetectorOf { detector, thresholds };
    let evaluation = judged(&mut subject, "evidence", &args.cases)?;
    show::print(&format!("detector {}", args.name), &evaluation, &prices, args.cases.json)
}

/// Judges every case of a file; the value of one key of each line is the case.
fn judged(subject: &mut dyn Subject, key: &str, args: &CaseArgs) -> anyhow::Result<Evaluation> {
    let mut evaluation = Evaluation::default();
    let mut lines = Lines::open(args.cases.as_deref())?;
    while let Some((number, line)) = lines.next_filled_line()? {
        let (label, mut members) = label::line(line, &[key]).map_err(|problem| wrong(number, &problem))?;
        let case = members.remove(key).ok_or_else(|| wrong(number, &format!("`{key}` is missing")))?;
        if !matches!(case, Json::Object(_)) {
            let hint = if case.as_text().is_some() { "; ids are for --store" } else { "" };
            return Err(wrong(number, &format!("`{key}` must be an object, not {}{hint}", case.kind())));
        }
        let opinion = subject.judge(number, &case).map_err(|problem| wrong(number, &problem))?;
        evaluation.count(number, label, &opinion);
        bound(evaluation.confusion.cases())?;
    }
    demand_cases(evaluation.confusion.cases())?;
    Ok(evaluation)
}

fn on_store(whose: &Whose, on: &ProposalArgs) -> anyhow::Result<Evaluation> {
    from_store(on.keeping.store.as_deref().unwrap_or_default(), whose, on.answers, &on.cases)
}

fn from_store(location: &str, whose: &Whose, answers: bool, cases: &CaseArgs) -> anyhow::Result<Evaluation> {
    let labels = if answers { Labels::Answers } else { Labels::Given(given(cases)?) };
    let evaluation = recorded::evaluate(&store::view(location)?, whose, &labels)?;
    if evaluation.confusion.cases() == 0 {
        return Err(InvalidData("no question of this store was answered by a person".to_owned()).into());
    }
    Ok(evaluation)
}

/// Labels by the ids of proposals.
fn given(args: &CaseArgs) -> anyhow::Result<BTreeMap<String, Label>> {
    let mut labels = BTreeMap::new();
    let mut lines = Lines::open(args.cases.as_deref())?;
    while let Some((number, line)) = lines.next_filled_line()? {
        let (label, members) = label::line(line, &["proposal"]).map_err(|problem| wrong(number, &problem))?;
        let id = members.get("proposal").and_then(Json::as_text).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| wrong(number, "with --store `proposal` must be the id of a proposal"))?;
        if labels.insert(id.to_owned(), label).is_some() {
            return Err(wrong(number, &format!("proposal `{}` has a label already", echo(id))));
        }
        if labels.len() > LABELS_MAX {
            return Err(wrong(number, &format!("at most {LABELS_MAX} labels are read")));
        }
    }
    demand_cases(labels.len() as u64)?;
    Ok(labels)
}

fn demand_cases(cases: u64) -> anyhow::Result<()> {
    if cases == 0 {
        return Err(InvalidData("there are no cases: the input has no lines".to_owned()).into());
    }
    Ok(())
}

fn bound(cases: u64) -> anyhow::Result<()> {
    if cases > CASES_MAX {
        return Err(InvalidData(format!("at most {CASES_MAX} cases are read")).into());
    }
    Ok(())
}

fn wrong(number: u64, problem: &str) -> anyhow::Error {
    InvalidData(format!("line {number}: {problem}")).into()
}

fn contract(path: &Path) -> anyhow::Result<Arc<Compiled>> {
    Ok(Arc::new(contract_file::open(path)?.loaded.compiled))
}

fn prices(args: &CaseArgs) -> anyhow::Result<Prices> {
    let mut prices = Prices::default();
    for (word, text) in pairs(&args.cost)? {
        prices.set(&word, &text).map_err(|problem| UsageError(format!("--cost: {problem}")))?;
    }
    Ok(prices)
}

/// `key=value` as two words; each key once.
fn pairs(given: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in given {
        let problem = || UsageError(format!("`{}` is no KEY=VALUE", echo(word)));
        let (key, value) = word.split_once('=').ok_or_else(problem)?;
        if pairs.iter().any(|(known, _)| known == key.trim()) {
            return Err(UsageError(format!("`{}` is given twice", echo(key))).into());
        }
        pairs.push((key.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(pairs)
}
