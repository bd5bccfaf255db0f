//! How long judging took.

use values::json::Json;

/// Times that are kept; with more cases every second one is dropped, again and again.
const KEPT_MAX: usize = 65_536;

/// Nanoseconds of many cases, in bounded memory.
#[derive(Clone, Debug)]
pub struct Latency {
    kept: Vec<u64>,
    /// One of so many is kept.
    every: u64,
    seen: u64,
    longest: u64,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency { kept: Vec::new(), every: 1, seen: 0, longest: 0 }
    }
}

impl Latency {
    /// Takes the time of one case.
    pub fn add(&mut self, nanos: u64) {
        if self.kept.len() >= KEPT_MAX {
            let mut is_kept = false;
            self.kept.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.every *= 2;
        }
        if self.seen.is_multiple_of(self.every) {
            self.kept.push(nanos);
        }
        self.seen += 1;
        self.longest = self.longest.max(nanos);
    }

    /// The time that so many of a hundred cases stayed within; nothing where nothing was measured.
    pub fn percentile(&self, hundredths: usize) -> Option<u64> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let place = (sorted.len() * hundredths).div_ceil(100).max(1) - 1;
        sorted.get(place).copied()
    }

    /// `p50 12 µs, p95 40 µs, p99 71 µs, longest 80 µs`; nothing where nothing was measured.
    pub fn to_text(&self) -> Option<String> {
        let told = |share| self.percentile(share).map(micros);
        let (half, most, nearly) = (told(50)?, told(95)?, told(99)?);
        Some(format!("p50 {half} µs, p95 {most} µs, p99 {nearly} µs, longest {} µs", micros(self.longest)))
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let told = |share| self.percentile(share).map_or(Json::Null, |nanos| Json::text(micros(nanos)));
        let longest = if self.seen > 0 { Json::text(micros(self.longest)) } else { Json::Null };
        Json::object([("p50_us", told(50)), ("p95_us", told(95)), ("p99_us", told(99)), ("longest_us", longest)])
    }
}

fn micros(nanos: u64) -> String {
    format!("{}.{}", nanos / 1_000, nanos % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_stay_true_in_bounded_memory() {
        let mut latency = Latency::default();
        assert_eq!(latency.percentile(50), None);
        for nanos in 1..=1_000_000 {
            latency.add(nanos);
        }
        assert!(latency.kept.len() <= KEPT_MAX);
        let half = latency.percentile(50).unwrap();
        assert!((490_000..510_000).contains(&half), "{half}");
        assert_eq!(latency.to_json().get("longest_us"), Some(&Json::text("1000.0")));
    }
}
