//! Which agent versions the runtime shakes hands with: full SemVer semantics.

use semver::{Version, VersionReq};
use values::bugs::{self, Bug};

/// Whether an agent's version lies in the range the runtime supports.
///
/// The range is SemVer (`1.2.x`, `>=1.2, <2`); text that is not a version or not a range fits nothing.
///
/// ```
/// use kernel::version::supports;
/// assert!(supports("1.2.x", "1.2.9"));
/// assert!(!supports("1.2.x", "1.0.0"));
/// assert!(!supports("1.x", "2.0.0"));
/// ```
pub fn supports(range: &str, version: &str) -> bool {
    let (Ok(range), Ok(version)) = (VersionReq::parse(range.trim()), Version::parse(version.trim())) else {
        return false;
    };
    if bugs::on(Bug::W13MajorOnly) {
        return range.comparators.iter().all(|comparator| comparator.major == version.major);
    }
    range.matches(&version)
}
