//! Draws. Texts come in safe to print; a cell that would still hold a control character is left out by the library.

use super::keys::{Place, Screen};
use super::picture::{Opened, Picture};
use crate::terminal;
use kernel::agent::AgentStatus;
use kernel::flow::FlowState;
use kernel::outcome::Verdict;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen, colours: bool) {
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [head, body, foot] = Layout::vertical(rows).areas(frame.area());
    let paint = Paint { colours };
    frame.render_widget(Paragraph::new(headline(screen, paint)), head);
    // What is being said stands above everything else, wherever the question was scrolled to.
    let said = said(screen, paint, usize::from(body.width).max(1));
    let said_rows = u16::try_from(said.len()).unwrap_or(u16::MAX);
    let [above, body] = Layout::vertical([Constraint::Length(said_rows), Constraint::Min(0)]).areas(body);
    frame.render_widget(Paragraph::new(said), above);
    match &screen.opened {
        Some(opened) => {
            let lines = question(opened, paint, usize::from(body.width).max(1));
            let height = usize::from(body.height);
            screen.scroll_max = lines.len().saturating_sub(height);
            screen.scroll = screen.scroll.min(screen.scroll_max);
            screen.read_to_end |= screen.scroll == screen.scroll_max && height > 0;
            let shown: Vec<Line<'_>> = lines.into_iter().skip(screen.scroll).take(height).collect();
            frame.render_widget(Paragraph::new(shown), body);
        }
        None => lists(frame, screen, body, paint),
    }
    frame.render_widget(Paragraph::new(footline(screen)).style(paint.strong()), foot);
}

/// Colours, where they are wanted.
#[derive(Clone, Copy)]
struct Paint {
    colours: bool,
}

impl Paint {
    fn of(self, colour: Color) -> Style {
        let strong = self.strong();
        if self.colours { strong.fg(colour) } else { strong }
    }

    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }
}

fn headline(screen: &Screen, paint: Paint) -> Line<'static> {
    let picture = &screen.picture;
    let mut spans = vec![
        Span::styled("writkeeper top", paint.strong()),
        Span::raw(format!("  {}  {}", terminal::at(picture.at), terminal::counted(picture.entries, "entry"))),
    ];
    if let Some(halted) = &picture.halted {
        spans.push(Span::styled(format!("  HALTED by {halted}"), paint.of(Color::Red)));
    }
    if let Some(problem) = &screen.problem {
        spans.push(Span::styled(format!("  {problem}"), paint.of(Color::Red)));
    }
    Line::from(spans)
}

fn footline(screen: &Screen) -> String {
    if let Some(hint) = &screen.hint {
        return hint.clone();
    }
    match &screen.place {
        Place::Watching => "up/down select   Enter read   q quit".to_owned(),
        Place::Reading => "up/down Space scroll   o override   a abort   m modify   Esc back".to_owned(),
        Place::Writing(..) => "Enter go on   Esc back".to_owned(),
        Place::Confirming(..) => "y send it   any other key: do not".to_owned(),
        Place::Told(_) => "any key: back to the lists".to_owned(),
    }
}

fn lists(frame: &mut Frame<'_>, screen: &Screen, area: Rect, paint: Paint) {
    let picture = &screen.picture;
    let waiting = u16::try_from(picture.questions.len()).unwrap_or(u16::MAX).saturating_add(1);
    // Questions come first and get half the screen at most; what nobody waits for shares the rest.
    let rows = [Constraint::Length(waiting.clamp(2, (area.height / 2).max(2))), Constraint::Min(1)];
    let [top, rest] = Layout::vertical(rows).areas(area);
    questions(frame, screen, top, paint);
    let [above, verdicts] = Layout::vertical([Constraint::Percentage(45), Constraint::Min(1)]).areas(rest);
    let [agents, flows] = Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(above);
    // Where something is watched, it stands below the agents that it watches.
    let watched = u16::try_from(picture.monitors.len()).unwrap_or(u16::MAX);
    let watched = if watched == 0 { 0 } else { watched.saturating_add(1).min(agents.height / 2) };
    let [agents, monitors] = Layout::vertical([Constraint::Min(1), Constraint::Length(watched)]).areas(agents);
    list(frame, agents, agents_title(picture), agent_lines(picture, paint), paint);
    if watched > 0 {
        let title = format!("monitors: {}", picture.monitors.len());
        list(frame, monitors, title, monitor_lines(picture, paint), paint);
    }
    list(frame, flows, "flows".to_owned(), flow_lines(picture, paint), paint);
    list(frame, verdicts, "verdicts".to_owned(), verdict_lines(picture, paint), paint);
}

