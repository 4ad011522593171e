//! Sends QUIC packets of a connection: on credits, before the first credit, by the congestion window of the fallback,
//! and without credit where a packet must not wait.

use super::{Connection, OutgoingDatagram};
use crate::credit::unscheduled::UnscheduledSend;
use crate::{config::ECT, credit::bypass::ack_eliciting, credit::gate::GateMode, credit::send_mode::SendMode};
use shallop_core::{Span, Time};
use std::time::{Duration, Instant};

/// The bytes of a packet that are not stream data: 13 of the short header, 16 of the AEAD tag, 19 of the STREAM frame's
/// header, and 16 for a short ACK frame.
const OVERHEAD: usize = 64;
/// After a fallback: the most data that leaves together, as a time at the configured rate, and the time between two
/// transmissions that this rate delays. One wake-up for each packet would cost too much.
const MAX_BURST: Duration = Duration::from_millis(1);
const PACING_INTERVAL: Duration = Duration::from_micros(250);
/// The multiple of the configured rate up to which data leaves on a path without a meter, so that the application sees
/// whether the path carries more than that rate ([`SendMode::Unmetered`]).
const UNMETERED_LIMIT: f64 = 1.25;
/// The longest packet without stream data that is classified as an acknowledgement, bytes of UDP payload.
const MAX_ACK_LENGTH: usize = 100;

/// The purpose of a packet, which decides its DSCP and its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketPurpose {
    /// Whatever QUIC has to send: data, acknowledgements or control frames.
    Any,
    /// The first data, or data after a pause, without a credit (Aeolus).
    Unscheduled,
    /// The probe that follows unscheduled data and makes the peer acknowledge it.
    Probe,
    /// A notice about the DSCP of the peer's packets. Its STREAM frame does not count as data.
    Notice,
}

/// The stream data that fits into a packet with this UDP payload, bytes.
fn payload_of(datagram: u16) -> usize {
    usize::from(datagram).saturating_sub(OVERHEAD).max(1)
}

impl Connection {
    /// The stream data that fits into one packet, bytes. QUIC reduces it when the path drops long packets.
    pub(super) fn payload(&self) -> usize {
        payload_of(self.quic.current_mtu())
    }

    /// Processes the losses that QUIC has declared. A loss closes the gate, so that retransmissions wait for credits.
    pub(super) fn process_losses(&mut self, now: Instant, time: Time) {
        let losses = std::mem::take(&mut self.gate.reports().losses);
        let before = self.lost_packets;
        if !losses.is_empty() {
            self.lost_packets = self.quic.stats().path.lost_packets;
        }
        if self.send_mode != SendMode::Credits {
            if self.send_mode == SendMode::Unknown {
                // Retransmissions of the handshake need no credit.
                self.gate.set(GateMode::Open);
            }
            return;
        }
        if self.quic.is_closed() {
            // Only the CONNECTION_CLOSE frame is left to send.
            self.has_held_frames = false;
            return self.gate.set(GateMode::Open);
        }
        let mut unscheduled = self.unscheduled_start.on_lost(self.lost_packets.saturating_sub(before));
        for loss in losses {
            self.lost_bytes += loss.bytes;
            // Losses on credits are counted in full packets, as short ones carry no data.
            let full = u64::from(self.quic.current_mtu());
            let packets = (loss.bytes + full / 2) / full;
            let scheduled = packets.saturating_sub(unscheduled);
            unscheduled = unscheduled.saturating_sub(packets);
            let age = Span::from(now.saturating_duration_since(loss.sent)).min(time.since_start());
            if let Some(credits) = &mut self.credits {
                credits.loss_detector.on_lost(time - age, scheduled);
            }
        }
        self.has_held_frames |= self.gate.mode() == GateMode::Closed;
    }

    /// Sends a packet on each of these credits: retransmissions if there are any, then new data.
    pub(super) fn send_on_credits(&mut self, now: Instant, time: Time, due: u64, out: &mut Vec<OutgoingDatagram>) {
        let mut left = due;
        while left > 0 {
            match self.use_some_of(now, left, out) {
                0 => break,
                sent => left -= sent,
            }
        }
        if let Some(credits) = &mut self.credits {
            (left..due).for_each(|_| credits.loss_detector.on_data(time));
            credits.unused += left;
        }
    }

