//! What text looks like to a person: letters of other scripts, full-width forms and invisible characters deceive.

use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::MixedScript as _;
use values::ids::is_deceptive;

/// The version of Unicode whose tables are compared by. Another version may judge differently, so it is pinned.
pub const UNICODE_VERSION: (u64, u64, u64) = unicode_security::UNICODE_VERSION;

/// Room for letters that look like two: `m` looks like `rn`.
const SPARE_BYTES: usize = 8;

/// What text looks like (the skeleton of UTS 39), whatever its case, script and invisible characters.
///
/// ```
/// use kernel::look_alike::Look;
/// assert!(Look::of("Mаllory").is_like(&Look::of("mallory")), "the first `а` is Cyrillic");
/// assert!(!Look::of("malory").is_like(&Look::of("mallory")));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Look {
    /// A capital letter may look like another one whose small letter does not: the Cyrillic `Т` is no `т`.
    as_written: String,
    in_small_letters: String,
}

impl Look {
    /// What a text looks like.
    pub fn of(text: &str) -> Look {
        if text.is_ascii() { Look::of_ascii(text) } else { Look::of_any(text) }
    }

    /// No letter of ASCII changes how another one looks, so each is looked up in a table that is made once.
    fn of_ascii(text: &str) -> Look {
        static LETTERS: LazyLock<Vec<Look>> =
            LazyLock::new(|| ('\0'..='\u{7F}').map(|letter| Look::of_any(letter.encode_utf8(&mut [0; 4]))).collect());
        let mut look = Look {
            as_written: String::with_capacity(text.len() + SPARE_BYTES),
            in_small_letters: String::with_capacity(text.len() + SPARE_BYTES),
        };
        for letter in text.bytes().filter_map(|byte| LETTERS.get(usize::from(byte))) {
            look.as_written.push_str(&letter.as_written);
            look.in_small_letters.push_str(&letter.in_small_letters);
        }
        look
    }

    fn of_any(text: &str) -> Look {
        let plain: String = text.nfkc().filter(|letter| !is_invisible(*letter)).collect();
        let small: String = plain.chars().flat_map(char::to_lowercase).collect();
        // The table has capital letters too: the digit zero stands under `O`.
        // A mark belongs to its letter: `é` holds no `e`.
        let seen = |text: &str| unicode_security::skeleton(text).nfc().flat_map(char::to_lowercase).collect();
        Look { as_written: seen(&plain), in_small_letters: seen(&small) }
    }

    /// Whether both look the same.
    pub fn is_like(&self, other: &Look) -> bool {
        self.as_written == other.as_written || self.in_small_letters == other.in_small_letters
    }

    /// Whether something that looks like the other stands in it.
    pub fn contains(&self, other: &Look) -> bool {
        self.as_written.contains(&other.as_written) || self.in_small_letters.contains(&other.in_small_letters)
    }
}

/// The text in the plain letters it looks like, for a sentence.
pub fn plain(text: &str) -> String {
    let letters = text.nfkc().filter(|letter| !is_invisible(*letter));
    let mut plain = String::with_capacity(text.len());
    for letter in letters {
        if letter.is_ascii() {
            plain.push(letter);
        } else {
            plain.extend(unicode_security::skeleton(letter.encode_utf8(&mut [0; 4])).nfc());
        }
    }
    plain
}

/// Combining marks are part of what is seen; everything else deceptive is not.
fn is_invisible(letter: char) -> bool {
    is_deceptive(letter) && !('\u{0300}'..='\u{036F}').contains(&letter)
}

/// What is wrong with an identifier that must be of one script; `None` if nothing is.
pub fn script_problem(text: &str) -> Option<&'static str> {
    if text.chars().any(is_invisible) {
        return Some("contains invisible characters");
    }
    if !text.nfkc().eq(text.nfc()) {
        return Some("contains full-width or other unusual forms of letters");
    }
    if !text.is_single_script() {
        return Some("mixes letters of several scripts");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_the_ones_that_were_pinned() {
        assert_eq!(UNICODE_VERSION, (18, 0, 0));
    }

    #[test]
    fn ascii_is_looked_up_letter_by_letter() {
        let letters: Vec<char> = ('\0'..='\u{7F}').collect();
        for first in &letters {
            for second in &letters {
                let text = format!("{first}{second}");
                assert_eq!(Look::of(&text), Look::of_any(&text), "{text:?}");
            }
        }
        let all: String = letters.iter().collect();
        assert_eq!(Look::of(&all), Look::of_any(&all));
    }

    #[test]
    fn what_looks_the_same_has_one_skeleton() {
        let check = |text: &str, like: &str, expected: bool| {
            assert_eq!(Look::of(text).is_like(&Look::of(like)), expected, "{text:?} {like:?}");
            let (inside, like) = (Look::of(&format!("x {text} y")), Look::of(like));
            assert_eq!(inside.contains(&like), expected, "{text:?}");
        };
        check("mallory", "mallory", true);
        check("MALLORY", "mallory", true);
        check("m\u{0430}llory", "mallory", true);
        check("\u{FF4D}\u{FF41}llory", "mallory", true);
        check("mal\u{200B}lory", "mallory", true);
        check("mal\u{202E}lory\u{FEFF}", "mallory", true);
        check("\u{0422}HREAT", "threat", true);
        check("thre\u{0410}t", "threat", true);
        check("paypa1", "paypal", true);
        check("\u{0440}\u{0430}ypal", "paypal", true);
        check("exarnple", "example", true);
        check("malory", "mallory", false);
        check("maria", "mario", false);
        check("jos\u{00E9}", "jose", false);
    }

    #[test]
    fn a_sentence_shows_plain_letters() {
        assert_eq!(plain("m\u{0430}l\u{200B}l\u{FF4F}ry 1"), "mallory 1");
    }

    #[test]
    fn one_script_is_enough_for_an_identifier() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(script_problem(text), expected, "{text:?}");
        check("AB-123456", None);
        check("\u{043F}\u{0435}\u{0442}\u{0440}", None);
        check("jos\u{00E9}-1", None);
        check("", None);
        check("\u{0440}aypal", Some("mixes letters of several scripts"));
        check("pay\u{200B}pal", Some("contains invisible characters"));
        check("\u{FF50}aypal", Some("contains full-width or other unusual forms of letters"));
    }
}
