//! Every event is read back from its record as it was written.

use super::*;
use crate::agent::AgentStatus;
use crate::canary::Share;
use crate::contract::UndoKind;
use crate::escalation::GivenAnswer;
use crate::lease::Mode;
use crate::lease::fence::Fence;
use ledger::ed25519::SecretKey;
use values::decimal::Decimal;
use values::ids::Digest;

const AT: Instant = Instant::PURE_DEFAULT;

fn name(text: &str) -> String {
    text.to_owned()
}

fn step(question: Option<&str>, retry_at: Option<Instant>) -> IntentStep {
    let question = question.map(str::to_owned);
    IntentStep {
        intent: name("i"),
        from: IntentState::InFlight,
        to: IntentState::InDoubt,
        epoch: 3,
        question,
        retry_at,
    }
}

fn end(answer: Option<GivenAnswer>) -> QuestionEnd {
    QuestionEnd { question: name("q"), state: EscalationState::Overridden, proposal: name("p"), answer }
}

fn standing(contract: Option<Digest>, because: Option<&str>) -> Event {
    let (because, offered) = (because.map(str::to_owned), Some(Digest::of("offered")));
    let restarted = if because.is_some() { vec![name("size")] } else { Vec::new() };
    let canary = contract.map(|_| (Digest::of("candidate"), Share::parse("2.5%").unwrap()));
    Event::AgentChanged(AgentStanding {
        agent: name("bot"),
        status: AgentStatus::Passive,
        because,
        contract,
        canary,
        offered,
        restarted,
    })
}

fn settled(question: Option<&str>) -> Event {
    Event::IntentSettled { intent: name("i"), state: IntentState::InDoubt, question: question.map(str::to_owned) }
}

fn granted(terms: Option<LeaseTerms>, ended: Vec<Fence>) -> Event {
    let ended_count = ended.len() as u64 + 20;
    Event::LeaseGranted(GrantedLease { fence: Fence::from_number(7), renewed: true, terms, ended, ended_count })
}

fn undo(question: Option<&str>) -> Event {
    Event::UndoAccepted(AcceptedUndo {
        intent: name("i"),
        undo: name("u"),
        kind: UndoKind::Noop,
        state: IntentState::Ready,
        until: AT,
        question: question.map(str::to_owned),
    })
}

fn opened(parent: Option<&str>) -> Event {
    let parent = parent.map(str::to_owned);
    Event::FlowOpened(OpenedFlow { flow: name("f"), agent: name("bot"), root: parent.clone(), parent })
}

