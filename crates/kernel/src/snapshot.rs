//! Snapshots: what an agent saw when it decided, frozen and named by its full digest.

use values::bugs::{self, Bug};
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Instant;

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
    /// State by key. Memory and artifacts will join it under their own layers.
    pub state: Object,
    /// What the flow's session held.
    pub session: Object,
}

impl Snapshot {
    /// The id: SHA-256 over time, source, flow and state. Nothing that distinguishes two snapshots is left out.
    pub fn id(&self) -> String {
        let mut layers = Object::new();
        layers.insert("state".to_owned(), Json::Object(self.state.clone()));
        // A layer that holds nothing is no layer: ids stay what they were when layers join.
        if !self.session.is_empty() {
            layers.insert("session".to_owned(), Json::Object(self.session.clone()));
        }
        let layers = Json::Object(layers);
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
