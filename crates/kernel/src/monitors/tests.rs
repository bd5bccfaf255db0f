//! What each monitor makes of series that are generated from a seed.
//!
//! The expected alarms of the published detectors were computed once with river 0.26.1 over the same series.

mod kept;

use super::{Input, Monitor, MonitorKind, Settings};
use values::decimal::Decimal;
use values::time::{Duration, Instant};

/// SplitMix64, as numbers from 0 to 1.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal.
    fn bell(&mut self) -> f64 {
        (0..12).fold(0.0, |sum, _| sum + self.next()) - 6.0
    }

    fn happens(&mut self, rate: f64) -> f64 {
        if self.next() < rate { 1.0 } else { 0.0 }
    }
}

const LENGTH: usize = 1_200;

fn series(name: &str) -> Vec<f64> {
    let names = ["step", "ramp", "spread", "flat", "errors", "steady", "mends"];
    let seed = names.iter().position(|known| *known == name).unwrap() as u64 + 1;
    let mut chance = Chance(seed);
    let value = |place: usize| {
        let late = place >= LENGTH / 2;
        match name {
            "step" => (if late { 1.0 } else { 0.0 }) + chance.bell() * 0.5,
            "ramp" => place.saturating_sub(LENGTH / 3) as f64 / (LENGTH as f64 / 3.0) + chance.bell() * 0.3,
            "spread" => chance.bell() * if late { 5.0 } else { 1.0 },
            "flat" => chance.bell(),
            "errors" => chance.happens(if late { 0.35 } else { 0.1 }),
            "steady" => chance.happens(0.2),
            _ => chance.happens(if late { 0.1 } else { 0.5 }),
        }
    };
    (0..LENGTH).map(value).collect()
}

fn settings(text: &str) -> Settings {
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap();
    Settings::of(text.split_whitespace().map(pair))
}

fn monitor(kind: &str, set: &str) -> Monitor {
    Monitor::new(MonitorKind::from_word(kind).unwrap(), settings(set)).unwrap()
}

/// Drifts and warnings by index. Now and then the monitor is written out and read back.
fn alarms(kind: &str, set: &str, values: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let mut monitor = monitor(kind, set);
    let (mut drifts, mut warnings) = (Vec::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        let at = Instant::PURE_DEFAULT.plus(Duration::from_secs(index as i64));
        let signal = monitor.update(&Input::parse(&format!("{value:?}"), at).unwrap());
        drifts.extend(signal.drift.then_some(index));
        warnings.extend(signal.warning.then_some(index));
        if index % 97 == 0 {
            let mut again = self::monitor(kind, set);
            again.restore(&monitor.state()).unwrap();
            assert_eq!(again, monitor, "{kind} {set} after {index}");
            monitor = again;
        }
    }
    (drifts, warnings)
}

#[test]
fn published_detectors_alarm_where_the_reference_does() {
    for (kind, set, name, drifts, warned, places) in REFERENCE {
        let (found, warnings) = alarms(kind, set, &series(name));
        assert_eq!(found, *drifts, "{kind} {set} {name}");
        assert_eq!((warnings.len(), warnings.iter().sum()), (*warned, *places), "{kind} {set} {name}");
    }
}

/// Kind, settings, series, where it drifts, how many warnings and the sum of their places.
type Row = (&'static str, &'static str, &'static str, &'static [usize], usize, usize);

