//! How sure a doubt is, and which rung that is worth.

use super::decision::{Decision, Why};
use super::ladder::{BLOCK, Ladder, OBSERVE, Rung, UnknownRung, WARN};
use crate::contract::words;
use std::fmt;

words! {
    /// How sure it is that something is wrong.
    Confidence {
        /// There is nothing to doubt.
        None = "NONE",
        /// There is a sign of it; of an argument, part may be known.
        Low = "LOW",
        /// There is hardly another way to read it; of an argument, a whole value came from nowhere.
        High = "HIGH",
    }
}

/// An argument that neither the task nor a tool has named, as the reader of provenance reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The argument's name.
    pub argument: String,
    /// Into how many parts its value was taken apart.
    pub components_checked: usize,
    /// The parts that were found nowhere.
    pub components_unmatched: Vec<String>,
}

impl Unsupported {
    /// An argument and the parts of it that were found nowhere.
    pub fn new<'p>(
        argument: &str,
        components_checked: usize,
        components_unmatched: impl IntoIterator<Item = &'p str>,
    ) -> Unsupported {
        let components_unmatched = components_unmatched.into_iter().map(str::to_owned).collect();
        Unsupported { argument: argument.to_owned(), components_checked, components_unmatched }
    }

    fn is_wholly_invented(&self) -> bool {
        self.components_checked == 1 && self.components_unmatched.len() == 1
    }
}

impl Confidence {
    /// The confidence that the untraced arguments of one call give together.
    pub fn of(unsupported: &[Unsupported]) -> Confidence {
        if unsupported.is_empty() {
            Confidence::None
        } else if unsupported.iter().any(Unsupported::is_wholly_invented) {
            Confidence::High
        } else {
            Confidence::Low
        }
    }
}

/// Names of rungs as a contract gives them, before they were looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicySpec {
    /// For a value that came from nowhere.
    pub on_high: String,
    /// For a value part of which may be known.
    pub on_low: String,
    /// For a call without a doubt.
    pub on_none: String,
    /// A doubt is never worth less.
    pub floor: String,
    /// A doubt is never worth more.
    pub ceiling: String,
}

impl Default for PolicySpec {
    fn default() -> PolicySpec {
        PolicySpec {
            on_high: BLOCK.to_owned(),
            on_low: WARN.to_owned(),
            on_none: OBSERVE.to_owned(),
            floor: WARN.to_owned(),
            ceiling: BLOCK.to_owned(),
        }
    }
}

/// Which confidence is worth which rung, proved against a ladder.
///
/// ```
/// use kernel::enforcement::gating::{GatingPolicy, Unsupported};
/// use kernel::enforcement::ladder::Ladder;
/// let (ladder, policy) = (Ladder::base(), GatingPolicy::standard());
/// let invented = Unsupported::new("incident_id", 1, ["9999999"]);
/// let decision = policy.choose(&ladder, "close_incident", &[invented]);
/// assert_eq!(decision.rung().token(), "BLOCK");
/// assert_eq!(policy.choose(&ladder, "close_incident", &[]).rung().token(), "OBSERVE");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatingPolicy(PolicySpec);

impl GatingPolicy {
    /// BLOCK when sure, WARN when not, OBSERVE when there is no doubt; DEFER only for who asks for it.
    pub fn standard() -> GatingPolicy {
        GatingPolicy(PolicySpec::default())
    }

    /// The policy, if it makes sense on the ladder.
    pub fn new(spec: PolicySpec, ladder: &Ladder) -> Result<GatingPolicy, PolicyFault> {
        GatingPolicy(spec).proved(ladder)
    }

    fn proved(self, ladder: &Ladder) -> Result<GatingPolicy, PolicyFault> {
        self.resolve(ladder)?;
        Ok(self)
    }

    /// The rung for one call.
    ///
    /// The policy is proved again on the ladder in use: where it does not fit, the ladder's default holds.
    pub fn choose(&self, ladder: &Ladder, tool: &str, unsupported: &[Unsupported]) -> Decision {
        let confidence = Confidence::of(unsupported);
        match self.resolve(ladder) {
            Ok(rungs) => {
                let (rung, why) = rungs.pick(confidence);
                Decision::on(ladder, rung.clone(), tool, unsupported, why)
            }
            Err(fault) => {
                let rung = ladder.default_rung().clone();
                Decision::on(ladder, rung, tool, unsupported, Why::PolicyUnsafe(fault))
            }
        }
    }

