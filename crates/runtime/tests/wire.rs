//! Every call is read back as it was written, and what is no call is refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::agent::{AgentStatus, Session};
use kernel::canary::Share;
use kernel::change::leasing::Leasing;
use kernel::change::upkeep::Upkeep;
use kernel::change::{Act, ActKind, AttachedResult, DoubtAnswer, Inquiry, Reservation, Trial, Write};
use kernel::contract::Impact;
use kernel::contract::amend::Amendment;
use kernel::escalation::{AgentRequest, EscalationState};
use kernel::evaluator::Compiled;
use kernel::flow::FlowEvent;
use kernel::intent::{IntentEvent, IntentState, Observed};
use kernel::lease::Mode;
use kernel::lease::fence::Fence;
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::result::{EffectResult, Response, ResponseStatus, ResultRecord, Secrets};
use kernel::semantics::Semantics;
use kernel::snapshot::Snapshot;
use ledger::ed25519::SecretKey;
use ledger::keyring::Keyring;
use proptest::prelude::*;
use runtime::ports::store::StoredRecord;
use runtime::wire::call::{Call, CallerAnswer};
use runtime::wire::{Failure, entries, follow};
use runtime::{FollowUp, IntentOutcome, QuestionOutcome};
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

const AT: Instant = Instant::PURE_DEFAULT;

fn name(text: &str) -> String {
    text.to_owned()
}

fn contract() -> Arc<Compiled> {
    let text = "{agent: bot, actions: {pay: {params: {amount: money EUR}, allow: amount <= 25}}}";
    Arc::new(engines::load::load(text).unwrap().compiled)
}

fn object(text: &str) -> Object {
    Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
}