#[rustfmt::skip]
const REFERENCE: &[Row] = &[
    ("adwin", "", "step", &[639], 0, 0),
    ("adwin", "", "ramp", &[543, 767, 1023], 0, 0),
    ("adwin", "", "spread", &[639], 0, 0),
    ("adwin", "", "flat", &[], 0, 0),
    ("adwin", "", "errors", &[703], 0, 0),
    ("adwin", "", "steady", &[], 0, 0),
    ("adwin", "", "mends", &[671], 0, 0),
    ("adwin", "delta=0.05 clock=1", "step", &[611], 0, 0),
    ("adwin", "delta=0.05 clock=1", "ramp", &[511, 678, 854, 1034], 0, 0),
    ("adwin", "delta=0.05 clock=1", "spread", &[607], 0, 0),
    ("adwin", "delta=0.05 clock=1", "flat", &[], 0, 0),
    ("adwin", "delta=0.05 clock=1", "errors", &[643], 0, 0),
    ("adwin", "delta=0.05 clock=1", "steady", &[], 0, 0),
    ("adwin", "delta=0.05 clock=1", "mends", &[635], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "step", &[615], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "ramp", &[510, 657, 832, 1028], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "spread", &[622], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "flat", &[216], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "errors", &[636], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "steady", &[], 0, 0),
    ("adwin", "delta=0.3 clock=7 max_buckets=3 min_window_length=12 grace_period=40", "mends", &[636], 0, 0),
    ("page_hinkley", "", "step", &[650], 0, 0),
    ("page_hinkley", "", "ramp", &[615, 899, 1169], 0, 0),
    ("page_hinkley", "", "spread", &[626, 683, 718, 793, 876, 945, 1065, 1133, 1180], 0, 0),
    ("page_hinkley", "", "flat", &[], 0, 0),
    ("page_hinkley", "", "errors", &[755], 0, 0),
    ("page_hinkley", "threshold=10.0 mode=up", "step", &[198, 609, 841], 0, 0),
    ("page_hinkley", "threshold=10.0 mode=up", "ramp", &[492, 637, 772, 888, 1028, 1195], 0, 0),
    ("page_hinkley", "threshold=10.0 mode=up", "spread", &[74, 134, 380, 610, 640, 671, 705, 735, 765, 798, 828, 887, 925, 955, 992, 1031, 1077, 1107, 1137, 1167, 1199], 0, 0),
    ("page_hinkley", "threshold=10.0 mode=up", "flat", &[87, 262, 353, 409, 736, 1097], 0, 0),
    ("page_hinkley", "threshold=10.0 mode=up", "errors", &[611, 736], 0, 0),
    ("page_hinkley", "threshold=8.0 mode=down delta=0.02 alpha=0.99 min_instances=10", "step", &[319, 448, 968, 1172], 0, 0),
    ("page_hinkley", "threshold=8.0 mode=down delta=0.02 alpha=0.99 min_instances=10", "ramp", &[], 0, 0),
    ("page_hinkley", "threshold=8.0 mode=down delta=0.02 alpha=0.99 min_instances=10", "spread", &[95, 175, 295, 317, 437, 551, 600, 619, 646, 656, 666, 676, 686, 703, 713, 734, 755, 785, 796, 806, 817, 827, 837, 847, 857, 867, 877, 897, 907, 917, 928, 939, 949, 959, 969, 996, 1006, 1022, 1044, 1054, 1082, 1095, 1111, 1121, 1136, 1147, 1157, 1183], 0, 0),
    ("page_hinkley", "threshold=8.0 mode=down delta=0.02 alpha=0.99 min_instances=10", "flat", &[128, 183, 317, 382, 438, 502, 563, 659, 689, 801, 889, 910, 998, 1125], 0, 0),
    ("page_hinkley", "threshold=8.0 mode=down delta=0.02 alpha=0.99 min_instances=10", "errors", &[849], 0, 0),
    ("kswin", "seed=42", "step", &[608], 0, 0),
    ("kswin", "seed=42", "spread", &[120, 462, 627], 0, 0),
    ("kswin", "seed=42", "errors", &[], 0, 0),
    ("kswin", "alpha=0.0005 window_size=300 stat_size=20 seed=7", "step", &[613], 0, 0),
    ("kswin", "alpha=0.0005 window_size=300 stat_size=20 seed=7", "spread", &[627], 0, 0),
    ("kswin", "alpha=0.0005 window_size=300 stat_size=20 seed=7", "errors", &[], 0, 0),
    ("kswin", "window_size=900 stat_size=8 seed=5 alpha=0.001", "step", &[904], 0, 0),
    ("kswin", "window_size=900 stat_size=8 seed=5 alpha=0.001", "spread", &[], 0, 0),
    ("kswin", "window_size=900 stat_size=8 seed=5 alpha=0.001", "errors", &[], 0, 0),
    ("ddm", "", "errors", &[75, 112, 648], 122, 64936),
    ("ddm", "", "steady", &[], 1, 1189),
    ("ddm", "", "mends", &[], 1, 395),
    ("ddm", "warm_start=100 warning_threshold=1.0 drift_threshold=2.0", "errors", &[134, 506, 625], 686, 486978),
    ("ddm", "warm_start=100 warning_threshold=1.0 drift_threshold=2.0", "steady", &[1189], 1000, 657020),
    ("ddm", "warm_start=100 warning_threshold=1.0 drift_threshold=2.0", "mends", &[395], 597, 334466),
    ("eddm", "", "errors", &[359, 635, 711], 254, 253730),
    ("eddm", "", "steady", &[], 126, 106117),
    ("eddm", "", "mends", &[92, 168, 233, 375, 440], 171, 68111),
    ("eddm", "warm_start=20 alpha=0.99 beta=0.8", "errors", &[237, 466, 641, 717], 486, 459448),
    ("eddm", "warm_start=20 alpha=0.99 beta=0.8", "steady", &[], 872, 563060),
    ("eddm", "warm_start=20 alpha=0.99 beta=0.8", "mends", &[43, 447], 695, 375044),
    ("hddm_a", "", "errors", &[651], 6, 3881),
    ("hddm_a", "", "steady", &[], 3, 3228),
    ("hddm_a", "", "mends", &[], 0, 0),
    ("hddm_a", "drift_confidence=0.01 warning_confidence=0.1 two_sided_test=true", "errors", &[642], 46, 39913),
    ("hddm_a", "drift_confidence=0.01 warning_confidence=0.1 two_sided_test=true", "steady", &[1075], 78, 65815),
    ("hddm_a", "drift_confidence=0.01 warning_confidence=0.1 two_sided_test=true", "mends", &[20, 616], 62, 17474),
    ("hddm_w", "", "errors", &[652], 1, 651),
    ("hddm_w", "", "steady", &[], 1, 1076),
    ("hddm_w", "", "mends", &[], 6, 2305),
    ("hddm_w", "drift_confidence=0.01 warning_confidence=0.1 lambda_val=0.2 two_sided_test=true", "errors", &[653, 736, 946], 104, 89642),
    ("hddm_w", "drift_confidence=0.01 warning_confidence=0.1 lambda_val=0.2 two_sided_test=true", "steady", &[350, 1076], 288, 232178),
    ("hddm_w", "drift_confidence=0.01 warning_confidence=0.1 lambda_val=0.2 two_sided_test=true", "mends", &[15, 259, 381, 542, 604], 176, 55081),
];

