//! `writkeeper eval monitor`: labelled series or decisions in, how soon and how often wrongly it alarms.

use super::{bound, contract, demand_cases, given, pairs, prices, show, wrong};
use crate::cli::eval::MonitorArgs;
use crate::commands::lines::Lines;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::store;
use crate::terminal::{STRONG, counted, echo, paint, say};
use kernel::monitors::{Monitor, MonitorKind, Settings};
use kernel::nearest::suggestion;
use values::json::{Json, Object};
use writkeeper::evaluation::alarms;
use writkeeper::evaluation::label;
use writkeeper::evaluation::runs::{Point, RunFigures, Watched};

/// Runs a monitor over labelled values, or looks at what one said of labelled decisions.
pub fn run(args: &MonitorArgs) -> anyhow::Result<Exit> {
    let prices = prices(&args.cases)?;
    let (figures, unit) = match &args.by.store {
        Some(location) => {
            let labels = given(&args.cases)?;
            (alarms::evaluate(&store::view(location)?, &args.name, &labels, args.warnings)?, "decision")
        }
        None => (along(args)?, "value"),
    };
    show::demand_total(&figures.evaluation, &prices)?;
    let title = format!("monitor {}", args.name);
    if args.cases.json {
        let mut told = figures.evaluation.to_json(&prices);
        if let Json::Object(members) = &mut told {
            members.insert("subject".to_owned(), Json::text(title));
            members.insert("series".to_owned(), figures.to_json());
        }
        say!("{}", told.to_canonical());
        return Ok(Exit::Fine);
    }
    let runs = counted(figures.evaluation.confusion.cases(), "run");
    say!("{} on {runs} of {}", paint(STRONG, echo(&title)), counted(figures.values, unit));
    show::body(&figures.evaluation, &prices)?;
    print_delay(&figures, unit)?;
    Ok(Exit::Fine)
}

fn along(args: &MonitorArgs) -> anyhow::Result<RunFigures> {
    let mut watched = Watched::new(monitor(args)?, args.warnings);
    let mut lines = Lines::open(args.cases.cases.as_deref())?;
    let mut values = 0;
    while let Some((number, line)) = lines.next_filled_line()? {
        let (label, members) = label::line(line, &["value", "series"]).map_err(|problem| wrong(number, &problem))?;
        let series = series(&members).map_err(|problem| wrong(number, &problem))?;
        let value = value(&members).map_err(|problem| wrong(number, &problem))?;
        let point = Point { place: number, series, label, value };
        watched.take(&point).map_err(|problem| wrong(number, &problem))?;
        values += 1;
        bound(values)?;
    }
    demand_cases(values)?;
    Ok(watched.figures())
}

fn print_delay(figures: &RunFigures, unit: &str) -> anyhow::Result<()> {
    if let Some((half, longest)) = figures.delay() {
        say!("  {:<17} half of the changes within {}, the last after {longest}", "noticed", counted(half, unit));
    }
    let alarms = counted(figures.false_alarms, "false alarm");
    say!("  {:<17} {alarms} in {} without a change", "wrongly", counted(figures.good_values, unit));
    Ok(())
}

/// The name of a series; those without one are one series.
fn series(members: &Object) -> Result<String, String> {
    match members.get("series") {
        None | Some(Json::Null) => Ok(String::new()),
        Some(Json::Text(name)) => Ok(name.clone()),
        Some(number @ Json::Number(_)) => Ok(number.to_canonical()),
        Some(other) => Err(format!("`series` must be a name, not {}", other.kind())),
    }
}

fn value(members: &Object) -> Result<Option<String>, String> {
    match members.get("value") {
        None => Err("`value` is missing: a number, or null where there is none".to_owned()),
        Some(Json::Null) => Ok(None),
        Some(number @ Json::Number(_)) => Ok(Some(number.to_canonical())),
        Some(other) => Err(format!("`value` must be a number or null, not {}", other.kind())),
    }
}

/// A kind with settings, or a monitor that a contract names.
fn monitor(args: &MonitorArgs) -> anyhow::Result<Monitor> {
    let name = args.name.as_str();
    if let Some(path) = &args.by.contract {
        let contract = contract(path)?;
        let watch = &contract.contract.watch;
        let names: Vec<&str> = watch.keys().map(String::as_str).collect();
        let missing = || {
            let meant = suggestion(name, names.iter().copied());
            InvalidData(format!("the contract watches no `{}`{meant} (it has: {})", echo(name), names.join(", ")))
        };
        let watch = watch.get(name).ok_or_else(missing)?;
        return watch.monitor().map_err(|fault| InvalidData(fault.problem).into());
    }
    let kinds = MonitorKind::WORDS.join(", ");
    let kind = MonitorKind::from_word(name).ok_or_else(|| {
        let meant = suggestion(name, MonitorKind::WORDS.iter().copied());
        UsageError(format!("there is no monitor `{}`{meant} (kinds: {kinds})", echo(name)))
    })?;
    let settings = Settings::of(pairs(&args.by.settings)?);
    Monitor::new(kind, settings).map_err(|fault| UsageError(echo(&fault.problem)).into())
}
