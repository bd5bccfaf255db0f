//! What was promised against what happened.

/// Compares line by line; blanks at line ends and blank lines at the end do not count, `...` stands for any lines.
pub fn matches(expected: &[String], happened: &[String]) -> bool {
    let trimmed = |lines: &[String]| -> Vec<String> {
        let mut lines: Vec<String> = lines.iter().map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    };
    lines_match(&trimmed(expected), &trimmed(happened))
}

fn lines_match(expected: &[String], happened: &[String]) -> bool {
    match (expected.split_first(), happened.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "..." => {
            (0..=happened.len()).any(|skipped| lines_match(rest, happened.get(skipped..).unwrap_or_default()))
        }
        (Some((promised, promised_rest)), Some((line, rest))) => promised == line && lines_match(promised_rest, rest),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// A unified diff: `-` was promised, `+` happened.
pub fn unified(expected: &[String], happened: &[String]) -> String {
    let lengths = common_lengths(expected, happened);
    let common = |left: usize, right: usize| lengths.get(left).and_then(|row| row.get(right)).copied().unwrap_or(0);
    let mut diff = format!("--- the page\n+++ the run\n@@ -1,{} +1,{} @@\n", expected.len(), happened.len());
    let (mut left, mut right) = (0, 0);
    loop {
        match (expected.get(left), happened.get(right)) {
            (None, None) => return diff,
            (Some(promised), Some(line)) if promised.trim_end() == line.trim_end() => {
                diff.push_str(&format!(" {line}\n"));
                left += 1;
                right += 1;
            }
            (Some(promised), next) if next.is_none() || common(left + 1, right) >= common(left, right + 1) => {
                diff.push_str(&format!("-{promised}\n"));
                left += 1;
            }
            (_, Some(line)) => {
                diff.push_str(&format!("+{line}\n"));
                right += 1;
            }
            // The arm above takes every promised line that has no counterpart.
            (Some(_), None) => left += 1,
        }
    }
}

/// For each pair of tails, how many lines they have in common in order.
fn common_lengths(expected: &[String], happened: &[String]) -> Vec<Vec<usize>> {
    let mut below = vec![0; happened.len() + 1];
    let mut rows = vec![below.clone()];
    for promised in expected.iter().rev() {
        let mut row = vec![0];
        for (index, line) in happened.iter().enumerate().rev() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(0);
            let right = row.last().copied().unwrap_or(0);
            let equal = promised.trim_end() == line.trim_end();
            row.push(if equal { at(&below, index + 1) + 1 } else { at(&below, index).max(right) });
        }
        row.reverse();
        rows.push(row.clone());
        below = row;
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_compared_exactly_except_for_blanks_behind_them() {
        let check = |expected: &str, happened: &str, same: bool| {
            assert_eq!(matches(&lines(expected), &lines(happened)), same, "{expected} / {happened}");
        };
        check("", "", true);
        check("a\nb", "a\nb", true);
        check("a", "a  \n\n", true);
        check("a\n\n", "a", true);
        check("a", " a", false);
        check("a", "a\nb", false);
        check("a\nb", "a", false);
        check("...", "", true);
        check("...", "a\nb", true);
        check("a\n...\nd", "a\nb\nc\nd", true);
        check("a\n...\nd", "a\nd", true);
        check("a\n...\nd", "a\nb\nc", false);
        check("...\nb\n...", "a\nb\nc", true);
        check("....", "a", false);
    }

    #[test]
    fn a_difference_is_shown_where_it_is() {
        let diff = unified(&lines("a\nb\nc"), &lines("a\nx\nc\nd"));
        assert_eq!(diff, "--- the page\n+++ the run\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n c\n+d\n");
    }
}
