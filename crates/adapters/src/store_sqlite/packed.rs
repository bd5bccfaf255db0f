//! Long texts as a store keeps them: in half of their bytes and less.
//!
//! Most of a record is words that every record has. They stand in one dictionary, so that even a single short text becomes
//! shorter, and each text is read back alone: erasing one takes nothing from another.

use runtime::ports::store::StoreFault;
use rusqlite::types::ValueRef;
use std::borrow::Cow;

/// Words and turns that records have in common. Texts packed with it can only be read with it, so it never
/// changes: another one gets a number of its own.
const WORDS: &[u8] = include_bytes!("packed_words.txt");

/// Names the dictionary.
const FIRST_WORDS: u8 = 1;

/// The number of the dictionary and the length of the text.
const HEADER: usize = 5;

/// Shorter texts are left alone.
const SHORTEST: usize = 128;

/// Longer texts are left alone.
const LONGEST: usize = 64 << 20;

/// One byte of what was packed stands for no more than this. What claims more is damaged, and no room is made for it.
const SHRINKS_MOST: usize = 255;

/// Appends a text in fewer bytes; leaves them as they are, and says so, if the text is best left alone.
pub(super) fn pack_onto(text: &str, bytes: &mut Vec<u8>) -> bool {
    let start = bytes.len();
    let is_packed = packed_onto(text, bytes).is_some_and(|length| length < text.len());
    if !is_packed {
        bytes.truncate(start);
    }
    is_packed
}

/// In how many bytes it was written.
fn packed_onto(text: &str, bytes: &mut Vec<u8>) -> Option<usize> {
    if text.len() < SHORTEST || text.len() > LONGEST {
        return None;
    }
    let length = u32::try_from(text.len()).ok()?;
    bytes.push(FIRST_WORDS);
    bytes.extend_from_slice(&length.to_le_bytes());
    let start = bytes.len();
    bytes.resize(start + lz4_flex::block::get_maximum_output_size(text.len()), 0);
    let taken = lz4_flex::block::compress_into_with_dict(text.as_bytes(), bytes.get_mut(start..)?, WORDS).ok()?;
    bytes.truncate(start + taken);
    Some(HEADER + taken)
}

/// The text that was packed; `None` if this is none.
pub(super) fn unpack(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
        ValueRef::Blob(bytes) => {
            let (header, packed) = bytes.split_at_checked(HEADER)?;
            let (number, length) = header.split_first()?;
            let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
            if *number != FIRST_WORDS || length > packed.len().saturating_mul(SHRINKS_MOST).min(LONGEST) {
                return None;
            }
            let text = lz4_flex::block::decompress_with_dict(packed, length, WORDS).ok()?;
            String::from_utf8(text).ok().filter(|text| text.len() == length).map(Cow::Owned)
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

/// The text that was packed into a column, absent if there is none.
pub(super) fn column(
    row: &rusqlite::Row<'_>,
    index: usize,
    what: impl FnOnce() -> String,
) -> Result<Option<String>, StoreFault> {
    match row.get_ref(index).map_err(super::fault)? {
        ValueRef::Null => Ok(None),
        value @ (ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Integer(_) | ValueRef::Real(_)) => unpack(value)
            .map(|text| Some(text.into_owned()))
            .ok_or_else(|| StoreFault::Corrupt(format!("{} cannot be read", what()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> String {
        let digest = "3ca7b1bde584978f5054fac8d1785a228228b7024ce6e002cb1c22b8ed9144cd";
        format!(
            r#"{{"agent":"refunds","at":"2026-11-16T07:01:18.11652Z","contract":{{"digest":"{digest}","id":"refunds","version":"1.2.0"}},"findings":[],"fingerprint":"{digest}","flow":"01a1e329-02a3-73e9-977a-8ea71c74bf26","intent":null,"kind":"decision","mode":"enforce","proposal":{{"action":"refund"}},"proposal_id":"01a1e329-02a3-73e9-977a-8ea64662d560","semantics":1,"tenant":"default","verdict":"ACCEPT","version":1}}"#
        )
    }

    fn pack(text: &str) -> Option<Vec<u8>> {
        let mut bytes = b"before".to_vec();
        let is_packed = pack_onto(text, &mut bytes);
        let packed = bytes.split_off("before".len());
        assert!(is_packed || packed.is_empty());
        is_packed.then_some(packed)
    }

    #[test]
    fn every_text_comes_back() {
        let long = "é\u{1}\"".repeat(70_000);
        let noise: String =
            (0..4_000_u32).filter_map(|n| char::from_u32(n.wrapping_mul(2_654_435_761) % 0xD7FF)).collect();
        for text in ["", "{}", &record(), &long, &noise, &"x".repeat(SHORTEST)] {
            let packed = pack(text);
            let value = packed.as_deref().map_or(ValueRef::Text(text.as_bytes()), ValueRef::Blob);
            assert_eq!(unpack(value).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_record_takes_less_than_two_thirds_of_its_bytes() {
        let text = record();
        let bytes = pack(&text).unwrap();
        assert!(bytes.len() * 3 < text.len() * 2, "{} of {}", bytes.len(), text.len());
    }

    #[test]
    fn what_was_written_once_is_read_for_ever() {
        let bytes = [1, 163, 0, 0, 0, 31, 123, 214, 0, 15, 31, 45, 1, 0, 102, 96, 45, 45, 45, 45, 45, 45];
        let text = format!("{}{}", r#"{"kind":"decision","mode":"enforce""#, "-".repeat(128));
        assert_eq!(unpack(ValueRef::Blob(&bytes)).as_deref(), Some(text.as_str()));
    }

    #[test]
    fn damage_is_no_text_and_takes_no_memory() {
        let bytes = pack(&record()).unwrap();
        for place in 0..bytes.len() {
            for flip in [1_u8, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[place] ^= flip;
                // Where it is a text still, it is as long, and its digest says whether it is the one that was meant.
                let text = unpack(ValueRef::Blob(&damaged));
                assert!(text.is_none_or(|text| text.len() == record().len() || place < HEADER), "byte {place}");
            }
        }
        for cut in 0..bytes.len() {
            assert_eq!(unpack(ValueRef::Blob(&bytes[..cut])), None, "{cut} bytes");
        }
        assert_eq!(unpack(ValueRef::Blob(&[1, 0xFF, 0xFF, 0xFF, 0xFF, 0])), None);
        assert_eq!(unpack(ValueRef::Integer(1)), None);
    }
}
