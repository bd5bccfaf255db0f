//! Monitors: pure detectors of drift in a series of numbers.
//!
//! The only place of the kernel with binary floats. Logarithms and exponentials come from a pinned library in Rust and
//! random choices from a seed in the settings, so a series gives the same alarms on every machine.

mod adwin;
mod band;
mod cusum;
mod ddm;
mod e_sr;
mod eddm;
mod hddm_a;
mod hddm_w;
mod input;
mod kswin;
mod margin;
mod mersenne;
mod page_hinkley;
mod running_mean;
mod settings;
mod slots;

pub use input::Input;
pub use settings::{SettingFault, Settings};
pub use slots::Slots;

use crate::contract::words;
use values::decimal::Decimal;

/// Most values that a monitor keeps; more would make every decision that moves it dear.
pub const WINDOW_MAX: u64 = 10_000;

words! {
    /// The kinds of monitors.
    MonitorKind {
        /// The mean of a rolling window leaves its band.
        Mean = "mean",
        /// The sum of a rolling window leaves its band.
        Sum = "sum",
        /// The share of ones in a rolling window leaves its band.
        Share = "share",
        /// Value less cost stays negative.
        Margin = "margin",
        /// Mixture e-Shiryaev–Roberts: a rate, with a guarantee.
        ESr = "e_sr",
        /// Cumulative sum: a mean or a rate, with a guarantee.
        Cusum = "cusum",
        /// Adaptive windowing.
        Adwin = "adwin",
        /// Page–Hinkley test.
        PageHinkley = "page_hinkley",
        /// Drift detection method, on errors.
        Ddm = "ddm",
        /// Early drift detection method, on distances between errors.
        Eddm = "eddm",
        /// Hoeffding bounds on averages.
        HddmA = "hddm_a",
        /// McDiarmid bounds on weighted averages.
        HddmW = "hddm_w",
        /// Kolmogorov–Smirnov test on a sliding window.
        Kswin = "kswin",
    }
}

impl MonitorKind {
    /// Whether it only warns: nothing bounds how often it is wrong, so it must not stop an agent.
    pub fn only_warns(self) -> bool {
        match self {
            MonitorKind::Mean | MonitorKind::Sum | MonitorKind::Share | MonitorKind::Margin => false,
            MonitorKind::ESr | MonitorKind::Cusum => false,
            MonitorKind::Adwin | MonitorKind::PageHinkley | MonitorKind::Ddm | MonitorKind::Eddm => true,
            MonitorKind::HddmA | MonitorKind::HddmW | MonitorKind::Kswin => true,
        }
    }
}

/// What a monitor says of one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signal {
    /// It has changed. The monitor starts anew with the next value.
    pub drift: bool,
    /// It may be changing.
    pub warning: bool,
}

impl Signal {
    pub(crate) const QUIET: Signal = Signal { drift: false, warning: false };

    pub(crate) fn drift(drift: bool) -> Signal {
        Signal { drift, warning: false }
    }
}

/// What a monitor measures now, and when that is an alarm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What is measured, in decimal text.
    pub statistic: String,
    /// What it is compared with.
    pub threshold: String,
    /// How many of the latest values it covers.
    pub window: u64,
}

impl Reading {
    fn of(statistic: f64, threshold: f64, window: f64) -> Reading {
        Reading { statistic: short(statistic), threshold: short(threshold), window: whole(window) }
    }

    fn exact(statistic: Decimal, threshold: Decimal, window: u64) -> Reading {
        Reading { statistic: statistic.to_string(), threshold: threshold.to_string(), window }
    }

    /// What an alarm says that has nothing measured: no alarm is kept back for that.
    pub(crate) fn unknown() -> Reading {
        Reading { statistic: "unknown".to_owned(), threshold: "unknown".to_owned(), window: 1 }
    }

    /// How far the statistic is on its way to the threshold, in hundredths. Nothing where that has no meaning.
    fn hundredths(&self, falls: bool) -> Option<u64> {
        let (statistic, threshold) = (self.statistic.parse::<f64>().ok()?, self.threshold.parse::<f64>().ok()?);
        let share = match falls {
            true if statistic <= threshold => 1.0,
            true => threshold / statistic,
            false => statistic / threshold,
        };
        share.is_finite().then(|| whole(share.clamp(0.0, 100.0) * 100.0))
    }
}

/// Six digits are enough to read; the state keeps all.
fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return format!("{number}");
    }
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    format!("{rounded}")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts and clamped shares fit")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// A window or a count as a float: both are far below 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

/// What every monitor can do. `update` is pure but for the monitor itself.
trait Detect: Sized {
    /// Takes the next value.
    fn update(&mut self, input: &Input) -> Signal;
    /// What it measures, once there is something to measure; always where it has just alarmed or warned.
    fn reading(&self) -> Option<Reading>;
    /// Whether the statistic falls to its threshold, and does not rise to it.
    fn falls(&self) -> bool {
        false
    }
    /// How often it is wrong, in words.
    fn guarantee(&self) -> String;
    /// Its state as numbers; settings are not among them.
    fn save(&self, slots: &mut Slots);
    /// The state that [`Detect::save`] wrote; `None` is damage.
    fn load(&mut self, slots: &mut Slots) -> Option<()>;
    /// What it makes of a value that it cannot take.
    fn refuses(&self, _input: &Input) -> Option<&'static str> {
        None
    }
    /// Whether it takes a value as another one, for which its guarantee does not hold.
    fn clamps(&self, _input: &Input) -> bool {
        false
    }
}

