//! A connection: QUIC decides what is sent, [`Credits`] when. Data of streams waits here, and QUIC is given what one
//! packet carries whenever a credit lets one leave ([`leaving`]). What QUIC has to repeat waits behind its [`Gate`],
//! for credits as well, and acknowledgements, flow control and keep-alive then wait with it for the next credit, or for
//! the probe that QUIC sends without one, but no longer than the peer's acknowledgements may wait ([`Bypass`]). At all
//! other times they leave at once. Whether there are credits at all is decided in [`choice`].

mod choice;
mod leaving;

use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::{ConnectionError, ConnectionHandle, Event, StreamEvent, VarInt};
use shallop_core::Time;

use crate::config::Config;
use crate::credit::bypass::Bypass;
use crate::credit::credits::{Credits, Departure, Heard};
use crate::credit::evidence::Answers;
use crate::credit::exchange::Exchange;
use crate::credit::gate::Gate;
#[cfg(test)]
use crate::credit::gate::Mode;
use crate::credit::notice::Watch;
use crate::credit::packet::{EMULATION_BYTES, Encoded, PacketKind, Parsed};
use crate::credit::path::Path;
use crate::credit::stats::CreditStats;
use crate::credit::unscheduled::Burst;
use crate::new_address::{CreditAddress, NewAddress};
use crate::outgoing::Streams;
use crate::path_stats::PathStats;
use crate::silence::Silence;
use crate::sockets::datagram::Arrival;
pub(crate) use crate::sockets::datagram::Datagram;
use crate::streams::Effect;
use crate::waiting::Waiting;

/// The application protocol (ALPN) without credits.
pub(crate) const WITHOUT: &[u8] = b"shallop-quic/1";
/// The code with which a connection to a peer is closed that grants what it has not received.
const CHEATED: u32 = 1;
/// What a peer may take to answer, in addition to waiting times, before nothing new is sent to it.
const PATIENCE: Duration = Duration::from_millis(100);

/// How a connection has ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The peer has closed it.
    ByPeer { code: u64, reason: String },
    /// It was lost, or closed by this side.
    Lost(String),
    /// The endpoint's thread has ended.
    Failed(String),
}

/// A connection.
pub(crate) struct Connection {
    pub(crate) handle: ConnectionHandle,
    pub(crate) quic: quinn_proto::Connection,
    pub(crate) streams: Streams,
    pub(crate) end: Option<End>,
    pub(crate) waiting: Waiting,
    pub(crate) tag: u16,
    /// Nobody asks for it any more.
    pub(crate) is_abandoned: bool,
    config: Config,
    gate: Arc<Gate>,
    bypass: Bypass,
    path: Path,
    credits: Option<Credits>,
    burst: Burst,
    /// Whether credits still come, and what the peer has told against them.
    answers: Answers,
    objection: Option<Path>,
    /// The classes of what arrives.
    watch: Watch,
    /// QUIC has something to send that needs a credit.
    pending: bool,
    /// QUIC has asked whether it may send something that has to be acknowledged.
    wants: bool,
    /// Bytes of packets that were lost and not repeated, as far as is known.
    lost_bytes: u64,
    /// Whether packets of QUIC are answered, and whether anything is.
    quic_silence: Silence,
    silence: Silence,
    address: NewAddress,
    /// Where the emulation packets of a client come from.
    credits_to: CreditAddress,
    /// STREAM and ACK frames that QUIC has sent, and those that have to be acknowledged.
    stream_frames: u64,
    ack_frames: u64,
    /// STREAM frames that have arrived.
    stream_frames_received: u64,
    eliciting_frames: u64,
    data_packets: u64,
    without_credit: u64,
    unscheduled: u64,
    /// The longest that the smoothed round trip has been.
    longest_rtt: Duration,
    exchange: Exchange,
    /// Room for a packet that QUIC did not have.
    spare: Vec<u8>,
    /// Of what a user has done last.
    pub(crate) effect: Effect,
}

