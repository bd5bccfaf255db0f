//! Replacing secrets in what the other side answered: as they are, and as JSON, percent-encoding or base64 write them.
//!
//! Each encoding is a way to read the bytes; a secret is looked for in what is read, whatever variant of the encoding wrote
//! it. The time is linear in the length of the body, whatever the secrets are.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// What stands in place of a secret.
const MARK: &[u8] = b"[secret]";

/// Below this length bytes decoded from base64 look like a secret by chance; then only its whole base64 text counts.
const DECODED_BYTES_MIN: usize = 4;

/// The most bytes an encoding uses for one byte: `\u0041`.
const EXPANSION_MAX: usize = 6;

/// A byte as an encoding reads it, and where it was written; `None` where nothing can be read on.
type Read = Option<(u8, usize, usize)>;

/// The body without the secrets. Where it breaks off, as much of its end is left out as a part of a secret may fill.
pub(super) fn redact(body: &[u8], secrets: &[Vec<u8>], complete: bool) -> Vec<u8> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        find(body, secret, &mut found);
    }
    found.sort_unstable();
    let longest = secrets.iter().map(Vec::len).max().unwrap_or(0);
    let doubtful = if complete { 0 } else { longest.saturating_mul(EXPANSION_MAX) };
    let mut end = body.len().saturating_sub(doubtful);
    // A secret that reaches over the end is left out as a whole.
    end = found.iter().filter(|(from, to)| *from < end && end < *to).map(|(from, _)| *from).fold(end, usize::min);
    replaced(body, &found, end)
}

fn replaced(body: &[u8], found: &[(usize, usize)], end: usize) -> Vec<u8> {
    let mut clean = Vec::with_capacity(end);
    let mut next = 0;
    for (from, to) in found.iter().filter(|(from, _)| *from < end) {
        // Also what overlaps is replaced as a whole.
        if *from >= next {
            clean.extend_from_slice(body.get(next..*from).unwrap_or_default());
            clean.extend_from_slice(MARK);
        }
        next = next.max(*to);
    }
    clean.extend_from_slice(body.get(next..end).unwrap_or_default());
    clean
}

fn find(body: &[u8], secret: &[u8], found: &mut Vec<(usize, usize)>) {
    search(raw(body), secret, found);
    if body.contains(&b'\\') {
        search(json(body), secret, found);
    }
    if body.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        search(percent(body, false), secret, found);
        search(percent(body, true), secret, found);
    }
    if secret.len() >= DECODED_BYTES_MIN {
        (0..4).for_each(|skipped| search(decoded(body, skipped), secret, found));
    } else {
        for text in [STANDARD.encode(secret), URL_SAFE.encode(secret)] {
            search(raw(body), text.as_bytes(), found);
        }
    }
}

/// Finds every occurrence in one pass (Knuth, Morris and Pratt).
fn search(read: impl Iterator<Item = Read>, secret: &[u8], found: &mut Vec<(usize, usize)>) {
    let falls = falls(secret);
    let fall = |length: usize| length.checked_sub(1).and_then(|last| falls.get(last)).copied().unwrap_or(0);
    let mut starts = std::collections::VecDeque::with_capacity(secret.len());
    let mut length = 0;
    for item in read {
        let Some((byte, start, end)) = item else {
            length = 0;
            starts.clear();
            continue;
        };
        if starts.len() == secret.len() {
            starts.pop_front();
        }
        starts.push_back(start);
        while length > 0 && secret.get(length) != Some(&byte) {
            length = fall(length);
        }
        length += usize::from(secret.get(length) == Some(&byte));
        if length == secret.len() {
            found.extend(starts.front().map(|start| (*start, end)));
            length = fall(length);
        }
    }
}

/// For every beginning of a secret: the length of its longest end that is a beginning too.
fn falls(secret: &[u8]) -> Vec<usize> {
    let mut falls: Vec<usize> = Vec::with_capacity(secret.len());
    for (place, byte) in secret.iter().enumerate() {
        let mut length = place.checked_sub(1).and_then(|before| falls.get(before)).copied().unwrap_or(0);
        while length > 0 && secret.get(length) != Some(byte) {
            length = length.checked_sub(1).and_then(|last| falls.get(last)).copied().unwrap_or(0);
        }
        let is_longer = place > 0 && secret.get(length) == Some(byte);
        falls.push(length + usize::from(is_longer));
    }
    falls
}

