//! The known word nearest to a mistyped one.

/// The known word that the mistyped one was probably meant to be, ignoring case. Ties go to the first.
///
/// At most a third of the letters, or two, may differ: farther suggestions confuse more than they help.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let distance_max = (word.chars().count() / 3).max(2);
    let lower = word.to_lowercase();
    let scored =
        known.into_iter().map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate));
    let near =
        scored.filter(|(distance, candidate)| *distance <= distance_max && *distance < candidate.chars().count());
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// "; did you mean `x`?", or nothing.
pub fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map_or_else(String::new, |candidate| format!("; did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, known: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(word, known.iter().copied()), expected, "{word}");
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        check("alow", &["allow", "ask"], Some("allow"));
        check("Allow", &["allow"], Some("allow"));
        check("hard_stop", &["allow", "ask"], None);
        check("x", &["y"], None);
        check("decid", &["decide", "demo"], Some("decide"));
    }
}
