//! Ids, salts and tokens: everything random is drawn here, outside of the kernel.

use kernel::command::MintedIds;
use uuid::Uuid;

/// Mints ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct Minted;

impl Minted {
    /// A time-ordered id.
    pub fn id() -> String {
        Uuid::now_v7().to_string()
    }

    /// An id in no order, as a caller may choose it.
    pub fn random_id() -> String {
        Uuid::new_v4().to_string()
    }

    /// Ids for a proposal on its way.
    pub fn ids() -> MintedIds {
        MintedIds { proposal: Minted::id(), flow: Minted::id(), intent: Minted::id(), escalation: Minted::id() }
    }

    /// A number that names a batch.
    pub fn batch() -> u128 {
        Uuid::now_v7().as_u128()
    }

    /// Two numbers nobody outside can know.
    pub fn seeds() -> [u64; 2] {
        let (one, two) = Uuid::new_v4().as_u64_pair();
        [one, two]
    }

    /// Sixteen random bytes.
    pub fn salt() -> [u8; 16] {
        *Uuid::new_v4().as_bytes()
    }

    /// A session token: 256 random bits that are kept only as a hash.
    pub fn token() -> String {
        format!("wk_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
    }
}
