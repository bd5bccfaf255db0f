//! A disk without space: what was acknowledged stays, what was not is said to be undecided, and space brings all back.

use crate::site::{BINARY, Site, now, proposal};
use std::process::{Command, Stdio};

/// Proposals with space, with too little of it, and with space again: a full disk is waited for, line by line.
const LINES: [usize; 3] = [1, 10, 40];

/// Long enough to fill a small disk soon.
fn text(number: usize) -> (String, String) {
    let key = format!("{number}-{}", "x".repeat(100));
    // The store packs what repeats itself.
    let noise = |place: usize| format!("{:06x}", (place + number).wrapping_mul(2_654_435_761) >> 5 & 0xff_ffff);
    let args = proposal(&key, "keyed", &(0..1_000).map(noise).collect::<String>(), 500);
    (key, args)
}

/// Runs a script with a store that can hold only so much for its first part.
fn check(name: &str, shell: &[&str], script: &str) -> Option<usize> {
    let site = Site::new();
    for (file, count) in ["lines-0", "lines-1", "lines-2"].into_iter().zip(LINES) {
        let lines: String = (0..count).map(|number| text(number).1 + "\n").collect();
        std::fs::write(site.path(file), lines).unwrap();
    }
    std::fs::create_dir(site.path("small")).unwrap();
    let began = now();
    let decide = |lines: &str, said: &str| {
        format!(
            "timeout 120 {BINARY} decide --quiet --contract '{}' --store '{}' < '{}' > '{}'",
            site.path("bot.yaml"),
            site.path("small/db"),
            site.path(lines),
            site.path(said)
        )
    };
    let script = script
        .replace("DECIDE_0", &decide("lines-0", "before"))
        .replace("DECIDE_1", &decide("lines-1", "first"))
        .replace("DECIDE_2", &decide("lines-2", "second"))
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
    let [known, most, all] = LINES;
    assert!(first > known && first < most, "{name}: the disk was never full: {first} of {most}; {output:?}");
    assert_eq!(second, all, "{name}: space came back; {output:?}");
    let (history, broken, code) = site.judge();
    assert_eq!(broken, [], "{name}");
    println!("{name}: {first} acknowledged until it was full, {second} after; {} entries, verify {code}", history.size);
    Some(first)
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    // A file may not grow further: no privileges are needed. Whoever ignores the signal gets an error instead.
    let limited = "trap '' XFSZ; DECIDE_0; (ulimit -f 300; DECIDE_1); DECIDE_2; cp SMALL/db* $(dirname KEPT)/; true";
    let by_size = check("a file size limit", &["sh", "-c"], limited);
    // A mount that only this process sees and that goes with it.
    let mounted = "mount -t tmpfs -o size=64m none SMALL || exit 77; DECIDE_0; \
                   mount -o remount,size=$(($(du -sk SMALL | cut -f1) + 200))k SMALL || exit 77; DECIDE_1; \
                   mount -o remount,size=64m SMALL || exit 77; DECIDE_2; cp SMALL/db* $(dirname KEPT)/; true";
    let by_space = check("a full disk", &["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"], mounted);
    assert!(by_size.is_some() || by_space.is_some(), "neither way was possible");
}

/// A worker that is to end when nothing is due cannot know that on a disk that takes nothing: it says so, sends nothing that
/// is not marked, and with space everything happens once.
#[test]
fn who_waits_for_the_end_hears_that_the_disk_is_full() {
    let site = Site::new();
    let keys = ["a", "b", "c"];
    let (answered, output) = site.decide(site.deciding(), &keys, |key| proposal(key, "program", "ok", 5));
    assert_eq!(answered, keys.len(), "{output:?}");
    // Enough for the index of the log beside the store, not for what a claim and a mark write.
    let script = format!(
        "trap '' XFSZ; ulimit -f 80; exec {BINARY} run --once --allow-programs --lease 5s --threads 1 --store '{}'",
        site.path("db")
    );
    let output = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    assert_eq!(site.effects(), 0, "{output:?}");
    site.heal(&["20s"]);
    assert_eq!(site.effects(), keys.len());
    let (_, broken, _) = site.judge_settled();
    assert_eq!(broken, []);
}
