//! Two runs compared: what differs between them by chance or by where the store is becomes the same.

/// An output without ids, digests, instants, numbers and the name of the store.
pub fn without_ids(text: &str, place: &str) -> String {
    let place_name = place.split(' ').next_back().unwrap_or_default();
    let text = text.replace(place, "PLACE").replace(place_name, "PLACE");
    // Workers are named behind their key, and a server knows people by more than the user who typed.
    // A service signs while it works, so there are more checkpoints.
    let text = text.replace("checkpoints agree", "checkpoint agrees");
    let text = without_user(&text.replace("worker/", ""));
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.split_whitespace().map(word);
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines.join("\n")
}

/// One word: every run of letters, digits and what Base64 has besides that holds a digit is a number or an id.
fn word(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-+/=".contains(letter);
    let mut plain = String::new();
    for part in text.split_inclusive(|letter: char| !is_part(letter)) {
        let end = part.trim_end_matches(|letter: char| !is_part(letter));
        let rest = part.strip_prefix(end).unwrap_or_default();
        let is_own = end.len() <= 2 && end.starts_with('p');
        plain.push_str(if end.bytes().any(|byte| byte.is_ascii_digit()) && !is_own { "#" } else { end });
        plain.push_str(rest);
    }
    plain
}

/// Without the user of the operating system, whom only a plain file has to name.
fn without_user(text: &str) -> String {
    let mut parts = text.split("; typed by the system's user ");
    let first = parts.next().unwrap_or_default().to_owned();
    let behind_name = |part: &str| part.find('\n').map_or(String::new(), |end| part[end..].to_owned());
    parts.fold(first, |told, part| told + &behind_name(part))
}
