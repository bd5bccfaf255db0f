//! Random commands from small alphabets, so that they get in each other's way.

use crate::commands::{Answer, Command, Leasing, Proposal, Signature, Who, Write};
use crate::contracts::SECOND;
use crate::reducer::{Intent, Reducer};
use proptest::collection::vec;
use proptest::option::weighted as maybe;
use proptest::prelude::*;
use proptest::sample::select;

/// A command that still has to be told what it is about, how long after the last it comes, and whether it shares a
/// batch with the last where it comes at the same instant.
#[derive(Clone, Debug)]
pub struct Wish {
    pub after: i64,
    pub joins: bool,
    pub what: What,
}

/// What is wished for; numbers pick among what is there by then.
#[derive(Clone, Debug)]
pub enum What {
    /// Said already.
    Plain(Command),
    /// A proposal whose times are told from now.
    Propose {
        proposal: Proposal,
        valid_for: Option<i64>,
        created: Option<i64>,
    },
    /// A proposal that was sent before, with another key perhaps.
    Repeat {
        back: usize,
        key: Option<String>,
    },
    /// An answer to one of the latest questions.
    Answer {
        back: usize,
        answer: Answer,
    },
    /// One of the latest intents ends.
    Settle {
        back: usize,
        who: Who,
        event: String,
    },
    /// Something is done with one of the latest intents; numbers pick what.
    Perform {
        back: usize,
        who: Who,
        what: Performing,
    },
    /// A flow out of the latest one.
    Descend {
        who: Who,
        agent: String,
    },
    /// A snapshot from another time, kept under a name.
    /// Times count from now.
    Reserve {
        who: Who,
        flow: String,
        wanted: Vec<(String, i64)>,
        available: i64,
        after: Option<i64>,
    },
    Import {
        who: Who,
        name: String,
        after: i64,
        risk: Option<i64>,
    },
    /// The latest questions end.
    ExpireQuestions {
        who: Who,
        latest: usize,
    },
}

/// What is done with an intent.
#[derive(Clone, Debug)]
pub enum Performing {
    Claim(i64),
    /// Under an epoch so far behind the latest.
    Start(u64, bool),
    Outcome(u64, String),
    Resolve {
        decision: String,
        right: bool,
    },
    Undo,
}

impl Performing {
    fn told(&self, who: Who, intent: &Intent) -> Command {
        let (name, epoch) = (intent.name.clone(), intent.epoch);
        match self {
            Performing::Claim(lease) => Command::Claim { who, intent: name, lease: *lease },
            Performing::Start(behind, right) => {
                Command::Start { who, intent: name, epoch: epoch.saturating_sub(*behind), right: *right }
            }
            Performing::Outcome(behind, observed) => {
                let epoch = if *behind == 9 { epoch + 1 } else { epoch.saturating_sub(*behind) };
                Command::Outcome { who, intent: name, epoch, observed: observed.clone() }
            }
            Performing::Resolve { decision, right } => {
                Command::Resolve { who, intent: name, decision: decision.clone(), right: *right }
            }
            Performing::Undo => Command::Undo { who, intent: name },
        }
    }

    /// Whether there is something to do.
    fn fits(&self, intent: &Intent) -> bool {
        match self {
            Performing::Claim(_) => intent.state == "READY",
            Performing::Start(..) => intent.state == "CLAIMED",
            Performing::Outcome(..) => intent.epoch > 0,
            Performing::Resolve { .. } => ["IN_DOUBT", "UNREPORTED", "HANDED_OUT"].contains(&intent.state),
            Performing::Undo => intent.state == "SUCCEEDED",
        }
    }
}

