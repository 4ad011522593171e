//! DCTCP: on marks the window shrinks by half the fraction of data that was marked. State: alpha, that fraction
//! smoothed over windows of data ([`crate::ewma`]). Alpha is counted in units of 2^-10 and the window is cut in whole
//! packets, in integers, so that a kernel gives the same numbers. Bytes are counted where the kernel counts packets,
//! which comes to the same as long as segments are full. Growth, and the answer to losses, are Reno's. Sources: RFC
//! 8257, 3.3 to 3.5; kernel: `tcp_dctcp.c`.

use shallop_core::form::{Form, Part, key};
use shallop_core::{Bytes, Span};

use crate::ewma::Marked;
use crate::loss;
use crate::options::{Host, Kind, Marking, Options, Refused};
use crate::reno::{self, Reno};
use crate::window::{Ack, Basis, Loss, Start, Window};

/// Packets that a cut leaves at least.
const FLOOR: u64 = 2;

/// Options of its own.
pub const KEYS: Part = &[
    key(
        "gain",
        Form::Above(0.0, 1.0),
        "g: weight of the latest window of data, a power of two down to 1/1024. Default: 0.0625.",
    ),
    key("alpha_initial", Form::Number(0.0, 1.0), "Alpha at first: 1 (RFC 8257), 0 (ns-2)."),
];

/// Its name.
pub const KINDS: &[Kind] =
    &[Kind { name: "dctcp", keys: &[loss::KEYS, KEYS], marking: Marking::Exact }];

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How it grows and answers losses.
    pub reno: reno::Config,
    /// The weight of the latest window of data is 2 to the power of minus this, at most [`Marked::BITS`].
    pub shift: u32,
    /// Alpha to begin with, in units of 2^-10, at most [`Marked::ONE`].
    pub alpha: u32,
}

impl Config {
    /// As the RFC has it: g is 1/16, and the first mark halves the window.
    pub const RFC: Self = Self { reno: reno::Config::RFC, shift: 4, alpha: Marked::ONE };
    /// As in Linux, which differs in what it takes from Reno alone.
    pub const LINUX: Self = Self { reno: reno::Config::LINUX, ..Self::RFC };

    /// As a host has it; in ns-2 the first mark takes next to nothing.
    #[must_use]
    pub const fn of(host: Host) -> Self {
        let reno = reno::Config::of(host);
        match host {
            Host::Ns2 => Self { reno, alpha: 0, ..Self::RFC },
            Host::Ns3 | Host::Linux => Self { reno, ..Self::RFC },
        }
    }

    /// By its options.
    ///
    /// # Errors
    /// As [`reno::Config::within`], and if the weight is no power of one half.
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let default = Self::of(options.host);
        let shift = match options.get::<f64>("gain") {
            Some(gain) => Marked::shift(gain).ok_or_else(|| {
                let help =
                    "0.0625 is 1/16; down to 1/1024, since alpha is counted in units of that";
                Refused::new("gain", format!("{gain} is not a power of two"), help)
            })?,
            None => default.shift,
        };
        let alpha = match options.get::<f64>("alpha_initial") {
            Some(alpha) => (alpha * f64::from(Marked::ONE)).round() as u32,
            None => default.alpha,
        };
        Ok(Self { reno: reno::Config::within(options, default.reno)?, shift, alpha })
    }
}

/// What marks leave of a window of so many packets.
#[must_use]
pub fn cut(packets: u64, alpha: u32) -> u64 {
    let less = (u128::from(packets) * u128::from(alpha)) >> (Marked::BITS + 1);
    packets.saturating_sub(less as u64).max(FLOOR)
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    kept: f64,
    basis: Basis,
    segment: Bytes,
    marked: Marked,
    /// The present window of data ends when this byte is next to be acknowledged.
    end: u64,
    /// The window without what the last acknowledgement added if it echoed a mark.
    steady: Bytes,
    /// What a loss would have been measured by when marks shrank the window last.
    before: Bytes,
}

impl Dctcp {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        let reno = Reno::new(&config.reno, start);
        let steady = reno.window();
        Self {
            reno,
            kept: config.reno.decrease,
            basis: config.reno.basis,
            segment: start.segment,
            marked: Marked::new(config.alpha, config.shift),
            end: 0,
            steady,
            before: steady,
        }
    }

    /// The smoothed fraction of marked data, in units of 2^-10.
    #[must_use]
    pub fn alpha(&self) -> u32 {
        self.marked.alpha()
    }

    fn packets(&self, window: Bytes) -> u64 {
        window.get() / self.segment.get()
    }

    /// What a loss leaves. If marks have shrunk the window already, both together leave what the loss alone would have.
    fn halved(&self, loss: &Loss) -> Bytes {
        let window = self.reno.window();
        let from = if loss.after_mark { self.before } else { self.basis.of(window, loss) };
        let packets = (self.packets(from) as f64 * self.kept) as u64;
        (self.segment * packets).min(window)
    }
}

impl Window for Dctcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.marked.count(ack.acked, ack.marked);
        if ack.una >= self.end {
            self.marked.end_window();
            self.end = ack.next;
        }
        let before = self.reno.window();
        self.reno.grow(ack);
        self.steady = if ack.marked == Bytes::ZERO { self.reno.window() } else { before };
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.shrink(self.halved(loss), FLOOR);
        self.steady = self.reno.window();
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.reno.collapse(first.then(|| self.halved(loss)));
        self.steady = self.reno.window();
    }

    fn on_mark(&mut self, mark: &Loss) {
        let window = self.steady.min(self.reno.window());
        self.before = self.basis.of(window, mark);
        self.reno.shrink(self.segment * cut(self.packets(window), self.alpha()), FLOOR);
        self.steady = self.reno.window();
    }

    fn on_idle(&mut self, idle: Span) {
        self.reno.on_idle(idle);
        self.steady = self.reno.window();
    }

    fn window(&self) -> Bytes {
        self.reno.window()
    }

    fn slow_start_threshold(&self) -> Bytes {
        self.reno.slow_start_threshold()
    }
}
