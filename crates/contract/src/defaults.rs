//! How long a call may take where a contract does not say.

use values::time::Duration;

/// An executor of ours answers within this.
pub const RUN_TIMEOUT: Duration = Duration::from_secs(5);
/// A validator or a judge answers within this.
pub const PLUGIN_TIMEOUT: Duration = Duration::from_secs(5);
/// A host reports within this; it may build or test something, which takes minutes.
pub const HOST_TIMEOUT: Duration = Duration::from_secs(10 * 60);
