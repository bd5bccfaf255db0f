//! Asking validators and judges, which live outside of this process.

use kernel::contract::Plugin;
use std::fmt;

/// Asks a plug-in.
pub trait Advisor: Send + Sync + fmt::Debug {
    /// Hands the question over and returns the bytes of the answer, at most
    /// [`ANSWER_BYTES_MAX`](kernel::advice::ANSWER_BYTES_MAX) of them, within the plug-in's timeout.
    ///
    /// The error completes "it gave no answer: …". It must not hold values of the environment.
    fn ask(&self, plugin: &Plugin, question: &str) -> Result<Vec<u8>, String>;
}