impl What {
    /// The command with this number, now that it is known what is there.
    pub fn told(&self, number: usize, seen: &Reducer, at: i64) -> Command {
        match self {
            What::Plain(command) => numbered(command, number),
            What::Propose { proposal, valid_for, created } => Command::Propose(Proposal {
                valid_until: valid_for.map(|after| at + after * SECOND),
                created_at: created.map(|after| at + after * SECOND),
                snapshot: proposal.snapshot.as_ref().map(|name| frozen(name, seen)),
                ..proposal.clone()
            }),
            What::Repeat { back, key } => match seen.sent.iter().rev().nth(back % seen.sent.len().max(1)) {
                Some(sent) => Command::Propose(Proposal { key: key.clone().or(sent.key.clone()), ..sent.clone() }),
                None => Command::Halt { who: Who::Agent("lead".to_owned()), group: None },
            },
            What::Answer { back, answer } => {
                if seen.questions.is_empty() && *back > 0 {
                    return Command::Propose(paying(12, number));
                }
                let open = seen.questions.iter().filter(|question| question.state == "OPEN");
                let question = one_of(open.map(|question| &question.name).collect(), *back);
                let last = || seen.questions.last().map_or("e-none".to_owned(), |question| question.name.clone());
                Command::Answer(Answer { question: question.unwrap_or_else(last), ..answer.clone() })
            }
            What::Settle { back, who, event } => {
                if seen.intents.is_empty() && *back > 0 {
                    return Command::Propose(paying(3, number));
                }
                let intent = one_of(seen.intents.iter().map(|intent| &intent.name).collect(), *back);
                let intent = intent.unwrap_or("i-none".to_owned());
                Command::Settle { who: who.clone(), intent, event: event.clone() }
            }
            What::Perform { back, who, what } => {
                if seen.intents.is_empty() {
                    return Command::Propose(paying(3, number));
                }
                // Mostly where it fits; sometimes wherever.
                let fitting: Vec<&Intent> =
                    seen.intents.iter().filter(|intent| *back >= 7 || what.fits(intent)).collect();
                let picked = fitting.len().checked_sub(1 + back % fitting.len().max(1));
                match picked.and_then(|index| fitting.get(index)).or(seen.intents.last().as_ref()) {
                    Some(intent) => what.told(who.clone(), intent),
                    None => Command::Propose(paying(3, number)),
                }
            }
            What::Descend { who, agent } => {
                let deepest = seen.flows.iter().max_by_key(|(_, flow)| flow.depth).map(|(name, _)| name.clone());
                let (who, agent) = (who.clone(), agent.clone());
                Command::OpenFlow { who, flow: format!("d-{number}"), agent, parent: deepest }
            }
            What::Import { who, name, after, risk } => {
                Command::Import { who: who.clone(), name: name.clone(), at: at + after * SECOND, risk: *risk }
            }
            What::Reserve { who, flow, wanted, available, after } => Command::Reserve {
                who: who.clone(),
                flow: flow.clone(),
                wanted: wanted.clone(),
                available: *available,
                until: after.map(|after| at + after * SECOND),
            },
            What::ExpireQuestions { who, latest } => {
                let names = seen.questions.iter().rev().take(*latest).map(|question| question.name.clone()).collect();
                Command::ExpireQuestions { who: who.clone(), questions: names }
            }
        }
    }
}

/// In place of an answer that has no question yet, and of a report without an intent.
fn paying(amount: i64, number: usize) -> Proposal {
    Proposal {
        id: None,
        agent: "lead".to_owned(),
        action: "pay".to_owned(),
        order: format!("P{number}"),
        amount,
        flow: None,
        snapshot: None,
        key: None,
        tokens: 0,
        valid_until: None,
        created_at: None,
        opens: true,
        by_runtime: true,
        under: None,
    }
}

/// Counted from the latest back.
fn one_of(names: Vec<&String>, back: usize) -> Option<String> {
    let index = names.len().checked_sub(1 + back % names.len().max(1))?;
    names.get(index).map(|name| (*name).clone())
}

/// What names something new is named by its number.
fn numbered(command: &Command, number: usize) -> Command {
    let mut command = command.clone();
    if let Command::OpenFlow { flow, .. } = &mut command
        && flow.is_empty()
    {
        *flow = format!("o-{number}");
    }
    if let Command::Freeze { slot, .. } = &mut command {
        *slot = format!("t-{number:04}");
    }
    command
}

/// `t0` is the latest frozen snapshot, `t1` the one before.
fn frozen(name: &str, seen: &Reducer) -> String {
    let back = match name {
        "t0" => 0,
        "t1" => 1,
        _ => return name.to_owned(),
    };
    let found = seen.snapshots.keys().rev().filter(|name| name.starts_with("t-")).nth(back);
    found.map_or(name.to_owned(), String::clone)
}

