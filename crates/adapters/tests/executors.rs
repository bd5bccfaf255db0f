//! Executors against a provider and programs that are processes of their own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use adapters::addresses::Range;
use adapters::executor_command::CommandExecutor;
use adapters::executor_http::HttpExecutor;
use kernel::contract::EffectClass;
use kernel::intent::Order;
use kernel::result::ResponseStatus;
use runtime::ports::executor::{Attempt, Executor, Observation};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use values::ids::Digest;
use values::json::{Json, Object};

struct Provider {
    child: Child,
    port: u16,
    log: std::path::PathBuf,
}

impl Provider {
    fn start(name: &str) -> Provider {
        let folder = std::env::temp_dir().join(format!("writkeeper-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = folder.join("log");
        let built = std::env::current_exe().unwrap();
        let binary = built.parent().and_then(|deps| deps.parent()).unwrap().join("examples/fake_provider");
        let mut child = Command::new(binary).arg(&log).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Provider { child, port: line.trim().parse().unwrap(), log }
    }

    fn effects(&self) -> usize {
        std::fs::read_to_string(&self.log).map_or(0, |log| log.lines().count())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.log.parent().map(std::fs::remove_dir_all);
    }
}

/// An order that is performed as `run` says.
fn order(run: &Json) -> Order {
    let mut members = run.as_object().unwrap().clone();
    for (name, value) in [("class", Json::text("opaque")), ("timeout", Json::text("5s")), ("headers", Json::object([]))]
    {
        members.entry(name.to_owned()).or_insert(value);
    }
    let run = Json::Object(members);
    let text = r#"{"action":"pay","agent":"bot","class":"opaque","contract":"DIGEST","effect_key":"k","flow":"f","holds":[],
        "id":"i","impact":"HIGH","params":{},"proposal":"p","run":RUN,"undo":null,"valid_until":"2026-01-01T00:00:00Z"}"#;
    let text = text.replace("DIGEST", &Digest::of("contract").to_string()).replace("RUN", &run.to_canonical());
    Order::from_json(&Json::parse(text.as_bytes()).unwrap()).unwrap()
}

fn attempt(run: Json, class: EffectClass, epoch: u64) -> Attempt {
    Attempt {
        intent: "i".to_owned(),
        order: order(&run),
        params: Object::from([("amount".to_owned(), Json::text("5"))]),
        key: "k".to_owned(),
        undoes: None,
        epoch,
        class,
        doubted: epoch > 1,
        deadline: Duration::from_secs(5),
    }
}

fn request(address: &str) -> Json {
    Json::object([("http", Json::text(format!("POST {address}")))])
}

fn executor(hosts: &[&str], ranges: &[&str]) -> HttpExecutor {
    let hosts = hosts.iter().map(|host| (*host).to_owned());
    HttpExecutor::new(hosts.collect(), ranges.iter().map(|range| Range::parse(range).unwrap()).collect())
}

fn word(observation: &Observation) -> String {
    format!("{}: {}", observation.observed.word().to_lowercase(), observation.detail)
}

#[test]
fn what_comes_back_is_positive_negative_or_unknown() {
    let provider = Provider::start("answers");
    let host = format!("127.0.0.1:{}", provider.port);
    let http = executor(&[&host], &["127.0.0.0/8"]);
    let check = |how: &str, expected: &str| {
        let address = format!("http://{host}/opaque/{how}");
        let mut attempt = attempt(request(&address), EffectClass::Opaque, 1);
        attempt.key = how.to_owned();
        attempt.deadline = Duration::from_millis(700);
        assert_eq!(word(&http.perform(&attempt)), expected, "{how}");
    };
    check("ok", "positive: HTTP 200");
    check("refuse", "negative: HTTP 422");
    check("error", "unknown: HTTP 500");
    check("away", "unknown: HTTP 307");
    check("hang", "unknown: no answer in time");
    assert_eq!(provider.effects(), 2);
    let lost = attempt(request(&format!("http://{host}/opaque/lost")), EffectClass::Opaque, 1);
    assert!(word(&http.perform(&lost)).starts_with("unknown:"));
    assert_eq!(provider.effects(), 3);
}

#[test]
fn nothing_is_sent_to_where_nobody_allowed() {
    let provider = Provider::start("inside");
    let port = provider.port;
    let check = |host: &str, ranges: &[&str], expected: &str| {
        let named = format!("{host}:{port}");
        let http = executor(&[&named], ranges);
        let observation = http.perform(&attempt(request(&format!("http://{named}/opaque/ok")), EffectClass::Opaque, 1));
        assert!(word(&observation).starts_with(expected), "{host} {ranges:?}: {observation:?}");
    };
    // The same machine under many names; each is refused before a byte is sent.
    for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0.0.0.0"] {
        check(host, &[], "negative");
        check(host, &["10.0.0.0/8", "::1"], "negative");
    }
    for host in ["[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]"] {
        check(host, &[], "negative");
    }
    assert_eq!(provider.effects(), 0);
    check("127.0.0.1", &["127.0.0.0/8"], "positive");
    check("2130706433", &["127.0.0.0/8"], "positive");
    let other = executor(&["pay.example"], &["127.0.0.0/8"]);
    let observation = other.perform(&attempt(request(&format!("http://127.0.0.1:{port}/")), EffectClass::Opaque, 1));
    assert!(word(&observation).contains("not allowed"), "{observation:?}");
    assert_eq!(provider.effects(), 2);
    // Nobody listens: nothing was sent.
    let closed = executor(&["127.0.0.1:9"], &["127.0.0.0/8"]);
    let observation = closed.perform(&attempt(request("http://127.0.0.1:9/"), EffectClass::Opaque, 1));
    assert_eq!(word(&observation), "negative: the connection was refused");
}

