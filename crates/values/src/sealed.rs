//! A record as the ledger takes it: a leaf that is kept for ever, and a body that may be erased from beside it.

use crate::ids::Digest;
use crate::json::Json;

/// Version of the record format.
pub const VERSION: u64 = 1;

/// Version of the judging rules of the first release. Under the same version the same inputs are judged alike.
pub const FIRST_SEMANTICS: u64 = 1;

/// A record ready for the ledger: what is hashed into the tree, and what may be erased from beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// Header and salted digest; kept for ever.
    pub leaf: String,
    /// The record in full, canonical.
    pub body: String,
    /// Without it nobody can guess a short body from its digest; erased with the body.
    pub salt: [u8; 16],
}

impl Sealed {
    /// Whether leaf, body and salt belong together.
    pub fn is_consistent(&self) -> bool {
        let said = Json::parse(self.leaf.as_bytes()).ok();
        let digest = said.as_ref().and_then(|leaf| leaf.get("body")).and_then(Json::as_text);
        digest == Some(Sealed::digest(&self.salt, &self.body).to_string().as_str())
    }

    /// What a leaf states of a body.
    pub fn digest(salt: &[u8; 16], body: &str) -> Digest {
        Digest::of_parts(&[b"writkeeper/body/v1", salt, body.as_bytes()])
    }
}
