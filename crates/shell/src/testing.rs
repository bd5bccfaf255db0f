//! One `check` for rows of tests.

use crate::view::View;

/// Classifies in `/home/user/project` and compares class and capabilities.
#[track_caller]
pub(crate) fn check(command: &str, class: &str, capabilities: &[&str]) {
    let answer = crate::classify(command, &View::default());
    let found: Vec<&str> = answer.capabilities.iter().map(|capability| capability.name()).collect();
    assert_eq!((answer.class.name(), found.as_slice()), (class, capabilities), "{command}\n{:#?}", answer.reasons);
}
