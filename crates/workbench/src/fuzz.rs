//! Fuzzing without tools: seeds of the kept corpus, changed at random, through the same questions.
//!
//! Slower and blinder than a coverage-guided fuzzer, and it runs everywhere, also in the test command.

use anyhow::{Context, Result, bail};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use values::json::Json;

/// Longest input; the door refuses longer ones and the shell answers `unknown`.
const INPUT_BYTES_MAX: usize = 64 * 1024;

/// An input that takes longer, or a process that grows larger, is a find.
const ANSWER_SECONDS_MAX: u64 = 20;
const MEMORY_BYTES_MAX: u64 = 2 << 30;

/// Pieces that matter to one of the readers.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\u0000",
    "\\ud800",
    "1e400",
    "-0.0",
    "null",
    "$(",
    "`",
    "${",
    "<<A\n",
    "&&",
    "|",
    ";",
    "\n",
    "'",
    "rm -rf /",
    "eval ",
    "xargs ",
    "base64 -d",
    "| sh",
    "{a,b}",
    "$'\\x41'",
    ">",
    "case x in ",
    "esac",
    "\u{0}",
    "\u{202e}",
    "é",
];

/// Asks each target for its share of the time; the seed is printed so that a find can be repeated.
pub fn run(seconds: u32, seed: u64, targets: &[&str]) -> Result<bool> {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        // The classifier catches these and answers `unknown`; what is looked for are the others.
        if !shell::is_caught_panic(fault) {
            report(fault);
        }
    }));
    let share = Duration::from_secs(u64::from(seconds)) / u32::try_from(targets.len().max(1)).unwrap_or(1);
    let mut clean = true;
    for target in targets {
        clean &= one(target, seed, share)?;
    }
    Ok(clean)
}

fn one(target: &str, seed: u64, share: Duration) -> Result<bool> {
    let ask: fn(&[u8]) -> bool = match target {
        "json_door" => door_holds,
        "shell_classify" => shell_holds,
        other => bail!("`{other}` is not a fuzz target"),
    };
    let seeds = corpus(&Path::new("fuzz/corpus").join(target))?;
    let mut dice = Dice(seed | 1);
    let watch = Watch::over(target, seed);
    let started = Instant::now();
    let (mut asked, mut slowest) = (0_u64, Duration::ZERO);
    while started.elapsed() < share {
        let input = mutated(&seeds, &mut dice);
        let begin = Instant::now();
        watch.asks(&input);
        let held = catch_unwind(AssertUnwindSafe(|| ask(&input)));
        slowest = slowest.max(begin.elapsed());
        asked += 1;
        if !matches!(held, Ok(true)) {
            println!("fuzz: {target} seed {seed}: found {:?}", String::from_utf8_lossy(&input));
            return Ok(false);
        }
    }
    println!("fuzz: {target} seed {seed}: {asked} inputs, no find, slowest {} µs", slowest.as_micros());
    Ok(true)
}

/// Ends the run with the input at hand when its answer takes too long or too much memory: no panic would tell.
struct Watch(Arc<Mutex<Asked>>);

/// The input at hand and when it was asked.
type Asked = Option<(Instant, Vec<u8>)>;

impl Watch {
    fn over(target: &str, seed: u64) -> Self {
        let current = Arc::new(Mutex::new(None));
        let (seen, target) = (Arc::downgrade(&current), target.to_owned());
        std::thread::spawn(move || {
            while let Some(current) = seen.upgrade() {
                std::thread::sleep(Duration::from_millis(20));
                let asked: Asked = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some((begin, input)) = asked else { continue };
                if begin.elapsed().as_secs() >= ANSWER_SECONDS_MAX || memory_bytes() > MEMORY_BYTES_MAX {
                    println!("fuzz: {target} seed {seed}: no end for {:?}", String::from_utf8_lossy(&input));
                    std::process::exit(1);
                }
            }
        });
        Self(current)
    }

    fn asks(&self, input: &[u8]) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some((Instant::now(), input.to_vec()));
    }
}

/// Resident memory, where the system says; elsewhere only the time is watched.
fn memory_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.and_then(|pages| pages.split(' ').nth(1).and_then(|count| count.parse::<u64>().ok()));
    resident.unwrap_or(0).saturating_mul(4096)
}

/// What the door admits has canonical bytes that it admits again as the same value.
fn door_holds(input: &[u8]) -> bool {
    let Ok(value) = Json::parse(input) else { return true };
    Json::parse(value.to_canonical().as_bytes()).is_ok_and(|again| again == value)
}

/// Any text is answered, twice the same.
fn shell_holds(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let view = shell::View::default();
    shell::classify(&text, &view) == shell::classify(&text, &view)
}

fn corpus(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        seeds.push(std::fs::read(entry?.path())?);
    }
    seeds.sort();
    Ok(seeds)
}

/// A small generator: what it yields depends on the seed alone.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap_or(1)).unwrap_or(0)
    }
}

fn mutated(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let pick = |dice: &mut Dice| seeds.get(dice.below(seeds.len())).cloned().unwrap_or_default();
    let mut input = pick(dice);
    for _ in 0..=dice.below(8) {
        let at = dice.below(input.len() + 1);
        match dice.below(6) {
            0 => input.truncate(at),
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            2 => {
                let other = pick(dice);
                input.truncate(at);
                input.extend(other.iter().skip(dice.below(other.len() + 1)));
            }
            3 => {
                let copy: Vec<u8> = input.iter().take(at).copied().collect();
                input.extend(copy);
            }
            _ => {
                let piece = PIECES.get(dice.below(PIECES.len())).copied().unwrap_or_default();
                for _ in 0..=dice.below(3) {
                    input.splice(at..at, piece.bytes());
                }
            }
        }
        input.truncate(INPUT_BYTES_MAX);
    }
    input
}
