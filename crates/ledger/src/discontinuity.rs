//! A declared discontinuity: the first entry of a new log that says which log it follows and what was lost.
//!
//! A log that lost entries after a checkpoint was published, by a restore or a failover, can never sign again: any root
//! it could state would contradict what others hold. It may end, openly, and another may follow.

use super::checkpoint::Checkpoint;
use super::keys::KeyName;
use super::merkle::TreeHash;
use super::text::{decimal, has_control};
use std::fmt;
use std::ops::Range;
use values::ids::identifier_problem;
use values::json::Json;
use values::sealed::{FIRST_SEMANTICS, VERSION};

/// Longest reason a person may give.
pub const REASON_BYTES_MAX: usize = 1024;

/// The kind of its records.
pub const KIND: &str = "discontinuity";

/// Why a discontinuity cannot be declared like that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiscontinuityProblem {
    /// Not the bytes of a declaration.
    Malformed,
    /// The tenant is no identifier.
    Tenant,
    /// The new log is not named, or has the name of the old one.
    Origin,
    /// The two checkpoints are of different logs.
    OtherLog,
    /// What was kept is larger than what was published, or of the same size with another root.
    KeptBeyondPublished,
    /// No reason, or one too long or of more than one line.
    Reason,
}

impl fmt::Display for DiscontinuityProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DiscontinuityProblem::Malformed => "the entry does not declare a discontinuity",
            DiscontinuityProblem::Tenant => "the tenant is no identifier",
            DiscontinuityProblem::Origin => "the new log needs a name that the old one does not have",
            DiscontinuityProblem::OtherLog => "the two checkpoints are of different logs",
            DiscontinuityProblem::KeptBeyondPublished => {
                "what was kept must be part of what was published: smaller, or the same"
            }
            DiscontinuityProblem::Reason => "a reason is one line of 1 to 1024 bytes",
        })
    }
}

impl std::error::Error for DiscontinuityProblem {}

/// What the operator declares. It is a statement, not a proof: whoever holds the lost entries can hold them against it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Discontinuity {
    tenant: String,
    origin: String,
    published: Checkpoint,
    kept: Checkpoint,
    reason: String,
}

impl Discontinuity {
    /// Declares that the log `origin` follows the one of `published`, of which only `kept` is left.
    ///
    /// If both are the same, nothing was lost and the old log merely ends: its key was stolen, say.
    pub fn declare(
        tenant: &str,
        origin: &str,
        published: &Checkpoint,
        kept: &Checkpoint,
        reason: &str,
    ) -> Result<Discontinuity, DiscontinuityProblem> {
        if identifier_problem(tenant).is_some() {
            return Err(DiscontinuityProblem::Tenant);
        }
        if KeyName::parse(origin).is_none() || origin == published.origin() {
            return Err(DiscontinuityProblem::Origin);
        }
        if published.origin() != kept.origin() {
            return Err(DiscontinuityProblem::OtherLog);
        }
        let same_root = kept.root() == published.root();
        if kept.size() > published.size() || (kept.size() == published.size() && !same_root) {
            return Err(DiscontinuityProblem::KeptBeyondPublished);
        }
        let one_line = !reason.contains('\n') && !has_control(reason);
        if !(1..=REASON_BYTES_MAX).contains(&reason.len()) || !one_line {
            return Err(DiscontinuityProblem::Reason);
        }
        Ok(Discontinuity {
            tenant: tenant.to_owned(),
            origin: origin.to_owned(),
            published: published.clone(),
            kept: kept.clone(),
            reason: reason.to_owned(),
        })
    }

    /// Reads the bytes of an entry.
    pub fn parse(entry: &[u8]) -> Result<Discontinuity, DiscontinuityProblem> {
        let json = Json::parse(entry).map_err(|_| DiscontinuityProblem::Malformed)?;
        let text = |key: &str| json.get(key).and_then(Json::as_text).ok_or(DiscontinuityProblem::Malformed);
        let head = |key: &str| json.get(key).and_then(checkpoint).ok_or(DiscontinuityProblem::Malformed);
        let (published, kept) = (head("published")?, head("kept")?);
        let declared = Discontinuity::declare(text("tenant")?, text("origin")?, &published, &kept, text("reason")?)?;
        // Kind, versions and spelling: there is one text for one declaration.
        if declared.entry() == entry { Ok(declared) } else { Err(DiscontinuityProblem::Malformed) }
    }

