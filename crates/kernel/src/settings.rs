//! Reads settings: closed objects, every key known, every fault with the path to it.

use crate::nearest::suggestion;
use std::fmt;
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::Duration;

/// What is wrong with a setting, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Keys from the top, with points between.
    pub path: String,
    /// What is wrong, to be read behind the path.
    pub problem: String,
}

impl Fault {
    /// A fault at a path.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Fault {
        Fault { path: path.into(), problem: problem.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` {}", self.path, self.problem)
    }
}

impl std::error::Error for Fault {}

/// The members of one object, all of them known by name.
///
/// ```
/// use values::json::Json;
/// use kernel::settings::Fields;
/// let written = Json::parse(br#"{"repeat": 4}"#).unwrap();
/// let fields = Fields::of("stall", Some(&written), &["repeat", "stall"]).unwrap();
/// assert_eq!(fields.count("repeat", 3).unwrap(), 4);
/// assert_eq!(fields.count("stall", 5).unwrap(), 5);
/// let fault = Fields::of("stall", Some(&written), &["repeats"]).unwrap_err();
/// assert_eq!(fault.to_string(), "`stall.repeat` is not known; did you mean `repeats`?");
/// ```
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    path: String,
    members: Option<&'a Object>,
}

impl<'a> Fields<'a> {
    /// The members of what is written, nothing written being an empty object.
    pub fn of(path: &str, written: Option<&'a Json>, known: &[&str]) -> Result<Fields<'a>, Fault> {
        let fields = Fields::open(path, written)?;
        for key in fields.members.into_iter().flat_map(Object::keys) {
            if !known.contains(&key.as_str()) {
                let near = suggestion(key, known.iter().copied());
                return Err(Fault::new(fields.at(key), format!("is not known{near}")));
            }
        }
        Ok(fields)
    }

    /// The members of an object whose keys are names that somebody chose.
    pub fn open(path: &str, written: Option<&'a Json>) -> Result<Fields<'a>, Fault> {
        let members = match written {
            None => None,
            Some(Json::Object(members)) => Some(members),
            Some(other) => return Err(Fault::new(path, format!("must be an object, not {}", other.kind()))),
        };
        Ok(Fields { path: path.to_owned(), members })
    }

    /// The path of a member.
    pub fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// The member itself, if it is written.
    pub fn get(&self, key: &str) -> Option<&'a Json> {
        self.members.and_then(|members| members.get(key))
    }

    /// Every member, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, &'a Json)> + use<'a> {
        self.members.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }

    /// A whole number that is not negative.
    pub fn count(&self, key: &str, default: u64) -> Result<u64, Fault> {
        self.read(key, default, "a whole number that is not negative", |value| {
            value.as_number().and_then(Decimal::to_i64).and_then(|number| u64::try_from(number).ok())
        })
    }

    /// A number that is not negative.
    pub fn number(&self, key: &str, default: Decimal) -> Result<Decimal, Fault> {
        self.read(key, default, "a number that is not negative", |value| {
            value.as_number().filter(|number| !number.is_negative())
        })
    }

    /// A length of time, such as `15m`.
    pub fn duration(&self, key: &str, default: Duration) -> Result<Duration, Fault> {
        self.read(key, default, "a length of time such as `15m`", |value| value.as_text().and_then(Duration::parse))
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, Fault> {
        self.read(key, default, "`true` or `false`", Json::as_bool)
    }

    /// Text.
    pub fn text(&self, key: &str, default: &str) -> Result<String, Fault> {
        self.read(key, default.to_owned(), "text", |value| value.as_text().map(str::to_owned))
    }

    /// A list of texts, empty if it is not written.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, Fault> {
        self.read(key, Vec::new(), "a list of texts", |value| {
            value.as_list()?.iter().map(|item| item.as_text().map(str::to_owned)).collect()
        })
    }

    /// A list of whole numbers that are not negative, empty if it is not written.
    pub fn counts(&self, key: &str) -> Result<Vec<u64>, Fault> {
        self.read(key, Vec::new(), "a list of whole numbers", |value| {
            let whole = |item: &Json| item.as_number()?.to_i64().and_then(|number| u64::try_from(number).ok());
            value.as_list()?.iter().map(whole).collect()
        })
    }

    /// One of a closed set of words.
    pub fn word<T>(&self, key: &str, default: T, words: &[&str], from_word: fn(&str) -> Option<T>) -> Result<T, Fault> {
        self.read(key, default, &format!("one of `{}`", words.join("`, `")), |value| from_word(value.as_text()?))
    }

    /// A list of objects with known keys, each read in turn; empty if it is not written.
    pub fn objects<T>(
        &self,
        key: &str,
        known: &[&str],
        take: impl Fn(&Fields<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let items = self.read(key, &[][..], "a list", Json::as_list)?;
        let numbered = items.iter().enumerate();
        numbered
            .map(|(place, item)| take(&Fields::of(&format!("{}[{place}]", self.at(key)), Some(item), known)?))
            .collect()
    }

    fn read<T>(
        &self,
        key: &str,
        default: T,
        wanted: &str,
        take: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Result<T, Fault> {
        let Some(value) = self.get(key) else { return Ok(default) };
        take(value).ok_or_else(|| Fault::new(self.at(key), format!("must be {wanted}, not {}", found(value))))
    }
}

fn found(value: &Json) -> String {
    match value {
        Json::Number(number) => number.to_string(),
        Json::Text(text) => format!("`{text}`"),
        Json::Null | Json::Bool(_) | Json::List(_) | Json::Object(_) => value.kind().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let written = Json::parse(written.as_bytes()).unwrap();
        let read = || -> Result<String, Fault> {
            let fields = Fields::of("top", Some(&written), &["count", "number", "flag", "text", "texts"])?;
            let numbers = (fields.count("count", 1)?, fields.number("number", Decimal::from(2))?);
            let words = (fields.flag("flag", true)?, fields.text("text", "t")?, fields.texts("texts")?);
            Ok(format!("{numbers:?} {words:?}"))
        };
        assert_eq!(read().unwrap_or_else(|fault| fault.to_string()), expected);
    }

    #[test]
    fn what_is_not_written_has_its_default() {
        check("{}", r#"(1, 2) (true, "t", [])"#);
        check(r#"{"count":7,"number":0.5,"flag":false,"text":"x","texts":["a"]}"#, r#"(7, 0.5) (false, "x", ["a"])"#);
    }

    #[test]
    fn faults_name_their_place() {
        check("[]", "`top` must be an object, not a list");
        check(r#"{"coutn":1}"#, "`top.coutn` is not known; did you mean `count`?");
        check(r#"{"count":-1}"#, "`top.count` must be a whole number that is not negative, not -1");
        check(r#"{"count":1.5}"#, "`top.count` must be a whole number that is not negative, not 1.5");
        check(r#"{"number":"1"}"#, "`top.number` must be a number that is not negative, not `1`");
        check(r#"{"flag":null}"#, "`top.flag` must be `true` or `false`, not null");
        check(r#"{"texts":["a",1]}"#, "`top.texts` must be a list of texts, not a list");
    }
}
