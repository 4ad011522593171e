//! A connection: QUIC decides what is sent, [`Credits`] when. Data of streams waits here, and QUIC is given what one
//! packet carries whenever a credit lets one leave. What QUIC has to repeat waits behind its [`Gate`], for credits as
//! well, and acknowledgements, flow control and keep-alive then wait with it for the next credit, or for the probe that
//! QUIC sends without one. At all other times they leave at once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use quinn_proto::{ConnectionError, ConnectionHandle, Dir, Event, StreamEvent, StreamId, VarInt};
use shallop_core::Time;

use crate::config::Config;
use crate::credits::{Credits, Departure};
use crate::gate::{self, Gate, Mode};
use crate::outgoing::Streams;
use crate::packet::{Encoded, MacKey, PacketKind, Parsed};
use crate::path_stats::PathStats;
use crate::settings::{
    ALPN, CLIENT_CONTEXT, EXPORTER_LABEL, SERVER_CONTEXT, SETTINGS_BYTES, Settings,
};
use crate::stats::CreditStats;

/// The application protocol (ALPN) without credits.
pub(crate) const WITHOUT: &[u8] = b"shallop-quic/1";
/// Bytes of a packet that are not payload of a stream: short header 13, authentication 16, frame header 19, and room
/// for a short acknowledgement.
const OVERHEAD: usize = 64;
/// A packet without data of streams is small up to this many bytes of UDP payload.
const SMALL: usize = 100;
/// Bytes of a lost packet at least, by which the number of repairs is guessed.
const LEAST_LOST: u64 = 1_200;

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
    gate: Option<Arc<Gate>>,
    path: Path,
    credits: Option<Credits>,
    /// QUIC has something to send that needs a credit.
    pending: bool,
    /// QUIC has asked whether it may send something that has to be acknowledged.
    wants: bool,
    /// Packets that were lost and not repeated, as far as is known.
    repairs: u64,
    /// STREAM frames that QUIC has sent.
    stream_frames: u64,
    data_packets: u64,
    without_credit: u64,
    /// The longest that the smoothed round trip has been.
    longest_rtt: Duration,
    /// The stream with the settings of this side, and of the peer.
    own_settings: Option<StreamId>,
    peer_settings: Option<StreamId>,
    settings_read: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(
        handle: ConnectionHandle,
        quic: quinn_proto::Connection,
        config: &Config,
        tag: u16,
    ) -> Self {
        let gate = gate::of(&quic);
        Self {
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
            path: Path::Unknown,
            credits: None,
            pending: false,
            wants: false,
            repairs: 0,
            stream_frames: 0,
            data_packets: 0,
            without_credit: 0,
            longest_rtt: Duration::ZERO,
            own_settings: None,
            peer_settings: None,
            settings_read: Vec::new(),
        }
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
        let Some(id) = self.quic.streams().open(Dir::Uni) else {
            return self.leave_credits(Path::WithoutCredits);
        };
        let (wait, credit_delay) = (self.config.wait_span(), self.config.credit_delay());
        let settings = Settings { tag: self.tag, batch: self.config.batch, wait, credit_delay };
        let Ok(message) = settings.encode() else {
            return self.leave_credits(Path::WithoutCredits);
        };
        // A stream that was just opened takes these few bytes.
        let written = self.quic.send_stream(id).write(&message);
        debug_assert_eq!(written.ok(), Some(SETTINGS_BYTES));
        self.own_settings = Some(id);
    }

    fn leave_credits(&mut self, path: Path) {
        self.path = path;
        self.pending = false;
        if let Some(gate) = &self.gate {
            gate.set(Mode::Cubic);
        }
    }

    /// Reads the peer's settings: true if they are there, and credits begin.
    fn read_settings(&mut self, time: Time) -> bool {
        if self.own_settings.is_none() {
            return false;
        }
        if self.peer_settings.is_none() {
            self.peer_settings = self.quic.streams().accept(Dir::Uni);
        }
        let Some(id) = self.peer_settings else { return false };
        let mut stream = self.quic.recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            let missing = SETTINGS_BYTES - self.settings_read.len();
            while let Ok(Some(chunk)) = chunks.next(missing.max(1)) {
                self.settings_read.extend_from_slice(&chunk.bytes);
                if self.settings_read.len() >= SETTINGS_BYTES {
                    break;
                }
            }
            let _ = chunks.finalize();
        }
        if self.settings_read.len() < SETTINGS_BYTES {
            return false;
        }
        match (Settings::decode(&self.settings_read[..SETTINGS_BYTES]), self.keys()) {
            (Ok(peer), Some(keys)) => {
                self.credits = Some(Credits::new(time, &self.config, keys, peer));
                self.path = Path::Credits;
            }
            // What cannot be understood is a peer without credits.
            _ => self.leave_credits(Path::WithoutCredits),
        }
        true
    }

    /// The keys of small packets: this side's and the peer's.
    fn keys(&self) -> Option<(MacKey, MacKey)> {
        let key = |context: &[u8]| {
            let mut bytes = [0; 16];
            let session = self.quic.crypto_session();
            session.export_keying_material(&mut bytes, EXPORTER_LABEL, context).ok()?;
            Some(MacKey::new(bytes))
        };
        let (client, server) = (key(CLIENT_CONTEXT)?, key(SERVER_CONTEXT)?);
        Some(if self.quic.side().is_client() { (client, server) } else { (server, client) })
    }

    /// A small packet with this connection's tag arrived.
    pub(crate) fn on_small(&mut self, now: Time, parsed: &Parsed, out: &mut Vec<Datagram>) {
        if let Some(credits) = &mut self.credits {
            credits.on_packet(now, parsed);
            self.grant(now, out);
        }
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
        if self.path == Path::Credits {
            self.transmit_on_credits(now, time, out);
        }
        // Perhaps only since a moment ago.
        if [Path::WithoutCredits, Path::Unanswered].contains(&self.path) {
            self.streams.fill(&mut self.quic, usize::MAX);
            self.wake_writers();
            self.grant(time, out);
        }
        while self.poll_one(now, out).is_some() {}
        self.notice_losses();
    }

    fn transmit_on_credits(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        self.notice_losses();
        self.update_demand(time);
        while let Some(departure) = self.credits.as_mut().and_then(|of| of.depart(time)) {
            if departure == Departure::Data {
                self.send_on_credit(now, out);
            }
            self.update_demand(time);
        }
        while let Some(packet) = self.credits.as_mut().and_then(|of| of.emulate(time)) {
            out.push(self.datagram_of(&packet));
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
            out.push(self.datagram_of(&packet));
        }
    }

    /// Payload of streams in one packet.
    fn payload(&self) -> usize {
        usize::from(self.config.datagram).saturating_sub(OVERHEAD).max(1)
    }

    fn update_demand(&mut self, time: Time) {
        let queued = self.streams.queued().div_ceil(self.payload()) as u64;
        let repairs = self.repairs.max(u64::from(self.pending));
        if let Some(credits) = &mut self.credits {
            credits.set_demand(time, queued + repairs);
        }
    }

    /// A loss shuts the gate: what is lost waits for credits.
    fn notice_losses(&mut self) {
        let Some(gate) = self.gate.as_ref().filter(|_| self.path == Path::Credits) else { return };
        self.repairs += gate.take_lost().div_ceil(LEAST_LOST);
        self.pending |= gate.mode() == Mode::Shut;
    }

    /// Sends one packet: what has to be repeated, or else new data.
    fn send_on_credit(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let Some(gate) = self.gate.clone() else { return };
        let payload = self.payload();
        if !self.pending && self.streams.fill(&mut self.quic, payload) == 0 {
            return;
        }
        self.wake_writers();
        gate.set(Mode::Open);
        let before = self.without_credit;
        self.poll_one(now, out);
        let sent = self.without_credit - before;
        self.without_credit = before;
        self.data_packets += sent;
        self.repairs = self.repairs.saturating_sub(u64::from(self.pending));
        gate.set(Mode::Shut);
        self.wants = false;
        while self.poll_one(now, out).is_some() {}
        self.pending = self.wants;
        if !self.pending {
            self.repairs = 0;
            gate.set(Mode::Open);
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
        let _ = self.gate.as_ref().map(|gate| gate.take_asked());
        let transmit = self.quic.poll_transmit(now, 1, &mut bytes);
        self.wants |= self.gate.as_ref().is_some_and(|gate| gate.take_asked());
        let transmit = transmit?;
        let frames = self.quic.stats().frame_tx.stream;
        let is_data = frames > std::mem::replace(&mut self.stream_frames, frames);
        self.without_credit += u64::from(is_data);
        let classes = self.config.classes;
        let class = match bytes.len() {
            _ if is_data => classes.data,
            0..=SMALL => classes.ack,
            _ => classes.control,
        };
        let ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
        out.push(Datagram { to: transmit.destination, tos: class << 2 | ecn, bytes });
        Some(())
    }

    fn datagram_of(&self, (kind, bytes): &(PacketKind, Encoded)) -> Datagram {
        let classes = self.config.classes;
        let class = match kind {
            PacketKind::Emulation | PacketKind::TaggedEmulation => classes.emulation,
            PacketKind::Credit => classes.credit,
        };
        Datagram { to: self.quic.remote_address(), tos: class << 2, bytes: bytes.to_vec() }
    }

    /// When QUIC's timers are due, and when credits are.
    pub(crate) fn wakeup(&mut self) -> (Option<Instant>, Option<Time>) {
        (self.quic.poll_timeout(), self.credits.as_ref().and_then(Credits::wakeup))
    }

    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &[u8]) {
        self.quic.close(now, VarInt::from_u32(code), bytes::Bytes::copy_from_slice(reason));
        self.end.get_or_insert_with(|| End::Lost("closed by this side".to_owned()));
        self.wake();
    }
}
