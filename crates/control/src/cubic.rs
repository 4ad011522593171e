//! CUBIC: after a congestion event cwnd follows a cubic function of time, which is flat near the cwnd at which the
//! congestion occurred (`W_max`). Variables have the names of RFC 9438, 4.1. State: `W_max`, `cwnd_prior`, and the
//! current congestion avoidance epoch with `K` and `W_est`, the cwnd that Reno would have. Units: segments, as real
//! numbers; seconds. Time in which cwnd does not limit the sender is not counted. Sources: RFC 9438; kernel:
//! `tcp_cubic.c`.

use crate::bictcp::{Bictcp, Law, Step};
use crate::hystart::{self, SlowStart, SlowStartStep};
use crate::options::{ControllerName, Marking, Parameters};
use crate::pacing::Pacing;
use crate::window::{Ack, Basis, Loss, Start, Undo, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_options::{HostStack, Options, string_enum};

/// Upper bound of the target in units of cwnd: cwnd grows by at most half of itself per round trip (RFC 9438, 4.2).
const MAX_TARGET: f64 = 1.5;
/// Lower bound of the target in units of cwnd, for Linux before the first loss: cwnd grows by at least 5 % per round
/// trip (`bictcp_update`: `cnt` is at most 20 while `last_max_cwnd` is zero).
const LINUX_MIN_TARGET: f64 = 1.05;

/// Which specification the details of the growth follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// RFC 9438: the target is `W_cubic(t + SRTT)`; `alpha_cubic` becomes 1 once `W_est` reaches `cwnd_prior`.
    Rfc,
    /// Linux: the target is `W_cubic(t + minimum RTT)`; `alpha_cubic` is constant; before the first loss cwnd grows by
    /// at least 5 % per round trip.
    Linux,
    /// The arithmetic of Linux in whole segments and milliseconds (`Bictcp`).
    Kernel,
}

string_enum! { Variant { Rfc = "rfc", Linux = "linux", Kernel = "kernel" } }

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults)]
pub struct Config {
    /// Multiplicative decrease: the fraction of `basis` by which congestion reduces the congestion window, `1 -
    /// beta_cubic`. RFC 9438, 4.6: 0.3; Linux: 307/1024; kernels of 2007 and the papers' "beta 0.2": 0.2.
    #[key(
        Above(0.0, 0.99),
        default = match stack {
            HostStack::Ns2 => 0.2,
            HostStack::Ns3 => 0.3,
            _ => 307.0 / 1024.0,
        }
    )]
    pub decrease: f64,
    /// C, which scales the cubic function, in segments per cubic second (RFC 9438: 0.4; Linux: 410/1024).
    #[key(Above(0.0, 100.0), default = 410.0 / 1024.0)]
    pub scale: f64,
    /// Whether `W_max` is reduced further if the congestion window has not reached the previous `W_max`,
    /// which frees bandwidth for new flows (RFC 9438, 4.7).
    #[key(default = true)]
    pub fast_convergence: bool,
    /// Whether the congestion window is at least the one that Reno would have (RFC 9438, 4.3).
    #[key(default = true)]
    pub reno_friendly: bool,
    /// The quantity that the multiplicative decrease applies to: the bytes in flight (`"flight"`, RFC 9438) or the
    /// congestion window (`"window"`, Linux).
    #[key(default = Basis::Window)]
    pub basis: Basis,
    /// The variant of CUBIC. `"rfc"`: the target is the cubic curve one smoothed round-trip time ahead, and Reno's
    /// growth becomes a segment per round trip at the old window. `"linux"`: the minimum round-trip time, Reno's growth
    /// is constant, and before the first loss the window grows by at least 5 % per round trip. `"kernel"`: as
    /// `"linux"`, but in whole segments and milliseconds, where flows with short round trips grow in leaps.
    #[key(default = if stack.is_as_shipped() { Variant::Kernel } else { Variant::Linux })]
    pub form: Variant,
    /// Slow start.
    #[part(
        match stack {
            HostStack::Ns2 => hystart::Config::STANDARD,
            HostStack::Ns3 => hystart::Config::NS3,
            _ => hystart::Config::LINUX,
        }
    )]
    pub slow_start: hystart::Config,
    /// Whether packets leave evenly spaced: at two congestion windows per round-trip time in slow start, and at 1.2
    /// afterwards (Linux: `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    #[key(default = stack.paces())]
    pub pacing: bool,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "cubic",
        about: "losses: a curve of time; the default of most hosts",
        marking: Marking::Off,
    }];

    fn initial_threshold(&self) -> Option<Bytes> {
        self.slow_start.initial_threshold
    }
}

