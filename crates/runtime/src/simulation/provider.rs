//! The other side: it recognises keys, refuses old epochs or does neither, and everything it does is in its log.

use super::faults::Fault;
use super::random::Random;
use kernel::contract::EffectClass;
use std::collections::{BTreeMap, BTreeSet};

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// The effect.
    Effect,
    /// Refuse older epochs from now on, and say whether the effect is there.
    Fence,
    /// Only say whether it is there.
    Probe,
}

/// A request on its way.
#[derive(Clone, Debug)]
pub struct Request {
    /// What for.
    pub asks: Asks,
    /// The provider key.
    pub key: String,
    /// The intent it belongs to; the other side does not look at it, its log does.
    pub intent: String,
    /// The epoch of the attempt.
    pub epoch: u64,
    /// What the other side guarantees.
    pub class: EffectClass,
    /// What the effect is about.
    pub amount: i64,
}

/// What is heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// 2xx: it happened.
    Yes,
    /// 4xx.
    No,
    /// 5xx.
    Broken,
    /// To a fence or a probe: whether the effect is there.
    There(bool),
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Became {
    /// The effect happened.
    Applied,
    /// It had happened before.
    Recognised,
    /// Its epoch was too old.
    Fenced,
    /// Refused, or broken before anything happened.
    Nothing,
    /// A question was answered.
    Told,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Logged {
    /// What was asked.
    pub request: Request,
    /// What became of it.
    pub became: Became,
}

#[derive(Clone, Debug)]
struct Travelling {
    number: u64,
    at: i64,
    request: Request,
    refused: bool,
    broken_before: bool,
    broken_after: bool,
    answer_after: Option<i64>,
}

/// The other side and the way to it.
#[derive(Debug, Default)]
pub struct Provider {
    sent: u64,
    travelling: Vec<Travelling>,
    answers: BTreeMap<u64, (i64, Heard)>,
    fences: BTreeMap<String, u64>,
    applied: BTreeSet<String>,
    /// Everything that arrived, in order.
    pub log: Vec<Logged>,
}

impl Provider {
    /// Sends a request; `hit` says whether a fault strikes. The number under which the answer is heard.
    pub fn send(
        &mut self,
        request: Request,
        now: i64,
        random: &mut Random,
        hit: &mut dyn FnMut(Fault, &mut Random) -> bool,
    ) -> u64 {
        self.sent += 1;
        let number = self.sent;
        let way = random.between(1_000, SECOND / 2);
        let late = if hit(Fault::RequestLate, random) { random.between(4, 45) * SECOND } else { 0 };
        let lost_answer = hit(Fault::AnswerLost, random);
        let late_answer = if hit(Fault::AnswerLate, random) { random.between(4, 60) * SECOND } else { 0 };
        let travelling = Travelling {
            number,
            at: now + way + late,
            refused: hit(Fault::Refused, random),
            broken_before: hit(Fault::BrokenBefore, random),
            broken_after: hit(Fault::BrokenAfter, random),
            answer_after: (!lost_answer).then_some(random.between(1_000, SECOND / 2) + late_answer),
            request,
        };
        if travelling.request.class == EffectClass::Keyed && hit(Fault::RequestTwice, random) {
            let again = random.between(1, 60) * SECOND;
            self.travelling.push(Travelling { at: travelling.at + again, answer_after: None, ..travelling.clone() });
        }
        if !hit(Fault::RequestLost, random) {
            self.travelling.push(travelling);
        }
        number
    }

    /// What was heard to a request by now.
    pub fn heard(&mut self, number: u64, now: i64) -> Option<Heard> {
        let (_, heard) = self.answers.get(&number).filter(|(at, _)| *at <= now)?;
        Some(*heard)
    }

    /// Whether anything is on its way.
    pub fn is_quiet(&self) -> bool {
        self.travelling.is_empty()
    }

    /// Whether the effect of a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.applied.contains(key)
    }

    /// Lets everything arrive that is due.
    pub fn arrive(&mut self, now: i64) {
        let (mut due, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.travelling).into_iter().partition(|travelling| travelling.at <= now);
        self.travelling = rest;
        due.sort_by_key(|travelling| (travelling.at, travelling.number));
        for travelling in due {
            let (became, heard) = self.handle(&travelling);
            if let Some(after) = travelling.answer_after {
                self.answers.insert(travelling.number, (travelling.at + after, heard));
            }
            self.log.push(Logged { request: travelling.request, became });
        }
    }

    fn handle(&mut self, travelling: &Travelling) -> (Became, Heard) {
        let request = &travelling.request;
        if travelling.refused {
            return (Became::Nothing, Heard::No);
        }
        if travelling.broken_before {
            return (Became::Nothing, Heard::Broken);
        }
        let there = self.applied.contains(&request.key);
        if request.class == EffectClass::Fenced && request.asks != Asks::Probe {
            let fence = self.fences.entry(request.key.clone()).or_default();
            if request.epoch < *fence {
                return (Became::Fenced, Heard::No);
            }
            *fence = request.epoch;
        }
        if request.asks != Asks::Effect {
            let heard = if travelling.broken_after { Heard::Broken } else { Heard::There(there) };
            return (Became::Told, heard);
        }
        let heard = if travelling.broken_after { Heard::Broken } else { Heard::Yes };
        if request.class == EffectClass::Keyed && there {
            return (Became::Recognised, heard);
        }
        self.applied.insert(request.key.clone());
        (Became::Applied, heard)
    }
}
