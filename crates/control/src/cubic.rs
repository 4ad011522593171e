//! CUBIC: after a loss the window returns to where it was along a cubic curve of time, lingers there and then explores.
//! State: the curve (its plateau, and time on it) and what Reno would have by now. Units: segments, as fractions;
//! seconds. The curve's clock stands while the window is not what limits the sender. Sources: RFC 9438; kernel:
//! `tcp_cubic.c`.

use shallop_core::form::{self, Part, key};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

use crate::hystart::{self, SlowStart, Step};
use crate::loss;
use crate::options::{Host, Kind, Marking, Options, Refused};
use crate::pacing::{self, Pacing};
use crate::window::{Ack, Basis, Loss, Start, Window};

/// A window grows by no more than half of itself in a round trip.
const FASTEST: f64 = 1.5;
/// Linux, as long as no loss has said where to stop: at least a twentieth of the window each round trip.
const BLIND: f64 = 1.05;

/// Whose form of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// RFC 9438: looks a smoothed round trip ahead; Reno's pace rises to a segment a round trip beyond the old window.
    Rfc,
    /// Linux: looks the shortest round trip ahead, keeps Reno's pace, grows by a twentieth while no loss was seen.
    Linux,
}

/// Options of its own.
pub const KEYS: Part = &[
    key(
        "scale",
        form::Form::Above(0.0, 100.0),
        "C: steepness of the curve, in segments per cubic second.",
    ),
    key("fast_convergence", form::Form::Truth, "Gives way to newcomers."),
    key("reno_friendly", form::Form::Truth, "Never slower than Reno would be."),
    key("form", form::Form::Choice(&["rfc", "linux"]), "Whose form of the rules."),
];

/// Its name.
pub const KINDS: &[Kind] =
    &[Kind { name: "cubic", keys: &[loss::KEYS, pacing::KEYS, KEYS], marking: Marking::Off }];

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The part of the window that is kept on congestion: 0.7, or 0.8 as in older kernels (the papers' "beta 0.2").
    pub decrease: f64,
    /// Steepness of the curve, in segments per cubic second.
    pub scale: f64,
    /// Gives way to newcomers: a peak lower than the last is lowered further.
    pub fast_convergence: bool,
    /// Never slower than Reno would be.
    pub reno_friendly: bool,
    /// What a reduction starts from.
    pub basis: Basis,
    /// Whose form of the rules.
    pub form: Form,
    /// Slow start.
    pub slow_start: hystart::Config,
    /// Packets leave evenly spaced.
    pub pacing: bool,
}

impl Config {
    /// As the RFC has it, with `HyStart++`.
    pub const RFC: Self = Self {
        decrease: 0.7,
        scale: 0.4,
        fast_convergence: true,
        reno_friendly: true,
        basis: Basis::Flight,
        form: Form::Rfc,
        slow_start: hystart::Config::PLUS_PLUS,
        pacing: false,
    };
    /// As in Linux: beta is 717/1024 and C is 410/1024.
    pub const LINUX: Self = Self {
        decrease: 717.0 / 1024.0,
        scale: 410.0 / 1024.0,
        basis: Basis::Window,
        form: Form::Linux,
        slow_start: hystart::Config::LINUX,
        ..Self::RFC
    };

    /// As a host has it: ns-2 the kernel's of 2007, ns-3 with a `HyStart` that lets pass a longer delay.
    #[must_use]
    pub const fn of(host: Host) -> Self {
        let patient = hystart::Classic { delay_max: Span::from_secs(1), ..hystart::Classic::LINUX };
        match host {
            Host::Ns2 => {
                Self { decrease: 0.8, slow_start: hystart::Config::STANDARD, ..Self::LINUX }
            }
            Host::Ns3 => Self {
                decrease: 0.7,
                slow_start: hystart::Config {
                    limit: u64::MAX,
                    exit: hystart::Exit::Classic(patient),
                },
                ..Self::LINUX
            },
            Host::Linux => Self::LINUX,
        }
    }

