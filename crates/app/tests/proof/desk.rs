//! A folder in which the real binary decides, signs and verifies.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
drift: { rate: exact }
approvers: [desk]
";

/// A folder with a contract, and the binary run in it.
pub struct Desk(tempfile::TempDir);

impl Desk {
    pub fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
        std::fs::write(folder.path().join("context.json"), r#"{"state":{"rate":1}}"#).unwrap();
        Desk(folder)
    }

    /// A store with decisions in it.
    pub fn decided(count: usize) -> Desk {
        let desk = Desk::new();
        desk.decide(0..count);
        desk
    }

    pub fn decide(&self, orders: std::ops::Range<usize>) -> String {
        let codes = if orders.is_empty() { 65..=65 } else { 0..=2 };
        let lines: String = orders.map(|order| proposal(order, order % 30 + 1) + "\n").collect();
        let output = self.run("decide --store s.db --contract contract.yaml --context context.json", &lines);
        assert!(codes.contains(&output.status.code().unwrap()), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn run(&self, arguments: &str, input: &str) -> Output {
        self.run_with(arguments, input, &[])
    }

    pub fn run_with(&self, arguments: &str, input: &str, variables: &[(&str, &str)]) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .env_remove("WRITKEEPER_STORE")
            .env_remove("WRITKEEPER_KEYS")
            .envs(variables.iter().copied())
            .env("USER", "ann")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        process.wait_with_output().unwrap()
    }

    #[track_caller]
    pub fn says(&self, arguments: &str, code: i32) -> String {
        let output = self.run(arguments, "");
        let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments}: {both}");
        both
    }

    #[track_caller]
    pub fn json(&self, arguments: &str, code: i32) -> Value {
        let output = self.run(arguments, "");
        let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments}: {both}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Keeps the store as it is now under another name.
    pub fn back_up(&self, name: &str) {
        for ending in ["", "-wal"] {
            let _ = std::fs::copy(self.path(&format!("s.db{ending}")), self.path(&format!("{name}{ending}")));
        }
    }

    /// Puts a backup in the place of the store.
    pub fn restore(&self, name: &str) {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(self.path(&format!("s.db{ending}")));
            let _ = std::fs::copy(self.path(&format!("{name}{ending}")), self.path(&format!("s.db{ending}")));
        }
    }

    /// Decides, whatever comes of it.
    pub fn try_to_decide(&self, order: usize) -> Output {
        self.run("decide --store s.db --contract contract.yaml --context context.json", &proposal(order, 5))
    }

    /// Writes what a command prints into a file.
    #[track_caller]
    pub fn keep(&self, name: &str, arguments: &str) {
        let output = self.run(arguments, "");
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
        std::fs::write(self.path(name), output.stdout).unwrap();
    }

    pub fn flip(&self, name: &str, offset: usize) {
        let mut bytes = std::fs::read(self.path(name)).unwrap();
        bytes[offset] ^= 1;
        std::fs::write(self.path(name), bytes).unwrap();
    }
}

pub fn proposal(order: usize, amount: usize) -> String {
    format!(
        r#"{{"agent":"bot","action":"pay","params":{{"order":"AB-{order}","amount":{amount}}},"snapshot":"current"}}"#
    )
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
