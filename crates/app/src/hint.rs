//! What to type about an error of the library: the library knows codes and values, the command line knows its verbs.

use kernel::reasons::Reason;
use kernel::stored::Kind;
use writkeeper::Error;
use writkeeper::restored::Loss;

/// What an operator at this command line can do about an error.
pub fn fix(error: &Error) -> String {
    match error {
        Error::Refused(findings) => {
            let mut fixes = findings.iter();
            let first = fixes.next().map(kernel::finding::Finding::fix_operator).unwrap_or_default();
            // More than one thing was found: the first names the code, all are told.
            fixes.fold(first, |told, finding| format!("{told}\n       {}", crate::store::sentence(finding)))
        }
        Error::Invalid(_) => Reason::InvalidData.entry().fix_operator.to_owned(),
        Error::StoreMissing(_) => "name one with --store or WRITKEEPER_STORE, or start one with `writkeeper agents \
                                   register --contract FILE`"
            .to_owned(),
        Error::Unavailable(_) => Reason::Unavailable.entry().fix_operator.to_owned(),
        Error::Damaged(_) => {
            format!(
                "{}; if it is some other file, name the store with --store",
                Reason::StoreDamaged.entry().fix_operator
            )
        }
        Error::Restored(loss) => restored(loss),
        Error::NotFound { kind, .. } => format!("run `writkeeper {}` to see what there is", listing(*kind)),
        Error::Ambiguous { .. } => Reason::IdAmbiguous.entry().fix_operator.to_owned(),
        Error::AgentUnknown { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
        Error::AgentUnknown { nearest: None, .. } => Reason::AgentNotRegistered.entry().fix_operator.to_owned(),
    }
}

fn restored(loss: &Loss) -> String {
    match loss {
        Loss::Behind { .. } | Loss::AnotherHistory { .. } => Reason::StoreBehind.entry().fix_operator.to_owned(),
        Loss::Forgotten { .. } => {
            "put the whole folder of keys back; if it is lost, move it away, and `writkeeper ledger \
                                   discontinue --because TEXT` goes on with another log"
                .to_owned()
        }
    }
}

/// The verb that lists what there is of a kind.
fn listing(kind: Kind) -> &'static str {
    const VERBS: [(Kind, &str); 4] = [
        (Kind::Escalation, "escalations"),
        (Kind::Flow, "flows"),
        (Kind::Intent, "intents list --all"),
        (Kind::Snapshot, "help context"),
    ];
    VERBS.into_iter().find(|(known, _)| *known == kind).map_or("report", |(_, verb)| verb)
}
