//! The difference of two small texts, line by line, as people read it.

/// Lines shown around a change.
const CONTEXT: usize = 2;

/// Texts longer than this are not compared line by line.
const LINES_MAX: usize = 4_000;

/// Lines of `old` and `new`, each with a mark; unchanged stretches are left out. Empty if nothing changed.
pub fn diff(old: &str, new: &str) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() > LINES_MAX || new.len() > LINES_MAX {
        return vec![format!("~ {} lines become {}", old.len(), new.len())];
    }
    shown(&marked(&old, &new))
}

/// Every line with ` `, `-` or `+`: the common beginning and end first, the longest common lines in between.
fn marked<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let head = old.iter().zip(new).take_while(|(left, right)| left == right).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(left, right)| left == right).count();
    let middle = |lines: &'_ [&'t str]| lines.get(..lines.len().saturating_sub(tail)).unwrap_or_default().to_vec();
    let (left, right) = (middle(old_rest), middle(new_rest));
    let mut lines: Vec<(char, &str)> = old.iter().take(head).map(|line| (' ', *line)).collect();
    lines.extend(between(&left, &right));
    lines.extend(old.iter().skip(old.len().saturating_sub(tail)).map(|line| (' ', *line)));
    lines
}

fn between<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or(0);
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            let length = if left == right {
                at(&lengths, row + 1, column + 1) + 1
            } else {
                at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
            };
            if let Some(cell) = lengths.get_mut(row * width + column) {
                *cell = length;
            }
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                lines.push((' ', *left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right)
                if right.is_none() || at(&lengths, row + 1, column) >= at(&lengths, row, column + 1) =>
            {
                lines.push(('-', *left));
                row += 1;
            }
            (_, Some(right)) => {
                lines.push(('+', *right));
                column += 1;
            }
            (_, None) => return lines,
        }
    }
}

fn shown(lines: &[(char, &str)]) -> Vec<String> {
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, (mark, _))| *mark != ' ').map(|(index, _)| index).collect();
    let near = |index: usize| changed.iter().any(|other| other.abs_diff(index) <= CONTEXT);
    let mut out = Vec::new();
    let mut skipped = false;
    for (index, (mark, line)) in lines.iter().enumerate() {
        if near(index) {
            out.push(format!("{mark} {line}"));
            skipped = false;
        } else if !skipped {
            out.push("  …".to_owned());
            skipped = true;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_stand_out() {
        assert!(diff("a\nb", "a\nb").is_empty());
        assert_eq!(diff("", "a\nb"), ["+ a", "+ b"]);
        assert_eq!(diff("a\nb\nc", "a\nx\nc"), ["  a", "- b", "+ x", "  c"]);
        assert_eq!(diff("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\n6\n7"), ["  …", "  5", "  6", "+ 7"]);
        assert_eq!(diff("a\nb\nc\nd", "b\nd\ne"), ["- a", "  b", "- c", "  d", "+ e"]);
    }
}