impl Config {
    /// CUBIC of Linux on a host without segmentation offload.
    pub const LINUX_IDEAL: Self = Self::defaults(HostStack::LinuxIdeal);
    /// CUBIC of RFC 9438, with `HyStart++`.
    pub const RFC: Self = Self {
        decrease: 0.3,
        scale: 0.4,
        basis: Basis::Flight,
        form: Variant::Rfc,
        slow_start: hystart::Config::PLUS_PLUS,
        ..Self::LINUX_IDEAL
    };
}

/// A congestion avoidance epoch: the time from the end of one congestion event to the next.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time since the epoch began (`t_epoch`), without the time in which cwnd did not limit the sender.
    t: Span,
    /// Time of the last update of `t`; `None` after an idle period, which is not counted.
    last_update: Option<Time>,
    /// Plateau of the cubic function (`W_max`), in segments: [`Cubic::w_max`] at the start of the epoch, or
    /// `cwnd_epoch` if that is higher.
    w_max: f64,
    /// Seconds until `W_cubic(t)` reaches `W_max` (`K`).
    k: f64,
    /// Value of `W_est`, in segments, at which `alpha_cubic` becomes 1 (`cwnd_prior`).
    cwnd_prior: f64,
    /// The cwnd that Reno would have in this epoch (`W_est`), in segments.
    w_est: f64,
}

/// State before a reduction, in case the reduction is undone: `prior_cwnd`, `prior_Wmax` and so on of RFC 9438, 4.9.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "cwnd_prior is RFC 9438's name")]
struct Prior {
    cwnd: f64,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// CUBIC congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Multiplicative decrease factor (`beta_cubic`): the fraction of cwnd that a congestion event leaves.
    beta: f64,
    /// The constant C, in segments per cubic second.
    c: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    basis: Basis,
    variant: Variant,
    /// Sender maximum segment size in bytes, and its inverse.
    mss: f64,
    inverse_mss: f64,
    initial_window: f64,
    cwnd: f64,
    ssthresh: f64,
    /// Plateau `W_max` of the next epoch, in segments: cwnd just before the last reduction, less if fast convergence
    /// applied; zero before the first reduction.
    w_max: f64,
    /// cwnd just before the last reduction (`cwnd_prior`), in segments.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// State of the growth for [`Variant::Kernel`], which uses no `Epoch`.
    bictcp: Bictcp,
    prior: Option<Prior>,
    slow_start: SlowStart,
    pacing: Pacing,
}

