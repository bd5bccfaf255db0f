//! What becomes of an intent, step by step. A row is a line of steps and what each of them came to.
//!
//! `pay` proposes, `+5` lets seconds pass, `tick` lets time act, `claim` takes for ten seconds, `start1` marks under
//! epoch 1, `yes1`, `no1` and `what1` report what was observed under it; `books` tells what is held, used up and taken of
//! the budget.

use crate::agent::{Actor, AgentStatus};
use crate::change::{Act, DoubtAnswer, Write};
use crate::contract::{Budget, EffectClass, Executor, Impact, ResourceKind, UndoKind};
use crate::event::Event;
use crate::intent::{IntentEvent, IntentFacts, IntentRow, Observed};
use crate::outcome::Done;
use crate::person::Identity;
use crate::testing::{Case, case};
use crate::world::{Entity, Row};
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use values::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn http(class: EffectClass) -> Case {
    run(Executor::Http("POST http://127.0.0.1/pay".to_owned()), class)
}

fn run(executor: Executor, class: EffectClass) -> Case {
    let budget = Budget { sum: Some("amount".to_owned()), max: Decimal::from(10), per: DAY };
    let case = case().once("pay:{amount}").reserve("pool", 10, "amount").amount(4).run(executor, class);
    case.contract(move |contract| {
        let pay = contract.actions.get_mut("pay").unwrap();
        pay.budgets.push(budget.clone());
        pay.undo.kind = UndoKind::Revert;
        pay.undo.http = Some("POST http://127.0.0.1/undo".to_owned());
        pay.undo.within = Some(Duration::from_secs(3_600));
    })
}

fn ann() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn intent(case: &Case, name: &str) -> IntentRow {
    match case.row(Entity::Intent(name.to_owned())) {
        Some(Row::Intent(row)) => row.as_ref().clone(),
        other => panic!("no intent {name}: {other:?}"),
    }
}

fn books(case: &Case) -> String {
    let Some(Row::Resource(pool)) = case.row(Entity::Resource("pool".to_owned())) else { panic!("no pool") };
    let taken = intent(case, "i-1").facts.taken().first().unwrap().clone();
    let Some(Row::Budget(window)) = case.row(Entity::Budget(taken.agent, taken.budget)) else { panic!("no budget") };
    format!("{}/{}/{}", pool.held, pool.consumed, window.used(case.now(), DAY).unwrap())
}

fn said(done: &Done) -> String {
    let told = done.event.as_ref().map(|event| event.to_json()).unwrap_or_default();
    let state = told.get("state").and_then(Json::as_text).unwrap_or("done");
    if done.answer.findings.is_empty() { state.to_owned() } else { done.answer.reasons().join("+") }
}

/// The answer of a person about what the open question shows.
fn resolve(case: &mut Case, who: &str, decision: &str, name: &str) -> String {
    let running = intent(case, name).running.unwrap();
    let question = running.question.unwrap_or_else(|| "none".to_owned());
    let digest = match case.row(Entity::Escalation(question.clone())) {
        Some(Row::Escalation(row)) => row.digest,
        _ => Digest::of(""),
    };
    let (decision, reason) = (decision.to_owned(), "looked".to_owned());
    let answer =
        DoubtAnswer { intent: name.to_owned(), question, decision, digest, reason, identity: Identity::default() };
    said(&case.change(Actor::Operator(who.to_owned()), Act::Resolve(Box::new(answer))))
}

fn restrict(case: &mut Case, status: AgentStatus, actions: &[&str]) -> String {
    let actions = actions.iter().map(|action| (*action).to_owned()).collect();
    let act = Act::Restrict { agent: "bot".to_owned(), status, because: "odd".to_owned(), actions };
    said(&case.change(ann(), act))
}

