//! What a store keeps of a monitor after every value, and what an alarm says.

use super::{Chance, monitor, series};
use crate::monitors::{Input, Monitor, MonitorKind};
use values::decimal::Decimal;
use values::time::{Duration, Instant};

fn second(index: usize) -> Instant {
    Instant::PURE_DEFAULT.plus(Duration::from_secs(index as i64))
}

/// The monitor as it is read back from what it wrote.
fn read_back(kind: &str, set: &str, monitor: &Monitor) -> Monitor {
    let mut again = self::monitor(kind, set);
    assert_eq!(again.restore(&monitor.state()), Some(()), "{kind} {set}: {}", monitor.state());
    again
}

/// Every kind with settings that make it alarm, and the mode that looks the other way where there is one.
const KINDS: &[(&str, &str)] = &[
    ("mean", "max=0.2 over=20"),
    ("mean", "min=0.2 over=20"),
    ("mean", "min=0.2 max=0.4 over=5s at_least=3"),
    ("sum", "max=5 over=20"),
    ("share", "min=0.2 max=0.4 over=20"),
    ("margin", "value=0.1 over=3 times=2"),
    ("e_sr", "m0=0.12 arl=1000"),
    ("cusum", "p0=0.1 p1=0.3 h=2"),
    ("cusum", "mu0=0.3 sigma=0.5 k=0.1 mode=down h=2"),
    ("adwin", "delta=0.3 clock=1"),
    ("page_hinkley", "threshold=5 mode=both min_instances=10"),
    ("ddm", "warm_start=20 warning_threshold=0.5 drift_threshold=1"),
    ("eddm", "warm_start=5"),
    ("hddm_a", "drift_confidence=0.1 warning_confidence=0.2 two_sided_test=true"),
    ("hddm_w", "drift_confidence=0.1 warning_confidence=0.2 two_sided_test=true"),
    ("hddm_w", "drift_confidence=0.1 warning_confidence=0.2"),
    ("kswin", "alpha=0.2 window_size=60 stat_size=20"),
];

#[test]
fn every_alarm_and_warning_says_what_was_measured() {
    let kinds: std::collections::BTreeSet<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds.len(), MonitorKind::WORDS.len());
    for (kind, set) in KINDS {
        let mut signals = 0;
        for name in ["errors", "mends", "steady"] {
            let mut monitor = monitor(kind, set);
            for (index, value) in series(name).iter().enumerate() {
                let signal = monitor.update(&Input::parse(&format!("{value:?}"), second(index)).unwrap());
                if signal.drift || signal.warning {
                    signals += 1;
                    let reading = monitor.reading();
                    assert!(reading.is_some(), "{kind} {set}: value {index} of {name} says nothing");
                }
            }
        }
        assert!(signals > 0, "{kind} {set} never said anything");
    }
}

#[test]
fn a_falling_series_alarms_with_both_sides() {
    let set = "drift_confidence=0.01 warning_confidence=0.1 two_sided_test=true";
    let mut monitor = monitor("hddm_w", set);
    let values = (0..400).map(|index| if index < 200 { "1" } else { "0" });
    let inputs = values.enumerate().map(|(index, value)| Input::parse(value, second(index)).unwrap());
    let told = inputs.into_iter().find_map(|input| monitor.update(&input).drift.then(|| monitor.reading()));
    let reading = told.flatten().unwrap();
    assert!(reading.statistic.parse::<f64>().unwrap() > reading.threshold.parse::<f64>().unwrap(), "{reading:?}");
}

/// Decimals of very different sizes next to each other, where sums cannot always be held.
#[test]
fn a_window_is_read_back_whatever_it_holds() {
    let texts = ["0.5", "-0.5", "1000000000000000000000000000", "-1000000000000000000000000000", "0.0001", "7"];
    let sets = [
        ("mean", "max=10 over=2"),
        ("mean", "max=10 over=3"),
        ("sum", "min=-10 max=10 over=4"),
        ("sum", "max=9000000000000000000000000000 over=3s"),
        ("mean", "max=9000000000000000000000000000 over=200s at_least=70"),
        ("margin", "value=1 over=3 times=1000"),
        ("margin", "value=1 over=100s times=1000"),
    ];
    let (mut chance, mut outside) = (Chance(11), 0);
    for (kind, set) in sets {
        let mut monitor = monitor(kind, set);
        for index in 0..600 {
            let text = texts[(chance.next() * texts.len() as f64) as usize];
            let signal = monitor.update(&Input::exact(Decimal::parse(text).unwrap(), second(index)));
            outside += usize::from(signal.drift);
            assert_eq!(read_back(kind, set, &monitor), monitor, "{kind} {set} after {index}: {text}");
        }
    }
    assert!(outside > 0);
}

#[test]
fn what_cannot_be_summed_alarms_and_begins_the_window_anew() {
    let set = "max=9000000000000000000000000000 over=2";
    let mut monitor = monitor("mean", set);
    let take = |monitor: &mut Monitor, text: &str| {
        monitor.update(&Input::exact(Decimal::parse(text).unwrap(), Instant::PURE_DEFAULT)).drift
    };
    assert!(!take(&mut monitor, "0.5"));
    assert!(!take(&mut monitor, "0.5"));
    // 0.5 and 10²⁷ cannot be summed.
    assert!(take(&mut monitor, "1000000000000000000000000000"));
    let reading = monitor.reading().unwrap();
    assert_eq!((reading.statistic.as_str(), reading.window), ("1000000000000000000000000000", 1));
    assert_eq!(read_back("mean", set, &monitor), monitor);
}

#[test]
fn what_is_over_does_not_stand_in_the_way_of_a_sum() {
    for set in ["max=9000000000000000000000000000 over=3s", "max=9000000000000000000000000000 over=1"] {
        let mut monitor = monitor("sum", set);
        let take = |monitor: &mut Monitor, text: &str, seconds: usize| {
            monitor.update(&Input::exact(Decimal::parse(text).unwrap(), second(seconds))).drift
        };
        assert!(!take(&mut monitor, "1000000000000000000000000000", 0), "{set}");
        assert!(!take(&mut monitor, "0.5", 3_600), "{set}");
        assert_eq!(monitor.reading().unwrap().statistic, "0.5", "{set}");
    }
}

#[test]
fn a_chart_fills_up_towards_the_alarm() {
    let after = |kind: &str, set: &str, values: &[f64]| {
        let (mut monitor, mut last) = (monitor(kind, set), None);
        for (index, value) in values.iter().enumerate() {
            monitor.update(&Input::parse(&format!("{value:?}"), second(index)).unwrap());
            last = monitor.hundredths().or(last);
        }
        last
    };
    assert_eq!(after("mean", "max=10 over=2", &[5.0, 5.0]), Some(50));
    assert_eq!(after("mean", "min=5 over=2", &[10.0, 10.0]), Some(50));
    assert_eq!(after("mean", "min=5 max=20 over=2", &[10.0, 10.0]), Some(50));
    assert_eq!(after("mean", "min=5 max=20 over=2", &[4.0, 4.0]), Some(100));
    // A small probability is what alarms; a healthy series is far from it.
    let healthy = after("kswin", "window_size=40 stat_size=15", &series("flat")[..100]).unwrap();
    assert!(healthy < 50, "{healthy}");
}
