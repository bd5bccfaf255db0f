//! Kafka: one topic, whose key is the flow, so that the events of one flow lie in one partition in their order.

use super::{ACKNOWLEDGED_WITHIN, HEADERS_MAX, Outgoing, payload};
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a broker takes unless it is told otherwise.
const MESSAGE_MAX: usize = 1_000_000;

/// How long each look for acknowledgements lasts.
const LOOK: Duration = Duration::from_millis(100);

/// Where events go.
#[derive(Clone, Debug)]
pub struct KafkaOptions {
    /// Hosts and ports, parted by commas.
    pub servers: String,
    /// The topic.
    pub topic: String,
}

impl KafkaOptions {
    pub(super) fn receiver(&self) -> String {
        format!("kafka {} {}", self.servers, self.topic)
    }
}

/// What became of each event: nothing if the broker has it, else why not.
#[derive(Default)]
struct Deliveries(Mutex<Vec<Option<String>>>);

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, delivered: &DeliveryResult<'_>, (): ()) {
        let problem = delivered.as_ref().err().map(|(error, _)| error.to_string());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
    }
}

/// A producer.
pub(super) struct KafkaLink {
    producer: BaseProducer<Deliveries>,
    topic: String,
}

impl KafkaLink {
    pub(super) fn open(kafka: &KafkaOptions) -> Result<KafkaLink, String> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &kafka.servers).set("client.id", "writkeeper");
        // Every replica that is in step has an event before it counts as handed on, and none overtakes another.
        config.set("acks", "all").set("enable.idempotence", "true");
        config.set("message.timeout.ms", ACKNOWLEDGED_WITHIN.as_millis().to_string());
        let producer: BaseProducer<Deliveries> =
            config.create_with_context(Deliveries::default()).map_err(|error| error.to_string())?;
        let found = producer.client().fetch_metadata(Some(&kafka.topic), ACKNOWLEDGED_WITHIN);
        found.map_err(|error| error.to_string())?;
        Ok(KafkaLink { producer, topic: kafka.topic.clone() })
    }

    pub(super) fn send(&self, wave: &[Outgoing]) -> Result<u64, String> {
        self.deliveries().clear();
        for Outgoing { order, id, event, .. } in wave {
            let bytes = payload(event, MESSAGE_MAX - HEADERS_MAX);
            let headers = OwnedHeaders::new()
                .insert(Header { key: "content-type", value: Some("application/cloudevents+json") })
                .insert(Header { key: "writkeeper-id", value: Some(id) });
            let record = BaseRecord::to(&self.topic).key(order).payload(&bytes).headers(headers);
            self.producer.send(record).map_err(|(error, _)| error.to_string())?;
        }
        // Each of them is told of within its time; a little more is for the way of the news.
        let until = Instant::now() + ACKNOWLEDGED_WITHIN + ACKNOWLEDGED_WITHIN;
        while self.deliveries().len() < wave.len() {
            if Instant::now() >= until {
                return Err("the broker acknowledges nothing".to_owned());
            }
            self.producer.poll(LOOK);
        }
        let problem = self.deliveries().iter().flatten().next().cloned();
        problem.map_or(Ok(0), Err)
    }

    fn deliveries(&self) -> std::sync::MutexGuard<'_, Vec<Option<String>>> {
        self.producer.context().0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
