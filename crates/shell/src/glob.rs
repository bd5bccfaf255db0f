//! Wildcard matching, iterative so that no pattern costs more than length × length.

use crate::mark;

/// Longest operands compared; longer ones are answered `false` by callers that only add caution.
const MATCH_CHARS_MAX: usize = 1024;

/// Whether `pattern` (with `*`, `?`, `[…]`, active or plain) matches all of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    if !could_match(pattern, text) {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().map(plain).take(MATCH_CHARS_MAX + 1).collect();
    let text: Vec<char> = text.chars().take(MATCH_CHARS_MAX + 1).collect();
    if pattern.len() > MATCH_CHARS_MAX || text.len() > MATCH_CHARS_MAX {
        return false;
    }
    let (mut p, mut t) = (0usize, 0usize);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = text.get(t).and_then(|c| one(&pattern, p, *c));
        match (pattern.get(p), step) {
            (Some('*'), _) => {
                retry = Some((p + 1, t));
                p += 1;
            }
            (Some(_), Some(next)) => {
                p = next;
                t += 1;
            }
            (Some(_) | None, _) => match retry {
                Some((after_star, from)) => {
                    p = after_star;
                    t = from + 1;
                    retry = Some((after_star, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == '*')
}

/// A cheap look at both ends before anything is allocated.
fn could_match(pattern: &str, text: &str) -> bool {
    let wild = |c: char| matches!(c, '*' | '?' | '[' | ']' | '\\') || mark::is_hole(c) || mark::is_wild(c);
    let (Some(first), Some(last)) = (pattern.chars().next(), pattern.chars().next_back()) else {
        return text.is_empty();
    };
    (wild(first) || text.starts_with(first)) && (wild(last) || text.ends_with(last))
}

/// The characters a wildcard mark stands for.
fn plain(c: char) -> char {
    match c {
        mark::STAR | mark::ITEM | mark::PICK | mark::OUTPUT | mark::UNSET | mark::REMOTE => '*',
        mark::QUESTION => '?',
        mark::BRACKET => '[',
        other => other,
    }
}

/// Matches one character at pattern position `p`; the position after it, if it matches.
fn one(pattern: &[char], p: usize, c: char) -> Option<usize> {
    match pattern.get(p)? {
        '?' => Some(p + 1),
        '[' => match bracket(pattern, p, c) {
            Some((true, end)) => Some(end),
            Some((false, _)) => None,
            None => (c == '[').then_some(p + 1),
        },
        '\\' => (pattern.get(p + 1) == Some(&c)).then_some(p + 2),
        literal => (*literal == c).then_some(p + 1),
    }
}

/// A bracket expression: whether it holds `c`, and the position after it.
fn bracket(pattern: &[char], p: usize, c: char) -> Option<(bool, usize)> {
    let mut i = p + 1;
    let negated = matches!(pattern.get(i), Some('!' | '^'));
    if negated {
        i += 1;
    }
    let first = i;
    let mut found = false;
    loop {
        let low = *pattern.get(i)?;
        if low == ']' && i > first {
            return Some((found != negated, i + 1));
        }
        match (pattern.get(i + 1), pattern.get(i + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                found |= (low..=*high).contains(&c);
                i += 3;
            }
            (_, _) => {
                found |= low == c;
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(super::matches(pattern, text), expected, "{pattern} ~ {text}");
    }

    #[test]
    fn wildcards() {
        check("s*w", "shadow", true);
        check("sh?dow", "shadow", true);
        check("[a-s]hadow", "shadow", true);
        check("[!s]hadow", "shadow", false);
        check("*", "", true);
        check("a*b*c", "axxbyyc", true);
        check("a*b*c", "axxbyy", false);
        check("[", "[", true);
    }
}