impl Connection {
    /// A connection of QUIC with the gate of its controllers.
    pub(crate) fn new(
        now: Instant,
        (handle, quic, gate): (ConnectionHandle, quinn_proto::Connection, Arc<Gate>),
        config: &Config,
        tag: u16,
    ) -> Self {
        let patience = config.wait * 4 + PATIENCE;
        Self {
            address: NewAddress::first(quic.remote_address()),
            credits_to: CreditAddress::default(),
            handle,
            quic,
            streams: Streams::default(),
            end: None,
            waiting: Waiting::default(),
            tag,
            is_abandoned: false,
            config: *config,
            gate,
            bypass: Bypass::new(now, config.wait),
            path: Path::Unknown,
            credits: None,
            burst: Burst::new(config),
            answers: Answers::new(config.wait, patience),
            objection: None,
            watch: Watch::new(config.classes, config.wait * 2),
            pending: false,
            wants: false,
            lost_bytes: 0,
            quic_silence: Silence::longer_than(patience),
            silence: Silence::longer_than(patience),
            stream_frames: 0,
            ack_frames: 0,
            stream_frames_received: 0,
            eliciting_frames: 0,
            data_packets: 0,
            without_credit: 0,
            unscheduled: 0,
            longest_rtt: Duration::ZERO,
            exchange: Exchange::default(),
            spare: Vec::new(),
            effect: Effect::Sends,
        }
    }

    #[cfg(test)]
    pub(crate) fn gate_mode(&self) -> Mode {
        self.gate.mode()
    }

    /// How data leaves now.
    pub(crate) fn path(&self) -> Path {
        self.path
    }

    pub(crate) fn stats(&self) -> CreditStats {
        let stats = self.credits.as_ref().map(Credits::stats).unwrap_or_default();
        CreditStats {
            data_packets: self.data_packets,
            without_credit: self.without_credit,
            unscheduled: self.unscheduled,
            ..stats
        }
    }

    pub(crate) fn path_stats(&self) -> PathStats {
        PathStats::new(&self.quic.stats(), self.longest_rtt)
    }

    /// Wakes whoever waits for something of this connection.
    pub(crate) fn wake(&mut self) {
        self.waiting.wake_all();
    }

