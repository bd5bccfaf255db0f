//! Understands shell commands without running them.
//!
//! [`classify`] parses a command with a bash grammar, walks it in the order a shell would, reduces
//! wrappers, interpreters and substitutions to plain argument lists, and judges those by tables of
//! rules. It is pure: the same command and view always give the same answer, and nothing is touched.
//!
//! ```
//! use shell::{Class, View, classify};
//!
//! let answer = classify("env sudo rm -rf \"/\"", &View::default());
//! assert_eq!(answer.class, Class::Catastrophic);
//! assert_eq!(classify("echo 'rm -rf /'", &View::default()).class, Class::Read);
//! ```

#![deny(clippy::string_slice)]

mod act;
mod answer;
mod arithmetic;
mod brace;
mod build_output;
mod call;
mod code;
mod decode;
mod environment;
mod glob;
mod grammar_trap;
mod limits;
mod mark;
mod names;
mod outputs;
mod path;
mod quote;
pub mod rules;
mod run;
mod secrets;
mod sensitive;
mod stream;
#[cfg(test)]
mod testing;
mod touch;
mod view;
mod walk;
mod zone;

pub use answer::{Capability, Class, Classification, Reason, Span};
pub use glob::matches as wildcard_matches;
pub use path::Path;
pub use view::{Content, HostFiles, Links, Member, View};

/// Says what a command would do.
///
/// Never fails and never panics: what cannot be understood is [`Class::Unknown`] with a reason.
#[must_use]
pub fn classify(command: &str, view: &View<'_>) -> Classification {
    walk::classify(&mark::cleaned(command), view)
}

/// Whether a resolved path is known to hold secrets.
#[must_use]
pub fn is_secret(path: &str, view: &View<'_>) -> bool {
    sensitive::is(sensitive::Concern::Secret, path, view)
}

/// Whether a panic is one of the grammar's that [`classify`] catches and answers with [`Class::Unknown`].
///
/// A program with a panic hook of its own asks this, so that a caught fault of a library is not reported as its own.
#[must_use]
pub fn is_caught_panic(fault: &std::panic::PanicHookInfo<'_>) -> bool {
    fault.location().is_some_and(|location| location.file().contains("brush-parser"))
}
