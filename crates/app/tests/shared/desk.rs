//! A folder with a contract, and the binary in it.

use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const CONTRACT: &str = "agent: refund-bot
actions:
  issue_refund:
    once: \"refund:{order_id}\"
    params: { order_id: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
approvers: [refund-desk]
";

/// The store is `kept.db` in the folder where a verb names no other.
pub struct Desk(tempfile::TempDir);

impl Desk {
    pub fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("refunds.yaml"), CONTRACT).unwrap();
        Desk(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words.split(' ')).current_dir(self.path()).env("USER", "ann").env("HOME", self.path());
        command.env("WRITKEEPER_STORE", "kept.db").env_remove("XDG_STATE_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, words: &str, input: &str) -> Output {
        self.run_with(&[], words, input)
    }

    pub fn run_with(&self, variables: &[(&str, &str)], words: &str, input: &str) -> Output {
        let mut child = self.command(words).envs(variables.iter().copied()).spawn().unwrap();
        // Written beside the reading: many answers fill the pipe before many questions are asked.
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output().unwrap()
        })
    }

    /// What a verb says, which must end with this exit code.
    pub fn says(&self, words: &str, input: &str, code: i32) -> String {
        let output = self.run(words, input);
        let said = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {said}{error}");
        said
    }

    /// The same as JSON.
    pub fn json(&self, words: &str, code: i32) -> Value {
        let said = self.says(words, "", code);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words}: {error}: {said}"))
    }

    /// Two acceptances, a question and a refusal.
    pub fn decide(&self, store: &str) -> String {
        let line = |order: &str, amount: u32| {
            format!(
                "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-{order}\",\"idempotency_key\":\"k-{order}\",\
                 \"params\":{{\"order_id\":\"{order}\",\"amount\":{amount}}}}}\n"
            )
        };
        let lines: String =
            [("A", 12), ("B", 20), ("C", 40), ("D", 400)].map(|(order, amount)| line(order, amount)).concat();
        self.says(&format!("decide --quiet --contract refunds.yaml --store {store}"), &lines, 1)
    }

    /// So many refunds, each of an order of its own; a person is asked about every seventh. Not one of them may fail.
    pub fn decide_many(&self, name: &str, count: u32) {
        let line = |number: u32| {
            format!(
                "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"{name}-{number}\",\
                 \"params\":{{\"order_id\":\"{name}-{number}\",\"amount\":{}}}}}\n",
                if number.is_multiple_of(7) { 40 } else { 5 }
            )
        };
        let lines: String = (1..=count).map(line).collect();
        let output = self.run("decide --quiet --contract refunds.yaml", &lines);
        let answered = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!(answered, count as usize, "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn entries(&self) -> u64 {
        self.json("store migrate --json", 0).get("entries").and_then(Value::as_u64).unwrap()
    }
}
