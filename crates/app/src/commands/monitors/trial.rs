//! `writkeeper monitors try KIND`: numbers in, alarms out.

use crate::commands::lines::Lines;
use crate::exit::{Exit, Failure, UsageError};
use crate::terminal::{self, counted, echo};
use kernel::monitors::{Input, Monitor, MonitorKind, Settings};
use kernel::nearest::suggestion;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use values::time::{Duration, Instant};

/// Runs the monitor over standard input.
pub fn run(kind: &str, settings: &[String]) -> anyhow::Result<Exit> {
    let mut monitor = monitor(kind, settings)?;
    let mut lines = Lines::open(None)?;
    let mut outside: u64 = 0;
    let mut out = BufWriter::new(std::io::stdout().lock());
    while let Some((number, line)) = lines.next_line()? {
        let index = number.saturating_sub(1);
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if is_missing(text) {
            continue;
        }
        // By time, the numbers are a second apart.
        let seconds = i64::try_from(index).unwrap_or(i64::MAX);
        let Some(input) = Input::parse(text, Instant::PURE_DEFAULT.plus(Duration::from_secs(seconds))) else {
            out.flush()?;
            let why = "is no number, or none within ±1e100";
            return Err(unusable(format!("line {number}: `{}` {why}", echo(text))));
        };
        if let Some(why) = monitor.refuses(&input) {
            out.flush()?;
            return Err(unusable(format!("line {number}: `{kind}` {why}; `{}` is neither", echo(text))));
        }
        outside += u64::from(monitor.clamps(&input));
        let signal = monitor.update(&input);
        for (alarm, word) in [(signal.drift, "drift"), (signal.warning, "warning")] {
            if alarm {
                writeln!(out, r#"{{"index":{index},"kind":"{word}"}}"#)?;
            }
        }
    }
    out.flush()?;
    if outside > 0 {
        let values = counted(outside, "value");
        terminal::note(&format!(
            "{values} outside `low` to `high` counted as the nearer of the two, and `{kind}` promises nothing about such \
             values: set `low` and `high` to what the numbers can be"
        ));
    }
    Ok(Exit::Fine)
}

fn is_missing(text: &str) -> bool {
    text.is_empty() || text == "null" || text.eq_ignore_ascii_case("nan")
}

fn monitor(kind: &str, settings: &[String]) -> anyhow::Result<Monitor> {
    let Some(known) = MonitorKind::from_word(kind) else {
        let kinds = MonitorKind::WORDS.join(", ");
        let meant = suggestion(kind, MonitorKind::WORDS.iter().copied());
        return Err(unusable(format!("there is no monitor `{}`{meant} (kinds: {kinds})", echo(kind))));
    };
    let mut given = BTreeMap::new();
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(unusable(format!("--set `{}` is no KEY=VALUE", echo(setting))));
        };
        if given.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err(unusable(format!("`{}` is set twice", echo(key))));
        }
    }
    Monitor::new(known, Settings::of(given)).map_err(|fault| unusable(echo(&fault.problem)))
}

/// What cannot be used ends with 2, whatever kind of mistake it is.
fn unusable(message: String) -> anyhow::Error {
    let Failure { code, fix, .. } = Failure::of_error(&UsageError(String::new()).into());
    Failure { exit: Exit::Unusable, code, message, fix }.into()
}
