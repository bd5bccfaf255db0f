//! What the agent reads in place of a result, and why that is never evidence.
//!
//! A refusal that names an id would, read back as a tool result, make the same id look as if a tool had reported it.
//! So what the guard says has a type of its own and a mark on the wire, and [`Evidence`] takes neither.

use super::gating::Unsupported;
use std::fmt;
use values::json::{Json, Object};

/// The member by which a corrective result is known wherever it turns up.
pub const MARK: &str = "writkeeper_blocked";

/// A result that the guard wrote in place of a tool.
///
/// INVARIANT (marked): its object holds [`MARK`], whoever composed the rest.
///
/// It is not evidence, and nothing turns it into evidence:
///
/// ```compile_fail
/// use kernel::enforcement::corrective::{Corrective, Evidence};
/// fn launder(corrective: Corrective) -> Evidence {
///     corrective.into()
/// }
/// ```
///
/// Nor does the way over the wire:
///
/// ```
/// use kernel::enforcement::corrective::{Corrective, Evidence};
/// let corrective = Corrective::refused("update_incident", "the contract does not allow it");
/// assert!(Evidence::read(&corrective.to_json()).is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Corrective(Object);

impl Corrective {
    /// Says which arguments nobody but the agent has ever mentioned.
    ///
    /// The values themselves are not repeated, only the parts that were not found.
    pub fn unresolved(tool: &str, unsupported: &[Unsupported], read_tool: Option<&str>) -> Corrective {
        let unresolved = unsupported.iter().map(|argument| {
            Json::object([
                ("arg", Json::text(argument.argument.as_str())),
                ("unresolved_components", Json::texts(argument.components_unmatched.iter().map(String::as_str))),
            ])
        });
        let example = read_tool.map_or_else(String::new, |read_tool| format!(", for example `{read_tool}`,"));
        Corrective::marked([
            ("status", Json::text("blocked_unresolved_id")),
            (
                "error",
                Json::text(format!(
                    "`{tool}` did not run: it refers to ids that neither the task nor a tool has named"
                )),
            ),
            ("unresolved", Json::List(unresolved.collect())),
            (
                "remediation",
                Json::text(format!(
                    "read the right id with a tool that only reads{example} then call `{tool}` again; nothing was changed"
                )),
            ),
        ])
    }

    /// Says that the call was refused and why.
    pub fn refused(tool: &str, reason: &str) -> Corrective {
        Corrective::marked([
            ("status", Json::text("blocked")),
            ("error", Json::text(format!("`{tool}` did not run: {reason}"))),
        ])
    }

    /// What a handler composed, marked as ours: whether it is evidence is not the handler's choice.
    pub fn composed(members: &Object) -> Corrective {
        let mut members = members.clone();
        members.insert(MARK.to_owned(), Json::Bool(true));
        Corrective(members)
    }

    fn marked<const N: usize>(members: [(&str, Json); N]) -> Corrective {
        Corrective::composed(&members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The object that the agent reads.
    pub fn to_json(&self) -> Json {
        Json::Object(self.0.clone())
    }
}

/// Bytes that a tool really returned: the only ones a reader of provenance or a witness may look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence(Json);

impl Evidence {
    /// Takes a result in, unless our own mark is anywhere inside, even quoted in a text.
    ///
    /// A tool that quotes the mark loses its word as a witness: then something is refused that might have passed,
    /// never the other way round.
    pub fn read(result: &Json) -> Result<Evidence, WrittenByGuard> {
        if carries_mark(result) { Err(WrittenByGuard) } else { Ok(Evidence(result.clone())) }
    }

    /// What the tool returned.
    pub fn result(&self) -> &Json {
        &self.0
    }
}

/// A result that the guard wrote and that therefore proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrittenByGuard;

impl fmt::Display for WrittenByGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the result was written by the guard, not by a tool")
    }
}

impl std::error::Error for WrittenByGuard {}

fn carries_mark(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
        Json::Text(text) => text.contains(MARK),
        Json::List(items) => items.iter().any(carries_mark),
        Json::Object(members) => members.iter().any(|(key, value)| key.contains(MARK) || carries_mark(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(result: &str, is_evidence: bool) {
        let result = Json::parse(result.as_bytes()).unwrap();
        assert_eq!(Evidence::read(&result).is_ok(), is_evidence, "{}", result.to_canonical());
    }

    #[test]
    fn what_the_guard_wrote_is_no_evidence() {
        check(r#"{"number":"INC0010023"}"#, true);
        check(r#"["blocked","INC0010023"]"#, true);
        check(r#"{"writkeeper_blocked":true}"#, false);
        check(r#"{"writkeeper_blocked":false,"number":"INC9999999"}"#, false);
        check(r#"{"results":[{"output":{"writkeeper_blocked":true,"id":"7"}}]}"#, false);
        check(r#"{"stdout":"{\"writkeeper_blocked\":true}"}"#, false);
        check(r#""quoted \\\"writkeeper_blocked\\\" twice""#, false);
    }

    #[test]
    fn a_handler_cannot_leave_the_mark_out() {
        let members = Json::parse(br#"{"number":"INC9999999","writkeeper_blocked":false}"#).unwrap();
        let corrective = Corrective::composed(members.as_object().unwrap());
        assert_eq!(corrective.to_json().get(MARK), Some(&Json::Bool(true)));
    }

    #[test]
    fn the_invented_value_is_not_repeated() {
        let argument = Unsupported::new("email", 2, ["evilcorp"]);
        let text = Corrective::unresolved("mail", &[argument], Some("find_user")).to_json().to_canonical();
        assert!(text.contains("evilcorp") && text.contains("find_user"), "{text}");
        assert!(!text.contains('@'), "{text}");
    }
}
