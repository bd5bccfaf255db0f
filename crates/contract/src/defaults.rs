//! What a contract means where it says nothing.

use values::time::Duration;

/// Version of a contract nobody has released.
pub const VERSION: &str = "0.0.0-draft";
/// Validity of a proposal that names none.
pub const TTL: Duration = Duration::from_secs(30);
/// Longest validity of a proposal.
pub const TTL_MAX: Duration = Duration::from_secs(5 * 60);
/// Rejected proposals per flow.
pub const RETRIES: u64 = 3;
/// Questions to people per window.
pub const ESCALATION_MAX: u64 = 20;
/// That window.
pub const ESCALATION_PER: Duration = Duration::from_secs(3600);
/// An unanswered question is over after this.
pub const ESCALATION_AFTER: Duration = Duration::from_secs(15 * 60);
/// What a person approved may be started within this.
pub const VALID_AFTER: Duration = Duration::from_secs(15 * 60);
/// People who must agree.
pub const QUORUM: u64 = 1;
/// An executor of ours answers within this.
pub const RUN_TIMEOUT: Duration = Duration::from_secs(5);
/// A validator or a judge answers within this.
pub const PLUGIN_TIMEOUT: Duration = Duration::from_secs(5);
/// A host reports within this; it may build or test something, which takes minutes.
pub const HOST_TIMEOUT: Duration = Duration::from_secs(10 * 60);
