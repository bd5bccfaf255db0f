//! Two plots above each other: what the agent did, and what the monitor made of it.

use super::judged::{Judged, Step};
use anyhow::Result;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 930.0;

const INK: &str = "#1f2933";
const FAINT: &str = "#52606d";
const BLUE: &str = "#2563a8";
const RED: &str = "#b42318";
const HEALTHY: &str = "#eaf6ee";

/// A plot: its upper and lower edge, and the largest number in it; the smallest is none.
struct Frame {
    top: f64,
    bottom: f64,
    most: f64,
    steps: usize,
}

impl Frame {
    fn x(&self, step: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * (step as f64 + 0.5) / self.steps as f64
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * value / self.most
    }
}

/// Draws a sample: the bound of the contract in the upper half, that of the monitor in the lower.
pub fn draw(title: &str, judged: &Judged, upper: (&str, f64, &str), lower: &str) -> Result<String> {
    let (name, limit, words) = upper;
    let most = judged.steps.iter().map(|step| step.value).fold(limit, f64::max) * 1.12;
    let statistics = judged.steps.iter().filter_map(|step| step.statistic);
    let height = statistics.fold(judged.bound, f64::max) * 1.25;
    let steps = judged.steps.len();
    let above = Frame { top: 56.0, bottom: 226.0, most, steps };
    let below = Frame { top: 262.0, bottom: 392.0, most: height, steps };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 432\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"432\" rx=\"12\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"17\" font-weight=\"600\" fill=\"{INK}\">{title}</text>\n"
    );
    for frame in [&above, &below] {
        ground(&mut svg, frame, judged.healthy)?;
    }
    write_text(&mut svg, (LEFT + 6.0, 72.0), FAINT, "start", "healthy")?;
    write_text(&mut svg, (LEFT, 48.0), INK, "start", name)?;
    write_text(&mut svg, (LEFT, 254.0), INK, "start", lower)?;
    bound(&mut svg, &above, limit, words)?;
    bound(&mut svg, &below, judged.bound, "the monitor's bound")?;
    for (number, step) in judged.steps.iter().enumerate() {
        let (fill, stroke) = if step.accepted { (BLUE, BLUE) } else { ("#ffffff", RED) };
        let (x, y) = (above.x(number), above.y(step.value));
        writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.6\"/>"
        )?;
    }
    line(&mut svg, &below, &judged.steps)?;
    alarm(&mut svg, (&above, &below), judged.tripped)?;
    for step in [0, judged.healthy.saturating_sub(1), judged.tripped.saturating_sub(1)] {
        write_text(&mut svg, (below.x(step), 410.0), FAINT, "middle", &(step + 1).to_string())?;
    }
    write_text(&mut svg, (RIGHT, 425.0), FAINT, "end", "decision")?;
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn write_text(svg: &mut String, (x, y): (f64, f64), colour: &str, anchor: &str, text: &str) -> Result<()> {
    Ok(writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\" text-anchor=\"{anchor}\">{text}</text>")?)
}

/// The healthy half, and the axes.
fn ground(svg: &mut String, frame: &Frame, healthy: usize) -> Result<()> {
    let (top, bottom) = (frame.top, frame.bottom);
    let end = LEFT + (RIGHT - LEFT) * healthy as f64 / frame.steps as f64;
    let (width, height) = (end - LEFT, bottom - top);
    writeln!(svg, "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{HEALTHY}\"/>")?;
    writeln!(
        svg,
        "<polyline points=\"{LEFT},{top} {LEFT},{bottom} {RIGHT},{bottom}\" fill=\"none\" stroke=\"{FAINT}\"/>"
    )?;
    write_text(svg, (LEFT - 8.0, bottom + 4.0), FAINT, "end", "0")
}

fn bound(svg: &mut String, frame: &Frame, value: f64, words: &str) -> Result<()> {
    let y = frame.y(value);
    writeln!(
        svg,
        "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\" stroke=\"{FAINT}\" stroke-dasharray=\"6 4\"/>"
    )?;
    write_text(svg, (LEFT - 8.0, y + 4.0), FAINT, "end", &format!("{value}"))?;
    // In the middle nothing else is as high.
    write_text(svg, ((LEFT + RIGHT) / 2.0, y - 6.0), FAINT, "middle", words)
}

/// What the monitor measured.
fn line(svg: &mut String, frame: &Frame, steps: &[Step]) -> Result<()> {
    let measured = steps.iter().enumerate().filter_map(|(number, step)| Some((number, step.statistic?)));
    let points: Vec<String> =
        measured.map(|(number, value)| format!("{:.1},{:.1}", frame.x(number), frame.y(value))).collect();
    Ok(writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"2\"/>", points.join(" "))?)
}

/// The step of the alarm, through both plots.
fn alarm(svg: &mut String, (above, below): (&Frame, &Frame), tripped: usize) -> Result<()> {
    let (x, top, bottom) = (above.x(tripped.saturating_sub(1)), above.top - 8.0, below.bottom);
    writeln!(
        svg,
        "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"{RED}\" stroke-width=\"1.6\"/>"
    )?;
    write_text(svg, (x - 6.0, top), RED, "end", &format!("alarm at {tripped}: suspended"))
}
