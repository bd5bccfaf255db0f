//! A line of a session's file: canonical JSON that we wrote, one flat object. Hundreds are looked at for each call and few
//! of their members, so members are found in the text; only what is written with escapes is read as JSON.

use std::borrow::Cow;
use std::ops::Range;
use values::json::Json;

/// One line, with where its ticket and its kind stand: these are asked for again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    text: String,
    ticket: Range<usize>,
    kind: Range<usize>,
}

impl Line {
    /// A line as it was written.
    pub fn new(text: String) -> Line {
        let place = |key: &str| plain(&text, key).unwrap_or_default();
        let (ticket, kind) = (place("ticket"), place("is"));
        Line { text, ticket, kind }
    }

    /// As it was written.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub fn kind(&self) -> &str {
        self.text.get(self.kind.clone()).unwrap_or_default()
    }

    /// The ticket and the kind: one call is written down once in each kind.
    pub fn moment(&self) -> Option<(&str, &str)> {
        let ticket = self.text.get(self.ticket.clone()).filter(|ticket| !ticket.is_empty())?;
        Some((ticket, self.kind()))
    }

    /// A member that is a text.
    pub fn text(&self, key: &str) -> Option<Cow<'_, str>> {
        let value = value(&self.text, key)?.strip_prefix('"')?;
        let end = value.find(['"', '\\'])?;
        if value.get(end..)?.starts_with('"') {
            return value.get(..end).map(Cow::Borrowed);
        }
        let json = Json::parse(self.text.as_bytes()).ok()?;
        json.get(key).and_then(Json::as_text).map(|text| Cow::Owned(text.to_owned()))
    }

    /// A member that is true or false.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = value(&self.text, key)?;
        if value.starts_with("true") { Some(true) } else { value.starts_with("false").then_some(false) }
    }

    /// A member that is a whole number.
    pub fn count(&self, key: &str) -> Option<u64> {
        let value = value(&self.text, key)?;
        value.get(..value.find([',', '}'])?)?.parse().ok()
    }
}

/// Where a text without escapes stands.
fn plain(line: &str, key: &str) -> Option<Range<usize>> {
    let value = value(line, key)?.strip_prefix('"')?;
    let start = line.len().checked_sub(value.len())?;
    Some(start..start + value.find('"')?)
}

/// From the value of a member on. Inside of texts a quotation mark stands behind a backslash, so that nothing an agent
/// writes looks like a key. What is asked for most stands at the end.
fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let bytes = line.as_bytes();
    let mut end = bytes.len();
    while let Some(colon) = bytes.get(..end)?.iter().rposition(|byte| *byte == b':') {
        let before = bytes.get(..colon)?.strip_suffix(b"\"").and_then(|rest| rest.strip_suffix(key.as_bytes()));
        if let Some([.., b'{' | b',', b'"']) = before {
            return line.get(colon + 1..);
        }
        end = colon;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_as_json_would_find_them() {
        let texts = [
            "",
            "Bash",
            "is",
            "\",\"is\":\"call",
            "\\",
            "a\\\"b",
            "zeile\n",
            "ü",
            "\",\"ticket\":\"t9\",\"is\":\"x",
            "{\"is\":\"y\"}",
        ];
        let mut checked = 0;
        for tool in texts {
            for id in texts {
                let json = Json::object([
                    ("is", Json::text("result")),
                    ("ticket", Json::text("t1")),
                    ("id", Json::text(id)),
                    ("tool", Json::text(tool)),
                    ("failed", Json::Bool(true)),
                    ("effect", Json::Bool(false)),
                    ("bytes", Json::from(17_u64)),
                    ("asked", Json::Null),
                ]);
                let line = Line::new(json.to_canonical());
                assert_eq!(line.kind(), "result", "{line:?}");
                assert_eq!(line.moment(), Some(("t1", "result")), "{line:?}");
                assert_eq!(line.text("id").as_deref(), Some(id), "{line:?}");
                assert_eq!(line.text("tool").as_deref(), Some(tool), "{line:?}");
                assert_eq!((line.flag("failed"), line.flag("effect")), (Some(true), Some(false)), "{line:?}");
                assert_eq!((line.count("bytes"), line.text("asked"), line.text("ask")), (Some(17), None, None));
                checked += 1;
            }
        }
        assert_eq!(checked, texts.len() * texts.len());
        for torn in ["", "{", "{\"is\":\"res", "{\"is\":", "no"] {
            let line = Line::new(torn.to_owned());
            assert_eq!((line.kind(), line.flag("failed"), line.count("bytes")), ("", None, None), "{torn}");
            assert_eq!(line.moment(), None, "{torn}");
        }
    }
}
