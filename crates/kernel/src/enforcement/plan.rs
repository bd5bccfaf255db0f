//! How a contract wants calls to be enforced: more rungs, which of them bind, what confidence is worth, which handler.

use super::decision::Decision;
use super::gating::{Confidence, GatingPolicy, PolicySpec, Unsupported};
use super::handler::{Answer, Enforced, HandlerName, settle};
use super::ladder::{Actuation, Ladder, Rung, RungSpec};
use super::registry::{BuiltIn, Handler, OBEY, Registry};
use crate::detectors::Signal;
use crate::settings::{Fault, Fields};
use values::json::Json;

/// What is at stake in a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stakes {
    /// It changes nothing, or has run already.
    None,
    /// It can be undone.
    Ordinary,
    /// It cannot be undone, or weighs much.
    High,
}

/// Settings that were proved together: every rung is on the ladder, the handler is registered.
///
/// ```
/// use kernel::enforcement::gating::Unsupported;
/// use kernel::enforcement::plan::EnforcementPlan;
/// use kernel::enforcement::registry::Registry;
/// use values::json::Json;
/// let written = Json::parse(br#"{
///     "rungs": {"QUARANTINE": {"rank": 25, "runs": false, "answers": true}},
///     "binding": ["QUARANTINE"],
///     "confidence": {"high": "QUARANTINE", "ceiling": "QUARANTINE"},
///     "handler": "observe"
/// }"#).unwrap();
/// let plan = EnforcementPlan::read(Some(&written), &Registry::default()).unwrap();
/// let decision = plan.choose("pay", &[Unsupported::new("payee", 1, ["DE89"])]);
/// let enforced = plan.enforce(&decision, None);
/// assert_eq!(enforced.rung.token(), "QUARANTINE", "the built-in handler cannot soften what is binding");
/// assert!(enforced.withholds_call());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnforcementPlan {
    ladder: Ladder,
    policy: GatingPolicy,
    /// Whether the contract says itself what confidence is worth.
    states_confidence: bool,
    handler: HandlerName,
}

/// The base ladder, the standard policy, and what was decided is done.
impl Default for EnforcementPlan {
    fn default() -> EnforcementPlan {
        EnforcementPlan {
            ladder: Ladder::base(),
            policy: GatingPolicy::standard(),
            states_confidence: false,
            handler: OBEY.handler_name(),
        }
    }
}

impl EnforcementPlan {
    /// Reads the settings; nothing written is the base ladder, the standard policy and the handler `obey`.
    pub fn read(written: Option<&Json>, registry: &Registry) -> Result<EnforcementPlan, Fault> {
        let fields = Fields::of("enforcement", written, &["rungs", "binding", "confidence", "handler"])?;
        let specs = read_rungs(&Fields::open(&fields.at("rungs"), fields.get("rungs"))?)?;
        let extended = Ladder::base().extended(&specs).map_err(|fault| broken(&fields.at("rungs"), &fault))?;
        let binding = fields.texts("binding")?;
        let bound = extended.with_binding(binding.iter().map(String::as_str));
        let ladder = bound.map_err(|fault| broken(&fields.at("binding"), &fault))?;
        let spec = read_policy(&fields.at("confidence"), fields.get("confidence"))?;
        let policy = GatingPolicy::new(spec, &ladder).map_err(|fault| broken(&fields.at("confidence"), &fault))?;
        let name = fields.text("handler", OBEY.name)?;
        let handler = match registry.find(&name).map_err(|fault| broken(&fields.at("handler"), &fault))? {
            Handler::BuiltIn(built_in) => built_in.handler_name(),
            Handler::Outside(outside) => outside.clone(),
        };
        let states_confidence = fields.get("confidence").is_some();
        Ok(EnforcementPlan { ladder, policy, states_confidence, handler })
    }

    /// The same with another handler of the kernel.
    #[must_use]
    pub fn with_built_in(mut self, built_in: BuiltIn) -> EnforcementPlan {
        self.handler = built_in.handler_name();
        self
    }

    /// The interventions there are.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// The handler to ask.
    pub fn handler(&self) -> &HandlerName {
        &self.handler
    }

    /// The rung for a call with these untraced arguments.
    pub fn choose(&self, tool: &str, unsupported: &[Unsupported]) -> Decision {
        self.policy.choose(&self.ladder, tool, unsupported)
    }

