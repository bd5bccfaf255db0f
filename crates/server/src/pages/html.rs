//! Pages as text in which nothing foreign can become markup.
//!
//! Markup is what stands in this program: [`Html::raw`] takes nothing else. Everything that comes from outside goes
//! through [`Html::text`], which escapes it, keeps its direction to itself, and spells out letters that deceive. A
//! template engine escapes too, but knows nothing about the last two, so that each place would have to remember them.

use std::fmt::Write as _;
use values::ids::is_deceptive;
use values::time::{Duration, Instant};

/// Letters from which on text gets a box of its own that can be scrolled.
const LONG: usize = 600;

/// A page, or a piece of one.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// Markup of this program.
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Words of this program, or of a person's own.
    pub fn plain(&mut self, text: &str) -> &mut Html {
        for letter in text.chars() {
            self.letter(letter);
        }
        self
    }

    /// Text from outside: shown as it is, and letters that deceive by their number.
    pub fn text(&mut self, text: &str) -> &mut Html {
        let is_long = text.chars().nth(LONG).is_some();
        // Who has no mouse must be able to reach what is scrolled.
        self.raw(if is_long { "<bdi class=\"long\" tabindex=\"0\">" } else { "<bdi>" });
        for letter in text.chars() {
            if letter == '\n' {
                self.raw("<i class=\"odd\">\u{21b5}</i>\n");
            } else if is_deceptive(letter) {
                // Writing into a text cannot fail.
                let _ = write!(self.0, "<i class=\"odd\">U+{:04X}</i>", u32::from(letter));
            } else {
                self.letter(letter);
            }
        }
        self.raw("</bdi>");
        if is_long {
            let count = text.chars().count().to_string();
            self.raw("<span class=\"faint small\">").plain(&count).raw(" characters in all; scroll to read on</span>");
        }
        self
    }

    /// The value of an attribute between its quotes: exactly this text, whatever it holds.
    pub fn value(&mut self, text: &str) -> &mut Html {
        for letter in text.chars() {
            if is_deceptive(letter) {
                let _ = write!(self.0, "&#{};", u32::from(letter));
            } else {
                self.letter(letter);
            }
        }
        self
    }

    /// A part of a path in an address.
    pub fn segment(&mut self, text: &str) -> &mut Html {
        self.0.push_str(&segment(text));
        self
    }

    /// An instant, to the second.
    pub fn time(&mut self, at: Instant) -> &mut Html {
        let text = at.to_string();
        let (day, rest) = text.split_once('T').unwrap_or((&text, ""));
        let clock = rest.get(..8).unwrap_or_default();
        self.raw("<time datetime=\"").value(&text).raw("\">").plain(day).raw(" ").plain(clock).raw(" UTC</time>")
    }

    /// Another piece.
    pub fn piece(&mut self, piece: &Html) -> &mut Html {
        self.0.push_str(&piece.0);
        self
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.0
    }

    fn letter(&mut self, letter: char) {
        match letter {
            '&' => self.0.push_str("&amp;"),
            '<' => self.0.push_str("&lt;"),
            '>' => self.0.push_str("&gt;"),
            '"' => self.0.push_str("&quot;"),
            '\'' => self.0.push_str("&#39;"),
            other => self.0.push(other),
        }
    }
}

/// A part of a path: everything but plain letters and digits by its number.
pub fn segment(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || byte == b'.' && text.len() > 2 {
            path.push(char::from(byte));
        } else {
            // Writing into a text cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
        path
    })
}

/// A length of time in the words of people.
pub fn span(length: Duration) -> String {
    const UNITS: [(i64, i64, &str); 3] = [(2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "h"), (120, 60, "min")];
    let seconds = length.micros() / 1_000_000;
    let unit = UNITS.iter().find(|(from, ..)| seconds >= *from);
    unit.map_or_else(|| format!("{seconds} s"), |(_, unit, name)| format!("{} {name}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_text() {
        let check = |text: &str, expected: &str| {
            let mut html = Html::default();
            html.text(text);
            assert_eq!(html.into_text(), format!("<bdi>{expected}</bdi>"), "{text:?}");
        };
        check("plain", "plain");
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("\" onclick='x'", "&quot; onclick=&#39;x&#39;");
        check("a&lt;b", "a&amp;lt;b");
        check("100\u{202e}001", "100<i class=\"odd\">U+202E</i>001");
        check("ad\u{200b}min", "ad<i class=\"odd\">U+200B</i>min");
        check("a\r\nb", "a<i class=\"odd\">U+000D</i><i class=\"odd\">\u{21b5}</i>\nb");
        check("\u{0}", "<i class=\"odd\">U+0000</i>");
        check("Zoë שלום 例", "Zoë שלום 例");
    }

    #[test]
    fn long_text_is_whole_and_can_be_reached_without_a_mouse() {
        let mut html = Html::default();
        html.text(&"x".repeat(5_000));
        let text = html.into_text();
        assert!(text.starts_with("<bdi class=\"long\" tabindex=\"0\">"), "{text}");
        assert_eq!(text.matches('x').count(), 5_000 + "tabindex".matches('x').count());
    }

    #[test]
    fn a_value_holds_exactly_its_text() {
        let mut html = Html::default();
        html.value("a\"b<c>\n\u{202e}");
        assert_eq!(html.into_text(), "a&quot;b&lt;c&gt;&#10;&#8238;");
    }

    #[test]
    fn a_part_of_a_path_is_one_part() {
        for (text, expected) in
            [("a-b_1", "a-b_1"), ("a/b", "a%2Fb"), ("..", "%2E%2E"), ("a.b", "a.b"), ("é?#", "%C3%A9%3F%23")]
        {
            assert_eq!(segment(text), expected);
        }
    }
}
