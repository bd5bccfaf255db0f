//! The daemon answers as the hook would, decides no call twice, and whatever happens to it, nothing runs unjudged.

use crate::site::{HOSTS, Site, Told, text, told};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A daemon of a site's guard.
pub struct Resident(Child);

impl Resident {
    /// Starts one and waits until it answers.
    pub fn of(site: &Site, more: &[&str]) -> Resident {
        let mut command = Command::new(site.binary());
        site.here(command.arg("daemon").args(more)).stdin(Stdio::null()).stderr(Stdio::null());
        let resident = Resident(command.spawn().unwrap());
        let process = resident.process();
        until("the daemon answers", || status(site)["process"] == json!(process));
        resident
    }

    pub fn process(&self) -> u32 {
        self.0.id()
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.process().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    fn ends(&mut self) -> Option<i32> {
        let mut code = None;
        until("the daemon ends", || {
            code = self.0.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code()
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn socket(site: &Site) -> std::path::PathBuf {
    site.guard().join("daemon/socket")
}

fn frame(fields: &[&[u8]]) -> Vec<u8> {
    let size = |bytes: usize| u32::try_from(bytes).unwrap().to_le_bytes();
    let body: Vec<u8> = fields.iter().flat_map(|field| [&size(field.len()), *field].concat()).collect();
    [b"WKH1".as_slice(), &size(body.len()), &body].concat()
}

/// What the daemon says of itself; null where none does.
fn status(site: &Site) -> Value {
    let Ok(mut stream) = UnixStream::connect(socket(site)) else { return Value::Null };
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut said = Vec::new();
    let _ = stream.write_all(&frame(&[b"status"])).and_then(|()| stream.read_to_end(&mut said));
    said.get(22..).and_then(|body| serde_json::from_slice(body).ok()).unwrap_or(Value::Null)
}

fn served(site: &Site) -> u64 {
    status(site)["served"].as_u64().unwrap()
}

/// Decisions in the ledger.
fn decisions(site: &Site) -> u64 {
    let report = site.says(&["report", "--json"], 0);
    let report: Value = serde_json::from_str(report.lines().next().unwrap()).unwrap();
    report["verdicts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

fn payload(site: &Site, command: &str, call: &str) -> String {
    site.payload("claude-code", "pre-tool", command).replace("toolu_01ABC123", call)
}

/// A hook on its way.
fn hook(site: &Site, command: &str, call: &str, set: &[(&str, &str)]) -> Child {
    let mut hook = Command::new(site.binary());
    site.here(hook.args(["hook", "pre-tool", "--host", "claude-code"])).envs(set.iter().copied());
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload(site, command, call).as_bytes()).unwrap();
    child
}

fn answer(child: Child) -> (Told, Output) {
    let output = child.wait_with_output().unwrap();
    (told("claude-code", &output), output)
}

/// Every recorded payload of every host.
fn fixtures() -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for host in HOSTS {
        let folder = format!("{}/tests/guard/payloads/{host}", env!("CARGO_MANIFEST_DIR"));
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        found.extend(names.into_iter().map(|name| (host, name.strip_suffix(".json").unwrap().to_owned())));
    }
    found
}

/// Ids, and where the site lies, differ from run to run.
fn comparable(site: &Site, output: &Output) -> String {
    let both = format!("{:?} {}{}", output.status.code(), text(&output.stdout), text(&output.stderr));
    let mut words: Vec<String> = Vec::new();
    for word in both.replace(&*site.path().to_string_lossy(), "SITE").split_inclusive([' ', '.', '"']) {
        let hex = word.chars().filter(|letter| letter.is_ascii_hexdigit() || *letter == '-').count();
        words.push(if hex >= 36 { "ID ".to_owned() } else { word.to_owned() });
    }
    words.concat()
}

#[test]
fn the_same_call_is_answered_with_the_same_bytes() {
    let (with, without) = (Site::guarding(&HOSTS), Site::guarding(&HOSTS));
    let _daemon = Resident::of(&with, &[]);
    let mut asked = 0;
    for (host, fixture) in fixtures() {
        let event = fixture.split('.').next().unwrap();
        // Many payloads hold no command; they are the same each time.
        let is_same = with.payload(host, &fixture, "a") == with.payload(host, &fixture, "b");
        let commands = ["cargo test", "git reset --hard", "rm -rf /"];
        for command in commands.into_iter().take(if is_same { 1 } else { commands.len() }) {
            let say = |site: &Site| {
                let output = site.run(&["hook", event, "--host", host], &site.payload(host, &fixture, command));
                comparable(site, &output)
            };
            assert_eq!(say(&with), say(&without), "{host} {fixture} {command}");
            asked += u64::from(event != "stop");
        }
    }
    assert_eq!(served(&with), asked, "the daemon answered all but the stops");
    assert_eq!(decisions(&with), decisions(&without));
    println!("{asked} calls answered alike");
}

#[test]
fn a_call_asked_about_twice_is_decided_once() {
    let site = Site::guarding(&["claude-code"]);
    let ask = |command: &str, call: &str| {
        let output = site.run(
            &["hook", "pre-tool", "--host", "claude-code", "--call", call],
            &site.payload("claude-code", "pre-tool", command),
        );
        format!("{}{}", text(&output.stdout), text(&output.stderr))
    };
    let daemon = Resident::of(&site, &[]);
    let calls = [
        ("cargo test", "0192b1f0-0000-7000-8000-000000000001"),
        ("git reset --hard", "0192b1f0-0000-7000-8000-000000000002"),
        ("rm -rf /", "0192b1f0-0000-7000-8000-000000000003"),
    ];
    let first = calls.map(|(command, call)| ask(command, call));
    assert_eq!(decisions(&site), 3);
    drop(daemon);
    let again = calls.map(|(command, call)| ask(command, call));
    assert_eq!(first, again, "the hook by itself gives the daemon's answer again, ids and all");
    assert_eq!(decisions(&site), 3);
}

#[test]
fn killed_at_any_moment_every_call_is_decided_exactly_once() {
    let site = Site::guarding(&["claude-code"]);
    let mut calls = 0;
    for round in 0..10_u64 {
        let daemon = Resident::of(&site, &[]);
        let hooks: Vec<Child> =
            (0..3).map(|number| hook(&site, "cargo test", &format!("t{round}-{number}"), &[])).collect();
        std::thread::sleep(Duration::from_micros(round * 4_000));
        drop(daemon);
        for hook in hooks {
            let (told, output) = answer(hook);
            assert_eq!(told, Told::Runs, "{}", text(&output.stderr));
            calls += 1;
        }
        assert_eq!(decisions(&site), calls);
    }
}

/// Takes the turn to write, so that whoever judges has to wait.
fn turn(site: &Site) -> std::fs::File {
    let file = std::fs::File::options().write(true).open(site.guard().join("guard.db-turn")).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn killed_in_the_middle_of_a_call_the_hook_goes_on() {
    let site = Site::guarding(&["claude-code"]);
    let daemon = Resident::of(&site, &[]);
    let held = turn(&site);
    let call = hook(&site, "cargo test", "t1", &[]);
    until("the daemon judges", || status(&site)["serving"] == json!(1));
    daemon.signal("KILL");
    drop(held);
    let (told, output) = answer(call);
    assert_eq!(told, Told::Runs, "{}", text(&output.stderr));
    assert_eq!(decisions(&site), 1);
}

#[test]
fn stopped_in_the_middle_of_a_call_nothing_runs_unrecorded_or_is_recorded_twice() {
    let site = Site::guarding(&["claude-code"]);
    let daemon = Resident::of(&site, &[]);
    let held = turn(&site);
    let call = hook(&site, "cargo test", "t1", &[]);
    until("the daemon judges", || status(&site)["serving"] == json!(1));
    daemon.signal("STOP");
    drop(held);
    // It may hold its place in the line of writers; then nobody can judge, and nothing runs.
    let (told, output) = answer(call);
    println!("{told:?}");
    assert!(told != Told::Runs || decisions(&site) == 1, "{}", text(&output.stderr));
    daemon.signal("CONT");
    until("the daemon is through", || status(&site)["serving"] == json!(0));
    // Stopped for longer than a writer stands in line, it gives up; a call that was blocked may be recorded or not.
    let recorded = decisions(&site);
    assert!(recorded == 1 || recorded == 0 && told != Told::Runs, "{recorded} {told:?}");
}

#[test]
fn a_daemon_that_is_stopped_costs_a_wait_and_nothing_else() {
    let site = Site::guarding(&["claude-code"]);
    let daemon = Resident::of(&site, &[]);
    daemon.signal("STOP");
    std::thread::scope(|scope| {
        let write = scope.spawn(|| site.shell("cargo test"));
        let read = scope.spawn(|| site.shell("ls"));
        let end = scope.spawn(|| site.shell("rm -rf /"));
        let stop = scope.spawn(|| site.run(&["daemon", "--stop"], ""));
        assert_eq!(write.join().unwrap(), Told::Runs);
        assert_eq!(read.join().unwrap(), Told::Runs);
        assert!(matches!(end.join().unwrap(), Told::Blocked(_)));
        let stop = stop.join().unwrap();
        assert_eq!(stop.status.code(), Some(1));
        assert!(text(&stop.stderr).contains(&format!("process {}", daemon.process())), "{}", text(&stop.stderr));
    });
    assert_eq!(decisions(&site), 3);
}

#[test]
fn a_hook_says_what_it_waited_for_and_the_next_one_does_not_wait_again() {
    let site = Site::guarding(&["claude-code"]);
    let daemon = Resident::of(&site, &[]);
    daemon.signal("STOP");
    let asked = |call: &str| {
        let (told, output) = answer(hook(&site, "cargo test", call, &[]));
        assert_eq!(told, Told::Runs);
        text(&output.stderr)
    };
    let waited = format!("waited 200ms for an answer of the daemon (process {}, which is stopped)", daemon.process());
    assert!(asked("t1").contains(&waited));
    assert_eq!(asked("t2"), "", "a daemon that let one hook wait is left alone for a while");
    daemon.signal("CONT");
    until("the daemon answers", || served(&site) == 1);
    // Another daemon is asked at once.
    drop(daemon);
    let _other = Resident::of(&site, &[]);
    assert_eq!(asked("t3"), "");
    assert_eq!((served(&site), decisions(&site)), (1, 3));
    // Nobody can judge while the store is held; what was waited for is said in the refusal.
    let held = turn(&site);
    let (told, _) = answer(hook(&site, "cargo test", "t4", &[]));
    let Told::Blocked(why) = told else { panic!("{told:?}") };
    assert!(why.contains("for the turn to write"), "{why}");
    drop(held);
}

#[test]
fn whoever_else_sits_on_the_socket_is_not_asked() {
    let site = Site::guarding(&["claude-code"]);
    drop(Resident::of(&site, &[]));
    assert_eq!(site.shell("cargo test"), Told::Runs, "a socket without anybody");
    std::fs::remove_file(socket(&site)).unwrap();
    let listener = UnixListener::bind(socket(&site)).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // As the daemon would say it if everything were allowed.
            let _ = stream.write_all(&frame(&[b"answer", b"{}\n", b"", &[0]]));
        }
    });
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)));
    assert_eq!(site.shell("cargo test"), Told::Runs);
    assert_eq!(decisions(&site), 3, "and every call is in the ledger");
}