    /// The rung for what detectors noticed about a call, the hardest that any of them comes to.
    ///
    /// A rung that the contract names for a detector holds; otherwise its confidence picks one. Where the contract does
    /// not say what confidence is worth, a finding withholds only what cannot be undone or weighs much. What changes
    /// nothing is never withheld.
    pub fn notice(&self, tool: &str, stakes: Stakes, signals: &[Signal], reason: &str) -> Decision {
        let counted = |confidence: Confidence| match (stakes, self.states_confidence) {
            (Stakes::Ordinary, false) => confidence.min(Confidence::Low),
            (Stakes::None | Stakes::Ordinary | Stakes::High, _) => confidence,
        };
        let rung = |signal: &Signal| {
            let named = signal.rung.and_then(|token| self.ladder.rung(token).ok());
            named.unwrap_or_else(|| self.policy.rung(&self.ladder, counted(signal.confidence)))
        };
        let concerns = signals.iter().filter(|signal| signal.is_concern());
        let quiet = || self.policy.rung(&self.ladder, Confidence::None);
        let hardest = concerns.map(rung).max_by_key(|rung| rung.rank()).unwrap_or_else(quiet);
        let runs = |rung: &&Rung| rung.rank() <= hardest.rank() && rung.actuation() == Actuation::Run;
        let chosen = match stakes {
            Stakes::None => self.ladder.rungs().iter().rev().find(runs).unwrap_or_else(|| self.ladder.softest()),
            Stakes::Ordinary | Stakes::High => hardest,
        };
        let confidence = signals.iter().map(|signal| signal.confidence).max().unwrap_or(Confidence::None);
        Decision::noticed(&self.ladder, chosen, tool, confidence, reason)
    }

    /// What becomes of the call where not even a binding rung binds: only a contract that observes asks for this.
    pub(super) fn enforce_unbound(&self, decision: &Decision) -> Enforced {
        let softest = self.ladder.softest().token();
        let free = Decision::stated(&self.ladder, softest, decision.tool(), &decision.reason());
        self.enforce(&free.unwrap_or_else(|_| decision.clone()), None)
    }

    /// What becomes of the call.
    ///
    /// A built-in handler answers by itself. One outside that was not asked, or whose answer never came, has failed.
    pub fn enforce(&self, decision: &Decision, outside: Option<&Answer>) -> Enforced {
        let name = self.handler.as_str();
        let built_in = super::registry::BUILT_IN.iter().find(|built_in| built_in.name == name);
        let answer = match (built_in, outside) {
            (Some(built_in), _) => built_in.answer(&self.ladder, decision),
            (None, Some(answer)) => answer.clone(),
            (None, None) => Answer::Failed("it was not asked".to_owned()),
        };
        settle(&self.ladder, decision, &self.handler, &answer)
    }
}

fn read_rungs(rungs: &Fields<'_>) -> Result<Vec<RungSpec>, Fault> {
    let read = |(token, written): (&str, &Json)| {
        let fields = Fields::of(&rungs.at(token), Some(written), &["rank", "summary", "runs", "answers"])?;
        for key in ["rank", "runs"] {
            if fields.get(key).is_none() {
                return Err(Fault::new(fields.at(key), "is missing"));
            }
        }
        Ok(RungSpec {
            token: token.to_owned(),
            rank: i64::try_from(fields.count("rank", 0)?).unwrap_or(i64::MAX),
            summary: fields.text("summary", "")?,
            dispatches: fields.flag("runs", false)?,
            returns_synthetic: fields.flag("answers", false)?,
        })
    };
    rungs.all().map(read).collect()
}

fn read_policy(path: &str, written: Option<&Json>) -> Result<PolicySpec, Fault> {
    let fields = Fields::of(path, written, &["high", "low", "none", "floor", "ceiling"])?;
    let standard = PolicySpec::default();
    Ok(PolicySpec {
        on_high: fields.text("high", &standard.on_high)?,
        on_low: fields.text("low", &standard.on_low)?,
        on_none: fields.text("none", &standard.on_none)?,
        floor: fields.text("floor", &standard.floor)?,
        ceiling: fields.text("ceiling", &standard.ceiling)?,
    })
}

