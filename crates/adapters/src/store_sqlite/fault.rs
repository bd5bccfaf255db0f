//! Errors of SQLite, sorted by what the caller does next.

use runtime::ports::store::StoreFault;
use rusqlite::{Error, ErrorCode};
use std::path::Path;

/// Of any statement inside a transaction: nothing was committed.
pub(crate) fn fault(error: Error) -> StoreFault {
    let problem = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        // Without a code of SQLite it is a value that is not what the schema says.
        return StoreFault::Corrupt(problem);
    };
    match code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::SchemaChanged
        | ErrorCode::FileLockingProtocolFailed => StoreFault::Conflict(problem),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown | ErrorCode::TypeMismatch => {
            StoreFault::Corrupt(problem)
        }
        ErrorCode::ConstraintViolation | ErrorCode::TooBig => StoreFault::Refused(problem),
        ErrorCode::DiskFull => StoreFault::Unavailable(format!("{problem}; make room on the disk")),
        ErrorCode::SystemIoFailure
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::OutOfMemory
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::OperationAborted
        | ErrorCode::OperationInterrupted
        | ErrorCode::InternalMalfunction
        | ErrorCode::NotFound
        | ErrorCode::ApiMisuse
        | ErrorCode::ParameterOutOfRange
        | _ => StoreFault::Unavailable(problem),
    }
}

/// Of the beginning of a transaction: who waited that long will not get further by trying at once.
pub(super) fn start_fault(error: Error) -> StoreFault {
    match fault(error) {
        StoreFault::Conflict(_) => StoreFault::Unavailable("another program holds the write lock".to_owned()),
        other @ (StoreFault::Unavailable(_)
        | StoreFault::Ambiguous(_)
        | StoreFault::Refused(_)
        | StoreFault::Corrupt(_)) => other,
    }
}

/// Of a commit: what may have reached the disk is in doubt.
pub(super) fn commit_fault(error: Error) -> StoreFault {
    // A full disk is met before the frame that commits is complete.
    let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
    match fault(error) {
        StoreFault::Unavailable(problem) if !is_full => StoreFault::Ambiguous(problem),
        other @ (StoreFault::Conflict(_)
        | StoreFault::Unavailable(_)
        | StoreFault::Ambiguous(_)
        | StoreFault::Refused(_)
        | StoreFault::Corrupt(_)) => other,
    }
}

/// Of opening a file.
pub(super) fn open_fault(path: &Path, error: Error) -> StoreFault {
    match fault(error) {
        StoreFault::Unavailable(problem) => StoreFault::Unavailable(format!("`{}`: {problem}", path.display())),
        other @ (StoreFault::Conflict(_)
        | StoreFault::Ambiguous(_)
        | StoreFault::Refused(_)
        | StoreFault::Corrupt(_)) => other,
    }
}