#[test]
fn a_daemon_of_another_user_is_not_asked() {
    let root = Command::new("id").arg("-u").output().unwrap();
    if text(&root.stdout).trim() != "0" {
        println!("skipped: only root can be somebody else");
        return;
    }
    let site = Site::guarding(&["claude-code"]);
    std::fs::set_permissions(site.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("chown").args(["-R", "65534:65534"]).arg(site.guard()).status().unwrap().success());
    let mut command = Command::new(site.binary());
    site.here(command.arg("daemon")).uid(65534).gid(65534).stdin(Stdio::null());
    let mut other = Resident(command.spawn().unwrap());
    until("the other daemon listens", || UnixStream::connect(socket(&site)).is_ok());
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)));
    assert_eq!(decisions(&site), 1);
    // And it does not talk to strangers.
    assert_eq!(status(&site), Value::Null);
    assert!(other.0.try_wait().unwrap().is_none());
    assert!(site.says(&["doctor"], 0).contains("hooks judge without it"));
}

#[test]
fn nonsense_on_the_socket_harms_nobody() {
    let site = Site::guarding(&["claude-code"]);
    let _daemon = Resident::of(&site, &[]);
    let mut open = Vec::new();
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        frame(&[]),
        frame(&[b"judge"]),
        frame(&[b"judge", b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j"]),
        frame(&[b"what"]),
        [b"WKH1".as_slice(), &u32::MAX.to_le_bytes()].concat(),
        frame(&[b"status"])[..6].to_vec(),
        Vec::new(),
    ] {
        for _ in 0..3 {
            let mut stream = UnixStream::connect(socket(&site)).unwrap();
            stream.write_all(&bytes).unwrap();
            open.push(stream);
        }
    }
    assert_eq!(site.shell("cargo test"), Told::Runs);
    assert_eq!(served(&site), 1);
    assert_eq!(decisions(&site), 1);
}

#[test]
fn a_changed_contract_counts_from_the_next_call_on() {
    let site = Site::bare();
    site.init(&["claude-code"], &["--observe"]);
    let _daemon = Resident::of(&site, &[]);
    assert_eq!(site.shell("rm -rf /"), Told::Runs);
    site.init(&["claude-code"], &[]);
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)), "enforced");
    assert!(matches!(site.shell("git reset --hard"), Told::Asks(_)));
    site.says(&["break-glass", "--because", "a test"], 0);
    assert_eq!(site.shell("git reset --hard"), Told::Runs, "state");
    site.says(&["break-glass", "--end", "--because", "a test"], 0);
    let file = site.guard().join("claude-code.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("'git',", "'git', 'curl',")).unwrap();
    assert!(matches!(site.shell("curl example.com"), Told::Asks(_)), "a file alone changes nothing");
    site.init(&["claude-code"], &[]);
    assert_eq!(site.shell("curl example.com"), Told::Runs);
    site.says(&["halt", "--because", "a test"], 0);
    assert!(matches!(site.shell("cargo test"), Told::Blocked(_)), "halted");
    site.says(&["resume", "--because", "a test"], 0);
    assert_eq!(site.shell("cargo test"), Told::Runs);
    assert_eq!(served(&site), 8, "all of it through the daemon");
    // A contract that is gone is gone.
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(site.shell("cargo test"), Told::Blocked(_)));
}

