//! A workspace with a guard, and hosts that run what `init` wrote into their configuration.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Every host by its word.
pub const HOSTS: [&str; ::guard::hooks::HOSTS.len()] = {
    let (mut words, mut index) = ([""; ::guard::hooks::HOSTS.len()], 0);
    while index < words.len() {
        words[index] = ::guard::hooks::HOSTS[index].word;
        index += 1;
    }
    words
};

/// Hosts that a hook blocks with exit 2.
pub const BY_EXIT: [&str; 4] = ["claude-code", "codex", "gemini", "qwen"];

pub struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    /// A workspace in which these hosts are guarded.
    pub fn guarding(hosts: &[&str]) -> Site {
        let site = Site::bare();
        site.init(hosts, &["--trust"]);
        site
    }

    /// The same, but not among temporary files, where losing things counts for less.
    pub fn guarding_real_work(hosts: &[&str]) -> Site {
        let site = Site::within(folder_that_lasts());
        site.init(hosts, &["--trust"]);
        site
    }

    pub fn bare() -> Site {
        Site::within(tempfile::tempdir().unwrap())
    }

    fn within(folder: tempfile::TempDir) -> Site {
        let site = Site { folder };
        for name in ["home", "bin", "ws/src", "ws/.git"] {
            std::fs::create_dir_all(site.path().join(name)).unwrap();
        }
        // A binary of its own, so that a test can take it away.
        let built = Path::new(env!("CARGO_BIN_EXE_writkeeper"));
        if std::fs::hard_link(built, site.binary()).is_err() {
            std::fs::copy(built, site.binary()).unwrap();
        }
        std::fs::write(site.workspace().join("src/a.py"), "print(1)\n").unwrap();
        site
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn workspace(&self) -> PathBuf {
        self.path().join("ws")
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn binary(&self) -> PathBuf {
        self.path().join("bin/writkeeper")
    }

    pub fn guard(&self) -> PathBuf {
        self.workspace().join(".writkeeper")
    }

    #[track_caller]
    pub fn init(&self, hosts: &[&str], more: &[&str]) -> String {
        let mut arguments = vec!["init"];
        hosts.iter().for_each(|host| arguments.extend(["--host", host]));
        arguments.extend(more);
        self.says(&arguments, 0)
    }

    /// Runs the binary in the workspace.
    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(self.binary());
        self.fed(command.args(arguments), input)
    }

    #[track_caller]
    pub fn says(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments, "");
        let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {both}");
        both
    }

    /// A command in the workspace, with the home of its owner.
    pub fn here<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.current_dir(self.workspace()).env("HOME", self.home()).env("USER", "ann").env_remove("WRITKEEPER_STORE")
    }

    fn fed(&self, command: &mut Command, input: &str) -> Output {
        let mut process =
            self.here(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        process.wait_with_output().unwrap()
    }

    /// Calls as a host does: the command line from its configuration, in a shell.
    #[track_caller]
    pub fn call(&self, host: &str, moment: &str, payload: &str) -> Output {
        self.calls_with(&self.wired(host, moment), payload)
    }

    /// Calls as a host does that read its configuration before.
    pub fn calls_with(&self, line: &str, payload: &str) -> Output {
        let mut command = Command::new("/bin/sh");
        self.fed(command.args(["-c", line]), payload)
    }

    /// What `doctor` says about a host in its first line.
    #[track_caller]
    pub fn diagnosis(&self, host: &str) -> String {
        let [line] = self.diagnoses([host]);
        line
    }

    /// What `doctor` says about each of these hosts in its first line, also where the binary of this site is gone.
    #[track_caller]
    pub fn diagnoses<const N: usize>(&self, hosts: [&str; N]) -> [String; N] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        let said = text(&self.fed(command.arg("doctor"), "").stdout);
        hosts.map(|host| {
            let title = ::guard::hooks::host(host).unwrap().title;
            said.lines().find(|line| line.starts_with(title)).unwrap_or_default().to_owned()
        })
    }

    /// The command line that a host's own configuration holds for a moment.
    #[track_caller]
    pub fn wired(&self, host: &str, moment: &str) -> String {
        let text = std::fs::read_to_string(self.configuration(host)).unwrap();
        if host == "codex" {
            let behind = text.split(&format!("[[hooks.{moment}.hooks]]")).nth(1).unwrap();
            let written = behind.split("command = ").nth(1).unwrap().lines().next().unwrap();
            return serde_json::from_str(written).unwrap();
        }
        let document: Value = serde_json::from_str(&text).unwrap();
        let entry = document["hooks"][moment].as_array().unwrap().last().unwrap().clone();
        let flat = entry["command"].as_str().or(entry["bash"].as_str());
        flat.or(entry["hooks"][0]["command"].as_str()).unwrap().to_owned()
    }

    pub fn configuration(&self, host: &str) -> PathBuf {
        self.workspace().join(::guard::hooks::host(host).unwrap().settings.file)
    }

    /// A recorded payload with this workspace and this command in it.
    pub fn payload(&self, host: &str, event: &str, command: &str) -> String {
        let path = format!("{}/tests/guard/payloads/{host}/{event}.json", env!("CARGO_MANIFEST_DIR"));
        let recorded = std::fs::read_to_string(path).unwrap();
        let inside = |text: &str| {
            let quoted = serde_json::to_string(text).unwrap();
            quoted[1..quoted.len() - 1].to_owned()
        };
        // Some versions of Copilot write arguments as JSON inside of JSON.
        let is_nested = recorded.contains(r#"\"{{command}}"#);
        let command = if is_nested { inside(&inside(command)) } else { inside(command) };
        recorded.replace("{{cwd}}", &self.workspace().to_string_lossy()).replace("{{command}}", &command)
    }

    /// What Claude Code is told about a tool call.
    #[track_caller]
    pub fn judge(&self, tool: &str, input: &Value) -> Told {
        let payload = serde_json::json!({
            "session_id": "s1", "transcript_path": "/dev/null", "cwd": self.workspace(), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1",
        });
        let output = self.run(&["hook", "pre-tool", "--host", "claude-code"], &payload.to_string());
        told("claude-code", &output)
    }

    #[track_caller]
    pub fn shell(&self, command: &str) -> Told {
        self.judge("Bash", &serde_json::json!({ "command": command }))
    }
}

