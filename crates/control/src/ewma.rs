//! The part of the bytes that was marked, smoothed over windows of data, in integers as Linux has it. State: the
//! smoothed part in 1/1024, and the bytes of the present window. Sources: RFC 8257, 3.3; kernel: `dctcp_update_alpha`.

use shallop_core::Bytes;

/// The smoothed part of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    alpha: u32,
    shift: u32,
    acked: Bytes,
    echoed: Bytes,
}

impl Marked {
    /// All of them, in the units of [`Marked::alpha`].
    pub const ONE: u32 = 1 << Self::BITS;
    /// [`Marked::alpha`] is in 2^-10.
    pub const BITS: u32 = 10;

    /// Begins at `alpha`; a window weighs 2^-`shift`, `shift` up to [`Marked::BITS`].
    #[must_use]
    pub fn new(alpha: u32, shift: u32) -> Self {
        let (alpha, shift) = (alpha.min(Self::ONE), shift.min(Self::BITS));
        Self { alpha, shift, acked: Bytes::ZERO, echoed: Bytes::ZERO }
    }

    /// The shift by which a window weighs this much: the power of one half that it is, if it is one.
    #[must_use]
    pub fn shift(weight: f64) -> Option<u32> {
        (0..=Self::BITS).find(|&shift| (weight * f64::from(1u32 << shift) - 1.0).abs() < 1e-9)
    }

    /// So many bytes were acknowledged, and of them so many as marked.
    pub fn count(&mut self, acked: Bytes, marked: Bytes) {
        self.acked += acked;
        self.echoed += marked;
    }

    /// A window of data ends.
    pub fn end_window(&mut self) {
        self.alpha = smooth(self.alpha, self.shift, self.acked.get(), self.echoed.get());
        (self.acked, self.echoed) = (Bytes::ZERO, Bytes::ZERO);
    }

    /// The smoothed part, in 1/1024.
    #[must_use]
    pub const fn alpha(&self) -> u32 {
        self.alpha
    }
}

/// Alpha after a window of data, of which so much was delivered and of that so much marked, in any one unit.
/// `(1 - g) alpha + g marked / delivered` with `g = 2^-shift`, each term rounded down; what is smaller than can be
/// reduced by a part of itself goes to zero at once.
#[must_use]
pub fn smooth(alpha: u32, shift: u32, delivered: u64, marked: u64) -> u32 {
    let less = match alpha >> shift {
        0 => alpha,
        part => part,
    };
    let more = (u128::from(marked) << (Marked::BITS - shift)) / u128::from(delivered.max(1));
    let sum = u128::from(alpha - less) + more;
    u32::try_from(sum).map_or(Marked::ONE, |sum| sum.min(Marked::ONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: Bytes = Bytes::new(1_460);

    fn window(marked: &mut Marked, of: u64, part: u64) -> u32 {
        marked.count(SEGMENT * of, SEGMENT * part);
        marked.end_window();
        marked.alpha()
    }

    #[test]
    fn without_marks_it_decays_as_in_linux_and_is_nothing_after_75_windows() {
        let mut marked = Marked::new(Marked::ONE, 4);
        let first: Vec<u32> = (0..7).map(|_| window(&mut marked, 10, 0)).collect();
        assert_eq!(first, [960, 900, 844, 792, 743, 697, 654]);
        let zero = (8..200).find(|_| window(&mut marked, 10, 0) == 0);
        assert_eq!(zero, Some(75));
    }

    #[test]
    fn one_marked_window_adds_its_weight_and_nothing_but_marks_ends_near_one() {
        let mut marked = Marked::new(0, 4);
        assert_eq!(window(&mut marked, 10, 10), 64);
        (0..200).for_each(|_| _ = window(&mut marked, 10, 10));
        assert_eq!(marked.alpha(), Marked::ONE);
        assert_eq!(window(&mut Marked::new(1024, 0), 8, 2), 256, "a gain of one forgets");
        assert_eq!(window(&mut Marked::new(1024, 4), 0, 0), 960, "a window of nothing");
    }

    #[test]
    fn it_stays_within_a_thirty_second_of_the_real_average() {
        for part in 0..=20u64 {
            let (mut marked, mut real) = (Marked::new(Marked::ONE, 4), 1.0f64);
            for _ in 0..300 {
                real += (part as f64 / 20.0 - real) / 16.0;
                let alpha = f64::from(window(&mut marked, 20, part)) / 1024.0;
                assert!((alpha - real).abs() <= 1.0 / 32.0, "{part}: {alpha} against {real}");
            }
        }
    }
}
