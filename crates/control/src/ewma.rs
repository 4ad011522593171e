//! DCTCP's estimate of the fraction of marked bytes (`alpha`), an exponentially weighted moving average over windows of
//! data: in the integers of Linux ([`Alpha`]; DCTCP, Gemini and CLEAN), and in real numbers ([`RealAlpha`]; DCTCP of
//! ns-2 and ns-3). State: alpha, and the bytes counted in the current observation window. Sources: RFC 8257, 3.3;
//! kernel: `dctcp_update_alpha`; ns-3: `TcpDctcp::PktsAcked`.

use shallop_core::Bytes;

/// The average fraction of marked bytes (alpha) of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha {
    value: u32,
    shift_g: u32,
    bytes_acked: Bytes,
    bytes_marked: Bytes,
}

impl Alpha {
    /// The value 1: all bytes are marked (kernel: `DCTCP_MAX_ALPHA`).
    pub const MAX: u32 = 1 << Self::BITS;
    /// Fractional bits of [`Alpha::value`], which is in units of 2^-10.
    pub const BITS: u32 = 10;

    /// An average that starts at `alpha`, in 2^-10. The estimation gain g is 2^-`shift_g`, with `shift_g` at most
    /// [`Alpha::BITS`] (kernel: `dctcp_shift_g`).
    pub fn new(alpha: u32, shift_g: u32) -> Self {
        let (value, shift_g) = (alpha.min(Self::MAX), shift_g.min(Self::BITS));
        Self { value, shift_g, bytes_acked: Bytes::ZERO, bytes_marked: Bytes::ZERO }
    }

    /// Counts the bytes of an ACK. `marked` is the part that was acknowledged with ECN-Echo.
    pub fn count(&mut self, acked: Bytes, marked: Bytes) {
        self.bytes_acked += acked;
        self.bytes_marked += marked;
    }

    /// Ends the observation window: updates alpha and starts counting anew.
    pub fn end_window(&mut self) {
        let (acked, marked) = (self.bytes_acked.get(), self.bytes_marked.get());
        self.value = update_alpha(self.value, self.shift_g, acked, marked);
        (self.bytes_acked, self.bytes_marked) = (Bytes::ZERO, Bytes::ZERO);
    }

    /// The average fraction of marked bytes, in 2^-10.
    pub const fn value(&self) -> u32 {
        self.value
    }
}

/// The average fraction of marked bytes of one flow, as a real number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealAlpha {
    value: f64,
    gain: f64,
    bytes_acked: Bytes,
    bytes_marked: Bytes,
}

impl RealAlpha {
    /// An average that starts at `alpha`, 0 to 1, with the estimation gain `gain`, above 0 to 1.
    pub fn new(alpha: f64, gain: f64) -> Self {
        Self { value: alpha, gain, bytes_acked: Bytes::ZERO, bytes_marked: Bytes::ZERO }
    }

    /// Counts the bytes of an ACK. `marked` is the part that was acknowledged with ECN-Echo.
    pub fn count(&mut self, acked: Bytes, marked: Bytes) {
        self.bytes_acked += acked;
        self.bytes_marked += marked;
    }

    /// Ends the observation window: updates alpha and starts counting anew.
    pub fn end_window(&mut self) {
        let (acked, marked) = (self.bytes_acked.get() as f64, self.bytes_marked.get() as f64);
        self.value += self.gain * (marked / acked.max(1.0) - self.value);
        (self.bytes_acked, self.bytes_marked) = (Bytes::ZERO, Bytes::ZERO);
    }

    /// The average fraction of marked bytes, 0 to 1.
    pub const fn value(&self) -> f64 {
        self.value
    }
}

/// Returns the new alpha, in 2^-10, after an observation window in which `marked` of `delivered` bytes (or packets)
/// were marked: `(1 - g) alpha + g marked / delivered` with `g = 2^-shift_g`, each term rounded down. An alpha so small
/// that `alpha >> shift_g` is zero becomes zero.
pub fn update_alpha(alpha: u32, shift_g: u32, delivered: u64, marked: u64) -> u32 {
    let decay = match alpha >> shift_g {
        0 => alpha,
        decay => decay,
    };
    let gain = (u128::from(marked) << (Alpha::BITS - shift_g)) / u128::from(delivered.max(1));
    let sum = u128::from(alpha - decay) + gain;
    u32::try_from(sum).map_or(Alpha::MAX, |sum| sum.min(Alpha::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: Bytes = Bytes::new(1_460);

    /// Applies a window of `segments` segments, of which `marked` were marked, and returns the new alpha.
    fn window(alpha: &mut Alpha, segments: u64, marked: u64) -> u32 {
        alpha.count(SEGMENT * segments, SEGMENT * marked);
        alpha.end_window();
        alpha.value()
    }

    #[test]
    fn without_marks_alpha_decays_as_in_linux_and_is_zero_after_75_windows() {
        let mut alpha = Alpha::new(Alpha::MAX, 4);
        let first: Vec<u32> = (0..7).map(|_| window(&mut alpha, 10, 0)).collect();
        assert_eq!(first, [960, 900, 844, 792, 743, 697, 654]);
        let zero = (8..200).find(|_| window(&mut alpha, 10, 0) == 0);
        assert_eq!(zero, Some(75));
    }

    #[test]
    fn one_marked_window_adds_g_and_marked_windows_alone_lead_to_one() {
        let mut alpha = Alpha::new(0, 4);
        assert_eq!(window(&mut alpha, 10, 10), 64);
        (0..200).for_each(|_| _ = window(&mut alpha, 10, 10));
        assert_eq!(alpha.value(), Alpha::MAX);
        assert_eq!(window(&mut Alpha::new(1024, 0), 8, 2), 256, "g = 1 keeps no history");
        assert_eq!(window(&mut Alpha::new(1024, 4), 0, 0), 960, "an empty window");
    }

    #[test]
    fn alpha_stays_within_1_32_of_the_average_in_real_numbers() {
        for marked in 0..=20u64 {
            let (mut alpha, mut real) = (Alpha::new(Alpha::MAX, 4), 1.0f64);
            for _ in 0..300 {
                real += (marked as f64 / 20.0 - real) / 16.0;
                let alpha = f64::from(window(&mut alpha, 20, marked)) / 1024.0;
                assert!((alpha - real).abs() <= 1.0 / 32.0, "{marked}: {alpha} against {real}");
            }
        }
    }
}
