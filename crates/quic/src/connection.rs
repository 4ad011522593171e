//! One QUIC connection. QUIC decides what is sent, and [`CreditExchange`] when.
//!
//! The application's bytes wait in [`SendQueues`], and QUIC takes one packet's worth of them when a credit allows a
//! packet to leave ([`transmit`]). Retransmissions wait for credits in QUIC, behind a closed [`CreditGate`].
//! Acknowledgements, flow control and keep-alive leave at once while the gate is open; behind a closed gate they wait
//! for the next credit or probe, but no longer than the peer's acknowledgement delay ([`Bypass`]). The module
//! [`fallback`] decides whether data leaves on credits at all.

mod fallback;
mod probing;
mod transmit;

use crate::credit::credit_exchange::{CreditExchange, Departure, PacketNovelty};
use crate::credit::packet::{EMULATION_BYTES, Encoded, PacketKind, Parsed};
use crate::error::{CloseReason, tidy};
use crate::peer_address::{AmplificationLimit, CreditDestination};
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::trust::code::{Code, Proof};
use crate::wakers::Wakers;
use crate::{config::Config, credit::bypass::Bypass};
use crate::{credit::fallback_detector::CreditLivenessProbe, credit::gate::CreditGate, credit::notice::DscpMonitor};
use crate::{credit::send_mode::SendMode, credit::settings_stream::SettingsStream, credit::stats::CreditStats};
use crate::{credit::unscheduled::UnscheduledStart, path_stats::PathStats};
use crate::{peer_silence::PeerSilence, send_queues::SendQueues};
use quinn_proto::{ConnectionError, ConnectionHandle, Dir, Event, StreamEvent, VarInt};
use shallop_core::{Span, Time};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The error code of a connection that is closed because the peer sent credits for packets that were not sent.
const FORGED_CREDITS: u32 = 1;
/// The error code of a connection that is closed because the peer has not proved the code of this side.
const WRONG_CODE: u32 = 2;
/// How long a connection is kept after its end so that the peer is told again if it asks. QUIC would keep it for three
/// probe timeouts (RFC 9000, 10.2), which a peer can stretch to a minute.
const LINGER: Duration = Duration::from_secs(5);
/// As [`LINGER`], for a peer that has not proved the code.
const LINGER_UNPROVED: Duration = Duration::from_secs(1);
/// The streams of each direction that the peer may have open at a time.
const STREAMS: VarInt = VarInt::from_u32(100);
/// The time that a peer may take to answer, in addition to four waiting times, before it counts as silent.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