    /// The rung that a finding of this confidence is worth; the ladder's default where the policy does not fit it.
    pub fn rung<'l>(&self, ladder: &'l Ladder, confidence: Confidence) -> &'l Rung {
        self.resolve(ladder).map_or_else(|_| ladder.default_rung(), |rungs| rungs.pick(confidence).0)
    }

    fn resolve<'l>(&self, ladder: &'l Ladder) -> Result<Resolved<'l>, PolicyFault> {
        let rung = |token: &str| ladder.rung(token).map_err(PolicyFault::Unknown);
        let rungs = Resolved {
            on_high: rung(&self.0.on_high)?,
            on_low: rung(&self.0.on_low)?,
            on_none: rung(&self.0.on_none)?,
            floor: rung(&self.0.floor)?,
            ceiling: rung(&self.0.ceiling)?,
        };
        let Resolved { on_high, on_low, on_none, floor, ceiling } = rungs;
        // A floor above `low` would raise a weak doubt past what was declared for it; a rung above the ceiling is dead.
        let pairs = [
            (("floor", floor), ("ceiling", ceiling)),
            (("floor", floor), ("low", on_low)),
            (("low", on_low), ("high", on_high)),
            (("none", on_none), ("low", on_low)),
            (("high", on_high), ("ceiling", ceiling)),
            (("low", on_low), ("ceiling", ceiling)),
            (("none", on_none), ("ceiling", ceiling)),
        ];
        for ((softer, softer_rung), (harder, harder_rung)) in pairs {
            if softer_rung.rank() > harder_rung.rank() {
                return Err(PolicyFault::Order {
                    softer,
                    softer_rung: softer_rung.token().to_owned(),
                    harder,
                    harder_rung: harder_rung.token().to_owned(),
                });
            }
        }
        Ok(rungs)
    }
}

/// The rungs of a policy on one ladder.
#[derive(Clone, Copy)]
struct Resolved<'l> {
    on_high: &'l Rung,
    on_low: &'l Rung,
    on_none: &'l Rung,
    floor: &'l Rung,
    ceiling: &'l Rung,
}

impl<'l> Resolved<'l> {
    fn pick(self, confidence: Confidence) -> (&'l Rung, Why) {
        let doubted = match confidence {
            // Without a doubt the floor does not count: nothing is there to be taken seriously.
            Confidence::None => return (self.on_none, Why::NothingUnsupported),
            Confidence::Low => self.on_low,
            Confidence::High => self.on_high,
        };
        let raised = if doubted.rank() < self.floor.rank() { self.floor } else { doubted };
        (if raised.rank() > self.ceiling.rank() { self.ceiling } else { raised }, Why::Unsupported)
    }
}

/// Why a policy makes no sense on a ladder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PolicyFault {
    /// It names a rung that is not there.
    Unknown(UnknownRung),
    /// What must be softer is harder.
    Order {
        /// The setting that must not be harder.
        softer: &'static str,
        /// Its rung.
        softer_rung: String,
        /// The setting that it is compared with.
        harder: &'static str,
        /// Its rung.
        harder_rung: String,
    },
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyFault::Unknown(unknown) => fmt::Display::fmt(unknown, formatter),
            PolicyFault::Order { softer, softer_rung, harder, harder_rung } => {
                write!(formatter, "`{softer}` is {softer_rung}, which is harder than {harder_rung} for `{harder}`")
            }
        }
    }
}

impl std::error::Error for PolicyFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(high: &str, low: &str, none: &str, floor: &str, ceiling: &str, expected: &str) {
        let spec = PolicySpec {
            on_high: high.to_owned(),
            on_low: low.to_owned(),
            on_none: none.to_owned(),
            floor: floor.to_owned(),
            ceiling: ceiling.to_owned(),
        };
        let answer = GatingPolicy::new(spec, &Ladder::base()).map_or_else(|fault| fault.to_string(), |_| String::new());
        assert_eq!(answer, expected);
    }

    #[test]
    fn a_policy_is_proved() {
        check("block", " Warn ", "observe", "warn", "block", "");
        check("DEFER", "WARN", "OBSERVE", "WARN", "DEFER", "");
        check("BLOKC", "WARN", "OBSERVE", "WARN", "BLOCK", "unknown rung `BLOKC`; did you mean `BLOCK`?");
        check(
            "BLOCK",
            "WARN",
            "OBSERVE",
            "DEFER",
            "BLOCK",
            "`floor` is DEFER, which is harder than BLOCK for `ceiling`",
        );
        check("BLOCK", "WARN", "OBSERVE", "BLOCK", "BLOCK", "`floor` is BLOCK, which is harder than WARN for `low`");
        check("WARN", "BLOCK", "OBSERVE", "WARN", "BLOCK", "`low` is BLOCK, which is harder than WARN for `high`");
        check("BLOCK", "WARN", "BLOCK", "WARN", "BLOCK", "`none` is BLOCK, which is harder than WARN for `low`");
        check("DEFER", "WARN", "OBSERVE", "WARN", "BLOCK", "`high` is DEFER, which is harder than BLOCK for `ceiling`");
    }
}
