//! Two runs compared: what differs between them by chance or by where the store is becomes the same.

/// An output without ids, digests, instants, numbers and the name of the store.
pub fn without_ids(text: &str, place: &str) -> String {
    let place_name = place.split(' ').next_back().unwrap_or_default();
    let text = text.replace(place, "PLACE").replace(place_name, "PLACE");
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.split_whitespace().map(word);
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines.join("\n")
}

/// One word: every run of letters, digits and dashes that holds a digit is a number or an id.
fn word(text: &str) -> String {
    let mut plain = String::new();
    for part in text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-') {
        let end = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let rest = part.strip_prefix(end).unwrap_or_default();
        let is_own = end.len() <= 2 && end.starts_with('p');
        plain.push_str(if end.bytes().any(|byte| byte.is_ascii_digit()) && !is_own { "#" } else { end });
        plain.push_str(rest);
    }
    plain
}
