//! Snapshots: what an agent saw when it decided, frozen and named by its full digest.

use crate::bugs::{self, Bug};
use crate::ids::Digest;
use crate::json::{Json, Object};
use crate::time::Instant;

/// Version of the bytes a snapshot id is computed over.
const FORMAT: &[u8] = b"writkeeper/snapshot/v1";

/// State as it was at an instant.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// When it was taken.
    pub at: Instant,
    /// Who compiled it: the context store, a test, a door.
    pub source: String,
    /// The flow it was compiled for, if for one.
    pub flow: Option<String>,
    /// State by key. Session, memory and artifacts join it under their own layers.
    pub state: Object,
}

impl Snapshot {
    /// The id: SHA-256 over time, source, flow and state. Nothing that distinguishes two snapshots is left out.
    pub fn id(&self) -> String {
        let layers = Json::object([("state", Json::Object(self.state.clone()))]);
        let flow = self.flow.as_deref().unwrap_or_default();
        let digest = Digest::of_parts(&[
            FORMAT,
            self.at.to_string().as_bytes(),
            self.source.as_bytes(),
            flow.as_bytes(),
            layers.to_canonical().as_bytes(),
        ]);
        let text = digest.to_string();
        if bugs::on(Bug::W10ShortSnapshotId) {
            return text.chars().take(16).collect();
        }
        text
    }
}
