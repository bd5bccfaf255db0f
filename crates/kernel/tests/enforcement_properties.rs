//! Whatever a handler answers: never harder than decided, exactly as decided where that is binding, and never unsigned.

use kernel::enforcement::corrective::Evidence;
use kernel::enforcement::decision::Decision;
use kernel::enforcement::handler::{Answer, Effect, HandlerName, Proposal, settle};
use kernel::enforcement::ladder::{Actuation, Ladder, RungSpec};
use proptest::prelude::*;
use values::json::{Json, Object};

/// The base ladder with up to three rungs anywhere on it; those that make no ladder are left out.
fn ladder() -> impl Strategy<Value = Ladder> {
    let rung = (1..50_i64, any::<bool>(), any::<bool>());
    prop::collection::vec(rung, 0..4).prop_map(|rungs| {
        rungs.iter().enumerate().fold(Ladder::base(), |ladder, (number, (rank, dispatches, returns_synthetic))| {
            let spec = RungSpec {
                token: format!("RUNG_{number}"),
                rank: *rank,
                summary: String::new(),
                dispatches: *dispatches,
                returns_synthetic: *returns_synthetic,
            };
            ladder.extended(&[spec]).unwrap_or(ladder)
        })
    })
}

fn token() -> impl Strategy<Value = String> {
    let known = ["OBSERVE", "WARN", "BLOCK", "DEFER", "RUNG_0", "RUNG_1", "RUNG_2", "block ", ""];
    prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"]
}

fn answer() -> impl Strategy<Value = Answer> {
    let result = prop::option::of("[a-z]{1,4}".prop_map(|key| Object::from([(key, Json::Bool(true))])));
    let proposal = (token(), any::<bool>(), result, ".{0,20}", ".{0,8}", ".{0,20}")
        .prop_map(|(rung, run, result, note, handler, reason)| Proposal { rung, run, result, note, handler, reason });
    prop_oneof![
        8 => proposal.prop_map(Answer::Proposed),
        1 => ".{0,9}".prop_map(Answer::Failed),
        1 => ".{0,9}".prop_map(Answer::Nonsense),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn no_answer_gets_past_the_decision(ladder in ladder(), decided in token(), bind in any::<bool>(), answer in answer()) {
        let Ok(decision) = Decision::stated(&ladder, &decided, "tool", "because") else { return Ok(()) };
        let decision = if bind { decision.bound() } else { decision };
        let Ok(handler) = HandlerName::parse("mine") else { return Ok(()) };
        let enforced = settle(&ladder, &decision, &handler, &answer);
        let done = match &enforced.effect {
            Effect::Run => Actuation::Run,
            Effect::Answer(corrective) => {
                prop_assert!(Evidence::read(&corrective.to_json()).is_err(), "what we say is no evidence");
                Actuation::Answer
            }
            Effect::Wait => Actuation::Wait,
        };
        prop_assert_eq!(done, enforced.rung.actuation(), "the label says what is done");
        prop_assert!(done <= decision.rung().actuation());
        prop_assert!(enforced.rung.rank() <= decision.rung().rank());
        if bind {
            prop_assert_eq!(&enforced.rung, decision.rung());
        }
        prop_assert_eq!(&enforced.handler, &handler);
    }
}
