//! Looking into the reference's dictionaries: what is there, what is null, and what nobody would read.

use values::decimal::Decimal;
use values::json::{Json, Object};

/// The member, if it is there and not null.
pub(super) fn present<'a>(members: &'a Object, key: &str) -> Option<&'a Json> {
    members.get(key).filter(|value| **value != Json::Null)
}

/// The block, or an empty one; a value that is no block is named.
pub(super) fn block(members: &Object, key: &str, path: &str, problems: &mut Vec<String>) -> Object {
    match present(members, key) {
        None => Object::new(),
        Some(Json::Object(block)) => block.clone(),
        Some(_) => {
            problems.push(format!("`{path}` is no object"));
            Object::new()
        }
    }
}

/// The text; a value that is no text is named.
pub(super) fn text(members: &Object, key: &str, path: &str, problems: &mut Vec<String>) -> Option<String> {
    let found = present(members, key)?;
    let text = found.as_text().map(str::to_owned);
    if text.is_none() {
        problems.push(format!("`{path}` is no text"));
    }
    text
}

/// The list; a value that is no list is named.
pub(super) fn list(members: &Object, key: &str, path: &str, problems: &mut Vec<String>) -> Vec<Json> {
    match present(members, key) {
        None => Vec::new(),
        Some(Json::List(items)) => items.clone(),
        Some(_) => {
            problems.push(format!("`{path}` is no list"));
            Vec::new()
        }
    }
}

/// The number; a value that is none is named.
pub(super) fn number(members: &Object, key: &str, path: &str, problems: &mut Vec<String>) -> Option<Decimal> {
    let found = present(members, key)?;
    let number = found.as_number();
    if number.is_none() {
        problems.push(format!("`{path}` is no number"));
    }
    number
}

/// Names every key that is not among the known ones.
pub(super) fn only(members: &Object, known: &[&str], prefix: &str, problems: &mut Vec<String>) {
    for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
        problems.push(format!("`{prefix}{key}` is not known here"));
    }
}
