//! The congestion controller of a QUIC connection on credits. An open gate lets every packet leave, and a closed one no
//! ack-eliciting packet. A loss closes the gate at once, so that retransmissions wait for credits. Without credits the
//! gate passes all calls to a fallback controller, which starts anew at each fallback.

use crate::credit::send_mode::Fallback;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Which packets the gate lets QUIC send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateMode {
    /// No ack-eliciting packet may leave.
    Closed,
    /// Every packet may leave.
    Open,
    /// Packets leave as the fallback controller allows, because the connection uses no credits.
    Fallback,
}

/// Packets that QUIC has declared lost in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// The send time of the newest lost packet.
    pub(crate) sent: Instant,
    /// The length of all lost packets, bytes.
    pub(crate) bytes: u64,
}

/// The acknowledgements and losses that QUIC has reported to the controller.
#[derive(Debug, Default)]
pub(crate) struct DeliveryReports {
    pub(crate) losses: Vec<Loss>,
    /// The send time of the newest packet that was acknowledged.
    newest_acked: Option<Instant>,
    /// The send times of the first and the last packet of the newest unscheduled burst.
    unscheduled: Option<(Instant, Instant)>,
    /// The acknowledged packets that were sent between these times.
    unscheduled_acked: u64,
}

/// The state of one connection's gate, shared by its controllers and the connection.
#[derive(Debug)]
pub(crate) struct CreditGate {
    mode: AtomicU8,
    /// Whether QUIC has asked for the window since the last [`CreditGate::take_asked`].
    asked: AtomicBool,
    reports: Mutex<DeliveryReports>,
}

impl CreditGate {
    pub(crate) fn new(mode: GateMode) -> Arc<Self> {
        Arc::new(Self { mode: AtomicU8::new(mode as u8), asked: AtomicBool::new(false), reports: Mutex::default() })
    }

    pub(crate) fn set(&self, mode: GateMode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    pub(crate) fn mode(&self) -> GateMode {
        match self.mode.load(Ordering::Relaxed) {
            mode if mode == GateMode::Closed as u8 => GateMode::Closed,
            mode if mode == GateMode::Open as u8 => GateMode::Open,
            _ => GateMode::Fallback,
        }
    }

    /// Whether QUIC has asked for the window since the last call, as it does before each ack-eliciting packet.
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn reports(&self) -> MutexGuard<'_, DeliveryReports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The send time of the newest packet that was acknowledged.
    pub(crate) fn newest_acked(&self) -> Option<Instant> {
        self.reports().newest_acked
    }

    /// Notes that a burst of unscheduled packets begins (Aeolus).
    pub(crate) fn begin_unscheduled(&self) {
        let mut reports = self.reports();
        (reports.unscheduled, reports.unscheduled_acked) = (None, 0);
    }

    /// Notes that an unscheduled packet is sent.
    pub(crate) fn on_unscheduled(&self, now: Instant) {
        let mut reports = self.reports();
        let first = reports.unscheduled.map_or(now, |(first, _)| first);
        reports.unscheduled = Some((first, now));
    }

    /// How many packets from the first to the last one of the newest burst were acknowledged.
    pub(crate) fn unscheduled_acked(&self) -> u64 {
        self.reports().unscheduled_acked
    }
}

/// Builds the controllers of one connection: QUIC uses a new controller on each network path, and all share the gate.
#[derive(Debug)]
pub(crate) struct CreditGateFactory {
    pub(crate) gate: Arc<CreditGate>,
    pub(crate) fallback: Fallback,
}

impl ControllerFactory for CreditGateFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let (gate, fallback) = (Arc::clone(&self.gate), self.fallback);
        let controller = fallback.build(now, mtu);
        Box::new(GatedController { gate, fallback, controller, mtu, was_active: false })
    }
}

struct GatedController {
    gate: Arc<CreditGate>,
    fallback: Fallback,
    controller: Box<dyn Controller>,
    mtu: u16,
    /// Whether the fallback controller was in use at the last call.
    was_active: bool,
}

impl GatedController {
    /// Whether the fallback controller is in use. After a fallback it is replaced by a new one, because its state says
    /// nothing about a later fallback.
    fn is_fallback_active(&mut self, now: Instant) -> bool {
        let is_active = self.gate.mode() == GateMode::Fallback;
        if !is_active && self.was_active {
            self.controller = self.fallback.build(now, self.mtu);
        }
        self.was_active = is_active;
        is_active
    }
}

impl Controller for GatedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        self.is_fallback_active(now);
        self.controller.on_sent(now, bytes, number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        {
            let mut reports = self.gate.reports();
            reports.newest_acked = reports.newest_acked.max(Some(sent));
            let is_unscheduled = reports.unscheduled.is_some_and(|(first, last)| (first..=last).contains(&sent));
            reports.unscheduled_acked += u64::from(is_unscheduled);
        }
        if self.is_fallback_active(now) {
            self.controller.on_ack(now, sent, bytes, app_limited, rtt);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        if self.is_fallback_active(now) {
            self.controller.on_end_acks(now, in_flight, app_limited, largest);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        if self.is_fallback_active(now) {
            self.controller.on_congestion_event(now, sent, persistent, lost);
        }
        if lost > 0 {
            self.gate.reports().losses.push(Loss { sent, bytes: lost });
            if self.gate.mode() == GateMode::Open {
                self.gate.set(GateMode::Closed);
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
            GateMode::Closed => 0,
            GateMode::Open => u64::MAX,
            GateMode::Fallback => self.controller.window(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { gate: Arc::clone(&self.gate), controller: self.controller.clone_box(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.controller.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