fn list(frame: &mut Frame<'_>, area: Rect, title: String, lines: Vec<Line<'static>>, paint: Paint) {
    let block = Block::new().borders(Borders::TOP).title(Span::styled(title, paint.strong()));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn questions(frame: &mut Frame<'_>, screen: &Screen, area: Rect, paint: Paint) {
    let picture = &screen.picture;
    let title = format!("waiting for people: {}", picture.questions.len());
    let selected = screen.selected_place();
    let fits = usize::from(area.height.saturating_sub(1)).max(1);
    let first = selected.map_or(0, |place| (place + 1).saturating_sub(fits));
    let lines = picture.questions.iter().enumerate().skip(first).take(fits).map(|(place, line)| {
        let mark = if Some(place) == selected { "> " } else { "  " };
        let style = if Some(place) == selected { paint.strong() } else { Style::new() };
        Line::from(vec![
            Span::styled(format!("{mark}{}  ", line.short), style),
            Span::styled(format!("{:<8} ", line.impact), paint.of(Color::Yellow)),
            Span::styled(format!("{} {}  {}  ", line.agent, line.action, line.params), style),
            Span::styled(format!("{}; {}", line.reasons, line.left), paint.faint()),
        ])
    });
    let mut lines: Vec<Line<'static>> = lines.collect();
    if lines.is_empty() {
        lines.push(Line::styled("  nothing waits for an answer", paint.faint()));
    }
    list(frame, area, title, lines, paint);
}

fn agents_title(picture: &Picture) -> String {
    let more = if picture.more_agents { "+" } else { "" };
    format!("agents: {}{more}", picture.agents.len())
}

fn agent_lines(picture: &Picture, paint: Paint) -> Vec<Line<'static>> {
    let lines = picture.agents.iter().map(|line| {
        let colour = match line.status {
            AgentStatus::Active => Color::Green,
            AgentStatus::Suspended | AgentStatus::Retired => Color::Red,
            AgentStatus::Registered | AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Passive => {
                Color::Yellow
            }
        };
        let [accepted, rejected, escalated] = line.counts;
        Line::from(vec![
            Span::raw(format!("  {:<16} ", line.name)),
            Span::styled(line.status.word(), paint.of(colour)),
            Span::raw(format!("  +{accepted} -{rejected} ?{escalated}  ")),
            Span::styled(line.because.clone(), paint.faint()),
        ])
    });
    lines.collect()
}

fn monitor_lines(picture: &Picture, paint: Paint) -> Vec<Line<'static>> {
    let lines = picture.monitors.iter().map(|line| {
        let colour = if line.is_tripped { Color::Red } else { Color::Green };
        Line::from(vec![
            Span::raw(format!("  {:<20} ", line.name)),
            Span::styled(line.chart.clone(), paint.of(colour)),
            Span::styled(format!(" {}", line.reading), paint.faint()),
        ])
    });
    lines.collect()
}

fn flow_lines(picture: &Picture, paint: Paint) -> Vec<Line<'static>> {
    let lines = picture.flows.iter().map(|line| {
        let colour = match line.state {
            FlowState::Open => Color::Green,
            FlowState::Closed => Color::Gray,
            FlowState::Aborted => Color::Red,
        };
        let short: String = line.name.chars().take(18).collect();
        Line::from(vec![
            Span::raw(format!("  {short:<18} ")),
            Span::styled(line.state.word(), paint.of(colour)),
            Span::raw(format!(
                "  {}  {}, {} rejected",
                line.agent,
                terminal::counted(line.steps, "proposal"),
                line.rejected
            )),
        ])
    });
    lines.collect()
}

fn verdict_lines(picture: &Picture, paint: Paint) -> Vec<Line<'static>> {
    let lines = picture.verdicts.iter().map(|line| {
        let colour = match line.verdict {
            Verdict::Accept => Color::Green,
            Verdict::Reject => Color::Red,
            Verdict::Escalate => Color::Yellow,
        };
        let observed = if line.observed { " (observed only)" } else { "" };
        Line::from(vec![
            Span::styled(format!("  {}  ", terminal::at(line.at)), paint.faint()),
            Span::styled(format!("{:<8} ", line.verdict.word()), paint.of(colour)),
            Span::raw(format!("{} {}  {}{observed}", line.agent, line.action, line.reasons)),
        ])
    });
    lines.collect()
}

/// The question from its first line to the digest.
fn question(opened: &Opened, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(format!("question {}", kernel::finding::visible(&opened.name)), paint.strong())];
    let what = if opened.withheld { "these bytes, with what is withheld here," } else { "exactly these bytes" };
    let mut add = |text: &str| lines.extend(wrapped(text, width).into_iter().map(Line::from));
    opened.facts.iter().for_each(|fact| add(&format!("  {fact}")));
    add("");
    add(&opened.bytes);
    add("");
    add(&format!("an answer counts for {what} under the contract in force:"));
    add(&format!("digest {}", opened.digest));
    opened.elsewhere.iter().for_each(|elsewhere| add(elsewhere));
    lines
}

/// What is being said to the question, or came of it.
fn said(screen: &Screen, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let mut said = match &screen.place {
        Place::Writing(decision, reason) => vec![format!("{} because: {reason}_", decision.word())],
        Place::Confirming(decision, reason) => {
            let person = screen.person.as_deref().unwrap_or_default();
            let digest = screen.opened.as_ref().map(|opened| opened.digest.to_string()).unwrap_or_default();
            vec![
                format!("{} as {person} because: {reason}", decision.word()),
                format!("for digest {digest}"),
                "send it? y".to_owned(),
            ]
        }
        Place::Told(told) => told.clone(),
        Place::Watching | Place::Reading => return Vec::new(),
    };
    said.push(String::new());
    let lines = said.iter().flat_map(|line| wrapped(line, width));
    lines.map(|line| Line::styled(line, paint.of(Color::Yellow))).collect()
}

/// Lines that fit: every character is shown, none is cut off at the edge.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for letter in text.chars() {
        let mut buffer = [0; 4];
        let wide = Span::raw(&*letter.encode_utf8(&mut buffer)).width();
        if used + wide > width && used > 0 {
            lines.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(line) = lines.last_mut() {
            line.push(letter);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn no_character_is_lost_at_the_edge() {
        for (text, width, expected) in [
            ("abcdef", 4, vec!["abcd", "ef"]),
            ("ab", 4, vec!["ab"]),
            ("", 4, vec![""]),
            ("\u{6f22}\u{5b57}x", 3, vec!["\u{6f22}", "\u{5b57}x"]),
            ("\u{6f22}", 1, vec!["\u{6f22}"]),
        ] {
            assert_eq!(wrapped(text, width), expected, "{text} {width}");
        }
    }
}
