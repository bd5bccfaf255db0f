//! The ladder of interventions: data that a contract may extend and never change.

use crate::nearest::suggestion;
use std::fmt;
use values::decimal::Decimal;

/// More rungs than anybody can tell apart are a mistake.
pub const RUNGS_MAX: usize = 32;

/// The rung that only records.
pub const OBSERVE: &str = "OBSERVE";
/// The rung that tells the agent and lets the call run.
pub const WARN: &str = "WARN";
/// The rung that answers in place of the call.
pub const BLOCK: &str = "BLOCK";
/// The rung that holds the call back until somebody else has spoken.
pub const DEFER: &str = "DEFER";

/// What becomes of the call, in the order of how much it disturbs the agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actuation {
    /// It runs.
    Run,
    /// It is withheld and the agent reads a corrective result in the same turn.
    Answer,
    /// It is withheld without a result: the turn is lost.
    Wait,
}

impl Actuation {
    /// Whether the real call runs.
    pub fn dispatches(self) -> bool {
        self == Actuation::Run
    }

    /// Whether a corrective result takes the place of the real one.
    pub fn returns_synthetic(self) -> bool {
        self == Actuation::Answer
    }
}

/// A rung as a contract declares it, before it was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RungSpec {
    /// Its name.
    pub token: String,
    /// Its place: higher disturbs more.
    pub rank: i64,
    /// One line for people.
    pub summary: String,
    /// Whether the real call runs.
    pub dispatches: bool,
    /// Whether a corrective result takes the place of the real one.
    pub returns_synthetic: bool,
}

/// One intervention.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rung {
    token: String,
    rank: u32,
    summary: String,
    actuation: Actuation,
    binding: bool,
}

impl Rung {
    /// Its name.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its place: higher disturbs more.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// One line for people.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// What becomes of the call.
    pub fn actuation(&self) -> Actuation {
        self.actuation
    }

    /// Whether no handler may answer softer.
    pub fn is_binding(&self) -> bool {
        self.binding
    }

    fn is_called(&self, token: &str) -> bool {
        self.token.eq_ignore_ascii_case(token.trim())
    }

    fn read(spec: &RungSpec) -> Result<Rung, LadderFault> {
        let token = spec.token.trim();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if token.is_empty() || token.len() > 64 || !token.bytes().all(fits) {
            return Err(LadderFault::Token(spec.token.clone()));
        }
        let Ok(rank) = u32::try_from(spec.rank) else { return Err(LadderFault::Rank(token.to_owned(), spec.rank)) };
        let actuation = match (spec.dispatches, spec.returns_synthetic) {
            (true, true) => return Err(LadderFault::RunsAndAnswers(token.to_owned())),
            (true, false) => Actuation::Run,
            (false, true) => Actuation::Answer,
            (false, false) => Actuation::Wait,
        };
        Ok(Rung { token: token.to_owned(), rank, summary: spec.summary.clone(), actuation, binding: false })
    }
}

/// The interventions there are, softest first.
///
/// INVARIANT (one place each): tokens and ranks are unique, and the default is one of the rungs.
///
/// ```
/// use kernel::enforcement::ladder::{Ladder, RungSpec};
/// let quarantine = RungSpec {
///     token: "QUARANTINE".to_owned(),
///     rank: 25,
///     summary: "run it in a copy of the workspace".to_owned(),
///     dispatches: false,
///     returns_synthetic: true,
/// };
/// let ladder = Ladder::base().extended(&[quarantine]).unwrap();
/// assert_eq!(ladder.escalate("block", 1).unwrap().token(), "QUARANTINE");
/// assert_eq!(ladder.rung("defre").unwrap_err().to_string(), "unknown rung `defre`; did you mean `DEFER`?");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ladder {
    rungs: Vec<Rung>,
    default: Rung,
}

impl Ladder {
    /// OBSERVE, WARN, BLOCK, DEFER; WARN is the default.
    ///
    /// BLOCK stands below DEFER because it answers in the same turn, while a deferral costs the agent its turn.
    pub fn base() -> Ladder {
        const BASE: [(&str, u32, Actuation, &str); 4] = [
            (OBSERVE, 0, Actuation::Run, "record it and let the call run"),
            (WARN, 10, Actuation::Run, "tell the agent and let the call run"),
            (BLOCK, 20, Actuation::Answer, "answer in place of the call"),
            (DEFER, 30, Actuation::Wait, "hold the call until somebody else has spoken"),
        ];
        let rung = |(token, rank, actuation, summary): (&str, u32, Actuation, &str)| Rung {
            token: token.to_owned(),
            rank,
            summary: summary.to_owned(),
            actuation,
            binding: false,
        };
        let [observe, warn, block, defer] = BASE.map(rung);
        Ladder { default: warn.clone(), rungs: vec![observe, warn, block, defer] }
    }

