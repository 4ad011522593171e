//! What leaves of a connection, and without what: on a credit, before the first credit, by the window of the fallback
//! controller, or because it must not wait.

use std::time::Instant;

use shallop_core::Time;

use super::{Connection, Datagram};
use crate::config::{ECT, span};
use crate::credit::bypass::ack_eliciting;
use crate::credit::gate::Mode;
use crate::credit::path::Path;
use crate::credit::unscheduled::Next;

/// Bytes of a packet that are not payload of a stream: short header 13, authentication 16, frame header 19, and room
/// for a short acknowledgement.
const OVERHEAD: usize = 64;
/// A packet without data of streams is small up to this many bytes of UDP payload.
const SMALL: usize = 100;

/// What a packet is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Whatever QUIC has to send.
    Usual,
    /// Data before the first credit.
    Unscheduled,
    /// The probe behind it.
    Probe,
    /// A notice to the peer: what it has of streams is no data.
    Notice,
}

impl Connection {
    /// Payload of streams in one packet. QUIC makes packets shorter when the path takes long ones no more.
    pub(super) fn payload(&self) -> usize {
        usize::from(self.quic.current_mtu()).saturating_sub(OVERHEAD).max(1)
    }

    /// A loss shuts the gate: what is lost waits for credits.
    pub(super) fn notice_losses(&mut self, now: Instant, time: Time) {
        let losses = self.gate.take_losses();
        if self.path != Path::Credits {
            if self.path == Path::Unknown {
                // A handshake waits for nothing.
                self.gate.set(Mode::Open);
            }
            return;
        }
        if self.quic.is_closed() {
            // Only the news of that is still to be sent.
            self.pending = false;
            return self.gate.set(Mode::Open);
        }
        for loss in losses {
            self.lost_bytes += loss.bytes;
            // Small ones have no data.
            let full = u64::from(self.quic.current_mtu());
            let packets = (loss.bytes + full / 2) / full;
            let scheduled = packets - self.burst.on_lost(packets);
            let before = span(now.saturating_duration_since(loss.sent)).min(time.since_start());
            if let Some(credits) = &mut self.credits {
                credits.on_lost(time - before, scheduled);
            }
        }
        self.pending |= self.gate.mode() == Mode::Shut;
    }

    /// Sends one packet on a credit: what has to be repeated, or else new data.
    pub(super) fn send_on_credit(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        let has_sent = self.take_credit(now, out);
        if let Some(credits) = &mut self.credits {
            if has_sent {
                credits.on_data(time);
            } else {
                credits.on_unused();
            }
        }
    }

    /// Uses a credit: true if a packet left.
    fn take_credit(&mut self, now: Instant, out: &mut Vec<Datagram>) -> bool {
        let payload = self.payload();
        let mut given = 0;
        if self.quic_silence.is_at(now) {
            // A peer that answers no more gets nothing new, and a small packet whose answer says what was lost.
            if !self.quic_silence.may_call(now) {
                return false;
            }
            self.quic.ping();
        } else if !self.pending {
            given = self.streams.fill(&mut self.quic, payload);
            if given == 0 {
                return false;
            }
        }
        self.wake_writers();
        let before = self.without_credit;
        let has_sent = self.pass_one(now, out);
        if !has_sent {
            self.on_unsent(given);
        }
        // A second one in there is a probe.
        self.data_packets += u64::from(self.without_credit > before);
        self.without_credit = self.without_credit.max(before + 1) - 1;
        has_sent
    }

    /// QUIC was given so much and has sent nothing, as to an address that has to be validated first.
    fn on_unsent(&mut self, given: usize) {
        self.lost_bytes += given as u64;
        self.pending |= given > 0;
        self.gate.set(if self.pending { Mode::Shut } else { Mode::Open });
    }

    /// Sends what may leave before the first credit.
    pub(super) fn send_unscheduled(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        if self.pending {
            self.burst.stop();
            return;
        }
        loop {
            let (queued, may_grow) = (self.streams.queued(), self.streams.may_grow());
            match self.burst.next(time, queued, may_grow) {
                None => return,
                Some(Next::Probe) => {
                    self.quic.ping();
                    self.poll_as(now, Sort::Probe, out);
                }
                Some(Next::Data) => {
                    let payload = self.payload();
                    let given = self.streams.fill(&mut self.quic, payload);
                    self.wake_writers();
                    if self.poll_as(now, Sort::Unscheduled, out).is_none() {
                        return self.on_unsent(given);
                    }
                }
            }
        }
    }

