//! The state of one flow at a CLEAN proxy: the control law, the right edge of the window that the sender was offered,
//! and the data packets of two round trips. Units: bytes of the stream; counts of packets.
//!
//! The right edge never moves back: a smaller window takes effect as acknowledgements catch up (RFC 9293, 3.8.6; RFC
//! 7323, 2.4). A header states the window in units of 2^scale, so the advertised edge is up to one unit below the edge
//! that the law computes, as with a receiver. If it were rounded up, every acknowledgement of less than a unit would
//! advance the edge, and no window could shrink.
//!
//! Forged packets: data and acknowledgements count only within a window of the right edge, and SYNs only before the
//! first data (RFC 5961; a flow of the simulator has one connection).

use super::Config;
use crate::tcp::head::MAX_SCALE;
use crate::tcp::{Flags, Head};
use shallop_control::clean::{Clean, DataPacket, MAX_WINDOW, SEGMENT};
use shallop_core::{Span, Time};

/// The number of round trips without data after which a flow is idle.
const IDLE_ROUND_TRIPS: u64 = 2;

/// The largest window of a SYN, which has no scale: numbers at most this far from the right edge are acceptable.
const UNSCALED_WINDOW: u64 = 65_535;

/// The round-trip time, measured in the handshake: from the sender's SYN, or from the receiver's if the proxy saw that
/// one first, to the first data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rtt {
    Unknown,
    /// The sender's SYN has passed, at this time.
    SynSeen(Time),
    /// The SYN-ACK has passed, and the sender's first data has not. The measurement began at this time: with the
    /// sender's SYN or, if the proxy did not see it, with the SYN-ACK.
    SynAckSeen(Time),
    Measured(Span),
}

#[derive(Clone, Copy, Debug)]
pub struct Flow {
    law: Clean,
    /// Offset of the first byte that the sender may not send, by the windows that it was offered and the data that it
    /// sent.
    right_edge: u64,
    /// The largest window that the receiver has offered, in bytes; zero before the first.
    max_window: u64,
    /// The largest payload of a packet of the flow, in bytes; zero before the first data.
    mss: u16,
    rtt: Rtt,
    last_data: Time,
    /// The number of data packets in this round trip, and in the previous one.
    packets: (u32, u32),
    round_start: Time,
    pub(super) last_packet: Time,
}

impl Flow {
    /// Makes a flow that passes the proxy for the first time. `next` is its next sequence number modulo 2^32.
    pub fn new(config: &Config, now: Time, next: u32) -> Self {
        Self {
            law: Clean::new(&config.law, next),
            right_edge: 0,
            max_window: 0,
            mss: 0,
            rtt: Rtt::Unknown,
            last_data: now,
            packets: (0, 0),
            round_start: now,
            last_packet: now,
        }
    }

    /// Restarts the flow after an idle time. The right edge that the sender was offered stays.
    pub fn restart(&mut self, config: &Config, now: Time, next: u32) {
        let (right_edge, max_window, mss) = (self.right_edge, self.max_window, self.mss);
        *self = Self { right_edge, max_window, mss, ..Self::new(config, now, next) };
    }

    pub const fn law(&self) -> &Clean {
        &self.law
    }

    pub const fn right_edge(&self) -> u64 {
        self.right_edge
    }

    fn mss(&self, config: &Config) -> u16 {
        if self.mss == 0 { config.segment } else { self.mss }
    }

    /// Whether data that ends at this offset, or an acknowledgement of it, is within a window of the right edge.
    pub fn accepts(&self, end: u64) -> bool {
        let is_known = self.right_edge > 0 && self.max_window > 0;
        !is_known || self.right_edge.abs_diff(end) <= self.max_window.max(UNSCALED_WINDOW)
    }

    /// Records the sender's SYN. A repeated one does not count.
    pub fn on_syn(&mut self, now: Time) {
        if self.mss > 0 {
            return;
        }
        self.last_packet = now;
        if self.right_edge == 0 && self.rtt == Rtt::Unknown {
            self.rtt = Rtt::SynSeen(now);
        }
    }

    /// Records an acceptable data packet that passes to the receiver. `port` counts the packets and the marks of all
    /// flows.
    pub fn on_data(&mut self, config: &Config, now: Time, head: &Head, (marked, port): (bool, (u32, u32))) {
        self.last_packet = now;
        self.mss = self.mss.max(head.len);
        // A window from before the proxy knew the flow has allowed this data.
        self.right_edge = self.right_edge.max(head.seq.saturating_add(u64::from(head.len)));
        if let Rtt::SynAckSeen(at) = self.rtt {
            self.rtt = Rtt::Measured(now.saturating_since(at));
            self.round_start = now;
        }
        let mss = self.mss(config);
        let growth_limit = if config.validate { self.growth_limit(config, now) } else { MAX_WINDOW };
        self.last_data = now;
        let (seq, window_edge) = (head.seq as u32, self.right_edge as u32);
        let packet = DataPacket { now, seq, ce: marked, window_edge, port, mss, growth_limit };
        self.law.on_data(&config.law, &packet);
    }

    /// The largest window that the law may grow to, in bytes: the initial window plus twice the packets of this round
    /// trip and the previous one. That is two to four times the window of a sender that uses its window.
    fn growth_limit(&mut self, config: &Config, now: Time) -> u64 {
        let Rtt::Measured(rtt) = self.rtt else { return MAX_WINDOW };
        let idle = now.saturating_since(self.last_data);
        if idle > rtt * IDLE_ROUND_TRIPS {
            self.law.on_idle(idle);
        }
        let elapsed = now.saturating_since(self.round_start);
        if elapsed >= rtt {
            let skipped = elapsed >= rtt * 2;
            self.packets = (0, if skipped { 0 } else { self.packets.0 });
            self.round_start = now;
        }
        self.packets.0 = self.packets.0.saturating_add(1);
        let packets = u64::from(self.packets.0) + u64::from(self.packets.1);
        (2 * packets + u64::from(config.law.initial_window)) * SEGMENT
    }

    /// Processes an acknowledgement that passes to the sender: reduces its window to what the law allows. Returns
    /// whether the window was larger.
    pub fn on_ack(&mut self, config: &Config, now: Time, head: &mut Head) -> bool {
        let is_syn = head.flags.has(Flags::SYN);
        if is_syn && self.mss > 0 || !self.accepts(head.ack) {
            return false;
        }
        self.last_packet = now;
        self.max_window = self.max_window.max(head.right_edge() - head.ack);
        if is_syn {
            // After a retransmitted SYN-ACK the first data may be the answer to either: no measurement (Karn).
            let is_new = self.right_edge == 0;
            self.rtt = match self.rtt {
                Rtt::Unknown if is_new => Rtt::SynAckSeen(now),
                Rtt::SynSeen(at) if is_new => Rtt::SynAckSeen(at),
                _ => Rtt::Unknown,
            };
        }
        let scale = head.scale.min(MAX_SCALE);
        let window = self.law.window_bytes(self.mss(config)).get();
        // Rounded up to whole units: a window of less than a unit would be a zero window.
        let window = window.div_ceil(1 << scale) << scale;
        let edge = self.right_edge.max(head.ack.saturating_add(window));
        let units = u16::try_from((edge - head.ack) >> scale).unwrap_or(u16::MAX);
        let reduced = units < head.window;
        if reduced {
            head.window = units;
        }
        self.right_edge = self.right_edge.max(head.right_edge());
        reduced
    }
}