fn raw(body: &[u8]) -> impl Iterator<Item = Read> {
    body.iter().enumerate().map(|(place, byte)| Some((*byte, place, place + 1)))
}

/// Bytes that one piece of text stands for, at most those of one character.
struct Piece {
    bytes: [u8; 4],
    count: usize,
    /// How long the text is.
    length: usize,
}

impl Piece {
    fn byte(byte: u8, length: usize) -> Piece {
        Piece { bytes: [byte, 0, 0, 0], count: 1, length }
    }

    fn character(character: char, length: usize) -> Piece {
        let mut bytes = [0; 4];
        let count = character.encode_utf8(&mut bytes).len();
        Piece { bytes, count, length }
    }
}

/// Reads piece by piece.
fn pieces(body: &[u8], piece: impl Fn(&[u8]) -> Option<Piece>) -> impl Iterator<Item = Read> {
    let mut place = 0;
    let read = std::iter::from_fn(move || {
        let rest = body.get(place..).filter(|rest| !rest.is_empty())?;
        let piece = piece(rest).or_else(|| rest.first().map(|byte| Piece::byte(*byte, 1)))?;
        let start = place;
        place += piece.length.max(1);
        Some((piece, start, place))
    });
    read.flat_map(|(piece, start, end)| {
        piece.bytes.into_iter().take(piece.count).map(move |byte| Some((byte, start, end)))
    })
}

/// Reads the escapes of a JSON string.
fn json(body: &[u8]) -> impl Iterator<Item = Read> {
    pieces(body, |rest| {
        let [b'\\', kind, ..] = rest else { return None };
        let byte = match kind {
            b'"' | b'\\' | b'/' => *kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return unicode(rest),
            _ => return None,
        };
        Some(Piece::byte(byte, 2))
    })
}

/// `\u0041`, or a pair of surrogates.
fn unicode(rest: &[u8]) -> Option<Piece> {
    let first = hexadecimal(rest.get(2..6)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some(Piece::character(character, 6));
    }
    let second = rest.get(6..8).filter(|text| *text == b"\\u").and_then(|_| hexadecimal(rest.get(8..12)?))?;
    let (high, low) = (first.checked_sub(0xD800)?, second.checked_sub(0xDC00).filter(|low| *low < 0x400)?);
    let character = char::from_u32(0x10000 + (high << 10) + low)?;
    Some(Piece::character(character, 12))
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum: u32, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}

/// Reads percent-encoding; in forms a plus is a space.
fn percent(body: &[u8], form: bool) -> impl Iterator<Item = Read> {
    pieces(body, move |rest| match rest {
        [b'+', ..] if form => Some(Piece::byte(b' ', 1)),
        [b'%', high, low, ..] => {
            let byte = u8::try_from(hexadecimal(&[*high, *low])?).ok()?;
            Some(Piece::byte(byte, 3))
        }
        _ => None,
    })
}

/// Reads base64 of either alphabet, also where it is a part of something longer: the first digits are skipped, since nobody
/// knows where the text began. Breaks of lines and the escape `\/` do not end it.
fn decoded(body: &[u8], skipped: usize) -> impl Iterator<Item = Read> {
    // Digits since the last that was none, their bits, and where the one before stands.
    let (mut count, mut bits, mut before) = (0_usize, 0_u32, 0_usize);
    let digits = body.iter().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n' | b'\\'));
    digits.filter_map(move |(place, byte)| {
        let Some(digit) = digit(*byte) else {
            let was_reading = count > 0;
            count = 0;
            return was_reading.then_some(None);
        };
        count += 1;
        let read = count.checked_sub(skipped).filter(|read| *read > 0)?;
        bits = (bits << 6 | digit) & 0xFFFF;
        let start = std::mem::replace(&mut before, place);
        // Of four digits the second ends the first byte, the third the second, the last the third.
        let unused = match read % 4 {
            1 => return None,
            2 => 4,
            3 => 2,
            _ => 0,
        };
        let byte = u8::try_from(bits >> unused & 0xFF).ok()?;
        Some(Some((byte, start, place + 1)))
    })
}

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