#[allow(clippy::struct_excessive_bools, reason = "conditions that do not depend on each other")]
pub(crate) struct Connection {
    pub(crate) handle: ConnectionHandle,
    pub(crate) quic: quinn_proto::Connection,
    pub(crate) send_queues: SendQueues,
    pub(crate) close_reason: Option<CloseReason>,
    pub(crate) wakers: Wakers,
    pub(crate) tag: u16,
    /// Whether the application has no handle of the connection: not yet, or no longer.
    pub(crate) is_abandoned: bool,
    /// Whether a client may use the connection from now on, and the application is to accept it.
    pub(crate) arrives: bool,
    /// When the connection is forgotten, once its end was told.
    pub(crate) forgotten_at: Option<Instant>,
    /// Whether QUIC's endpoint has forgotten the connection.
    pub(crate) is_drained: bool,
    /// The flow-control window for data of the peer, bytes; 0 until the endpoint grants one.
    pub(crate) window: u32,
    /// The proof of the code that the peer owes.
    proof: Option<Proof>,
    /// The instant at which this connection's [`Time`] is zero: the end of the handshake (docs/quic-wire.md).
    start: Instant,
    config: Config,
    pub(crate) gate: Arc<CreditGate>,
    bypass: Bypass,
    send_mode: SendMode,
    credits: Option<CreditExchange>,
    unscheduled_start: UnscheduledStart,
    liveness_probe: CreditLivenessProbe,
    /// The fallback that the peer's notice about arriving DSCP demands.
    objection: Option<SendMode>,
    /// Watches the DSCP of packets from the peer.
    dscp_monitor: DscpMonitor,
    /// Whether QUIC holds ack-eliciting frames back because the gate is closed.
    has_held_frames: bool,
    /// Whether QUIC has asked for the congestion window during the last poll, which means that it has ack-eliciting
    /// frames to send.
    asked_for_window: bool,
    /// After a fallback: when the configured rate allows the next new data.
    paced_until: Instant,
    /// When this connection transmits again because the configured rate held data back.
    paced_wakeup: Option<Instant>,
    /// The packets that QUIC had declared lost at the last look at its counts.
    lost_packets: u64,
    /// An estimate of the lost bytes that were not sent again yet.
    lost_bytes: u64,
    /// Whether the peer answers QUIC packets.
    quic_silence: PeerSilence,
    /// Whether the peer answers QUIC packets or emulation packets.
    silence: PeerSilence,
    amplification_limit: AmplificationLimit,
    credit_destination: CreditDestination,
    /// The STREAM frames that QUIC had sent at the last look at its counts.
    stream_frames: u64,
    /// The value of `stream_frames` when this side's settings were written.
    frames_before_settings: u64,
    /// The ACK frames that QUIC had sent at the last look at its counts.
    ack_frames: u64,
    /// The `PATH_RESPONSE` frames that QUIC had received at the last look at its counts.
    path_responses: u64,
    /// The STREAM frames that QUIC had received at the last look at its counts.
    stream_frames_received: u64,
    /// The ack-eliciting frames that QUIC had sent at the last look at its counts.
    eliciting_frames: u64,
    /// The count for [`CreditStats::data_packets`].
    data_packets: u64,
    /// The count for [`CreditStats::without_credit`].
    without_credit: u64,
    /// The count for [`CreditStats::unscheduled`].
    unscheduled: u64,
    /// Whether QUIC has found that its ECN marks do not arrive.
    ecn_cleared: bool,
    /// The longest smoothed round trip time so far.
    longest_rtt: Duration,
    settings_stream: SettingsStream,
    /// The packet buffer for the next poll of QUIC, left over from a poll that returned no packet.
    spare: Vec<u8>,
    /// Whether QUIC may have something to send since the application's last call.
    pub(crate) needs_transmit: bool,
}

impl Connection {
    pub(crate) fn new(
        now: Instant, handle: ConnectionHandle, quic: quinn_proto::Connection, gate: Arc<CreditGate>, config: &Config,
        tag: u16,
    ) -> Self {
        let timeout = config.wait * 4 + ANSWER_TIMEOUT;
        let burst = config.unscheduled.filter(|_| config.credits);
        let is_server = quic.side().is_server();
        Self {
            amplification_limit: AmplificationLimit::new(quic.remote_address()),
            credit_destination: CreditDestination::default(),
            handle,
            quic,
            send_queues: SendQueues::default(),
            close_reason: None,
            wakers: Wakers::default(),
            tag,
            is_abandoned: is_server,
            arrives: false,
            forgotten_at: None,
            is_drained: false,
            window: 0,
            proof: None,
            start: now,
            config: *config,
            gate,
            bypass: Bypass::new(now, config.wait),
            send_mode: SendMode::Unknown,
            credits: None,
            unscheduled_start: UnscheduledStart::new(burst, config.link),
            liveness_probe: CreditLivenessProbe::new(config.wait, timeout),
            objection: None,
            dscp_monitor: DscpMonitor::new(config.classes, config.wait * 2),
            has_held_frames: false,
            asked_for_window: false,
            paced_until: now,
            paced_wakeup: None,
            lost_packets: 0,
            lost_bytes: 0,
            quic_silence: PeerSilence::after(timeout),
            silence: PeerSilence::after(timeout),
            stream_frames: 0,
            frames_before_settings: 0,
            ack_frames: 0,
            path_responses: 0,
            stream_frames_received: 0,
            eliciting_frames: 0,
            data_packets: 0,
            without_credit: 0,
            unscheduled: 0,
            ecn_cleared: false,
            longest_rtt: Duration::ZERO,
            settings_stream: SettingsStream::default(),
            spare: Vec::new(),
            needs_transmit: true,
        }
    }

    /// Asks the peer to prove this code before anything else.
    pub(crate) fn proving(self, now: Instant, code: Option<Code>) -> Self {
        let side = self.quic.side();
        Self { proof: code.map(|code| Proof::new(now, code, side)), ..self }
    }