/// What a change of a kind can tell.
fn samples(kind: ActKind) -> Vec<Event> {
    let names = || vec![name("one"), name("two")];
    let given = GivenAnswer::by_nobody(name("why"), AT);
    let terms = LeaseTerms {
        holder: name("bot:1"),
        mode: Mode::Shared,
        regions: names(),
        acquired_at: AT,
        expires_at: Instant::from_micros(9),
    };
    let bounds = LimitBounds { min: None, max: Decimal::parse("12.50") };
    match kind {
        ActKind::Register
        | ActKind::Activate
        | ActKind::StartCanary
        | ActKind::PromoteCanary
        | ActKind::RollBackCanary
        | ActKind::Restrict
        | ActKind::Lift
        | ActKind::Retire => {
            vec![standing(None, None), standing(Some(Digest::of("contract")), Some("why"))]
        }
        ActKind::Amend => vec![Event::Amended(AmendedLimit {
            agent: name("bot"),
            action: name("pay"),
            param: name("amount"),
            before: LimitBounds::default(),
            after: bounds,
            because: name("why"),
            expires: AT,
        })],
        ActKind::OpenFlow => vec![opened(None), opened(Some("above"))],
        ActKind::EndFlow => {
            let (flow, questions, unlisted) = (name("f"), names(), true);
            let closed = ClosedFlow { flow: flow.clone(), going_on: names(), questions: Vec::new(), unlisted: false };
            let (called_off, to_settle) = (names(), vec![name("sent")]);
            let aborted = AbortedFlow { flow, called_off, to_settle, questions, unlisted };
            vec![Event::FlowClosed(closed), Event::FlowAborted(aborted)]
        }
        ActKind::Merge => vec![Event::StateMerged { versions: BTreeMap::from([(name("a"), 1), (name("b"), 7)]) }],
        ActKind::Remember => vec![Event::SessionKept { flow: name("f"), values: 2 }],
        ActKind::Freeze => {
            let state = Object::from([(name("a"), Json::Null), (name("b"), Json::from(1_u64))]);
            vec![Event::SnapshotFrozen { snapshot: name("s"), at: AT, state }]
        }
        ActKind::Import => vec![Event::SnapshotImported { name: name("n"), snapshot: name("s") }],
        ActKind::Answer => vec![
            Event::QuestionAnswered(end(Some(given))),
            Event::VoteCounted { question: name("q"), state: EscalationState::Open, votes: 1, quorum: 2 },
        ],
        ActKind::ExpireQuestions => vec![
            Event::QuestionsExpired { expired: 0, reminded: 0, rerouted: 0 },
            Event::QuestionsExpired { expired: 1, reminded: 2, rerouted: 3 },
        ],
        ActKind::Settle => vec![settled(None), settled(Some("q"))],
        ActKind::ExpireIntents => vec![Event::IntentsExpired { called_off: 4, doubted: 2, retried: 1 }],
        ActKind::Claim => vec![Event::IntentClaimed { step: step(None, None), lease_until: AT }],
        ActKind::Start => vec![Event::IntentMoved(step(None, Some(AT)))],
        ActKind::Outcome => {
            let evidence = KeptEvidence { intent: name("i"), state: IntentState::Failed, epoch: 2, contradicts: true };
            vec![
                Event::IntentMoved(step(Some("q"), None)),
                Event::DoubtEnded(step(None, None)),
                Event::EvidenceKept(KeptEvidence { contradicts: false, ..evidence.clone() }),
                Event::EvidenceKept(evidence),
            ]
        }
        ActKind::Resolve => vec![
            Event::DoubtVoteCounted { question: name("q"), intent: name("i"), votes: 1, quorum: 2 },
            Event::DoubtResolved { question: name("q"), intent: name("i"), state: IntentState::Abandoned },
        ],
        ActKind::Undo => vec![undo(None), undo(Some("q"))],
        ActKind::Ask => {
            vec![Event::QuestionAsked { question: name("q"), digest: Digest::of("shown"), deadline: AT }]
        }
        ActKind::Reserve => {
            let held = BTreeMap::from([(name("pool"), Decimal::from(7)), (name("slots"), Decimal::ZERO)]);
            let reserved = |until| Event::Reserved { flow: name("f"), held: held.clone(), until };
            vec![reserved(None), reserved(Some(AT))]
        }
        ActKind::Release => vec![Event::Released { flow: name("f"), resources: names() }],
        ActKind::Note => vec![Event::Noted { flow: name("f"), name: name("PAID") }],
        ActKind::Halt => vec![Event::Halted { group: None }, Event::Halted { group: Some(name("payments")) }],
        ActKind::Resume => vec![Event::Resumed { group: None }, Event::Resumed { group: Some(name("payments")) }],
        ActKind::LeaseAcquire | ActKind::LeaseHeartbeat | ActKind::LeaseAdopt => {
            vec![granted(None, Vec::new()), granted(Some(terms), vec![Fence::from_number(1), Fence::from_number(2)])]
        }
        ActKind::LeaseRelease => {
            vec![Event::LeaseReleased(LeaseEnd { fence: Fence::from_number(7), holder: name("bot") })]
        }
        ActKind::LeaseEvict => {
            vec![Event::LeaseEvicted(LeaseEnd { fence: Fence::from_number(7), holder: name("bot") })]
        }
        ActKind::Erase => vec![Event::Erased { from: 1 << 60, to: u64::MAX }],
        ActKind::LegalHold => vec![Event::HoldPlaced { hold: name("h") }],
        ActKind::ReleaseHold => vec![Event::HoldReleased { hold: name("h") }],
        ActKind::RotateKeys => vec![Event::KeysRotated { keys: 2 }],
        ActKind::KeepKeys => vec![Event::KeysKept { kept: Duration::from_secs(86_400) }],
        ActKind::ForgetKeys => vec![Event::KeysForgotten { before: Instant::PURE_DEFAULT }],
        ActKind::EnrolKey => {
            vec![Event::KeyEnrolled { agent: name("bot"), key: SecretKey::from_seed(&[7; 32]).public() }]
        }
    }
}

fn record(kind: ActKind, verdict: Verdict, event: &Event) -> Json {
    Json::object([("kind", text(kind.word())), ("verdict", text(verdict.word())), ("result", event.to_json())])
}

#[test]
fn an_event_is_read_back_as_it_was_written() {
    for kind in ActKind::WORDS.iter().filter_map(|word| ActKind::from_word(word)) {
        for event in samples(kind) {
            let body = record(kind, Verdict::Accept, &event);
            // What a store gives back went through its text.
            let body = Json::parse(body.to_canonical().as_bytes()).unwrap();
            assert_eq!(Event::from_record(&body), Some(event), "{}", kind.word());
        }
    }
}

#[test]
fn a_refused_answer_tells_how_the_question_stands() {
    let event = Event::AnswerRefused(end(None));
    assert_eq!(Event::from_record(&record(ActKind::Answer, Verdict::Reject, &event)), Some(event.clone()));
    assert_eq!(Event::from_record(&record(ActKind::Resolve, Verdict::Reject, &event)), None);
}

#[test]
fn what_is_no_event_is_not_read_as_one() {
    let read = |kind: &str, result: &str| {
        let body = format!(r#"{{"kind":"{kind}","verdict":"ACCEPT","result":{result}}}"#);
        Event::from_record(&Json::parse(body.as_bytes()).unwrap())
    };
    assert!(read("legal_hold", r#"{"hold":"h"}"#).is_some());
    assert_eq!(read("decision", r#"{"hold":"h"}"#), None);
    assert_eq!(read("legal_hold", "null"), None);
    assert_eq!(read("merge_state", r#"{"versions":{"a":-1}}"#), None);
    assert_eq!(read("end_flow", r#"{"flow":"f","state":"OPEN","going_on":[],"questions":[]}"#), None);
}
