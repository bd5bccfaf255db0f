//! Quoted here-documents inside of a substitution inside of quotes, which the grammar takes for open quotes.

use crate::mark;

/// How often the form is looked for in one text.
const FORMS_MAX: usize = 4;

/// Where the form begins.
const OPENING: &str = "\"$(cat <<";

/// The text with `"$(cat <<'WORD' … WORD )"` written as `"$(cat <<< '…')"`, if there is one to write so.
///
/// Both hand the same bytes to the same `cat`, and the substitution takes the last newlines away from both. What the name
/// `cat` means is left to be judged. The form counts only where it is certain that the shell is outside of quotes.
pub(super) fn as_here_strings(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut confuses = false;
    for _ in 0..FORMS_MAX {
        let Some((before, form)) = rest.find(OPENING).and_then(|at| rest.split_at_checked(at)) else { break };
        let Some((body, after)) = is_outside_of_quotes(before).then(|| document(form)).flatten() else { break };
        out.push_str(before);
        out.push_str("\"$(cat <<< '");
        out.push_str(&body.replace('\'', "'\\''"));
        out.push_str("')\"");
        confuses |= body.contains(['\'', '"', '`', '(', ')', '\\']);
        rest = after;
    }
    // Bodies of plain words are read well as they are, and keep their places in the text.
    if !confuses {
        return None;
    }
    out.push_str(rest);
    Some(out)
}

/// Whether a text of plain characters and closed, plain quotes ends outside of quotes. Anything else is not certain.
fn is_outside_of_quotes(text: &str) -> bool {
    let mut open: Option<char> = None;
    for c in text.chars() {
        match open {
            Some(quote) if c == quote => open = None,
            Some('\'') => {}
            Some(_) if matches!(c, '$' | '`' | '\\') => return false,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => open = Some(c),
            None => {
                let is_plain = c.is_ascii_alphanumeric() || " \t\n_./:=@%+,&|;-".contains(c);
                if !is_plain {
                    return false;
                }
            }
        }
    }
    open.is_none()
}

/// The value of the form at the start of the text, and what stands behind it.
fn document(form: &str) -> Option<(&str, &str)> {
    let tagged = form.strip_prefix(OPENING)?;
    let (tag, inside) = tagged.split_once('\n')?;
    let quoted = |quote: char| tag.strip_prefix(quote).and_then(|tag| tag.strip_suffix(quote));
    // Without quotes around the word the body would be expanded.
    let word = quoted('\'').or_else(|| quoted('"')).or_else(|| tag.strip_prefix('\\'))?;
    if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let mut length = 0usize;
    for line in inside.split_inclusive('\n') {
        if line.strip_suffix('\n') == Some(word) {
            let body = inside.get(..length)?.trim_end_matches('\n');
            let behind = inside.get(length + line.len()..)?;
            let after = behind.trim_start_matches([' ', '\t', '\n']).strip_prefix(")\"")?;
            return mark::is_literal(body).then_some((body, after));
        }
        length += line.len();
    }
    None
}
