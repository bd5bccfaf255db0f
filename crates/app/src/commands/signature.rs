//! Who answers at the command line: the user of the operating system, and the person's signature if there is a key.

use crate::exit::{Failure, UsageError};
use crate::key_file::{self, Owner};
use adapters::os_user::os_user;
use kernel::person::Identity;
use kernel::reasons::Reason;
use kernel::signed_answer::AnswerStatement;
use std::path::Path;

/// Nobody is checked here; the record tells who typed it.
pub fn unsigned() -> Identity {
    Identity { os_user: Some(os_user()), ..Identity::default() }
}

/// The same, with a signature where a key is given.
pub fn signed(
    key: Option<&Path>,
    statement: impl FnOnce() -> anyhow::Result<AnswerStatement>,
) -> anyhow::Result<Identity> {
    let Some(path) = key else { return Ok(unsigned()) };
    let key = key_file::read(path, Owner::Person)?;
    Ok(Identity { signature: Some(statement()?.sign(&key)), ..unsigned() })
}

/// An answer that lacks its signature: the command that gives it one takes the place of the general advice.
pub fn with_command(error: anyhow::Error, command: &str) -> anyhow::Error {
    let failure = Failure::of_error(&error);
    if failure.code != Reason::AnswerUnsigned.code() {
        return error;
    }
    Failure { fix: format!("run `{}`", crate::hint::next(&format!("{command} --key FILE"))), ..failure }.into()
}

/// A name that somebody typed for themselves.
pub fn demand_name(person: &str) -> anyhow::Result<()> {
    match values::ids::identifier_problem(person) {
        None => Ok(()),
        Some(problem) => {
            let person = crate::terminal::echo(person);
            Err(UsageError(format!("--as `{person}` is no name: it {problem}")).into())
        }
    }
}
