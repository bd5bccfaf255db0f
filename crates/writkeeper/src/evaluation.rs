//! How good something is that judges: precision, recall, F1, cost and latency on cases that a person labelled.
//!
//! A case is *bad* if something should have been said about it. What is judged is a gate or a whole contract, a
//! validator, a judge, a detector or a monitor; each is a [`Subject`].

pub mod alarms;
pub mod cost;
pub mod interval;
pub mod label;
pub mod latency;
pub mod recorded;
pub mod runs;
pub mod subjects;

use cost::Prices;
use interval::{Estimate, Share};
use label::Label;
use latency::Latency;
use values::json::{Json, Object};

/// Cases of which so many are named: those that were judged wrongly come with their place.
const NAMED_MAX: usize = 20;

/// What became of one case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opinion {
    /// Whether something was said against it.
    pub is_flagged: bool,
    /// Whether the one who was asked gave an answer at all.
    pub is_answered: bool,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// Something that judges cases.
pub trait Subject {
    /// Judges the case of a line; the error says what is wrong with the line.
    fn judge(&mut self, number: u64, case: &Json) -> Result<Opinion, String>;
}

/// How many cases there were of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Confusion {
    /// Bad and flagged.
    pub hits: u64,
    /// Bad and not flagged.
    pub misses: u64,
    /// Good and flagged.
    pub false_alarms: u64,
    /// Good and not flagged.
    pub passes: u64,
}

impl Confusion {
    /// Counts one case.
    pub fn count(&mut self, label: Label, is_flagged: bool) {
        let place = match (label, is_flagged) {
            (Label::Bad, true) => &mut self.hits,
            (Label::Bad, false) => &mut self.misses,
            (Label::Good, true) => &mut self.false_alarms,
            (Label::Good, false) => &mut self.passes,
        };
        *place += 1;
    }

    /// All cases.
    pub fn cases(&self) -> u64 {
        self.hits + self.misses + self.false_alarms + self.passes
    }

    /// Of what was flagged, the share that is bad.
    pub fn precision(&self) -> Option<Estimate> {
        Share { of: self.hits, all: self.hits + self.false_alarms }.estimate()
    }

    /// Of what is bad, the share that was flagged.
    pub fn recall(&self) -> Option<Estimate> {
        Share { of: self.hits, all: self.hits + self.misses }.estimate()
    }

    /// The harmonic mean of the two.
    pub fn f1(&self) -> Option<Estimate> {
        Share { of: self.hits, all: self.hits + self.misses + self.false_alarms }.harmonic()
    }

    /// Of what is good, the share that was flagged.
    pub fn false_alarm_rate(&self) -> Option<Estimate> {
        Share { of: self.false_alarms, all: self.false_alarms + self.passes }.estimate()
    }

    /// The four shares with their names, in the order in which they are shown.
    pub fn shares(&self) -> [(&'static str, Option<Estimate>); 4] {
        [
            ("precision", self.precision()),
            ("recall", self.recall()),
            ("f1", self.f1()),
            ("false_alarm_rate", self.false_alarm_rate()),
        ]
    }
}

/// A case that was judged otherwise than a person did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Its line or entry.
    pub place: u64,
    /// What the person said.
    pub label: Label,
}

/// What was found out about a subject.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    pub confusion: Confusion,
    /// Cases about which the one who was asked gave no answer; they count as not flagged.
    pub unanswered: u64,
    /// Of the cases, those that a subject had to be asked about anew.
    pub calls: u64,
    pub latency: Latency,
    /// The first cases that were judged wrongly.
    pub mistakes: Vec<Mistake>,
}

impl Evaluation {
    /// Counts one case.
    pub fn count(&mut self, place: u64, label: Label, opinion: &Opinion) {
        self.confusion.count(label, opinion.is_flagged);
        self.unanswered += u64::from(!opinion.is_answered);
        self.calls += 1;
        self.latency.add(opinion.nanos);
        self.note(place, label, opinion.is_flagged);
    }

    /// Counts one case that was judged long ago: nobody is asked now.
    pub fn count_recorded(&mut self, place: u64, label: Label, is_flagged: bool) {
        self.confusion.count(label, is_flagged);
        self.note(place, label, is_flagged);
    }

    fn note(&mut self, place: u64, label: Label, is_flagged: bool) {
        if is_flagged != (label == Label::Bad) && self.mistakes.len() < NAMED_MAX {
            self.mistakes.push(Mistake { place, label });
        }
    }

    /// For programs. Everything but `latency` is the same for the same cases.
    pub fn to_json(&self, prices: &Prices) -> Json {
        let Confusion { hits, misses, false_alarms, passes } = self.confusion;
        let counts = [("hits", hits), ("misses", misses), ("false_alarms", false_alarms), ("passes", passes)];
        let counts = counts.map(|(key, count)| (key, Json::from(count)));
        let mut members = Object::new();
        let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
        put("cases", Json::from(self.confusion.cases()));
        put("confusion", Json::object(counts));
        for (key, share) in self.confusion.shares() {
            put(key, share.map_or(Json::Null, Estimate::to_json));
        }
        put("interval", Json::text("Wilson 95 %, rounded outwards"));
        put("unanswered", Json::from(self.unanswered));
        put("cost", prices.to_json(self));
        put("latency", self.latency.to_json());
        let mistake = |mistake: &Mistake| {
            Json::object([("place", Json::from(mistake.place)), ("label", Json::text(mistake.label.word()))])
        };
        put("mistakes", Json::List(self.mistakes.iter().map(mistake).collect()));
        Json::Object(members)
    }
}
