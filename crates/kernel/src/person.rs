//! People who answer questions: which groups they are in, the key they sign with, and how a door knows them.

use ledger::ed25519::PublicKey;
use ledger::envelope::{Envelope, key_text, read_key};
use std::collections::BTreeSet;
use values::ids::identifier_problem;
use values::json::{Json, Object};

/// What a key starts with in a people file: one day there may be other kinds.
const KEY_PREFIX: &str = "ed25519:";

/// What state keeps of a person, under `people/NAME`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Person {
    /// The groups they are in.
    pub groups: BTreeSet<String>,
    /// The public key of their signatures, once they have one.
    pub key: Option<PublicKey>,
}

impl Person {
    /// Reads a list of groups, or an object of `groups` and `key`; `None` if it is neither.
    ///
    /// ```
    /// use values::json::Json;
    /// use kernel::person::Person;
    /// let read = |text: &str| Person::from_json(&Json::parse(text.as_bytes()).unwrap());
    /// assert!(read(r#"["refund-desk"]"#).unwrap().groups.contains("refund-desk"));
    /// assert!(read(r#"{"groups":["refund-desk"],"key":"ed25519:00"}"#).is_none());
    /// ```
    pub fn from_json(json: &Json) -> Option<Person> {
        let (groups, key) = match json {
            Json::List(groups) => (groups.as_slice(), None),
            Json::Object(members) => {
                let key = read_person_key(members.get("key")?.as_text()?)?;
                (members.get("groups").filter(|_| members.len() == 2)?.as_list()?, Some(key))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => return None,
        };
        let name = |group: &Json| group.as_text().filter(|text| identifier_problem(text).is_none()).map(str::to_owned);
        Some(Person { groups: groups.iter().map(name).collect::<Option<_>>()?, key })
    }

    /// As state keeps it: a plain list of groups where there is no key.
    pub fn to_json(&self) -> Json {
        let groups = Json::texts(self.groups.iter().map(String::as_str));
        match &self.key {
            None => groups,
            Some(key) => Json::object([("groups", groups), ("key", Json::text(person_key_text(key)))]),
        }
    }
}

/// A public key as people files write it.
pub fn person_key_text(key: &PublicKey) -> String {
    format!("{KEY_PREFIX}{}", key_text(key))
}

/// Reads what [`person_key_text`] wrote.
pub fn read_person_key(text: &str) -> Option<PublicKey> {
    read_key(text.strip_prefix(KEY_PREFIX)?)
}

/// How a door knows the person in whose name an answer is given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// The user of the operating system who typed it, where the door checks nothing itself.
    pub os_user: Option<String>,
    /// The person's signature over the answer.
    pub signature: Option<Envelope>,
    /// By what the door made sure who it is: `key ID` or `token ISSUER`; nothing where it made sure of nothing.
    pub login: Option<String>,
}

impl Identity {
    /// Adds what is known to the members of a recorded answer.
    pub fn put_into(&self, members: &mut Object) {
        if let Some(os_user) = &self.os_user {
            members.insert("os_user".to_owned(), Json::text(os_user.as_str()));
        }
        if let Some(signature) = &self.signature {
            members.insert("signature".to_owned(), signature.to_json());
        }
        if let Some(login) = &self.login {
            members.insert("login".to_owned(), Json::text(login.as_str()));
        }
    }

    /// Reads it back from a recorded answer; `None` if what stands there is none.
    pub fn from_json(answer: &Json) -> Option<Identity> {
        let text = |key: &str| match answer.get(key) {
            None => Some(None),
            Some(name) => Some(Some(name.as_text()?.to_owned())),
        };
        let signature = match answer.get("signature") {
            None => None,
            Some(envelope) => Some(Envelope::from_json(envelope).ok()?),
        };
        Some(Identity { os_user: text("os_user")?, signature, login: text("login")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::ed25519::SecretKey;

    #[test]
    fn a_person_is_read_back_with_and_without_a_key() {
        let groups: BTreeSet<String> = ["desk", "board"].map(str::to_owned).into();
        for key in [None, Some(SecretKey::from_seed(&[7; 32]).public())] {
            let person = Person { groups: groups.clone(), key };
            assert_eq!(Person::from_json(&person.to_json()), Some(person));
        }
        for text in ["null", "{}", r#"{"groups":[]}"#, r#"[1]"#, r#"["a\u200b"]"#, r#"{"groups":[],"key":"x"}"#] {
            assert_eq!(Person::from_json(&Json::parse(text.as_bytes()).unwrap()), None, "{text}");
        }
    }
}
