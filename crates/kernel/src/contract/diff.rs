//! What changed between two contracts, and in which direction.

super::words! {
    /// Which way a change moves what the agent may do.
    Effect {
        /// More may happen than before.
        Widens = "widens",
        /// Less may happen than before.
        Narrows = "narrows",
        /// What may happen stays the same.
        Neutral = "neutral",
        /// It cannot be told from the text.
        Unclear = "unclear",
    }
}
