//! What `contract check` says about monitors that can never measure or never trip.

use engines::load::load;

const PAY: &str = "agent: bot\nactions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, late: boolean, day: date, amount: number, tip: optional number, price: decimal }\n    limits: { amount: { min: 2, max: 50 } }\n";

/// The codes and paths of what is wrong, or else of what is warned about.
fn check(watch: &str, expected: &[&str]) {
    let text = format!("{PAY}watch:\n  size: {{ {watch} }}\n");
    let said = |problems: Vec<contract::source::Diagnostic>| {
        let ours = problems.into_iter().filter(|problem| problem.path.starts_with("watch"));
        ours.map(|problem| format!("{} {}", problem.code, problem.path)).collect::<Vec<String>>()
    };
    let found = match load(&text) {
        Ok(loaded) => said(loaded.warnings),
        Err(problems) => said(problems),
    };
    assert_eq!(found, expected, "{watch}");
}

#[test]
fn what_can_never_be_a_number_is_refused() {
    for param in ["order", "late", "day"] {
        for kind in ["mean", "sum", "margin", "adwin"] {
            let band = if matches!(kind, "mean" | "sum") { "max: 5," } else { "" };
            check(&format!("{kind}: params.{param}, {band} then: WARN"), &["CONTRACT_INVALID watch.size.of"]);
        }
    }
    check("mean: params.amount, max: 5", &[]);
    check("mean: params.price, max: 5", &[]);
    check("hddm_w: params.price", &["MONITOR_DOMAIN watch.size.of"]);
    check("e_sr: params.amount, m0: 0.5", &["MONITOR_DOMAIN watch.size.of"]);
    check("e_sr: params.price, m0: 0.5", &["MONITOR_DOMAIN watch.size.of"]);
    check("e_sr: params.amount, m0: 20, high: 50", &[]);
    check("e_sr: params.amount, m0: 20, low: 2, high: 50", &[]);
    check("e_sr: params.amount, m0: 20, low: 3, high: 50", &["MONITOR_DOMAIN watch.size.of"]);
    check("e_sr: params.amount, m0: 20, high: 49", &["MONITOR_DOMAIN watch.size.of"]);
    check("e_sr: verdict.rejected, m0: 0.1", &[]);
    check("mean: params.tip, max: 5", &["MONITOR_OPTIONAL watch.size.of"]);
    check("margin: params.tip, value: 5", &["MONITOR_OPTIONAL watch.size.of"]);
}

#[test]
fn what_can_never_trip_is_refused_or_warned_about() {
    check("share: params.amount > 3, max: 1", &["CONTRACT_INVALID watch.size.max"]);
    check("share: params.amount > 3, max: 2", &["CONTRACT_INVALID watch.size.max"]);
    check("share: params.amount > 3, min: 0", &["CONTRACT_INVALID watch.size.min"]);
    check("share: params.amount > 3, max: 0.99", &[]);
    check("mean: params.amount, max: 50", &["MONITOR_NEVER_TRIPS watch.size.max"]);
    check("mean: params.amount, min: 2, max: 49", &["MONITOR_NEVER_TRIPS watch.size.min"]);
    check("mean: params.amount, max: 10, over: 3, at_least: 9", &["CONTRACT_INVALID watch.size.at_least"]);
    check("mean: params.amount, max: 10, over: 9, at_least: 3", &["MONITOR_AT_LEAST watch.size.at_least"]);
    check("mean: params.amount, max: 10, over: 1h, at_least: 30", &[]);
}

#[test]
fn names_of_monitors_are_plain() {
    for name in ["m m", "candidate:m", "m/ü", "size (candidate)"] {
        let text = format!("{PAY}watch:\n  \"{name}\": {{ mean: params.amount, max: 5 }}\n");
        let problems = load(&text).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message.contains("is no name for a monitor")), "{name}");
    }
}