impl Cubic {
    /// CUBIC for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        let segments = |bytes: Bytes| bytes.ratio(start.mss);
        Self {
            beta: 1.0 - config.decrease,
            c: config.scale,
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            basis: config.basis,
            variant: config.form,
            mss: start.mss.get() as f64,
            inverse_mss: 1.0 / start.mss.get() as f64,
            initial_window: segments(start.initial_window),
            cwnd: segments(start.initial_window).max(1.0),
            ssthresh: if start.initial_ssthresh == Bytes::MAX {
                f64::INFINITY
            } else {
                segments(start.initial_ssthresh)
            },
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            bictcp: Bictcp::default(),
            prior: None,
            slow_start: SlowStart::new(&config.slow_start, start.mss).paced(config.pacing),
            pacing: Pacing::new(config.pacing),
        }
    }

    /// cwnd in segments.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Plateau of the cubic function (`W_max`), in segments; zero before the first reduction.
    pub fn w_max(&self) -> f64 {
        self.w_max
    }

    /// Additive increase of `W_est` in segments per round trip (`alpha_cubic`), by which an AIMD flow that decreases by
    /// `beta_cubic` must grow to have the average cwnd of Reno (RFC 9438, 4.3).
    fn alpha_cubic(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    fn bytes(&self, segments: f64) -> Bytes {
        Bytes::new((segments * self.mss) as u64)
    }

    /// Begins an epoch in which the current cwnd is `cwnd_epoch`.
    fn new_epoch(&self, now: Time) -> Epoch {
        let cwnd_epoch = self.cwnd;
        let (w_max, cwnd_prior) =
            if self.w_max > cwnd_epoch { (self.w_max, self.cwnd_prior) } else { (cwnd_epoch, cwnd_epoch) };
        let k = k(self.c, w_max, cwnd_epoch);
        let (t, last_update) = (Span::ZERO, Some(now));
        Epoch { t, last_update, w_max, k, cwnd_prior, w_est: cwnd_epoch }
    }

    /// Grows cwnd for an ACK of `segments_acked` segments (RFC 9438, 4.2 to 4.5).
    fn avoid_congestion(&mut self, ack: &Ack, segments_acked: f64) {
        if self.variant == Variant::Kernel {
            return self.grow_as_the_kernel(ack, segments_acked);
        }
        let before_first_loss = self.w_max <= 0.0 && self.variant == Variant::Linux;
        let mut epoch = self.epoch.unwrap_or_else(|| self.new_epoch(ack.now));
        let last_update = epoch.last_update.replace(ack.now);
        if let Some(last_update) = last_update.filter(|_| ack.is_cwnd_limited) {
            epoch.t += ack.now.saturating_since(last_update);
        }
        if ack.is_cwnd_limited {
            let rtt = match self.variant {
                Variant::Rfc => ack.srtt,
                Variant::Linux | Variant::Kernel => ack.min_rtt,
            };
            let windows_acked = segments_acked / self.cwnd;
            self.update_w_est(&mut epoch, windows_acked);
            let min_target = if before_first_loss { LINUX_MIN_TARGET * self.cwnd } else { self.cwnd };
            let target = self.w_cubic(&epoch, rtt).clamp(min_target, MAX_TARGET * self.cwnd);
            let grown = self.cwnd + (target - self.cwnd) * windows_acked;
            let is_reno_friendly = self.reno_friendly && self.w_cubic(&epoch, Span::ZERO) < epoch.w_est;
            self.cwnd = match self.variant {
                _ if !is_reno_friendly => grown,
                Variant::Rfc => self.cwnd.max(epoch.w_est),
                Variant::Linux | Variant::Kernel => grown.max(epoch.w_est),
            };
        }
        self.epoch = Some(epoch);
    }

    /// Grows cwnd by the kernel's integer arithmetic.
    fn grow_as_the_kernel(&mut self, ack: &Ack, segments_acked: f64) {
        if !ack.is_cwnd_limited {
            return;
        }
        let Self { c: scale, beta, reno_friendly, .. } = *self;
        let law = Law { scale, beta, reno_friendly };
        let [cwnd, last_max] = [self.cwnd, self.w_max].map(|segments| segments as u64);
        let acked = (segments_acked + 0.5) as u64;
        let step = Step { now: ack.now, min_rtt: ack.min_rtt, cwnd, last_max, acked };
        self.cwnd = self.bictcp.grow(law, &step) as f64;
    }

    /// Grows `W_est` by `alpha_cubic` per acknowledged window (RFC 9438, 4.3).
    fn update_w_est(&self, epoch: &mut Epoch, windows_acked: f64) {
        let reached_prior = self.variant == Variant::Rfc && epoch.w_est >= epoch.cwnd_prior;
        let alpha_cubic = if reached_prior { 1.0 } else { self.alpha_cubic() };
        epoch.w_est += alpha_cubic * windows_acked;
    }

    /// The cubic function at `ahead` after the present: `W_cubic(t + ahead)`, in segments.
    fn w_cubic(&self, epoch: &Epoch, ahead: Span) -> f64 {
        let from_k = (epoch.t + ahead).as_secs_f64() - epoch.k;
        w_cubic(self.c, from_k, epoch.w_max)
    }

    /// Multiplicative decrease to at least `min_segments`, with fast convergence (RFC 9438, 4.6 and 4.7).
    fn reduce(&mut self, loss: &Loss, min_segments: f64) {
        self.save_prior();
        let converge = self.fast_convergence && self.cwnd < self.w_max;
        self.w_max = if converge { self.cwnd * (1.0 + self.beta) / 2.0 } else { self.cwnd };
        self.cwnd_prior = self.cwnd;
        let reduced = self.reduced(loss);
        self.cwnd = reduced.max(min_segments);
        self.ssthresh = reduced.max(2.0);
        self.epoch = None;
        self.bictcp.end_epoch();
        self.slow_start.on_congestion();
    }

    /// Saves the state of the curve, in case the next reduction is undone.
    fn save_prior(&mut self) {
        let Self { cwnd, w_max, cwnd_prior, epoch, .. } = *self;
        self.prior = Some(Prior { cwnd, w_max, cwnd_prior, epoch });
    }

    /// cwnd after the multiplicative decrease, in segments: the basis of the reduction times `beta_cubic`.
    fn reduced(&self, loss: &Loss) -> f64 {
        let basis = match self.basis {
            Basis::Window => self.cwnd,
            Basis::Flight => self.cwnd.min(loss.prior_in_flight.get() as f64 * self.inverse_mss),
        };
        let reduced = basis * self.beta;
        if self.variant == Variant::Kernel { reduced.floor() } else { reduced }
    }
}