    /// Moves the end of the handshake back by `span`, so that tests reach the limits of [`Time`].
    #[cfg(test)]
    pub(crate) fn age(&mut self, span: Duration) {
        self.start = self.start.checked_sub(span).unwrap();
    }

    /// The time since the end of the handshake, at most the 213 days that a [`Time`] can hold.
    fn time(&self, now: Instant) -> Time {
        Time::after_start(Span::from(now.saturating_duration_since(self.start)))
    }

    pub(crate) fn send_mode(&self) -> SendMode {
        self.send_mode
    }

    pub(crate) fn stats(&self) -> CreditStats {
        let stats = self.credits.as_ref().map(CreditExchange::stats).unwrap_or_default();
        CreditStats {
            data_packets: self.data_packets,
            without_credit: self.without_credit,
            unscheduled: self.unscheduled,
            ..stats
        }
    }

    pub(crate) fn path_stats(&self) -> PathStats {
        PathStats::new(&self.quic.stats(), self.longest_rtt, self.ecn_cleared)
    }

    /// Wakes all tasks that wait for this connection.
    pub(crate) fn wake(&mut self) {
        self.wakers.wake_all();
    }

    /// Handles the events that QUIC reports: the end of the handshake, data and room in streams, and the end of the
    /// connection.
    pub(crate) fn process_events(&mut self, now: Instant) {
        let (mut has_changed, mut may_have_notice) = (false, false);
        while let Some(event) = self.quic.poll() {
            may_have_notice = true;
            if let Event::Stream(StreamEvent::Readable { id }) = event {
                self.wakers.wake_reader(id);
                continue;
            }
            has_changed = true;
            match event {
                // A server knows the ALPN and the keys after the client's first packet.
                Event::HandshakeDataReady if self.quic.side().is_server() && self.proof.is_none() => self.negotiate(),
                Event::Connected => self.on_connected(now),
                Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(close) }
                    if self.proof.is_some() && close.error_code == VarInt::from_u32(WRONG_CODE) =>
                {
                    self.close_reason = Some(CloseReason::WrongCode);
                }
                Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(close) } => {
                    let reason = tidy(&String::from_utf8_lossy(&close.reason));
                    let code = close.error_code.into_inner();
                    self.close_reason = Some(CloseReason::ByPeer { code, reason });
                }
                Event::ConnectionLost { reason } => {
                    self.close_reason = Some(CloseReason::Lost(tidy(&reason.to_string())));
                }
                Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                    self.send_queues.unblock(id);
                }
                _ => {}
            }
        }
        if self.proof.is_some() {
            self.check_proof(now);
        }
        if self.send_mode == SendMode::Unknown {
            has_changed |= self.read_settings(now);
        } else {
            self.longest_rtt = self.longest_rtt.max(self.quic.rtt());
        }
        if may_have_notice && self.credits.is_some() {
            self.read_notice();
        }
        if has_changed {
            self.wake();
        }
    }

    fn on_connected(&mut self, now: Instant) {
        match (&mut self.proof, self.quic.side().is_server()) {
            (Some(proof), _) => proof.begin(now, &mut self.quic),
            (None, true) => self.arrives = true,
            (None, false) => self.negotiate(),
        }
    }

    /// The flow-control window that this connection can use, bytes, if it has none, the handshake is over and the peer
    /// has proved the code.
    pub(crate) fn wanted_window(&self) -> Option<u32> {
        let is_closed = self.quic.is_closed() || self.quic.is_handshaking();
        (self.window == 0 && self.proof.is_none() && !is_closed).then(|| self.config.windows().1)
    }

    /// Lets the peer use the connection if it has proved the code, and closes it if it has not.
    fn check_proof(&mut self, now: Instant) {
        let Some(proof) = self.proof.as_mut().filter(|_| !self.quic.is_closed()) else { return };
        match proof.poll(&mut self.quic) {
            None if proof.due.is_none_or(|due| now < due) => {}
            Some(true) => {
                self.proof = None;
                for dir in [Dir::Uni, Dir::Bi] {
                    self.quic.set_max_concurrent_streams(dir, STREAMS);
                }
                self.arrives = self.quic.side().is_server();
                self.negotiate();
            }
            proof => {
                let why = if proof.is_some() { "another code" } else { "no proof of the code" };
                let lost = || CloseReason::Lost(format!("the other end has {why}"));
                self.close_reason.get_or_insert_with(lost);
                self.close(now, WRONG_CODE, why.as_bytes());
            }
        }
    }

    /// Processes a datagram that QUIC has read. A datagram that is not authentic or not new has no effect.
    pub(crate) fn on_quic_datagram(&mut self, now: Instant, datagram: &IncomingDatagram<'_>) {
        let frames = self.quic.stats().frame_rx;
        if !self.bypass.on_arrival(&frames) {
            return;
        }
        let (from, length) = (datagram.from, datagram.bytes.len());
        self.amplification_limit.on_arrival(now, from, length, self.quic.remote_address());
        if frames.path_response > std::mem::replace(&mut self.path_responses, frames.path_response) {
            self.amplification_limit.on_path_response(from);
        }
        if frames.stream > std::mem::replace(&mut self.stream_frames_received, frames.stream) {
            self.dscp_monitor.on_data(datagram.tos >> 2);
        }
        if self.unscheduled_start.outstanding() > 0 {
            self.unscheduled_start.on_acked(self.gate.unscheduled_acked());
        }
        self.quic_silence.on_arrival();
        self.silence.on_arrival();
    }

    /// Processes an emulation packet or a credit with this connection's tag.
    pub(crate) fn on_credit_packet(
        &mut self, now: Instant, datagram: &IncomingDatagram<'_>, parsed: &Parsed, out: &mut Vec<OutgoingDatagram>,
    ) {
        let time = self.time(now);
        let Some(credits) = &mut self.credits else { return };
        let novelty = credits.on_packet(time, parsed);
        if novelty != PacketNovelty::Rejected {
            self.silence.on_arrival();
            match parsed.kind {
                PacketKind::Credit => self.unscheduled_start.on_answer(),
                _ => self.dscp_monitor.on_emulation(now, datagram.tos >> 2),
            }
            let (from, length) = (datagram.from, datagram.bytes.len());
            self.amplification_limit.on_arrival(now, from, length, self.quic.remote_address());
        }
        // Only the newest packet shows the client's address: an older one may be a replay from anywhere.
        if novelty == PacketNovelty::NewestEmulation && self.quic.side().is_server() {
            let (current, wait) = (self.quic.remote_address(), self.config.wait_span());
            self.credit_destination.on_newest(time, datagram.from, current, wait);
        }
        if let Some(packet) = self.credits.as_mut().and_then(CreditExchange::grant_full) {
            out.push(self.credit_to_peer(&packet));
        }
    }

    /// Whether streams can be opened: the handshake is over, and the send mode is known.
    pub(crate) fn is_ready(&self) -> bool {
        self.send_mode != SendMode::Unknown
    }

    /// Appends all datagrams that are to be sent now.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<OutgoingDatagram>) {
        let is_timeout = self.quic.poll_timeout().is_some_and(|at| at <= now);
        if is_timeout {
            self.quic.handle_timeout(now);
        }
        if is_timeout || self.proof_due().is_some_and(|at| at <= now) {
            self.process_events(now);
        }
        let has_forged = self.credits.as_ref().is_some_and(CreditExchange::has_forged_credits);
        if has_forged && !self.quic.is_closed() {
            self.close(now, FORGED_CREDITS, b"credits for packets that were not sent");
        }
        let time = self.time(now);
        if self.send_mode == SendMode::Credits {
            self.transmit_on_credits(now, time, out);
        }
        // The mode may have just changed.
        if self.send_mode.has_window() {
            self.transmit_by_window(now, out);
            self.wake_writers();
            self.send_credits(time, out);
        }
        self.send_probes(now, out);
        self.send_notice(now, out);
        self.send_without_credit(now, out);
        self.process_losses(now, time);
        if self.quic.is_closed() {
            let linger = if self.proof.is_some() { LINGER_UNPROVED } else { LINGER };
            self.forgotten_at.get_or_insert(now + linger);
        }
    }

    fn transmit_on_credits(&mut self, now: Instant, time: Time, out: &mut Vec<OutgoingDatagram>) {
        let before = out.len();
        self.process_losses(now, time);
        self.update_demand(now, time);
        let mut due = 0;
        while let Some(departure) = self.credits.as_mut().and_then(|of| of.depart(time)) {
            self.unscheduled_start.stop();
            due += u64::from(departure == Departure::Data);
        }
        if due > 0 {
            self.send_on_credits(now, time, due, out);
            self.update_demand(now, time);
        }
        self.send_unscheduled(now, time, out);
        self.send_bypass(now, out);
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.emulate(time)) {
            out.push(self.credit_datagram(&packet));
            self.silence.on_departure(now);
            self.amplification_limit.on_departure(EMULATION_BYTES);
            self.update_demand(now, time);
        }
        self.send_credits(time, out);
        if out.len() > before {
            self.credits.iter_mut().for_each(|of| of.end_turn(time));
        }
        self.check_for_fallback(now, time, out);
    }

    /// Appends the credit packets that are due to `out`.
    fn send_credits(&mut self, time: Time, out: &mut Vec<OutgoingDatagram>) {
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.grant(time)) {
            out.push(self.credit_to_peer(&packet));
        }
    }

    fn credit_to_peer(&self, packet: &(PacketKind, Encoded)) -> OutgoingDatagram {
        let to = self.credit_destination.get().unwrap_or(self.quic.remote_address());
        OutgoingDatagram { to, ..self.credit_datagram(packet) }
    }

    /// Tells the credit engine how many packets wait for credits. While the peer is silent, or the anti-amplification
    /// limit allows no more bytes to its new address, the demand is zero, except for a probe from time to time.
    fn update_demand(&mut self, now: Instant, time: Time) {
        let may_ask = self.silence.may_probe(now) && self.amplification_limit.allows(EMULATION_BYTES);
        let demand = if may_ask { self.waiting_packets() } else { 0 };
        if let Some(credits) = &mut self.credits {
            credits.set_demand(time, demand);
        }
    }

    /// The number of packets that wait for credits.
    fn waiting_packets(&self) -> u64 {
        if self.quic.is_closed() {
            return 0;
        }
        let queued = self.send_queues.queued().div_ceil(self.payload()) as u64;
        let lost = self.lost_bytes.div_ceil(u64::from(self.quic.current_mtu()));
        queued + lost.max(u64::from(self.has_held_frames)) + self.unscheduled_start.outstanding()
    }

    fn credit_datagram(&self, (kind, bytes): &(PacketKind, Encoded)) -> OutgoingDatagram {
        let tos = self.config.classes.tos_of(*kind);
        OutgoingDatagram { to: self.quic.remote_address(), tos, bytes: bytes.to_vec() }
    }

    /// Whether a client has begun the connection, and has not completed the handshake or not proved the code.
    pub(crate) fn is_of_stranger(&self) -> bool {
        self.quic.side().is_server() && (self.proof.is_some() || self.quic.is_handshaking())
    }

    /// When the connection is closed if the peer has not proved the code.
    fn proof_due(&self) -> Option<Instant> {
        self.proof.as_ref().filter(|_| !self.quic.is_closed())?.due
    }

    /// The next deadline of QUIC and of the credit machinery.
    pub(crate) fn wakeup(&mut self) -> Option<Instant> {
        let on_credits = self.send_mode == SendMode::Credits;
        let instants = [
            self.quic.poll_timeout(),
            self.proof_due(),
            self.forgotten_at.filter(|_| !self.is_drained),
            self.paced_wakeup.filter(|_| !on_credits),
            (on_credits && self.has_held_frames).then(|| self.bypass.due()),
            self.silence.next_probe().filter(|_| on_credits),
        ];
        let times = [
            self.credits.as_ref().and_then(CreditExchange::wakeup),
            self.unscheduled_start.wakeup().filter(|_| on_credits),
        ];
        let since_start = |at: Time| Duration::from_nanos(at.since_start().as_ps().div_ceil(1_000));
        let times = times.into_iter().flatten().map(|at| self.start + since_start(at));
        instants.into_iter().flatten().chain(times).min()
    }

    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &[u8]) {
        self.quic.close(now, VarInt::from_u32(code), bytes::Bytes::copy_from_slice(reason));
        let by_this_side = || CloseReason::Lost("closed by this side".to_owned());
        self.close_reason.get_or_insert_with(by_this_side);
        self.wake();
    }
}