    /// Sends packets on at most this number of credits, if QUIC has any to send. Returns how many.
    fn use_some_of(&mut self, now: Instant, credits: u64, out: &mut Vec<OutgoingDatagram>) -> u64 {
        let (mut most, mut taken) = (1, 0);
        if self.quic_silence.is_silent(now) {
            // A silent peer gets no new data, only a PING from time to time, whose answer tells what was lost.
            if !self.quic_silence.may_probe(now) {
                return 0;
            }
            self.quic.ping();
        } else if !self.has_held_frames {
            most = credits;
            let bytes = self.payload().saturating_mul(most as usize);
            taken = self.send_queues.fill(&mut self.quic, bytes);
            if taken == 0 {
                return 0;
            }
        }
        self.wake_writers();
        let before = self.without_credit;
        let sent = self.pass_gate(now, most, out);
        if sent == 0 {
            self.on_unsent(taken);
        }
        // The first packets used the credits. Further ones are probes of QUIC and count as sent without credit.
        let data = sent.min(self.without_credit - before);
        self.data_packets += data;
        self.without_credit -= data;
        sent
    }

    /// Notes that QUIC took data and sent no packet, for example because it has to validate the peer's address first.
    fn on_unsent(&mut self, taken: usize) {
        self.lost_bytes += taken as u64;
        self.has_held_frames |= taken > 0;
        self.gate.set(if self.has_held_frames { GateMode::Closed } else { GateMode::Open });
    }

    /// Sends the first data, and data after a pause, without credits, as far as the configuration allows.
    pub(super) fn send_unscheduled(&mut self, now: Instant, time: Time, out: &mut Vec<OutgoingDatagram>) {
        if self.has_held_frames {
            self.unscheduled_start.stop();
            return self.unscheduled_start.on_busy();
        }
        loop {
            let (queued, may_grow) = (self.send_queues.queued(), self.send_queues.may_grow());
            let datagram = self.quic.current_mtu();
            match self.unscheduled_start.next(time, queued, may_grow, datagram) {
                None => return,
                Some(UnscheduledSend::Probe) => {
                    self.quic.ping();
                    self.poll_quic(now, PacketPurpose::Probe, out);
                }
                Some(UnscheduledSend::Data { is_first }) => {
                    if is_first {
                        self.gate.begin_unscheduled();
                    }
                    let payload = payload_of(self.unscheduled_start.datagram.min(datagram));
                    let taken = self.send_queues.fill(&mut self.quic, payload);
                    self.wake_writers();
                    if !self.poll_quic(now, PacketPurpose::Unscheduled, out) {
                        return self.on_unsent(taken);
                    }
                }
            }
        }
    }

    /// Sends what the congestion window of the fallback controller allows, after a fallback at most at the configured
    /// rate. QUIC takes data for one packet at a time, so that it holds none when credits are used again.
    pub(super) fn transmit_by_window(&mut self, now: Instant, out: &mut Vec<OutgoingDatagram>) {
        let payload = self.payload();
        self.paced_wakeup = None;
        loop {
            self.asked_for_window = false;
            if self.poll_quic(now, PacketPurpose::Any, out) {
                continue;
            }
            // QUIC has asked for the window and sent nothing: the window is full, or pacing delays the packet.
            if self.asked_for_window {
                return;
            }
            if now < self.paced_until {
                self.paced_wakeup = (self.send_queues.queued() > 0).then(|| self.paced_until + PACING_INTERVAL);
                return;
            }
            let taken = self.send_queues.fill(&mut self.quic, payload);
            if taken == 0 {
                return;
            }
            self.pace(now, taken);
        }
    }

    /// After a fallback, delays the next new data so that it leaves at most at the configured rate.
    fn pace(&mut self, now: Instant, taken: usize) {
        let limit = match self.send_mode {
            SendMode::WithoutCredits => return,
            SendMode::Unmetered => UNMETERED_LIMIT,
            _ => 1.0,
        };
        let seconds = (taken + OVERHEAD) as f64 * 8.0 / (self.config.link.get() as f64 * limit);
        let earliest = now.checked_sub(MAX_BURST).unwrap_or(now);
        self.paced_until = self.paced_until.max(earliest) + Duration::from_secs_f64(seconds);
    }

    /// Sends a notice about the DSCP of the peer's packets, if one is due.
    pub(super) fn send_notice(&mut self, now: Instant, out: &mut Vec<OutgoingDatagram>) {
        if let Some(notice) = self.dscp_monitor.notice(now) {
            self.settings_stream.send_notice(&mut self.quic, notice);
            self.poll_quic(now, PacketPurpose::Notice, out);
        }
    }

