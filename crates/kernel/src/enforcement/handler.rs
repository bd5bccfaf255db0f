//! What a handler may make of a decision.
//!
//! The kernel runs no handler of others: what one answered, or how it failed, is handed in and settled here. Settling
//! is total. A handler that fails or contradicts itself observes; one that goes further than decided observes; and
//! where the decision is binding, everything but obedience comes to what was decided.

use super::corrective::Corrective;
use super::decision::Decision;
use super::ladder::{Actuation, Ladder, Rung};
use crate::contract::words;
use crate::settings::Fields;
use std::fmt;
use values::ids;
use values::json::{Json, Object};

/// Longest note or reason that is kept; a handler's essay would fill the ledger.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// The name under which a handler was registered. It is never blank.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HandlerName(String);

impl HandlerName {
    /// Reads a name; what is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<HandlerName, &'static str> {
        match ids::identifier_problem(text) {
            Some(problem) => Err(problem),
            None => Ok(HandlerName(text.to_owned())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn built_in(name: &'static str) -> HandlerName {
        HandlerName(name.to_owned())
    }
}

impl fmt::Display for HandlerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a handler would do with the call. Nothing of it is believed before it is settled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proposal {
    /// The rung it says it acts on.
    pub rung: String,
    /// Whether the call runs.
    pub run: bool,
    /// What the agent reads in place of a result.
    pub result: Option<Object>,
    /// For the agent.
    pub note: String,
    /// Who it says it is.
    pub handler: String,
    /// For the record.
    pub reason: String,
}

/// What came back from a handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Something of the right form.
    Proposed(Proposal),
    /// It crashed, timed out or could not be reached.
    Failed(String),
    /// Something else.
    Nonsense(String),
}

impl Answer {
    /// Reads what a handler outside answered: `rung` and `run`, perhaps `result`, `note`, `handler`, `reason`.
    ///
    /// ```
    /// use kernel::enforcement::handler::Answer;
    /// use values::json::Json;
    /// let read = |text: &str| Answer::read(&Json::parse(text.as_bytes()).unwrap());
    /// assert!(matches!(read(r#"{"rung":"WARN","run":true}"#), Answer::Proposed(_)));
    /// assert!(matches!(read(r#"{"rung":"WARN"}"#), Answer::Nonsense(_)));
    /// assert!(matches!(read("[]"), Answer::Nonsense(_)));
    /// ```
    pub fn read(answer: &Json) -> Answer {
        let fields = match Fields::of("answer", Some(answer), &["rung", "run", "result", "note", "handler", "reason"]) {
            Ok(fields) => fields,
            Err(fault) => return Answer::Nonsense(fault.to_string()),
        };
        let read = || {
            let (Some(Json::Text(rung)), Some(Json::Bool(run))) = (fields.get("rung"), fields.get("run")) else {
                return Err("it names no rung, or does not say whether the call runs".to_owned());
            };
            let result = match fields.get("result") {
                None | Some(Json::Null) => None,
                Some(Json::Object(members)) => Some(members.clone()),
                Some(other) => return Err(format!("its result is {}, not an object", other.kind())),
            };
            let text = |key| fields.text(key, "").map_err(|fault| fault.to_string());
            let (note, handler, reason) = (text("note")?, text("handler")?, text("reason")?);
            Ok(Proposal { rung: rung.clone(), run: *run, result, note, handler, reason })
        };
        read().map_or_else(Answer::Nonsense, Answer::Proposed)
    }
}

words! {
    /// How the handler's answer was taken.
    Taken {
        /// As it was given.
        Followed = "followed",
        /// It failed.
        Failed = "handler_failed",
        /// It was not a proposal.
        Nonsense = "nonsense",
        /// What it says it does is not what it does.
        Contradicts = "contradicts_itself",
        /// It goes further than decided.
        Harder = "harder_than_decided",
        /// It is softer than a binding decision.
        Softer = "softer_than_binding",
    }
}

/// What becomes of the call. A result exists only where the call is answered in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It runs.
    Run,
    /// It is withheld; the agent reads this.
    Answer(Corrective),
    /// It is withheld and nothing is said in its place.
    Wait,
}

/// What is done, who had a say in it and how that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enforced {
    /// The rung that is acted on.
    pub rung: Rung,
    /// What becomes of the call.
    pub effect: Effect,
    /// For the agent.
    pub note: String,
    /// The handler that was asked, by the name it was registered under.
    pub handler: HandlerName,
    /// The name the handler gave itself, where it was another. It proves nothing.
    pub claimed: Option<String>,
    /// How the answer was taken.
    pub taken: Taken,
    /// For the record.
    pub reason: String,
}

impl Enforced {
    /// Whether the real call does not run.
    pub fn withholds_call(&self) -> bool {
        self.effect != Effect::Run
    }

