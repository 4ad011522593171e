//! The payload of flows, which receivers check. All flows send one repeating stream, each from another position, so
//! that receivers detect bytes that are lost, duplicated, reordered or of another flow.

/// The period of the stream in bytes. It is prime, so that a shift by whole segments or pages is detected.
const PERIOD: usize = 1_048_573;
/// The longest piece of [`Pattern::at`], in bytes.
pub const LONGEST: usize = 1 << 16;

/// The stream of payload.
#[derive(Clone, Debug)]
pub struct Pattern(Vec<u8>);

impl Default for Pattern {
    fn default() -> Self {
        let mut state = 1_u32;
        let mut next = || {
            // The highest bits of a linear congruential generator (Numerical Recipes).
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut bytes: Vec<u8> = (0..PERIOD).map(|_| next()).collect();
        bytes.extend_from_within(..LONGEST);
        Self(bytes)
    }
}

impl Pattern {
    /// The bytes of a flow from position `from` on, at most `most` of them.
    pub fn at(&self, flow: u32, from: u64, most: usize) -> &[u8] {
        let start = (from.wrapping_add(u64::from(flow) * 7_919) % PERIOD as u64) as usize;
        &self.0[start..start + most.min(LONGEST)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_flow_fit_together_and_flows_differ() {
        let pattern = Pattern::default();
        let first = pattern.at(3, 0, 1_000);
        assert_eq!(&first[400..], pattern.at(3, 400, 600));
        assert_eq!(first, pattern.at(3, PERIOD as u64, 1_000));
        assert_ne!(first, pattern.at(4, 0, 1_000));
        assert_ne!(first, pattern.at(3, 1_448, 1_000));
        assert_eq!(pattern.at(0, 0, usize::MAX).len(), LONGEST);
    }
}
