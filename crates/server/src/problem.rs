//! What goes wrong, as RFC 9457 writes it: a code of the registry, one sentence, and what to do.

use axum::http::StatusCode;
use kernel::finding::Finding;
use kernel::reasons::Reason;
use runtime::ports::store::StoreFault;
use runtime::wire::Failure;
use values::json::{Json, Object};
use writkeeper::Error;

/// The media type.
pub const PROBLEM: &str = "application/problem+json";

/// A request that was not carried out.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// The stable code.
    pub code: Box<str>,
    /// What happened.
    pub detail: String,
    /// What to do about it.
    pub fix: String,
    /// Everything that was found.
    pub findings: Vec<Json>,
    /// Seconds after which the same request may succeed.
    pub retry_after: Option<u32>,
    /// The methods that do something here.
    pub allow: Option<Box<str>>,
}

impl Problem {
    /// Of a reason, with the values of its sentence.
    pub fn of(status: StatusCode, reason: Reason, values: &[(&str, &str)]) -> Problem {
        let filled = |sentence: &str| {
            let known = values
                .iter()
                .fold(sentence.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value));
            known.replace("{problem}", "")
        };
        let entry = reason.entry();
        Problem {
            status,
            code: entry.code.into(),
            detail: filled(entry.sentence),
            fix: filled(entry.fix_agent),
            findings: Vec::new(),
            retry_after: None,
            allow: None,
        }
    }

    /// A request that cannot be read.
    pub fn unreadable(problem: impl Into<String>) -> Problem {
        Problem::of(StatusCode::BAD_REQUEST, Reason::RequestInvalid, &[("problem", &problem.into())])
    }

    /// A request that was read and cannot be carried out as it stands, whatever the store holds.
    pub fn invalid(problem: impl Into<String>) -> Problem {
        Problem::of(StatusCode::UNPROCESSABLE_ENTITY, Reason::RequestInvalid, &[("problem", &problem.into())])
    }

    /// Nothing is here, or nothing that the caller may know of.
    pub fn not_found() -> Problem {
        Problem::of(StatusCode::NOT_FOUND, Reason::NotFound, &[])
    }

    /// Nobody is known by what was shown.
    pub fn unauthenticated(problem: &str) -> Problem {
        let problem = if problem.is_empty() { String::new() } else { format!(": {problem}") };
        Problem::of(StatusCode::UNAUTHORIZED, Reason::NotAuthenticated, &[("problem", &problem)])
    }

    /// Not now.
    pub fn unavailable(problem: &str) -> Problem {
        let problem = Problem::of(StatusCode::SERVICE_UNAVAILABLE, Reason::Unavailable, &[("problem", problem)]);
        Problem { retry_after: Some(1), ..problem }
    }

    /// The body.
    pub fn to_json(&self) -> Json {
        let mut members = Object::from_iter([
            ("type".to_owned(), Json::text(format!("/v1/explain/{}", self.code))),
            ("title".to_owned(), Json::text(self.code.to_lowercase().replace('_', " "))),
            ("status".to_owned(), Json::from(u64::from(self.status.as_u16()))),
            ("detail".to_owned(), Json::text(self.detail.as_str())),
            ("code".to_owned(), Json::text(&*self.code)),
            ("fix".to_owned(), Json::text(self.fix.as_str())),
        ]);
        if !self.findings.is_empty() {
            members.insert("findings".to_owned(), Json::List(self.findings.clone()));
        }
        Json::Object(members)
    }
}

/// What the kernel found, one by one.
pub fn finding_json(finding: &Finding) -> Json {
    Json::object([
        ("code", Json::text(finding.code.as_str())),
        ("field", Json::from(finding.field.clone())),
        ("message", Json::text(finding.message())),
        ("fix", Json::text(finding.fix())),
    ])
}

/// The status of what the kernel refused, by the first thing it found.
fn of_code(code: &str) -> StatusCode {
    let Some(reason) = Reason::from_code(code) else { return StatusCode::CONFLICT };
    const FORBIDDEN: [Reason; 5] = [
        Reason::NotAuthorized,
        Reason::ApproverNotEntitled,
        Reason::AnswerUnsigned,
        Reason::AnswerKeyWrong,
        Reason::AnswerSignatureWrong,
    ];
    const MISSING: [Reason; 6] = [
        Reason::ApprovalUnknown,
        Reason::FlowUnknown,
        Reason::IntentUnknown,
        Reason::SnapshotUnknown,
        Reason::StateUnknown,
        Reason::AgentNotRegistered,
    ];
    const UNFIT: [Reason; 8] = [
        Reason::SwitchRefused,
        Reason::BecauseMissing,
        Reason::ParamInvalid,
        Reason::ParamMissing,
        Reason::ContractInvalid,
        Reason::ContractWidensParent,
        Reason::AmendmentRefused,
        Reason::VersionMismatch,
    ];
    if FORBIDDEN.contains(&reason) {
        StatusCode::FORBIDDEN
    } else if MISSING.contains(&reason) {
        StatusCode::NOT_FOUND
    } else if UNFIT.contains(&reason) {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::CONFLICT
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let status = match &error {
            Error::Refused(_) => of_code(error.code()),
            Error::Usage(_) | Error::Invalid(_) | Error::Contract(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::OtherContract { .. } | Error::Ambiguous { .. } => StatusCode::CONFLICT,
            Error::NotFound { .. } | Error::AgentUnknown { .. } | Error::EntryMissing(_) => StatusCode::NOT_FOUND,
            Error::Damaged(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Error::Unavailable(_)
            | Error::StoreMissing(_)
            | Error::Restored(_)
            | Error::Signing(_)
            | Error::SignerUnknown(_)
            | Error::LogUnnamed(_)
            | Error::OtherLedger(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let operators = || Reason::from_code(error.code()).map(|reason| reason.entry().fix_operator.to_owned());
        let (findings, fix) = if let Error::Refused(found) = &error {
            (found.iter().map(finding_json).collect(), found.first().map(Finding::fix))
        } else if let Error::Contract(diagnostics) = &error {
            (diagnostics.iter().map(|found| Json::text(found.to_string())).collect(), operators())
        } else {
            (Vec::new(), operators())
        };
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        let (code, detail) = (error.code().into(), error.to_string());
        Problem { status, code, detail, fix: fix.unwrap_or_default(), findings, retry_after, allow: None }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        let of = |status, reason: Reason, detail: String| Problem { detail, ..Problem::of(status, reason, &[]) };
        match failure {
            Failure::Malformed(problem) => of(StatusCode::UNPROCESSABLE_ENTITY, Reason::InvalidData, problem),
            Failure::Missing => Problem::not_found(),
            Failure::Store(
                StoreFault::Unavailable(problem) | StoreFault::Conflict(problem) | StoreFault::Ambiguous(problem),
            ) => Problem { retry_after: Some(1), ..of(StatusCode::SERVICE_UNAVAILABLE, Reason::Unavailable, problem) },
            Failure::Store(StoreFault::Refused(problem)) => {
                of(StatusCode::UNPROCESSABLE_ENTITY, Reason::InvalidData, problem)
            }
            Failure::Store(StoreFault::Corrupt(problem)) => {
                of(StatusCode::INTERNAL_SERVER_ERROR, Reason::StoreDamaged, problem)
            }
        }
    }
}

impl From<StoreFault> for Problem {
    fn from(fault: StoreFault) -> Problem {
        Problem::from(Error::from(fault))
    }
}
