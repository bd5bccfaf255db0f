//! Asking for regions, keeping them, giving them back: leases as commands, recorded like any other.

use crate::lease::Mode;
use crate::lease::fence::Fence;
use crate::stored::{text_of, texts_of};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

/// What somebody does with a lease.
#[derive(Clone, PartialEq, Debug)]
pub enum Leasing {
    /// Asks for regions; asking again for the same renews.
    Acquire {
        /// Who is to hold them: an agent, or one of its sessions as `AGENT:SESSION`.
        holder: String,
        /// How.
        mode: Mode,
        /// Paths from the root, or `thing:NAME`.
        regions: Vec<String>,
        /// How long from one heartbeat to the next.
        ttl: Duration,
    },
    /// Renews.
    Heartbeat {
        /// Who holds it.
        holder: String,
        /// Its number.
        fence: Fence,
    },
    /// Gives back.
    Release {
        /// Who holds it.
        holder: String,
        /// Its number.
        fence: Fence,
    },
    /// An operator takes it away.
    Evict {
        /// Its number.
        fence: Fence,
        /// Why.
        because: String,
    },
    /// An operator gives it to somebody else.
    Adopt {
        /// Its number.
        fence: Fence,
        /// To whom.
        heir: String,
        /// Why.
        because: String,
    },
}

impl Leasing {
    /// Everything needed to carry it out again.
    pub fn to_json(&self) -> Json {
        let number = |fence: &Fence| Json::text(fence.to_string());
        match self {
            Leasing::Acquire { holder, mode, regions, ttl } => Json::object([
                ("holder", Json::text(holder.as_str())),
                ("mode", Json::text(mode.word())),
                ("regions", Json::texts(regions.iter().map(String::as_str))),
                ("ttl_us", Json::Number(Decimal::from(ttl.micros()))),
            ]),
            Leasing::Heartbeat { holder, fence } | Leasing::Release { holder, fence } => {
                Json::object([("holder", Json::text(holder.as_str())), ("fence", number(fence))])
            }
            Leasing::Evict { fence, because } => {
                Json::object([("fence", number(fence)), ("because", Json::text(because.as_str()))])
            }
            Leasing::Adopt { fence, heir, because } => Json::object([
                ("fence", number(fence)),
                ("heir", Json::text(heir.as_str())),
                ("because", Json::text(because.as_str())),
            ]),
        }
    }

    pub(super) fn read_acquire(command: &Json) -> Option<Leasing> {
        Some(Leasing::Acquire {
            holder: text_of(command, "holder")?,
            mode: Mode::from_word(command.get("mode")?.as_text()?)?,
            regions: texts_of(command, "regions")?,
            ttl: Duration::from_micros(command.get("ttl_us")?.as_number()?.to_i64()?),
        })
    }

    pub(super) fn read_heartbeat(command: &Json) -> Option<Leasing> {
        Some(Leasing::Heartbeat { holder: text_of(command, "holder")?, fence: fence(command)? })
    }

    pub(super) fn read_release(command: &Json) -> Option<Leasing> {
        Some(Leasing::Release { holder: text_of(command, "holder")?, fence: fence(command)? })
    }

    pub(super) fn read_evict(command: &Json) -> Option<Leasing> {
        Some(Leasing::Evict { fence: fence(command)?, because: text_of(command, "because")? })
    }

    pub(super) fn read_adopt(command: &Json) -> Option<Leasing> {
        let (heir, because) = (text_of(command, "heir")?, text_of(command, "because")?);
        Some(Leasing::Adopt { fence: fence(command)?, heir, because })
    }
}

fn fence(command: &Json) -> Option<Fence> {
    command.get("fence")?.as_text()?.parse().ok().map(Fence::from_number)
}
