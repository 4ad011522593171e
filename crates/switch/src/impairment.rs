//! Impairments of a wire besides its delay: random loss, single or in bursts (Gilbert-Elliott), duplication and
//! reordering, jitter, and outages.

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

/// Impairments of a wire. Probabilities are in [0, 1] and apply to each packet independently, except for bursts of
/// losses.
///
/// Fields that each packet of a link with jitter uses come first, so that they are in one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Impairment {
    pub stream: Stream,
    /// Upper bound of the random extra delay of a packet, uniform from zero. Packets keep their order.
    pub jitter: Span,
    /// Probability that a packet is delayed so that later packets overtake it.
    pub reordering: f64,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Mean number of successive packets in a burst of losses, 1 or more; `None` for independent losses. The wire is in
    /// one of two states: it loses no packet or every packet. Before each packet it leaves the second with probability
    /// 1 / `loss_burst`, and the first so often that the fraction `loss` of all packets is lost (the model of Gilbert,
    /// 1960, and Elliott, 1963, with h = 0 and k = 1).
    pub loss_burst: Option<f64>,
    /// Whether the wire is in a burst of losses.
    pub in_burst: bool,
    /// Upper bound of the random extra delay of a reordered packet, uniform from zero.
    pub reordering_delay: Span,
    /// Probability that a packet is duplicated; the copy arrives directly after the packet.
    pub duplicates: f64,
    /// Outages, in which all packets on the wire are lost.
    pub outages: Vec<Outage>,
}

impl Impairment {
    /// A wire without impairments. `stream` provides random draws for impairments that are set later.
    pub fn none(stream: Stream) -> Self {
        let (jitter, reordering_delay) = (Span::ZERO, Span::ZERO);
        let (loss, reordering, duplicates, outages) = (0.0, 0.0, 0.0, Vec::new());
        let (loss_burst, in_burst) = (None, false);
        Self { stream, jitter, reordering, loss, loss_burst, in_burst, reordering_delay, duplicates, outages }
    }

    /// Whether packets may be lost or duplicated.
    pub(crate) fn has_fates(&self) -> bool {
        self.loss > 0.0 || self.loss_burst.is_some() || self.duplicates > 0.0 || !self.outages.is_empty()
    }

    /// True with this probability. Probability zero draws nothing from the stream.
    fn draw(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.stream.chance(probability)
    }

    /// Draws whether a packet is lost.
    fn draw_loss(&mut self) -> bool {
        let Some(burst) = self.loss_burst else { return self.draw(self.loss) };
        let leaves = 1.0 / burst;
        let change = if self.in_burst { leaves } else { leaves * self.loss / (1.0 - self.loss) };
        self.in_burst ^= self.draw(change);
        self.in_burst
    }

    /// Draws whether a packet is reordered, and if so its extra delay.
    pub(crate) fn draw_reordering(&mut self) -> Option<Span> {
        let is_late = self.draw(self.reordering);
        is_late.then(|| self.reordering_delay.scale(self.stream.unit()))
    }

    /// Draws whether a packet that was sent at `sent` and would arrive at `now` is delivered, lost or duplicated.
    pub(crate) fn draw_fate(&mut self, sent: Time, now: Time) -> Fate {
        if self.outages.iter().any(|outage| outage.hits(sent, now)) || self.draw_loss() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Seed;

    #[test]
    fn bursts_of_losses_have_the_mean_length_and_the_fraction_that_are_asked_for() {
        const PACKETS: usize = 2_000_000;
        for (loss, burst) in [(0.01, 1.0), (0.01, 5.0), (0.2, 3.0), (0.5, 2.0), (0.001, 50.0)] {
            let none = Impairment::none(Seed::new(1).stream("wire", 0));
            let mut wire = Impairment { loss, loss_burst: Some(burst), ..none };
            let lost: Vec<bool> = (0..PACKETS).map(|_| wire.draw_fate(Time::ZERO, Time::ZERO) == Fate::Lost).collect();
            let count = lost.iter().filter(|&&lost| lost).count() as f64;
            let bursts = usize::from(lost[0]) + lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            // Variance of the fraction: p (1 - p) / n times (1 + r) / (1 - r), r being the correlation of neighbours,
            // 1 - 1 / burst - p / ((1 - p) burst). Four standard deviations are allowed.
            let correlation: f64 = 1.0 - (1.0 + loss / (1.0 - loss)) / burst;
            let variance = loss * (1.0 - loss) / PACKETS as f64 * (1.0 + correlation) / (1.0 - correlation);
            let fraction = count / PACKETS as f64;
            assert!((fraction - loss).abs() < 4.0 * libm::sqrt(variance), "{loss} {burst}: {fraction}");
            // A geometric length has the standard deviation sqrt(burst (burst - 1)).
            let (length, deviation) = (count / bursts as f64, libm::sqrt(burst * (burst - 1.0) / bursts as f64));
            assert!((length - burst).abs() <= 4.0 * deviation + 1e-9, "{loss} {burst}: {length}");
        }
    }
}
