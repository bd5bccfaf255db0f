//! What a person sees: colours only on a terminal, errors in one place.

use anstyle::{AnsiColor, Style};
use std::io::Write;

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

/// One line on standard error.
pub fn note(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}: {message}", paint(ATTENTION, "note"));
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