fn broken(path: &str, fault: &impl std::fmt::Display) -> Fault {
    Fault::new(path, format!("cannot be used: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let written = Json::parse(written.as_bytes()).unwrap();
        let registry = Registry::with(["pager"]).unwrap();
        let plan = EnforcementPlan::read(Some(&written), &registry);
        assert_eq!(plan.map_or_else(|fault| fault.to_string(), |plan| plan.handler.to_string()), expected);
    }

    #[test]
    fn faults_say_where_they_are() {
        check("{}", "obey");
        check(r#"{"handler":"pager"}"#, "pager");
        check(
            r#"{"handler":"pagre"}"#,
            "`enforcement.handler` cannot be used: unknown handler `pagre`; did you mean `pager`? known are `observe`, `obey`, `pager`",
        );
        check(r#"{"rung":{}}"#, "`enforcement.rung` is not known; did you mean `rungs`?");
        check(r#"{"rungs":{"X":{"runs":true}}}"#, "`enforcement.rungs.X.rank` is missing");
        check(r#"{"rungs":{"X":{"rank":1}}}"#, "`enforcement.rungs.X.runs` is missing");
        check(
            r#"{"rungs":{"WARN":{"rank":1,"runs":true}}}"#,
            "`enforcement.rungs` cannot be used: rung `WARN` is declared twice",
        );
        check(
            r#"{"binding":["BLOK"]}"#,
            "`enforcement.binding` cannot be used: unknown rung `BLOK`; did you mean `BLOCK`?",
        );
        check(
            r#"{"confidence":{"floor":"DEFER"}}"#,
            "`enforcement.confidence` cannot be used: `floor` is DEFER, which is harder than BLOCK for `ceiling`",
        );
    }

    #[test]
    fn confidence_picks_the_rung_of_a_finding() {
        let check = |written: &str, stakes: Stakes, signals: &[(Confidence, Option<&'static str>)], expected: &str| {
            let written = Json::parse(written.as_bytes()).unwrap();
            let plan = EnforcementPlan::read(Some(&written), &Registry::default()).unwrap();
            let signal = |(confidence, rung): &(Confidence, Option<&'static str>)| Signal {
                detector: "stall",
                state: "STALLED",
                confidence: *confidence,
                rung: *rung,
                reason: String::new(),
                details: Json::Null,
            };
            let signals: Vec<Signal> = signals.iter().map(signal).collect();
            let decision = plan.notice("rm", stakes, &signals, "because");
            assert_eq!(decision.rung().token(), expected, "{written:?} {stakes:?}");
            assert!(!decision.is_binding());
        };
        let (none, low, high) = ((Confidence::None, None), (Confidence::Low, None), (Confidence::High, None));
        check("{}", Stakes::High, &[none], "OBSERVE");
        check("{}", Stakes::High, &[low], "WARN");
        check("{}", Stakes::Ordinary, &[high], "WARN");
        check("{}", Stakes::High, &[low, high], "BLOCK");
        check("{}", Stakes::None, &[high], "WARN");
        let stated = r#"{"confidence":{"high":"DEFER","ceiling":"DEFER"}}"#;
        check(stated, Stakes::Ordinary, &[high], "DEFER");
        check(stated, Stakes::None, &[high], "WARN");
        check(r#"{"confidence":{"low":"BLOCK"}}"#, Stakes::Ordinary, &[low], "BLOCK");
        check(r#"{"confidence":{"none":"WARN"}}"#, Stakes::Ordinary, &[none], "WARN");
        check(r#"{"confidence":{"high":"WARN"}}"#, Stakes::High, &[high], "WARN");
        check("{}", Stakes::Ordinary, &[(Confidence::High, Some("DEFER"))], "DEFER");
        check("{}", Stakes::High, &[(Confidence::High, Some("WARN"))], "WARN");
        check("{}", Stakes::None, &[(Confidence::High, Some("BLOCK"))], "WARN");
    }

    #[test]
    fn a_handler_that_was_not_asked_has_failed() {
        let registry = Registry::with(["pager"]).unwrap();
        let check = |written: &str, expected: &str| {
            let written = Json::parse(written.as_bytes()).unwrap();
            let plan = EnforcementPlan::read(Some(&written), &registry).unwrap();
            let decision = Decision::stated(plan.ladder(), "BLOCK", "rm", "because").unwrap();
            assert_eq!(plan.enforce(&decision, None).rung.token(), expected);
        };
        check(r#"{"handler":"pager"}"#, "OBSERVE");
        check(r#"{"handler":"pager","binding":["BLOCK"]}"#, "BLOCK");
    }
}
