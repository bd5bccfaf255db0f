//! Qwen Code: Claude Code's form with tools of its own.

use super::{Call, Event, Printed, Reply, nested};
use values::json::Json;

pub(super) fn read(event: Event, sent: &Json) -> Result<Call, String> {
    nested::read(event, sent)
}

pub(super) fn write(event: Event, reply: &Reply) -> Printed {
    nested::write(event, reply, true)
}
