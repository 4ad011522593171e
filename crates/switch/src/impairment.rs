//! What a wire does to packets besides its delay: random loss, duplicates and reordering, jitter, and times at which
//! nothing passes.

use shallop_core::{Span, Stream, Time};

/// A time at which nothing passes, perhaps again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When it begins first.
    pub from: Time,
    /// How long it lasts.
    pub lasts: Span,
    /// How long after its beginning it begins again, if it does; longer than it lasts.
    pub every: Option<Span>,
}

impl Outage {
    /// Whether a packet is lost that is on the wire from `sent` to `now`.
    fn hits(&self, sent: Time, now: Time) -> bool {
        if now < self.from {
            return false;
        }
        // The last one that has begun. Those before it ended before it began.
        let since = now.saturating_since(self.from).as_ps();
        let begun = self.every.map_or(0, |every| since - since % every.as_ps().max(1));
        let end = self.from.saturating_add(Span::from_ps(begun)).saturating_add(self.lasts);
        sent < end
    }
}

/// What a wire does to packets.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Largest extra delay of a packet, drawn uniformly from zero. Packets keep their order.
    pub jitter: Span,
    /// Probability that a packet is late, so that others overtake it.
    pub reordering: f64,
    /// How late such a packet is at most, drawn uniformly from zero.
    pub reordering_delay: Span,
    /// Probability that a packet arrives twice, one copy directly behind the other.
    pub duplicates: f64,
    /// When nothing passes: packets that are on the wire then are lost.
    pub outages: Vec<Outage>,
    /// Source of the draws.
    pub stream: Stream,
}

impl Impairment {
    /// None, with this source of draws.
    #[must_use]
    pub fn none(stream: Stream) -> Self {
        let (jitter, reordering_delay) = (Span::ZERO, Span::ZERO);
        let (loss, reordering, duplicates, outages) = (0.0, 0.0, 0.0, Vec::new());
        Self { loss, jitter, reordering, reordering_delay, duplicates, outages, stream }
    }

    /// Draws, if the probability is not zero.
    fn draw(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.stream.chance(probability)
    }

    /// How late this packet is, if others may overtake it.
    pub(crate) fn draw_reordering(&mut self) -> Option<Span> {
        let is_late = self.draw(self.reordering);
        is_late.then(|| self.reordering_delay.scale(self.stream.unit()))
    }

    /// What becomes of a packet that was sent at `sent` and would arrive at `now`.
    pub(crate) fn draw_fate(&mut self, sent: Time, now: Time) -> Fate {
        if self.outages.iter().any(|outage| outage.hits(sent, now)) || self.draw(self.loss) {
            return Fate::Lost;
        }
        if self.draw(self.duplicates) { Fate::Twice } else { Fate::Arrives }
    }
}

/// What becomes of a packet on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// It arrives twice.
    Twice,
    /// It is lost.
    Lost,
}
