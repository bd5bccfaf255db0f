//! Canonical objects written member by member, without building them first.
//!
//! The caller names the members in canonical order; reading the text back and writing it again proves that.

use super::{Json, canonical};
use crate::ids::Digest;
use crate::time::Instant;
use std::fmt::Write as _;

/// An object that is being written.
pub struct Members<'a> {
    text: &'a mut String,
    is_first: bool,
}

impl Members<'_> {
    /// Writes an object whose members the closure names in canonical order.
    pub fn object(text: &mut String, members: impl FnOnce(&mut Members<'_>)) {
        text.push('{');
        members(&mut Members { text, is_first: true });
        text.push('}');
    }

    /// A member whose value the closure writes.
    pub fn with(&mut self, key: &'static str, value: impl FnOnce(&mut String)) {
        self.text.push_str(if self.is_first { "\"" } else { ",\"" });
        self.is_first = false;
        // Names are written in the source, so none needs an escape.
        self.text.push_str(key);
        self.text.push_str("\":");
        value(self.text);
    }

    /// Text.
    pub fn text(&mut self, key: &'static str, value: &str) {
        self.with(key, |text| canonical::write_text(value, text));
    }

    /// Text, or null.
    pub fn text_or_null(&mut self, key: &'static str, value: Option<&str>) {
        match value {
            Some(value) => self.text(key, value),
            None => self.null(key),
        }
    }

    /// Text, if there is any.
    pub fn text_if_any(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    /// A time as people read it.
    pub fn instant(&mut self, key: &'static str, value: Instant) {
        self.with(key, |text| {
            text.push('"');
            value.write(text);
            text.push('"');
        });
    }

    /// A digest in hexadecimal.
    pub fn digest(&mut self, key: &'static str, value: &Digest) {
        self.with(key, |text| {
            let mut digits = [0_u8; 64];
            text.push('"');
            text.push_str(value.hex(&mut digits));
            text.push('"');
        });
    }

    /// A whole number.
    pub fn whole(&mut self, key: &'static str, value: i64) {
        self.with(key, |text| {
            let _ = write!(text, "{value}");
        });
    }

    /// A count.
    pub fn count(&mut self, key: &'static str, value: u64) {
        self.with(key, |text| match u8::try_from(value) {
            // Mostly it is one digit, and printing is made for more.
            Ok(digit @ 0..=9) => text.push(char::from(b'0' + digit)),
            Ok(_) | Err(_) => {
                let _ = write!(text, "{value}");
            }
        });
    }

    /// True or false.
    pub fn truth(&mut self, key: &'static str, value: bool) {
        self.with(key, |text| text.push_str(if value { "true" } else { "false" }));
    }

    /// Null.
    pub fn null(&mut self, key: &'static str) {
        self.with(key, |text| text.push_str("null"));
    }

    /// Any value.
    pub fn json(&mut self, key: &'static str, value: &Json) {
        self.with(key, |text| canonical::write(value, text));
    }

    /// A list whose items are written one by one.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(T, &mut String),
    ) {
        self.with(key, |text| {
            text.push('[');
            for (index, value) in items.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                item(value, text);
            }
            text.push(']');
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_canonical() {
        let mut text = String::new();
        Members::object(&mut text, |members| {
            members.text("a", "line\n\"quoted\" \\ é \u{1}");
            members.instant("b", Instant::PURE_DEFAULT);
            members.digest("c", &Digest::of("x"));
            members.whole("d", -5);
            members.truth("e", true);
            members.list("f", [1, 2], |item, text| text.push_str(&item.to_string()));
            members.with("g", |text| Members::object(text, |inner| inner.null("h")));
            members.json("i", &Json::texts(["j"]));
            members.text_if_any("k", None);
        });
        let read = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(read.to_canonical(), text);
        assert_eq!(read.get("c").and_then(Json::as_text), Some(Digest::of("x").to_string().as_str()));
        assert_eq!(read.get("a").and_then(Json::as_text), Some("line\n\"quoted\" \\ é \u{1}"));
    }
}