fn words(list: &[&'static str]) -> BoxedStrategy<String> {
    select(list.to_vec()).prop_map(str::to_owned).boxed()
}

fn operator() -> Who {
    Who::Operator("ann".to_owned())
}

/// Whose switch: everything's, one of the groups that contracts name, or one that nobody is in.
fn group() -> BoxedStrategy<Option<String>> {
    prop_oneof![2 => Just(None), 3 => words(&["desk", "floor", "empty"]).prop_map(Some)].boxed()
}

/// Mostly someone who may.
fn anyone() -> BoxedStrategy<Who> {
    prop_oneof![
        10 => Just(operator()),
        1 => Just(Who::Monitor),
        1 => Just(Who::Kernel),
        2 => words(&["lead", "junior", "thief"]).prop_map(Who::Agent),
    ]
    .boxed()
}

/// Mostly an agent.
fn agents_or_anyone() -> BoxedStrategy<Who> {
    prop_oneof![3 => words(&["lead", "junior"]).prop_map(Who::Agent), 2 => anyone()].boxed()
}

fn agent() -> BoxedStrategy<String> {
    prop_oneof![20 => words(&["lead", "lead", "junior"]), 1 => words(&["thief"])].boxed()
}

fn flow() -> BoxedStrategy<String> {
    words(&["f0", "f1", "f2", "f3"]).boxed()
}

fn contract() -> BoxedStrategy<String> {
    words(&["lead-1", "lead-1", "lead-2", "lead-3", "lead-odd", "junior-1", "junior-1", "junior-wide", "junior-wide"])
        .boxed()
}

fn proposals() -> BoxedStrategy<What> {
    let what = (
        agent(),
        prop_oneof![12 => words(&["pay"]), 3 => words(&["note"]), 2 => words(&["look"]), 1 => words(&["rob"])],
        words(&["A", "B", "C", "D", "E", "F", "G", "H"]),
        select(vec![1, 2, 2, 3, 3, 5, 5, 8, 10, 11, 12, 12, 15, 20, 21, 41, 101]),
        maybe(0.6, flow()),
    );
    let with = (
        maybe(0.85, words(&["current", "current", "current", "current", "s0", "t0", "t1"])),
        maybe(0.2, words(&["k0", "k1", "k2"])),
        select(vec![0, 0, 0, 0, 1, 6]),
        maybe(0.1, select(vec![-1, 0, 40, 240, 299, 300, 301])),
        maybe(0.1, select(vec![-200, -1, 0, 5, 6])),
    );
    let ids = maybe(0.1, words(&["p0", "p1", "p2", "p3"]));
    let door = (prop::bool::weighted(0.85), prop::bool::weighted(0.8), maybe(0.05, contract()), ids);
    (what, with, door)
        .prop_map(|(what, with, (opens, by_runtime, under, id))| {
            let (agent, action, order, amount, flow) = what;
            let (snapshot, key, tokens, valid_for, created) = with;
            // Only a junior needs a snapshot.
            let snapshot = snapshot.filter(|_| agent == "junior" || tokens == 1);
            let under = under.filter(|under| under.starts_with(&agent));
            let (valid_until, created_at) = (None, None);
            let proposal = Proposal {
                id,
                agent,
                action,
                order,
                amount,
                flow,
                snapshot,
                key,
                tokens,
                valid_until,
                created_at,
                opens,
                by_runtime,
                under,
            };
            What::Propose { proposal, valid_for, created }
        })
        .boxed()
}

fn answers() -> BoxedStrategy<What> {
    let who = prop_oneof![
        6 => words(&["ann", "bob", "ann", "bob", "Ann"]).prop_map(Who::Operator),
        1 => words(&["lead", "junior", "Lead", "JUNIOR", " ann"]).prop_map(Who::Operator),
        1 => anyone(),
    ];
    let decision = words(&["OVERRIDE", "OVERRIDE", "OVERRIDE", "OVERRIDE", "ABORT", "approve"]);
    let signature =
        prop_oneof![6 => Just(Signature::Right), 6 => Just(Signature::None), 1 => Just(Signature::OfAnother)];
    (0..4_usize, who, decision, prop::bool::weighted(0.9), signature, any::<bool>())
        .prop_map(|(back, who, decision, right, signature, by_runtime)| {
            let question = String::new();
            What::Answer { back, answer: Answer { who, question, decision, right, signature, by_runtime } }
        })
        .boxed()
}

fn registry() -> BoxedStrategy<What> {
    let version = maybe(0.4, words(&["0.1.0", "1.9.9", "2.0.0", "0.0.9", "new"]));
    let status = || {
        words(&[
            "SUSPENDED",
            "SUSPENDED",
            "PASSIVE",
            "DEGRADED",
            "DEGRADED",
            "ESCALATION_ONLY",
            "ESCALATION_ONLY",
            "ACTIVE",
        ])
    };
    let actions = prop_oneof![2 => Just(Vec::new()), 3 => vec(words(&["pay", "note", "look"]), 1..3)];
    prop_oneof![
        4 => (agents_or_anyone(), contract(), version)
            .prop_map(|(who, contract, version)| Command::Register { who, contract, version }),
        4 => (anyone(), contract()).prop_map(|(who, contract)| Command::Activate { who, contract }),
        4 => (anyone(), contract(), select(vec![1_u64, 2_500, 5_000, 9_999, 10_000]))
            .prop_map(|(who, contract, share)| Command::StartCanary { who, contract, share }),
        1 => (anyone(), agent(), prop::bool::weighted(0.7))
            .prop_map(|(who, agent, right)| Command::PromoteCanary { who, agent, right }),
        1 => (anyone(), agent()).prop_map(|(who, agent)| Command::RollBackCanary { who, agent }),
        4 => (anyone(), agent(), status(), actions)
            .prop_map(|(who, agent, status, actions)| Command::Restrict { who, agent, status, actions }),
        7 => (anyone(), agent(), status(), prop::bool::weighted(0.8))
            .prop_map(|(who, agent, status, because)| Command::Lift { who, agent, status, because }),
        1 => (agents_or_anyone(), agent()).prop_map(|(who, agent)| Command::Retire { who, agent }),
        1 => (anyone(), group()).prop_map(|(who, group)| Command::Halt { who, group }),
        // Nothing else ends a switch, so it must not stand for the rest of most runs.
        4 => (anyone(), group()).prop_map(|(who, group)| Command::Resume { who, group }),
    ]
    .prop_map(What::Plain)
    .boxed()
}

fn flows() -> BoxedStrategy<What> {
    prop_oneof![
        4 => (agents_or_anyone(), flow(), agent(), maybe(0.4, flow()))
            .prop_map(|(who, flow, agent, parent)| Command::OpenFlow { who, flow, agent, parent }),
        1 => (agents_or_anyone(), agent(), maybe(0.5, flow()))
            .prop_map(|(who, agent, parent)| Command::OpenFlow { who, flow: String::new(), agent, parent }),
        4 => (agents_or_anyone(), flow(), any::<bool>())
            .prop_map(|(who, flow, abort)| Command::EndFlow { who, flow, abort }),
        1 => (agents_or_anyone(), flow(), 0..3_i64).prop_map(|(who, flow, value)| Command::Remember { who, flow, value }),
        3 => (agents_or_anyone(), agent(), flow(), words(&["unsure", "unsure", "unsure", ""]))
            .prop_map(|(who, agent, flow, reason)| Command::Ask { who, agent, flow, reason }),
        1 => (agents_or_anyone(), flow(), words(&["SEEN", "SEEN", "any name", ""]))
            .prop_map(|(who, flow, name)| Command::Note { who, flow, name }),
        2 => (agents_or_anyone(), flow(), vec(words(&["pool", "desk", "cash"]), 0..2))
            .prop_map(|(who, flow, resources)| Command::Release { who, flow, resources }),
    ]
    .prop_map(What::Plain).boxed()
}

fn holds() -> BoxedStrategy<What> {
    let one = (words(&["pool", "desk", "cash", "cash"]), select(vec![-1, 0, 1, 1, 2, 5, 10]));
    (agents_or_anyone(), flow(), vec(one, 1..3), select(vec![0, 2, 10, 20]), maybe(0.4, select(vec![0, 1, 30, 600])))
        .prop_map(|(who, flow, wanted, available, after)| What::Reserve { who, flow, wanted, available, after })
        .boxed()
}

fn context() -> BoxedStrategy<What> {
    let key = || words(&["risk", "risk", "agents/lead/x", "agents/junior/x"]);
    let write = (key(), 0..3_i64, maybe(0.5, 0..4_u64)).prop_map(|(key, value, expect)| Write { key, value, expect });
    let writes = (agents_or_anyone(), vec(write, 1..3)).prop_map(|(who, writes)| Command::Write { who, writes });
    let freezes = (agents_or_anyone(), maybe(0.3, flow()), vec(key(), 1..3))
        .prop_map(|(who, flow, keys)| Command::Freeze { who, slot: String::new(), flow, keys });
    let import = (anyone(), words(&["s0", "s1"]), select(vec![-601, -600, 0, 0, 5, 6]), maybe(0.9, 0..3_i64));
    let groups = prop_oneof![3 => Just(vec!["mail", "desk"]), 1 => Just(vec!["mail"]), 1 => Just(Vec::new())];
    let enlist = (anyone(), words(&["ann", "bob", "lead"]), groups).prop_map(|(who, person, groups)| {
        let groups = groups.into_iter().map(str::to_owned).collect();
        Command::Enlist { who, person, groups }
    });
    prop_oneof![
        1 => enlist.prop_map(What::Plain),
        4 => writes.prop_map(What::Plain),
        3 => freezes.prop_map(What::Plain),
        2 => import.prop_map(|(who, name, after, risk)| What::Import { who, name, after, risk }),
    ]
    .boxed()
}

fn leases() -> BoxedStrategy<What> {
    let holder = || words(&["lead", "lead", "lead", "lead:s1", "junior", "junior:s2"]);
    let fence = || prop_oneof![8 => 1..3_u64, 1 => 0..6_u64];
    let path = words(&["/ws", "/ws/src", "/ws/src/a", "/ws/docs"]);
    let ttl = select(vec![0, 1, 60, 60, 3_600, 86_401]);
    let acquire = (holder(), any::<bool>(), path, ttl).prop_map(|(holder, shared, path, ttl)| Leasing::Acquire {
        holder,
        shared,
        path,
        ttl,
    });
    let what = prop_oneof![
        6 => acquire,
        5 => (holder(), fence()).prop_map(|(holder, fence)| Leasing::Heartbeat { holder, fence }),
        5 => (holder(), fence()).prop_map(|(holder, fence)| Leasing::Release { holder, fence }),
    ];
    let by_operators = prop_oneof![
        3 => (1..4_u64).prop_map(|fence| Leasing::Evict { fence }),
        4 => (1..4_u64, holder()).prop_map(|(fence, heir)| Leasing::Adopt { fence, heir }),
    ];
    let asked = prop_oneof![3 => (anyone(), what), 1 => (anyone(), by_operators)];
    asked.prop_map(|(who, what)| What::Plain(Command::Lease { who, what })).boxed()
}

fn performing() -> BoxedStrategy<What> {
    let who = prop_oneof![6 => Just(Who::Kernel), 3 => words(&["ann", "bob"]).prop_map(Who::Operator), 1 => anyone()];
    let behind = || select(vec![0, 0, 0, 0, 1, 2, 9]);
    let decision = words(&["HAPPENED", "DID_NOT", "DID_NOT", "RETRY", "RETRY", "maybe"]);
    let what = prop_oneof![
        6 => select(vec![0, 1, 30, 30]).prop_map(Performing::Claim),
        6 => (select(vec![0, 0, 0, 1]), prop::bool::weighted(0.9))
            .prop_map(|(behind, right)| Performing::Start(behind, right)),
        6 => (behind(), words(&["POSITIVE", "NEGATIVE", "UNKNOWN", "UNKNOWN"]))
            .prop_map(|(behind, observed)| Performing::Outcome(behind, observed)),
        4 => (decision, prop::bool::weighted(0.9))
            .prop_map(|(decision, right)| Performing::Resolve { decision, right }),
        2 => Just(Performing::Undo),
    ];
    (0..8_usize, who, what).prop_map(|(back, who, what)| What::Perform { back, who, what }).boxed()
}

fn what() -> BoxedStrategy<What> {
    let event = words(&["SUCCEED", "SUCCEED", "FAIL", "FAIL", "CANCEL", "DOUBT"]);
    let settle =
        (0..4_usize, agents_or_anyone(), event).prop_map(|(back, who, event)| What::Settle { back, who, event });
    let expire = prop_oneof![
        (anyone(), 1..4_usize).prop_map(|(who, latest)| What::ExpireQuestions { who, latest }),
        anyone().prop_map(|who| What::Plain(Command::ExpireIntents { who })),
    ];
    prop_oneof![
        22 => proposals(),
        3 => (0..4_usize, maybe(0.3, words(&["k0", "k1", "k2"]))).prop_map(|(back, key)| What::Repeat { back, key }),
        5 => answers(),
        6 => settle,
        14 => performing(),
        2 => expire,
        6 => registry(),
        6 => flows(),
        4 => holds(),
        5 => context(),
        10 => leases(),
    ]
    .boxed()
}

/// Mostly at once; sometimes just over a proposal's time, a question's deadline, a window.
fn wish(what: impl Strategy<Value = What> + 'static) -> BoxedStrategy<Wish> {
    let after = prop_oneof![
        12 => Just(0),
        4 => select(vec![1, 9, 30]),
        2 => select(vec![31, 300, 301]),
        1 => select(vec![600, 601, 900, 901, 3_599, 3_600, 90_000]),
    ];
    (after, any::<bool>(), what).prop_map(|(after, joins, what)| Wish { after, joins, what }).boxed()
}

/// A short story: mostly one command, sometimes a few that belong together.
fn story() -> BoxedStrategy<Vec<Wish>> {
    let ladder = (wish(Just(What::Descend { who: operator(), agent: "lead".to_owned() })), 9..=10_usize)
        .prop_map(|(wish, steps)| vec![wish; steps]);
    // The same question asked until nobody may be asked any more, or answered twice.
    let pesters = (wish(proposals()), 2..=4_usize).prop_map(|(wish, times)| {
        let again = |turn: usize| {
            let mut wish = wish.clone();
            if let What::Propose { proposal, .. } = &mut wish.what {
                proposal.action = "pay".to_owned();
                proposal.amount = 12;
                proposal.order = ["A", "B", "C", "D"][turn].to_owned();
                (proposal.key, proposal.id) = (None, None);
            }
            wish
        };
        (0..times).map(again).collect()
    });
    let agreed = (wish(answers()), wish(answers())).prop_map(|(mut first, mut second)| {
        for (wish, person) in [(&mut first, "ann"), (&mut second, "bob")] {
            if let What::Answer { back, answer } = &mut wish.what {
                *back = 0;
                answer.who = Who::Operator(person.to_owned());
            }
        }
        vec![first, second]
    });
    // Something is accepted in a flow, perhaps out of another, begun or not, and a flow ends under it.
    let ended = (flow(), maybe(0.4, flow()), any::<bool>(), prop::bool::weighted(0.8), 0..60_usize, 0..4_usize)
        .prop_map(|(name, parent, child_ends, abort, order, steps)| {
            let at_once = |what: What| Wish { after: 0, joins: false, what };
            let kernel = |what: Performing| at_once(What::Perform { back: 0, who: Who::Kernel, what });
            let mut wishes = Vec::new();
            let open = |flow: &str, parent: Option<String>| {
                let (who, flow, agent) = (operator(), flow.to_owned(), "lead".to_owned());
                at_once(What::Plain(Command::OpenFlow { who, flow, agent, parent }))
            };
            if let Some(parent) = &parent {
                wishes.extend([open(parent, None), open(&name, Some(parent.clone()))]);
            }
            for (turn, amount) in [3, 12].into_iter().enumerate() {
                let flow = Some(name.clone());
                let proposal = Proposal { flow, ..paying(amount, 100 + 2 * order + turn) };
                wishes.push(at_once(What::Plain(Command::Propose(proposal))));
            }
            let begun = [kernel(Performing::Claim(30)), kernel(Performing::Start(0, true))];
            wishes.extend(begun.into_iter().take(steps));
            let flow = parent.filter(|_| !child_ends).unwrap_or(name);
            wishes.push(at_once(What::Plain(Command::EndFlow { who: operator(), flow, abort })));
            wishes.extend([kernel(Performing::Claim(30)), kernel(Performing::Start(0, true))]);
            wishes.push(kernel(Performing::Outcome(0, "UNKNOWN".to_owned())));
            wishes.push(Wish { after: 2, ..at_once(What::Plain(Command::ExpireIntents { who: Who::Kernel })) });
            wishes.push(kernel(Performing::Claim(30)));
            wishes
        });
    // One intent from its claim on: sent, answered or not, recovered, resolved, tried again, undone.
    let attempt = || {
        let observed = words(&["POSITIVE", "NEGATIVE", "NEGATIVE", "UNKNOWN", "UNKNOWN"]);
        (
            observed,
            prop::bool::weighted(0.3),
            select(vec![0, 0, 2, 31]),
            select(vec!["", "", "", "suspended", "altered"]),
        )
    };
    let performed = (0..60_usize, vec(attempt(), 1..4), words(&["DID_NOT", "RETRY", "RETRY"]), select(vec![0, 90_000]))
        .prop_map(|(order, attempts, decision, undone_after)| {
            let kernel = |what: Performing| What::Perform { back: 0, who: Who::Kernel, what };
            let at_once = |what: What| Wish { after: 0, joins: false, what };
            let mut wishes = vec![at_once(What::Plain(Command::Propose(paying(3, order))))];
            for (observed, silent, pause, trouble) in attempts {
                wishes.push(at_once(kernel(Performing::Claim(30))));
                if trouble == "suspended" {
                    let (who, agent, status) = (operator(), "lead".to_owned(), "SUSPENDED".to_owned());
                    wishes.push(at_once(What::Plain(Command::Restrict { who, agent, status, actions: Vec::new() })));
                }
                wishes.push(at_once(kernel(Performing::Start(0, trouble != "altered"))));
                if !silent {
                    wishes.push(at_once(kernel(Performing::Outcome(0, observed))));
                }
                let recover = What::Plain(Command::ExpireIntents { who: Who::Kernel });
                wishes.push(Wish { after: pause, joins: false, what: recover });
                let (person, groups) = ("bob".to_owned(), vec!["desk".to_owned()]);
                wishes.push(at_once(What::Plain(Command::Enlist { who: operator(), person, groups })));
                let what = Performing::Resolve { decision: decision.clone(), right: true };
                wishes.push(at_once(What::Perform { back: 0, who: Who::Operator("bob".to_owned()), what }));
            }
            let undo = kernel(Performing::Undo);
            wishes.push(Wish { after: undone_after, joins: false, what: undo });
            wishes
        });
    // A person says no, and the agent proposes the same again, something like it, or the same elsewhere.
    let signature = select(vec![Signature::Right, Signature::Right, Signature::None]);
    let denied = (
        maybe(0.6, flow()),
        0..60_usize,
        prop::bool::weighted(0.3),
        signature,
        (select(vec![11, 11, 11, 5]), select(vec![0, 1, 901]), maybe(0.3, flow())),
    )
        .prop_map(|(flow, order, signed, signature, (amount, pause, elsewhere))| {
            let at_once = |what: What| Wish { after: 0, joins: false, what };
            let plain = |command: Command| at_once(What::Plain(command));
            let mut wishes = Vec::new();
            if signed {
                let (who, contract) = (operator(), "lead-2".to_owned());
                wishes.push(plain(Command::Register { who: who.clone(), contract: contract.clone(), version: None }));
                wishes.push(plain(Command::Activate { who, contract }));
            }
            let asked = Proposal { flow: flow.clone(), ..paying(11, 300 + order) };
            wishes.extend([plain(Command::Propose(asked.clone())), plain(Command::Propose(asked.clone()))]);
            let (who, decision) = (operator(), "ABORT".to_owned());
            let answer = Answer { who, question: String::new(), decision, right: true, signature, by_runtime: true };
            wishes.push(at_once(What::Answer { back: 0, answer }));
            let again = Proposal { amount, flow: elsewhere.or(flow), ..asked };
            wishes.push(Wish { after: pause, ..plain(Command::Propose(again)) });
            wishes
        });
    // A candidate is tried, and what flows do meanwhile is under one contract or the other.
    let tried = (select(vec![2_500_u64, 5_000, 10_000]), vec((maybe(0.5, flow()), 0..60_usize), 2..6), 0..3_usize)
        .prop_map(|(share, paid, end)| {
            let plain = |command: Command| Wish { after: 0, joins: true, what: What::Plain(command) };
            let (agent, contract) = ("lead".to_owned(), "lead-3".to_owned());
            let mut wishes = vec![plain(Command::StartCanary { who: operator(), contract, share })];
            wishes.extend(paid.into_iter().map(|(flow, order)| {
                let proposal = Proposal { flow, ..paying(7, 400 + order) };
                Wish { after: 1, joins: false, what: What::Plain(Command::Propose(proposal)) }
            }));
            match end {
                0 => wishes.push(plain(Command::PromoteCanary { who: operator(), agent, right: true })),
                1 => wishes.push(plain(Command::RollBackCanary { who: operator(), agent })),
                _ => {}
            }
            wishes
        });
    // A key is used, forgotten or kept, and used again for the same or for something else.
    let pause = select(vec![0, 86_399, 86_400, 86_401, 90_000, 2_592_001]);
    let keep = maybe(0.8, (anyone(), select(vec![86_399, 86_400, 86_400, 86_400, 316_224_001])));
    let forgotten =
        (keep, anyone(), pause, (0..60_usize, maybe(0.7, Just(5)))).prop_map(|(keep, who, pause, (order, again))| {
            let plain = |after: i64, command: Command| Wish { after, joins: false, what: What::Plain(command) };
            let first = Proposal { key: Some("k3".to_owned()), ..paying(3, 500 + order) };
            let again = again.map_or(first.clone(), |amount| Proposal { amount, ..first.clone() });
            let mut wishes = vec![plain(0, Command::Propose(first))];
            wishes.extend(keep.map(|(who, kept)| plain(0, Command::KeepKeys { who, kept })));
            wishes.push(plain(pause, Command::ForgetKeys { who }));
            wishes.push(plain(0, Command::Propose(again)));
            wishes
        });
    prop_oneof![
        3 => forgotten,
        5 => performed,
        3 => tried,
        3 => denied,
        4 => ended,
        60 => wish(what()).prop_map(|wish| vec![wish]),
        1 => ladder,
        3 => pesters,
        3 => agreed,
    ]
    .boxed()
}

/// Two agents in force, mostly: without them everything is refused for the same reason.
fn beginning() -> BoxedStrategy<Vec<Wish>> {
    let at_once = |command: Command| Wish { after: 0, joins: true, what: What::Plain(command) };
    let enroll = |contract: &str| {
        let (who, contract) = (operator(), contract.to_owned());
        let register = Command::Register { who: who.clone(), contract: contract.clone(), version: None };
        vec![register, Command::Activate { who, contract }]
    };
    let write = Write { key: "risk".to_owned(), value: 1, expect: None };
    let state = Command::Write { who: operator(), writes: vec![write] };
    let enlist = |person: &str| {
        let groups = vec!["mail".to_owned(), "desk".to_owned()];
        Command::Enlist { who: operator(), person: person.to_owned(), groups }
    };
    let people = ["ann", "bob", "lead", "junior"].map(enlist).to_vec();
    let both: Vec<Command> = [enroll("lead-1"), enroll("junior-1"), vec![state], people].concat();
    // The junior's contract is not in force.
    let waiting = [enroll("lead-1"), enroll("junior-1").into_iter().take(1).collect()].concat();
    prop_oneof![
        30 => Just(both.into_iter().map(at_once).collect()),
        3 => Just(waiting.into_iter().map(at_once).collect()),
        1 => Just(enroll("lead-odd").into_iter().map(at_once).collect()),
        1 => Just(Vec::new()),
    ]
    .boxed()
}

/// A whole run.
pub fn runs() -> BoxedStrategy<Vec<Wish>> {
    (beginning(), vec(story(), 1..40))
        .prop_map(|(beginning, stories)| beginning.into_iter().chain(stories.into_iter().flatten()).collect())
        .boxed()
}
