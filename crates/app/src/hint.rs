//! What to type about an error of the library: the library knows codes and values, the command line knows its verbs.

use clap::CommandFactory;
use kernel::finding::{Code, Finding};
use kernel::reasons::Reason;
use kernel::stored::Kind;
use ledger::publish::SignRefusal;
use runtime::ports::signer::SignerFault;
use std::path::Path;
use writkeeper::Error;
use writkeeper::restored::Loss;

/// A command line to type next. If it works on a store and this one was named with `--store` or `--server`, it names the
/// same; a store that the environment or the default names needs no word.
pub fn next(command: &str) -> String {
    let verb = command.split_once("writkeeper ").map(|(_, rest)| rest);
    let is_said = |option: &str| command.split(' ').any(|word| word == option);
    match typed_place().filter(|(option, _)| verb.is_some_and(|verb| takes(verb, option))) {
        Some((option, place)) if !PLACES.iter().any(|option| is_said(option)) => {
            format!("{command} {option} {}", quoted(&place))
        }
        Some(_) | None => command.to_owned(),
    }
}

/// Whether what is typed behind `writkeeper` has an option: the verb itself, or the one below it that is named. Where none
/// is named, any will do.
fn takes(command: &str, option: &str) -> bool {
    let name = option.trim_start_matches('-');
    let has = |command: &clap::Command| command.get_arguments().any(|option| option.get_long() == Some(name));
    let root = crate::cli::Cli::command();
    let mut words = command.split(' ');
    let Some(verb) = words.next().and_then(|verb| root.find_subcommand(verb)) else { return false };
    let below = words.next().and_then(|word| verb.find_subcommand(word));
    has(verb) || below.map_or_else(|| verb.get_subcommands().any(has), has)
}

/// The options that name a store.
const PLACES: [&str; 2] = ["--store", "--server"];

/// The store as this command line names it, with the option.
fn typed_place() -> Option<(&'static str, String)> {
    named_place(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn named_place(words: impl Iterator<Item = String>) -> Option<(&'static str, String)> {
    let mut words = words.take_while(|word| word != "--");
    while let Some(word) = words.next() {
        for option in PLACES {
            if word == option {
                return words.next().map(|place| (option, place));
            }
            if let Some(place) = word.strip_prefix(option).and_then(|rest| rest.strip_prefix('=')) {
                return Some((option, place.to_owned()));
            }
        }
    }
    None
}

/// A path as a shell takes it.
pub fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", kernel::finding::visible(word).replace('\'', "'\\''")),
    }
}

/// What to type about reasons. Names in braces stand for values of the finding.
const COMMANDS: &[(Reason, &str)] = &[
    (Reason::AgentNotRegistered, "writkeeper agents register --contract FILE"),
    (Reason::BecauseMissing, "--because TEXT"),
    (Reason::ProvenanceClaimed, "--trust-provenance"),
    (Reason::ContractInvalid, "writkeeper contract check FILE"),
    (Reason::NotEnforcedYet, "--allow-inert"),
    (Reason::ApprovalMismatch, "writkeeper escalations show ID"),
    (Reason::StoreBehind, "writkeeper ledger discontinue --because TEXT"),
    (Reason::SignerUnknown, "--keys DIR, or writkeeper ledger discontinue --because TEXT"),
    (Reason::Usage, "writkeeper help COMMAND"),
    (Reason::StateUnknown, "writkeeper context set KEY JSON"),
    (Reason::Halted, "writkeeper resume --because TEXT"),
    (Reason::GroupHalted, "writkeeper resume --group NAME --because TEXT"),
    (Reason::AgentPassive, "writkeeper agents lift {agent} passive --because TEXT"),
    (Reason::AgentSuspended, "writkeeper agents lift {agent} suspended --because TEXT"),
    (Reason::AgentDegraded, "writkeeper agents lift {agent} degraded --because TEXT"),
    (Reason::AgentEscalationOnly, "writkeeper agents lift {agent} escalation-only --because TEXT"),
    (Reason::AnswerUnsigned, "writkeeper escalations answer {question} … --as {person} --because … --key FILE"),
    (Reason::AnswerKeyWrong, "writkeeper people enrol {person}"),
    (Reason::ApprovalUnknown, "writkeeper escalations"),
    (Reason::RegionLeased, "writkeeper leases evict {fence} --because TEXT"),
    (Reason::LeaseLost, "writkeeper leases"),
    (Reason::Destructive, "writkeeper always ID"),
    (Reason::EffectUnknown, "writkeeper always ID"),
    (Reason::NeedsPrivilege, "writkeeper always ID"),
    (Reason::InstallsSoftware, "writkeeper always ID"),
];

/// What to type about a reason, where a verb or a flag helps.
pub fn command(reason: Reason) -> Option<&'static str> {
    COMMANDS.iter().find(|(known, _)| *known == reason).map(|(_, command)| *command)
}

/// What an operator can do about a finding, with what to type.
pub fn operator(finding: &Finding) -> String {
    let command = match finding.code {
        Code::Known(reason) => command(reason).map(|command| next(&finding.fill(command))),
        Code::Custom { .. } => None,
    };
    with_command(finding.fix_operator(), command)
}

/// The same about a reason alone.
pub fn about(reason: Reason) -> String {
    with_command(reason.entry().fix_operator.to_owned(), command(reason).map(next))
}