    /// What is done, as a record keeps it.
    pub fn to_json(&self) -> Json {
        let result = match &self.effect {
            Effect::Answer(corrective) => corrective.to_json(),
            Effect::Run | Effect::Wait => Json::Null,
        };
        Json::object([
            ("rung", Json::text(self.rung.token())),
            ("summary", Json::text(self.rung.summary())),
            ("run", Json::Bool(!self.withholds_call())),
            ("result", result),
            ("note", Json::text(self.note.as_str())),
            ("handler", Json::text(self.handler.as_str())),
            ("claimed", Json::from(self.claimed.as_deref())),
            ("taken", Json::text(self.taken.word())),
            ("reason", Json::text(self.reason.as_str())),
        ])
    }
}

/// Settles what becomes of the call, whatever the handler answered.
pub fn settle(ladder: &Ladder, decision: &Decision, handler: &HandlerName, answer: &Answer) -> Enforced {
    let (taken, problem) = match answer {
        Answer::Failed(why) => (Taken::Failed, format!("the handler failed: {why}")),
        Answer::Nonsense(found) => (Taken::Nonsense, format!("the handler made no proposal: {found}")),
        Answer::Proposed(proposal) => match followed(ladder, decision, proposal) {
            Ok((rung, effect)) => {
                let claimed = claim(handler, proposal);
                let (note, reason) = (bounded(&proposal.note), bounded(&proposal.reason));
                let rung = rung.clone();
                return Enforced {
                    rung,
                    effect,
                    note,
                    handler: handler.clone(),
                    claimed,
                    taken: Taken::Followed,
                    reason,
                };
            }
            Err(refused) => refused,
        },
    };
    let claimed = match answer {
        Answer::Proposed(proposal) => claim(handler, proposal),
        Answer::Failed(_) | Answer::Nonsense(_) => None,
    };
    let (rung, effect) = fallback(ladder, decision);
    let reason = bounded(&format!("{problem}; {}", rung.token()));
    Enforced { rung, effect, note: bounded(&decision.reason()), handler: handler.clone(), claimed, taken, reason }
}

/// The rung and effect of a proposal that may be followed; otherwise how it is taken and why.
fn followed<'l>(
    ladder: &'l Ladder,
    decision: &Decision,
    proposal: &Proposal,
) -> Result<(&'l Rung, Effect), (Taken, String)> {
    let rung = ladder.rung(&proposal.rung).map_err(|unknown| (Taken::Nonsense, unknown.to_string()))?;
    let decided = decision.rung();
    let shown = (rung.token(), decided.token());
    // The label alone proves little: a rung that a contract puts below WARN may still withhold the call.
    if rung.rank() > decided.rank() || rung.actuation() > decided.actuation() {
        return Err((Taken::Harder, format!("the handler proposed {}, harder than {}", shown.0, shown.1)));
    }
    let effect = match (rung.actuation(), proposal.run, &proposal.result) {
        (Actuation::Run, true, None) => Effect::Run,
        (Actuation::Answer, false, Some(members)) => Effect::Answer(Corrective::composed(members)),
        // A missing result would turn an answer into a lost turn, so the kernel gives its own.
        (Actuation::Answer, false, None) => Effect::Answer(decision.corrective()),
        (Actuation::Wait, false, None) => Effect::Wait,
        (Actuation::Run | Actuation::Answer | Actuation::Wait, _, _) => {
            let problem = format!("the handler says {} and does something else", shown.0);
            return Err((Taken::Contradicts, problem));
        }
    };
    if decision.is_binding() && (rung.rank() < decided.rank() || rung.actuation() < decided.actuation()) {
        return Err((Taken::Softer, format!("the handler proposed {}, but {} is binding", shown.0, shown.1)));
    }
    Ok((rung, effect))
}

/// What is done when the handler's answer does not count.
fn fallback(ladder: &Ladder, decision: &Decision) -> (Rung, Effect) {
    let rung = if decision.is_binding() { decision.rung() } else { ladder.softest() };
    let effect = match rung.actuation() {
        Actuation::Run => Effect::Run,
        Actuation::Answer => Effect::Answer(decision.corrective()),
        Actuation::Wait => Effect::Wait,
    };
    (rung.clone(), effect)
}

fn claim(handler: &HandlerName, proposal: &Proposal) -> Option<String> {
    let claimed = proposal.handler.trim();
    (!claimed.is_empty() && claimed != handler.as_str()).then(|| bounded(claimed))
}

