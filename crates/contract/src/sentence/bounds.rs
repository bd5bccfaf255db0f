//! The clauses of `limits`, and how far state may have moved.

use super::listed;
use kernel::contract::{Limit, Matching, Script, Tolerance};
use kernel::finding::shown;

/// What a limit says of its param.
pub(super) fn clauses(param: &str, limit: &Limit) -> Vec<String> {
    let unit = limit.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    let range = match (limit.min, limit.max) {
        (Some(min), Some(max)) => Some(format!("{param} from {min} to {max}{unit}")),
        (Some(min), None) => Some(format!("{param} at least {min}{unit}")),
        (None, Some(max)) => Some(format!("{param} at most {max}{unit}")),
        (None, None) => None,
    };
    let sign = limit.signed.then(|| format!("{param} may be negative"));
    let allowed = limit.allowed.as_ref().map(|values| {
        let words: Vec<String> = values.iter().map(shown).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        format!("{param} only {}", listed(&words, "or"))
    });
    let denied = (!limit.denied.is_empty()).then(|| {
        let words: Vec<&str> = limit.denied.iter().map(String::as_str).collect();
        let never = match limit.matching.unwrap_or(Matching::Exact) {
            Matching::Exact => "is",
            Matching::Substring => "contains",
        };
        format!("{param} never {never} {}", listed(&words, "or"))
    });
    let script = limit.script.map(|script| match script {
        Script::Single => format!("{param} in letters of one script"),
    });
    let state = limit.state.as_ref().map(|state| match state.tolerance {
        Tolerance::Exact => format!("{param} equals state {}", state.key),
        Tolerance::Percent(percent) => format!("{param} within {percent} % of state {}", state.key),
        Tolerance::Absolute(absolute) => format!("{param} within {absolute} of state {}", state.key),
    });
    [range, sign, allowed, denied, script, state].into_iter().flatten().collect()
}

/// How far is too far.
pub(super) fn by(tolerance: &Tolerance) -> String {
    match tolerance {
        Tolerance::Exact => "at all".to_owned(),
        Tolerance::Percent(percent) => format!("by more than {percent} %"),
        Tolerance::Absolute(absolute) => format!("by more than {absolute}"),
    }
}
