//! Codex CLI: Claude Code's form, closed objects, and no question before a tool: `ask` and a bare `allow` make the hook
//! count as failed, and the call runs. So a question is a refusal that says how to approve.

use super::{Call, Event, Printed, Reply, nested};
use values::json::Json;

pub(super) fn read(event: Event, sent: &Json) -> Result<Call, String> {
    let mut call = nested::read(event, sent)?;
    call.can_ask = false;
    Ok(call)
}

pub(super) fn write(event: Event, reply: &Reply) -> Printed {
    nested::write(event, reply, false)
}