    /// Sends what the fallback controller allows. QUIC gets data packet by packet, so that none waits in it when
    /// credits begin again.
    pub(super) fn transmit_by_window(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let payload = self.payload();
        loop {
            self.wants = false;
            if self.poll_one(now, out).is_some() {
                continue;
            }
            // It has asked for its window and sent nothing: that is full, or paced.
            if self.wants || self.streams.fill(&mut self.quic, payload) == 0 {
                return;
            }
        }
    }

    /// Tells the peer of the classes of its packets, if it has to know.
    pub(super) fn tell_classes(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        if let Some(notice) = self.watch.notice(now) {
            self.exchange.tell(&mut self.quic, notice);
            self.poll_as(now, Sort::Notice, out);
        }
    }

    /// Opens the gate for one packet, and leaves it open if nothing else waits. False if QUIC sends none.
    pub(super) fn pass_one(&mut self, now: Instant, out: &mut Vec<Datagram>) -> bool {
        self.gate.set(Mode::Open);
        let has_sent = self.poll_one(now, out).is_some();
        let sent = out.last().filter(|_| has_sent).map(|datagram| datagram.bytes.len());
        let bytes = sent.unwrap_or(self.payload()) as u64;
        self.lost_bytes = self.lost_bytes.saturating_sub(bytes);
        self.gate.set(Mode::Shut);
        self.wants = false;
        while self.poll_one(now, out).is_some() {}
        self.pending = self.wants || !has_sent && self.lost_bytes > 0;
        if !self.pending {
            self.lost_bytes = 0;
            self.gate.set(Mode::Open);
            self.bypass.on_open();
        }
        has_sent
    }

    /// Sends what may leave without a credit. Data that was not noticed shuts the gate behind its first packet.
    pub(super) fn send_rest(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let mut before = self.without_credit;
        while self.poll_one(now, out).is_some() {
            if self.path == Path::Credits && self.without_credit > before {
                before = self.without_credit;
                self.pending = true;
                self.gate.set(Mode::Shut);
            }
        }
    }

    /// Lets a packet pass the shut gate if what waits behind it must not wait for a credit.
    pub(super) fn pass_without_credit(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        if self.pending && self.bypass.is_due(now, self.quic.has_pending_retransmits()) {
            self.pass_one(now, out);
            self.bypass.on_passed(now);
        }
    }

    pub(super) fn wake_writers(&mut self) {
        let streams = &self.streams;
        self.waiting.wake_writers(|id| streams.has_room(id));
    }

    /// Sends what QUIC wants to send next, if it may.
    fn poll_one(&mut self, now: Instant, out: &mut Vec<Datagram>) -> Option<()> {
        self.poll_as(now, Sort::Usual, out)
    }

    /// The same, for a packet of this sort.
    fn poll_as(&mut self, now: Instant, sort: Sort, out: &mut Vec<Datagram>) -> Option<()> {
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.reserve(usize::from(self.config.datagram));
        // Statistics ask for the window, too.
        self.gate.take_asked();
        let transmit = self.quic.poll_transmit(now, 1, &mut bytes);
        self.wants |= self.gate.take_asked();
        let Some(transmit) = transmit else {
            self.spare = bytes;
            return None;
        };
        let sent = self.quic.stats().frame_tx;
        let is_data = sent.stream > std::mem::replace(&mut self.stream_frames, sent.stream);
        let acknowledges = sent.acks > std::mem::replace(&mut self.ack_frames, sent.acks);
        self.bypass.on_departure(now, acknowledges);
        let eliciting = ack_eliciting(&sent);
        if eliciting > std::mem::replace(&mut self.eliciting_frames, eliciting) {
            self.quic_silence.on_departure(now);
        }
        let is_unscheduled = is_data && sort == Sort::Unscheduled;
        if is_unscheduled {
            self.unscheduled += 1;
            self.gate.on_unscheduled(now);
        } else if sort != Sort::Notice {
            self.without_credit += u64::from(is_data);
        }
        let classes = self.config.classes;
        let class = match bytes.len() {
            _ if is_unscheduled => classes.unscheduled,
            _ if is_data => classes.data,
            // Behind the data that it probes for.
            _ if sort == Sort::Probe => classes.control,
            0..=SMALL => classes.ack,
            _ => classes.control,
        };
        let ecn = match transmit.ecn {
            _ if is_unscheduled => 0,
            _ if is_data || self.path == Path::Credits => ECT,
            ecn => ecn.map_or(0, |ecn| ecn as u8),
        };
        out.push(Datagram { to: transmit.destination, tos: class << 2 | ecn, bytes });
        Some(())
    }
}
