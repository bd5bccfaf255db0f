//! Errors of PostgreSQL, sorted by what the caller does next.

use runtime::ports::store::StoreFault;

/// What went wrong on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Problem {
    /// There is no server that answers, or it has stopped answering: perhaps it does in a moment.
    Away(String),
    /// The connection cannot be used any more, or there is none.
    Lost(String),
    /// The server said so.
    Said(Said),
    /// The server's answer is not what the schema says.
    Unreadable(String),
}

/// What the server said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Said {
    /// `ERROR`, `FATAL` or `PANIC`.
    pub(crate) severity: String,
    /// SQLSTATE.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Said {
    /// Whether the connection ends with it.
    pub(crate) fn is_fatal(&self) -> bool {
        self.severity != "ERROR"
    }

    /// Whether something is not as it should be, and the server goes on all the same.
    pub(crate) fn is_warning(&self) -> bool {
        self.severity == "WARNING"
    }

    /// Whether somebody else held a lock for too long.
    pub(crate) fn is_lock_wait(&self) -> bool {
        self.code == "55P03"
    }

    /// Whether the server will take connections again in a moment.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self.code.as_str(), "57P01" | "57P02" | "57P03" | "53300")
    }
}

/// Of any statement before the commit: nothing was committed.
pub(crate) fn fault(problem: Problem) -> StoreFault {
    let said = match problem {
        Problem::Away(problem) | Problem::Lost(problem) => return StoreFault::Unavailable(problem),
        Problem::Unreadable(problem) => return StoreFault::Corrupt(problem),
        Problem::Said(said) => said,
    };
    let text = format!("{} ({})", said.message, said.code);
    let class = said.code.get(..2).unwrap_or_default();
    match said.code.as_str() {
        // 23505: a row was taken for new and is there. Done again, nothing is taken for new.
        "40001" | "40P01" | "23505" => StoreFault::Conflict(text),
        "55P03" => StoreFault::Unavailable("other processes hold the head of the ledger for too long".to_owned()),
        "53100" => StoreFault::Unavailable(format!("{text}; make room on the database's disk")),
        "53300" => StoreFault::Unavailable(format!("{text}; raise max_connections, or put a pooler before it")),
        "25006" => StoreFault::Unavailable(format!("{text}; name the primary and not a standby")),
        "42501" => StoreFault::Unavailable(format!("{text}; grant it to the role that the location names")),
        "XX001" | "XX002" => StoreFault::Corrupt(text),
        // Data that no column takes, a constraint, a limit: the same batch would fail for ever.
        _ if matches!(class, "22" | "23" | "54" | "P0") => StoreFault::Refused(text),
        _ => StoreFault::Unavailable(text),
    }
}

/// Of a batch before its commit: where the connection was lost the batch is done again, over another one.
pub(super) fn early_fault(problem: Problem) -> StoreFault {
    match problem {
        Problem::Away(problem) | Problem::Lost(problem) => StoreFault::Conflict(problem),
        Problem::Said(said) if said.is_fatal() && said.is_starting() => StoreFault::Conflict(said.message),
        other @ (Problem::Said(_) | Problem::Unreadable(_)) => fault(other),
    }
}

/// Of a commit that was sent: a server that is lost may have carried it out.
pub(super) fn commit_fault(problem: Problem) -> StoreFault {
    match problem {
        Problem::Said(said) if !said.is_fatal() && said.code != "40003" => fault(Problem::Said(said)),
        Problem::Said(said) => StoreFault::Ambiguous(said.message),
        Problem::Away(problem) | Problem::Lost(problem) | Problem::Unreadable(problem) => {
            StoreFault::Ambiguous(problem)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(severity: &str, code: &str) -> Problem {
        Problem::Said(Said { severity: severity.to_owned(), code: code.to_owned(), message: "words".to_owned() })
    }

    fn word(fault: &StoreFault) -> &'static str {
        match fault {
            StoreFault::Conflict(_) => "conflict",
            StoreFault::Unavailable(_) => "unavailable",
            StoreFault::Ambiguous(_) => "ambiguous",
            StoreFault::Refused(_) => "refused",
            StoreFault::Corrupt(_) => "corrupt",
        }
    }

    #[test]
    fn faults_are_sorted_by_what_comes_next() {
        let (away, lost) = (Problem::Away("away".to_owned()), Problem::Lost("gone".to_owned()));
        for (problem, words) in [
            (said("ERROR", "40P01"), ["conflict", "conflict", "conflict"]),
            (said("ERROR", "23505"), ["conflict", "conflict", "conflict"]),
            (said("ERROR", "22021"), ["refused", "refused", "refused"]),
            (said("ERROR", "53100"), ["unavailable", "unavailable", "unavailable"]),
            (said("FATAL", "57P01"), ["unavailable", "conflict", "ambiguous"]),
            (said("ERROR", "40003"), ["unavailable", "unavailable", "ambiguous"]),
            (said("ERROR", "XX001"), ["corrupt", "corrupt", "corrupt"]),
            (away, ["unavailable", "conflict", "ambiguous"]),
            (lost, ["unavailable", "conflict", "ambiguous"]),
        ] {
            let found = [fault, early_fault, commit_fault].map(|sort| word(&sort(problem.clone())));
            assert_eq!(found, words, "{problem:?}");
        }
    }
}
