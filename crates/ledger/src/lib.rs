//! The ledger as mathematics and bytes: what is hashed, what is signed, what a stranger can check.
//!
//! Nothing here reads a store or a clock. The formats are public ones, so that tools we did not write can read them:
//! the Merkle tree of RFC 6962, tiles (`c2sp.org/tlog-tiles`), signed notes (`c2sp.org/signed-note`), checkpoints
//! (`c2sp.org/tlog-checkpoint`), cosignatures (`c2sp.org/tlog-cosignature`) and receipts (`c2sp.org/tlog-proof`).
//!
//! | to | use |
//! |---|---|
//! | grow a tree and know its root | [`merkle::Frontier`] |
//! | prove and check membership and growth | [`proof`] |
//! | lay the tree out as immutable files | [`tiles`], [`edge::Edge`], [`bundle`] |
//! | sign bytes of a stated type (DSSE) | [`envelope::Envelope`] |
//! | state a root under a key | [`checkpoint::Checkpoint`], [`publish::may_sign`] |
//! | hand a caller something it can keep | [`receipt::Receipt`] |
//! | change keys without a gap | [`keyring::Keyring`] |
//! | hand the whole ledger out, and check it | [`export`], [`audit::Audit`] |
//!
//! Everything that reads is total: hostile input yields a problem, never a panic or an unbounded cost.

pub mod audit;
pub mod bundle;
pub mod checkpoint;
pub mod discontinuity;
pub mod ed25519;
pub mod edge;
pub mod envelope;
pub mod export;
pub mod keyring;
pub mod keys;
pub mod merkle;
pub mod note;
pub mod policy;
pub mod proof;
pub mod publish;
pub mod receipt;
pub(crate) mod text;
pub mod tile_path;
pub mod tiles;
