//! `writkeeper agents amend`: a bound of a limit changes for a while.

use crate::cli::kept::AmendArgs;
use crate::exit::UsageError;
use crate::store;
use crate::terminal::{STRONG, paint, say};
use kernel::contract::amend::Amendment;
use kernel::finding::visible;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

/// Amends, and shows the bounds before and after.
pub fn run(location: &str, json: bool, args: &AmendArgs) -> anyhow::Result<()> {
    let (min, max) = (number("--min", args.min.as_deref())?, number("--max", args.max.as_deref())?);
    let length = args.length.as_deref().map(read_length).transpose()?;
    let runtime = store::open(location)?;
    let (agent, _) = store::agent_named(&runtime, &args.whom.agent)?;
    let now = store::now();
    let amendment = Amendment {
        action: args.action.clone(),
        param: args.param.clone(),
        min,
        max,
        actor: String::new(),
        because: args.whom.because.clone(),
        at: now,
        expires: length.map(|length| now.plus(length)),
    };
    let answered = store::done(runtime.amend(store::operator(), &agent, amendment))?;
    if json {
        say!("{}", answered.body.to_canonical());
        return Ok(());
    }
    let said = |key: &str| answered.body.get(key).and_then(Json::as_text).unwrap_or_default();
    say!(
        "{} {}: bounds of `{}`",
        paint(STRONG, visible(said("agent"))),
        visible(said("action")),
        visible(said("param"))
    );
    for key in ["before", "after"] {
        say!("  {key:<7} {}", bounds(answered.body.get(key)));
    }
    say!("  until   {}", said("expires"));
    say!("  because {}", visible(said("because")));
    Ok(())
}

/// `min 5, max 50`; what is unbounded is left out.
fn bounds(limit: Option<&Json>) -> String {
    let bound = |key: &str| Some(format!("{key} {}", limit?.get(key)?.as_text()?));
    let words: Vec<String> = ["min", "max"].into_iter().filter_map(bound).collect();
    words.join(", ")
}

fn number(flag: &str, text: Option<&str>) -> Result<Option<Decimal>, UsageError> {
    let read = |text: &str| {
        Decimal::parse(text)
            .ok_or_else(|| UsageError(format!("{flag} `{}` is no number, such as 70 or 0.5", visible(text))))
    };
    text.map(read).transpose()
}

fn read_length(text: &str) -> Result<Duration, UsageError> {
    let problem = || UsageError(format!("--for `{}` is no duration, such as 30m or 8h", visible(text)));
    Duration::parse(text).ok_or_else(problem)
}