fn with_command(fix: String, command: Option<String>) -> String {
    match command {
        None => fix,
        Some(command) if fix.is_empty() => format!("`{command}`"),
        Some(command) => format!("{fix} (`{command}`)"),
    }
}

/// What an operator at this command line can do about an error.
pub fn fix(error: &Error) -> String {
    match error {
        Error::Refused(findings) => {
            let mut fixes = findings.iter();
            let first = fixes.next().map(operator).unwrap_or_default();
            // More than one thing was found: the first names the code, all are told.
            fixes.fold(first, |told, finding| format!("{told}\n       {}", crate::store::sentence(finding)))
        }
        Error::Usage(_) => about(Reason::Usage),
        Error::Invalid(_) => about(Reason::InvalidData),
        Error::Contract(_) => about(Reason::ContractInvalid),
        Error::OtherContract { .. } => {
            format!("to put that in force: `{}`", next("writkeeper agents activate --contract FILE"))
        }
        Error::StoreMissing(_) => format!(
            "name one with --store or WRITKEEPER_STORE, or start one with `{}`",
            next("writkeeper agents register --contract FILE")
        ),
        Error::Unavailable(_) => about(Reason::Unavailable),
        Error::Damaged(_) => {
            format!("{}; if it is some other file, name the store with --store", about(Reason::StoreDamaged))
        }
        Error::Restored(loss) => restored(loss),
        Error::SignerUnknown(_) | Error::Signing(SignerFault::Refused(SignRefusal::OtherSigner { .. })) => {
            about(Reason::SignerUnknown)
        }
        Error::Signing(SignerFault::Refused(_)) => {
            let command = next("writkeeper ledger discontinue --because TEXT");
            format!("if entries are really lost, `{command}` says so and goes on")
        }
        Error::LogUnnamed(tenant) if tenant == values::ids::TENANT_DEFAULT => {
            format!("`{}` signs it with keys of its own and so names its log", next("writkeeper ledger checkpoint"))
        }
        Error::LogUnnamed(_) => "`writkeeper serve` names the log of a tenant when it signs for it".to_owned(),
        Error::OtherLedger(_) => {
            "begin with `--from INDEX`, the first entry that the receivers shall hear of; 0 is all of them".to_owned()
        }
        Error::Signing(SignerFault::NoRoom(_)) => "make room on the disk".to_owned(),
        Error::Signing(SignerFault::Unavailable(_)) | Error::EntryMissing(_) => about(Reason::InvalidData),
        Error::NotFound { kind, .. } => {
            format!("run `{}` to see what there is", next(&format!("writkeeper {}", listing(*kind))))
        }
        Error::Ambiguous { .. } => about(Reason::IdAmbiguous),
        Error::AgentUnknown { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
        Error::AgentUnknown { nearest: None, .. } => about(Reason::AgentNotRegistered),
    }
}

/// What to type about a store that lost entries.
pub fn restored(loss: &Loss) -> String {
    match loss {
        Loss::Behind { .. } | Loss::AnotherHistory { .. } => about(Reason::StoreBehind),
        Loss::Forgotten { .. } => {
            let command = next("writkeeper ledger discontinue --because TEXT");
            format!(
                "put the whole folder of keys back; if it is lost, move it away, and `{command}` goes on with another log"
            )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    /// Whoever types what a message suggests must not be told that it is wrong.
    #[test]
    fn what_is_suggested_can_be_typed() {
        for (reason, text) in COMMANDS {
            let command = text.split_once("writkeeper ").map(|(_, command)| command);
            // Where the person has to choose, there is nothing to parse yet.
            let Some(command) = command.filter(|command| !command.contains('…')) else { continue };
            let filled = |word: &'static str| if word.starts_with('{') { "1" } else { word };
            let words = std::iter::once("writkeeper").chain(command.split(' ').map(filled));
            let parsed = Cli::command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{}: {text}: {}", reason.code(), parsed.unwrap_err());
        }
    }

    #[test]
    fn verbs_with_a_store_are_those_that_can_be_told_one() {
        let with = "agents always break-glass context decide demo escalations flows halt intents leases ledger monitors \
                    people report resume run tick top";
        // The doctor and the benchmark look at this machine.
        let beside = ["bench", "doctor"];
        assert!(takes("contract backtest", "--store") && !takes("contract check FILE", "--store"));
        let without = "completions daemon explain help hook init shell sign nonsense";
        for verb in with.split(' ').chain(beside) {
            assert!(takes(verb, "--store"), "{verb}");
            assert_eq!(takes(verb, "--server"), !beside.contains(&verb), "{verb}");
        }
        for verb in without.split(' ') {
            assert!(!takes(verb, "--store") && !takes(verb, "--server"), "{verb}");
        }
    }

    #[test]
    fn the_place_is_repeated_as_it_was_typed() {
        let check = |line: &str, expected: Option<(&str, &str)>| {
            let found = named_place(line.split(' ').map(str::to_owned));
            assert_eq!(found.as_ref().map(|(option, place)| (*option, place.as_str())), expected, "{line}");
        };
        check("report --store kept.db", Some(("--store", "kept.db")));
        check("report --server=http://127.0.0.1:1", Some(("--server", "http://127.0.0.1:1")));
        check("report --server unix:x --json", Some(("--server", "unix:x")));
        check("report --stored x --servers y", None);
        check("context set -- --server x", None);
        check("report", None);
    }
}
