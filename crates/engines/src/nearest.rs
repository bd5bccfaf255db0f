//! The known word nearest to a mistyped one.

/// The known word that the mistyped one was probably meant to be. Ties go to the first.
///
/// At most a third of the letters may differ: farther suggestions confuse more than they help.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let distance_max = (word.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let distance = strsim::damerau_levenshtein(word, candidate);
        if distance <= distance_max && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// "; did you mean `x`?", or nothing.
pub(crate) fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map_or_else(String::new, |candidate| format!("; did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, known: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(word, known.iter().copied()), expected, "{word}");
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        check("amont", &["iban", "amount"], Some("amount"));
        check("amount", &["agent"], None);
        check("zzz", &["iban", "amount"], None);
        check("x", &[], None);
    }
}
