//! Detectors: pure functions from what was seen to a judgement, each in its own file.
//!
//! A detector advises: how sure it is picks a rung of the ladder, unless the contract names one. Every doubt of it is
//! quiet, and its thresholds come from settings that a contract can fill. To add one: write `detectors/<name>.rs` with
//! `ABOUT`, `Evidence`, `Settings` and `signal`, and add its name to the table below.

pub mod breaker;
pub mod dangling_intent;
pub mod effect_witness;
pub mod efficiency;
pub mod liveness;
pub mod noop_streak;
pub mod precursor;
pub mod productivity;
pub mod scope;
pub mod stall;

use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::json::Json;

/// What a detector says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Which detector.
    pub detector: &'static str,
    /// Its judgement, one of a closed set of words.
    pub state: &'static str,
    /// How sure it is that something is wrong.
    pub confidence: Confidence,
    /// The rung that the contract names for it; `None` leaves the choice to confidence.
    pub rung: Option<&'static str>,
    /// Why, as one line.
    pub reason: String,
    /// The figures behind it.
    pub details: Json,
}

impl Signal {
    /// Whether somebody should look.
    pub fn is_concern(&self) -> bool {
        self.confidence != Confidence::None
    }

    /// The signal as a record keeps it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("detector", Json::text(self.detector)),
            ("state", Json::text(self.state)),
            ("concern", Json::Bool(self.is_concern())),
            ("details", self.details.clone()),
        ])
    }
}

/// A detector with nothing of its types showing.
#[derive(Clone, Copy, Debug)]
pub struct Detector {
    /// Its name, which is also the key of its settings.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Judges its part of what was seen.
    pub judge: fn(&Seen, &Thresholds) -> Signal,
}

macro_rules! detectors {
    ($($name:ident),+ $(,)?) => {
        /// What was seen of a run, one part for each detector. What is not filled in is quiet.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Seen {
            $(#[doc = concat!("For the detector `", stringify!($name), "`.")] pub $name: $name::Evidence,)+
        }

        impl Seen {
            /// What one detector looks at, as labelled cases write it; nothing else is filled in.
            ///
            /// ```
            /// use kernel::detectors::Seen;
            /// use values::json::Json;
            /// let written = Json::parse(br#"{"consecutive": 3}"#).unwrap();
            /// assert_eq!(Seen::read("breaker", &written).unwrap().breaker.consecutive, 3);
            /// assert!(Seen::read("braker", &written).is_err());
            /// ```
            pub fn read(detector: &str, written: &Json) -> Result<Seen, Fault> {
                let mut seen = Seen::default();
                match detector {
                    $(stringify!($name) => seen.$name = $name::Evidence::read("evidence", Some(written))?,)+
                    other => return Err(Fault::new(other, "is no detector")),
                }
                Ok(seen)
            }
        }

        /// The settings of every detector.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Thresholds {
            $(#[doc = concat!("Of the detector `", stringify!($name), "`.")] pub $name: $name::Settings,)+
        }

        impl Thresholds {
            /// Reads the settings that a contract gives; what it leaves out has its default.
            ///
            /// ```
            /// use kernel::detectors::Thresholds;
            /// use values::json::Json;
            /// let written = Json::parse(br#"{"noop_streak": {"max": 6}}"#).unwrap();
            /// assert_eq!(Thresholds::read(Some(&written)).unwrap().noop_streak.max, 6);
            /// let typo = Json::parse(br#"{"noop_steak": {}}"#).unwrap();
            /// let fault = Thresholds::read(Some(&typo)).unwrap_err().to_string();
            /// assert_eq!(fault, "`detectors.noop_steak` is not known; did you mean `noop_streak`?");
            /// ```
            pub fn read(written: Option<&Json>) -> Result<Thresholds, Fault> {
                let fields = Fields::of("detectors", written, &[$(stringify!($name)),+])?;
                Ok(Thresholds {
                    $($name: $name::Settings::read(
                        &fields.at(stringify!($name)),
                        fields.get(stringify!($name)),
                    )?,)+
                })
            }
        }

        /// Every detector there is.
        pub const DETECTORS: &[Detector] = &[$(Detector {
            name: stringify!($name),
            about: $name::ABOUT,
            judge: |seen, thresholds| $name::signal(&seen.$name, &thresholds.$name),
        }),+];
    };
}

detectors!(
    stall,
    noop_streak,
    breaker,
    productivity,
    efficiency,
    precursor,
    effect_witness,
    dangling_intent,
    liveness,
    scope,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_in_settings_name_their_place() {
        let check = |written: &str, expected: &str| {
            let written = Json::parse(written.as_bytes()).unwrap();
            let read = Thresholds::read(Some(&written));
            assert_eq!(read.map_or_else(|fault| fault.to_string(), |_| String::new()), expected);
        };
        check("{}", "");
        check(r#"{"stall":{"repeat":2,"stall":9,"ignore_tools":["sleep"]},"efficiency":{"floor":0.0001}}"#, "");
        check(r#"{"stall":{"repeat":1}}"#, "`detectors.stall.repeat` must be at least 2: one call repeats nothing");
        check(r#"{"stall":{"repeat":6}}"#, "`detectors.stall.stall` is 5, which is before `repeat` at 6");
        check(
            r#"{"breaker":{"max_consecutive":0,"max_total":0}}"#,
            "`detectors.breaker` can never trip: both limits are 0",
        );
        check(
            r#"{"breaker":{"on_trip":"JURY"}}"#,
            "`detectors.breaker.on_trip` must be one of `NONE`, `JUDGE`, `HUMAN`, `REFUSE`, not `JURY`",
        );
        check(
            r#"{"efficiency":{"floor":-1}}"#,
            "`detectors.efficiency.floor` must be a number that is not negative, not -1",
        );
        check(
            r#"{"precursor":{"requires":{"a":"b"}}}"#,
            "`detectors.precursor.requires.a` must be a list of texts, not `b`",
        );
        check(r#"{"effect_witness":{"x":1}}"#, "`detectors.effect_witness.x` is not known");
    }

    #[test]
    fn every_detector_has_its_line() {
        for detector in DETECTORS {
            assert!(!detector.about.is_empty(), "{}", detector.name);
            let signal = (detector.judge)(&Seen::default(), &Thresholds::default());
            assert_eq!(signal.detector, detector.name);
        }
    }
}
