//! A question that one person handed to another. It changes who is expected to answer and not who may: both could before.

use values::ids::{identifier_problem, is_same_person};
use values::json::{Json, Object};
use values::time::Instant;

/// Where state keeps to whom a question was handed; people do it, through what knows them.
pub const HANDED: &str = "handed/";

/// Letters of the longest reason.
pub const REASON_MAX: usize = 1_000;

/// To whom a question was handed last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handed {
    /// By whom.
    pub by: String,
    /// To whom.
    pub to: String,
    /// When.
    pub at: Instant,
    /// Why; it may be empty.
    pub because: String,
}

impl Handed {
    /// Under which name state keeps it.
    pub fn key(question: &str) -> String {
        format!("{HANDED}{question}")
    }

    /// Whether somebody else than this person is expected to answer.
    pub fn is_to_another(&self, person: &str) -> bool {
        !is_same_person(&self.to, person)
    }

    /// Reads what [`Handed::to_json`] wrote, and nothing else.
    pub fn from_json(json: &Json) -> Option<Handed> {
        let members = json.as_object().filter(|members| members.len() == 4)?;
        let text = |name: &str| members.get(name)?.as_text();
        let name = |name: &str| text(name).filter(|name| identifier_problem(name).is_none()).map(str::to_owned);
        let because = text("because").filter(|because| because.chars().count() <= REASON_MAX)?.to_owned();
        Some(Handed { by: name("by")?, to: name("to")?, at: Instant::parse(text("at")?)?, because })
    }

    /// As state keeps it, and for programs.
    pub fn to_json(&self) -> Json {
        Json::Object(Object::from_iter([
            ("by".to_owned(), Json::text(self.by.as_str())),
            ("to".to_owned(), Json::text(self.to.as_str())),
            ("at".to_owned(), Json::text(self.at.to_string())),
            ("because".to_owned(), Json::text(self.because.as_str())),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed() -> Handed {
        Handed { by: "ann".to_owned(), to: "bob".to_owned(), at: Instant::PURE_DEFAULT, because: "on leave".to_owned() }
    }

    #[test]
    fn it_is_read_back_and_anything_else_is_nothing() {
        assert_eq!(Handed::from_json(&handed().to_json()), Some(handed()));
        let check = |member: &str, value: Json| {
            let Json::Object(mut members) = handed().to_json() else { panic!("it is an object") };
            members.insert(member.to_owned(), value);
            assert_eq!(Handed::from_json(&Json::Object(members)), None, "{member}");
        };
        check("to", Json::text("b\u{200b}ob"));
        check("at", Json::text("soon"));
        check("because", Json::text("x".repeat(REASON_MAX + 1)));
        check("more", Json::Null);
    }

    #[test]
    fn it_is_expected_of_one_person_however_the_name_is_written() {
        assert_eq!((handed().is_to_another("Bob"), handed().is_to_another("ann")), (false, true));
    }
}
