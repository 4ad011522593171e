//! The congestion controller that QUIC is given. It has no window: while it is open everything may leave, and while it
//! is shut nothing that has to be acknowledged. When a loss is reported it shuts at once, so that repairs wait for
//! credits, too. Without credits the fallback controller decides, from its start each time.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

use crate::credit::path::Fallback;

/// What may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing that has to be acknowledged.
    Shut,
    /// Everything.
    Open,
    /// What the fallback controller allows: there are no credits.
    Window,
}

/// Packets that QUIC has declared lost at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// When the newest of them was sent.
    pub(crate) sent: Instant,
    /// Bytes of all of them.
    pub(crate) bytes: u64,
}

/// What the controller has been told.
#[derive(Debug, Default)]
struct Told {
    losses: Vec<Loss>,
    /// When the newest packet that was acknowledged was sent.
    newest_acked: Option<Instant>,
    /// When the first and the last unscheduled packet was sent.
    unscheduled: Option<(Instant, Instant)>,
    /// Packets of that time that were acknowledged.
    unscheduled_acked: u64,
}

/// The gate of one connection, which its controller and its driver share.
#[derive(Debug)]
pub(crate) struct Gate {
    mode: AtomicU8,
    asked: AtomicBool,
    told: Mutex<Told>,
}

impl Gate {
    pub(crate) fn new(mode: Mode) -> Arc<Self> {
        Arc::new(Self {
            mode: AtomicU8::new(mode as u8),
            asked: AtomicBool::new(false),
            told: Mutex::default(),
        })
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.mode.load(Ordering::Relaxed) {
            mode if mode == Mode::Shut as u8 => Mode::Shut,
            mode if mode == Mode::Open as u8 => Mode::Open,
            _ => Mode::Window,
        }
    }

    /// Whether QUIC has wanted to send something that has to be acknowledged since this was asked last.
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Losses that were reported since this was asked last.
    pub(crate) fn take_losses(&self) -> Vec<Loss> {
        std::mem::take(&mut self.told().losses)
    }

    /// When the newest packet that was acknowledged was sent.
    pub(crate) fn newest_acked(&self) -> Option<Instant> {
        self.told().newest_acked
    }

    /// An unscheduled packet was sent.
    pub(crate) fn on_unscheduled(&self, now: Instant) {
        let mut told = self.told();
        let first = told.unscheduled.map_or(now, |(first, _)| first);
        told.unscheduled = Some((first, now));
    }

    /// Packets sent from the first to the last unscheduled one that were acknowledged.
    pub(crate) fn unscheduled_acked(&self) -> u64 {
        self.told().unscheduled_acked
    }
}

/// Makes the controllers of one connection: another one for each path, behind the same gate.
#[derive(Debug)]
pub(crate) struct Gates(pub(crate) Arc<Gate>, pub(crate) Fallback);

impl ControllerFactory for Gates {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let controller = self.1.build(now, mtu);
        let gate = Arc::clone(&self.0);
        Box::new(Gated { gate, fallback: self.1, controller, mtu, has_decided: false })
    }
}

struct Gated {
    gate: Arc<Gate>,
    fallback: Fallback,
    controller: Box<dyn Controller>,
    mtu: u16,
    /// The fallback controller has decided since it was made.
    has_decided: bool,
}

impl Gated {
    /// Whether the fallback controller decides. One that does no more is of no use later: the path has changed.
    fn decides(&mut self, now: Instant) -> bool {
        let decides = self.gate.mode() == Mode::Window;
        if !decides && self.has_decided {
            self.controller = self.fallback.build(now, self.mtu);
        }
        self.has_decided = decides;
        decides
    }
}

impl Controller for Gated {
    fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        self.decides(now);
        self.controller.on_sent(now, bytes, number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        {
            let mut told = self.gate.told();
            told.newest_acked = told.newest_acked.max(Some(sent));
            let is_unscheduled =
                told.unscheduled.is_some_and(|(first, last)| (first..=last).contains(&sent));
            told.unscheduled_acked += u64::from(is_unscheduled);
        }
        if self.decides(now) {
            self.controller.on_ack(now, sent, bytes, app_limited, rtt);
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        if self.decides(now) {
            self.controller.on_end_acks(now, in_flight, app_limited, largest);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        if self.decides(now) {
            self.controller.on_congestion_event(now, sent, persistent, lost);
        }
        if lost > 0 {
            self.gate.told().losses.push(Loss { sent, bytes: lost });
            if self.gate.mode() == Mode::Open {
                self.gate.set(Mode::Shut);
            }
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu;
        self.controller.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.gate.asked.store(true, Ordering::Relaxed);
        match self.gate.mode() {
            Mode::Shut => 0,
            Mode::Open => u64::MAX,
            Mode::Window => self.controller.window(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            gate: Arc::clone(&self.gate),
            controller: self.controller.clone_box(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.controller.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
