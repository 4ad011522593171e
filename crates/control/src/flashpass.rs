//! Emulation feedback control of `FlashPass`: sets the rate of emulation packets from the loss rate of each epoch. Both
//! rules scale the rate at which *that epoch* was sent, so that one congestion is answered once (docs/flashpass.md
//! explains why this matters). Units: fractions of the maximum emulation rate.
//!
//! [`Mimd`] is Algorithm 1 of Zeng et al., `FlashPass` (ICNP 2021). [`Aimd`] is this project's alternative: the rate
//! that was delivered, plus an additive step. The step depends only on the smoothed loss rate, which all flows of a
//! bottleneck share, so all flows add the same step:
//!
//! `rate = epoch rate * (1 - loss) + step * exp(-smoothed loss / decay)`
//!
//! At the fixed point every flow has the rate `step * exp(-loss / decay) / loss`, whatever its RTT or its initial rate.
//! Since the step shrinks as the loss rate grows, the loss rate stays below 10 % up to about 25 flows and below 20 % up
//! to about 300. Beyond that the step is constant and the loss rate grows, to 60 % with 2,000 flows, which keeps the
//! convergence to fair rates within seconds.

use crate::rate::{Epoch, Rate};
use shallop_options::{Options, Problem, Section};

/// Parameters of Algorithm 1 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults, check)]
pub struct MimdConfig {
    /// The rate increases, by the factor 1 + `max_target_loss`, if the loss of an epoch is below this (paper, IV.A).
    #[key(Number(0.0, 1.0), default = 0.01)]
    pub min_target_loss: f64,
    /// The rate decreases, by the factor (1 - loss) (1 + `min_target_loss`), if the loss of an epoch is above this
    /// (paper, IV.A).
    #[key(Number(0.0, 1.0), default = 0.1)]
    pub max_target_loss: f64,
    /// Whether a loss covers the emulation packets of one epoch, and scales their rate. Otherwise it compares the
    /// credits that came in during a round trip with the emulation packets that left in it, as line 1 of Algorithm 1
    /// does, and scales the current rate: the default of `flashpass-paper`.
    #[key(default = true)]
    pub attribute: bool,
    /// Without `attribute`: the number of emulation packets that must have left before the rate changes, in a round
    /// trip or in several. In a smaller sample one packet more or less is a loss above `max_target_loss`.
    #[key(Integer(1, 100_000), shown = "1 / `max_target_loss`: 10")]
    pub min_sample: Option<u32>,
}

impl MimdConfig {
    /// The emulation packets that a change of the rate takes without `attribute`.
    pub fn min_sample(&self) -> u32 {
        self.min_sample.unwrap_or((1.0 / self.max_target_loss.max(1e-5)).ceil() as u32)
    }

    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let Self { min_target_loss: low, max_target_loss: high, .. } = self;
        if low <= high {
            return Ok(());
        }
        let keys = Self::KEY;
        let written = section.is_written(keys.min_target_loss);
        let key = if written { keys.min_target_loss } else { keys.max_target_loss };
        Err(section.reject(key, format!("the band is upside down: from {low} to {high}")))
    }
}

/// The paper's rule (Algorithm 1): multiplicative increase and decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimd {
    config: MimdConfig,
    cur_rate: f64,
}

impl Mimd {
    /// The rule of a new flow, at this fraction of the maximum rate.
    pub fn new(config: MimdConfig, cur_rate: f64) -> Self {
        Self { config, cur_rate }
    }
}

impl Rate for Mimd {
    fn on_epoch(&mut self, epoch: &Epoch) {
        let MimdConfig { min_target_loss, max_target_loss, .. } = self.config;
        let (loss, before) = (epoch.loss(), epoch.rate);
        let rate = if loss > max_target_loss {
            before * (1.0 - loss) * (1.0 + min_target_loss)
        } else if loss < min_target_loss {
            before * (1.0 + max_target_loss)
        } else {
            before
        };
        self.cur_rate = bounded(rate, epoch.min_rate);
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }
}

/// Parameters of this project's rule. The defaults were chosen for 2 to 2,000 flows (docs/flashpass.md).
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct AimdConfig {
    /// The additive increase at no loss, per epoch, as a fraction of the full emulation rate.
    #[key(Above(0.0, 1.0), default = 0.04, was = "step")]
    pub increase: f64,
    /// The smoothed loss at which the additive increase is smaller by a factor of e.
    #[key(Above(0.0, 10.0), default = 0.045)]
    pub decay: f64,
    /// The largest loss of an epoch that the smoothed loss takes in, so that it soon forgets a burst of arrivals.
    #[key(Above(0.0, 1.0), default = 0.18, was = "most")]
    pub max_loss: f64,
    /// The weight of an epoch in the smoothed loss while the loss rises.
    #[key(Above(0.0, 1.0), default = 0.05, was = "gain")]
    pub gain_rising: f64,
    /// The weight of an epoch in the smoothed loss while the loss falls: larger, so that bandwidth given up by others
    /// is soon used.
    #[key(Above(0.0, 1.0), default = 0.15, was = "ease")]
    pub gain_falling: f64,
}

/// This project's rule: additive increase by a step that depends only on the smoothed loss rate, and multiplicative
/// decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimd {
    config: AimdConfig,
    cur_rate: f64,
    smoothed_loss: Option<f64>,
}

impl Aimd {
    /// The rule of a new flow, at this fraction of the maximum rate.
    pub fn new(config: AimdConfig, cur_rate: f64) -> Self {
        Self { config, cur_rate, smoothed_loss: None }
    }
}

impl Rate for Aimd {
    fn on_epoch(&mut self, epoch: &Epoch) {
        let AimdConfig { increase, decay, max_loss, gain_rising, gain_falling } = self.config;
        let loss = epoch.loss();
        let sample = loss.min(max_loss);
        let smoothed_loss = self
            .smoothed_loss
            .map_or(sample, |old| old + if sample > old { gain_rising } else { gain_falling } * (sample - old));
        self.smoothed_loss = Some(smoothed_loss);
        let rate = epoch.rate * (1.0 - loss) + increase * libm::exp(-smoothed_loss / decay);
        self.cur_rate = bounded(rate, epoch.min_rate);
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }
}

/// A feedback rule of `FlashPass`, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Multiplicative increase and decrease: Algorithm 1 of the paper.
    Mimd(Mimd),
    /// Additive increase and multiplicative decrease: this project's alternative.
    Aimd(Aimd),
    /// No feedback: this fraction of the maximum rate, whatever is lost.
    Fixed(f64),
}

impl Rate for Law {
    fn on_epoch(&mut self, epoch: &Epoch) {
        match self {
            Self::Mimd(law) => law.on_epoch(epoch),
            Self::Aimd(law) => law.on_epoch(epoch),
            Self::Fixed(_) => {}
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Self::Mimd(law) => law.rate(),
            Self::Aimd(law) => law.rate(),
            Self::Fixed(rate) => *rate,
        }
    }
}

/// Limits a rate to the range from `min_rate`, one packet per round trip, to the maximum rate.
fn bounded(rate: f64, min_rate: f64) -> f64 {
    rate.max(min_rate).min(1.0)
}