/// The first attempt still travels when the second asks whether it is there; "no" may be believed only behind a fence.
fn late_first_attempt(name: &str) -> usize {
    let provider = Provider::start(name);
    let host = format!("127.0.0.1:{}", provider.port);
    let http = executor(&[&host], &["127.0.0.0/8"]);
    let run = request(&format!("http://{host}/fenced/late"));
    let mut first = attempt(run.clone(), EffectClass::Fenced, 1);
    first.deadline = Duration::from_millis(300);
    assert_eq!(word(&http.perform(&first)), "unknown: no answer in time");
    let second = http.perform(&attempt(run, EffectClass::Fenced, 2));
    assert_eq!(word(&second), "positive: HTTP 200");
    provider.effects()
}

#[test]
fn a_late_attempt_is_fenced_off() {
    assert_eq!(late_first_attempt("fenced"), 1);
}

#[cfg(feature = "bugs")]
#[test]
fn without_the_fence_it_happens_twice() {
    use values::bugs::{Bug, with};
    assert_eq!(with(Bug::ProbeBelieved, || late_first_attempt("probed")), 2);
}

#[test]
fn secrets_are_read_when_used_and_shown_nowhere() {
    let http = executor(&["pay.example"], &[]);
    let with_header = |value: &str| {
        let headers = Json::object([("authorization", Json::text(value))]);
        let run = Json::object([("http", Json::text("POST https://pay.example/")), ("headers", headers)]);
        order(&run)
    };
    assert!(http.can_perform(&with_header("secret://env/PATH")).is_ok());
    for reference in ["secret://env/WRITKEEPER_NO_SUCH", "secret://file/no/such/file", "secret://vault/x", "secret://x"]
    {
        assert!(http.can_perform(&with_header(reference)).is_err(), "{reference}");
    }
    let path = std::env::temp_dir().join(format!("writkeeper-secret-{}", std::process::id()));
    std::fs::write(&path, "first-line-7d1f\nsecond\n").unwrap();
    let problem = http.can_perform(&with_header(&format!("secret://file{}", path.display()))).unwrap_err().to_string();
    std::fs::remove_file(path).unwrap();
    assert!(!problem.contains("7d1f"), "{problem}");
}

