//! The seed of a run, split into named random streams. Each user of randomness draws from its own stream, so that an
//! additional draw in one place does not change the draws in another.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Number that determines all random draws of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

/// Random stream of one user. Equal seeds, names and ids give equal draws.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Seed {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The random stream of the user with this name and number, for example the delays of link 3.
    pub fn stream(self, name: &str, id: u64) -> Stream {
        let mut state = mix(self.0);
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        let (low, high) = (mix(state ^ id), mix(mix(state ^ id) ^ u64::MAX));
        Stream(Pcg64Mcg::from_seed(((u128::from(high) << 64) | u128::from(low)).to_le_bytes()))
    }
}

/// Finaliser of `SplitMix64` (Steele, Lea, Flood 2014): similar seeds give unrelated states.
pub(crate) const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hash of a number, for choices that must be equal in every run, such as the path of a flow.
pub const fn hash(value: u64) -> u64 {
    mix(value)
}

impl Stream {
    /// Draws a number uniform over all 64-bit values.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number uniform in [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a number uniform in [`low`, `high`).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Draws a number uniform in 0..`bound`; 0 for a `bound` of 0. The bias is below 2^-32 for bounds below 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws true with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_name_and_id_and_repeat_otherwise() {
        let first = |seed: u64, name: &str, id| Seed::new(seed).stream(name, id).draw();
        let all = [first(1, "ecmp", 0), first(2, "ecmp", 0), first(1, "jitter", 0), first(1, "ecmp", 1)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
        assert_eq!(first(1, "ecmp", 0), first(1, "ecmp", 0));
    }

    #[test]
    fn draws_are_spread_over_their_range() {
        let mut stream = Seed::new(7).stream("test", 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_600..10_400).contains(&n)), "{counts:?}");
        let mean = (0..100_000).map(|_| stream.unit()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