fn response() -> Response {
    let (body, content_type) = (br#"{"id":"r-1"}"#.to_vec(), Some(name("application/json")));
    Response { status: ResponseStatus::Http(201), content_type, body, complete: true, secrets: Vec::new() }
}

fn result() -> EffectResult {
    EffectResult::of(response(), Secrets::Known(Vec::new()))
}

fn keyring() -> Keyring {
    let signer = ledger::keys::NoteSigner::new("log.example/1", &[1; 32]).unwrap();
    Keyring::new(signer.verifier()).unwrap()
}

fn kinds() -> impl Iterator<Item = ActKind> {
    ActKind::WORDS.iter().map(|word| ActKind::from_word(word).unwrap())
}

fn inquiry(proposal: Option<Proposal>) -> Inquiry {
    let request = AgentRequest { reason: name("unsure"), context: object(r#"{"a":1.50}"#) };
    Inquiry { agent: name("bot"), flow: name("f"), request, proposal, impact: Impact::Low }
}

/// Calls of a kind, with everything that may be absent once there and once not.
fn samples(kind: ActKind) -> Vec<Call> {
    let act = |act: Act| vec![Call::Act(act)];
    let names = || vec![name("one"), name("two")];
    let given = || Some(AttachedResult::Given(Box::new(result())));
    let identity = Identity { os_user: Some(name("ann")), ..Identity::default() };
    match kind {
        ActKind::Register => [None, Some(Session { token_hash: Digest::of("t"), expires: AT })]
            .map(|session| Call::Register {
                contract: contract(),
                version: session.as_ref().map(|_| name("1.2.3")),
                session,
            })
            .to_vec(),
        ActKind::StartCanary => {
            let share = Share::parse("2.5%").unwrap();
            vec![Call::StartCanary { contract: contract(), share, because: name("why") }]
        }
        ActKind::PromoteCanary => act(Act::Try(Box::new(Trial::Promote {
            agent: name("bot"),
            contract: Digest::of("candidate"),
            because: name("why"),
        }))),
        ActKind::RollBackCanary => {
            act(Act::Try(Box::new(Trial::RollBack { agent: name("bot"), because: name("why") })))
        }
        ActKind::Activate => [None, Some(Digest::of("before"))]
            .map(|expected| Call::Act(Act::Activate { contract: contract(), expected }))
            .to_vec(),
        ActKind::Amend => vec![Call::Amend { agent: name("bot"), amendment: amendment() }],
        ActKind::Answer => answers(),
        ActKind::Restrict => act(Act::Restrict {
            agent: name("bot"),
            status: AgentStatus::Degraded,
            because: name("why"),
            actions: names(),
        }),
        ActKind::Lift => act(Act::Lift { agent: name("bot"), status: AgentStatus::Passive, because: name("why") }),
        ActKind::Retire => act(Act::Retire { agent: name("bot"), because: name("why") }),
        ActKind::OpenFlow => [None, Some(name("above"))]
            .map(|parent| Call::Act(Act::OpenFlow { flow: name("f"), agent: name("bot"), parent }))
            .to_vec(),
        ActKind::EndFlow => act(Act::EndFlow { flow: name("f"), event: FlowEvent::Close }),
        ActKind::Merge => act(Act::Merge(vec![
            Write { key: name("a/b"), value: Json::text("x"), expect: Some(3) },
            Write { key: name("c"), value: Json::Null, expect: None },
        ])),
        ActKind::Remember => act(Act::Remember { flow: name("f"), values: object(r#"{"a":1.50}"#) }),
        ActKind::Freeze => [None, Some(name("f"))].map(|flow| Call::Act(Act::Freeze { flow, keys: names() })).to_vec(),
        ActKind::Import => act(Act::Import {
            name: name("s"),
            snapshot: Snapshot {
                at: AT,
                source: name("elsewhere"),
                flow: None,
                state: object(r#"{"k":{"value":1,"version":2}}"#),
                session: Object::new(),
            },
        }),
        ActKind::ExpireQuestions => act(Act::ExpireQuestions(names())),
        ActKind::Settle => [None, given()]
            .map(|result| Call::Act(Act::Settle { intent: name("i"), event: IntentEvent::Succeed, result }))
            .to_vec(),
        ActKind::ExpireIntents => act(Act::ExpireIntents),
        ActKind::Claim => act(Act::Claim { intent: name("i"), worker: name("w"), lease: Duration::from_secs(30) }),
        ActKind::Start => act(Act::Start { intent: name("i"), epoch: 4, attempt: Digest::of("attempt") }),
        ActKind::Outcome => [None, given()]
            .map(|result| {
                let (intent, detail) = (name("i"), name("HTTP 201"));
                Call::Act(Act::Outcome { intent, epoch: 4, observed: Observed::Positive, detail, result })
            })
            .to_vec(),
        ActKind::Resolve => act(Act::Resolve(Box::new(DoubtAnswer {
            intent: name("i"),
            question: name("q"),
            decision: name("HAPPENED"),
            digest: Digest::of("shown"),
            reason: name("seen"),
            identity,
        }))),
        ActKind::Undo => act(Act::Undo { intent: name("i"), undo: name("u"), because: name("why") }),
        ActKind::Ask => {
            let proposal = Proposal::parse(br#"{"agent":"bot","action":"pay","params":{"amount":1.50}}"#).unwrap();
            [None, Some(proposal)].map(|proposal| Call::Ask(Box::new(inquiry(proposal)))).to_vec()
        }
        ActKind::Reserve => [None, Some(AT)]
            .map(|until| {
                let amounts = |amount: i64| [(name("pool"), Decimal::from(amount))].into_iter().collect();
                let (wanted, available) = (amounts(7), amounts(100));
                Call::Act(Act::Reserve(Reservation { flow: name("f"), wanted, available, until }))
            })
            .to_vec(),
        ActKind::Release => act(Act::Release { flow: name("f"), resources: names() }),
        ActKind::Note => act(Act::Note { flow: name("f"), name: name("PAID"), details: object(r#"{"a":1.50}"#) }),
        ActKind::Halt => act(Act::Halt { group: None, because: name("why") }),
        ActKind::Resume => act(Act::Resume { group: None, because: name("why") }),
        ActKind::LeaseAcquire => act(Act::Lease(Leasing::Acquire {
            holder: name("bot:1"),
            mode: Mode::Shared,
            regions: names(),
            ttl: Duration::from_secs(60),
        })),
        ActKind::LeaseHeartbeat => act(Act::Lease(Leasing::Heartbeat { holder: name("bot"), fence: fence() })),
        ActKind::LeaseRelease => act(Act::Lease(Leasing::Release { holder: name("bot"), fence: fence() })),
        ActKind::LeaseEvict => act(Act::Lease(Leasing::Evict { fence: fence(), because: name("why") })),
        ActKind::LeaseAdopt => {
            act(Act::Lease(Leasing::Adopt { fence: fence(), heir: name("heir"), because: name("why") }))
        }
        ActKind::Erase => act(Act::Upkeep(Upkeep::Erase {
            from: u64::MAX - 1,
            to: u64::MAX,
            intents: names(),
            questions: Vec::new(),
            because: name("why"),
        })),
        ActKind::LegalHold => [None, Some(9)]
            .map(|to| Call::Act(Act::Upkeep(Upkeep::Hold { hold: name("h"), from: 1, to, because: name("why") })))
            .to_vec(),
        ActKind::ReleaseHold => act(Act::Upkeep(Upkeep::Release { hold: name("h"), because: name("why") })),
        ActKind::RotateKeys => act(Act::Upkeep(Upkeep::Rotate { keyring: keyring(), because: name("why") })),
        ActKind::KeepKeys => {
            act(Act::Upkeep(Upkeep::KeepKeys { kept: Duration::from_secs(86_400), because: name("why") }))
        }
        ActKind::ForgetKeys => {
            [None, Some(name("why"))].map(|because| Call::Act(Act::Upkeep(Upkeep::ForgetKeys { because }))).to_vec()
        }
        ActKind::EnrolKey => {
            act(Act::Upkeep(Upkeep::EnrolKey { agent: name("bot"), key: SecretKey::from_seed(&[2; 32]).public() }))
        }
    }
}

fn fence() -> Fence {
    Fence::from_number(7)
}

fn amendment() -> Amendment {
    Amendment {
        action: name("pay"),
        param: name("amount"),
        min: None,
        max: Decimal::parse("12.50"),
        actor: name("ann"),
        because: name("why"),
        at: AT,
        expires: Some(AT),
    }
}

fn answers() -> Vec<Call> {
    let proposal = br#"{"agent":"bot","action":"pay","params":{"amount":5.50},"id":"p","flow":"f"}"#;
    let signature = kernel::signed_answer::AnswerStatement {
        tenant: name("default"),
        origin: None,
        question: name("q"),
        person: name("ann"),
        digest: Digest::of("shown"),
        decision: name("OVERRIDE"),
        instead: None,
        reason: name("why"),
    }
    .sign(&SecretKey::from_seed(&[3; 32]));
    let answer = |person: Option<String>, instead, identity| {
        Call::Answer(Box::new(CallerAnswer {
            person,
            question: name("q"),
            decision: name("OVERRIDE"),
            digest: Digest::of("shown"),
            reason: name("why"),
            instead,
            identity,
        }))
    };
    let signed = Identity { os_user: Some(name("u")), signature: Some(signature), ..Identity::default() };
    vec![
        answer(None, None, Identity::default()),
        answer(Some(name("ann")), Some(Proposal::parse(proposal).unwrap()), signed),
    ]
}

/// Contracts have no equality of their own; their digests have.
fn is_same(read: &Call, written: &Call) -> bool {
    match (read, written) {
        (Call::Answer(read), Call::Answer(written)) => read == written,
        (Call::Act(read), Call::Act(written)) => {
            read.kind() == written.kind()
                && read.to_json() == written.to_json()
                && read.attached() == written.attached()
        }
        (
            Call::Register { contract, version, session },
            Call::Register { contract: other, version: other_version, session: other_session },
        ) => (contract.digest, version, session) == (other.digest, other_version, other_session),
        (Call::Amend { agent, amendment }, Call::Amend { agent: other, amendment: other_amendment }) => {
            agent == other && amendment.to_json() == other_amendment.to_json()
        }
        (Call::Ask(read), Call::Ask(written)) => read == written,
        (
            Call::StartCanary { contract, share, because },
            Call::StartCanary { contract: other, share: other_share, because: other_because },
        ) => (contract.digest, share, because) == (other.digest, other_share, other_because),
        (
            Call::Answer(_)
            | Call::Act(_)
            | Call::Register { .. }
            | Call::Amend { .. }
            | Call::StartCanary { .. }
            | Call::Ask(_),
            _,
        ) => false,
    }
}

#[test]
fn every_call_is_read_back_as_it_was_written() {
    for kind in kinds() {
        for call in samples(kind) {
            let bytes = call.write();
            let read = Call::read(&bytes).unwrap_or_else(|failure| panic!("{}: {failure}", kind.word()));
            assert_eq!(read.kind(), kind);
            assert!(is_same(&read, &call), "{}: {read:?}", kind.word());
            assert_eq!(read.write(), bytes);
        }
    }
}

#[test]
fn what_is_no_call_is_refused_with_what_is_wrong() {
    let check = |text: &str, said: &str| {
        let read = Call::read(text.as_bytes());
        assert!(matches!(&read, Err(Failure::Malformed(problem)) if problem.contains(said)), "{text}: {read:?}");
    };
    check("", "");
    check("{}", "`act` is missing");
    check(r#"{"act":"dance","command":{}}"#, "`dance` is no act");
    check(r#"{"act":"halt"}"#, "`command` is missing");
    check(r#"{"act":"halt","command":{}}"#, "`halt` cannot be read");
    check(r#"{"act":"register","command":{"contract":{"agent":"bot"},"version":null,"session":null}}"#, "contract");
    check(r#"{"act":"settle","command":{"intent":"i","event":"SUCCEED","result":{"body":1}}}"#, "cannot be read");
    check(r#"{"act":"answer","command":{"question":"q"}}"#, "`answer` cannot be read");
    check(r#"{"act":"halt","command":{"because":"x","actor":"kernel"}}"#, "not its own");
    check(r#"{"act":"halt","actor":"kernel","command":{"because":"x"}}"#, "not its own");
    check(
        r#"{"act":"outcome","command":{"intent":"i","epoch":1,"observed":"POSITIVE","detail":"","result":true}}"#,
        "cannot be read",
    );
}

#[test]
fn a_call_that_is_cut_or_changed_is_read_or_refused_and_nothing_else() {
    for kind in kinds() {
        for call in samples(kind) {
            let bytes = call.write();
            for end in (0..bytes.len()).step_by(7) {
                assert!(Call::read(&bytes[..end]).is_err(), "{} cut at {end}", kind.word());
            }
        }
    }
}

proptest! {
    #[test]
    fn entries_are_read_back_with_the_text_that_was_hashed(
        texts in proptest::collection::vec((".*", proptest::option::of((".*", any::<[u8; 16]>()))), 0..8),
        from in 0..1_000_000_u64,
    ) {
        let plain = |text: String| text.replace('\0', "");
        let records: Vec<StoredRecord> = (from..)
            .zip(texts)
            .map(|(index, (leaf, body))| StoredRecord {
                index,
                leaf: plain(leaf),
                body: body.map(|(body, salt)| (plain(body), salt)),
            })
            .collect();
        prop_assert_eq!(entries::read_page(&entries::write_page(&records)), Some(records));
    }
}

#[test]
fn what_became_of_a_decision_is_read_back() {
    let record = ResultRecord {
        tenant: Arc::from("default"),
        intent: name("i"),
        epoch: Some(2),
        result: result(),
        at: AT,
        semantics: Semantics::CURRENT,
    };
    let outcome = |over_at, question, worker, result| IntentOutcome {
        intent: name("i"),
        state: IntentState::InDoubt,
        over_at,
        question,
        worker,
        result,
    };
    let answer = |person: Option<&str>| QuestionOutcome {
        question: name("q"),
        state: EscalationState::Expired,
        person: person.map(name),
        reason: person.map(name),
    };
    for follow_up in [
        FollowUp::default(),
        FollowUp { answer: Some(answer(None)), outcome: None },
        FollowUp { answer: Some(answer(Some("ann"))), outcome: Some(outcome(None, None, None, None)) },
        FollowUp { answer: None, outcome: Some(outcome(Some(AT), Some(name("q")), Some(name("w")), Some(record))) },
    ] {
        assert_eq!(follow::read(&follow::write(&follow_up)), Some(follow_up));
    }
}
