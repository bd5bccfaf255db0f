//! `writkeeper agents amend`: a bound of a limit changes for a while.

use crate::cli::kept::AmendArgs;
use crate::exit::UsageError;
use crate::store;
use crate::terminal::{STRONG, paint, say};
use kernel::contract::amend::Amendment;
use kernel::event::{Event, LimitBounds};
use kernel::finding::visible;
use values::decimal::Decimal;
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
    let event = store::told(runtime.amend(store::operator(), &agent, amendment))?;
    let Event::Amended(amended) = event.as_ref() else { return Err(store::other_event()) };
    if json {
        say!("{}", event.to_json().to_canonical());
        return Ok(());
    }
    let agent = paint(STRONG, visible(&amended.agent));
    say!("{agent} {}: bounds of `{}`", visible(&amended.action), visible(&amended.param));
    say!("  before  {}", bounds(amended.before));
    say!("  after   {}", bounds(amended.after));
    say!("  until   {}", amended.expires);
    say!("  because {}", visible(&amended.because));
    Ok(())
}

/// `min 5, max 50`; what is unbounded is left out.
fn bounds(bounds: LimitBounds) -> String {
    let bound = |(key, bound): (&str, Option<Decimal>)| bound.map(|bound| format!("{key} {bound}"));
    let words: Vec<String> = [("min", bounds.min), ("max", bounds.max)].into_iter().filter_map(bound).collect();
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
