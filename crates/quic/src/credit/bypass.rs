//! Packets that pass a closed [`CreditGate`](super::gate::CreditGate) without a credit. A closed gate holds back not
//! only data but also acknowledgements, flow control, keep-alive and path validation. So one packet, which also carries
//! data, passes from time to time: every [`MAX_ACK_DELAY`] while such frames wait, else after a silence that doubles
//! each time.

use quinn_proto::FrameStats;
use std::time::{Duration, Instant};

/// The default of `max_ack_delay` (RFC 9000, 18.2).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The silence after which a packet passes a closed gate, in waiting times.
const SILENCE: u32 = 4;
/// The most doublings of the silence while the peer does not answer.
const MAX_BACKOFF: u32 = 8;

/// Decides when a packet passes a closed gate without a credit.
#[derive(Debug)]
pub(crate) struct Bypass {
    /// Ack-eliciting frames received.
    received: u64,
    /// The value of `received` when the last acknowledgement was sent.
    acknowledged: u64,
    /// All frames received, ack-eliciting or not.
    frames: u64,
    /// The time since which an acknowledgement or another frame without data waits.
    pub(crate) held_since: Option<Instant>,
    /// The time of the last QUIC packet sent.
    sent_at: Instant,
    /// QUIC packets sent since the last one received.
    unanswered: u32,
    silence: Duration,
}

impl Bypass {
    pub(crate) fn new(now: Instant, wait: Duration) -> Self {
        Self {
            received: 0,
            acknowledged: 0,
            frames: 0,
            held_since: None,
            sent_at: now,
            unanswered: 0,
            silence: (wait * SILENCE).max(MAX_ACK_DELAY),
        }
    }

    /// Notes that QUIC has read a datagram. Returns false if it added no frames, because it was not authentic or not
    /// new.
    pub(crate) fn on_arrival(&mut self, stats: &FrameStats) -> bool {
        self.received = ack_eliciting(stats);
        let frames = self.received + stats.acks + stats.connection_close;
        let is_new = frames > std::mem::replace(&mut self.frames, frames);
        if is_new {
            self.unanswered = 0;
        }
        is_new
    }

    /// Notes that a QUIC packet is sent, and whether it carries an acknowledgement.
    pub(crate) fn on_departure(&mut self, now: Instant, acknowledges: bool) {
        self.sent_at = now;
        self.unanswered = self.unanswered.saturating_add(1);
        if acknowledges {
            self.acknowledged = self.received;
            self.held_since = None;
        }
    }

    /// Whether a packet may pass the closed gate now. `has_control` tells whether QUIC holds frames other than data.
    pub(crate) fn is_due(&mut self, now: Instant, has_control: bool) -> bool {
        if has_control || self.received > self.acknowledged {
            self.held_since.get_or_insert(now);
        } else {
            self.held_since = None;
        }
        self.due() <= now
    }

    /// Notes that the gate was opened for one packet, which may not have carried all frames that waited.
    pub(crate) fn on_passed(&mut self, now: Instant) {
        self.sent_at = now;
        self.held_since = None;
    }

    /// The next time at which a packet may pass the closed gate.
    pub(crate) fn due(&self) -> Instant {
        let silent = self.sent_at + self.silence * (1 << self.unanswered.min(MAX_BACKOFF));
        self.held_since.map_or(silent, |since| silent.min(since + MAX_ACK_DELAY))
    }
}

/// The number of ack-eliciting frames (RFC 9002, 2) in these counts.
pub(crate) fn ack_eliciting(all: &FrameStats) -> u64 {
    let flow = [all.max_data, all.max_stream_data, all.max_streams_bidi, all.max_streams_uni];
    let blocked = [all.data_blocked, all.stream_data_blocked, all.streams_blocked_bidi, all.streams_blocked_uni];
    let ids = [all.new_connection_id, all.retire_connection_id, all.new_token];
    let path = [all.path_challenge, all.path_response, all.ping, u64::from(all.handshake_done)];
    let data = [all.stream, all.reset_stream, all.stop_sending, all.crypto, all.datagram];
    let acks = [all.ack_frequency, all.immediate_ack];
    let groups: [&[u64]; 6] = [&flow, &blocked, &ids, &path, &data, &acks];
    groups.iter().flat_map(|group| group.iter()).sum()
}