fn check(kind: &str, set: &str, values: &[f64], expected: &[usize]) {
    assert_eq!(alarms(kind, set, values).0, expected, "{kind} {set}");
}

/// So many of one value, then so many of another, and so on.
fn runs(runs: &[(usize, f64)]) -> Vec<f64> {
    runs.iter().flat_map(|(count, value)| std::iter::repeat_n(*value, *count)).collect()
}

#[test]
fn bands_trip_exactly_when_their_bound_is_passed() {
    check("mean", "max=10 over=20", &runs(&[(19, 15.0)]), &[]);
    check("mean", "max=10 over=20", &runs(&[(20, 15.0)]), &[19]);
    check("mean", "max=10 over=20", &runs(&[(200, 10.0)]), &[]);
    check("mean", "max=10 over=20", &runs(&[(20, 5.0), (20, 15.0)]), &[30]);
    check("mean", "max=0.1 over=3", &runs(&[(100, 0.1)]), &[]);
    check("mean", "min=1 over=2", &[1.0, 1.0, 0.9, 5.0, 5.0], &[2]);
    check("share", "max=0.15 over=20", &runs(&[(3, 1.0), (17, 0.0)]), &[]);
    check("share", "max=0.15 over=20", &runs(&[(4, 1.0), (16, 0.0)]), &[19]);
    check("share", "max=0.15 over=20", &runs(&[(20, 0.0), (4, 1.0)]), &[23]);
    check("sum", "max=100 over=5", &[50.0, 49.0, 2.0, 1.0], &[2]);
    check("margin", "value=1.80 over=10 times=5", &runs(&[(14, 1.9)]), &[13]);
    check("margin", "value=1.80 over=10 times=5", &runs(&[(50, 1.8)]), &[]);
    check("margin", "value=1.80 over=2 times=3", &[1.9, 1.9, 1.9, 1.6, 1.9, 1.9, 1.9, 1.9], &[7]);
    // A window by time forgets what is older; values come once a second.
    check("sum", "max=10 over=3s", &runs(&[(9, 4.0)]), &[2, 5, 8]);
    check("sum", "max=12 over=3s", &runs(&[(9, 4.0)]), &[]);
    check("mean", "max=1 over=5s", &runs(&[(50, 9.0)]), &[]);
    check("mean", "max=1 over=5s at_least=5", &runs(&[(5, 9.0)]), &[4]);
    check("sum", "max=700 over=1000s", &runs(&[(701, 1.0)]), &[700]);
}

