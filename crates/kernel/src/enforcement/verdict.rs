//! What a verdict of the gates comes to on the ladder, and what a contract that only observes makes of it.
//!
//! | verdict | rung | |
//! |---|---|---|
//! | ACCEPT, nothing noticed | OBSERVE | |
//! | ACCEPT, a detector is concerned | WARN | |
//! | REJECT | BLOCK | binds |
//! | ESCALATE | DEFER | binds |

use super::decision::Decision;
use super::handler::{Answer, Enforced};
use super::ladder::Ladder;
use super::plan::EnforcementPlan;
use super::registry::OBSERVE;
use crate::contract::Mode;
use crate::outcome::Verdict;

/// Whether verdicts under this mode stop anything.
pub fn binds(mode: Mode) -> bool {
    match mode {
        Mode::Enforce => true,
        Mode::Observe => false,
    }
}

/// The rung of a verdict. A refusal or a question binds: no handler softens it.
///
/// ```
/// use kernel::contract::Mode;
/// use kernel::enforcement::{ladder::Ladder, verdict::decided};
/// use kernel::outcome::Verdict;
/// let rung = |verdict, noticed| {
///     let decision = decided(&Ladder::base(), Mode::Enforce, verdict, noticed, "rm", "because");
///     format!("{} {}", decision.rung().token(), decision.is_binding())
/// };
/// assert_eq!(rung(Verdict::Accept, false), "OBSERVE false");
/// assert_eq!(rung(Verdict::Accept, true), "WARN false");
/// assert_eq!(rung(Verdict::Reject, false), "BLOCK true");
/// assert_eq!(rung(Verdict::Escalate, true), "DEFER true");
/// ```
pub fn decided(ladder: &Ladder, mode: Mode, verdict: Verdict, noticed: bool, tool: &str, why: &str) -> Decision {
    let token = match verdict {
        Verdict::Accept if noticed => "WARN",
        Verdict::Accept => "OBSERVE",
        Verdict::Reject => "BLOCK",
        Verdict::Escalate => "DEFER",
    };
    // The four are on every ladder: a contract adds rungs and takes none away.
    let decision = Decision::stated(ladder, token, tool, why);
    let decision = decision.unwrap_or_else(|_| Decision::hardest(ladder, tool, why));
    match verdict {
        Verdict::Reject | Verdict::Escalate if binds(mode) => decision.bound(),
        Verdict::Reject | Verdict::Escalate | Verdict::Accept => decision,
    }
}

/// What becomes of the call: as the contract's handler has it, or, where the contract only observes, it runs.
pub fn enforced(plan: &EnforcementPlan, mode: Mode, decision: &Decision, outside: Option<&Answer>) -> Enforced {
    if binds(mode) {
        return plan.enforce(decision, outside);
    }
    // Observing is the contract's word, not a handler's: rungs that bind handlers do not bind it.
    plan.clone().with_built_in(OBSERVE).enforce_unbound(decision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforcement::registry::Registry;
    use values::json::Json;

    fn check(written: &str, mode: Mode, verdict: Verdict, answer: Option<&str>, expected: &str) {
        let written = Json::parse(written.as_bytes()).unwrap();
        let plan = EnforcementPlan::read(Some(&written), &Registry::with(["pager"]).unwrap()).unwrap();
        let decision = decided(plan.ladder(), mode, verdict, false, "rm", "because");
        let answer = answer.map(|text| Answer::read(&Json::parse(text.as_bytes()).unwrap()));
        let enforced = enforced(&plan, mode, &decision, answer.as_ref());
        let shown = format!("{} {} {}", enforced.rung.token(), enforced.withholds_call(), enforced.handler);
        assert_eq!(shown, expected, "{verdict:?}");
    }

    #[test]
    fn a_verdict_is_never_softened_and_observing_stops_nothing() {
        let softer = Some(r#"{"rung":"OBSERVE","run":true}"#);
        for (verdict, rung) in [(Verdict::Reject, "BLOCK"), (Verdict::Escalate, "DEFER")] {
            check("{}", Mode::Enforce, verdict, None, &format!("{rung} true obey"));
            check(r#"{"handler":"observe"}"#, Mode::Enforce, verdict, None, &format!("{rung} true observe"));
            check(r#"{"handler":"pager"}"#, Mode::Enforce, verdict, softer, &format!("{rung} true pager"));
            check(r#"{"handler":"pager"}"#, Mode::Enforce, verdict, None, &format!("{rung} true pager"));
            check(r#"{"handler":"pager"}"#, Mode::Observe, verdict, softer, "OBSERVE false observe");
            check(r#"{"binding":["BLOCK","DEFER"]}"#, Mode::Observe, verdict, None, "OBSERVE false observe");
        }
        check("{}", Mode::Enforce, Verdict::Accept, None, "OBSERVE false obey");
        let harder = Some(r#"{"rung":"BLOCK","run":false}"#);
        check(r#"{"handler":"pager"}"#, Mode::Enforce, Verdict::Accept, harder, "OBSERVE false pager");
    }
}
