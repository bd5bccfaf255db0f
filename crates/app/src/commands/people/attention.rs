//! `writkeeper people attention`: how many questions a group takes in a window, from all agents together.

use crate::cli::kept::Kept;
use crate::exit::UsageError;
use crate::hint;
use crate::store;
use crate::terminal::{self, STRONG, paint, say};
use kernel::attention::{ATTENTION, Attention, Spent, rule_of, window_of};
use kernel::change::{Act, Write};
use kernel::finding::visible;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use values::json::Json;
use values::time::Duration;

/// Groups read at a time.
const PAGE: usize = 512;

/// How long the window of a group is that was never bounded.
const PER_FIRST: Duration = Duration::from_secs(8 * 3_600);

/// What the options say of a bound.
pub struct Told<'a> {
    pub questions: Option<u64>,
    pub per: Option<&'a str>,
    pub spent: Option<&'a str>,
}

impl Told<'_> {
    /// The bound as it was, but for what was told.
    fn over(&self, known: Option<Attention>) -> anyhow::Result<Attention> {
        let per = |text: &str| {
            let problem = || UsageError(format!("--per `{}` is no duration, such as 8h or 30m", terminal::echo(text)));
            Duration::parse(text).filter(|per| per.micros() > 0).ok_or_else(problem)
        };
        let questions = self.questions.or(known.map(|known| known.questions));
        let missing = || UsageError("the group has no bound yet: say how many, with --questions COUNT".to_owned());
        let spent =
            self.spent.map(|word| if word == "escalation_only" { Spent::EscalationOnly } else { Spent::Refuse });
        Ok(Attention {
            questions: questions.ok_or_else(missing)?,
            per: self.per.map(per).transpose()?.or(known.map(|known| known.per)).unwrap_or(PER_FIRST),
            spent: spent.or(known.map(|known| known.spent)).unwrap_or(Spent::Refuse),
        })
    }

    fn is_something(&self) -> bool {
        self.questions.is_some() || self.per.is_some() || self.spent.is_some()
    }
}

/// Sets the bound of a group, or takes it away; lists otherwise.
pub fn run(kept: &Kept, group: Option<&str>, told: &Told<'_>, unbounded: bool) -> anyhow::Result<()> {
    let runtime = store::open(&kept.store)?;
    if let Some(group) = group.filter(|_| told.is_something() || unbounded) {
        let (known, version) = match runtime.read(rule_of(group)).map_err(store::unread)? {
            Some(Row::State(row)) => (Attention::from_json(&row.value), Some(row.version)),
            Some(_) | None => (None, None),
        };
        if !kept.json && !is_asked(&runtime, group)? {
            let set = hint::next("writkeeper people set FILE");
            terminal::note(&format!("nobody is in group `{}` now; `{set}` says who is", visible(group)));
        }
        let value = if unbounded { Json::Null } else { told.over(known)?.to_json() };
        // Somebody else may bound it meanwhile: what they told must not be lost either.
        let write = Write { key: format!("{ATTENTION}{group}"), value, expect: Some(version.unwrap_or(0)) };
        store::done(runtime.change(store::operator(), Act::Merge(vec![write])))?;
        if unbounded && !kept.json {
            say!("{}  takes every question; it has no bound", paint(STRONG, visible(group)));
            return Ok(());
        }
    }
    list(&runtime, group, kept.json)
}

/// Whether anybody is in a group. An operator who mistypes it would believe that people are spared.
fn is_asked(runtime: &Runtime, group: &str) -> anyhow::Result<bool> {
    let known = super::known(runtime)?;
    Ok(known.values().any(|person| person.groups.contains(group)))
}

fn list(runtime: &Runtime, only: Option<&str>, json: bool) -> anyhow::Result<()> {
    let groups = runtime.scan(Kind::State, Some(ATTENTION), PAGE).map_err(store::unread)?;
    let mut none = true;
    for (key, row) in groups {
        let (Some(group), Row::State(row)) = (key.entity.parts().0.strip_prefix(ATTENTION), row) else { break };
        let Some(attention) = Attention::from_json(&row.value).filter(|_| only.is_none_or(|only| only == group)) else {
            continue;
        };
        none = false;
        let used = match runtime.read(window_of(group)).map_err(store::unread)? {
            Some(Row::Budget(window)) => window.used(store::now(), attention.per),
            Some(_) | None => None,
        };
        let asked = used.map_or_else(|| "0".to_owned(), |used| used.to_string());
        let Attention { questions, per, spent } = attention;
        if json {
            let mut told = attention.to_json();
            if let Json::Object(members) = &mut told {
                members.insert("group".to_owned(), Json::text(group));
                members.insert("asked".to_owned(), Json::text(asked));
            }
            say!("{}", told.to_canonical());
        } else {
            let group = paint(STRONG, visible(group));
            say!("{group}  asked {asked} of {questions} within {per}, then {}", spent.word());
        }
    }
    if none && !json {
        let next = hint::next("writkeeper people attention GROUP --questions COUNT");
        match only {
            Some(group) => {
                say!("{}  takes every question; it has no bound; next: {next}", paint(STRONG, visible(group)))
            }
            None => say!("no group is bounded; next: {next}"),
        }
    }
    Ok(())
}