#[test]
fn many_hooks_at_once_with_the_daemon_and_beside_it() {
    const CALLS: u64 = 200;
    let site = Site::guarding(&["claude-code"]);
    let mut daemon = Resident::of(&site, &[]);
    let hooks: Vec<Child> = (0..CALLS)
        .map(|number| {
            // Every fourth runs in other surroundings and opens the store itself.
            let set: &[(&str, &str)] = if number % 4 == 0 { &[("TMPDIR", "/var/tmp")] } else { &[] };
            hook(&site, "cargo test", &format!("t{number}"), set)
        })
        .collect();
    for hook in hooks {
        let (told, output) = answer(hook);
        assert_eq!(told, Told::Runs, "{}", text(&output.stderr));
    }
    let answered = served(&site);
    println!("{answered} of {CALLS} by the daemon");
    assert!(answered > 0 && answered <= CALLS * 3 / 4, "{answered}");
    assert_eq!(decisions(&site), CALLS);
    // Told to end, it ends in order.
    daemon.signal("TERM");
    assert_eq!(daemon.ends(), Some(0));
    assert!(!socket(&site).exists());
    assert_eq!(decisions(&site), CALLS);
    let (store, export) = (site.guard().join("guard.db"), site.home().join("guard.export"));
    let (store, export) = (store.to_string_lossy(), export.to_string_lossy());
    site.says(&["ledger", "export", "--store", &store, "--out", &export], 0);
    println!("{}", site.says(&["verify", &export], 0));
}

