//! `writkeeper explain --shell`: what a command would do, with the part that decides it underlined.

use crate::commands::shell::Place;
use crate::exit::Exit;
use crate::terminal::say;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, paint};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use shell::{Class, Classification, classify};

/// Explains one command. The exit code is that of a verdict: 0 harmless, 1 catastrophic, 2 worth a question.
pub fn run(command: &str, json: bool) -> anyhow::Result<Exit> {
    let place = Place::of(None, std::env::var("HOME").ok());
    let answer = classify(command, &place.view());
    if json {
        say!("{}", serde_json::to_string(&answer)?);
    } else {
        print(command, &answer)?;
    }
    Ok(match answer.class {
        Class::Read | Class::Write => Exit::Fine,
        Class::Unknown | Class::Destructive => Exit::Escalated,
        Class::Catastrophic => Exit::Rejected,
    })
}

fn print(command: &str, answer: &Classification) -> anyhow::Result<()> {
    let style = match answer.class {
        Class::Read | Class::Write => GOOD,
        Class::Unknown | Class::Destructive => ATTENTION,
        Class::Catastrophic => BAD,
    };
    let capabilities: Vec<&str> = answer.capabilities.iter().map(|capability| capability.name()).collect();
    let separator = if capabilities.is_empty() { "" } else { "  " };
    say!("{}{separator}{}", paint(style, answer.class.name()), paint(FAINT, capabilities.join(", ")));
    // Hostile text is shown as text: a command may carry control characters of its own.
    let shown: String =
        command.chars().map(|letter| if letter.is_control() && letter != '\n' { ' ' } else { letter }).collect();
    if !answer.reasons.is_empty() && shown.len() == command.len() {
        let annotations = answer.reasons.iter().map(|reason| {
            let end = reason.span.end.min(shown.len());
            let start = reason.span.start.min(end);
            AnnotationKind::Primary.span(start..end).label(reason.sentence.as_str())
        });
        let snippet = Snippet::source(shown.as_str()).annotations(annotations);
        let group = Level::NOTE.primary_title("what it would do").element(snippet);
        say!("{}", Renderer::styled().render(&[group]));
    }
    paths("reads", &answer.reads)?;
    paths("writes", &answer.writes)?;
    Ok(())
}

fn paths(title: &str, paths: &[shell::Path]) -> anyhow::Result<()> {
    for path in paths {
        say!("  {} {path}", paint(STRONG, format!("{title:<6}")));
    }
    Ok(())
}
