//! Events handed on to Kafka: librdkafka's mock cluster, whose broker goes away in the middle. `cargo xtask kafka` runs it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::mocking::MockCluster;
use rdkafka::{Offset, TopicPartitionList};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(120);

const PARTITIONS: i32 = 3;

const CONTRACT: &str = "agent: refund-bot
actions:
  issue_refund:
    params: { order_id: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
approvers: [refund-desk]
";

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("refunds.yaml"), CONTRACT).unwrap();
        Desk(folder)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words.split(' ')).current_dir(self.0.path()).env("USER", "ann").env("HOME", self.0.path());
        command.env("WRITKEEPER_STORE", "kept.db").env_remove("XDG_STATE_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What a verb says as JSON, which must end with this exit code.
    fn json(&self, words: &str, code: i32) -> Value {
        let output = self.command(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words}: {error}"))
    }

    fn decide(&self, name: &str, count: u32) {
        let line = |number: u32| {
            format!(
                "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"{name}-{number}\",\
                 \"params\":{{\"order_id\":\"{name}-{number}\",\"amount\":{}}}}}\n",
                if number.is_multiple_of(7) { 40 } else { 5 }
            )
        };
        let lines: String = (1..=count).map(line).collect();
        let mut child = self.command("decide --quiet --contract refunds.yaml").spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let answered = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!(answered, count as usize, "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn entries(&self) -> u64 {
        self.json("store migrate --json", 0).get("entries").and_then(Value::as_u64).unwrap()
    }
}

/// Everything in a topic, in the order of each partition: key, id and event.
fn stored(servers: &str, topic: &str) -> Vec<(String, String, Value)> {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", servers).set("group.id", "reader").create().unwrap();
    let mut stored = Vec::new();
    for partition in 0..PARTITIONS {
        let (from, to) = consumer.fetch_watermarks(topic, partition, LONG).unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        consumer.assign(&list).unwrap();
        for _ in from..to {
            // What it hears of besides messages comes as nothing.
            let end = Instant::now() + LONG;
            let message = loop {
                if let Some(message) = consumer.poll(Duration::from_millis(100)) {
                    break message.unwrap();
                }
                assert!(Instant::now() < end, "a message is missing");
            };
            let id = message.headers().unwrap().iter().find(|header| header.key == "writkeeper-id").unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let event = serde_json::from_slice(message.payload().unwrap()).unwrap();
            stored.push((text(message.key().unwrap()), text(id.value.unwrap()), event));
        }
    }
    stored
}

/// Every entry from `from` on is there, in order within its flow; how many came twice.
fn check(stored: &[(String, String, Value)], from: u64, entries: u64) -> usize {
    let mut seen = BTreeSet::new();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let mut twice = 0;
    for (key, id, event) in stored {
        let index: u64 = event.get("id").and_then(Value::as_str).unwrap().parse().unwrap();
        assert!(id.ends_with(&format!("/{index}")), "{id}");
        if !seen.insert(index) {
            twice += 1;
            continue;
        }
        if let Some(flow) = event.pointer("/data/flow").and_then(Value::as_str) {
            assert_eq!(key, flow, "the flow is the key");
            let before = last.insert(flow.to_owned(), index);
            assert!(before.is_none_or(|before| before < index), "flow {flow}: {before:?} before {index}");
        }
    }
    assert_eq!(seen, (from..entries).collect::<BTreeSet<u64>>(), "entries are missing");
    twice
}

#[test]
fn every_event_reaches_the_topic_although_its_broker_goes_away() {
    let cluster = MockCluster::new(1).unwrap();
    for topic in ["writkeeper", "again"] {
        cluster.create_topic(topic, PARTITIONS, 1).unwrap();
    }
    let servers = cluster.bootstrap_servers();
    let desk = Desk::new();
    desk.decide("first", 60);
    let relay = format!("relay --json --retry 100ms --kafka {servers}");
    let told = desk.json(&format!("{relay} --once"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(desk.entries()), "{told}");
    assert_eq!(check(&stored(&servers, "writkeeper"), 0, desk.entries()), 0);

    let mut running = desk.command(&relay).spawn().unwrap();
    for round in 0..3 {
        desk.decide(&format!("up{round}"), 40);
        cluster.broker_down(1).unwrap();
        // Nobody waits for a broker that is down.
        desk.decide(&format!("down{round}"), 40);
        cluster.broker_up(1).unwrap();
        if round == 1 {
            running.kill().unwrap();
            running.wait().unwrap();
            running = desk.command(&relay).spawn().unwrap();
        }
    }
    let (entries, end) = (desk.entries(), Instant::now() + LONG);
    while stored(&servers, "writkeeper").len() < usize::try_from(entries).unwrap() {
        assert!(Instant::now() < end, "the topic does not catch up");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(Command::new("kill").args(["-TERM", &running.id().to_string()]).status().unwrap().success());
    running.wait().unwrap();
    let twice = check(&stored(&servers, "writkeeper"), 0, entries);
    println!("kafka: {entries} events, {twice} of them twice, the broker was away 3 times, 1 kill of the relay");

    // Any topic is filled again from any entry.
    let told = desk.json(&format!("{relay} --once --topic again --from 5"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(entries - 5), "{told}");
    assert_eq!(check(&stored(&servers, "again"), 5, entries), 0);
    cluster.broker_down(1).unwrap();
    desk.decide("late", 1);
    let told = desk.json(&format!("{relay} --once"), 75);
    assert_eq!(told.get("behind"), Some(&Value::Bool(true)), "{told}");
}