/// Time in seconds in which the cubic function grows from `cwnd_epoch` to `w_max` (`K`; RFC 9438, 4.2).
fn k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt((w_max - cwnd_epoch).max(0.0) / c)
}

/// The cubic function `C (t - K)^3 + W_max` (RFC 9438, 4.2), where `from_k` is `t - K` in seconds.
fn w_cubic(c: f64, from_k: f64, w_max: f64) -> f64 {
    c * from_k * from_k * from_k + w_max
}

impl Window for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        // cwnd does not grow on an ACK with ECN-Echo (RFC 3168, 6.1.2).
        if ack.in_cwnd_reduction || ack.snd_una_advance == Bytes::ZERO || ack.marked > Bytes::ZERO {
            return;
        }
        let mut segments_acked = ack.acked_sacked.get() as f64 * self.inverse_mss;
        if self.cwnd < self.ssthresh {
            if !ack.is_cwnd_limited {
                return;
            }
            match self.slow_start.on_ack(ack, self.bytes(self.cwnd)) {
                SlowStartStep::Exit => self.ssthresh = self.cwnd,
                SlowStartStep::Grow(by) => {
                    let grown = self.cwnd + by.get() as f64 * self.inverse_mss;
                    segments_acked = (grown - self.ssthresh).max(0.0);
                    self.cwnd = grown.min(self.ssthresh);
                }
            }
            if self.cwnd < self.ssthresh {
                return;
            }
        }
        self.avoid_congestion(ack, segments_acked);
    }

    fn on_loss(&mut self, loss: &Loss) {
        if !loss.in_cwr {
            self.reduce(loss, 2.0);
        }
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        if first {
            self.save_prior();
            self.ssthresh = self.reduced(loss).max(2.0);
        }
        // W_max is the cwnd at which the next epoch begins, and K is 0 (RFC 9438, 4.8).
        (self.cwnd, self.w_max, self.epoch) = (1.0, 0.0, None);
        self.bictcp = Bictcp::default();
        self.slow_start.on_congestion();
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.reduce(mark, 1.0);
    }

    fn on_idle(&mut self, idle: Span) {
        self.bictcp.on_idle(idle);
        self.cwnd = self.cwnd.min(self.initial_window);
        if let Some(epoch) = &mut self.epoch {
            epoch.last_update = None;
        }
    }

    /// Restores cwnd after a spurious reduction. RFC 9438, 4.9, also restores the curve, unless cwnd has already grown
    /// back; Linux restores only cwnd and ssthresh (`tcp_reno_undo_cwnd`), and its next curve begins at `w_max`.
    fn on_undo(&mut self, undo: &Undo) {
        if undo.prior_ssthresh == Bytes::MAX {
            self.ssthresh = f64::INFINITY;
        } else {
            self.ssthresh = self.ssthresh.max(undo.prior_ssthresh.get() as f64 * self.inverse_mss);
        }
        if self.window() >= undo.prior_cwnd {
            return;
        }
        self.cwnd = undo.prior_cwnd.get() as f64 * self.inverse_mss;
        // An undo of an RTO during recovery restores cwnd from before the recovery, but the curve was saved at the RTO.
        let prior = self.prior.take();
        if let Some(prior) = prior.filter(|prior| self.bytes(prior.cwnd) == undo.prior_cwnd) {
            self.cwnd = prior.cwnd;
            if self.variant == Variant::Rfc {
                (self.w_max, self.cwnd_prior, self.epoch) = (prior.w_max, prior.cwnd_prior, prior.epoch);
            }
        }
    }

    fn window(&self) -> Bytes {
        self.bytes(self.cwnd)
    }

    fn slow_start_threshold(&self) -> Bytes {
        if self.ssthresh.is_finite() { self.bytes(self.ssthresh) } else { Bytes::MAX }
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        self.pacing.rate(self.window(), self.slow_start_threshold())
    }
}