    /// By its options.
    ///
    /// # Errors
    /// As [`loss::slow_start`].
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let default = Self::of(options.host);
        Ok(Self {
            decrease: loss::kept(options, default.decrease),
            scale: options.or("scale", default.scale),
            fast_convergence: options.or("fast_convergence", default.fast_convergence),
            reno_friendly: options.or("reno_friendly", default.reno_friendly),
            basis: loss::basis(options, default.basis),
            form: match options.get("form") {
                Some("rfc") => Form::Rfc,
                Some(_) => Form::Linux,
                None => default.form,
            },
            slow_start: loss::slow_start(options, default.slow_start)?,
            pacing: options.or("pacing", default.pacing),
        })
    }
}

/// Where on its curve the window is.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time on the curve.
    elapsed: Span,
    /// When that time was last taken; `None` after a silence that must not count.
    taken: Option<Time>,
    /// Where the curve flattens, and after how many seconds.
    plateau: f64,
    delay: f64,
    /// Once Reno would be back here, it may grow as fast as it does alone.
    prior: f64,
    /// What Reno would have.
    reno: f64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    decrease: f64,
    scale: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    basis: Basis,
    form: Form,
    segment: f64,
    /// Segments in a byte.
    unit: f64,
    initial: f64,
    window: f64,
    threshold: f64,
    /// Where the next curve is to flatten; zero while unknown.
    peak: f64,
    /// The window before the last reduction.
    before: f64,
    epoch: Option<Epoch>,
    slow_start: SlowStart,
    pacing: Pacing,
}

impl Cubic {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        let segments = |bytes: Bytes| bytes.ratio(start.segment);
        Self {
            decrease: config.decrease,
            scale: config.scale,
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            basis: config.basis,
            form: config.form,
            segment: start.segment.get() as f64,
            unit: 1.0 / start.segment.get() as f64,
            initial: segments(start.window),
            window: segments(start.window).max(1.0),
            threshold: if start.threshold == Bytes::MAX {
                f64::INFINITY
            } else {
                segments(start.threshold)
            },
            peak: 0.0,
            before: 0.0,
            epoch: None,
            slow_start: SlowStart::new(&config.slow_start, start.segment).paced(config.pacing),
            pacing: Pacing::new(config.pacing),
        }
    }

    /// The window in segments.
    #[must_use]
    pub fn segments(&self) -> f64 {
        self.window
    }

    /// The plateau the curve aims at, in segments; zero before the first reduction.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// How many segments Reno gains in a round trip if it is to lose as much of its window as CUBIC does on each loss
    /// and still hold half on average (RFC 9438, 4.3).
    fn reno_pace(&self) -> f64 {
        let kept = self.decrease;
        3.0 * (1.0 - kept) / (1.0 + kept)
    }

    fn bytes(&self, segments: f64) -> Bytes {
        Bytes::new((segments * self.segment) as u64)
    }

    /// Begins a curve at the present window.
    fn begin(&self, now: Time) -> Epoch {
        let known = self.peak > self.window;
        let (plateau, prior) =
            if known { (self.peak, self.before) } else { (self.window, self.window) };
        let delay = delay(self.scale, plateau, self.window);
        let (elapsed, taken) = (Span::ZERO, Some(now));
        Epoch { elapsed, taken, plateau, delay, prior, reno: self.window }
    }

    fn avoid(&mut self, ack: &Ack, segments: f64) {
        let blind = self.peak <= 0.0 && self.form == Form::Linux;
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(ack.now));
        if let Some(taken) = epoch.taken.replace(ack.now).filter(|_| ack.window_limited) {
            epoch.elapsed += ack.now.saturating_since(taken);
        }
        if ack.window_limited {
            let ahead = match self.form {
                Form::Rfc => ack.smoothed_rtt,
                Form::Linux => ack.min_rtt,
            };
            let windows = segments / self.window;
            self.reno(&mut epoch, windows);
            let least = if blind { BLIND * self.window } else { self.window };
            let target = self.curve(&epoch, ahead).clamp(least, FASTEST * self.window);
            let grown = self.window + (target - self.window) * windows;
            let reno_leads = self.reno_friendly && self.curve(&epoch, Span::ZERO) < epoch.reno;
            self.window = match self.form {
                _ if !reno_leads => grown,
                Form::Rfc => self.window.max(epoch.reno),
                Form::Linux => grown.max(epoch.reno),
            };
        }
        self.epoch = Some(epoch);
    }

    /// Moves on what Reno would have, by this part of a window acknowledged.
    fn reno(&self, epoch: &mut Epoch, windows: f64) {
        let caught_up = self.form == Form::Rfc && epoch.reno >= epoch.prior;
        let pace = if caught_up { 1.0 } else { self.reno_pace() };
        epoch.reno += pace * windows;
    }

    fn curve(&self, epoch: &Epoch, ahead: Span) -> f64 {
        let time = (epoch.elapsed + ahead).as_secs_f64() - epoch.delay;
        curve(self.scale, time, epoch.plateau)
    }

    /// Shrinks, to no less than `floor` segments, and remembers where from.
    fn shrink(&mut self, loss: &Loss, floor: f64) {
        let kept = self.decrease;
        let gives_way = self.fast_convergence && self.window < self.peak;
        self.peak = if gives_way { self.window * (1.0 + kept) / 2.0 } else { self.window };
        self.before = self.window;
        let reduced = self.reduced(loss, kept);
        self.window = reduced.max(floor);
        self.threshold = reduced.max(2.0);
        self.epoch = None;
        self.slow_start.on_congestion();
    }

    fn reduced(&self, loss: &Loss, kept: f64) -> f64 {
        let from = match self.basis {
            Basis::Window => self.window,
            Basis::Flight => self.window.min(loss.in_flight.get() as f64 * self.unit),
        };
        from * kept
    }
}

