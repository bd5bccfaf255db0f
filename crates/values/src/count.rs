//! Counts in sentences: a number with its noun, and a verb that agrees.

/// A count with its noun, which agrees with it.
///
/// ```
/// use values::count::counted;
/// assert_eq!(counted(1, "entry"), "1 entry");
/// assert_eq!(counted(2, "entry"), "2 entries");
/// ```
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    let has_vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y').filter(|stem| !has_vowel(stem)) {
        Some(stem) => format!("{count} {stem}ies"),
        None if ["s", "x", "sh", "ch"].iter().any(|end| noun.ends_with(end)) => format!("{count} {noun}es"),
        None => format!("{count} {noun}s"),
    }
}

/// `was` of one, `were` of any other number.
pub fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// `is` of one, `are` of any other number.
pub fn is(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_agrees_with_its_count() {
        for (noun, many) in [
            ("entry", "2 entries"),
            ("key", "2 keys"),
            ("hash", "2 hashes"),
            ("witness", "2 witnesses"),
            ("log", "2 logs"),
        ] {
            assert_eq!((counted(2, noun).as_str(), counted(1, noun)), (many, format!("1 {noun}")));
            assert!(counted(0, noun).starts_with("0 ") && counted(0, noun) != format!("0 {noun}"));
        }
    }
}