#[test]
fn one_daemon_serves_a_guard_and_only_its_owner_reaches_it() {
    let site = Site::guarding(&["claude-code"]);
    assert!(site.says(&["doctor"], 0).contains("every hook opens the store itself"));
    let mut daemon = Resident::of(&site, &[]);
    let second = site.run(&["daemon"], "");
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second.stderr);
    assert!(said.contains(&format!("process {}", daemon.process())), "{said}");
    let mode = |name: &str| std::fs::metadata(site.guard().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("daemon"), mode("daemon/socket")), (0o700, 0o600));
    let well = site.says(&["doctor"], 0);
    assert!(well.contains(&format!("answers version {}", env!("CARGO_PKG_VERSION"))), "{well}");
    assert!(well.contains("synchronous FULL, journal wal"), "{well}");
    assert!(site.says(&["daemon", "--stop"], 0).contains("ends"));
    assert_eq!(daemon.ends(), Some(0));
    assert!(site.says(&["daemon", "--stop"], 0).contains("no daemon"));
    // What a killed one leaves behind is in nobody's way.
    drop(Resident::of(&site, &[]));
    assert!(socket(&site).exists());
    let mut idle = Resident::of(&site, &["--idle", "1s"]);
    assert_eq!(idle.ends(), Some(0));
    assert_eq!(site.run(&["daemon", "--guard", "nowhere"], "").status.code(), Some(65));
}

