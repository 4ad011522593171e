//! A connection: QUIC decides what is sent, [`Credits`] when. Data of streams waits here, and QUIC is given what one
//! packet carries whenever a credit lets one leave. What QUIC has to repeat waits behind its [`Gate`], for credits as
//! well, and acknowledgements, flow control and keep-alive then wait with it for the next credit, or for the probe that
//! QUIC sends without one, but no longer than the peer's acknowledgements may wait ([`Bypass`]). At all other times
//! they leave at once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use quinn_proto::{ConnectionError, ConnectionHandle, Event, StreamEvent, StreamId, VarInt};
use shallop_core::Time;

use crate::bypass::{Bypass, ack_eliciting};
use crate::config::{Config, ECT};
use crate::core::Arrival;
use crate::credits::{Credits, Departure, Heard};
use crate::exchange::{self, Exchange};
use crate::gate::{Gate, Mode};
use crate::new_address::{CreditAddress, NewAddress};
use crate::outgoing::Streams;
use crate::packet::{EMULATION_BYTES, Encoded, PacketKind, Parsed};
use crate::path_stats::PathStats;
use crate::settings::{ALPN, Settings};
use crate::silence::Silence;
use crate::stats::CreditStats;

/// The application protocol (ALPN) without credits.
pub(crate) const WITHOUT: &[u8] = b"shallop-quic/1";
/// Bytes of a packet that are not payload of a stream: short header 13, authentication 16, frame header 19, and room
/// for a short acknowledgement.
const OVERHEAD: usize = 64;
/// A packet without data of streams is small up to this many bytes of UDP payload.
const SMALL: usize = 100;
/// The code with which a connection to a peer is closed that grants what it has not received.
const CHEATED: u32 = 1;
/// What a peer may take to answer, in addition to waiting times, before nothing new is sent to it.
const PATIENCE: Duration = Duration::from_millis(100);

/// A UDP datagram to send.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) to: SocketAddr,
    /// DSCP and ECN, as in the header of IP.
    pub(crate) tos: u8,
    pub(crate) bytes: Vec<u8>,
}

/// How a connection has ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The peer has closed it, for this reason.
    ByPeer(String),
    /// It was lost, or closed by this side.
    Lost(String),
}

/// How data leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// It is not known yet: the handshake goes on.
    Unknown,
    /// On credits.
    Credits,
    /// By CUBIC, because the peer has no credits, or does not want them.
    WithoutCredits,
    /// By CUBIC, because no emulation packet was answered: the path does not let them through.
    Unanswered,
}

/// A connection.
pub(crate) struct Connection {
    pub(crate) handle: ConnectionHandle,
    pub(crate) quic: quinn_proto::Connection,
    pub(crate) streams: Streams,
    pub(crate) end: Option<End>,
    pub(crate) wakers: Vec<Waker>,
    /// Streams of which the peer has everything, or wants no more, until somebody has asked.
    pub(crate) finished: BTreeSet<StreamId>,
    pub(crate) tag: u16,
    /// Nobody asks for it any more.
    pub(crate) is_abandoned: bool,
    config: Config,
    gate: Arc<Gate>,
    bypass: Bypass,
    path: Path,
    credits: Option<Credits>,
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
    eliciting_frames: u64,
    data_packets: u64,
    without_credit: u64,
    /// The longest that the smoothed round trip has been.
    longest_rtt: Duration,
    exchange: Exchange,
}

impl Connection {
    /// A connection of QUIC with the gate of its controllers.
    pub(crate) fn new(
        now: Instant,
        (handle, quic, gate): (ConnectionHandle, quinn_proto::Connection, Arc<Gate>),
        config: &Config,
        tag: u16,
    ) -> Self {
        Self {
            address: NewAddress::first(quic.remote_address()),
            credits_to: CreditAddress::default(),
            handle,
            quic,
            streams: Streams::default(),
            end: None,
            wakers: Vec::new(),
            finished: BTreeSet::new(),
            tag,
            is_abandoned: false,
            config: *config,
            gate,
            bypass: Bypass::new(now, config.wait),
            path: Path::Unknown,
            credits: None,
            pending: false,
            wants: false,
            lost_bytes: 0,
            quic_silence: Silence::longer_than(config.wait * 4 + PATIENCE),
            silence: Silence::longer_than(config.wait * 4 + PATIENCE),
            stream_frames: 0,
            ack_frames: 0,
            eliciting_frames: 0,
            data_packets: 0,
            without_credit: 0,
            longest_rtt: Duration::ZERO,
            exchange: Exchange::default(),
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
            ..stats
        }
    }

