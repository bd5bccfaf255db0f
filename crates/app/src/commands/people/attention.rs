//! `writkeeper people attention`: how many questions a group takes in a window, from all agents together.

use crate::cli::kept::Kept;
use crate::exit::UsageError;
use crate::hint;
use crate::store;
use crate::terminal::{self, STRONG, paint, say};
use kernel::attention::{ATTENTION, Attention, Spent, window_of};
use kernel::change::{Act, Write};
use kernel::finding::visible;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use values::json::Json;
use values::time::Duration;

/// Groups read at a time.
const PAGE: usize = 512;

/// The bound that the options say.
pub fn bound(questions: Option<u64>, per: &str, spent: &str) -> anyhow::Result<Option<Attention>> {
    let Some(questions) = questions else { return Ok(None) };
    let problem = || UsageError(format!("--per `{}` is no duration, such as 8h or 30m", terminal::echo(per)));
    let per = Duration::parse(per).filter(|per| per.micros() > 0).ok_or_else(problem)?;
    let spent = if spent == "escalation_only" { Spent::EscalationOnly } else { Spent::Refuse };
    Ok(Some(Attention { questions, per, spent }))
}

/// Sets the bound of a group, or takes it away; lists otherwise.
pub fn run(kept: &Kept, group: Option<&str>, bound: Option<Attention>, unbounded: bool) -> anyhow::Result<()> {
    let runtime = store::open(&kept.store)?;
    if let Some(group) = group.filter(|_| bound.is_some() || unbounded) {
        let value = bound.map_or(Json::Null, Attention::to_json);
        let write = Write { key: format!("{ATTENTION}{group}"), value, expect: None };
        store::done(runtime.change(store::operator(), Act::Merge(vec![write])))?;
    }
    list(&runtime, group, kept.json)
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
        say!("no group is bounded; next: {next}");
    }
    Ok(())
}
