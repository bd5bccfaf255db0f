//! Diagnostics of contracts, underlined where they stand, or as JSON.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use contract::source::{Diagnostic, Severity};
use kernel::finding::visible;
use std::io::Write;
use std::path::Path;
use values::json::Json;

/// Prints diagnostics to standard error, the file's own lines beside them.
pub fn print(path: &Path, text: &str, diagnostics: &[Diagnostic]) {
    let name = path.display().to_string();
    for diagnostic in diagnostics {
        let _ = writeln!(anstream::stderr(), "{}\n", render(&name, text, diagnostic));
    }
}

fn render(name: &str, text: &str, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error | Severity::Inert => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = visible(&diagnostic.message);
    let title = level.primary_title(message).id(diagnostic.code);
    let boundary = text.is_char_boundary(diagnostic.place.start.min(text.len()));
    let placed = diagnostic.place.line > 0 && diagnostic.place.end <= text.len() && boundary;
    let mut group = if placed {
        let start = diagnostic.place.start.min(text.len());
        let end = first_line_end(text, start, diagnostic.place.end);
        let annotation = AnnotationKind::Primary.span(start..end);
        title.element(Snippet::source(text).path(name).annotation(annotation))
    } else {
        let place = visible(&format!("{name}: {}", diagnostic.path));
        title.element(Level::NOTE.message(place))
    };
    if let Some(help) = help(diagnostic) {
        group = group.element(Level::HELP.message(visible(&help)));
    }
    Renderer::styled().render(&[group])
}

/// What to do; which flag accepts a key that does nothing is the command line's own business.
fn help(diagnostic: &Diagnostic) -> Option<String> {
    let help = diagnostic.help.as_ref()?;
    Some(match diagnostic.code {
        "NOT_ENFORCED_YET" => format!("{help}: `--allow-inert`"),
        _ => help.clone(),
    })
}

/// A value may span many lines; pointing at its first is enough.
fn first_line_end(text: &str, start: usize, end: usize) -> usize {
    let covered = text.get(start..end).unwrap_or_default();
    let first = covered.lines().next().unwrap_or_default().trim_end();
    // Nothing to underline: then the character that stands there, whole, if one does.
    let letter = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    start + if first.is_empty() { letter } else { first.len() }
}

/// The diagnostics as JSON.
pub fn to_json(diagnostics: &[Diagnostic]) -> Json {
    Json::List(diagnostics.iter().map(one).collect())
}

fn one(diagnostic: &Diagnostic) -> Json {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Inert => "inert",
        Severity::Warning => "warning",
    };
    Json::object([
        ("code", Json::text(diagnostic.code)),
        ("severity", Json::text(severity)),
        ("path", Json::text(diagnostic.path.as_str())),
        ("line", Json::from(diagnostic.place.line as u64)),
        ("column", Json::from(diagnostic.place.column as u64)),
        ("message", Json::text(diagnostic.message.as_str())),
        ("help", Json::from(help(diagnostic))),
    ])
}