/// A fresh folder that no system counts among temporary files: under the build's own, or under a person's home if the clone
/// lies among temporary files.
fn folder_that_lasts() -> tempfile::TempDir {
    let temporary = ["/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/private/var/folders", "/dev/shm"];
    let temporary: Vec<PathBuf> = temporary.into_iter().map(PathBuf::from).chain([std::env::temp_dir()]).collect();
    let cache = std::env::home_dir().map(|home| home.join(".cache/writkeeper-tests"));
    let candidates = [Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))), cache];
    let fresh = |above: PathBuf| {
        std::fs::create_dir_all(&above).ok()?;
        let above = above.canonicalize().ok()?;
        let lasts = !temporary.iter().any(|folder| above.starts_with(folder));
        lasts.then(|| tempfile::tempdir_in(above).ok()).flatten()
    };
    candidates
        .into_iter()
        .flatten()
        .find_map(fresh)
        .expect("neither the target folder nor the home holds files that last")
}

/// What a host makes of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Runs,
    Asks(String),
    Blocked(String),
}

/// Reads an answer before a tool as the host does, by the rules of its documentation.
#[track_caller]
pub fn told(host: &str, output: &Output) -> Told {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let code = output.status.code();
    if BY_EXIT.contains(&host) && code == Some(2) {
        return Told::Blocked(stderr);
    }
    // Any other failure, and what is no JSON: these hosts run the call.
    let answer: Value = serde_json::from_str(stdout.trim()).unwrap_or(Value::Null);
    if code != Some(0) || !answer.is_object() {
        return Told::Runs;
    }
    let (word, why) = match host {
        "cursor" => (&answer["permission"], &answer["agent_message"]),
        "gemini" => (&answer["decision"], &answer["reason"]),
        "copilot" => (&answer["permissionDecision"], &answer["permissionDecisionReason"]),
        _ => {
            let nested = &answer["hookSpecificOutput"];
            (&nested["permissionDecision"], &nested["permissionDecisionReason"])
        }
    };
    let why = why.as_str().unwrap_or_default().to_owned();
    match word.as_str() {
        Some("deny" | "block") if !why.is_empty() => Told::Blocked(why),
        Some("ask") if host != "codex" && host != "gemini" => Told::Asks(why),
        _ => Told::Runs,
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