    /// The bytes of the entry, the first one of the new log.
    pub fn entry(&self) -> Vec<u8> {
        let members = [
            ("kind", Json::text(KIND)),
            ("kept", head(&self.kept)),
            ("origin", Json::text(self.origin.as_str())),
            ("published", head(&self.published)),
            ("reason", Json::text(self.reason.as_str())),
            // What a declaration says has not changed since the first version.
            ("semantics", Json::from(FIRST_SEMANTICS)),
            ("tenant", Json::text(self.tenant.as_str())),
            ("version", Json::from(VERSION)),
        ];
        Json::object(members).to_canonical().into_bytes()
    }

    /// The new log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The last checkpoint of the old log that others may hold.
    pub fn published(&self) -> &Checkpoint {
        &self.published
    }

    /// What is left of the old log.
    pub fn kept(&self) -> &Checkpoint {
        &self.kept
    }

    /// The entries of the old log that are lost.
    pub fn lost(&self) -> Range<u64> {
        self.kept.size()..self.published.size()
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Sizes are texts: a JSON number is not exact beyond 2^53.
fn head(checkpoint: &Checkpoint) -> Json {
    Json::object([
        ("origin", Json::text(checkpoint.origin())),
        ("root", Json::text(checkpoint.root().to_string())),
        ("size", Json::text(checkpoint.size().to_string())),
    ])
}

fn checkpoint(json: &Json) -> Option<Checkpoint> {
    let text = |key: &str| json.get(key).and_then(Json::as_text);
    Checkpoint::new(text("origin")?, decimal(text("size")?)?, TreeHash::parse(text("root")?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(origin: &str, size: u64) -> Checkpoint {
        Checkpoint::new(origin, size, TreeHash::of_leaf(&size.to_be_bytes())).unwrap()
    }

    #[test]
    fn a_declaration_comes_back_as_it_was() {
        for (published, kept) in [(u64::MAX, 1), (9, 9)] {
            let declared =
                Discontinuity::declare("default", "log/1", &at("log/0", published), &at("log/0", kept), "disk");
            let declared = declared.unwrap();
            assert_eq!(Discontinuity::parse(&declared.entry()), Ok(declared.clone()));
            assert_eq!((declared.lost(), declared.reason()), (kept..published, "disk"));
        }
    }

    #[test]
    fn declarations_that_hide_something_are_refused() {
        let check = |tenant: &str, origin: &str, published: &Checkpoint, kept: &Checkpoint, reason: &str, expected| {
            assert_eq!(Discontinuity::declare(tenant, origin, published, kept, reason), Err(expected));
        };
        let (nine, five) = (at("log/0", 9), at("log/0", 5));
        check("", "log/1", &nine, &five, "disk", DiscontinuityProblem::Tenant);
        check("default", "log/0", &nine, &five, "disk", DiscontinuityProblem::Origin);
        check("default", "log 1", &nine, &five, "disk", DiscontinuityProblem::Origin);
        check("default", "log/1", &nine, &at("log/2", 5), "disk", DiscontinuityProblem::OtherLog);
        check("default", "log/1", &five, &nine, "disk", DiscontinuityProblem::KeptBeyondPublished);
        let beside = Checkpoint::new("log/0", 9, TreeHash::of_leaf(b"other")).unwrap();
        check("default", "log/1", &nine, &beside, "disk", DiscontinuityProblem::KeptBeyondPublished);
        check("default", "log/1", &nine, &five, "", DiscontinuityProblem::Reason);
        check("default", "log/1", &nine, &five, "two\nlines", DiscontinuityProblem::Reason);
        check("default", "log/1", &nine, &five, &"x".repeat(1025), DiscontinuityProblem::Reason);
    }

    #[test]
    fn every_other_spelling_is_refused() {
        let declared = Discontinuity::declare("default", "log/1", &at("log/0", 9), &at("log/0", 5), "disk").unwrap();
        let text = String::from_utf8(declared.entry()).unwrap();
        for (from, to) in [
            ("\"discontinuity\"", "\"decision\""),
            ("\"version\":1", "\"version\":2"),
            ("\"size\":\"9\"", "\"size\":9"),
            ("\"size\":\"9\"", "\"size\":\"09\""),
            ("\"size\":\"9\"", "\"size\":\"4\""),
            ("\"reason\":", "\"more\":1,\"reason\":"),
            ("{", " {"),
        ] {
            assert_ne!(text, text.replacen(from, to, 1), "{from}");
            assert!(Discontinuity::parse(text.replacen(from, to, 1).as_bytes()).is_err(), "{from} {to}");
        }
    }
}
