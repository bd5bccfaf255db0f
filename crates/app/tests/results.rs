//! What the other side of an effect answered comes back to whoever proposed it, holds none of the secrets it repeated, and
//! can be erased without a loss for replay. Real processes, and a real server that repeats everything it is sent.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

const SECRET: &str = "hünter2/secret token";
const HEADER_SECRET: &str = "tok-53cr37-0f-h34d3r";

/// Repeats what it was sent: as it is, escaped, percent-encoded and as base64; and says the number of a refund.
fn serve(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => value.clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut sent = vec![0; length];
    reader.read_exact(&mut sent).ok()?;
    let sent: Value = serde_json::from_slice(&sent).ok()?;
    let secret = sent["account"].as_str()?;
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let ascii: String = secret
        .chars()
        .map(|letter| if letter.is_ascii() { letter.to_string() } else { format!("\\u{:04x}", u32::from(letter)) })
        .collect();
    let body = format!(
        r#"{{"refund":"r-77","raw":"{secret}","ascii":"{ascii}","query":"{percent}","basic":"{}","token":"{authorization}","rest":"{}"}}"#,
        STANDARD.encode(format!("bot:{secret}")),
        "x".repeat(sent["padding"].as_u64().map_or(0, |padding| padding as usize)),
    );
    let head = format!("HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    let mut stream = stream;
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).ok()
}

struct Shop {
    folder: tempfile::TempDir,
    port: u16,
}

impl Shop {
    fn new() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(&stream);
            }
        });
        let shop = Shop { folder: tempfile::tempdir().unwrap(), port };
        let contract = format!(
            "agent: bot\nproposal: {{ ttl: {{ default: 5m, max: 5m }} }}\nactions:\n  refund:\n    once: 'refund:{{order}}'\n    \
             params: {{ type: object, additionalProperties: false, required: [order, padding, account], properties: {{ \
             order: {{ type: string }}, padding: {{ type: integer }}, account: {{ type: string, secret: true }} }} }}\n    \
             allow: params.padding <= 200000\n    ask: params.padding <= 300000\n    \
             run: {{ http: 'POST http://127.0.0.1:{port}/refunds', class: keyed, timeout: 5s, headers: {{ authorization: 'secret://env/PAY_TOKEN' }} }}\n\
             approvers: [desk]\n"
        );
        std::fs::write(shop.folder.path().join("bot.yaml"), contract).unwrap();
        std::fs::write(shop.folder.path().join("people.yaml"), "desk: [ann]\n").unwrap();
        shop
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(arguments).current_dir(self.folder.path()).env("PAY_TOKEN", HEADER_SECRET).env("USER", "max");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn propose(&self, order: &str, padding: u64, more: &[&str]) -> Child {
        let mut command = self.command(&["decide", "--store", "db", "--contract", "bot.yaml"]);
        let mut child = command.args(more).spawn().unwrap();
        let line = serde_json::json!({"agent": "bot", "action": "refund",
            "params": {"order": order, "padding": padding, "account": SECRET}});
        child.stdin.take().unwrap().write_all(line.to_string().as_bytes()).unwrap();
        child
    }

    fn worker(&self) -> Worker {
        let host = format!("127.0.0.1:{}", self.port);
        let arguments = ["run", "--store", "db", "--json", "--allow-host", &host, "--allow-private", "127.0.0.0/8"];
        Worker(self.command(&arguments).spawn().unwrap())
    }

    /// Everything the store's files hold.
    fn bytes(&self) -> Vec<u8> {
        ["db", "db-wal"]
            .iter()
            .flat_map(|name| std::fs::read(self.folder.path().join(name)).unwrap_or_default())
            .collect()
    }
}

/// A worker that ends with the test.
struct Worker(Child);

