//! A disk without space: what was acknowledged stays, what was not is said to be undecided, and space brings all back.

use crate::site::{BINARY, Site, now, proposal};
use std::process::{Command, Stdio};

const LINES: usize = 120;

/// Long enough to fill a small disk soon.
fn text(number: usize) -> (String, String) {
    let key = format!("{number}-{}", "x".repeat(180));
    let args = proposal(&key, "keyed", &"y".repeat(6_000), 500);
    (key, args)
}

/// Runs a script with a store that can hold only so much for its first part.
fn check(name: &str, shell: &[&str], script: &str) -> Option<usize> {
    let site = Site::new();
    let lines: String = (0..LINES).map(|number| text(number).1 + "\n").collect();
    std::fs::write(site.path("lines"), lines).unwrap();
    std::fs::create_dir(site.path("small")).unwrap();
    let began = now();
    let decide = format!(
        "timeout 60 {BINARY} decide --quiet --contract '{}' --store '{}' < '{}'",
        site.path("bot.yaml"),
        site.path("small/db"),
        site.path("lines")
    );
    let script = script
        .replace("DECIDE_1", &format!("{decide} > '{}'", site.path("first")))
        .replace("DECIDE_2", &format!("{decide} > '{}'", site.path("second")))
        .replace("SMALL", &site.path("small"))
        .replace("KEPT", &site.path("db"));
    let output = Command::new(shell[0]).args(&shell[1..]).arg(&script).stdin(Stdio::null()).output().ok()?;
    if output.status.code() == Some(77) || !output.status.success() && !std::fs::exists(site.path("first")).unwrap() {
        println!("skipped: {name} is not possible here: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    let said = |file: &str| std::fs::read_to_string(site.path(file)).unwrap_or_default();
    let mut acknowledged = [0, 0];
    for (round, file) in ["first", "second"].into_iter().enumerate() {
        for (number, line) in said(file).lines().enumerate() {
            let (key, args) = text(number);
            site.log(&key, &args, began, Some(line));
            acknowledged[round] += usize::from(!line.contains("UNAVAILABLE"));
        }
    }
    let [first, second] = acknowledged;
    assert!(first > 0 && first < LINES, "{name}: the disk was never full: {first} of {LINES}; {output:?}");
    assert_eq!(second, LINES, "{name}: space came back; {output:?}");
    let (history, broken, code) = site.judge();
    assert_eq!(broken, [], "{name}");
    println!("{name}: {first} acknowledged until it was full, {second} after; {} entries, verify {code}", history.size);
    Some(first)
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    // A file may not grow further: no privileges are needed. Whoever ignores the signal gets an error instead.
    let limited = "trap '' XFSZ; (ulimit -f 600; DECIDE_1); DECIDE_2; cp SMALL/db* $(dirname KEPT)/; true";
    let by_size = check("a file size limit", &["sh", "-c"], limited);
    // A mount that only this process sees and that goes with it.
    let mounted = "mount -t tmpfs -o size=1m none SMALL || exit 77; DECIDE_1; mount -o remount,size=64m SMALL || exit 77; \
                   DECIDE_2; cp SMALL/db* $(dirname KEPT)/; true";
    let by_space = check("a full disk", &["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"], mounted);
    assert!(by_size.is_some() || by_space.is_some(), "neither way was possible");
}