fn take_step(case: &mut Case, step: &str) -> Option<String> {
    let name = || "i-1".to_owned();
    let (word, number) = step.split_at(step.trim_end_matches(|letter: char| letter.is_ascii_digit()).len());
    let epoch: u64 = number.parse().unwrap_or(0);
    let observed = |observed| Act::Outcome { intent: name(), epoch, observed, detail: String::new(), result: None };
    let settle = |event| Act::Settle { intent: name(), event, result: None };
    let undo = |id: &str| Act::Undo { intent: name(), undo: id.to_owned(), because: "wrong".to_owned() };
    let claim = |intent: &str, lease| {
        let (intent, worker) = (intent.to_owned(), "w".to_owned());
        Act::Claim { intent, worker, lease: Duration::from_secs(lease) }
    };
    let (actor, act) = match word {
        "+" => {
            case.later(number.parse().unwrap());
            return None;
        }
        "pay" => {
            let answer = case.judge().answer;
            let refused = answer.reasons().join("+");
            return Some(if answer.intent.is_some() { "ACCEPT".to_owned() } else { refused });
        }
        "books" => return Some(books(case)),
        "tick" => {
            case.change(Actor::Kernel, Act::ExpireIntents);
            return Some(intent(case, "i-1").state.word().to_owned());
        }
        "claim" => (Actor::Kernel, claim("i-1", 10)),
        "claim-long" => (Actor::Kernel, claim("i-1", 86_400 * 9)),
        "claim-short" => (Actor::Kernel, claim("i-1", 0)),
        "claim-undo" => (Actor::Kernel, claim("u", 10)),
        "claim-by-bot" => (Actor::Agent("bot".to_owned()), claim("i-1", 10)),
        "start" => {
            let attempt = intent(case, "i-1").running.unwrap().digest();
            (Actor::Kernel, Act::Start { intent: name(), epoch, attempt })
        }
        "start-other" => (Actor::Kernel, Act::Start { intent: name(), epoch: 1, attempt: Digest::of("other") }),
        "yes" => (Actor::Kernel, observed(Observed::Positive)),
        "no" => (Actor::Kernel, observed(Observed::Negative)),
        "what" => (Actor::Kernel, observed(Observed::Unknown)),
        "host-yes" => (Actor::Agent("bot".to_owned()), settle(IntentEvent::Succeed)),
        "host-no" => (Actor::Agent("bot".to_owned()), settle(IntentEvent::Fail)),
        "host-off" => (Actor::Agent("bot".to_owned()), settle(IntentEvent::Cancel)),
        "host-what" => (Actor::Agent("bot".to_owned()), settle(IntentEvent::Doubt)),
        "eve-yes" => (Actor::Agent("eve".to_owned()), settle(IntentEvent::Succeed)),
        "kernel-yes" => (Actor::Kernel, settle(IntentEvent::Succeed)),
        "ann-no" => (ann(), settle(IntentEvent::Fail)),
        "ann-off" => (ann(), settle(IntentEvent::Cancel)),
        "halt" => (ann(), Act::Halt { group: None, because: "fire".to_owned() }),
        "resume" => (ann(), Act::Resume { group: None, because: "out".to_owned() }),
        "desk" => (ann(), Act::Merge(vec![Write::groups("ann", ["desk"]), Write::groups("bob", ["desk"])])),
        "undo" => (ann(), undo("u")),
        "undo-again" => (ann(), undo("v")),
        "suspend" => return Some(restrict(case, AgentStatus::Suspended, &[])),
        "passive" => return Some(restrict(case, AgentStatus::Passive, &[])),
        "degrade-pay" => return Some(restrict(case, AgentStatus::Degraded, &["pay"])),
        "degrade-look" => return Some(restrict(case, AgentStatus::Degraded, &["look"])),
        "happened" | "did-not" | "retry" => {
            return Some(resolve(case, "ann", &word.to_uppercase().replace('-', "_"), "i-1"));
        }
        "bob-did-not" => return Some(resolve(case, "bob", "DID_NOT", "i-1")),
        "eve-did-not" => return Some(resolve(case, "eve", "DID_NOT", "i-1")),
        "undone-by-hand" => return Some(resolve(case, "ann", "HAPPENED", "u")),
        other => panic!("no step `{other}`"),
    };
    Some(said(&case.change(actor, act)))
}

