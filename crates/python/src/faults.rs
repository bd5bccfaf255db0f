//! Errors of the library as exceptions of the package. The classes are written in Python, where people read them.

use kernel::finding::Finding;
use kernel::reasons::Reason;
use pyo3::prelude::*;
use values::json::Json;
use writkeeper::{Class, Error};

/// The module that defines the exceptions.
const MODULE: &str = "writkeeper._errors";

/// The function of it that makes one.
const MAKER: &str = "from_native";

/// Why a call did not do what it should.
pub enum Fault {
    /// The library says so.
    Library(Error),
    /// The store was closed, or belongs to the process that this one was forked from.
    Closed(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Library(error)
    }
}

impl Fault {
    /// A call that makes no sense.
    pub fn usage(problem: impl Into<String>) -> Fault {
        Fault::Library(Error::Usage(problem.into()))
    }

    /// The exception that a caller sees.
    pub fn raised(&self, py: Python<'_>) -> PyErr {
        let (kind, code, message, fix, details) = self.parts();
        let details = details.to_canonical();
        let made = py
            .import(MODULE)
            .and_then(|module| module.getattr(MAKER))
            .and_then(|maker| maker.call1((kind, code, message, fix, details)));
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }

    fn parts(&self) -> (&'static str, String, String, String, Json) {
        match self {
            Fault::Closed(problem) => {
                let fix = "open the store again".to_owned();
                ("closed", "CLOSED".to_owned(), problem.clone(), fix, Json::Null)
            }
            Fault::Library(error) => {
                let kind = match (error, error.class()) {
                    (Error::Contract(_), _) => "contract",
                    (Error::NotFound { .. } | Error::AgentUnknown { .. } | Error::StoreMissing(_), _) => "not_found",
                    (Error::Damaged(_), _) | (_, Class::Unavailable) => "unavailable",
                    (_, Class::Refused) => "refused",
                    (_, Class::Usage | Class::Invalid) => "invalid",
                };
                (kind, error.code().to_owned(), error.to_string(), fix(error), details(error))
            }
        }
    }
}

/// What to do about it, in the kernel's own words.
fn fix(error: &Error) -> String {
    if let Error::Refused(findings) = error {
        let mut fixes: Vec<String> = findings.iter().map(Finding::fix).collect();
        fixes.dedup();
        return fixes.join("; ");
    }
    if let Error::AgentUnknown { nearest: Some(nearest), .. } = error {
        return format!("did you mean `{nearest}`?");
    }
    let fix = Reason::from_code(error.code()).map(|reason| reason.entry().fix_operator).unwrap_or_default();
    if fix.contains('{') { String::new() } else { fix.to_owned() }
}

/// Findings of a refusal, diagnostics of a contract.
fn details(error: &Error) -> Json {
    match error {
        Error::Refused(findings) => Json::List(findings.iter().map(finding).collect()),
        Error::Contract(diagnostics) => {
            let shown = diagnostics.iter().map(|diagnostic| {
                Json::object([
                    ("code", Json::text(diagnostic.code)),
                    ("path", Json::text(diagnostic.path.as_str())),
                    ("message", Json::text(diagnostic.message.as_str())),
                    ("help", Json::from(diagnostic.help.clone())),
                    ("line", Json::from(diagnostic.place.line as u64)),
                    ("column", Json::from(diagnostic.place.column as u64)),
                ])
            });
            Json::List(shown.collect())
        }
        Error::Ambiguous { candidates, .. } => Json::texts(candidates.iter().map(String::as_str)),
        Error::Usage(_)
        | Error::Invalid(_)
        | Error::OtherContract { .. }
        | Error::StoreMissing(_)
        | Error::Unavailable(_)
        | Error::Damaged(_)
        | Error::Restored(_)
        | Error::Signing(_)
        | Error::SignerUnknown(_)
        | Error::LogUnnamed(_)
        | Error::OtherLedger(_)
        | Error::EntryMissing(_)
        | Error::NotFound { .. }
        | Error::AgentUnknown { .. } => Json::Null,
    }
}

/// A finding as answers show it.
fn finding(finding: &Finding) -> Json {
    Json::object([
        ("code", Json::text(finding.code.as_str())),
        ("gate", Json::text(finding.gate.word())),
        ("field", Json::from(finding.field.clone())),
        ("message", Json::text(finding.message())),
        ("fix", Json::text(finding.fix())),
    ])
}
