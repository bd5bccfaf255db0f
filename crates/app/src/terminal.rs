//! What a person sees: colours only on a terminal, errors in one place.

use anstyle::{AnsiColor, Style};
use std::io::Write;
use values::json::{Json, Object};
use values::time::Instant;

pub use values::count::counted;

/// Good news.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Bad news.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Needs attention.
pub const ATTENTION: Style = AnsiColor::Yellow.on_default().bold();
/// Less important.
pub const FAINT: Style = Style::new().dimmed();
/// Important.
pub const STRONG: Style = Style::new().bold();

/// Paints a text; the stream strips it where nobody can see colours.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The colour of a verdict.
pub fn verdict_style(verdict: &str) -> Style {
    match verdict {
        "ACCEPT" => GOOD,
        "REJECT" => BAD,
        _ => ATTENTION,
    }
}

/// One line on standard error; where nobody can read it, nothing is lost.
pub fn error(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}: {message}", paint(BAD, "error"));
}

/// One line on standard error for a program; standard output holds results only.
pub fn error_json(error: &Json) {
    let _ = writeln!(std::io::stderr(), "{}", error.to_canonical());
}

/// What someone typed, as a sentence may repeat it: not longer than it helps, and nothing that moves a cursor.
pub fn echo(text: &str) -> String {
    kernel::finding::shown(&Json::text(text))
}

/// Params as a person can tell them apart: text in quotes, so that no value looks like another param.
pub fn params(members: &Object) -> String {
    let shown = members.iter().map(|(name, value)| format!("{}={}", param_name(name), param(value)));
    shown.collect::<Vec<_>>().join(" ")
}

/// A value as JSON, cut where it gets long.
pub fn param(value: &Json) -> String {
    echo(&value.to_canonical())
}

/// A name that could be read as more than a name is quoted.
pub fn param_name(name: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(plain) { echo(name) } else { param(&Json::text(name)) }
}

/// One line on standard error.
pub fn note(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}: {message}", paint(ATTENTION, "note"));
}

/// Says so if a list ends before all that fits was listed; to a program on standard error, as everything that is no result.
pub fn cut_short(listed: usize, all: usize, json: bool) -> anyhow::Result<()> {
    if listed >= all {
        return Ok(());
    }
    if json {
        let count = |count: usize| Json::from(u64::try_from(count).unwrap_or(u64::MAX));
        let told = [("listed", count(listed)), ("of", count(all)), ("fix", Json::text("add --all, or --limit N"))];
        error_json(&Json::object(told));
        return Ok(());
    }
    write_line(format_args!("{}", paint(FAINT, format!("{listed} of {all}; --all or --limit N shows more"))))?;
    Ok(())
}

/// A cell that is longer than this does not widen its column: one long value must not push all others off the screen.
const CELL_CHARS_MAX: usize = 40;

/// Rows whose cells stand below each other.
pub fn aligned<const N: usize>(mut rows: Vec<[String; N]>) -> Vec<[String; N]> {
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(CELL_CHARS_MAX));
        }
    }
    for row in &mut rows {
        for (width, cell) in widths.iter().zip(row) {
            let missing = width.saturating_sub(cell.chars().count());
            cell.push_str(&" ".repeat(missing));
        }
    }
    rows
}

/// A time as people say it, in one unit.
pub fn span(seconds: i64) -> String {
    const UNITS: [(i64, i64, &str); 4] =
        [(2 * 31_557_600, 31_557_600, " years"), (2 * 86_400, 86_400, "d"), (2 * 3_600, 3_600, "h"), (60, 60, "m")];
    let unit = UNITS.iter().find(|(from, ..)| seconds >= *from);
    unit.map_or_else(|| format!("{seconds}s"), |(_, unit, name)| format!("{}{name}", seconds / unit))
}

/// JSON as people read it: one member a line. What moves a cursor is made visible.
pub fn pretty(json: &Json) -> String {
    let mut text = String::new();
    write_pretty(json, 0, &mut text);
    text
}

fn write_pretty(json: &Json, depth: usize, text: &mut String) {
    let plain = |json: &Json| kernel::finding::visible(&json.to_canonical());
    let (open, close, items): (&str, &str, Vec<(String, &Json)>) = match json {
        Json::Object(members) if !members.is_empty() => {
            let named = members.iter().map(|(name, value)| (format!("{}: ", plain(&Json::text(name.as_str()))), value));
            ("{", "}", named.collect())
        }
        Json::List(values) if !values.is_empty() => {
            ("[", "]", values.iter().map(|value| (String::new(), value)).collect())
        }
        Json::Object(_) | Json::List(_) | Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {
            return text.push_str(&plain(json));
        }
    };
    text.push_str(open);
    for (index, (name, value)) in items.into_iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        text.push_str(&name);
        write_pretty(value, depth + 1, text);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push_str(close);
}

/// An instant as people read it: UTC, whole seconds, and every flag takes it back.
pub fn at(instant: Instant) -> String {
    const SECOND: i64 = 1_000_000;
    Instant::from_micros(instant.micros().div_euclid(SECOND).saturating_mul(SECOND)).to_string()
}

/// The same of an instant that a record holds as text.
pub fn at_text(text: &str) -> String {
    Instant::parse(text).map_or_else(|| text.to_owned(), at)
}

/// A line for a person on standard output; colours only where they can be seen.
pub fn write_line(text: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    let mut output = anstream::stdout();
    output.write_fmt(text)?;
    output.write_all(b"\n")
}

/// Bytes for a program on standard output, exactly as they are.
pub fn write_data(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// A line for a person; the error goes to the caller.
macro_rules! say {
    () => { $crate::terminal::write_line(format_args!(""))? };
    ($($form:tt)+) => { $crate::terminal::write_line(format_args!($($form)+))? };
}
pub(crate) use say;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other_unless_one_is_too_long() {
        let rows = |first: &str| aligned(vec![[first.to_owned(), "x".to_owned()], ["ü".to_owned(), "yy".to_owned()]]);
        assert_eq!(rows("abc"), [["abc", "x "], ["ü  ", "yy"]]);
        let long = "a".repeat(50);
        assert_eq!(rows(&long), [[long.clone(), "x ".to_owned()], [format!("{:<40}", "ü"), "yy".to_owned()]]);
    }

    #[test]
    fn a_time_is_told_in_a_unit_that_reads_well() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (7_199, "119m"),
            (7_200, "2h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (63_115_199, "730d"),
            (315_359_999, "9 years"),
        ] {
            assert_eq!(span(seconds), expected);
        }
    }
}
