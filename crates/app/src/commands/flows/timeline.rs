//! What happened in a flow, printed.

use super::state;
use crate::commands::happened;
use crate::hint;
use crate::terminal::{STRONG, paint, say};
use kernel::finding::visible;
use writkeeper::Keeper;
use writkeeper::flows::Span;

/// Entries shown at once; a flow of an agent that works for weeks is longer than anyone reads.
const SHOWN_MAX: usize = 10_000;

/// Prints the flow, from an entry of the ledger on if one is named.
pub fn run(keeper: &Keeper, id: &str, from: Option<u64>, json: bool) -> anyhow::Result<()> {
    let timeline = keeper.timeline(id, Span { from, limit: SHOWN_MAX })?;
    if json {
        say!("{}", timeline.to_json().to_canonical());
        return Ok(());
    }
    let flow = &timeline.flow;
    say!(
        "flow {}  {} {}",
        paint(STRONG, visible(&flow.id)),
        state(flow),
        visible(flow.name.as_deref().unwrap_or(&flow.agent))
    );
    if let Some(parent) = &flow.parent {
        say!("  out of flow {}", visible(parent));
    }
    happened::print_flow(&flow.id, &timeline.entries)?;
    if let Some(next) = timeline.next {
        let command = format!("writkeeper flows show ={} --from {next}", visible(&flow.id));
        say!("\nnext: {}", hint::next(&command));
    }
    Ok(())
}
