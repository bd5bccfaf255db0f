//! Where the two disagreed, kept as rows: the kernel answered each of these wrongly once. The last answer is written
//! down too, so that no two wrongs agree.

use crate::commands::{Answer, Command, Proposal, Signature, Who};
use crate::generator::{What, Wish};
use crate::harness::Library;
use crate::{Tally, compare};

fn ann() -> Who {
    Who::Operator("ann".to_owned())
}

fn plain(command: Command) -> Wish {
    Wish { after: 0, joins: false, what: What::Plain(command) }
}

fn later(seconds: i64, mut wish: Wish) -> Wish {
    wish.after = seconds;
    wish
}

fn register(contract: &str) -> Wish {
    plain(Command::Register { who: ann(), contract: contract.to_owned(), version: None })
}

fn activate(contract: &str) -> Wish {
    plain(Command::Activate { who: ann(), contract: contract.to_owned() })
}

fn enroll(contract: &str) -> Vec<Wish> {
    vec![register(contract), activate(contract)]
}

fn proposal(agent: &str, action: &str, order: &str, amount: i64) -> Proposal {
    Proposal {
        id: None,
        agent: agent.to_owned(),
        action: action.to_owned(),
        order: order.to_owned(),
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

fn pay(order: &str, amount: i64) -> Wish {
    plain(Command::Propose(proposal("lead", "pay", order, amount)))
}

fn in_flow(flow: &str, proposal: Proposal) -> Wish {
    plain(Command::Propose(Proposal { flow: Some(flow.to_owned()), ..proposal }))
}

fn settle(back: usize, event: &str) -> Wish {
    Wish { after: 0, joins: false, what: What::Settle { back, who: ann(), event: event.to_owned() } }
}

fn enlist() -> Wish {
    let (person, groups) = ("ann".to_owned(), vec!["desk".to_owned()]);
    plain(Command::Enlist { who: ann(), person, groups })
}

fn yes() -> Wish {
    let (question, decision) = (String::new(), "OVERRIDE".to_owned());
    let answer = Answer { who: ann(), question, decision, right: true, signature: Signature::Right, by_runtime: true };
    Wish { after: 0, joins: false, what: What::Answer { back: 0, answer } }
}

#[track_caller]
fn check(wishes: &[Vec<Wish>], expected: &str) {
    let wishes = wishes.concat();
    let mut tally = Tally::new();
    let before = compare(&Library::new(), &wishes[..wishes.len() - 1], &mut Tally::new());
    before.unwrap_or_else(|problem| panic!("{problem}"));
    compare(&Library::new(), &wishes, &mut tally).unwrap_or_else(|problem| panic!("{problem}"));
    let last = crate::last_said(&Library::new(), &wishes);
    assert_eq!(last, expected);
}

#[test]
fn what_two_took_at_one_instant_is_given_back_by_both() {
    // Both did not happen; what was taken later stays taken.
    let took = vec![pay("A", 10), pay("B", 5), settle(0, "CANCEL"), settle(1, "CANCEL")];
    let full = vec![later(60, pay("C", 10)), settle(0, "SUCCEED"), pay("D", 10), settle(0, "SUCCEED")];
    check(&[enroll("lead-1"), took, full, vec![later(3_590, pay("E", 5))]], "ACCEPT");
}

#[test]
fn a_refused_activation_leaves_nothing_behind() {
    check(&[enroll("lead-1"), vec![register("lead-odd"), activate("lead-odd")]], "REJECT CONTRACT_INVALID");
}

#[test]
fn no_activation_leaves_a_group_that_is_halted() {
    let halt = |group: &str| plain(Command::Halt { who: ann(), group: Some(group.to_owned()) });
    let leave = |halted: &str| vec![halt(halted), activate("lead-1")];
    check(&[enroll("lead-2"), leave("desk")], "REJECT GROUP_HALTED");
    check(&[enroll("lead-2"), leave("floor")], "ACCEPT");
    check(&[enroll("lead-2"), vec![halt("desk"), activate("lead-2")]], "ACCEPT");
}

#[test]
fn a_restriction_puts_no_contract_in_force() {
    for (status, action) in [("DEGRADED", "pay"), ("ESCALATION_ONLY", "pay"), ("PASSIVE", "look")] {
        let restrict = Command::Restrict {
            who: ann(),
            agent: "lead".to_owned(),
            status: status.to_owned(),
            actions: vec!["note".to_owned()],
        };
        let act = plain(Command::Propose(proposal("lead", action, "A", 5)));
        check(&[vec![register("lead-1"), plain(restrict), act]], "REJECT CONTRACT_INACTIVE");
    }
}

#[test]
fn anothers_flow_does_not_exist_whatever_happened_in_it() {
    let open = Command::OpenFlow { who: ann(), flow: "f".to_owned(), agent: "lead".to_owned(), parent: None };
    let fail = || in_flow("f", proposal("lead", "rob", "A", 1));
    let thief = in_flow("f", proposal("thief", "rob", "A", 1));
    let expected = "REJECT ACTION_NOT_ALLOWED, AGENT_UNKNOWN, FLOW_UNKNOWN";
    check(&[enroll("lead-1"), vec![plain(open), fail(), fail(), fail(), thief]], expected);
}

#[test]
fn an_answer_is_not_another_step() {
    let look = || in_flow("f", proposal("lead", "look", "", 0));
    let ask = in_flow("f", proposal("lead", "pay", "A", 12));
    let steps = vec![look(), look(), look(), look(), look(), look(), ask, yes()];
    check(&[enroll("lead-1"), vec![enlist()], steps], "ACCEPT");
}

#[test]
fn who_answers_after_the_deadline_hears_that_time_was_first() {
    check(&[enroll("lead-1"), vec![pay("A", 12), later(901, yes())]], "REJECT ALREADY_ANSWERED");
}

#[test]
fn an_answer_finds_what_nobody_started_in_time() {
    // Both places at the desk are held by intents whose time is over.
    let held = vec![pay("A", 12), pay("B", 5), pay("C", 5), later(31, yes())];
    check(&[enroll("lead-1"), vec![enlist()], held], "ACCEPT");
}

#[test]
fn who_agreed_has_agreed_though_nothing_came_of_it() {
    let restrict = |word: &str| Command::Restrict {
        who: ann(),
        agent: "lead".to_owned(),
        status: word.to_owned(),
        actions: Vec::new(),
    };
    let asked = vec![pay("A", 12), plain(restrict("SUSPENDED")), yes()];
    check(&[enroll("lead-1"), vec![enlist()], asked], "REJECT AGENT_SUSPENDED");
}

#[test]
fn nothing_is_lifted_that_is_not_there() {
    let lift = Command::Lift { who: ann(), agent: "lead".to_owned(), status: "SUSPENDED".to_owned(), because: true };
    check(&[enroll("lead-1"), vec![plain(lift)]], "REJECT STATE_CONFLICT");
}
