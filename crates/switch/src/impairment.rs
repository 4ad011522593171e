//! Impairments of a wire besides its delay: random loss, duplication and reordering, jitter, and outages.

use shallop_core::{Span, Stream, Time};

/// A time in which the wire loses every packet; once or periodically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    pub from: Time,
    pub lasts: Span,
    /// Period from one start of an outage to the next, longer than `lasts`; `None` for a single outage.
    pub every: Option<Span>,
}

impl Outage {
    /// Whether a packet that is on the wire from `sent` to `now` meets an outage.
    fn hits(&self, sent: Time, now: Time) -> bool {
        if now < self.from {
            return false;
        }
        // Only the latest outage matters: `lasts` is shorter than the period.
        let since = now.saturating_since(self.from).as_ps();
        let begun = self.every.map_or(0, |every| since - since % every.as_ps().max(1));
        let end = self.from.saturating_add(Span::from_ps(begun)).saturating_add(self.lasts);
        sent < end
    }
}

/// Impairments of a wire. Probabilities are in [0, 1] and apply to each packet independently.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Upper bound of the random extra delay of a packet, uniform from zero. Packets keep their order.
    pub jitter: Span,
    /// Probability that a packet is delayed so that later packets overtake it.
    pub reordering: f64,
    /// Upper bound of the random extra delay of a reordered packet, uniform from zero.
    pub reordering_delay: Span,
    /// Probability that a packet is duplicated; the copy arrives directly after the packet.
    pub duplicates: f64,
    /// Outages, in which all packets on the wire are lost.
    pub outages: Vec<Outage>,
    pub stream: Stream,
}

impl Impairment {
    /// A wire without impairments. `stream` provides random draws for impairments that are set later.
    pub fn none(stream: Stream) -> Self {
        let (jitter, reordering_delay) = (Span::ZERO, Span::ZERO);
        let (loss, reordering, duplicates, outages) = (0.0, 0.0, 0.0, Vec::new());
        Self { loss, jitter, reordering, reordering_delay, duplicates, outages, stream }
    }

    /// True with this probability. Probability zero draws nothing from the stream.
    fn draw(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.stream.chance(probability)
    }

    /// Draws whether a packet is reordered, and if so its extra delay.
    pub(crate) fn draw_reordering(&mut self) -> Option<Span> {
        let is_late = self.draw(self.reordering);
        is_late.then(|| self.reordering_delay.scale(self.stream.unit()))
    }

    /// Draws whether a packet that was sent at `sent` and would arrive at `now` is delivered, lost or duplicated.
    pub(crate) fn draw_fate(&mut self, sent: Time, now: Time) -> Fate {
        if self.outages.iter().any(|outage| outage.hits(sent, now)) || self.draw(self.loss) {
            return Fate::Lost;
        }
        if self.draw(self.duplicates) { Fate::Duplicated } else { Fate::Arrives }
    }
}

/// What happens to a packet at the end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Duplicated,
    Lost,
}
