//! Feedback laws of `FlashPass`: how fast to emulate after the loss of an epoch's emulation packets is known. Both
//! scale the rate *that epoch* was sent at, so one congestion is answered once (docs/flashpass.md tells why this
//! matters). Rates are fractions of the full emulation rate.
//!
//! [`Mimd`] is Algorithm 1 of flashpass-icnp21. [`Aimd`] is ours: keep what passed, add a step that is the same for
//! every flow, since it depends on nothing but the smoothed loss, which all flows of a bottleneck share:
//!
//! `rate = epoch rate * (1 - loss) + step * exp(-smoothed loss / decay)`
//!
//! At its fixed point every flow has the rate `step(loss) / loss`, whatever its round-trip time or history. A step that
//! shrinks as the loss grows keeps the loss below a tenth up to some 25 flows and a fifth up to some 300; beyond that
//! the step shrinks no further, and the loss grows to 60 % for 2,000, so that they still become fair in seconds.

use crate::rate::{Epoch, Rate};

/// Parameters of Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MimdConfig {
    /// Below this loss the rate grows.
    pub min_target_loss: f64,
    /// Above this loss the rate shrinks; also the step of growth.
    pub max_target_loss: f64,
}

impl Default for MimdConfig {
    fn default() -> Self {
        Self { min_target_loss: 0.01, max_target_loss: 0.10 }
    }
}

/// Algorithm 1 with each loss attributed to its epoch.
#[derive(Clone, Copy, Debug)]
pub struct Mimd {
    config: MimdConfig,
    rate: f64,
}

impl Mimd {
    /// Starts at the full rate.
    #[must_use]
    pub fn new(config: MimdConfig) -> Self {
        Self { config, rate: 1.0 }
    }
}

impl Rate for Mimd {
    fn on_epoch(&mut self, epoch: &Epoch) {
        let (loss, low, high) =
            (epoch.loss(), self.config.min_target_loss, self.config.max_target_loss);
        let rate = if loss > high {
            epoch.rate * (1.0 - loss) * (1.0 + low)
        } else if loss < low {
            epoch.rate * (1.0 + high)
        } else {
            epoch.rate
        };
        self.rate = bounded(rate, epoch.floor);
    }

    fn rate(&self) -> f64 {
        self.rate
    }
}

/// Parameters of our law. The defaults were chosen for 2 to 2,000 flows (docs/flashpass.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdConfig {
    /// The step at no loss.
    pub step: f64,
    /// The loss that shrinks the step by a factor of e.
    pub decay: f64,
    /// Losses count at most this much when they are smoothed, so that a burst of arrivals is forgotten soon.
    pub most: f64,
    /// Weight of an epoch in the smoothed loss while losses grow.
    pub gain: f64,
    /// Weight of an epoch while they shrink: larger, so that bandwidth given up by others is soon taken.
    pub ease: f64,
}

impl Default for AimdConfig {
    fn default() -> Self {
        Self { step: 0.04, decay: 0.045, most: 0.18, gain: 0.05, ease: 0.15 }
    }
}

/// Additive increase by a step that depends on the smoothed loss alone.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    config: AimdConfig,
    rate: f64,
    smoothed: Option<f64>,
}

impl Aimd {
    /// Starts at the full rate.
    #[must_use]
    pub fn new(config: AimdConfig) -> Self {
        Self { config, rate: 1.0, smoothed: None }
    }
}

impl Rate for Aimd {
    fn on_epoch(&mut self, epoch: &Epoch) {
        let AimdConfig { step, decay, most, gain, ease } = self.config;
        let loss = epoch.loss();
        let counted = loss.min(most);
        let smoothed = self
            .smoothed
            .map_or(counted, |old| old + if counted > old { gain } else { ease } * (counted - old));
        self.smoothed = Some(smoothed);
        let rate = epoch.rate * (1.0 - loss) + step * libm::exp(-smoothed / decay);
        self.rate = bounded(rate, epoch.floor);
    }

    fn rate(&self) -> f64 {
        self.rate
    }
}

/// One of the two laws, chosen at run time.
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// Algorithm 1.
    Mimd(Mimd),
    /// Ours.
    Aimd(Aimd),
}

impl Rate for Law {
    fn on_epoch(&mut self, epoch: &Epoch) {
        match self {
            Self::Mimd(law) => law.on_epoch(epoch),
            Self::Aimd(law) => law.on_epoch(epoch),
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Self::Mimd(law) => law.rate(),
            Self::Aimd(law) => law.rate(),
        }
    }
}

/// No faster than the full rate, no slower than one packet in a round trip.
fn bounded(rate: f64, floor: f64) -> f64 {
    rate.max(floor).min(1.0)
}
