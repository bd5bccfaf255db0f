//! The picture on the first screen of the README: the way of a proposal, drawn from a table.

use super::Page;
use anyhow::Result;
use std::fmt::Write;

/// A box: where its upper left corner lies, how wide it is, its colour, its title and what it does.
struct Station {
    at: (u32, u32),
    width: u32,
    colour: &'static str,
    title: &'static str,
    lines: &'static [&'static str],
}

const HEIGHT: u32 = 92;

const INK: &str = "#1f2933";
const BLUE: &str = "#e3eefc";
const GREEN: &str = "#e0f5e6";
const RED: &str = "#fde6e6";
const AMBER: &str = "#fff3d6";
const GREY: &str = "#eef1f4";

const STATIONS: &[Station] = &[
    Station {
        at: (20, 150),
        width: 150,
        colour: GREY,
        title: "Agent",
        lines: &["proposes an action", "and its params"],
    },
    Station {
        at: (230, 150),
        width: 190,
        colour: BLUE,
        title: "Kernel",
        lines: &["contract, limits, budgets,", "drift, policies, effect key"],
    },
    Station {
        at: (490, 20),
        width: 190,
        colour: GREEN,
        title: "ACCEPT",
        lines: &["budgets taken, one intent", "per effect key"],
    },
    Station {
        at: (490, 150),
        width: 190,
        colour: AMBER,
        title: "ESCALATE",
        lines: &["a person sees the exact", "bytes and answers once"],
    },
    Station {
        at: (490, 280),
        width: 190,
        colour: RED,
        title: "REJECT",
        lines: &["every reason has a code", "and says what to do"],
    },
    Station {
        at: (750, 20),
        width: 190,
        colour: GREEN,
        title: "Executor",
        lines: &["marked before it is sent,", "settled by what came back"],
    },
    Station {
        at: (750, 150),
        width: 190,
        colour: AMBER,
        title: "In doubt?",
        lines: &["never repeated blindly:", "key, fence or a person"],
    },
    Station {
        at: (230, 400),
        width: 710,
        colour: GREY,
        title: "Ledger",
        lines: &["every decision, answer and outcome: signed, replayable byte for byte, verifiable offline"],
    },
];

/// What is written beside an arrow, and where.
type Label = (&'static str, u32, u32);

/// A line through these points.
type Arrow = (&'static [(u32, u32)], Option<Label>);

/// Arrows: the points they pass, and what stands beside them.
const ARROWS: &[Arrow] = &[
    (&[(170, 196), (230, 196)], None),
    (&[(420, 180), (455, 180), (455, 66), (490, 66)], None),
    (&[(420, 196), (490, 196)], None),
    (&[(420, 212), (455, 212), (455, 326), (490, 326)], None),
    (&[(680, 66), (750, 66)], Some(("intent", 698, 58))),
    (&[(585, 150), (585, 112)], Some(("approved", 592, 136))),
    (&[(845, 112), (845, 150)], Some(("no answer", 852, 136))),
    (&[(490, 346), (95, 346), (95, 242)], Some(("reasons a model can act on", 120, 338))),
    (&[(325, 242), (325, 400)], None),
    (&[(845, 242), (845, 400)], None),
];

/// The picture.
pub fn pages() -> Result<Vec<Page>> {
    Ok(vec![Page { file: "way-of-a-proposal.svg".to_owned(), text: draw()? }])
}

fn draw() -> Result<String> {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 512\" role=\"img\" \
         aria-label=\"The way of a proposal\" font-family=\"system-ui, sans-serif\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#52606d\"/></marker></defs>\n\
         <rect width=\"960\" height=\"512\" rx=\"12\" fill=\"#ffffff\"/>\n",
    );
    for (points, label) in ARROWS {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#52606d\" stroke-width=\"1.6\" marker-end=\"url(#tip)\"/>",
            path.join(" ")
        )?;
        if let Some((text, x, y)) = label {
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"12\" fill=\"#52606d\">{text}</text>")?;
        }
    }
    for Station { at: (x, y), width, colour, title, lines } in STATIONS {
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"{colour}\" \
             stroke=\"#9aa5b1\"/>"
        )?;
        let middle = x + width / 2;
        writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" font-size=\"16\" font-weight=\"600\" text-anchor=\"middle\" \
             fill=\"{INK}\">{title}</text>",
            y + 32
        )?;
        for (line, below) in lines.iter().zip([54_u32, 72]) {
            writeln!(
                svg,
                "<text x=\"{middle}\" y=\"{}\" font-size=\"13\" text-anchor=\"middle\" fill=\"{INK}\">{line}</text>",
                y + below
            )?;
        }
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}
