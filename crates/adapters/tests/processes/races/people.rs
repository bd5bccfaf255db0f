//! Answers of people.

use super::{CONTRACT, PROCESSES, caught, demand, refund};
use crate::crew::{Crew, Report};
use crate::site::{Site, door, enroll, operator, propose, said};
use crate::worker::{Desk, report, together};
use kernel::change::{Act, Write};
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::{Answered, PersonAnswer, Runtime};
use values::bugs::Bug;
use values::ids::Digest;

const QUESTIONS: usize = 10;

/// Questions enough for every race here.
fn asked() -> Site {
    let site = Site::with(&CONTRACT.replace("max: 3, per: 1h", "max: 100, per: 1h"));
    let runtime = site.runtime();
    let two = (0..PROCESSES).flat_map(|process| (0..2).map(move |thread| format!("person-{process}-{thread}")));
    let people = two.chain(["bob".to_owned(), "refunds".to_owned()]).map(|person| Write::groups(&person, ["leads"]));
    assert_eq!(said(&runtime.change(operator(), Act::Merge(people.collect())).wait()), "ACCEPT");
    for number in 0..QUESTIONS {
        assert_eq!(said(&propose(&runtime, &refund(&format!("order-{number}"), 60, ""))), "ESCALATE NEEDS_APPROVAL");
    }
    site
}

/// Every question's name, the digest of what it shows, and where it stands.
fn questions(site: &Site) -> Vec<(String, Digest, EscalationState)> {
    let rows = site.rows(Kind::Escalation).into_iter();
    let question = rows.filter_map(|(key, row)| {
        let Row::Escalation(row) = row else { return None };
        Some((key.entity.parts().0.to_owned(), row.digest, row.state))
    });
    question.collect()
}

/// As workers are told of them.
fn words(site: &Site) -> String {
    let lines = questions(site).into_iter().map(|(name, digest, _)| format!("{name} {digest}"));
    lines.collect::<Vec<_>>().join(",")
}

fn told(desk: &Desk) -> Vec<(String, Digest)> {
    let question = |line: &str| {
        let (name, digest) = line.split_once(' ')?;
        Some((name.to_owned(), Digest::parse(digest)?))
    };
    desk.words.split(',').filter_map(question).collect()
}

fn answer(runtime: &Runtime, person: &str, question: &str, decision: &str, digest: Digest) -> Answered {
    let answer = PersonAnswer {
        person: person.to_owned(),
        question: question.to_owned(),
        decision: decision.to_owned(),
        digest,
        reason: String::new(),
        instead: None,
        door: door(),
        identity: kernel::person::Identity::default(),
    };
    runtime.answer(answer).wait()
}

/// Nothing was answered: every answer was refused as expected and every question is open.
fn all_refused(job: &str, bug: Option<Bug>) -> Result<(), String> {
    let site = asked();
    let reports = Crew::run(job, &site, PROCESSES, bug, &words(&site));
    for report in &reports {
        demand(report[1] == report[2], || format!("{}: {} where {} was due", report[0], report[1], report[2]))?;
    }
    demand(!reports.is_empty(), || "nobody answered".to_owned())?;
    let open = questions(&site).iter().filter(|(_, _, state)| *state == EscalationState::Open).count();
    demand(open == QUESTIONS, || format!("{open} questions are open"))
}

#[test]
fn w15_unknown_words_and_the_proposers_own_answer_are_refused() {
    caught(Bug::W15AnswerFromAnyone, |bug| all_refused("own_answer", bug));
}

