//! Which steps an intent may take, written down by hand a second time.

/// What moved an intent.
#[derive(Clone, Copy, Debug)]
pub enum Via<'a> {
    /// A claim.
    Claim,
    /// The mark before the first byte.
    Start,
    /// What an attempt observed.
    Outcome {
        /// POSITIVE, NEGATIVE or UNKNOWN.
        observed: &'a str,
        /// Whether it came under an epoch that no longer counted.
        late: bool,
    },
    /// Time, or a stop that was found on the way.
    Time,
    /// A person, and what was said.
    Person(&'a str),
}

/// Whether a step is one of those there are.
pub fn is_legal(from: &str, to: &str, via: Via<'_>, class: &str, doubts: u64) -> bool {
    let doubted = doubts > 0;
    match via {
        Via::Claim => (from, to) == ("READY", "CLAIMED"),
        Via::Start => (from, to) == ("CLAIMED", "IN_FLIGHT"),
        Via::Outcome { observed, late: false } => match (from, observed, to) {
            ("IN_FLIGHT", "POSITIVE", "SUCCEEDED") | ("IN_FLIGHT", "UNKNOWN", "IN_DOUBT") => true,
            ("IN_FLIGHT", "NEGATIVE", "FAILED") => !doubted,
            ("IN_FLIGHT", "NEGATIVE", "IN_DOUBT") => doubted,
            _ => false,
        },
        Via::Outcome { observed, late: true } => observed == "POSITIVE" && to == "SUCCEEDED" && doubted,
        Via::Time => match (from, to) {
            ("CLAIMED", "READY") | ("IN_FLIGHT", "IN_DOUBT") => true,
            ("READY" | "CLAIMED", "CANCELLED") => !doubted,
            ("READY" | "CLAIMED", "IN_DOUBT") => doubted,
            // Only what the other side can recognise or refuse is tried again without a person.
            ("IN_DOUBT", "READY") => class == "keyed" || class == "fenced",
            ("HANDED_OUT", "UNREPORTED") => true,
            _ => false,
        },
        Via::Person(decision) => match (decision, to) {
            ("HAPPENED", "SUCCEEDED") | ("DID_NOT", "ABANDONED") => true,
            ("RETRY", "READY") => from == "IN_DOUBT",
            _ => false,
        },
    }
}