impl Worker {
    fn end(mut self) -> String {
        assert!(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap().success());
        let mut said = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.0.wait().unwrap();
        said
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn answer(child: Child, code: i32) -> (Value, String) {
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}{error}");
    let mut lines = said.lines();
    let line = lines.next().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(lines.next(), None, "one line");
    (serde_json::from_str(line).unwrap(), error)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn the_providers_answer_comes_back_without_the_secrets_it_repeats() {
    let shop = Shop::new();
    answer(shop.propose("A0", 1, &[]), 0);
    let worker = shop.worker();
    let (said, _) = answer(shop.propose("A1", 3, &["--wait=60s"]), 0);
    assert_eq!((&said["verdict"], &said["outcome"]["state"]), (&"ACCEPT".into(), &"SUCCEEDED".into()), "{said}");
    assert_eq!(
        (&said["result"]["status"]["http"], &said["result"]["content_type"]),
        (&201.into(), &"application/json".into())
    );
    let body: Value = serde_json::from_str(said["result"]["body"]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&body["refund"], &body["rest"]), (&"r-77".into(), &"xxx".into()));
    for key in ["raw", "ascii", "query", "token"] {
        assert_eq!(body[key], "[secret]", "{key}: {body}");
    }
    // What is longer is cut, and its digest is that of the whole.
    let (long, _) = answer(shop.propose("A2", 100_000, &["--wait=60s"]), 0);
    let result = &long["result"];
    assert_eq!((result["cut"].as_bool(), result["complete"].as_bool()), (Some(true), Some(true)));
    assert_eq!(result["body"]["text"].as_str().unwrap().len(), 65_536);
    assert!(result["bytes"].as_u64().unwrap() > 100_000, "{}", result["bytes"]);
    // One line for each effect.
    let told = worker.end();
    assert!(told.contains(r#""effect_key":"refund:A1""#) && told.contains(r#""detail":"HTTP 201""#), "{told}");
    let shown = shop.run(&["intents", "show", said["outcome"]["intent"].as_str().unwrap(), "--store", "db", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["result"], said["result"]);
    let bytes = shop.bytes();
    assert!(holds(&bytes, "r-77"), "the result is kept");
    let basic = STANDARD.encode(format!("bot:{SECRET}"));
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for secret in [SECRET, HEADER_SECRET, "h\\u00fcnter2", &basic[8..basic.len() - 4], &percent] {
        assert!(!holds(&bytes, secret), "the store holds {secret}");
    }
}

#[test]
fn a_result_can_be_erased_and_everything_is_judged_again() {
    let shop = Shop::new();
    let plain = "agent: bot\nactions:\n  pack:\n    once: 'pack:{order}'\n    params: { order: text }\n    \
                 run: { command: ['echo', 'packed {order} for Ann Example'] }\n";
    std::fs::write(shop.folder.path().join("bot.yaml"), plain).unwrap();
    let mut command = shop.command(&["decide", "--store", "db", "--contract", "bot.yaml"]);
    let mut child = command.spawn().unwrap();
    let line = r#"{"agent":"bot","action":"pack","params":{"order":"A"}}"#;
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let (said, _) = answer(child, 0);
    let intent = said["intent"]["id"].as_str().unwrap().to_owned();
    assert_eq!(shop.run(&["run", "--once", "--allow-programs", "--store", "db"]).status.code(), Some(0));
    let show = || {
        let shown = shop.run(&["intents", "show", &intent, "--store", "db", "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).unwrap()["result"].clone()
    };
    assert_eq!(show()["body"]["text"], "packed A for Ann Example\n");
    assert_eq!(show()["status"]["exit"], 0);
    let verify = || {
        let export = shop.run(&["ledger", "export", "--store", "db", "--out", "l.export"]);
        assert!(export.status.success(), "{export:?}");
        let output = shop.run(&["verify", "l.export", "--json"]);
        std::fs::remove_file(shop.folder.path().join("l.export")).unwrap();
        (output.status.code().unwrap(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (_, before) = verify();
    assert_eq!((before["results"].as_u64(), before["results_erased"].as_u64()), (Some(1), Some(0)), "{before}");
    let erase = shop.run(&["ledger", "erase", "--result", &intent, "--because", "asked for", "--store", "db"]);
    assert!(erase.status.success(), "{erase:?}");
    let (code, after) = verify();
    assert_eq!((after["results"].as_u64(), after["results_erased"].as_u64()), (Some(0), Some(1)), "{after}");
    assert_eq!((after["erased"].as_u64(), after["withheld"].as_u64()), (Some(0), Some(0)), "{after}");
    assert_eq!(code, 0, "{after}");
    assert_eq!(show(), Value::Null);
    assert!(!holds(&shop.bytes(), "packed A for Ann"));
}

#[test]
fn whoever_waits_hears_what_is_still_open() {
    let shop = Shop::new();
    // No worker runs.
    let (said, error) = answer(shop.propose("A", 1, &["--wait=1s"]), 3);
    assert_eq!((&said["outcome"]["state"], &said["result"]), (&"READY".into(), &Value::Null));
    assert!(error.contains("no worker has taken intent") && error.contains("writkeeper run --allow-host "), "{error}");
    assert!(error.contains(" --allow-private 127.0.0.1 --store db"), "{error}");
    // Nobody answers.
    assert!(shop.run(&["people", "set", "people.yaml", "--store", "db"]).status.success());
    let (said, error) = answer(shop.propose("B", 250_000, &["--wait=1s"]), 2);
    let question = said["question"]["id"].as_str().unwrap().to_owned();
    assert!(said["question"]["deadline"].as_str().unwrap().ends_with('Z'), "{said}");
    assert_eq!(said["answer"]["state"], "OPEN");
    assert!(error.contains(&question), "{error}");
    // Somebody does, while another proposal waits.
    let worker = shop.worker();
    let waiting = shop.propose("C", 250_001, &["--wait=120s"]);
    let begin = std::time::Instant::now();
    let asked = loop {
        let listed = shop.run(&["escalations", "list", "--store", "db", "--json"]);
        let listed = String::from_utf8(listed.stdout).unwrap();
        let mut ids = listed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let other = ids.find_map(|row| row["id"].as_str().filter(|id| *id != question).map(str::to_owned));
        if let Some(other) = other {
            break other;
        }
        assert!(begin.elapsed().as_secs() < 60, "nobody asked: {listed}");
    };
    let answered =
        shop.run(&["escalations", "answer", &asked, "override", "--as", "ann", "--because", "fine", "--store", "db"]);
    assert!(answered.status.success(), "{answered:?}");
    let (said, _) = answer(waiting, 0);
    assert_eq!((&said["answer"]["state"], &said["answer"]["by"]), (&"OVERRIDDEN".into(), &"ann".into()), "{said}");
    assert_eq!((&said["outcome"]["state"], &said["result"]["status"]["http"]), (&"SUCCEEDED".into(), &201.into()));
    drop(worker);
}