    /// Takes what QUIC has to tell.
    pub(crate) fn take_events(&mut self, time: Time) {
        let (mut has_news, mut may_have_notice) = (false, false);
        while let Some(event) = self.quic.poll() {
            may_have_notice = true;
            if let Event::Stream(StreamEvent::Readable { id }) = event {
                self.waiting.wake_reader(id);
                continue;
            }
            has_news = true;
            match event {
                // A server knows all that it needs with the client's first packet.
                Event::HandshakeDataReady if self.quic.side().is_server() => self.choose_path(),
                Event::Connected if self.quic.side().is_client() => self.choose_path(),
                Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(close) } => {
                    let reason = String::from_utf8_lossy(&close.reason).into_owned();
                    self.end = Some(End::ByPeer { code: close.error_code.into_inner(), reason });
                }
                Event::ConnectionLost { reason } => self.end = Some(End::Lost(reason.to_string())),
                Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                    self.streams.unblock(id);
                }
                _ => {}
            }
        }
        if self.path == Path::Unknown {
            has_news |= self.read_settings(time);
        } else {
            self.longest_rtt = self.longest_rtt.max(self.quic.rtt());
        }
        if may_have_notice && self.credits.is_some() {
            self.read_notice();
        }
        if has_news {
            self.wake();
        }
    }

    /// A datagram of QUIC arrived. Nothing follows from one that is not authentic and new.
    pub(crate) fn on_arrival(&mut self, arrival: &Arrival<'_>) {
        let frames = self.quic.stats().frame_rx;
        if !self.bypass.on_arrival(&frames) {
            return;
        }
        self.address.on_arrival(arrival.from, arrival.bytes.len(), self.quic.remote_address());
        if frames.stream > std::mem::replace(&mut self.stream_frames_received, frames.stream) {
            self.watch.on_data(arrival.tos >> 2);
        }
        if self.burst.outstanding() > 0 {
            self.burst.on_acked(self.gate.unscheduled_acked());
        }
        self.quic_silence.on_arrival();
        self.silence.on_arrival();
    }

    /// A small packet with this connection's tag arrived.
    pub(crate) fn on_small(
        &mut self,
        (instant, now): (Instant, Time),
        arrival: &Arrival<'_>,
        parsed: &Parsed,
        out: &mut Vec<Datagram>,
    ) {
        let Some(credits) = &mut self.credits else { return };
        let heard = credits.on_packet(now, parsed);
        if heard != Heard::Nothing {
            self.silence.on_arrival();
            match parsed.kind() {
                PacketKind::Credit => self.burst.on_answer(),
                _ => self.watch.on_emulation(instant, arrival.tos >> 2),
            }
            self.address.on_arrival(arrival.from, arrival.bytes.len(), self.quic.remote_address());
        }
        // A packet that is not the newest says nothing of an address: anybody may have kept it.
        if heard == Heard::NewestEmulation && self.quic.side().is_server() {
            let (current, wait) = (self.quic.remote_address(), self.config.wait_span());
            self.credits_to.on_newest(now, arrival.from, current, wait);
        }
        self.grant(now, out);
    }

    /// Whether streams can be opened: the way data leaves is known.
    pub(crate) fn is_ready(&self) -> bool {
        self.path != Path::Unknown
    }

    /// Everything that is to leave now.
    pub(crate) fn transmit(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        if self.quic.poll_timeout().is_some_and(|at| at <= now) {
            self.quic.handle_timeout(now);
            self.take_events(time);
        }
        if self.credits.as_ref().is_some_and(Credits::is_cheated) && !self.quic.is_closed() {
            self.close(now, CHEATED, b"credits for packets that were not sent");
        }
        if self.path == Path::Credits {
            self.transmit_on_credits(now, time, out);
        }
        // Perhaps only since a moment ago.
        if self.path.has_window() {
            self.transmit_by_window(now, out);
            self.wake_writers();
            self.grant(time, out);
        }
        self.tell_classes(now, out);
        self.send_rest(now, out);
        self.notice_losses(now, time);
    }

    fn transmit_on_credits(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        self.notice_losses(now, time);
        self.update_demand(now, time);
        while let Some(departure) = self.credits.as_mut().and_then(|of| of.depart(time)) {
            self.burst.stop();
            if departure == Departure::Data {
                self.send_on_credit(now, time, out);
            }
            self.update_demand(now, time);
        }
        self.send_unscheduled(now, time, out);
        self.pass_without_credit(now, out);
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.emulate(time)) {
            out.push(self.datagram_of(&packet));
            self.silence.on_departure(now);
            self.address.on_departure(EMULATION_BYTES);
            self.update_demand(now, time);
        }
        self.grant(time, out);
        self.judge(now, time, out);
    }

    /// Sends the credits that are due.
    pub(crate) fn grant(&mut self, time: Time, out: &mut Vec<Datagram>) {
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.grant(time)) {
            let to = self.credits_to.get().unwrap_or(self.quic.remote_address());
            out.push(Datagram { to, ..self.datagram_of(&packet) });
        }
    }

    /// Says how many packets need credits. None are asked for while the peer is silent, but for a call from time to
    /// time, or more than its new address may get.
    fn update_demand(&mut self, now: Instant, time: Time) {
        let may_ask = self.silence.may_call(now) && self.address.allows(EMULATION_BYTES);
        let demand = if may_ask { self.waiting_packets() } else { 0 };
        if let Some(credits) = &mut self.credits {
            credits.set_demand(time, demand);
        }
    }

    fn waiting_packets(&self) -> u64 {
        if self.quic.is_closed() {
            return 0;
        }
        let queued = self.streams.queued().div_ceil(self.payload()) as u64;
        let lost = self.lost_bytes.div_ceil(u64::from(self.quic.current_mtu()));
        queued + lost.max(u64::from(self.pending)) + self.burst.outstanding()
    }

    fn datagram_of(&self, (kind, bytes): &(PacketKind, Encoded)) -> Datagram {
        let tos = self.config.classes.tos_of(*kind);
        Datagram { to: self.quic.remote_address(), tos, bytes: bytes.to_vec() }
    }

    /// When QUIC's timers are due, and when credits are.
    pub(crate) fn wakeup(&mut self) -> (Option<Instant>, Option<Time>) {
        let bypass = (self.path == Path::Credits && self.pending).then(|| self.bypass.due());
        let call = self.silence.next_call().filter(|_| self.path == Path::Credits);
        let quic = self.quic.poll_timeout().into_iter().chain(bypass).chain(call).min();
        let burst = self.burst.wakeup().filter(|_| self.path == Path::Credits);
        let credits = self.credits.as_ref().and_then(Credits::wakeup);
        (quic, credits.into_iter().chain(burst).min())
    }

    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &[u8]) {
        self.quic.close(now, VarInt::from_u32(code), bytes::Bytes::copy_from_slice(reason));
        self.end.get_or_insert_with(|| End::Lost("closed by this side".to_owned()));
        self.wake();
    }
}
