//! Keys with placeholders over params: `refund:{order_id}`, `accounts/{account}/balance`.

use std::fmt;
use values::json::{Json, Object};

/// Longest key a template may yield.
const KEY_BYTES_MAX: usize = 1024;

/// A parsed key template.
///
/// A value cannot reach over its place: `/`, `%` and the character behind the placeholder are escaped in it,
/// so two different values never yield one key and no value walks into a neighbour's key.
///
/// ```
/// use kernel::template::Template;
/// use values::json::Json;
/// let template = Template::parse("refund:{order_id}").unwrap();
/// let params = Json::parse(br#"{"order_id": "AB-1"}"#).unwrap();
/// assert_eq!(template.render(params.as_object().unwrap()).unwrap(), "refund:AB-1");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Piece {
    Literal(String),
    Param { name: String, followed_by: Option<char> },
}

/// Why a template could not be rendered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RenderFault {
    /// The param is missing or null.
    Missing(String),
    /// The param is a list or an object.
    NotScalar(String),
    /// The key would be longer than 1,024 bytes.
    TooLong,
}

impl Template {
    /// Reads a template; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Template, &'static str> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, behind) = match rest.split_once('{') {
                Some((literal, behind)) => (literal, Some(behind)),
                None => (rest, None),
            };
            if literal.contains('}') {
                return Err("has a `}` without a `{`");
            }
            if !literal.is_empty() {
                if let Some(Piece::Param { followed_by, .. }) = pieces.last_mut() {
                    *followed_by = literal.chars().next();
                }
                pieces.push(Piece::Literal(literal.to_owned()));
            }
            let Some(behind) = behind else { break };
            if matches!(pieces.last(), Some(Piece::Param { .. })) {
                return Err("has two placeholders with nothing between them");
            }
            let (name, remaining) = behind.split_once('}').ok_or("has a `{` without a `}`")?;
            if name.is_empty() || name.contains('{') {
                return Err("has an empty or nested placeholder");
            }
            pieces.push(Piece::Param { name: name.to_owned(), followed_by: None });
            rest = remaining;
        }
        match pieces.is_empty() {
            true => Err("is empty"),
            false => Ok(Template { text: text.to_owned(), pieces }),
        }
    }

    /// The params it needs.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Param { name, .. } => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Puts the params in.
    pub fn render(&self, params: &Object) -> Result<String, RenderFault> {
        let mut key = String::with_capacity(self.text.len() + 16);
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => key.push_str(literal),
                Piece::Param { name, followed_by } => push_value(params.get(name), name, *followed_by, &mut key)?,
            }
        }
        if key.len() > KEY_BYTES_MAX {
            return Err(RenderFault::TooLong);
        }
        Ok(key)
    }
}

fn push_value(
    value: Option<&Json>,
    name: &str,
    followed_by: Option<char>,
    key: &mut String,
) -> Result<(), RenderFault> {
    let text = match value {
        None | Some(Json::Null) => return Err(RenderFault::Missing(name.to_owned())),
        Some(Json::Text(text)) => {
            push_escaped(text, followed_by, key);
            return Ok(());
        }
        Some(scalar @ (Json::Bool(_) | Json::Number(_))) => scalar.to_canonical(),
        Some(Json::List(_) | Json::Object(_)) => return Err(RenderFault::NotScalar(name.to_owned())),
    };
    push_escaped(&text, followed_by, key);
    Ok(())
}

fn push_escaped(text: &str, followed_by: Option<char>, key: &mut String) {
    for character in text.chars() {
        if character == '%' || character == '/' || Some(character) == followed_by {
            let mut buffer = [0; 4];
            for byte in character.encode_utf8(&mut buffer).bytes() {
                key.push_str(&format!("%{byte:02X}"));
            }
        } else {
            key.push(character);
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, params: &str, expected: &str) {
        let params = Json::parse(params.as_bytes()).unwrap();
        let rendered = match Template::parse(template) {
            Ok(template) => template.render(params.as_object().unwrap()).unwrap_or_else(|fault| format!("{fault:?}")),
            Err(problem) => problem.to_owned(),
        };
        assert_eq!(rendered, expected, "{template}");
    }

    #[test]
    fn params_are_put_in() {
        check("refund:{order_id}", r#"{"order_id":"AB-1"}"#, "refund:AB-1");
        check("n:{n}", r#"{"n":12.50}"#, "n:12.5");
        check("accounts/{id}/balance", r#"{"id":"7"}"#, "accounts/7/balance");
    }

    #[test]
    fn a_value_cannot_reach_over_its_place() {
        check("accounts/{id}/balance", r#"{"id":"7/limit"}"#, "accounts/7%2Flimit/balance");
        check("{a}:{b}", r#"{"a":"x:y","b":"z"}"#, "x%3Ay:z");
        check("{a}:{b}", r#"{"a":"x","b":"y:z"}"#, "x:y:z");
        check("{a}:{b}", r#"{"a":"x%3Ay","b":"z"}"#, "x%253Ay:z");
    }

    #[test]
    fn what_cannot_be_rendered_is_said() {
        check("k:{id}", r#"{"id":null}"#, r#"Missing("id")"#);
        check("k:{id}", r#"{"id":[1]}"#, r#"NotScalar("id")"#);
        check("{a}{b}", "{}", "has two placeholders with nothing between them");
        check("k:{a", "{}", "has a `{` without a `}`");
        check("k:a}", "{}", "has a `}` without a `{`");
        check("", "{}", "is empty");
    }
}
