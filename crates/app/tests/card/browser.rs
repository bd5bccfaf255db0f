//! A real browser without a driver: Chromium's own protocol through a pipe.

use base64::Engine as _;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Names under which distributions install it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
pub struct Chromium {
    _folder: tempfile::TempDir,
    process: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    next: u64,
    /// What the page complained about: a policy that was broken, a script that failed, a dialog that opened.
    pub complaints: Vec<String>,
    loads: u64,
}

/// The program, which the test command installs; where there is none, it says what is missing.
pub fn program() -> Option<String> {
    let is_there = |name: &&&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    let name = NAMES.iter().find(is_there).map(|name| (*name).to_owned());
    if name.is_none() {
        println!("missing: chromium");
    }
    name
}

impl Chromium {
    /// Starts it with an empty profile.
    pub fn start(program: &str) -> Chromium {
        let folder = tempfile::tempdir().unwrap();
        let (inlet, outlet) = (folder.path().join("in"), folder.path().join("out"));
        assert!(Command::new("mkfifo").args([&inlet, &outlet]).status().unwrap().success());
        let flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
                     --disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage \
                     --remote-debugging-pipe";
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let script = "in=$1; out=$2; shift 2; exec \"$@\" 3<\"$in\" 4>\"$out\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args([&inlet, &outlet]).arg(program).args(flags.split_whitespace());
        command
            .args([profile.as_str(), "about:blank"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = command.spawn().unwrap();
        // In the order in which the shell opens them.
        let to = OpenOptions::new().write(true).open(&inlet).unwrap();
        let from = BufReader::new(File::open(&outlet).unwrap());
        let (session, complaints) = (String::new(), Vec::new());
        let mut browser = Chromium { _folder: folder, process, to, from, session, next: 0, complaints, loads: 0 };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page.enable", "Log.enable", "Runtime.enable", "DOM.enable"] {
            browser.ask(domain, json!({}));
        }
        browser
    }

    /// Asks for something and waits for the answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let heard = self.hear();
            if heard["id"] == json!(self.next) {
                assert!(heard["error"].is_null(), "{method}: {heard}");
                return heard["result"].clone();
            }
        }
    }

    fn hear(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert!(bytes.pop().is_some(), "the browser ended");
        let heard: Value = serde_json::from_slice(&bytes).unwrap();
        match heard["method"].as_str() {
            Some("Page.loadEventFired") => self.loads += 1,
            Some("Page.javascriptDialogOpening" | "Runtime.exceptionThrown") => self.complaints.push(heard.to_string()),
            Some("Log.entryAdded") => {
                let entry = &heard["params"]["entry"];
                // A refused answer is shown as a page with its status, and a page needs no picture for its tab.
                if entry["source"] != "network" {
                    self.complaints.push(entry["text"].to_string());
                }
            }
            Some(_) | None => {}
        }
        heard
    }

    /// Waits until one more page is there than were before.
    pub fn loaded(&mut self, before: u64) {
        while self.loads <= before {
            self.hear();
        }
    }

    /// Opens an address.
    pub fn open(&mut self, address: &str) {
        let before = self.loads;
        self.ask("Page.navigate", json!({ "url": address }));
        self.loaded(before);
    }

    /// How wide the window is, and which colours are wanted.
    pub fn look(&mut self, width: u32, scheme: &str) {
        let metrics = json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let wanted = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": wanted }));
    }

    /// Whether pages may run scripts.
    pub fn scripts(&mut self, may_run: bool) {
        self.ask("Emulation.setScriptExecutionDisabled", json!({ "value": !may_run }));
    }

    /// Puts the keyboard on the first element that fits.
    #[track_caller]
    pub fn focus(&mut self, selector: &str) {
        let root = self.ask("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
        let found = self.ask("DOM.querySelector", json!({ "nodeId": root, "selector": selector }))["nodeId"].clone();
        assert_ne!(found, 0, "{selector}");
        self.ask("DOM.focus", json!({ "nodeId": found }));
    }

    /// Types text where the keyboard is.
    pub fn types(&mut self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text }));
    }

    /// Presses Enter, and waits for the page that comes of it.
    pub fn enter(&mut self) {
        let before = self.loads;
        for kind in ["keyDown", "keyUp"] {
            let mut key = json!({ "type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13 });
            if kind == "keyDown" {
                key["text"] = json!("\r");
            }
            self.ask("Input.dispatchKeyEvent", key);
        }
        self.loaded(before);
    }

    /// The page as the browser has it.
    pub fn markup(&mut self) -> String {
        let root = self.ask("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
        self.ask("DOM.getOuterHTML", json!({ "nodeId": root }))["outerHTML"].as_str().unwrap().to_owned()
    }

    /// How many elements fit.
    pub fn count(&mut self, selector: &str) -> usize {
        let root = self.ask("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
        let found = self.ask("DOM.querySelectorAll", json!({ "nodeId": root, "selector": selector }));
        found["nodeIds"].as_array().unwrap().len()
    }

    /// The whole page as a picture, and how wide what it holds is.
    pub fn picture(&mut self, path: &Path) -> f64 {
        let size = self.ask("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let (width, height) = (size["width"].as_f64().unwrap(), size["height"].as_f64().unwrap());
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let taken = self.ask("Page.captureScreenshot", wanted);
        let bytes = base64::engine::general_purpose::STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        width
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