    /// A ladder of these rungs.
    pub fn new(specs: &[RungSpec], default: &str) -> Result<Ladder, LadderFault> {
        let rungs = specs.iter().map(Rung::read).collect::<Result<Vec<Rung>, LadderFault>>()?;
        Ladder::ordered(rungs, default)
    }

    /// This ladder with more rungs. What is declared already stays as it is.
    pub fn extended(&self, specs: &[RungSpec]) -> Result<Ladder, LadderFault> {
        let mut rungs = self.rungs.clone();
        for spec in specs {
            rungs.push(Rung::read(spec)?);
        }
        Ladder::ordered(rungs, self.default.token())
    }

    /// This ladder with some rungs marked as binding, in addition to those that are.
    pub fn with_binding<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> Result<Ladder, UnknownRung> {
        let mut ladder = self.clone();
        for token in tokens {
            self.rung(token)?;
            for rung in ladder.rungs.iter_mut().chain([&mut ladder.default]) {
                rung.binding |= rung.is_called(token);
            }
        }
        Ok(ladder)
    }

    fn ordered(mut rungs: Vec<Rung>, default: &str) -> Result<Ladder, LadderFault> {
        if rungs.len() > RUNGS_MAX {
            return Err(LadderFault::TooMany(rungs.len()));
        }
        for (index, rung) in rungs.iter().enumerate() {
            let mut before = rungs.iter().take(index);
            if before.clone().any(|other| other.is_called(&rung.token)) {
                return Err(LadderFault::TokenTwice(rung.token.clone()));
            }
            if let Some(other) = before.find(|other| other.rank == rung.rank) {
                return Err(LadderFault::RankTwice(other.token.clone(), rung.token.clone(), rung.rank));
            }
        }
        rungs.sort_by_key(Rung::rank);
        let Some(default) = rungs.iter().find(|rung| rung.is_called(default)).cloned() else {
            return Err(LadderFault::DefaultUnknown(default.to_owned()));
        };
        Ok(Ladder { rungs, default })
    }

    /// The rungs, softest first.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// The rung for when nothing better is known.
    pub fn default_rung(&self) -> &Rung {
        &self.default
    }

    /// The rung that disturbs least: where everything ends that may not disturb.
    pub fn softest(&self) -> &Rung {
        self.rungs.iter().min_by_key(|rung| (rung.actuation, rung.rank)).unwrap_or(&self.default)
    }

    /// The rung of that name, ignoring case and blanks around it.
    pub fn rung(&self, token: &str) -> Result<&Rung, UnknownRung> {
        self.rungs.iter().find(|rung| rung.is_called(token)).ok_or_else(|| self.unknown(token))
    }

    /// Whether the call runs on that rung. On a rung nobody declared, it does not.
    pub fn dispatches(&self, token: &str) -> bool {
        self.rung(token).is_ok_and(|rung| rung.actuation.dispatches())
    }

    /// Whether that rung answers in place of the call.
    pub fn returns_synthetic(&self, token: &str) -> bool {
        self.rung(token).is_ok_and(|rung| rung.actuation.returns_synthetic())
    }

    /// So many rungs harder, whatever the sign; stays at the top.
    pub fn escalate(&self, token: &str, by: i64) -> Result<&Rung, UnknownRung> {
        let harder = |position: usize, steps: usize| position.saturating_add(steps).min(self.rungs.len() - 1);
        self.moved(token, by, harder)
    }

    /// So many rungs softer, whatever the sign; stays at the bottom.
    pub fn de_escalate(&self, token: &str, by: i64) -> Result<&Rung, UnknownRung> {
        self.moved(token, by, usize::saturating_sub)
    }

    fn moved(&self, token: &str, by: i64, to: impl Fn(usize, usize) -> usize) -> Result<&Rung, UnknownRung> {
        let steps = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        let position = self.rungs.iter().position(|rung| rung.is_called(token));
        position.and_then(|position| self.rungs.get(to(position, steps))).ok_or_else(|| self.unknown(token))
    }

    /// The rung, no softer than the floor and no harder than the ceiling; the ceiling wins.
    pub fn clamp(&self, token: &str, floor: &str, ceiling: &str) -> Result<&Rung, UnknownRung> {
        let (rung, floor, ceiling) = (self.rung(token)?, self.rung(floor)?, self.rung(ceiling)?);
        let raised = if rung.rank < floor.rank { floor } else { rung };
        Ok(if raised.rank > ceiling.rank { ceiling } else { raised })
    }

    /// How much the rung disturbs, between 0 for the softest rank and 1 for the hardest.
    pub fn disruption_cost(&self, token: &str) -> Result<Decimal, UnknownRung> {
        Ok(self.cost_of(self.rung(token)?))
    }

