//! DCTCP: on congestion marks cwnd is reduced by half the fraction of marked bytes. State: alpha, the moving average
//! of that fraction ([`crate::ewma`]), and `WindowEnd`. In the kernel's arithmetic alpha is in units of 2^-10 and cwnd
//! is reduced to whole packets; in ns-2 and ns-3 both are real numbers. The kernel counts packets for alpha, this
//! controller bytes, which gives equal values while segments are full-sized. Growth, and the response to losses, are
//! Reno's. Units: bytes, packets. Sources: RFC 8257, 3.3 to 3.5; kernel: `tcp_dctcp.c`; ns-3: `TcpDctcp`.

use crate::binary::{Fraction, Gain};
use crate::ewma::{Alpha, RealAlpha};
use crate::loss;
use crate::options::{ControllerName, Marking, Parameters};
use crate::reno::{self, Reno, windows_of_reno};
use crate::window::{Ack, Basis, Loss, Start, Undo, Window};
use shallop_core::{Bytes, Span};
use shallop_options::{HostStack, Options, string_enum};

/// Minimum cwnd after a reduction, in packets (kernel: `dctcp_ssthresh`).
const MIN_CWND: u64 = 2;

/// Arithmetic of alpha and of reductions for marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Integers, each term rounded down.
    Integer,
    /// Real numbers.
    Real,
}

string_enum! { Arithmetic { Integer = "integer", Real = "real" } }

/// Parameters of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults)]
pub struct Config {
    /// Growth and the response to losses.
    #[part(loss::Config::reno(stack))]
    pub loss: loss::Config,
    /// The estimation gain g, the weight of the latest observation window in alpha: a power of two down to 1/1024
    /// (RFC 8257, 4.2; Linux: `dctcp_shift_g`).
    #[key(Above(0.0, 1.0), default = Gain::new(4))]
    pub gain: Gain,
    /// Alpha before the first observation window: 1 in RFC 8257 and Linux, 0 in the ns-2 patch, where the first
    /// mark reduces the window by next to nothing.
    #[key(
        Number(0.0, 1.0),
        default = match stack {
            HostStack::Ns2 => Fraction::new(0),
            _ => Fraction::ONE,
        }
    )]
    pub alpha_initial: Fraction,
    /// The arithmetic of alpha and of reductions for marks: integers in which each term is rounded down
    /// (`"integer"`; Linux), or real numbers (`"real"`; ns-2 and ns-3). In integers marks that are evenly spread, less
    /// than 1.6 % of all packets, have next to no effect.
    #[key(
        default = match stack {
            HostStack::Ns2 | HostStack::Ns3 => Arithmetic::Real,
            _ => Arithmetic::Integer,
        }
    )]
    pub arithmetic: Arithmetic,
    /// What a loss reduces if a mark has reduced cwnd in this window of data: what the loss would have reduced before
    /// the mark (`"window"`), so that both together leave as much as the loss alone, or the bytes in flight at the
    /// loss, at most that (`"flight"`; Linux: `dctcp_react_to_loss`).
    #[key(default = if stack.is_as_shipped() { Basis::Flight } else { Basis::Window })]
    pub loss_after_mark: Basis,
    /// Whether packets leave evenly spaced: at two congestion windows per round-trip time in slow start, and at 1.2
    /// afterwards (Linux: `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    #[key(default = stack.paces())]
    pub pacing: bool,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "dctcp",
        about: "marks: as much as the part that is marked",
        marking: Marking::Exact,
    }];

    fn initial_threshold(&self) -> Option<Bytes> {
        self.loss.slow_start.initial_threshold
    }
}

impl Config {
    /// DCTCP of Linux on a host without segmentation offload.
    pub const LINUX_IDEAL: Self = Self::defaults(HostStack::LinuxIdeal);
    /// DCTCP of RFC 8257: g is 1/16, and the first mark halves cwnd.
    pub const RFC: Self = Self { loss: loss::Config::RFC, ..Self::LINUX_IDEAL };
}

/// cwnd after a reduction for congestion marks, in packets: `cwnd (1 - alpha / 2)`, with alpha in 2^-10 (kernel:
/// `dctcp_ssthresh`).
pub fn reduced_cwnd(cwnd: u64, alpha: u32) -> u64 {
    let reduction = (u128::from(cwnd) * u128::from(alpha)) >> (Alpha::BITS + 1);
    cwnd.saturating_sub(reduction as u64).max(MIN_CWND)
}

/// Alpha in the arithmetic of the scenario.
#[derive(Clone, Copy, Debug)]
enum Estimate {
    Integer(Alpha),
    Real(RealAlpha),
}

impl Estimate {
    fn new(config: &Config) -> Self {
        let (initial, gain) = (config.alpha_initial, config.gain);
        match config.arithmetic {
            Arithmetic::Integer => Self::Integer(Alpha::new(initial.units(), gain.shift())),
            Arithmetic::Real => Self::Real(RealAlpha::new(initial.value(), gain.value())),
        }
    }

