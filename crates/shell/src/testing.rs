//! One `check` for rows of tests.

use crate::view::View;

/// Classifies in `/home/user/project` and compares class and capabilities.
#[track_caller]
pub(crate) fn check(command: &str, class: &str, capabilities: &[&str]) {
    let answer = crate::classify(command, &View::default());
    let found: Vec<&str> = answer.capabilities.iter().map(|capability| capability.name()).collect();
    assert_eq!((answer.class.name(), found.as_slice()), (class, capabilities), "{command}\n{:#?}", answer.reasons);
}

/// Whether a person is asked about a command in `/home/user/project`, or it is refused: it loses something, does
/// something unknown, writes elsewhere, or reaches secrets, the guard or strangers.
fn is_asked(command: &str) -> (bool, String) {
    use crate::Capability::{Credentials, GuardTampering, Persistence, Privilege};
    let answer = crate::classify(command, &View::default());
    let is_elsewhere = |path: &crate::Path| {
        !path.as_str().starts_with("/home/user/project") && !path.as_str().starts_with("/tmp")
            || path.as_str().contains('<')
    };
    let asked = answer.class > crate::Class::Write
        || [Credentials, GuardTampering, Persistence, Privilege].iter().any(|kind| answer.capabilities.contains(kind))
        || answer.writes.iter().chain(&answer.may_write).any(is_elsewhere)
        || answer.talkers.iter().any(|name| name.contains([' ', '=']));
    (asked, format!("{command}\n{answer:#?}"))
}

/// A person is asked about each of these.
#[track_caller]
pub(crate) fn asked(commands: &[&str]) {
    for command in commands {
        let (asked, answer) = is_asked(command);
        assert!(asked, "{answer}");
    }
}

/// Nobody is asked about any of these.
#[track_caller]
pub(crate) fn free(commands: &[&str]) {
    for command in commands {
        let (asked, answer) = is_asked(command);
        assert!(!asked, "{answer}");
    }
}