macro_rules! monitors {
    ($($name:ident = $($kind:ident)|+ => $detector:ty;)+) => {
        /// A monitor with its settings and its state.
        #[derive(Clone, PartialEq, Debug)]
        enum Detector { $($name($detector)),+ }

        impl Detector {
            fn new(kind: MonitorKind, settings: &mut Settings) -> Result<Detector, SettingFault> {
                Ok(match kind { $($(MonitorKind::$kind)|+ => Detector::$name(<$detector>::new(kind, settings)?)),+ })
            }

            fn update(&mut self, input: &Input) -> Signal {
                match self { $(Detector::$name(detector) => detector.update(input)),+ }
            }

            fn reading(&self) -> Option<Reading> {
                match self { $(Detector::$name(detector) => detector.reading()),+ }
            }

            fn falls(&self) -> bool {
                match self { $(Detector::$name(detector) => detector.falls()),+ }
            }

            fn guarantee(&self) -> String {
                match self { $(Detector::$name(detector) => detector.guarantee()),+ }
            }

            fn save(&self, slots: &mut Slots) {
                match self { $(Detector::$name(detector) => detector.save(slots)),+ }
            }

            fn load(&mut self, slots: &mut Slots) -> Option<()> {
                match self { $(Detector::$name(detector) => detector.load(slots)),+ }
            }

            fn clamps(&self, input: &Input) -> bool {
                match self { $(Detector::$name(detector) => detector.clamps(input)),+ }
            }

            fn refuses(&self, input: &Input) -> Option<&'static str> {
                match self { $(Detector::$name(detector) => detector.refuses(input)),+ }
            }
        }
    };
}

monitors! {
    Band = Mean | Sum | Share => band::Band;
    Margin = Margin => margin::Margin;
    ESr = ESr => e_sr::ESr;
    Cusum = Cusum => cusum::Cusum;
    Adwin = Adwin => adwin::Adwin;
    PageHinkley = PageHinkley => page_hinkley::PageHinkley;
    Ddm = Ddm => ddm::Ddm;
    Eddm = Eddm => eddm::Eddm;
    HddmA = HddmA => hddm_a::HddmA;
    HddmW = HddmW => hddm_w::HddmW;
    Kswin = Kswin => kswin::Kswin;
}

/// A monitor over one series.
#[derive(Clone, PartialEq, Debug)]
pub struct Monitor {
    /// Settings without state, to start anew from.
    fresh: Box<Detector>,
    now: Box<Detector>,
    /// The last value was a drift: the next one starts anew.
    over: bool,
}

impl Monitor {
    /// A monitor that has seen nothing. Every setting must be one that its kind has.
    pub fn new(kind: MonitorKind, mut settings: Settings) -> Result<Monitor, SettingFault> {
        let fresh = Box::new(Detector::new(kind, &mut settings)?);
        settings.finish(kind.word())?;
        Ok(Monitor { now: fresh.clone(), fresh, over: false })
    }

    /// Takes the next value; after a drift it starts anew.
    pub fn update(&mut self, input: &Input) -> Signal {
        if self.over {
            self.restart();
        }
        let signal = self.now.update(input);
        self.over = signal.drift;
        signal
    }

    /// Forgets everything but the settings.
    pub fn restart(&mut self) {
        self.now = self.fresh.clone();
        self.over = false;
    }

    /// Whether it takes this value as the nearer end of what it can take; its guarantee does not hold then.
    pub fn clamps(&self, input: &Input) -> bool {
        self.now.clamps(input)
    }

    /// Why it cannot take this value.
    pub fn refuses(&self, input: &Input) -> Option<&'static str> {
        self.now.refuses(input)
    }

    /// What it measures now.
    pub fn reading(&self) -> Option<Reading> {
        self.now.reading()
    }

    /// How far the statistic is on its way to the threshold, in hundredths, for a chart. Nothing where that has no
    /// meaning.
    pub fn hundredths(&self) -> Option<u64> {
        self.reading()?.hundredths(self.now.falls())
    }

    /// How often it is wrong, in words.
    pub fn guarantee(&self) -> String {
        self.fresh.guarantee()
    }

    /// Its state as one line of text; settings are not in it.
    pub fn state(&self) -> String {
        let mut slots = Slots::default();
        slots.flag(self.over);
        self.now.save(&mut slots);
        slots.into_text()
    }

    /// Goes on from what [`Monitor::state`] wrote; `None` is damage.
    pub fn restore(&mut self, state: &str) -> Option<()> {
        let mut slots = Slots::parse(state);
        let over = slots.next_flag()?;
        let mut now = self.fresh.clone();
        now.load(&mut slots)?;
        if !slots.is_read() {
            return None;
        }
        (self.now, self.over) = (now, over);
        Some(())
    }
}

#[cfg(test)]
mod tests;
