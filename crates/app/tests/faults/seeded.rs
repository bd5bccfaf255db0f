//! Known faults switched on in the real binary: the history checker, which knows nothing of them, must see each.

use crate::history::Broken;
use crate::paused::until_stopped;
use crate::site::{Site, now, proposal};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Output};
use values::bugs::Bug;

struct Stage {
    site: Site,
    bug: Option<Bug>,
}

impl Stage {
    fn faulty(&self, mut command: Command) -> Command {
        if let Some(bug) = self.bug {
            command.env("WRITKEEPER_BUG", bug.name());
        }
        command
    }

    fn decide(&self, key: &str, action: &str, how: &str) -> Output {
        self.say(key, &proposal(key, action, how, 5), &[])
    }

    fn say(&self, key: &str, text: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = self.faulty(self.site.deciding());
        command.envs(variables.iter().copied());
        self.site.decide(command, &[key], |_| text.to_owned()).1
    }

    fn perform(&self, ahead: &str, variables: &[(&str, &str)]) {
        let command = self.site.performing(&["--once", "--threads", "1", "--clock-ahead", ahead]);
        self.faulty(command).envs(variables.iter().copied()).output().unwrap();
    }

    fn run(&self, arguments: &[&str]) {
        let output = self.faulty(self.site.writkeeper(arguments)).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// Dies at a point while performing.
    fn perform_to(&self, point: &str) {
        self.perform("1ms", &[("WRITKEEPER_CRASH_AT", point)]);
    }

    fn heal(&self) {
        for ahead in ["20s", "40s", "60s"] {
            self.perform(ahead, &[]);
        }
    }
}

/// A process that decides line by line for as long as somebody talks to it.
struct Talking {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Talking {
    fn to(stage: &Stage) -> Talking {
        let mut child = stage.faulty(stage.site.deciding()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Talking { child, said }
    }

    fn say(&mut self, text: &str) -> String {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(format!("{text}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

type Scene = fn(&Stage);

/// A worker that sleeps before it marks, while something else happens.
fn sleeping(stage: &Stage, meanwhile: impl FnOnce()) {
    let mut command = stage.faulty(stage.site.performing(&["--once", "--threads", "1"]));
    let mut worker = stage.site.pausing(&mut command, "execute.mark.before").spawn().unwrap();
    until_stopped(&worker);
    meanwhile();
    stage.site.wake(&worker);
    worker.wait().unwrap();
}

/// The switch, and what brings it to light.
const SCENES: &[(Bug, Scene)] = &[
    (Bug::NoInFlightMark, |stage| {
        stage.decide("k", "opaque", "ok");
        stage.perform_to("execute.record.before");
        stage.heal();
    }),
    (Bug::NegativeAfterDoubtFinal, |stage| {
        // The first attempt arrives and is not heard of; the second is refused.
        stage.decide("k", "fickle", "ok");
        stage.heal();
    }),
    (Bug::OpaqueRetried, |stage| {
        stage.decide("k", "opaque", "lost");
        stage.heal();
    }),
    (Bug::ProbeBelieved, |stage| {
        // The first attempt arrives between the question and the next attempt.
        stage.decide("k", "fenced", "late");
        stage.perform("1ms", &[]);
        stage.heal();
    }),
    (Bug::ExpiryFreesInFlight, |stage| {
        stage.decide("k", "opaque", "ok");
        stage.perform_to("execute.record.before");
        stage.perform("10m", &[]);
    }),
    (Bug::StartUnchecked, |stage| {
        stage.decide("k", "keyed", "ok");
        sleeping(stage, || stage.run(&["agents", "suspend", "bot", "--because", "test"]));
    }),
    (Bug::SuspensionIgnored, |stage| {
        stage.decide("k", "keyed", "ok");
        stage.run(&["agents", "suspend", "bot", "--because", "test"]);
        let mut command = stage.faulty(stage.site.writkeeper(&["decide", "--quiet"]));
        command.stdin(std::process::Stdio::piped());
        stage.site.decide(command, &["j"], |key| proposal(key, "keyed", "ok", 5));
    }),
    (Bug::W01KeyForgotten, |stage| {
        stage.say("k", &proposal("k", "keyed", "ok", 500), &[]);
        stage.say("k", &proposal("k", "keyed", "ok", 500), &[]);
    }),
    (Bug::W02HeldIgnored, |stage| {
        for key in ["a", "b", "c"] {
            stage.say(key, &proposal(key, "scarce", "ok", 40), &[]);
        }
    }),
    (Bug::ExpiryAtCreation, |stage| {
        let made = r#""created_at":"2026-01-01T00:00:00Z","valid_until":"2026-01-01T00:00:30Z","agent""#;
        stage.say("k", &proposal("k", "keyed", "ok", 5).replacen(r#""agent""#, made, 1), &[]);
    }),
    (Bug::AmbiguousRetried, |stage| {
        stage.decide("j", "keyed", "ok");
        stage.say(
            "k",
            &proposal("k", "keyed", "ok", 500).replacen(r#""idempotency_key":"k","#, "", 1),
            &[("WRITKEEPER_COMMIT_DOUBT", "after")],
        );
    }),
    (Bug::RowsOlderThanLock, |stage| {
        // Two processes take turns on what is left; the first remembers what it read before the other's turn.
        let turn = |talking: &mut Talking, key: &str| {
            let (args, began) = (proposal(key, "scarce", "ok", 40), now());
            let said = talking.say(&args);
            stage.site.log(key, &args, began, Some(&said));
        };
        let (mut one, mut other) = (Talking::to(stage), Talking::to(stage));
        turn(&mut one, "a");
        turn(&mut other, "b");
        turn(&mut one, "c");
    }),
    (Bug::IndexFromSequence, |stage| {
        stage.decide("j", "keyed", "ok");
        stage.say("k", &proposal("k", "keyed", "ok", 5), &[("WRITKEEPER_COMMIT_DOUBT", "before")]);
    }),
    (Bug::NoFence, |stage| {
        // It sleeps before it marks; another one takes the intent over; then it wakes.
        stage.decide("k", "keyed", "ok");
        sleeping(stage, || stage.perform("20s", &[("WRITKEEPER_CRASH_AT", "execute.mark.before")]));
    }),
];

fn play(scene: Scene, bug: Option<Bug>) -> Vec<Broken> {
    let stage = Stage { site: Site::new(), bug };
    scene(&stage);
    stage.site.judge().1
}

#[test]
fn every_seeded_fault_is_seen_in_the_history() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let mut missed = Vec::new();
    for (bug, scene) in SCENES {
        assert_eq!(play(*scene, None), [], "without {}", bug.name());
        match play(*scene, Some(*bug)).first() {
            Some((invariant, problem)) => println!("seeded {}: caught by {invariant}: {problem}", bug.name()),
            None => missed.push(bug.name()),
        }
    }
    println!("seeded faults caught by the history checker {}/{}", SCENES.len() - missed.len(), SCENES.len());
    assert!(missed.is_empty(), "nobody noticed {missed:?}");
}
