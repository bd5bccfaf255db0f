//! Events handed on to Kafka: librdkafka's mock cluster, whose broker goes away in the middle. `cargo xtask kafka` runs it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

#[path = "shared/delivered.rs"]
mod delivered;
#[path = "shared/desk.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod desk;

use delivered::Message;
use desk::Desk;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::mocking::MockCluster;
use rdkafka::{Offset, TopicPartitionList};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(120);

const PARTITIONS: i32 = 3;

/// Everything in a topic, in the order of each partition: key, id and event.
fn stored(servers: &str, topic: &str) -> Vec<Message> {
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
            stored.push(Message { place: text(message.key().unwrap()), id: text(id.value.unwrap()), event });
        }
    }
    stored
}

/// Every entry from `from` on is there under its flow; how many came twice.
fn check(stored: &[Message], from: u64, entries: u64) -> usize {
    delivered::check(stored, (from, entries), |message| message.flow().is_none_or(|flow| message.place == flow))
}

#[test]
fn every_event_reaches_the_topic_although_its_broker_goes_away() {
    let cluster = MockCluster::new(1).unwrap();
    for topic in ["writkeeper", "again"] {
        cluster.create_topic(topic, PARTITIONS, 1).unwrap();
    }
    let servers = cluster.bootstrap_servers();
    let desk = Desk::new();
    desk.decide_many("first", 60);
    desk.says("ledger checkpoint", "", 0);
    let relay = format!("relay --json --retry 100ms --kafka {servers}");
    let told = desk.json(&format!("{relay} --once"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(desk.entries()), "{told}");
    assert_eq!(check(&stored(&servers, "writkeeper"), 0, desk.entries()), 0);

    let mut running = desk.command(&relay).spawn().unwrap();
    for round in 0..3 {
        desk.decide_many(&format!("up{round}"), 40);
        cluster.broker_down(1).unwrap();
        // Nobody waits for a broker that is down.
        desk.decide_many(&format!("down{round}"), 40);
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
    desk.decide_many("late", 1);
    let told = desk.json(&format!("{relay} --once"), 75);
    assert_eq!(told.get("behind"), Some(&Value::Bool(true)), "{told}");
}