fn bounded(text: &str) -> String {
    let mut end = text.len().min(NOTE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforcement::ladder::RungSpec;

    fn proposal(rung: &str, run: bool, result: bool) -> Answer {
        let result = result.then(|| Object::from([("hint".to_owned(), Json::text("look it up"))]));
        Answer::Proposed(Proposal { rung: rung.to_owned(), run, result, ..Proposal::default() })
    }

    fn check_on(ladder: &Ladder, decided: &str, answer: &Answer, expected: &str) {
        let decision = Decision::stated(ladder, decided, "rm", "because").unwrap();
        let enforced = settle(ladder, &decision, &HandlerName::parse("mine").unwrap(), answer);
        let effect = match &enforced.effect {
            Effect::Run => "run",
            Effect::Answer(_) => "answer",
            Effect::Wait => "wait",
        };
        let shown = format!("{} {effect} {}", enforced.rung.token(), enforced.taken.word());
        assert_eq!(shown, expected, "{decided} {answer:?}");
        assert_eq!(enforced.handler.as_str(), "mine");
    }

    fn check(decided: &str, answer: &Answer, expected: &str) {
        check_on(&Ladder::base(), decided, answer, expected);
    }

    fn check_binding(decided: &str, answer: &Answer, expected: &str) {
        check_on(&Ladder::base().with_binding([decided]).unwrap(), decided, answer, expected);
    }

    #[test]
    fn a_handler_may_be_softer_but_not_harder() {
        check("BLOCK", &proposal("WARN", true, false), "WARN run followed");
        check("DEFER", &proposal("BLOCK", false, true), "BLOCK answer followed");
        check("WARN", &proposal("BLOCK", false, true), "OBSERVE run harder_than_decided");
        check("BLOCK", &proposal("DEFER", false, false), "OBSERVE run harder_than_decided");
    }

    #[test]
    fn labels_are_compared_with_deeds() {
        check("OBSERVE", &proposal("OBSERVE", false, false), "OBSERVE run contradicts_itself");
        check("OBSERVE", &proposal("OBSERVE", false, true), "OBSERVE run contradicts_itself");
        check("BLOCK", &proposal("BLOCK", true, false), "OBSERVE run contradicts_itself");
        check("BLOCK", &proposal("BLOCK", true, true), "OBSERVE run contradicts_itself");
        check("DEFER", &proposal("DEFER", false, true), "OBSERVE run contradicts_itself");
        check("BLOCK", &proposal("BLOCK", false, false), "BLOCK answer followed");
    }

    #[test]
    fn failing_is_observing() {
        check("DEFER", &Answer::Failed("exit 1".to_owned()), "OBSERVE run handler_failed");
        check("BLOCK", &Answer::Nonsense("a list".to_owned()), "OBSERVE run nonsense");
        check("BLOCK", &proposal("BLOCKK", false, true), "OBSERVE run nonsense");
    }

    #[test]
    fn a_binding_rung_holds_whatever_the_handler_does() {
        check_binding("BLOCK", &proposal("OBSERVE", true, false), "BLOCK answer softer_than_binding");
        check_binding("BLOCK", &proposal("DEFER", false, false), "BLOCK answer harder_than_decided");
        check_binding("BLOCK", &proposal("BLOCK", true, false), "BLOCK answer contradicts_itself");
        check_binding("BLOCK", &proposal("BLOCK", false, true), "BLOCK answer followed");
        check_binding("BLOCK", &Answer::Failed("timeout".to_owned()), "BLOCK answer handler_failed");
        check_binding("DEFER", &Answer::Nonsense("null".to_owned()), "DEFER wait nonsense");
        check_binding("DEFER", &proposal("BLOCK", false, true), "DEFER wait softer_than_binding");
        check_binding("WARN", &proposal("OBSERVE", true, false), "WARN run softer_than_binding");
    }

    #[test]
    fn a_rung_that_looks_soft_and_withholds_is_hard() {
        let spec = RungSpec {
            token: "HUSH".to_owned(),
            rank: 5,
            summary: String::new(),
            dispatches: false,
            returns_synthetic: true,
        };
        let ladder = Ladder::base().extended(&[spec]).unwrap();
        check_on(&ladder, "WARN", &proposal("HUSH", false, true), "OBSERVE run harder_than_decided");
        check_on(&ladder, "HUSH", &proposal("HUSH", false, true), "HUSH answer followed");
        check_on(&ladder, "BLOCK", &proposal("HUSH", false, true), "HUSH answer followed");
    }

    #[test]
    fn one_decision_can_be_bound() {
        let ladder = Ladder::base();
        let decision = Decision::stated(&ladder, "BLOCK", "rm", "because").unwrap().bound();
        let enforced = settle(&ladder, &decision, &HandlerName::parse("mine").unwrap(), &proposal("WARN", true, false));
        assert_eq!(enforced.taken, Taken::Softer);
        assert!(enforced.withholds_call());
    }

    #[test]
    fn attribution_is_ours() {
        let ladder = Ladder::base();
        let decision = Decision::stated(&ladder, "WARN", "rm", "because").unwrap();
        let claiming = |name: &str| {
            let proposal =
                Proposal { rung: "WARN".to_owned(), run: true, handler: name.to_owned(), ..Proposal::default() };
            let handler = HandlerName::parse("evil").unwrap();
            let enforced = settle(&ladder, &decision, &handler, &Answer::Proposed(proposal));
            (enforced.handler.to_string(), enforced.claimed)
        };
        assert_eq!(claiming("observe"), ("evil".to_owned(), Some("observe".to_owned())));
        assert_eq!(claiming(" "), ("evil".to_owned(), None));
        assert_eq!(claiming("evil"), ("evil".to_owned(), None));
    }

    #[test]
    fn essays_are_cut_between_characters() {
        assert_eq!(bounded(&"é".repeat(NOTE_BYTES_MAX)).len(), NOTE_BYTES_MAX);
        assert_eq!(bounded(&format!("x{}", "é".repeat(NOTE_BYTES_MAX))).len(), NOTE_BYTES_MAX - 1);
    }
}
