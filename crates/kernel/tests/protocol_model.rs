//! Every interleaving of the protocol that performs intents: two workers that crash and stand still, requests that
//! arrive late, answers that get lost, leases that end at any moment.
//!
//! States move by the kernel's own machine (`kernel::intent::transition`), with a safeguard switched off in each
//! variant that must fail: the model cannot drift from the code.
#![cfg(feature = "bugs")]
#![expect(clippy::disallowed_macros, reason = "the table of variants is what a reader wants to see")]

use kernel::contract::EffectClass;
use kernel::intent::{IntentState, Observed, Step, transition};
use stateright::{Checker, Model, Property};
use values::bugs::{Bug, with};

const WORKERS: usize = 2;
const EPOCHS_MAX: u8 = 3;
const CRASHES_MAX: u8 = 2;

/// One way to perform.
#[derive(Clone, Debug)]
struct Protocol {
    name: &'static str,
    class: EffectClass,
    bug: Option<Bug>,
    /// A probe waits until nothing is on its way.
    patient: bool,
    /// The promise it must be seen to break.
    breaks: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Worker {
    Idle,
    Claimed { epoch: u8, doubted: bool },
    Marked { epoch: u8, doubted: bool },
    Fenced { epoch: u8 },
    Sent { epoch: u8 },
    Heard { epoch: u8, what: u8 },
}

const POSITIVE: u8 = 0;
const NEGATIVE: u8 = 1;
const UNKNOWN: u8 = 2;

fn observed(what: u8) -> Observed {
    match what {
        POSITIVE => Observed::Positive,
        NEGATIVE => Observed::Negative,
        _ => Observed::Unknown,
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    state: &'static str,
    epoch: u8,
    doubted: bool,
    workers: [Worker; WORKERS],
    /// Epochs of requests on their way, sorted.
    requests: Vec<u8>,
    /// Epochs and contents of answers on their way, sorted.
    answers: Vec<(u8, u8)>,
    effects: u8,
    fence: u8,
    crashes: u8,
}

impl World {
    fn at(&self) -> Option<IntentState> {
        IntentState::from_word(self.state)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Happens {
    Claim(usize),
    Start(usize),
    Fence(usize),
    Send(usize),
    Arrive { epoch: u8, refused: bool },
    Hear { worker: usize, epoch: u8, what: u8 },
    GiveUp(usize),
    Record(usize),
    Crash(usize),
    LeaseOver,
    Retry,
}

impl Protocol {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Moves the intent by the kernel's machine; whether it moved.
    fn moves(&self, world: &mut World, step: Step) -> bool {
        let Some(from) = world.at() else { return false };
        let next = match self.bug {
            Some(bug) => with(bug, || transition(from, step, world.doubted)),
            None => transition(from, step, world.doubted),
        };
        let Some(next) = next else { return false };
        world.state = next.word();
        world.doubted |= next == IntentState::InDoubt;
        true
    }

    fn repeats(&self) -> bool {
        match self.class {
            EffectClass::Keyed | EffectClass::Fenced => true,
            EffectClass::None | EffectClass::Local | EffectClass::Opaque => self.has(Bug::OpaqueRetried),
        }
    }

    fn start(&self, world: &mut World, epoch: u8, doubted: bool) -> Worker {
        let owns = epoch == world.epoch || self.has(Bug::NoFence);
        let started = owns && world.at() == Some(IntentState::Claimed) && self.moves(world, Step::Start);
        if started { Worker::Marked { epoch, doubted } } else { Worker::Idle }
    }

    /// Before a repetition: refuse what may still travel, and say whether the effect is there.
    fn fence(&self, world: &mut World, epoch: u8) -> Worker {
        if !self.has(Bug::ProbeBelieved) {
            if epoch < world.fence {
                return Worker::Heard { epoch, what: UNKNOWN };
            }
            world.fence = epoch;
        }
        if world.effects > 0 { Worker::Heard { epoch, what: POSITIVE } } else { Worker::Fenced { epoch } }
    }

    fn arrive(&self, world: &mut World, epoch: u8, refused: bool) {
        world.requests.retain_one(epoch);
        let fenced = self.class == EffectClass::Fenced && epoch < world.fence;
        let what = if refused || fenced {
            NEGATIVE
        } else {
            let known = self.class == EffectClass::Keyed && world.effects > 0;
            world.effects += u8::from(!known);
            world.fence = world.fence.max(epoch);
            POSITIVE
        };
        world.answers.push((epoch, what));
        world.answers.sort_unstable();
    }

    fn record(&self, world: &mut World, epoch: u8, what: u8) {
        let attempted = world.at() == Some(IntentState::InFlight)
            || world.at() == Some(IntentState::Claimed) && self.has(Bug::NoInFlightMark);
        let owns = epoch == world.epoch || self.has(Bug::NoFence);
        if attempted && owns {
            self.moves(world, Step::Answer(observed(what)));
        } else if what == POSITIVE {
            self.moves(world, Step::LateEvidence);
        }
    }
}

trait RetainOne {
    fn retain_one(&mut self, epoch: u8);
}

impl RetainOne for Vec<u8> {
    /// Without the first of them.
    fn retain_one(&mut self, epoch: u8) {
        if let Some(place) = self.iter().position(|held| *held == epoch) {
            self.remove(place);
        }
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Happens;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            state: IntentState::Ready.word(),
            epoch: 0,
            doubted: false,
            workers: [Worker::Idle; WORKERS],
            requests: Vec::new(),
            answers: Vec::new(),
            effects: 0,
            fence: 0,
            crashes: 0,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Happens>) {
        for (number, worker) in world.workers.iter().enumerate() {
            match worker {
                Worker::Idle if world.at() == Some(IntentState::Ready) && world.epoch < EPOCHS_MAX => {
                    actions.push(Happens::Claim(number));
                }
                Worker::Idle => {}
                Worker::Claimed { .. } => actions.push(Happens::Start(number)),
                Worker::Marked { doubted: true, .. } if self.class == EffectClass::Fenced => {
                    if !self.patient || world.requests.is_empty() {
                        actions.push(Happens::Fence(number));
                    }
                }
                Worker::Marked { .. } | Worker::Fenced { .. } => actions.push(Happens::Send(number)),
                Worker::Sent { epoch } => {
                    actions.push(Happens::GiveUp(number));
                    let mine = world.answers.iter().filter(|(of, _)| of == epoch);
                    actions.extend(mine.map(|(epoch, what)| Happens::Hear {
                        worker: number,
                        epoch: *epoch,
                        what: *what,
                    }));
                }
                Worker::Heard { .. } => actions.push(Happens::Record(number)),
            }
            if *worker != Worker::Idle && world.crashes < CRASHES_MAX {
                actions.push(Happens::Crash(number));
            }
        }
        for epoch in &world.requests {
            actions.extend([false, true].map(|refused| Happens::Arrive { epoch: *epoch, refused }));
        }
        match world.at() {
            Some(IntentState::Claimed | IntentState::InFlight) => actions.push(Happens::LeaseOver),
            Some(IntentState::InDoubt) if self.repeats() => actions.push(Happens::Retry),
            Some(_) | None => {}
        }
    }

    fn next_state(&self, last: &World, action: Happens) -> Option<World> {
        let mut world = last.clone();
        let of = |number: usize| last.workers.get(number).copied().unwrap_or(Worker::Idle);
        let mut put = None;
        match action {
            Happens::Claim(number) => {
                let doubted = world.doubted;
                self.moves(&mut world, Step::Claim);
                world.epoch += 1;
                put = Some((number, Worker::Claimed { epoch: world.epoch, doubted }));
            }
            Happens::Start(number) => {
                if let Worker::Claimed { epoch, doubted } = of(number) {
                    put = Some((number, self.start(&mut world, epoch, doubted)));
                }
            }
            Happens::Fence(number) => {
                if let Worker::Marked { epoch, .. } = of(number) {
                    put = Some((number, self.fence(&mut world, epoch)));
                }
            }
            Happens::Send(number) => {
                if let Worker::Marked { epoch, .. } | Worker::Fenced { epoch } = of(number) {
                    world.requests.push(epoch);
                    world.requests.sort_unstable();
                    put = Some((number, Worker::Sent { epoch }));
                }
            }
            Happens::Arrive { epoch, refused } => self.arrive(&mut world, epoch, refused),
            Happens::Hear { worker, epoch, what } => put = Some((worker, Worker::Heard { epoch, what })),
            Happens::GiveUp(number) => {
                if let Worker::Sent { epoch } = of(number) {
                    put = Some((number, Worker::Heard { epoch, what: UNKNOWN }));
                }
            }
            Happens::Record(number) => {
                if let Worker::Heard { epoch, what } = of(number) {
                    self.record(&mut world, epoch, what);
                    put = Some((number, Worker::Idle));
                }
            }
            Happens::Crash(number) => {
                world.crashes += 1;
                put = Some((number, Worker::Idle));
            }
            Happens::LeaseOver => {
                let step = if world.at() == Some(IntentState::Claimed) { Step::Release } else { Step::LeaseOver };
                self.moves(&mut world, step);
            }
            Happens::Retry => {
                self.moves(&mut world, Step::Retry);
            }
        }
        if let Some((number, worker)) = put
            && let Some(held) = world.workers.get_mut(number)
        {
            *held = worker;
        }
        // An answer nobody waits for is one less thing to tell states apart by.
        let epochs = world.workers.map(|worker| if let Worker::Sent { epoch } = worker { epoch } else { 0 });
        world.answers.retain(|(epoch, _)| epochs.contains(epoch));
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        vec![
            Property::always("DUPLICATE_EFFECT", |_, world: &World| world.effects <= 1),
            Property::always("FAIL_BUT_EFFECT", |_, world: &World| world.state != "FAILED" || world.effects == 0),
            Property::always("SUCCESS_WITHOUT_EFFECT", |_, world: &World| {
                world.state != "SUCCEEDED" || world.effects > 0
            }),
            Property::sometimes("it succeeds", |_, world: &World| world.state == "SUCCEEDED"),
            Property::sometimes("it fails", |_, world: &World| world.state == "FAILED"),
        ]
    }
}

const PROMISES: [&str; 3] = ["DUPLICATE_EFFECT", "FAIL_BUT_EFFECT", "SUCCESS_WITHOUT_EFFECT"];

fn variants() -> Vec<Protocol> {
    let of = |name, class, bug, patient, breaks| Protocol { name, class, bug, patient, breaks };
    let twice = Some("DUPLICATE_EFFECT");
    vec![
        of("P2 opaque, only a person decides", EffectClass::Opaque, None, false, None),
        of("P5 fenced, fence before repeating", EffectClass::Fenced, None, false, None),
        of("P1b keyed, doubt stays", EffectClass::Keyed, None, false, None),
        of(
            "P1 keyed, a late no is final",
            EffectClass::Keyed,
            Some(Bug::NegativeAfterDoubtFinal),
            false,
            Some("FAIL_BUT_EFFECT"),
        ),
        of("P3 not there, so again", EffectClass::Fenced, Some(Bug::ProbeBelieved), false, twice),
        of("P4 not there and nothing travels", EffectClass::Fenced, Some(Bug::ProbeBelieved), true, twice),
        of("M1 nothing is marked", EffectClass::Opaque, Some(Bug::NoInFlightMark), false, twice),
        of("M2 any epoch counts", EffectClass::Fenced, Some(Bug::NoFence), false, twice),
        of("M4 repeated blindly", EffectClass::Opaque, Some(Bug::OpaqueRetried), false, twice),
    ]
}

#[test]
fn the_protocol_is_safe_and_every_safeguard_is_needed() {
    for protocol in variants() {
        let (name, breaks, bug) = (protocol.name, protocol.breaks, protocol.bug);
        // Depth does not matter where something must be found; where nothing may be, all states are visited.
        let checker = protocol.checker().spawn_bfs().join();
        let found: Vec<&str> = PROMISES.into_iter().filter(|promise| checker.discovery(promise).is_some()).collect();
        println!("{name:36} {:>8} states, depth {:>2}: {found:?}", checker.unique_state_count(), checker.max_depth());
        if let Some(path) = breaks.and_then(|promise| checker.discovery(promise)) {
            println!("  {:?}", path.into_actions());
        }
        match breaks {
            Some(promise) => assert!(found.contains(&promise), "{name} ({bug:?}) breaks nothing: {found:?}"),
            None => assert!(found.is_empty(), "{name} breaks {found:?}"),
        }
        if breaks.is_none() {
            assert!(checker.discovery("it succeeds").is_some(), "{name} never succeeds");
            assert!(checker.discovery("it fails").is_some(), "{name} never fails");
        }
    }
}