#[test]
fn what_cannot_be_summed_exactly_is_outside_the_band() {
    let drifts = |kind: &str, set: &str, value: &str, count: usize| {
        let (mut monitor, value) = (monitor(kind, set), Decimal::parse(value).unwrap());
        let drift = |_| monitor.update(&Input::exact(value, Instant::PURE_DEFAULT)).drift;
        (0..count).map(drift).position(|drift| drift)
    };
    let huge = "10000000000000000000000000000";
    assert_eq!(drifts("mean", "max=10 over=10", huge, 10), Some(7));
    assert_eq!(drifts("mean", "min=10 over=10", huge, 10), Some(7));
    assert_eq!(drifts("sum", "min=10 over=1h", huge, 10), Some(7));
    assert_eq!(drifts("margin", "value=10 over=3 times=2", "70000000000000000000000000000", 4), Some(2));
    // A bound that does not fit the window is no bound that a sum could pass.
    assert_eq!(drifts("mean", "max=70000000000000000000000000000 over=10", "1", 20), None);
    assert_eq!(drifts("mean", "min=-70000000000000000000000000000 over=10", "1", 20), None);
    assert_eq!(drifts("mean", "max=-70000000000000000000000000000 over=10", "1", 20), Some(9));
}

#[test]
fn windows_by_time_say_how_exact_they_are() {
    for (kind, set) in [("mean", "max=10"), ("margin", "value=1")] {
        let said = |over: &str| monitor(kind, &format!("{set} over={over}")).guarantee();
        assert!(said("20").starts_with("exact") && !said("20").contains("64"), "{}", said("20"));
        assert!(said("6s").contains("64 values") && said("6s").contains("one more window"), "{}", said("6s"));
    }
}

#[test]
fn guaranteed_monitors_find_a_raised_rate_and_leave_a_kept_one_alone() {
    const NONE: [usize; 0] = [];
    let found = |kind: &str, set: &str, name: &str| alarms(kind, set, &series(name)).0;
    for (kind, set) in [("e_sr", "m0=0.12 arl=10000"), ("cusum", "p0=0.1 p1=0.3 arl=10000")] {
        let first = found(kind, set, "errors").first().copied().unwrap();
        assert!((600..700).contains(&first), "{kind} {first}");
    }
    assert_eq!(found("e_sr", "m0=0.25 arl=10000", "steady"), NONE);
    assert_eq!(found("cusum", "p0=0.2 p1=0.4", "steady"), NONE);
    assert_eq!(found("cusum", "h=8", "flat"), NONE);
    let stepped = found("cusum", "mu0=0 sigma=0.5", "step");
    assert!(stepped.first().is_some_and(|first| (600..620).contains(first)), "{stepped:?}");
    assert!(found("cusum", "mu0=0.5 sigma=0.5 mode=down", "step").first().is_some_and(|first| *first < 100));
    let falling = found("e_sr", "m0=0.4 mode=down", "mends");
    assert!(falling.first().is_some_and(|first| (600..700).contains(first)), "{falling:?}");
}