#[test]
fn programs_get_params_and_no_shell_and_end_at_their_deadline() {
    let check = |argv: &[&str], expected: &str| {
        let run = Json::object([("command", Json::texts(argv.iter().copied()))]);
        let mut attempt = attempt(run, EffectClass::Opaque, 1);
        attempt.deadline = Duration::from_millis(400);
        assert_eq!(word(&CommandExecutor.perform(&attempt)), expected, "{argv:?}");
    };
    check(&["sh", "-c", "grep -q '\"amount\":\"5\"' && test \"$WRITKEEPER_KEY\" = k"], "positive: exit code 0");
    check(&["test", "$(true)", "=", "x"], "unknown: exit code 1");
    check(&["test", "{amount}", "=", "5"], "positive: exit code 0");
    check(&["test", "{{amount}}", "=", "5"], "unknown: exit code 1");
    check(&["test", "{other}", "=", "5"], "negative: not run: the argument `{other}` needs the param `other`");
    check(&["sh", "-c", "exit 3"], "negative: exit code 3");
    check(&["sh", "-c", "kill -9 $$"], "unknown: it was ended by a signal");
    check(&["sleep", "60"], "unknown: it was ended at its deadline");
    check(&["/no/such/program"], "negative: `/no/such/program` did not start: entity not found");
    check(&["sh", "-c", "yes | head -c 9000000 >/dev/null; echo done"], "positive: exit code 0");
}

#[test]
fn what_a_program_prints_is_its_answer_and_its_diagnostics_are_not() {
    let check = |script: &str, status: ResponseStatus, body: &str| {
        let run = Json::object([("command", Json::texts(["sh", "-c", script]))]);
        let observation = CommandExecutor.perform(&attempt(run, EffectClass::Opaque, 1));
        let response = observation.response.unwrap_or_else(|| panic!("{script}: {}", observation.detail));
        assert_eq!((response.status, String::from_utf8(response.body).unwrap().as_str()), (status, body), "{script}");
        assert!(response.complete && response.secrets.is_empty(), "{script}");
    };
    check("echo r-1; echo diagnostics >&2", ResponseStatus::Exit(0), "r-1\n");
    check("printf no; exit 3", ResponseStatus::Exit(3), "no");
    check("printf half; exit 9", ResponseStatus::Exit(9), "half");
    check("kill -9 $$", ResponseStatus::Signal(9), "");
    // What is longer than the bound is known not to be all of it.
    let run = Json::object([("command", Json::texts(["sh", "-c", "head -c 1048577 /dev/zero"]))]);
    let response = CommandExecutor.perform(&attempt(run, EffectClass::Opaque, 1)).response.unwrap();
    assert!(!response.complete);
}

#[test]
fn an_answer_comes_with_its_status_and_the_secrets_that_must_not_stand_in_it() {
    let provider = Provider::start("bodies");
    let host = format!("127.0.0.1:{}", provider.port);
    let path = std::env::temp_dir().join(format!("writkeeper-header-{}", std::process::id()));
    std::fs::write(&path, "tok-9\n").unwrap();
    let token = format!("secret://file{}", path.display());
    let headers = Json::object([("authorization", Json::text(token)), ("x-plain", Json::text("plain"))]);
    let request = Json::text(format!("POST http://{host}/opaque/refuse"));
    let run = Json::object([("http", request), ("headers", headers)]);
    let observation = executor(&[&host], &["127.0.0.0/8"]).perform(&attempt(run, EffectClass::Opaque, 1));
    std::fs::remove_file(path).unwrap();
    let response = observation.response.unwrap_or_else(|| panic!("{}", observation.detail));
    assert_eq!((response.status, response.body.as_slice()), (ResponseStatus::Http(422), b"{}".as_slice()));
    assert_eq!((response.content_type, response.complete), (None, true));
    assert_eq!(response.secrets, ["tok-9"], "what is plain may come back");
}