    fn count(&mut self, acked: Bytes, marked: Bytes) {
        match self {
            Self::Integer(alpha) => alpha.count(acked, marked),
            Self::Real(alpha) => alpha.count(acked, marked),
        }
    }

    fn end_window(&mut self) {
        match self {
            Self::Integer(alpha) => alpha.end_window(),
            Self::Real(alpha) => alpha.end_window(),
        }
    }

    /// cwnd after a reduction for congestion marks.
    fn reduced(&self, cwnd: Bytes, mss: Bytes) -> Bytes {
        match self {
            Self::Integer(alpha) => mss * reduced_cwnd(cwnd.get() / mss.get(), alpha.value()),
            Self::Real(alpha) => Bytes::new((cwnd.get() as f64 * (1.0 - alpha.value() / 2.0)) as u64),
        }
    }
}

/// DCTCP congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// Multiplicative decrease factor for losses: the fraction of cwnd or flight that a loss leaves.
    beta: f64,
    basis: Basis,
    mss: Bytes,
    alpha: Estimate,
    /// `DCTCP.WindowEnd`: the observation window ends when SND.UNA reaches it.
    window_end: u64,
    /// cwnd from which a mark reduces: cwnd without the growth of the last ACK, if that ACK carried ECN-Echo.
    cwnd_before_mark: Bytes,
    /// cwnd or flight, whichever losses reduce, at the time of the last reduction for marks. A loss in the same window
    /// of data reduces from this value, so that both reductions together leave as much as the loss alone.
    prior_basis: Bytes,
    loss_after_mark: Basis,
}

impl Dctcp {
    /// DCTCP for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        let reno = Reno::new(&reno::Config { loss: config.loss, pacing: config.pacing }, start);
        let cwnd = reno.window();
        Self {
            reno,
            beta: 1.0 - config.loss.decrease,
            basis: config.loss.basis,
            mss: start.mss,
            alpha: Estimate::new(config),
            window_end: 0,
            cwnd_before_mark: cwnd,
            prior_basis: cwnd,
            loss_after_mark: config.loss_after_mark,
        }
    }

    /// The average fraction of marked bytes (alpha), in units of 2^-10.
    pub fn alpha(&self) -> u32 {
        match self.alpha {
            Estimate::Integer(alpha) => alpha.value(),
            Estimate::Real(alpha) => (alpha.value() * f64::from(Alpha::MAX)).round() as u32,
        }
    }

    fn packets(&self, bytes: Bytes) -> u64 {
        bytes.get() / self.mss.get()
    }

    /// cwnd after a loss, in bytes.
    fn reduced_for_loss(&self, loss: &Loss) -> Bytes {
        let cwnd = self.reno.window();
        let basis = match self.loss_after_mark {
            _ if !loss.in_cwr => self.basis.bytes(cwnd, loss),
            Basis::Window => self.prior_basis,
            Basis::Flight => loss.prior_in_flight.min(self.prior_basis),
        };
        let packets = (self.packets(basis) as f64 * self.beta) as u64;
        (self.mss * packets).min(cwnd)
    }
}

impl Window for Dctcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.alpha.count(ack.acked_sacked, ack.marked);
        if ack.snd_una >= self.window_end {
            self.alpha.end_window();
            self.window_end = ack.snd_nxt;
        }
        let prior_cwnd = self.reno.window();
        self.reno.grow(ack);
        let is_marked = ack.marked != Bytes::ZERO;
        self.cwnd_before_mark = if is_marked { prior_cwnd } else { self.reno.window() };
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.reduce(self.reduced_for_loss(loss), MIN_CWND);
        self.cwnd_before_mark = self.reno.window();
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.reno.reset(first.then(|| self.reduced_for_loss(loss)));
        self.cwnd_before_mark = self.reno.window();
    }

    fn on_mark(&mut self, mark: &Loss) {
        let cwnd = self.cwnd_before_mark.min(self.reno.window());
        self.prior_basis = self.basis.bytes(cwnd, mark);
        let reduced = self.alpha.reduced(cwnd, self.mss);
        match self.alpha {
            Estimate::Integer(_) => self.reno.reduce(reduced, MIN_CWND),
            // ns-2 and ns-3 add a part of a segment at each ACK, and a reduction takes none of it back.
            Estimate::Real(_) => self.reno.reduce_amid_growth(reduced, MIN_CWND),
        }
        self.cwnd_before_mark = self.reno.window();
    }

    fn on_idle(&mut self, idle: Span) {
        self.reno.on_idle(idle);
        self.cwnd_before_mark = self.reno.window();
    }

    /// Restores cwnd after a spurious reduction for loss; alpha does not change (kernel: `dctcp_cwnd_undo`).
    fn on_undo(&mut self, undo: &Undo) {
        self.reno.on_undo(undo);
        self.cwnd_before_mark = self.reno.window();
    }

    windows_of_reno!();
}