/// Seconds from a reduction to `window` until the curve is back at `peak`.
fn delay(scale: f64, peak: f64, window: f64) -> f64 {
    libm::cbrt((peak - window).max(0.0) / scale)
}

/// The curve, `time` seconds from its plateau.
fn curve(scale: f64, time: f64, peak: f64) -> f64 {
    scale * time * time * time + peak
}

impl Window for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        // An acknowledgement that echoes a mark adds nothing (RFC 3168, 6.1.2).
        if ack.recovering || ack.advanced == Bytes::ZERO || ack.marked > Bytes::ZERO {
            return;
        }
        let mut left = ack.acked.get() as f64 * self.unit;
        if self.window < self.threshold {
            if !ack.window_limited {
                return;
            }
            match self.slow_start.on_ack(ack, self.bytes(self.window)) {
                Step::Leave => self.threshold = self.window,
                Step::Grow(by) => {
                    let grown = self.window + by.get() as f64 * self.unit;
                    left = (grown - self.threshold).max(0.0);
                    self.window = grown.min(self.threshold);
                }
            }
            if self.window < self.threshold {
                return;
            }
        }
        self.avoid(ack, left);
    }

    fn on_loss(&mut self, loss: &Loss) {
        if !loss.after_mark {
            self.shrink(loss, 2.0);
        }
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        if first {
            self.threshold = self.reduced(loss, self.decrease).max(2.0);
        }
        // The next curve begins on its plateau (RFC 9438, 4.8).
        (self.window, self.peak, self.epoch) = (1.0, 0.0, None);
        self.slow_start.on_congestion();
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.shrink(mark, 1.0);
    }

    fn on_idle(&mut self, _idle: Span) {
        self.window = self.window.min(self.initial);
        if let Some(epoch) = &mut self.epoch {
            epoch.taken = None;
        }
    }

    fn window(&self) -> Bytes {
        self.bytes(self.window)
    }

    fn slow_start_threshold(&self) -> Bytes {
        if self.threshold.is_finite() { self.bytes(self.threshold) } else { Bytes::MAX }
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        self.pacing.rate(self.window(), self.slow_start_threshold())
    }
}
