//! The congestion controller that QUIC is given. It has no window: while it is open everything may leave, and while it
//! is shut nothing that has to be acknowledged. When a loss is reported it shuts at once, so that repairs wait for
//! credits, too. On a path without credits it hands over to CUBIC.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, CubicConfig};

/// What may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing that has to be acknowledged.
    Shut,
    /// Everything.
    Open,
    /// What CUBIC allows: there are no credits.
    Cubic,
}

/// The gate of one connection, which its controller and its driver share.
#[derive(Debug)]
pub(crate) struct Gate {
    mode: AtomicU8,
    asked: AtomicBool,
    lost_bytes: AtomicU64,
}

impl Gate {
    pub(crate) fn new(mode: Mode) -> Arc<Self> {
        Arc::new(Self {
            mode: AtomicU8::new(mode as u8),
            asked: AtomicBool::new(false),
            lost_bytes: AtomicU64::new(0),
        })
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.mode.load(Ordering::Relaxed) {
            mode if mode == Mode::Shut as u8 => Mode::Shut,
            mode if mode == Mode::Open as u8 => Mode::Open,
            _ => Mode::Cubic,
        }
    }

    /// Whether QUIC has wanted to send something that has to be acknowledged since this was asked last.
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    /// Bytes that were reported lost since this was asked last.
    pub(crate) fn take_lost(&self) -> u64 {
        self.lost_bytes.swap(0, Ordering::Relaxed)
    }
}

/// Makes the controllers of one connection: another one for each path, behind the same gate.
#[derive(Debug)]
pub(crate) struct Gates(pub(crate) Arc<Gate>);

impl ControllerFactory for Gates {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let cubic = Arc::new(CubicConfig::default()).build(now, mtu);
        Box::new(Gated { gate: Arc::clone(&self.0), cubic })
    }
}

struct Gated {
    gate: Arc<Gate>,
    cubic: Box<dyn Controller>,
}

impl Controller for Gated {
    fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        self.cubic.on_sent(now, bytes, number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        if self.gate.mode() == Mode::Cubic {
            self.cubic.on_ack(now, sent, bytes, app_limited, rtt);
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        if self.gate.mode() == Mode::Cubic {
            self.cubic.on_end_acks(now, in_flight, app_limited, largest);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        if self.gate.mode() == Mode::Cubic {
            self.cubic.on_congestion_event(now, sent, persistent, lost);
        }
        if lost > 0 {
            self.gate.lost_bytes.fetch_add(lost, Ordering::Relaxed);
            if self.gate.mode() == Mode::Open {
                self.gate.set(Mode::Shut);
            }
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.cubic.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.gate.asked.store(true, Ordering::Relaxed);
        match self.gate.mode() {
            Mode::Shut => 0,
            Mode::Open => u64::MAX,
            Mode::Cubic => self.cubic.window(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { gate: Arc::clone(&self.gate), cubic: self.cubic.clone_box() })
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
