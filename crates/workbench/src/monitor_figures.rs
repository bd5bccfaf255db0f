//! Figures of monitors: how often they are wrong while nothing changes, and how soon they notice a change.

use anyhow::{Context, Result, anyhow};
use kernel::monitors::{Input, Monitor, MonitorKind, Settings};
use serde_json::{Value, json};
use values::decimal::Decimal;
use values::time::Instant;

/// Seeded runs of each series.
const RUNS: u64 = 1_000;

/// Values of a run without a change; a run without an alarm counts as this long.
const NULL_LENGTH: u64 = 20_000;

/// Values before the change, so that a monitor has something to compare with.
const BEFORE: u64 = 500;

/// Values after the change; a change that is not noticed by then is missed.
const AFTER: u64 = 5_000;

/// A monitor and the rates it is measured at.
struct Subject {
    kind: &'static str,
    settings: &'static str,
    /// What it promises about the mean number of values between false alarms; nothing for those that only warn.
    promised: Option<f64>,
    series: Series,
}

/// Ones at a rate, or numbers near a mean.
#[derive(Clone, Copy)]
enum Series {
    Rate(f64),
    Bell,
}

const SUBJECTS: &[Subject] = &[
    Subject { kind: "e_sr", settings: "m0=0.02 arl=1000", promised: Some(1_000.0), series: Series::Rate(0.02) },
    Subject { kind: "e_sr", settings: "m0=0.02 arl=10000", promised: Some(10_000.0), series: Series::Rate(0.02) },
    Subject {
        kind: "cusum",
        settings: "p0=0.02 p1=0.06 arl=1000",
        promised: Some(1_000.0),
        series: Series::Rate(0.02),
    },
    Subject {
        kind: "cusum",
        settings: "p0=0.02 p1=0.06 arl=10000",
        promised: Some(10_000.0),
        series: Series::Rate(0.02),
    },
    Subject { kind: "cusum", settings: "k=0.5 h=5", promised: None, series: Series::Bell },
    Subject { kind: "cusum", settings: "k=0.5 h=8", promised: None, series: Series::Bell },
    Subject { kind: "adwin", settings: "", promised: None, series: Series::Rate(0.02) },
    Subject { kind: "page_hinkley", settings: "", promised: None, series: Series::Rate(0.02) },
    Subject { kind: "ddm", settings: "", promised: None, series: Series::Rate(0.02) },
    Subject { kind: "eddm", settings: "", promised: None, series: Series::Rate(0.02) },
    Subject { kind: "hddm_a", settings: "", promised: None, series: Series::Rate(0.02) },
    Subject { kind: "hddm_w", settings: "", promised: None, series: Series::Rate(0.02) },
];

/// SplitMix64.
struct Chance(u64);

impl Chance {
    /// A number from 0 to 1 of 53 bits.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One value; `times` the rate, or that many half deviations above the mean, after the change.
    fn value(&mut self, series: Series, times: f64) -> Input {
        let at = Instant::PURE_DEFAULT;
        match series {
            Series::Rate(rate) => Input::exact(Decimal::from(i64::from(self.next() < rate * times)), at),
            Series::Bell => {
                let sum = (0..12).fold(0.0, |sum, _| sum + self.next()) - 6.0 + (times - 1.0) / 2.0;
                Input::parse(&format!("{sum:.6}"), at).unwrap_or(Input::exact(Decimal::ZERO, at))
            }
        }
    }
}

/// `measure --monitors [--json]`: prints a table, or JSON.
pub fn run(as_json: bool) -> Result<bool> {
    let figures = SUBJECTS.iter().map(figures).collect::<Result<Vec<Value>>>()?;
    let kept = figures.iter().all(|row| row["keeps_its_promise"] != json!(false));
    if as_json {
        println!("{}", json!({ "monitors": figures, "runs": RUNS }));
        return Ok(kept);
    }
    println!("| monitor | settings | promised | measured (95 %) | runs without alarm | delay at 1.5× | 2× | 3× |");
    println!("|---|---|---|---|---|---|---|---|");
    for row in &figures {
        let text = |key: &str| row[key].as_str().map_or_else(|| row[key].to_string(), str::to_owned);
        let delays: Vec<String> = ["1.5", "2", "3"].iter().map(|times| text(&format!("delay_{times}"))).collect();
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            text("kind"),
            text("settings"),
            text("promised"),
            text("measured"),
            text("censored"),
            delays.join(" | ")
        );
    }
    Ok(kept)
}

fn monitor(subject: &Subject) -> Result<Monitor> {
    let kind = MonitorKind::from_word(subject.kind).with_context(|| format!("no monitor {}", subject.kind))?;
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let settings = Settings::of(subject.settings.split_whitespace().filter_map(pair));
    Monitor::new(kind, settings).map_err(|fault| anyhow!(fault.problem))
}

fn figures(subject: &Subject) -> Result<Value> {
    let fresh = monitor(subject)?;
    let mut lengths = Vec::new();
    let mut censored = 0_u64;
    for seed in 0..RUNS {
        let (mut monitor, mut chance) = (fresh.clone(), Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        let first = (1..=NULL_LENGTH).find(|_| monitor.update(&chance.value(subject.series, 1.0)).drift);
        censored += u64::from(first.is_none());
        lengths.push(first.unwrap_or(NULL_LENGTH) as f64);
    }
    let (mean, error) = mean_and_error(&lengths);
    let at_least = if censored > 0 { "≥ " } else { "" };
    let kept = subject.promised.map(|promised| mean + 1.96 * error >= promised.min(NULL_LENGTH as f64));
    let mut row = json!({
        "kind": subject.kind,
        "settings": if subject.settings.is_empty() { "as published" } else { subject.settings },
        "promised": subject.promised.map_or_else(|| "–".to_owned(), |promised| format!("≥ {promised}")),
        "measured": format!("{at_least}{:.0} ± {:.0}", mean, 1.96 * error),
        "censored": format!("{:.1} %", 100.0 * censored as f64 / RUNS as f64),
        "false_alarm_per_1000": format!("{:.3}", 1000.0 / mean),
        "keeps_its_promise": kept,
    });
    for times in [1.5, 2.0, 3.0] {
        row[format!("delay_{times}")] = json!(delay(&fresh, subject.series, times));
    }
    Ok(row)
}

/// How many values after a change the alarm comes, in runs without a false alarm before it.
fn delay(fresh: &Monitor, series: Series, times: f64) -> String {
    let (mut delays, mut missed) = (Vec::new(), 0_u64);
    for seed in 0..RUNS {
        let (mut monitor, mut chance) = (fresh.clone(), Chance(!seed.wrapping_mul(0x9e6c_63d0_876a_46c5)));
        if (0..BEFORE).any(|_| monitor.update(&chance.value(series, 1.0)).drift) {
            continue;
        }
        match (1..=AFTER).find(|_| monitor.update(&chance.value(series, times)).drift) {
            Some(after) => delays.push(after as f64),
            None => missed += 1,
        }
    }
    if delays.is_empty() {
        return "missed".to_owned();
    }
    let (mean, _) = mean_and_error(&delays);
    delays.sort_by(f64::total_cmp);
    let late = delays.get(delays.len() * 95 / 100).copied().unwrap_or(mean);
    let note = if missed > 0 { format!(", {missed} missed") } else { String::new() };
    format!("{mean:.0} (95 % by {late:.0}{note})")
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}