#[test]
fn a_store_that_is_replaced_ends_the_daemon_and_permits_nothing() {
    let site = Site::guarding(&["claude-code"]);
    let mut daemon = Resident::of(&site, &[]);
    assert_eq!(site.shell("cargo test"), Told::Runs);
    for name in ["guard.db", "guard.db-wal"] {
        std::fs::remove_file(site.guard().join(name)).unwrap();
    }
    assert!(matches!(site.shell("cargo test"), Told::Blocked(_)));
    assert_eq!(site.shell("ls"), Told::Runs);
    assert_eq!(daemon.ends(), Some(0));
    assert!(!site.guard().join("guard.db").exists(), "nothing comes back from its memory");
}

#[test]
fn hooks_start_a_daemon_only_where_a_person_said_so() {
    let site = Site::guarding(&["claude-code"]);
    assert_eq!(site.shell("cargo test"), Told::Runs);
    assert_eq!(status(&site), Value::Null, "never by default");
    let said = site.init(&["claude-code"], &["--daemon"]);
    assert!(said.contains("hooks start a daemon"), "{said}");
    let wired = site.call("claude-code", "PreToolUse", &payload(&site, "cargo test", "t1"));
    assert_eq!(told("claude-code", &wired), Told::Runs, "the host does not wait for the daemon");
    until("a daemon answers", || status(&site).is_object());
    assert_eq!(site.shell("cargo test"), Told::Runs);
    assert_eq!(served(&site), 1);
    let said = site.init(&["claude-code"], &["--no-daemon"]);
    assert!(said.contains("the one that served ends"), "{said}");
    until("it is gone", || status(&site).is_null());
    assert_eq!(site.shell("cargo test"), Told::Runs);
    assert_eq!(status(&site), Value::Null);
    assert_eq!(decisions(&site), 4);
}

/// Pages that the log of a guard has room for after each of so many calls.
fn log_pages(site: &Site, calls: u32) -> Vec<u64> {
    let log = site.guard().join("guard.db-wal");
    let pages = |call: u32| {
        assert_eq!(site.shell(&format!("echo {call}")), Told::Runs);
        std::fs::metadata(&log).map_or(0, |found| found.len()) / (4096 + 24)
    };
    (0..calls).map(pages).collect()
}

/// Whoever opens the store next reads all of the log, so it may not grow from call to call. Nobody closes the store here.
/// It is written over and not cut off: room that a file has already is synced faster than room it needs.
#[test]
fn hooks_without_a_daemon_keep_the_log_short() {
    let site = Site::guarding(&["claude-code"]);
    let pages = log_pages(&site, 40);
    let longest = pages.iter().max().copied().unwrap_or(0);
    assert!((1..100).contains(&longest), "{pages:?}");
    let (_, later) = pages.split_at(20);
    assert!(later.iter().all(|found| *found + 20 > longest), "{pages:?}");
    assert_eq!(decisions(&site), 40);
}

#[test]
fn a_daemon_writes_its_log_over() {
    let site = Site::guarding(&["claude-code"]);
    let daemon = Resident::of(&site, &[]);
    let pages = log_pages(&site, 100);
    let longest = pages.iter().max().copied().unwrap_or(0);
    // Ten pages a call and more, were it never begun anew.
    assert!((1..600).contains(&longest), "{pages:?}");
    drop(daemon);
    assert_eq!(decisions(&site), 100);
}

/// Entries that the newest checkpoint of the guard's store covers.
fn sealed(site: &Site) -> u64 {
    let note = std::fs::read_to_string(site.guard().join("guard.db.keys/checkpoint")).unwrap_or_default();
    note.lines().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}

#[test]
fn where_there_are_keys_the_daemon_seals_what_it_decides() {
    let site = Site::guarding(&["claude-code"]);
    // Inside of a guard the store that nobody names is the guard's.
    site.says(&["ledger", "keys", "new"], 0);
    let mut before = 0;
    for call in ["toolu_1", "toolu_2", "toolu_3"] {
        let daemon = Resident::of(&site, &["--seal-every", "100ms"]);
        until("what was there is sealed", || sealed(&site) > before);
        before = sealed(&site);
        assert_eq!(answer(hook(&site, "ls", call, &[])).0, Told::Runs);
        until("the decision is sealed", || sealed(&site) > before);
        before = sealed(&site);
        daemon.signal("KILL");
        drop(daemon);
        // Decided by the hook itself, for the next daemon to seal.
        assert_eq!(answer(hook(&site, "ls", &format!("{call}-alone"), &[])).0, Told::Runs);
    }
    assert!(site.says(&["ledger", "checkpoint"], 0).lines().nth(1).is_some_and(|size| size != before.to_string()));
}
