//! What a person sees: colours only on a terminal, errors in one place.

use anstyle::{AnsiColor, Style};

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

/// One line on standard error.
pub fn error(message: &str) {
    anstream::eprintln!("{}: {message}", paint(BAD, "error"));
}

/// One line on standard error.
pub fn note(message: &str) {
    anstream::eprintln!("{}: {message}", paint(ATTENTION, "note"));
}