    pub(super) fn cost_of(&self, rung: &Rung) -> Decimal {
        let lowest = self.rungs.first().map_or(0, Rung::rank);
        let highest = self.rungs.last().map_or(0, Rung::rank);
        let above = |rank: u32| Decimal::from(u64::from(rank.saturating_sub(lowest)));
        above(rung.rank).checked_div(above(highest)).unwrap_or(Decimal::ZERO)
    }

    fn unknown(&self, token: &str) -> UnknownRung {
        let near = suggestion(token, self.rungs.iter().map(Rung::token));
        UnknownRung { token: token.to_owned(), near }
    }
}

/// A name that no rung has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownRung {
    token: String,
    near: String,
}

impl fmt::Display for UnknownRung {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unknown rung `{}`{}", self.token, self.near)
    }
}

impl std::error::Error for UnknownRung {}

/// Why declared rungs are no ladder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LadderFault {
    /// A name is blank, too long or has odd characters.
    Token(String),
    /// A rank is negative or beyond 32 bits.
    Rank(String, i64),
    /// A corrective result stands for a call that did not run.
    RunsAndAnswers(String),
    /// A later declaration would silently win.
    TokenTwice(String),
    /// Neither of two rungs would be harder.
    RankTwice(String, String, u32),
    /// The default is not declared.
    DefaultUnknown(String),
    /// More than [`RUNGS_MAX`].
    TooMany(usize),
}

impl fmt::Display for LadderFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LadderFault::Token(token) => {
                write!(formatter, "`{token}` is no name of a rung: letters, digits, `_` and `-`, at most 64")
            }
            LadderFault::Rank(token, rank) => {
                write!(formatter, "rung `{token}` has rank {rank}, which is not between 0 and 4294967295")
            }
            LadderFault::RunsAndAnswers(token) => {
                write!(formatter, "rung `{token}` runs the call and answers in its place; it can do one of both")
            }
            LadderFault::TokenTwice(token) => write!(formatter, "rung `{token}` is declared twice"),
            LadderFault::RankTwice(first, second, rank) => {
                write!(formatter, "rungs `{first}` and `{second}` share rank {rank}")
            }
            LadderFault::DefaultUnknown(token) => write!(formatter, "the default rung `{token}` is not declared"),
            LadderFault::TooMany(count) => write!(formatter, "{count} rungs, at most {RUNGS_MAX}"),
        }
    }
}

impl std::error::Error for LadderFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(token: &str, rank: i64, dispatches: bool, returns_synthetic: bool) -> RungSpec {
        RungSpec { token: token.to_owned(), rank, summary: String::new(), dispatches, returns_synthetic }
    }

    fn check(specs: &[RungSpec], expected: &str) {
        let answer = match Ladder::base().extended(specs) {
            Ok(ladder) => ladder.rungs().iter().map(Rung::token).collect::<Vec<_>>().join(" "),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(answer, expected);
    }

    #[test]
    fn rungs_are_added_between_rungs() {
        check(&[], "OBSERVE WARN BLOCK DEFER");
        check(
            &[spec("PAUSE", 40, false, false), spec("NUDGE", 5, true, false)],
            "OBSERVE NUDGE WARN BLOCK DEFER PAUSE",
        );
    }

    #[test]
    fn a_ladder_cannot_be_ambiguous() {
        let odd = "is no name of a rung: letters, digits, `_` and `-`, at most 64";
        check(&[spec(" ", 5, true, false)], &format!("` ` {odd}"));
        check(&[spec("A B", 5, true, false)], &format!("`A B` {odd}"));
        check(&[spec("X", -1, true, false)], "rung `X` has rank -1, which is not between 0 and 4294967295");
        check(&[spec("X", 5, true, true)], "rung `X` runs the call and answers in its place; it can do one of both");
        check(&[spec("block", 5, false, true)], "rung `block` is declared twice");
        check(&[spec("X", 20, false, true)], "rungs `BLOCK` and `X` share rank 20");
        let many: Vec<RungSpec> = (0..40).map(|rank| spec(&format!("R{rank}"), 100 + rank, true, false)).collect();
        check(&many, "44 rungs, at most 32");
    }

    #[test]
    fn binding_only_grows() {
        let ladder = Ladder::base().with_binding(["block"]).unwrap().with_binding(["DEFER"]).unwrap();
        let binding: Vec<&str> = ladder.rungs().iter().filter(|rung| rung.is_binding()).map(Rung::token).collect();
        assert_eq!(binding, [BLOCK, DEFER]);
        assert_eq!(
            Ladder::base().with_binding(["BLOK"]).unwrap_err().to_string(),
            "unknown rung `BLOK`; did you mean `BLOCK`?"
        );
    }

    #[test]
    fn the_softest_rung_is_the_one_that_runs_the_call() {
        let ladder = Ladder::new(&[spec("HOLD", 0, false, false), spec("NOTE", 9, true, false)], "hold").unwrap();
        assert_eq!(ladder.softest().token(), "NOTE");
    }
}