    pub(crate) fn path_stats(&self) -> PathStats {
        PathStats::new(&self.quic.stats(), self.longest_rtt)
    }

    /// Wakes whoever waits for something of this connection.
    pub(crate) fn wake(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }

    /// Takes what QUIC has to tell.
    pub(crate) fn take_events(&mut self, time: Time) {
        let mut has_news = false;
        while let Some(event) = self.quic.poll() {
            has_news = true;
            match event {
                Event::Connected => self.choose_path(),
                Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(close) } => {
                    self.end =
                        Some(End::ByPeer(String::from_utf8_lossy(&close.reason).into_owned()));
                }
                Event::ConnectionLost { reason } => self.end = Some(End::Lost(reason.to_string())),
                Event::Stream(StreamEvent::Writable { id }) => self.streams.unblock(id),
                Event::Stream(StreamEvent::Stopped { id, .. }) => {
                    self.streams.unblock(id);
                    self.finished.insert(id);
                }
                Event::Stream(StreamEvent::Finished { id }) => {
                    self.finished.insert(id);
                }
                _ => {}
            }
        }
        if self.path == Path::Unknown {
            has_news |= self.read_settings(time);
        } else {
            self.longest_rtt = self.longest_rtt.max(self.quic.rtt());
        }
        if has_news {
            self.wake();
        }
    }

    fn choose_path(&mut self) {
        let data = self.quic.crypto_session().handshake_data();
        let data = data
            .and_then(|data| data.downcast::<quinn_proto::crypto::rustls::HandshakeData>().ok());
        let protocol = data.and_then(|data| data.protocol);
        if !self.config.credits || protocol.as_deref() != Some(ALPN) {
            return self.leave_credits(Path::WithoutCredits);
        }
        let (wait, credit_delay) = (self.config.wait_span(), self.config.credit_delay());
        let settings = Settings { tag: self.tag, batch: self.config.batch, wait, credit_delay };
        if !self.exchange.begin(&mut self.quic, &settings) {
            self.leave_credits(Path::WithoutCredits);
        }
    }

    fn leave_credits(&mut self, path: Path) {
        self.path = path;
        self.pending = false;
        self.gate.set(Mode::Cubic);
    }

    /// Reads the peer's settings: true if they are there, and credits begin.
    fn read_settings(&mut self, time: Time) -> bool {
        let Some(settings) = self.exchange.settings(&mut self.quic) else { return false };
        match (settings, exchange::keys(&self.quic)) {
            (Ok(peer), Some(keys)) => {
                self.credits = Some(Credits::new(time, &self.config, keys, peer));
                self.path = Path::Credits;
            }
            // What cannot be understood is a peer without credits.
            _ => self.leave_credits(Path::WithoutCredits),
        }
        true
    }

    /// A datagram of QUIC arrived. Nothing follows from one that is not authentic and new.
    pub(crate) fn on_arrival(&mut self, arrival: &Arrival<'_>) {
        if self.bypass.on_arrival(&self.quic.stats().frame_rx) {
            self.address.on_arrival(arrival.from, arrival.bytes.len(), self.quic.remote_address());
            self.quic_silence.on_arrival();
            self.silence.on_arrival();
        }
    }

    /// A small packet with this connection's tag arrived.
    pub(crate) fn on_small(
        &mut self,
        now: Time,
        arrival: &Arrival<'_>,
        parsed: &Parsed,
        out: &mut Vec<Datagram>,
    ) {
        let Some(credits) = &mut self.credits else { return };
        let heard = credits.on_packet(now, parsed);
        if heard != Heard::Nothing {
            self.silence.on_arrival();
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
        if [Path::WithoutCredits, Path::Unanswered].contains(&self.path) {
            self.streams.fill(&mut self.quic, usize::MAX);
            self.wake_writers();
            self.grant(time, out);
        }
        self.send_rest(now, out);
        self.notice_losses();
    }

    fn transmit_on_credits(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        self.notice_losses();
        self.update_demand(now, time);
        while let Some(departure) = self.credits.as_mut().and_then(|of| of.depart(time)) {
            if departure == Departure::Data {
                self.send_on_credit(now, out);
            }
            self.update_demand(now, time);
        }
        self.pass_without_credit(now, out);
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.emulate(time)) {
            out.push(self.datagram_of(&packet));
            self.silence.on_departure(now);
            self.address.on_departure(EMULATION_BYTES);
            self.update_demand(now, time);
        }
        self.grant(time, out);
        if let Some(credits) = self.credits.as_mut().filter(|of| of.is_unanswered(time)) {
            // The peer's emulation packets may arrive all the same: they are answered as before.
            credits.set_demand(time, 0);
            self.leave_credits(Path::Unanswered);
        }
    }

    /// Sends the credits that are due.
    pub(crate) fn grant(&mut self, time: Time, out: &mut Vec<Datagram>) {
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.grant(time)) {
            let to = self.credits_to.get().unwrap_or(self.quic.remote_address());
            out.push(Datagram { to, ..self.datagram_of(&packet) });
        }
    }

    /// Payload of streams in one packet. QUIC makes packets shorter when the path takes long ones no more.
    fn payload(&self) -> usize {
        usize::from(self.quic.current_mtu()).saturating_sub(OVERHEAD).max(1)
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
        queued + lost.max(u64::from(self.pending))
    }

    /// A loss shuts the gate: what is lost waits for credits.
    fn notice_losses(&mut self) {
        if self.path != Path::Credits {
            return;
        }
        if self.quic.is_closed() {
            // Only the news of that is still to be sent.
            self.pending = false;
            return self.gate.set(Mode::Open);
        }
        self.lost_bytes += self.gate.take_lost();
        self.pending |= self.gate.mode() == Mode::Shut;
    }

    /// Sends one packet on a credit: what has to be repeated, or else new data.
    fn send_on_credit(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let payload = self.payload();
        let mut given = 0;
        if self.quic_silence.is_at(now) {
            // A peer that answers no more gets nothing new, and a small packet whose answer says what was lost.
            if !self.quic_silence.may_call(now) {
                return;
            }
            self.quic.ping();
        } else if !self.pending {
            given = self.streams.fill(&mut self.quic, payload);
            if given == 0 {
                return;
            }
        }
        self.wake_writers();
        let before = self.without_credit;
        if !self.pass_one(now, out) {
            // QUIC may send nothing, as to an address that has to be validated first.
            self.lost_bytes += given as u64;
            self.pending |= given > 0;
            self.gate.set(if self.pending { Mode::Shut } else { Mode::Open });
        }
        // A second one in there is a probe.
        self.data_packets += u64::from(self.without_credit > before);
        self.without_credit = self.without_credit.max(before + 1) - 1;
    }

    /// Opens the gate for one packet, and leaves it open if nothing else waits. False if QUIC sends none.
    fn pass_one(&mut self, now: Instant, out: &mut Vec<Datagram>) -> bool {
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
    fn send_rest(&mut self, now: Instant, out: &mut Vec<Datagram>) {
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
    fn pass_without_credit(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        if self.pending && self.bypass.is_due(now, self.quic.has_pending_retransmits()) {
            self.pass_one(now, out);
            self.bypass.on_passed(now);
        }
    }

    fn wake_writers(&mut self) {
        if self.streams.has_room() {
            self.wake();
        }
    }

    /// Sends what QUIC wants to send next, if it may.
    fn poll_one(&mut self, now: Instant, out: &mut Vec<Datagram>) -> Option<()> {
        let mut bytes = Vec::with_capacity(usize::from(self.config.datagram));
        // Statistics ask for the window, too.
        self.gate.take_asked();
        let transmit = self.quic.poll_transmit(now, 1, &mut bytes);
        self.wants |= self.gate.take_asked();
        let transmit = transmit?;
        let sent = self.quic.stats().frame_tx;
        let is_data = sent.stream > std::mem::replace(&mut self.stream_frames, sent.stream);
        let acknowledges = sent.acks > std::mem::replace(&mut self.ack_frames, sent.acks);
        self.bypass.on_departure(now, acknowledges);
        let eliciting = ack_eliciting(&sent);
        if eliciting > std::mem::replace(&mut self.eliciting_frames, eliciting) {
            self.quic_silence.on_departure(now);
        }
        self.without_credit += u64::from(is_data);
        let classes = self.config.classes;
        let class = match bytes.len() {
            _ if is_data => classes.data,
            0..=SMALL => classes.ack,
            _ => classes.control,
        };
        let ecn = if is_data { ECT } else { transmit.ecn.map_or(0, |ecn| ecn as u8) };
        out.push(Datagram { to: transmit.destination, tos: class << 2 | ecn, bytes });
        Some(())
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
        (quic, self.credits.as_ref().and_then(Credits::wakeup))
    }

    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &[u8]) {
        self.quic.close(now, VarInt::from_u32(code), bytes::Bytes::copy_from_slice(reason));
        self.end.get_or_insert_with(|| End::Lost("closed by this side".to_owned()));
        self.wake();
    }
}
