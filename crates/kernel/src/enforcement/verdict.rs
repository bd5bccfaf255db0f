//! What a verdict of the gates comes to on the ladder, and what a contract that only observes makes of it.
//!
//! | verdict | rung | |
//! |---|---|---|
//! | ACCEPT | as confident as detectors are of a finding; OBSERVE without one | |
//! | REJECT | BLOCK | binds |
//! | ESCALATE | DEFER | binds |

use super::decision::Decision;
use super::handler::{Answer, Enforced};
use super::ladder::{BLOCK, DEFER};
use super::plan::{EnforcementPlan, Stakes};
use super::registry::OBSERVE;
use crate::contract::Mode;
use crate::detectors::Signal;
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
/// use kernel::enforcement::{plan::{EnforcementPlan, Stakes}, verdict::{Noticed, decided}};
/// use kernel::outcome::Verdict;
/// let (plan, noticed) = (EnforcementPlan::default(), Noticed { stakes: Stakes::Ordinary, signals: &[] });
/// let rung = |verdict| {
///     let decision = decided(&plan, Mode::Enforce, verdict, noticed, "rm", "because");
///     format!("{} {}", decision.rung().token(), decision.is_binding())
/// };
/// assert_eq!(rung(Verdict::Accept), "OBSERVE false");
/// assert_eq!(rung(Verdict::Reject), "BLOCK true");
/// assert_eq!(rung(Verdict::Escalate), "DEFER true");
/// ```
pub fn decided(
    plan: &EnforcementPlan,
    mode: Mode,
    verdict: Verdict,
    noticed: Noticed<'_>,
    tool: &str,
    why: &str,
) -> Decision {
    let token = match verdict {
        Verdict::Accept => return plan.notice(tool, noticed.stakes, noticed.signals, why),
        Verdict::Reject => BLOCK,
        Verdict::Escalate => DEFER,
    };
    // The four are on every ladder: a contract adds rungs and takes none away.
    let decision = Decision::stated(plan.ladder(), token, tool, why);
    let decision = decision.unwrap_or_else(|_| Decision::hardest(plan.ladder(), tool, why));
    if binds(mode) { decision.bound() } else { decision }
}

/// What detectors noticed about a call, and what is at stake in it.
#[derive(Clone, Copy, Debug)]
pub struct Noticed<'s> {
    /// What is at stake.
    pub stakes: Stakes,
    /// What the detectors say.
    pub signals: &'s [Signal],
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
        let noticed = Noticed { stakes: Stakes::Ordinary, signals: &[] };
        let decision = decided(&plan, mode, verdict, noticed, "rm", "because");
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
