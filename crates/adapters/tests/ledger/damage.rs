//! Thousands of ways to damage an export: every one is noticed, and its place is named rightly.

use crate::site::{Desk, Folder, exported};
use adapters::signer_file::FileSigner;
use ledger::audit::{Damage, Place};
use ledger::merkle::TreeHash;
use runtime::verify::LineAudit;
use std::ops::Range;

const ENTRIES: u64 = 5_000;
const FLIPS: usize = 10_000;
const SWAPS: usize = 1_000;
const CUTS: usize = 1_000;

/// Lines between two remembered states of the verifier.
const STRIDE: usize = 16;

/// One line of the export.
#[derive(Clone)]
enum Line {
    Header,
    Hashes { first: u64 },
    Entry(u64),
}

struct Export {
    bytes: Vec<u8>,
    lines: Vec<(Range<usize>, Line)>,
    /// The verifier as it stands before a line: it reads strictly forwards, so behind an intact beginning it is always
    /// in this very state. `resuming_is_the_same_as_starting` holds it to that.
    states: Vec<LineAudit>,
}

/// A small generator of our own: the same damage in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

impl Export {
    fn new() -> Export {
        let desk = Desk::new();
        let folder = Folder::new();
        let mut signer = FileSigner::create(&folder.join("keys"), "log.example/damage/0").unwrap();
        // Three checkpoints, one of them at the edge of a tile.
        for size in [300, 2_560, ENTRIES] {
            desk.fill(size);
            exported(&desk, &mut signer);
        }
        let bytes = exported(&desk, &mut signer);
        let (mut lines, mut start, mut next) = (Vec::new(), 0, 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let range = start..start + line.len();
            start = range.end;
            let what = if line.starts_with(b"tile\t") {
                Line::Hashes { first: next }
            } else if line.starts_with(b"entry\t") {
                next += 1;
                Line::Entry(next - 1)
            } else {
                Line::Header
            };
            lines.push((range, what));
        }
        assert_eq!(next, ENTRIES);
        let mut states = Vec::new();
        let mut audit = LineAudit::Start;
        for (number, (range, _)) in lines.iter().enumerate() {
            if number.is_multiple_of(STRIDE) {
                states.push(audit.clone());
            }
            audit = audit.line(&bytes[range.clone()]).unwrap();
        }
        let audited = audit.finish().unwrap();
        assert_eq!((audited.entries, audited.checkpoints, audited.unsigned), (ENTRIES, 3, 0));
        Export { bytes, lines, states }
    }

    fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|(range, _)| range.end <= offset)
    }

    /// What the verifier says of a changed export whose bytes are intact before an offset.
    fn verified(&self, changed: &[u8], intact: usize) -> Result<(), Damage> {
        let state = self.line_at(intact.min(self.bytes.len() - 1)) / STRIDE;
        let start = self.lines[state * STRIDE].0.start;
        verify_from(self.states[state].clone(), &changed[start.min(changed.len())..])
    }

    /// Where damage at an offset has to be named.
    fn place(&self, offset: usize) -> Vec<Place> {
        let (range, line) = &self.lines[self.line_at(offset)];
        match line {
            Line::Header => vec![Place::Header],
            Line::Entry(index) => vec![Place::Entry(*index)],
            Line::Hashes { first } => {
                let before = &self.bytes[range.start..offset];
                let hash = first + before.iter().filter(|byte| **byte == b' ').count() as u64;
                // What separates two hashes belongs to both.
                let both = self.bytes[offset] == b' ';
                (hash..=hash + u64::from(both)).map(Place::Entry).collect()
            }
        }
    }

    /// Which entry is the first that a cut leaves out.
    fn place_of_cut(&self, offset: usize) -> Place {
        let (range, line) = &self.lines[self.line_at(offset)];
        match line {
            Line::Header => Place::Header,
            Line::Entry(index) => Place::Entry(*index),
            Line::Hashes { first } => {
                let whole = |bytes: &[u8]| -> u64 {
                    let text = std::str::from_utf8(bytes).unwrap();
                    let hashes = text.splitn(3, '\t').nth(2).unwrap_or_default();
                    hashes.trim_end().split(' ').filter(|hash| TreeHash::parse(hash).is_some()).count() as u64
                };
                let all = whole(&self.bytes[range.clone()]);
                Place::Entry(first + whole(&self.bytes[range.start..offset]).min(all - 1))
            }
        }
    }
}