#[test]
fn wrong_settings_are_refused_in_a_sentence() {
    let rows = [
        ("adwin", "delta=2", "`delta` must be a number between 0 and 1; `2` is not"),
        ("adwin", "dleta=0.1", "`adwin` has no setting `dleta`; did you mean `delta`?"),
        (
            "adwin",
            "zzzzzz=1",
            "`adwin` has no setting `zzzzzz`; it has max_buckets, delta, clock, min_window_length, grace_period",
        ),
        ("adwin", "clock=0", "`clock` must be a whole number from 1 to 4294967295; `0` is not"),
        ("page_hinkley", "mode=left", "`mode` must be one of up, down, both; `left` is not"),
        ("eddm", "alpha=0.5", "`alpha` must not be below `beta`: warnings come before drift"),
        ("kswin", "stat_size=60", "`stat_size` 60 must be at most half of `window_size` 100"),
        ("hddm_a", "two_sided_test=maybe", "`two_sided_test` must be true or false; `maybe` is not"),
        ("e_sr", "", "`m0` is missing: the mean that is still no alarm"),
        ("e_sr", "m0=3", "`m0` 3 must lie between `low` 0 and `high` 1"),
        ("cusum", "p0=0.1", "`p0` needs `p1`, the rate to be noticed"),
        ("cusum", "p0=0.3 p1=0.1", "`p1` 0.1 must be above `p0` 0.3: it is the rate to be noticed"),
        ("mean", "over=5", "`max` or `min` is missing: the band has no bound"),
        ("mean", "max=1 over=3 at_least=9", "`at_least` 9 is more than the 3 values of the window"),
        ("mean", "max=1 min=2", "`min` 2 must not be above `max` 1"),
        (
            "sum",
            "max=1 over=soon",
            "`over` must be a whole number from 1 to 1000, or a time such as 24h; `soon` is not",
        ),
        ("ddm", "warm_start=NaN", "`warm_start` must be a whole number from 0 to 4294967295; `NaN` is not"),
        ("ddm", "drift_threshold=inf", "`drift_threshold` must be a number from 0 up; `inf` is not"),
        ("ddm", "warning_threshold=-1", "`warning_threshold` must be a number from 0 up; `-1` is not"),
        ("page_hinkley", "threshold=-0.1", "`threshold` must be a number from 0 up; `-0.1` is not"),
    ];
    for (kind, set, expected) in rows {
        let fault = Monitor::new(MonitorKind::from_word(kind).unwrap(), settings(set)).unwrap_err();
        assert_eq!(fault.problem, expected);
    }
}

#[test]
fn what_is_no_value_of_a_series_is_not_taken() {
    let parsed = |text: &str| Input::parse(text, Instant::PURE_DEFAULT);
    for text in ["", "NaN", "inf", "-inf", "1e300", "one"] {
        assert_eq!(parsed(text), None, "{text}");
    }
    assert_eq!(monitor("ddm", "").refuses(&parsed("0.5").unwrap()), Some("takes 1 for an error and 0 for none"));
    assert_eq!(monitor("share", "max=1").refuses(&parsed("2").unwrap()), Some("takes 1 for an error and 0 for none"));
    assert_eq!(monitor("mean", "max=1").refuses(&parsed("1e90").unwrap()), Some("takes numbers of at most 28 digits"));
    for kind in ["hddm_a", "hddm_w"] {
        let refused = |text: &str| monitor(kind, "").refuses(&parsed(text).unwrap());
        assert_eq!((refused("0.5"), refused("0"), refused("1")), (None, None, None), "{kind}");
        assert_eq!((refused("2").is_some(), refused("-1").is_some()), (true, true), "{kind}");
    }
}

#[test]
fn a_damaged_state_is_not_read() {
    for kind in MonitorKind::WORDS {
        let set = match *kind {
            "mean" | "sum" | "share" => "max=1",
            "e_sr" => "m0=0.1",
            _ => "",
        };
        let mut fresh = monitor(kind, set);
        let state = fresh.state();
        for damaged in [format!("{state} 1"), "x".to_owned(), String::new(), format!("2 {state}")] {
            assert_eq!(fresh.restore(&damaged), None, "{kind} {damaged}");
        }
        assert_eq!(fresh.restore(&state), Some(()), "{kind}");
        assert!(!fresh.guarantee().is_empty());
    }
}

/// What the guide says is set where nothing is: a monitor with it and one without are the same.
#[test]
fn defaults_are_those_of_the_guide() {
    let guide = include_str!("../../../../docs/guide/monitors.md");
    let table = guide.split("| kind | has to be set | unset |").nth(1).unwrap();
    let mut checked = 0;
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [kinds, needed, unset] = cells.as_slice() else { panic!("{line}") };
        let unset: String = unset.split(';').next().unwrap().to_owned();
        let needed = match *needed {
            "`max` or `min`" => "max=1",
            "m0" => "m0=0.1",
            "p0, p1" => "p0=0.1 p1=0.3",
            _ => "",
        };
        for kind in kinds.split('`').skip(1).step_by(2) {
            let said = monitor(kind, &format!("{needed} {unset}"));
            assert_eq!(said, monitor(kind, needed), "{line}");
            checked += 1;
        }
    }
    assert_eq!(checked, MonitorKind::WORDS.len() + 1, "every kind, and `cusum` twice");
}
