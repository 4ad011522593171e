//! A run of metered packets: credits or emulation packets that an endpoint sends by its own clock and random stream
//! until it gets another input. A driver may compute the packets of a run late, and packets that the network drops are
//! then only counted.

use crate::flashpass::head::round_up_to_step;
use shallop_core::{Class, Span, Stream, Time};

/// The packets that an endpoint sends from `at` on and before `until`, unless it gets an input earlier.
#[derive(Clone, Debug)]
pub struct MeteredRun {
    /// When the next packet is sent.
    pub at: Time,
    /// Packets at this time or later are not in the run.
    pub until: Time,
    /// Number of metered packets that the endpoint has sent.
    pub sent: u64,
    /// When the last packet of the run was sent; without meaning before the first one.
    pub last: Time,
    pub class: Class,
    /// Size on the wire of the smallest packet, in bytes.
    pub min_size: u16,
    /// The number of sizes from which the size of a packet is drawn; each is one byte larger than the previous.
    pub sizes: u16,
    pub(crate) random: Stream,
    pub(crate) clock: Clock,
}

/// When the packets of a run are sent.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// Packets have slots of equal length, and leave early or late by at most `jitter`. `slot` is the slot of the next.
    Slots { slot: Time, gap: Span, jitter: Span },
    /// The gap to the next packet is `gap` times one plus a random number between `low` and `high`.
    Gaps { gap: Span, low: f64, high: f64 },
}

impl MeteredRun {
    /// Size of the next packet in bytes.
    #[inline]
    pub fn size(&self) -> u16 {
        match self.sizes {
            1 => self.min_size,
            sizes => self.min_size + self.random.clone().below(u64::from(sizes)) as u16,
        }
    }

    /// Moves on to the next packet.
    #[inline]
    pub fn advance(&mut self) {
        self.last = self.at;
        self.sent += 1;
        if self.sizes > 1 {
            self.random.draw();
        }
        self.at = match &mut self.clock {
            Clock::Slots { slot, gap, jitter } => {
                *slot += *gap;
                jittered_slot(*slot, *jitter, &mut self.random)
            }
            Clock::Gaps { gap, low, high } => self.at.saturating_add(jittered_gap(*gap, *low, *high, &mut self.random)),
        };
    }
}

/// Draws a time within `jitter` around a slot, uniform, and rounds it up to the resolution of timestamps.
#[inline]
pub(crate) fn jittered_slot(slot: Time, jitter: Span, random: &mut Stream) -> Time {
    let offset = Span::from_ps(random.below(jitter.as_ps() * 2 + 1));
    round_up_to_step((slot - jitter) + offset)
}

/// Draws the gap to the next packet. It is at least a picosecond, so that time advances whatever the jitter.
#[inline]
pub(crate) fn jittered_gap(gap: Span, low: f64, high: f64, random: &mut Stream) -> Span {
    let factor = if low < high { random.between(low, high) } else { low };
    gap.scale(1.0 + factor).max(Span::from_ps(1))
}
