//! What asking for regions and giving them back tell.

use crate::lease::fence::Fence;
use crate::lease::region::Region;
use crate::lease::{Lease, Mode};
use crate::stored::{nullable, text_of, texts_of, whole_of};
use values::json::Json;
use values::time::Instant;

/// Regions that somebody holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantedLease {
    pub fence: Fence,
    /// Whether it was held before and lasts longer now.
    pub renewed: bool,
    pub terms: Option<LeaseTerms>,
    /// Leases that had run out and gave way: the first of them.
    pub ended: Vec<Fence>,
    /// How many gave way.
    pub ended_count: u64,
}

/// Who holds what, how and until when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseTerms {
    pub holder: String,
    pub mode: Mode,
    /// Regions as people read them.
    pub regions: Vec<String>,
    pub acquired_at: Instant,
    pub expires_at: Instant,
}

/// A lease that is no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseEnd {
    pub fence: Fence,
    pub holder: String,
}

impl LeaseTerms {
    /// Of a lease.
    pub fn of(lease: &Lease) -> LeaseTerms {
        LeaseTerms {
            holder: lease.holder.as_str().to_owned(),
            mode: lease.mode,
            regions: lease.regions.iter().map(Region::to_string).collect(),
            acquired_at: lease.acquired_at,
            expires_at: lease.expires_at,
        }
    }

    /// The lease of this number as listings show it.
    pub fn to_json(&self, fence: Fence) -> Json {
        Json::object([
            ("fence", Json::from(fence.number())),
            ("holder", Json::text(self.holder.as_str())),
            ("mode", Json::text(self.mode.word())),
            ("regions", Json::texts(self.regions.iter().map(String::as_str))),
            ("acquired_at", Json::text(self.acquired_at.to_string())),
            ("expires_at", Json::text(self.expires_at.to_string())),
        ])
    }

    fn read(json: &Json) -> Option<LeaseTerms> {
        Some(LeaseTerms {
            holder: text_of(json, "holder")?,
            mode: Mode::from_word(json.get("mode")?.as_text()?)?,
            regions: texts_of(json, "regions")?,
            acquired_at: Instant::parse(json.get("acquired_at")?.as_text()?)?,
            expires_at: Instant::parse(json.get("expires_at")?.as_text()?)?,
        })
    }
}

impl GrantedLease {
    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("fence", Json::text(self.fence.to_string())),
            ("renewed", Json::Bool(self.renewed)),
            ("lease", self.terms.as_ref().map_or(Json::Null, |terms| terms.to_json(self.fence))),
            ("ended", Json::texts(self.ended.iter().map(Fence::to_string))),
            ("ended_count", Json::from(self.ended_count)),
        ])
    }

    pub(super) fn read(json: &Json) -> Option<GrantedLease> {
        Some(GrantedLease {
            fence: fence(json.get("fence")?)?,
            renewed: json.get("renewed")?.as_bool()?,
            terms: match nullable(json, "lease")? {
                Some(terms) => Some(LeaseTerms::read(terms)?),
                None => None,
            },
            ended: json.get("ended")?.as_list()?.iter().map(fence).collect::<Option<_>>()?,
            ended_count: whole_of(json, "ended_count")?,
        })
    }
}

impl LeaseEnd {
    pub(super) fn to_json(&self, state: &str) -> Json {
        Json::object([
            ("fence", Json::text(self.fence.to_string())),
            ("holder", Json::text(self.holder.as_str())),
            ("state", Json::text(state)),
        ])
    }

    pub(super) fn read(json: &Json) -> Option<LeaseEnd> {
        Some(LeaseEnd { fence: fence(json.get("fence")?)?, holder: text_of(json, "holder")? })
    }
}

fn fence(json: &Json) -> Option<Fence> {
    json.as_text()?.parse().ok().map(Fence::from_number)
}