fn verify_from(mut audit: LineAudit, bytes: &[u8]) -> Result<(), Damage> {
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        audit = audit.line(line)?;
    }
    audit.finish().map(|_| ())
}

#[derive(Default)]
struct Tally {
    tried: usize,
    undetected: usize,
    wrong: usize,
    first_wrong: Option<String>,
}

impl Tally {
    fn count(&mut self, found: Result<(), Damage>, expected: &[Place], what: &str) {
        self.tried += 1;
        match found {
            Ok(()) => self.undetected += 1,
            Err(damage) if expected.contains(&damage.place) => {}
            Err(damage) => {
                self.wrong += 1;
                self.first_wrong.get_or_insert(format!("{what}: {damage}, expected {expected:?}"));
            }
        }
    }

    fn print(&self, what: &str) {
        println!("{}: {} tried, undetected {}, wrong index {}", what, self.tried, self.undetected, self.wrong);
        assert_eq!((self.undetected, self.wrong), (0, 0), "{what}: {:?}", self.first_wrong);
    }
}

#[test]
fn every_damage_is_noticed_and_named() {
    let export = Export::new();
    let mut chance = Chance(20_260_301);
    flips(&export, &mut chance).print("random byte flips");
    swaps(&export, &mut chance).print("swaps");
    cuts(&export, &mut chance).print("truncations");
    resuming_is_the_same_as_starting(&export, &mut chance);
}

fn flips(export: &Export, chance: &mut Chance) -> Tally {
    let mut tally = Tally::default();
    let mut bytes = export.bytes.clone();
    for _ in 0..FLIPS {
        let offset = chance.below(bytes.len());
        let before = bytes[offset];
        bytes[offset] ^= 1 + chance.below(255) as u8;
        tally.count(export.verified(&bytes, offset), &export.place(offset), &format!("byte {offset}"));
        bytes[offset] = before;
    }
    tally
}

/// Whole lines, lines whose numbers were put right again, and bodies alone.
fn swaps(export: &Export, chance: &mut Chance) -> Tally {
    let mut tally = Tally::default();
    let entries: Vec<&Range<usize>> =
        export.lines.iter().filter(|(_, line)| matches!(line, Line::Entry(_))).map(|(range, _)| range).collect();
    for round in 0..SWAPS {
        let one = chance.below(entries.len());
        let other = (one + 1 + chance.below(entries.len() - 1)) % entries.len();
        let (low, high) = (one.min(other), one.max(other));
        let text = |index: usize| std::str::from_utf8(&export.bytes[entries[index].clone()]).unwrap();
        let fields = |index: usize| text(index).splitn(5, '\t').map(str::to_owned).collect::<Vec<_>>();
        let (mut at_low, mut at_high) = (fields(high), fields(low));
        let numbers = round % 3 > 0;
        if numbers {
            (at_low[1], at_high[1]) = (low.to_string(), high.to_string());
        }
        if round % 3 == 2 {
            (at_low[2], at_high[2]) = (fields(low)[2].clone(), fields(high)[2].clone());
        }
        let mut bytes = export.bytes[..entries[low].start].to_vec();
        bytes.extend(at_low.join("\t").bytes());
        // Nothing behind the first wrong entry is looked at, and a verifier that did look would find the rest intact.
        bytes.extend(&export.bytes[entries[low].end..entries[high].start]);
        bytes.extend(at_high.join("\t").bytes());
        bytes.extend(&export.bytes[entries[high].end..]);
        let expected = [Place::Entry(low as u64)];
        tally.count(export.verified(&bytes, entries[low].start), &expected, &format!("{low} with {high}"));
    }
    tally
}

fn cuts(export: &Export, chance: &mut Chance) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..CUTS {
        let offset = chance.below(export.bytes.len());
        let found = export.verified(&export.bytes[..offset], offset);
        tally.count(found, &[export.place_of_cut(offset)], &format!("cut at {offset}"));
    }
    tally
}

/// Starting behind an intact beginning saves time and nothing else.
fn resuming_is_the_same_as_starting(export: &Export, chance: &mut Chance) {
    for _ in 0..3 {
        let offset = chance.below(export.bytes.len());
        let mut bytes = export.bytes.clone();
        bytes[offset] ^= 0x15;
        assert_eq!(verify_from(LineAudit::Start, &bytes), export.verified(&bytes, offset), "byte {offset}");
    }
}
