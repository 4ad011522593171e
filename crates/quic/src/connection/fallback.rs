//! Decides whether a connection sends data on credits: the negotiation with the peer, the reasons to stop using credits
//! on a path, and the return to them. Each side decides about its own data and need not tell the other.

use super::{ANSWER_TIMEOUT, Connection, OutgoingDatagram};
use crate::credit::settings::{ALPN, ALPN_CODE, CreditSettings};
use crate::credit::settings_stream;
use crate::{credit::credit_exchange::CreditExchange, credit::fallback_detector::CreditLivenessProbe};
use crate::{credit::gate::GateMode, credit::send_mode::SendMode};
use shallop_core::{Span, Time};
use std::time::{Duration, Instant};

/// The age at which a connection stops using credits, before [`Time`] ends after 213 days.
const MAX_AGE: Time = Time::after_start(Span::from_secs(200 * 24 * 3_600));

impl Connection {
    /// Sends this side's settings if both sides use credits, which the ALPN tells.
    pub(super) fn negotiate(&mut self) {
        let data = self.quic.crypto_session().handshake_data();
        let data = data.and_then(|data| data.downcast::<quinn_proto::crypto::rustls::HandshakeData>().ok());
        let protocol = data.and_then(|data| data.protocol);
        let is_on_credits = protocol.is_some_and(|of| of == ALPN || of == ALPN_CODE);
        if !self.config.credits || !is_on_credits {
            return self.leave_credits(SendMode::WithoutCredits);
        }
        self.frames_before_settings = self.stream_frames;
        let (wait, credit_delay) = (self.config.wait_span(), self.config.credit_delay());
        let settings = CreditSettings { tag: self.tag, batch: self.config.stamps(), wait, credit_delay };
        if !self.settings_stream.open(&mut self.quic, &settings) {
            self.leave_credits(SendMode::WithoutCredits);
        }
    }

    /// Reads the peer's settings. Returns true if they have arrived, after which the send mode is known.
    pub(super) fn read_settings(&mut self, now: Instant) -> bool {
        // This side's own settings are sent first, without a credit.
        if self.stream_frames == self.frames_before_settings {
            return false;
        }
        let Some(settings) = self.settings_stream.settings(&mut self.quic) else { return false };
        match (settings, settings_stream::keys(&self.quic)) {
            (Ok(peer), Some((own_key, peer_key))) => {
                let credits = CreditExchange::new(&self.config, own_key, peer_key, peer);
                let product = self.config.link.bytes_in(credits.wait).get();
                self.send_queues.set_bandwidth_delay_product(product);
                self.credits = Some(credits);
                self.liveness_probe = self.new_liveness_probe();
                self.send_mode = SendMode::Credits;
                self.start = now;
            }
            // Settings of another version mean a peer without credits.
            _ => self.leave_credits(SendMode::WithoutCredits),
        }
        true
    }

    fn new_liveness_probe(&self) -> CreditLivenessProbe {
        let agreed = self.credits.as_ref().map_or(Span::ZERO, |credits| credits.wait);
        let wait = Duration::from_nanos(agreed.as_ps() / 1_000);
        CreditLivenessProbe::new(wait, wait * 4 + ANSWER_TIMEOUT)
    }

    /// Reads the peer's notices about the DSCP with which packets arrive at the peer.
    pub(super) fn read_notice(&mut self) {
        if let Some(notice) = self.settings_stream.newest_notice(&mut self.quic) {
            let differs = notice.differs_from(self.config.classes);
            self.objection = differs.then_some(SendMode::ClassesErased);
        }
    }

    pub(super) fn leave_credits(&mut self, mode: SendMode) {
        self.send_mode = mode;
        self.has_held_frames = false;
        self.lost_bytes = 0;
        self.gate.set(GateMode::Fallback);
        self.wake();
    }

    /// Stops using credits if the path is unfit for them, and sends a probe if that is in doubt.
    pub(super) fn check_for_fallback(&mut self, now: Instant, time: Time, out: &mut Vec<OutgoingDatagram>) {
        let waits = self.waiting_packets() > 0;
        let Some(credits) = &mut self.credits else { return };
        let (granted, emulated) = (credits.engine.credits().granted, credits.engine.emulated());
        // A silent peer is asked for no credits; data that waits is enough reason to probe.
        self.liveness_probe.observe(now, granted, emulated, waits);
        let mode = if time >= MAX_AGE {
            SendMode::WithoutCredits
        } else if credits.is_unanswered(time) {
            SendMode::Unanswered
        } else if self.config.keeps_credits {
            return;
        } else if self.liveness_probe.have_credits_stopped() {
            // On a busy host probes may be answered before enough emulation packets are sent.
            if granted == 0 { SendMode::Unanswered } else { SendMode::CreditsStopped }
        } else if let Some(objection) = self.objection {
            objection
        } else if credits.loss_detector.is_data_lost {
            SendMode::DataLost
        } else {
            return self.send_liveness_probe(now, emulated, out);
        };
        // This side still grants credits for the peer's emulation packets.
        credits.restart();
        self.leave_credits(mode);
    }

    fn send_liveness_probe(&mut self, now: Instant, emulated: u64, out: &mut Vec<OutgoingDatagram>) {
        if self.quic_silence.is_silent(now)
            || !self.liveness_probe.should_probe(now, self.gate.newest_acked(), emulated)
        {
            return;
        }
        self.quic.ping();
        if self.has_held_frames {
            self.pass_gate(now, 1, out);
        }
    }

    /// Uses credits again after a fallback. Returns false if there was no fallback.
    pub(crate) fn use_credits(&mut self) -> bool {
        if !self.send_mode.is_fallback() || self.quic.is_closed() {
            return false;
        }
        self.send_mode = SendMode::Credits;
        self.liveness_probe = self.new_liveness_probe();
        self.objection = None;
        // QUIC may hold lost data, or data that the congestion window has kept back.
        self.has_held_frames = true;
        self.gate.set(GateMode::Closed);
        self.wake();
        true
    }
}