fn told(case: &mut Case, steps: &str) -> String {
    steps.split_whitespace().filter_map(|step| take_step(case, step)).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(mut case: Case, steps: &str, expected: &str) -> Case {
    assert_eq!(told(&mut case, steps), expected, "{steps}");
    case
}

/// Rows of what the runtime performs, in the class that permits least.
#[track_caller]
fn check_rows(class: EffectClass, rows: &[(&str, &str)]) {
    for (steps, expected) in rows {
        let passed = ["ACCEPT", *expected].join(" ");
        check(http(class), &format!("pay {steps}"), passed.trim_end());
    }
}

#[test]
fn a_claim_counts_until_its_last_moment_and_under_its_own_epoch() {
    check_rows(
        EffectClass::Opaque,
        &[
            ("claim start1 yes1 books", "CLAIMED IN_FLIGHT SUCCEEDED 0/4/4"),
            ("claim start1 no1 books", "CLAIMED IN_FLIGHT FAILED 0/0/0"),
            ("claim start1 what1 books", "CLAIMED IN_FLIGHT IN_DOUBT 4/0/4"),
            ("claim +10 start1", "CLAIMED IN_FLIGHT"),
            ("claim +11 start1", "CLAIMED CLAIM_LOST"),
            ("claim claim", "CLAIMED STEP_REFUSED"),
            ("start0 start1", "CLAIM_LOST CLAIM_LOST"),
            ("claim start0 start2 start1 start1", "CLAIMED CLAIM_LOST CLAIM_LOST IN_FLIGHT CLAIM_LOST"),
            ("claim start-other start1", "CLAIMED INTENT_ALTERED IN_FLIGHT"),
            ("claim-by-bot", "NOT_AUTHORIZED"),
            ("claim yes1", "CLAIMED CLAIMED"),
            ("claim start1 yes0 yes2 yes1", "CLAIMED IN_FLIGHT CLAIM_LOST CLAIM_LOST SUCCEEDED"),
            ("claim +11 tick claim start2 no1 yes2", "CLAIMED READY CLAIMED IN_FLIGHT IN_FLIGHT SUCCEEDED"),
            // The shortest lease is a second, the longest a day.
            ("claim-short +1 start1", "CLAIMED IN_FLIGHT"),
            ("claim-long start1 +86400 tick +1 tick", "CLAIMED IN_FLIGHT IN_FLIGHT IN_DOUBT"),
        ],
    );
}

#[test]
fn time_acts_after_the_last_moment() {
    check_rows(
        EffectClass::Opaque,
        &[
            ("+30 tick claim start1", "READY CLAIMED IN_FLIGHT"),
            ("+30 tick +1 tick books", "READY CANCELLED 0/0/0"),
            ("+31 claim books", "TTL_EXPIRED 0/0/0"),
            ("claim +10 tick +1 tick", "CLAIMED CLAIMED READY"),
            ("+25 claim +10 tick +1 tick", "CLAIMED CLAIMED CANCELLED"),
            ("+20 claim +10 start1", "CLAIMED IN_FLIGHT"),
            ("+19 claim +11 tick", "CLAIMED READY"),
            ("+25 claim +6 start1 tick", "CLAIMED TTL_EXPIRED CANCELLED"),
            ("claim start1 +10 tick +1 tick", "CLAIMED IN_FLIGHT IN_FLIGHT IN_DOUBT"),
            ("claim start1 what1 +86400 tick", "CLAIMED IN_FLIGHT IN_DOUBT IN_DOUBT"),
            // What nobody started in time makes room for the same effect, and what may have happened does not.
            ("pay +30 pay +1 pay", "IN_PROGRESS IN_PROGRESS ACCEPT"),
            ("claim start1 +31 pay", "CLAIMED IN_FLIGHT IN_PROGRESS"),
        ],
    );
}

#[test]
fn what_is_tried_again_is_tried_by_the_clock_and_not_after_a_person_must_look() {
    // The horizon starts with the first mark, not with a claim that sent nothing.
    let late = "claim +11 tick +9 claim start2 what2 +2 tick +82798 tick +1 tick";
    let came = "CLAIMED READY CLAIMED IN_FLIGHT IN_DOUBT READY READY IN_DOUBT";
    check_rows(EffectClass::Keyed, &[(late, came)]);
    let keyed = "claim start1 what1";
    let after = "CLAIMED IN_FLIGHT IN_DOUBT";
    for (steps, expected) in [
        ("+1 tick +1 tick claim start2 yes2 books", "IN_DOUBT READY CLAIMED IN_FLIGHT SUCCEEDED 0/4/4"),
        ("+2 tick claim start2 no2 +2 tick +1 tick", "READY CLAIMED IN_FLIGHT IN_DOUBT IN_DOUBT READY"),
        // Time to start is over; time to try again is not.
        ("+60 tick claim +11 tick", "READY CLAIMED READY"),
        ("+2 tick yes1 books", "READY SUCCEEDED 0/4/4"),
        ("+2 tick claim start2 yes1", "READY CLAIMED IN_FLIGHT SUCCEEDED"),
        ("+2 tick no1", "READY READY"),
        ("+2 tick host-off ann-off", "READY STEP_REFUSED STEP_REFUSED"),
        // A day without an end: the other side may have forgotten the key. Nobody tries again.
        ("+2 tick +82798 tick claim", "READY READY CLAIMED"),
        ("+2 tick +82799 tick claim", "READY IN_DOUBT STEP_REFUSED"),
        ("+2 tick +82799 claim tick", "READY TTL_EXPIRED IN_DOUBT"),
        ("+2 tick suspend claim +600 tick books", "READY done AGENT_SUSPENDED IN_DOUBT 4/0/4"),
        // A person gives it another day from now.
        ("desk +2 tick +82799 tick retry claim +11 tick", "done READY IN_DOUBT READY CLAIMED READY"),
        ("desk +2 tick +82799 tick retry +82800 tick +1 tick", "done READY IN_DOUBT READY READY IN_DOUBT"),
    ] {
        check_rows(EffectClass::Keyed, &[(&format!("{keyed} {steps}"), &format!("{after} {expected}"))]);
    }
}

#[test]
fn what_stands_against_starting_is_asked_at_the_claim_and_at_the_mark() {
    check_rows(
        EffectClass::Opaque,
        &[
            ("suspend claim books", "done AGENT_SUSPENDED 0/0/0"),
            ("claim passive start1 tick", "CLAIMED done AGENT_PASSIVE CANCELLED"),
            ("claim degrade-pay start1 tick", "CLAIMED done AGENT_DEGRADED CANCELLED"),
            ("claim degrade-look start1", "CLAIMED done IN_FLIGHT"),
            (
                "claim halt start1 tick claim resume claim start2",
                "CLAIMED done HALTED READY HALTED done CLAIMED IN_FLIGHT",
            ),
        ],
    );
}

#[test]
fn evidence_that_comes_late_resolves_a_doubt_and_overwrites_nothing() {
    let case = http(EffectClass::Opaque);
    let steps = "pay desk claim start1 what1 no1 did-not books yes1 no1";
    let mut case =
        check(case, steps, "ACCEPT done CLAIMED IN_FLIGHT IN_DOUBT IN_DOUBT ABANDONED 0/0/0 ABANDONED ABANDONED");
    let kept = intent(&case, "i-1").running.unwrap().evidence;
    let kept: Vec<_> = kept.iter().map(|evidence| (evidence.epoch, evidence.observed)).collect();
    assert_eq!(kept, [(1, Observed::Negative), (1, Observed::Positive), (1, Observed::Negative)]);
    // Only a yes about what was given up contradicts; a person must hear of it.
    for (observed, contradicts) in [(Observed::Positive, true), (Observed::Negative, false), (Observed::Unknown, false)]
    {
        let act = Act::Outcome { intent: "i-1".to_owned(), epoch: 1, observed, detail: String::new(), result: None };
        let done = case.change(Actor::Kernel, act);
        let Some(Event::EvidenceKept(kept)) = done.event.as_deref() else { panic!("{:?}", done.event) };
        assert_eq!(kept.contradicts, contradicts, "{observed:?}");
    }
    check_rows(
        EffectClass::Opaque,
        &[
            ("claim start1 what1 yes1 no1 books", "CLAIMED IN_FLIGHT IN_DOUBT SUCCEEDED SUCCEEDED 0/4/4"),
            ("claim start1 +11 tick yes1", "CLAIMED IN_FLIGHT IN_DOUBT SUCCEEDED"),
            // Nothing was sent under a claim that was lost, whatever somebody says.
            ("claim +11 tick yes1 claim yes1", "CLAIMED READY READY CLAIMED CLAIMED"),
        ],
    );
}

#[test]
fn a_doubt_is_settled_by_those_who_may_and_agree() {
    check_rows(
        EffectClass::Opaque,
        &[
            ("desk claim start1 what1 happened books", "done CLAIMED IN_FLIGHT IN_DOUBT SUCCEEDED 0/4/4"),
            (
                "desk claim start1 what1 retry claim start2 no2",
                "done CLAIMED IN_FLIGHT IN_DOUBT READY CLAIMED IN_FLIGHT IN_DOUBT",
            ),
            (
                "desk claim start1 what1 eve-did-not did-not",
                "done CLAIMED IN_FLIGHT IN_DOUBT APPROVER_NOT_ENTITLED ABANDONED",
            ),
            ("desk claim start1 did-not", "done CLAIMED IN_FLIGHT APPROVAL_UNKNOWN"),
        ],
    );
    let two = http(EffectClass::Opaque).contract(|contract| contract.escalation.quorum = 2);
    let asked = "pay desk claim start1 what1";
    let after = "ACCEPT done CLAIMED IN_FLIGHT IN_DOUBT";
    let mut case = check(two, asked, after);
    let question = intent(&case, "i-1").running.unwrap().question.unwrap();
    let Some(Row::Escalation(row)) = case.row(Entity::Escalation(question.clone())) else { panic!("no question") };
    let digest = row.digest;
    assert_eq!(told(&mut case, "happened bob-did-not did-not books"), "done done ABANDONED 0/0/0");
    // The second answer gets the first.
    let answer = |question: &str, digest, decision: &str| DoubtAnswer {
        intent: "i-1".to_owned(),
        question: question.to_owned(),
        decision: decision.to_owned(),
        digest,
        reason: String::new(),
        identity: Identity::default(),
    };
    let act = Act::Resolve(Box::new(answer(&question, digest, "HAPPENED")));
    assert_eq!(said(&case.change(ann(), act)), "ALREADY_ANSWERED");
    let mut case = check(http(EffectClass::Opaque), asked, after);
    let question = intent(&case, "i-1").running.unwrap().question.unwrap();
    for (digest, decision, expected) in
        [(Digest::of("something else"), "HAPPENED", "APPROVAL_MISMATCH"), (digest, "PERHAPS", "PARAM_INVALID")]
    {
        let act = Act::Resolve(Box::new(answer(&question, digest, decision)));
        assert_eq!(said(&case.change(ann(), act)), expected);
    }
}

#[test]
fn a_host_reports_once_and_in_time() {
    let host = |impact: Impact| {
        run(Executor::Host, EffectClass::Opaque)
            .contract(move |contract| contract.actions.get_mut("pay").unwrap().impact = impact)
    };
    for (steps, expected) in [
        ("host-yes books host-yes", "SUCCEEDED 0/4/4 STEP_REFUSED"),
        ("host-no books", "FAILED 0/0/0"),
        ("host-off ann-off books", "STEP_REFUSED CANCELLED 0/0/0"),
        ("eve-yes kernel-yes", "NOT_AUTHORIZED SUCCEEDED"),
        ("claim", "STEP_REFUSED"),
        ("+35 tick +1 tick books", "HANDED_OUT UNREPORTED 4/0/4"),
        ("+36 tick host-no ann-no host-yes", "UNREPORTED STEP_REFUSED STEP_REFUSED SUCCEEDED"),
        ("desk host-what host-no retry did-not books", "done IN_DOUBT STEP_REFUSED STEP_REFUSED ABANDONED 0/0/0"),
        ("desk host-what host-yes books", "done IN_DOUBT SUCCEEDED 0/4/4"),
    ] {
        let expected = ["ACCEPT", expected].join(" ");
        check(host(Impact::High), &format!("pay {steps}"), &expected);
    }
    // Whether people are asked depends on what is at stake.
    for (impact, asked) in
        [(Impact::Low, false), (Impact::Medium, false), (Impact::High, true), (Impact::Critical, true)]
    {
        let case = check(host(impact), "pay +36 tick", "ACCEPT UNREPORTED");
        assert_eq!(intent(&case, "i-1").running.unwrap().question.is_some(), asked, "{impact:?}");
    }
    check_rows(
        EffectClass::Opaque,
        &[
            // What the runtime performs is its own to report; before anything is sent, it can be called off.
            ("host-yes claim start1 host-yes ann-no", "STEP_REFUSED CLAIMED IN_FLIGHT STEP_REFUSED STEP_REFUSED"),
            ("claim host-off books", "CLAIMED CANCELLED 0/0/0"),
            ("ann-no books", "FAILED 0/0/0"),
        ],
    );
}

#[test]
fn questions_close_when_it_becomes_known() {
    let case = check(http(EffectClass::Opaque), "pay claim start1 what1", "ACCEPT CLAIMED IN_FLIGHT IN_DOUBT");
    let question = intent(&case, "i-1").running.unwrap().question.unwrap();
    let mut case = case;
    let state = |case: &Case| match case.row(Entity::Escalation(question.clone())) {
        Some(Row::Escalation(row)) => (row.state.word(), row.answer.as_ref().map(|answer| answer.reason.clone())),
        other => panic!("no question: {other:?}"),
    };
    assert_eq!(state(&case).0, "OPEN");
    let Some(Row::Escalation(row)) = case.row(Entity::Escalation(question.clone())) else { panic!("no question") };
    assert_eq!((row.deadline, row.due().is_some()), (None, true), "time does not answer, and it is listed");
    assert_eq!(told(&mut case, "yes1"), "SUCCEEDED");
    assert_eq!(state(&case), ("RESOLVED", Some("it became known: the intent is SUCCEEDED".to_owned())));
    assert!(intent(&case, "i-1").running.unwrap().question.is_none());
}

#[test]
fn what_happened_is_undone_once_in_time_and_holds_nothing() {
    let done = "claim start1 yes1";
    let after = "CLAIMED IN_FLIGHT SUCCEEDED";
    for (steps, expected) in [
        ("+3600 undo undo-again", "READY IN_PROGRESS"),
        ("+3601 undo", "UNDO_TOO_LATE"),
        ("undo undo suspend claim-undo", "READY IN_PROGRESS done CLAIMED"),
    ] {
        check_rows(EffectClass::Keyed, &[(&format!("{done} {steps}"), &format!("{after} {expected}"))]);
    }
    check_rows(
        EffectClass::Keyed,
        &[("undo", "STEP_REFUSED"), ("claim start1 undo", "CLAIMED IN_FLIGHT STEP_REFUSED")],
    );
    let case =
        check(http(EffectClass::Keyed), "pay claim start1 yes1 undo", "ACCEPT CLAIMED IN_FLIGHT SUCCEEDED READY");
    let (first, undoing) = (intent(&case, "i-1"), intent(&case, "u"));
    assert_eq!(first.running.unwrap().undone_by.as_deref(), Some("u"));
    let kept = undoing.facts.to_kept();
    assert_eq!((kept.effect_key.as_str(), kept.holds.len(), kept.taken.len()), ("undo:pay:4", 0, 0));
    assert_eq!(kept.valid_until, case.now().plus(Duration::from_secs(3_600)));
    let order = undoing.running.unwrap().order;
    let run = order.to_json().get("run").unwrap().to_canonical();
    assert_eq!(run, r#"{"class":"keyed","headers":{},"http":"POST http://127.0.0.1/undo","timeout":"5s"}"#);
    // Without a request people undo by hand, and are asked; without a way there is none.
    let by_hand =
        http(EffectClass::Keyed).contract(|contract| contract.actions.get_mut("pay").unwrap().undo.http = None);
    let steps = "pay desk claim start1 yes1 undo undone-by-hand books undo-again";
    let case = http(EffectClass::Keyed).contract(|contract| contract.actions.get_mut("pay").unwrap().undo.http = None);
    let mut case = check(case, "pay desk claim start1 yes1 undo", "ACCEPT done CLAIMED IN_FLIGHT SUCCEEDED HANDED_OUT");
    // The question about one intent is not answered for another.
    let question = intent(&case, "u").running.unwrap().question.unwrap();
    let (decision, digest, reason) = ("HAPPENED".to_owned(), Digest::of(""), String::new());
    let answer =
        DoubtAnswer { intent: "i-1".to_owned(), question, decision, digest, reason, identity: Identity::default() };
    assert_eq!(said(&case.change(ann(), Act::Resolve(Box::new(answer)))), "APPROVAL_UNKNOWN");
    check(by_hand, steps, "ACCEPT done CLAIMED IN_FLIGHT SUCCEEDED HANDED_OUT SUCCEEDED 0/4/4 ALREADY_DONE");
    let noop =
        |contract: &mut crate::contract::Contract| contract.actions.get_mut("pay").unwrap().undo.kind = UndoKind::Noop;
    check(
        http(EffectClass::Keyed).contract(noop),
        "pay claim start1 yes1 undo",
        "ACCEPT CLAIMED IN_FLIGHT SUCCEEDED NOT_UNDOABLE",
    );
}

#[test]
fn slots_are_free_again_and_stock_is_used_up() {
    let slots = |contract: &mut crate::contract::Contract| {
        contract.resources.get_mut("pool").unwrap().kind = ResourceKind::Slots
    };
    check(
        http(EffectClass::Opaque).contract(slots),
        "pay claim start1 yes1 books",
        "ACCEPT CLAIMED IN_FLIGHT SUCCEEDED 0/0/4",
    );
}

#[test]
fn an_effect_in_our_own_store_happens_with_its_decision() {
    let local = || run(Executor::Function("note".to_owned()), EffectClass::Local);
    let case = check(local(), "pay books pay", "ACCEPT 0/4/4 ALREADY_DONE");
    let Some(Row::State(row)) = case.row(Entity::State("effects/pay:4".to_owned())) else { panic!("no effect") };
    assert_eq!((row.version, row.value.get("intent").and_then(Json::as_text)), (1, Some("i-1")));
    assert_eq!(intent(&case, "i-1").running, None);
}

/// The other side may remember the highest fence it saw for this effect, and take a lower one for a straggler.
#[test]
fn who_tries_an_effect_again_comes_with_a_higher_fence() {
    let case = check(http(EffectClass::Fenced), "pay claim start1 no1 pay", "ACCEPT CLAIMED IN_FLIGHT FAILED ACCEPT");
    assert_eq!(intent(&case, "i-2").running.unwrap().epoch, 1);
}

#[test]
fn what_expired_makes_room_only_where_room_is_wanted() {
    let small = |contract: &mut crate::contract::Contract| {
        contract.resources.get_mut("pool").unwrap().capacity = Decimal::from(99);
    };
    let expired = |mut case: Case, amount: u64, expected: &str| {
        assert_eq!(told(&mut case, "pay +31"), "ACCEPT");
        let case = case.amount(amount).check(expected);
        let kinds: Vec<String> =
            case.last.as_ref().unwrap().records.iter().map(|record| kind(&record.body()).to_owned()).collect();
        (intent(&case, "i-1").state.word(), kinds.join(" "))
    };
    let freed = || ("CANCELLED", "intent_expired decision".to_owned());
    let opaque = || http(EffectClass::Opaque);
    assert_eq!(expired(opaque(), 7, "ACCEPT"), freed(), "the pool and the budget");
    assert_eq!(expired(opaque().contract(small), 7, "ACCEPT"), freed(), "the budget alone");
    assert_eq!(expired(opaque(), 4, "ACCEPT"), freed(), "the same effect");
    let above = |case: Case| {
        let budget = || Budget { sum: Some("amount".to_owned()), max: Decimal::from(10), per: DAY };
        let case = case.contract(|contract| contract.actions.get_mut("pay").unwrap().budgets.clear());
        case.above(Some("ACTIVE"), move |above| above.actions.get_mut("pay").unwrap().budgets.push(budget()))
    };
    assert_eq!(expired(above(opaque().contract(small)), 7, "ACCEPT"), freed(), "a budget above");
    let kept = || ("READY", "decision".to_owned());
    assert_eq!(expired(opaque(), 5, "ACCEPT"), kept(), "there is room");
    let free = |contract: &mut crate::contract::Contract| {
        contract.resources.get_mut("pool").unwrap().capacity = Decimal::from(999);
        contract.actions.get_mut("pay").unwrap().budgets.clear();
    };
    assert_eq!(expired(opaque().contract(free), 101, "REJECT LIMIT_EXCEEDED"), kept(), "room would not help");
}

fn kind(body: &Json) -> &str {
    body.get("kind").and_then(Json::as_text).unwrap_or_default()
}

#[test]
fn what_time_did_is_recorded_with_where_to_look() {
    let mut case = http(EffectClass::Opaque).flow("f");
    assert_eq!(told(&mut case, "pay claim start1 +11"), "ACCEPT CLAIMED IN_FLIGHT");
    let records = case.change(Actor::Kernel, Act::ExpireIntents).records;
    let body = records.first().unwrap().body();
    let members = |keys: &[&str]| {
        let inner = body.get("result").unwrap();
        keys.iter().map(|key| inner.get(key).and_then(Json::as_text).unwrap_or("?").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kind(&body), "intent_moved");
    assert_eq!(members(&["intent", "from", "state", "flow", "agent"]), ["i-1", "IN_FLIGHT", "IN_DOUBT", "f", "bot"]);
}

#[test]
fn every_doubt_has_a_question_of_its_own() {
    let mut case = http(EffectClass::Opaque);
    told(&mut case, "pay desk claim start1 what1");
    let first = intent(&case, "i-1").running.unwrap().question.unwrap();
    assert_eq!(told(&mut case, "retry claim start2 what2"), "READY CLAIMED IN_FLIGHT IN_DOUBT");
    let second = intent(&case, "i-1").running.unwrap().question.unwrap();
    assert_ne!(first, second);
    assert_eq!((first.len(), second.len()), (36, 36), "named like everything else: {first}");
}

#[test]
fn intents_are_the_same_if_they_say_the_same() {
    let made = |amount: u64| match case().amount(amount).check("ACCEPT").row(Entity::Intent("i-1".to_owned())) {
        Some(Row::Intent(row)) => row.facts.clone(),
        other => panic!("no intent: {other:?}"),
    };
    let (five, six) = (made(5), made(6));
    assert_eq!(five, made(5));
    assert_ne!(five, six);
    let (IntentFacts::Made(one), IntentFacts::Made(other)) = (made(5), six) else { panic!("just made") };
    let IntentFacts::Made(same) = five else { panic!("just made") };
    assert!(one == same && one != other);
}

#[test]
fn an_act_asks_for_all_it_touches() {
    use crate::apply::apply;
    use crate::change::Change;
    use crate::command::Command;
    use crate::outcome::Outcome;
    use crate::world::{Key, World};
    let mut case = http(EffectClass::Opaque);
    assert_eq!(told(&mut case, "pay"), "ACCEPT");
    let act = Act::Claim { intent: "i-1".to_owned(), worker: "w".to_owned(), lease: DAY };
    let change = Change { tenant: "default".into(), id: "c".to_owned(), actor: Actor::Kernel, act };
    let command = Command::Change(change.into());
    let mut world = World::slice();
    let mut asked = Vec::new();
    while let Outcome::Need(keys) = apply(&mut world, &command, case.now()) {
        for Key { tenant, entity } in keys {
            let row = case.row(entity.clone()).cloned();
            asked.push(entity.kind().word());
            world.load(Key { tenant, entity }, row);
        }
    }
    assert_eq!(asked, ["tenant", "intent", "agent", "flow", "effect", "resource", "budget"]);
}

/// Whoever stands above stops an intent by being stopped, not by being slowed down.
#[test]
fn agents_above_stop_only_by_being_stopped() {
    let above = |status: AgentStatus, actions: &[&str]| {
        let mut case = http(EffectClass::Opaque).above(Some("ACTIVE"), |_| {});
        let paid = told(&mut case, "pay");
        let actions = actions.iter().map(|action| (*action).to_owned()).collect();
        let act = Act::Restrict { agent: "boss".to_owned(), status, because: "odd".to_owned(), actions };
        case.change(ann(), act);
        format!("{paid} {}", told(&mut case, "claim"))
    };
    assert_eq!(above(AgentStatus::Suspended, &[]), "ACCEPT AGENT_SUSPENDED");
    assert_eq!(above(AgentStatus::Passive, &[]), "ACCEPT CLAIMED");
    assert_eq!(above(AgentStatus::Degraded, &["pay"]), "ACCEPT CLAIMED");
}

#[test]
fn what_the_other_side_answered_is_a_record_beside_the_outcome_that_nothing_depends_on() {
    use crate::change::AttachedResult;
    use crate::record::Record;
    use crate::result::{EffectResult, Response, ResponseStatus, ResultBody, Secrets};
    let outcome = |result| Act::Outcome {
        intent: "i-1".to_owned(),
        epoch: 1,
        observed: Observed::Positive,
        detail: String::new(),
        result,
    };
    let given = || {
        let (status, body) = (ResponseStatus::Http(200), b"r-1".to_vec());
        let response = Response { status, content_type: None, body, complete: true, secrets: Vec::new() };
        Some(AttachedResult::Given(Box::new(EffectResult::of(response, Secrets::Known(Vec::new())))))
    };
    let rows_of = |result: Option<AttachedResult>| {
        let mut case = check(http(EffectClass::Opaque), "pay claim", "ACCEPT CLAIMED");
        // Nothing was sent yet: the report is evidence, and what it brings is kept with it.
        let done = case.change(Actor::Kernel, outcome(result));
        let records: Vec<Record> = done.records.clone();
        (records, intent(&case, "i-1"), case)
    };
    let (records, row, mut case) = rows_of(given());
    let [Record::Event(_), Record::Result(result)] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((result.intent.as_str(), result.epoch), ("i-1", Some(1)));
    assert_eq!(result.result.body(), &ResultBody::Text("r-1".to_owned()));
    assert_eq!(row.running.unwrap().answered_at, Some(result.at));
    // A replay has the report alone, and comes to the same row and the same record of the report.
    let (again, replayed, _) = rows_of(Some(AttachedResult::Recorded));
    assert_eq!(replayed.running.unwrap().answered_at, Some(result.at));
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].to_canonical(), records[0].to_canonical());
    // What is refused brings nothing.
    let stranger = case.change(Actor::Agent("bot".to_owned()), outcome(given()));
    assert_eq!(stranger.records.len(), 1);
}