pub fn own_answer_work(desk: &Desk) {
    let questions = told(desk);
    together(4, |_| {
        for (name, digest) in &questions {
            let answer = |person, decision| said(&answer(&desk.runtime, person, name, decision, *digest));
            for word in ["approve", "APPROVED", "override", "yes", ""] {
                report(&[word, &answer("bob", word), "REJECT PARAM_INVALID"]);
            }
            report(&["its own", &answer("refunds", "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED"]);
        }
    });
}

#[test]
fn w15_an_answer_counts_only_for_the_bytes_that_were_shown() {
    caught(Bug::AnswerUnbound, |bug| all_refused("other_bytes", bug));
}

pub fn other_bytes_work(desk: &Desk) {
    let questions = told(desk);
    together(4, |thread| {
        for (number, (name, _)) in questions.iter().enumerate() {
            // What another question showed, and what nobody was shown.
            let (_, other) = &questions[(number + 1) % questions.len()];
            let digest = if thread % 2 == 0 { *other } else { Digest::of("other bytes") };
            let answered = answer(&desk.runtime, "bob", name, "OVERRIDE", digest);
            report(&["other bytes", &said(&answered), "REJECT APPROVAL_MISMATCH"]);
        }
    });
}

#[test]
fn w15_of_two_people_who_answer_at_once_one_counts() {
    caught(Bug::W15AnsweredTwice, |bug| {
        let site = asked();
        let reports = Crew::run("two_people", &site, PROCESSES, bug, &words(&site));
        for (name, _, state) in questions(&site) {
            let answers: Vec<&Report> = reports.iter().filter(|report| report[0] == name).collect();
            let (first, second) = answers.iter().partition::<Vec<&Report>, _>(|report| report[2] == "ACCEPT");
            demand((first.len(), second.len()) == (1, PROCESSES * 2 - 1), || format!("{answers:?}"))?;
            let told = format!("{} by {}", first[0][3], first[0][1]);
            for report in second {
                let fits = report[2] == "REJECT ALREADY_ANSWERED" && report[4].contains(&told);
                demand(fits, || format!("{told}: {report:?}"))?;
            }
            let overrides = first[0][3] == "OVERRIDE";
            let expected = if overrides { EscalationState::Overridden } else { EscalationState::Aborted };
            demand(state == expected, || format!("{} is {}", name, state.word()))?;
        }
        let overridden = questions(&site).iter().filter(|(_, _, state)| *state == EscalationState::Overridden).count();
        println!("two people: {overridden} of {QUESTIONS} overridden, the others aborted");
        let intents = site.rows(Kind::Intent).len();
        demand(intents == overridden, || format!("{intents} intents of {overridden} overridden questions"))
    });
}

pub fn two_people_work(desk: &Desk) {
    let questions = told(desk);
    together(2, |thread| {
        let person = format!("person-{}-{thread}", desk.process);
        for (number, (name, digest)) in questions.iter().enumerate() {
            let decision = if (number + thread + desk.process).is_multiple_of(2) { "OVERRIDE" } else { "ABORT" };
            let answered = answer(&desk.runtime, &person, name, decision, *digest);
            report(&[name, &person, &said(&answered), decision, &answered.answer.to_line()]);
        }
    });
}

/// A process that knows only the old contract must learn of the new one when a person answers.
#[test]
fn an_answer_is_judged_under_the_contract_another_process_put_in_force() {
    let site = asked();
    let mut crew = Crew::hire("new_contract", &site, PROCESSES, None, &words(&site));
    crew.go();
    for hand in crew.hands() {
        assert_eq!(hand.next(), Some(vec!["REJECT NOT_ALLOWED".to_owned()]));
    }
    let tighter = CONTRACT.replace("max: 3, per: 1h", "max: 100, per: 1h").replace("<= 100", "<= 55");
    enroll(&site.runtime(), &tighter);
    crew.go();
    for report in crew.reports() {
        // What was shown under the old contract is no answer; what is shown now is judged under the new one.
        assert_eq!(report, ["REJECT APPROVAL_MISMATCH", "REJECT NOT_ALLOWED"]);
    }
}

pub fn new_contract_work(desk: &Desk) {
    let before = propose(&desk.runtime, &refund(&format!("before-{}", desk.process), 500, ""));
    report(&[&said(&before)]);
    crate::worker::await_word();
    for (name, digest) in told(desk) {
        let before = answer(&desk.runtime, "bob", &name, "OVERRIDE", digest);
        let Some(Row::Escalation(row)) = desk.runtime.read(Entity::Escalation(name.clone())).unwrap() else {
            panic!("the question is gone")
        };
        let Some(Row::Agent(agent)) = desk.runtime.read(Entity::Agent(row.agent.clone())).unwrap() else {
            panic!("the agent is gone")
        };
        let shown = EscalationRow::digest_of(&row.proposal, agent.contract.unwrap());
        let now = answer(&desk.runtime, "bob", &name, "OVERRIDE", shown);
        report(&[&said(&before), &said(&now)]);
    }
}
