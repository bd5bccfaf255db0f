//! Effects with real processes: workers that are killed, paused and raced, against a provider whose synced log is the
//! truth. Whatever happens there is one effect, and nobody says "failed" about something that may have happened.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_writkeeper");

struct Site {
    folder: tempfile::TempDir,
    provider: Child,
    port: u16,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.provider.kill();
        let _ = self.provider.wait();
    }
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let built = std::env::current_exe().unwrap();
        let binary = built.parent().and_then(|deps| deps.parent()).unwrap().join("examples/fake_provider");
        let mut provider = Command::new(binary).arg(folder.path().join("log")).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(provider.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Site { folder, provider, port }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn contract(&self, agent: &str, class: &str, how: &str) -> String {
        let text = format!(
            "agent: {agent}\nactions:\n  refund:\n    once: 'refund:{{order}}'\n    params: {{ order: text, amount: number }}\n    \
             limits: {{ amount: {{ max: 50 }} }}\n    \
             run: {{ http: 'POST http://127.0.0.1:{}/{class}/{how}', class: {class}, timeout: 5s }}\napprovers: [desk]\n",
            self.port
        );
        let path = self.path(&format!("{agent}.yaml"));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn writkeeper(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).args(["--store", &self.path("db")]).stderr(Stdio::null());
        command
    }

    fn decide(&self, contract: &str, lines: &str) -> Child {
        let mut command = self.writkeeper(&["decide", "--quiet", "--open-flows", "--contract", contract]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        child
    }

    /// Accepts one refund; the intent's id.
    fn accept(&self, class: &str, how: &str) -> String {
        let contract = self.contract("bot", class, how);
        let line = r#"{"agent":"bot","action":"refund","params":{"order":"A","amount":5}}"#;
        let output = self.decide(&contract, line).wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        std::fs::write(self.path("people.yaml"), "desk: [ann]\n").unwrap();
        assert!(self.writkeeper(&["people", "set", &self.path("people.yaml")]).status().unwrap().success());
        answer["intent"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn worker(&self, more: &[&str]) -> Command {
        let host = format!("127.0.0.1:{}", self.port);
        let mut command = self.writkeeper(&["run", "--allow-host", &host, "--allow-private", "127.0.0.0/8"]);
        command.args(more).stdout(Stdio::piped());
        command
    }

    /// Performs until nothing is due, at a time ahead.
    fn perform(&self, ahead: &str) {
        let output = self.worker(&["--once", "--clock-ahead", ahead]).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 2), "{output:?}");
    }

    fn intent(&self, id: &str) -> Value {
        let output = self.writkeeper(&["intents", "show", id, "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn state(&self, id: &str) -> String {
        self.intent(id)["state"].as_str().unwrap().to_owned()
    }

    fn effects(&self) -> usize {
        std::fs::read_to_string(self.path("log")).unwrap().lines().count()
    }

    /// Waits for something another process does.
    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{what} never happened");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn fifty_proposals_from_five_processes_are_one_effect() {
    let site = Site::new();
    let crew: Vec<Child> = (0..5)
        .map(|process| {
            let contract = site.contract(&format!("bot{process}"), "opaque", "ok");
            let line = |number: usize| {
                format!(
                    r#"{{"agent":"bot{process}","action":"refund","params":{{"order":"A","amount":5}},"id":"p-{process}-{number}","flow":"f-{process}-{number}","idempotency_key":"k-{process}-{number}"}}"#
                ) + "\n"
            };
            site.decide(&contract, &(0..10).map(line).collect::<String>())
        })
        .collect();
    let outputs = crew.into_iter().map(|child| child.wait_with_output().unwrap().stdout);
    let answers: Vec<Value> = outputs
        .flat_map(|output| String::from_utf8(output).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    assert_eq!(answers.len(), 50);
    let accepted: Vec<&Value> = answers.iter().filter(|answer| answer["verdict"] == "ACCEPT").collect();
    let [first] = accepted.as_slice() else { panic!("{} accepted", accepted.len()) };
    let id = first["intent"]["id"].as_str().unwrap();
    let naming = answers.iter().filter(|answer| {
        answer["reasons"][0] == "IN_PROGRESS" && answer["findings"][0]["message"].as_str().unwrap().contains(id)
    });
    assert_eq!(naming.count(), 49);
    // Several workers race for it.
    let workers: Vec<Child> = (0..3).map(|_| site.worker(&["--once"]).spawn().unwrap()).collect();
    for mut worker in workers {
        worker.wait().unwrap();
    }
    assert_eq!(site.effects(), 1);
    assert_eq!(site.state(id), "SUCCEEDED");
    println!("50 proposals, 1 effect, 49 answers that name the first intent");
}

/// What this process was not told to do is not claimed: it waits for one that was, and says what to type.
#[test]
fn what_a_worker_may_not_reach_waits_for_one_that_may() {
    let check = |run: &str, steps: &[(&[&str], Option<&str>)]| {
        let site = Site::new();
        let (host, folder) = (format!("127.0.0.1:{}", site.port), site.folder.path().display().to_string());
        let text = |text: &str| text.replace("HOST", &host).replace("FOLDER", &folder);
        let contract = format!(
            "agent: bot\nactions:\n  refund: {{ once: 'r:{{order}}', params: {{ order: text }}, run: {} }}\n\
             approvers: [desk]\n",
            text(run)
        );
        std::fs::write(site.path("bot.yaml"), contract).unwrap();
        let line = r#"{"agent":"bot","action":"refund","params":{"order":"A"}}"#;
        let output = site.decide(&site.path("bot.yaml"), line).wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let id = answer["intent"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        for (arguments, missing) in steps {
            let arguments: Vec<String> = arguments.iter().map(|argument| text(argument)).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let output = site.writkeeper(&["run", "--once"]).args(arguments).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let (code, state) = if missing.is_some() { (2, "READY") } else { (0, "SUCCEEDED") };
            assert_eq!((output.status.code(), site.state(&id).as_str()), (Some(code), state), "{run}: {said}");
            if let Some(missing) = missing {
                assert!(said.contains(&text(missing)), "{said}");
                assert_eq!(site.intent(&id)["epoch"], 0, "{run}: it was claimed");
            }
        }
        let performed = steps.last().is_some_and(|(_, missing)| missing.is_none());
        assert_eq!(site.effects(), usize::from(performed && run.contains("http:")), "{run}");
    };
    const ADDRESS: &str = "POST http://HOST/opaque/ok";
    check(
        &format!("{{ http: '{ADDRESS}' }}"),
        &[
            (&[], Some("the host `HOST` is not allowed; add --allow-host HOST")),
            (&["--allow-host", "HOST"], Some("add --allow-private 127.0.0.1")),
            (&["--allow-host", "HOST", "--allow-private", "10.0.0.0/8"], Some("add --allow-private 127.0.0.1")),
            (&["--allow-host", "HOST", "--allow-private", "127.0.0.1"], None),
        ],
    );
    check("{ command: ['true'] }", &[(&[], Some("add --allow-programs")), (&["--allow-programs"], None)]);
    let reached: &[&str] = &["--allow-host", "HOST", "--allow-private", "127.0.0.1"];
    check(
        &format!("{{ http: '{ADDRESS}', headers: {{ authorization: 'secret://fileFOLDER/people.yaml' }} }}"),
        &[(reached, Some("`FOLDER/people.yaml` cannot be read"))],
    );
}

/// The worker dies between the effect and its acknowledgement; then time passes and others try.
fn killed(class: &str, ahead: &[&str]) -> (usize, String) {
    let site = Site::new();
    let id = site.accept(class, "hang");
    let mut worker = site.worker(&[]).spawn().unwrap();
    site.until("the effect", || site.effects() == 1);
    signal(&worker, "-KILL");
    worker.wait().unwrap();
    assert_eq!(site.state(&id), "IN_FLIGHT", "{class}");
    // Nobody knows of the death yet; what is in flight is counted all the same.
    let output = site.worker(&["--once", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &told["in_doubt"], &told["in_flight"]),
        (Some(2), &0.into(), &1.into()),
        "{told}"
    );
    for ahead in ahead {
        site.perform(ahead);
    }
    // Asking again does not help either.
    let line = r#"{"agent":"bot","action":"refund","params":{"order":"A","amount":5}}"#;
    let output = site.decide(&site.path("bot.yaml"), line).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{class}: {}", String::from_utf8_lossy(&output.stdout));
    (site.effects(), site.state(&id))
}

#[test]
fn a_worker_killed_before_it_heard_leaves_one_effect() {
    let check = |class: &str, ahead: &[&str], expected: &str| {
        let (effects, state) = killed(class, ahead);
        assert_eq!((effects, state.as_str()), (1, expected), "{class} {ahead:?}");
    };
    check("keyed", &["5m", "10m"], "SUCCEEDED");
    check("fenced", &["5m", "10m"], "SUCCEEDED");
    check("opaque", &["5m", "10m"], "IN_DOUBT");
    // A day later the provider may have forgotten the key, and nobody guesses.
    check("keyed", &["25h", "26h"], "IN_DOUBT");
    check("fenced", &["25h", "26h"], "IN_DOUBT");
    check("opaque", &["25h", "26h"], "IN_DOUBT");
}

/// What was accepted is called off with its flow: the worker finds nothing to do, and the provider hears nothing.
#[test]
fn a_flow_that_was_aborted_is_not_performed() {
    let site = Site::new();
    let id = site.accept("keyed", "good");
    let flow = site.intent(&id)["flow"].as_str().unwrap().to_owned();
    let aborted = site.writkeeper(&["flows", "abort", &flow]).output().unwrap();
    let said = String::from_utf8_lossy(&aborted.stdout).into_owned();
    assert!(aborted.status.success() && said.contains("1 intent was called off, 0 questions ended"), "{said}");
    let worked = site.worker(&["--once"]).output().unwrap();
    assert_eq!(worked.status.code(), Some(0), "{worked:?}");
    assert_eq!((site.effects(), site.state(&id).as_str()), (0, "CANCELLED"));
    // The flow is over; the effect is free for another one.
    let again = site.accept("keyed", "good");
    let flow = site.intent(&again)["flow"].as_str().unwrap().to_owned();
    let closed = site.writkeeper(&["flows", "close", &flow]).output().unwrap();
    let said = String::from_utf8_lossy(&closed.stdout).into_owned();
    assert!(said.contains("takes no more proposals; 1 accepted intent goes on"), "{said}");
    site.perform("1s");
    assert_eq!((site.effects(), site.state(&again).as_str()), (1, "SUCCEEDED"));
    let shown = |more: &[&str]| {
        let output = site.writkeeper(more).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let shown_flow = shown(&["flows", "show", &flow, "--json"]);
    assert_eq!((&shown_flow["state"], &shown_flow["status"]), (&"CLOSED".into(), &"DONE".into()), "{shown_flow}");
    let report = shown(&["report", "--json"]);
    assert_eq!(report["performed"], serde_json::json!({"CANCELLED": 1, "SUCCEEDED": 1}), "{report}");
}

/// A worker that dies leaves its intent for as long as the lease it was given, and a doubt has no date.
#[test]
fn recovery_follows_the_lease_that_was_given() {
    let site = Site::new();
    let id = site.accept("opaque", "hang");
    let mut worker = site.worker(&["--lease", "3s"]).spawn().unwrap();
    site.until("the effect", || site.effects() == 1);
    signal(&worker, "-KILL");
    worker.wait().unwrap();
    site.perform("4s");
    assert_eq!(site.state(&id), "IN_DOUBT");
    for more in [&["escalations"][..], &["escalations", "show", &id], &["top", "--once"]] {
        let output = site.writkeeper(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains("year") && !said.contains("deadline"), "{more:?}: {said}");
    }
    let listed = site.writkeeper(&["escalations"]).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("open until someone answers"));
}

#[test]
fn a_worker_that_slept_past_its_lease_does_no_harm() {
    for class in ["keyed", "opaque"] {
        let site = Site::new();
        let id = site.accept(class, "slow");
        let mut worker = site.worker(&[]).spawn().unwrap();
        site.until("the effect", || site.effects() == 1);
        signal(&worker, "-STOP");
        site.perform("5m");
        assert_eq!(site.state(&id), "IN_DOUBT", "{class}");
        signal(&worker, "-CONT");
        // What it heard in its sleep comes too late to count by itself, and settles the doubt.
        site.until("late evidence", || site.state(&id) == "SUCCEEDED");
        signal(&worker, "-TERM");
        assert!(worker.wait().unwrap().success());
        assert_eq!(site.effects(), 1, "{class}");
    }
}

#[test]
fn an_answer_that_never_came_is_a_doubt_a_person_ends() {
    let site = Site::new();
    let id = site.accept("opaque", "lost");
    site.perform("1s");
    assert_eq!((site.effects(), site.state(&id)), (1, "IN_DOUBT".to_owned()));
    let resolve = |answer: &str, person: &str| {
        let arguments = ["intents", "resolve", &id, answer, "--as", person, "--because", "asked them"];
        site.writkeeper(&arguments).output().unwrap().status.code()
    };
    assert_eq!(resolve("happened", "max"), Some(1), "only the desk may say so");
    assert_eq!(resolve("happened", "ann"), Some(0));
    assert_eq!(site.state(&id), "SUCCEEDED");
    assert_ne!(resolve("did-not", "ann"), Some(0), "it is answered once");
    // Without doubt a refusal is final, and frees the key.
    let site = Site::new();
    let id = site.accept("opaque", "refuse");
    site.perform("1s");
    assert_eq!((site.effects(), site.state(&id)), (0, "FAILED".to_owned()));
}

#[test]
fn what_was_done_is_undone_by_an_intent_of_its_own() {
    let site = Site::new();
    let id = site.accept("keyed", "ok");
    site.perform("1s");
    let undo = site.writkeeper(&["intents", "undo", &id, "--because", "wrong order", "--json"]).output().unwrap();
    let undo: Value = serde_json::from_slice(&undo.stdout).unwrap();
    // The contract names no request, so people undo it by hand and say so.
    assert_eq!(undo["state"], "HANDED_OUT");
    assert_eq!(site.intent(&id)["proposal_state"], "COMPENSATING");
    let done =
        ["intents", "resolve", undo["undo"].as_str().unwrap(), "happened", "--as", "ann", "--because", "paid back"];
    assert!(site.writkeeper(&done).status().unwrap().success());
    assert_eq!(site.intent(&id)["proposal_state"], "COMPENSATED");
}

#[test]
fn a_signed_intent_is_checked_by_its_public_key_alone_and_claimed_once() {
    let site = Site::new();
    let id = site.accept("opaque", "ok");
    let signer = ledger::keys::NoteSigner::new("kernel.example", &[9; 32]).unwrap();
    std::fs::write(site.path("key"), signer.to_secret_text()).unwrap();
    let sign =
        || site.writkeeper(&["intents", "sign", &id, "--for", "till-7", "--key", &site.path("key")]).output().unwrap();
    let signed = sign();
    assert!(signed.status.success());
    std::fs::write(site.path("signed"), &signed.stdout).unwrap();
    assert_eq!(site.state(&id), "IN_FLIGHT");
    assert_eq!(sign().status.code(), Some(1), "nobody gets it twice");
    let check = |who: &str| {
        let verifier = signer.verifier().to_string();
        let arguments = ["intents", "check", &site.path("signed"), "--key", &verifier, "--for", who];
        site.writkeeper(&arguments).output().unwrap().status.code()
    };
    assert_eq!((check("till-7"), check("till-8")), (Some(0), Some(1)));
    // Anybody can verify it, without a store; without a key nobody can say whose it is.
    let verify = |file: &str, key: Option<String>| {
        let file = site.path(file);
        let key = key.map(|key| vec!["--key".to_owned(), key]).unwrap_or_default();
        Command::new(BINARY).args(["verify", &file]).args(key).output().unwrap().status.code()
    };
    let other = ledger::keys::NoteSigner::new("kernel.example", &[8; 32]).unwrap().verifier().to_string();
    assert_eq!(verify("signed", Some(signer.verifier().to_string())), Some(0));
    assert_eq!((verify("signed", None), verify("signed", Some(other))), (Some(2), Some(1)));
    for place in (0..signed.stdout.len()).step_by(7) {
        let mut changed = signed.stdout.clone();
        changed[place] ^= 1;
        std::fs::write(site.path("changed"), &changed).unwrap();
        assert_eq!(verify("changed", Some(signer.verifier().to_string())), Some(1), "byte {place}");
    }
    assert!(site.writkeeper(&["intents", "report", &id, "succeeded"]).status().unwrap().success());
    assert_eq!(site.state(&id), "SUCCEEDED");
    site.perform("1s");
    assert_eq!(site.effects(), 0, "the runtime did not perform it as well");
}

/// Whoever can write the file of a store can write the row of an intent; what is performed is what was accepted.
#[test]
fn what_was_altered_after_its_decision_is_left_to_a_person() {
    let check = |from: &str, to: &str, problem: &str| {
        let site = Site::new();
        let id = site.accept("opaque", "ok");
        let store = rusqlite::Connection::open(site.path("db")).unwrap();
        let altered = store.execute("UPDATE intent SET body = replace(body, ?1, ?2)", [from, to]).unwrap();
        let body: String = store.query_row("SELECT body FROM intent", [], |row| row.get(0)).unwrap();
        assert!(altered == 1 && body.contains(to), "{body}");
        drop(store);
        for _ in 0..2 {
            let output = site.worker(&["--once"]).stderr(Stdio::piped()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("INTENT_ALTERED") && said.contains(problem), "{said}");
        }
        assert_eq!((site.effects(), site.state(&id).as_str()), (0, "READY"));
        let output = site.writkeeper(&["escalations"]).output().unwrap();
        let inbox = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(inbox.matches("AGENT_ASKS").count(), 1, "{inbox}");
    };
    check("\"amount\":5", "\"amount\":9", "its row is not what its decision accepted");
    check("/opaque/ok", "/opaque/no", "its row is not what its decision accepted");
}