    /// Opens the gate for `most` packets, and leaves it open if QUIC holds no further ack-eliciting frames. Returns how
    /// many packets QUIC has sent.
    pub(super) fn pass_gate(&mut self, now: Instant, most: u64, out: &mut Vec<OutgoingDatagram>) -> u64 {
        self.gate.set(GateMode::Open);
        let begin = out.len();
        let mut sent = 0;
        while sent < most && self.poll_quic(now, PacketPurpose::Any, out) {
            sent += 1;
        }
        let bytes: usize = out[begin..].iter().map(|datagram| datagram.bytes.len()).sum();
        let bytes = if sent > 0 { bytes } else { self.payload() };
        self.lost_bytes = self.lost_bytes.saturating_sub(bytes as u64);
        self.gate.set(GateMode::Closed);
        self.asked_for_window = false;
        while self.poll_quic(now, PacketPurpose::Any, out) {}
        self.has_held_frames = self.asked_for_window || sent == 0 && self.lost_bytes > 0;
        if !self.has_held_frames {
            self.lost_bytes = 0;
            self.gate.set(GateMode::Open);
            self.bypass.held_since = None;
        }
        sent
    }

    /// Sends what needs no credit. If QUIC retransmits data whose loss was not reported, the gate closes after the
    /// first packet.
    pub(super) fn send_without_credit(&mut self, now: Instant, out: &mut Vec<OutgoingDatagram>) {
        let mut before = self.without_credit;
        while self.poll_quic(now, PacketPurpose::Any, out) {
            if self.send_mode == SendMode::Credits && self.without_credit > before {
                before = self.without_credit;
                self.has_held_frames = true;
                self.gate.set(GateMode::Closed);
            }
        }
    }

    /// Passes one packet through the closed gate, if frames behind it have waited long enough ([`super::Bypass`]).
    pub(super) fn send_bypass(&mut self, now: Instant, out: &mut Vec<OutgoingDatagram>) {
        if self.has_held_frames && self.bypass.is_due(now, self.quic.has_pending_retransmits()) {
            self.pass_gate(now, 1, out);
            self.bypass.on_passed(now);
        }
    }

    pub(super) fn wake_writers(&mut self) {
        let queues = &self.send_queues;
        self.wakers.wake_writers(|id| queues.has_room(id));
    }

    /// Asks QUIC for a packet and appends it to `out`. Returns false if QUIC has none, or the gate holds it back.
    fn poll_quic(&mut self, now: Instant, purpose: PacketPurpose, out: &mut Vec<OutgoingDatagram>) -> bool {
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.reserve(usize::from(self.config.datagram));
        // Reading statistics also asks for the window.
        self.gate.take_asked();
        let transmit = self.quic.poll_transmit(now, 1, &mut bytes);
        self.asked_for_window |= self.gate.take_asked();
        let Some(transmit) = transmit else {
            self.spare = bytes;
            return false;
        };
        if bytes.len() > usize::from(self.quic.current_mtu()) {
            if !self.amplification_limit.allows_mtu_probes(now, self.quic.rtt()) {
                // For QUIC the probe is lost, and is sent again.
                bytes.clear();
                self.spare = bytes;
                return false;
            }
            self.unscheduled_start.on_probe(self.time(now), bytes.len());
        }
        // QUIC takes unscheduled packets, which are not ECN-capable, for cleared ones.
        self.ecn_cleared = transmit.ecn.is_none() && self.unscheduled == 0;
        let sent = self.quic.stats().frame_tx;
        let is_data = sent.stream > std::mem::replace(&mut self.stream_frames, sent.stream);
        if is_data {
            self.unscheduled_start.on_busy();
        }
        let acknowledges = sent.acks > std::mem::replace(&mut self.ack_frames, sent.acks);
        self.bypass.on_departure(now, acknowledges);
        let eliciting = ack_eliciting(&sent);
        if eliciting > std::mem::replace(&mut self.eliciting_frames, eliciting) {
            self.quic_silence.on_departure(now);
        }
        let is_unscheduled = is_data && purpose == PacketPurpose::Unscheduled;
        if is_unscheduled {
            self.unscheduled += 1;
            self.gate.on_unscheduled(now);
        } else if purpose != PacketPurpose::Notice {
            self.without_credit += u64::from(is_data);
        }
        let classes = self.config.classes;
        let class = match bytes.len() {
            _ if is_unscheduled => classes.unscheduled,
            _ if is_data => classes.data,
            // The probe has to queue behind the data that it probes for.
            _ if purpose == PacketPurpose::Probe => classes.control,
            0..=MAX_ACK_LENGTH => classes.ack,
            _ => classes.control,
        };
        let ecn = match transmit.ecn {
            _ if is_unscheduled => 0,
            _ if is_data || self.send_mode == SendMode::Credits => ECT,
            ecn => ecn.map_or(0, |ecn| ecn as u8),
        };
        out.push(OutgoingDatagram { to: transmit.destination, tos: class << 2 | ecn, bytes });
        true
    }
}
