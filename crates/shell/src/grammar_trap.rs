//! Texts on which the grammar is known to panic, recognised before it sees them.

/// Descriptor numbers are read into 32 bits without a check: `99999999999>x`.
pub fn has_number_overflow(text: &str) -> bool {
    let mut digits = 0usize;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'<' | b'>' if digits > 9 => return true,
            _ => digits = 0,
        }
    }
    false
}

/// Here-documents in a text with substitutions, when the line that starts one goes on with brackets or never ends.
///
/// The tokenizer then looks for a bracket it has already taken.
pub fn has_loose_here_document(text: &str) -> bool {
    const BRACKETS: &[char] = &['(', ')', '{', '}', '[', ']', '`'];
    if !["$(", "${", "$[", "`", "<(", ">("].iter().any(|opener| text.contains(opener)) {
        return false;
    }
    let data = single_quoted(text);
    let in_data = |at: usize| data.iter().any(|(start, end)| (*start..*end).contains(&at));
    here_documents(text).into_iter().filter(|at| !in_data(*at)).take(64).any(|at| {
        let rest = text.get(at + 2..).unwrap_or_default();
        // In arithmetic `1<<2` shifts.
        if rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        // A tag that goes on behind the end of the line, and arithmetic that never ends, are read without end.
        let open_arithmetic = text.rsplit_once("$((").is_some_and(|(_, rest)| !rest.contains("))"));
        match rest.split_once('\n') {
            Some((line, _)) => line.contains(BRACKETS) || goes_on(line) || open_arithmetic,
            None => true,
        }
    })
}

/// Whether a quote is left open at the end of a line, or the end is taken away.
fn goes_on(line: &str) -> bool {
    let odd = |quote: char| line.matches(quote).count() % 2 == 1;
    odd('"') || odd('\'') || line.ends_with('\\')
}

/// Where `<<` stands that is no part of `<<<`. A backslash before it may or may not take its first sign away.
fn here_documents(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0usize;
    while let Some(next) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'<')) {
        let start = at + next;
        let run = bytes.get(start..).unwrap_or_default().iter().take_while(|byte| **byte == b'<').count();
        let escaped = start.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'\\');
        at = start + run;
        // Three are a here-string, whatever is left over is what counts.
        if run % 3 == 2 || escaped && run % 3 == 0 {
            found.push(at - 2);
        }
    }
    found
}

/// A here-document whose tag is empty once unquoted (`<<''`): at the end of a text the tokenizer waits for it for ever.
pub fn has_empty_here_tag(text: &str) -> bool {
    // Besides quotes the tokenizer drops white space that is no blank, such as a carriage return.
    const DROPPED: &[char] = &['\'', '"', '\\', '\r', '\u{b}', '\u{c}'];
    if !text.contains("<<") {
        return false;
    }
    let plain = !text.contains("$(") && !text.contains('`');
    let data = if plain { quoted(text) } else { single_quoted(text) };
    let in_data = |at: usize| data.iter().any(|(start, end)| (*start..*end).contains(&at));
    here_documents(text).into_iter().filter(|at| !in_data(*at)).any(|at| {
        let rest = text.get(at + 2..).unwrap_or_default();
        let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
        let end = |c: char| matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>');
        let tag = rest.split(end).next().unwrap_or_default();
        !tag.is_empty() && tag.trim_matches(DROPPED).is_empty()
    })
}

/// Byte ranges inside quotes of either kind, in a text without substitutions.
fn quoted(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let (mut open, mut escaped): (Option<(u8, usize)>, bool) = (None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, open) {
            (_, Some((b'"', _)) | None) if escaped => escaped = false,
            (b'\\', Some((b'"', _)) | None) => escaped = true,
            (b'\'' | b'"', None) => open = Some((byte, at)),
            (_, Some((quote, from))) if quote == byte => {
                ranges.push((from, at));
                open = None;
            }
            _ => {}
        }
    }
    ranges
}

/// Byte ranges inside single quotes, substitutions followed.
fn single_quoted(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    // Whether double quotes are open, at this level and at those around it.
    let mut outer: Vec<bool> = Vec::new();
    let (mut start, mut double, mut escaped, mut dollar) = (None, false, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, start) {
            (b'\'', Some(from)) => {
                ranges.push((from, at));
                start = None;
            }
            (_, Some(_)) => {}
            (_, None) if escaped => escaped = false,
            (b'\\', None) => escaped = true,
            (b'"', None) => double = !double,
            (b'\'', None) if !double => start = Some(at),
            (b'(', None) if dollar || !double => {
                outer.push(double);
                double = false;
            }
            (b')', None) if !double => double = outer.pop().unwrap_or(false),
            (_, None) => {}
        }
        dollar = byte == b'$';
    }
    ranges.truncate(256);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps() {
        assert!(has_number_overflow("99999999999>x"));
        assert!(!has_number_overflow("echo 99999999999 2>x"));
        for empty in [
            "cat <<''",
            "cat <<-  \"\" x ",
            "cat <<\\",
            "cat <<A <<''",
            "echo \"$(cat <<''",
            "cat <<'' <<A ",
            "cat <<\r x ",
        ] {
            assert!(has_empty_here_tag(empty), "{empty}");
        }
        for fine in ["cat <<E", "cat <<'E'\nE\n", "grep '<<' x", "grep \"<<\" x", "cat <<< ''", "echo \\\"; cat <<\\E"]
        {
            assert!(!has_empty_here_tag(fine), "{fine}");
        }
        assert!(has_loose_here_document("echo $(cat <<E)\nE\n"));
        assert!(has_loose_here_document("$(cat <<E"));
        assert!(has_loose_here_document("\\<<<$(( "));
        assert!(has_loose_here_document("x <<<<<$(( "));
        for open in ["<<\"E\n$(( ", "<<E\"\n\"$(( ", "<<\"E\n$(( \"", "<<E\\\n$(( ", "<<E\nE\n$(( "] {
            assert!(has_loose_here_document(open), "{open}");
        }
        assert!(!has_loose_here_document("cat <<E\n$((1 + 2))\nE\n"));
        assert!(!has_loose_here_document("git commit -m \"$(cat <<'E'\ntext (more)\nE\n)\""));
        assert!(!has_loose_here_document("cat <(echo 'x <<E)')"));
        assert!(!has_loose_here_document("cat <<E\n$(ls)\nE\n"));
        assert!(!has_loose_here_document("echo $((1<<2)) $(cat <<< x)"));
    }
}
