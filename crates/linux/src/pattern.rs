//! The bytes of flows, which a receiver can check: each flow has the same endless stream from another place on, so that
//! bytes which are lost, doubled, moved or of another flow are seen.

/// Bytes after which the stream repeats itself: prime, so that a shift by whole segments or pages is seen.
const PERIOD: usize = 1_048_573;
/// The longest piece that [`Pattern::at`] gives.
pub const LONGEST: usize = 1 << 16;

/// The stream.
#[derive(Clone, Debug)]
pub struct Pattern(Vec<u8>);

impl Default for Pattern {
    fn default() -> Self {
        let mut state = 1_u32;
        let mut next = || {
            // A linear congruential generator (Numerical Recipes), of which the highest bits are used.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut bytes: Vec<u8> = (0..PERIOD).map(|_| next()).collect();
        bytes.extend_from_within(..LONGEST);
        Self(bytes)
    }
}

impl Pattern {
    /// At most this many bytes of a flow, from this one on.
    pub fn at(&self, flow: u32, from: u64, most: usize) -> &[u8] {
        let start = (from.wrapping_add(u64::from(flow) * 7_919) % PERIOD as u64) as usize;
        &self.0[start..start + most.min(LONGEST)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_on_where_it_was_and_differs_between_flows() {
        let pattern = Pattern::default();
        let first = pattern.at(3, 0, 1_000);
        assert_eq!(&first[400..], pattern.at(3, 400, 600));
        assert_eq!(first, pattern.at(3, PERIOD as u64, 1_000));
        assert_ne!(first, pattern.at(4, 0, 1_000));
        assert_ne!(first, pattern.at(3, 1_448, 1_000));
        assert_eq!(pattern.at(0, 0, usize::MAX).len(), LONGEST);
    }
}
