//! Keys and tokens as their owners show them. They name where their hash is kept, so that nothing has to be searched.

use kernel::api_key::{ApiKey, is_tenant_name};
use runtime::Minted;
use std::fmt::Write as _;

/// What a key begins with.
const KEY: &str = "wk_";

/// What a token begins with.
const TOKEN: &str = "wks_";

/// Letters of the id of a key.
const ID_LETTERS: usize = 12;

/// What somebody shows, as far as it says where to look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bearer<'a> {
    /// A key of a tenant, by its id.
    Key {
        /// Whose.
        tenant: &'a str,
        /// Which.
        id: &'a str,
    },
    /// The token of an agent.
    Token {
        /// Whose.
        tenant: &'a str,
        /// Which agent.
        agent: String,
    },
}

impl<'a> Bearer<'a> {
    /// Reads what was shown; nothing if that is neither.
    ///
    /// ```
    /// use writkeeper::access::Bearer;
    /// assert_eq!(Bearer::read("wk_acme.0af3.secret"), Some(Bearer::Key { tenant: "acme", id: "0af3" }));
    /// assert_eq!(Bearer::read("wk_acme.0af3."), None);
    /// ```
    pub fn read(text: &'a str) -> Option<Bearer<'a>> {
        let (rest, is_token) = match text.strip_prefix(TOKEN) {
            Some(rest) => (rest, true),
            None => (text.strip_prefix(KEY)?, false),
        };
        let (tenant, rest) = rest.split_once('.')?;
        let (name, secret) = rest.rsplit_once('.')?;
        if !is_tenant_name(tenant) || secret.is_empty() {
            return None;
        }
        if is_token {
            return Some(Bearer::Token { tenant, agent: unescaped(name)? });
        }
        ApiKey::is_id(name).then_some(Bearer::Key { tenant, id: name })
    }

    /// Whose.
    pub fn tenant(&self) -> &'a str {
        match self {
            Bearer::Key { tenant, .. } | Bearer::Token { tenant, .. } => tenant,
        }
    }
}

/// A new key: its id and its text.
pub(super) fn new_key(tenant: &str) -> (String, String) {
    let id: String = secret().chars().take(ID_LETTERS).collect();
    let text = format!("{KEY}{tenant}.{id}.{}", secret());
    (id, text)
}

/// A new token of an agent.
pub fn token(tenant: &str, agent: &str) -> String {
    format!("{TOKEN}{tenant}.{}.{}", escaped(agent), secret())
}

fn secret() -> String {
    let digits = |id: String| id.chars().filter(|letter| *letter != '-').collect::<String>();
    format!("{}{}", digits(Minted::random_id()), digits(Minted::random_id()))
}

/// Names may hold letters that a header cannot carry.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::with_capacity(name.len()), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            text.push(char::from(byte));
        } else {
            // Writing into a text cannot fail.
            let _ = write!(text, "%{byte:02x}");
        }
        text
    })
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if letter == '%' {
            bytes.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            rest = rest.get(3..)?;
        } else {
            bytes.extend_from_slice(rest.get(..letter.len_utf8())?.as_bytes());
            rest = rest.get(letter.len_utf8()..)?;
        }
    }
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_whose_it_is_whatever_the_name() {
        for name in ["refund-bot", "a.b", "späth %20", "x/y"] {
            let text = token("acme", name);
            assert_eq!(Bearer::read(&text), Some(Bearer::Token { tenant: "acme", agent: name.to_owned() }), "{text}");
            assert!(text.is_ascii() && !text.contains(' '), "{text}");
        }
    }

    #[test]
    fn keys_are_read_and_nonsense_is_not() {
        let (id, text) = new_key("default");
        assert_eq!(Bearer::read(&text), Some(Bearer::Key { tenant: "default", id: &id }));
        for text in ["", "wk_", "wk_a", "wk_a.b", "wk_.a.b", "wk_A.b.c", "wks_a.%zz.c", "wk_a.B.c", "Bearer x"] {
            assert_eq!(Bearer::read(text), None, "{text}");
        }
    }
}
