//! When QUIC may send a packet without a credit while its [`Gate`](super::gate::Gate) is shut. quinn-proto holds
//! acknowledgements, flow control, keep-alive and the validation of paths back together with the data that waits, so
//! one packet passes from time to time, with data in it: at most one in [`MAX_ACK_DELAY`] while the peer waits for an
//! acknowledgement or something else than data waits, and otherwise one after a longer and longer silence.

use std::time::{Duration, Instant};

use quinn_proto::FrameStats;

/// The longest that an acknowledgement may wait (RFC 9000, 18.2: the default of `max_ack_delay`).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// Waiting times without any packet after which one passes.
const SILENCE: u32 = 4;
/// The silence is doubled so often at most.
const MAX_BACKOFF: u32 = 8;

/// What was held back, and since when.
#[derive(Debug)]
pub(crate) struct Bypass {
    /// Frames that have to be acknowledged: those that have arrived, and those that had when the last acknowledgement
    /// left.
    arrived: u64,
    acknowledged: u64,
    /// All frames that have arrived.
    frames: u64,
    /// Since when the peer waits for an acknowledgement, or something else than data waits to leave.
    held_since: Option<Instant>,
    /// When the last packet of QUIC left.
    left_at: Instant,
    /// Packets that have left since one has arrived.
    unanswered: u32,
    silence: Duration,
}

impl Bypass {
    /// That of a connection whose waiting time is `wait`.
    pub(crate) fn new(now: Instant, wait: Duration) -> Self {
        Self {
            arrived: 0,
            acknowledged: 0,
            frames: 0,
            held_since: None,
            left_at: now,
            unanswered: 0,
            silence: (wait * SILENCE).max(MAX_ACK_DELAY),
        }
    }

    /// A datagram arrived, which QUIC has read. False if no frame of it counted: it was not authentic, or not new.
    pub(crate) fn on_arrival(&mut self, received: &FrameStats) -> bool {
        self.arrived = ack_eliciting(received);
        let frames = self.arrived + received.acks + received.connection_close;
        let is_heard = frames > std::mem::replace(&mut self.frames, frames);
        if is_heard {
            self.unanswered = 0;
        }
        is_heard
    }

    /// A packet of QUIC left, with an acknowledgement or without.
    pub(crate) fn on_departure(&mut self, now: Instant, acknowledges: bool) {
        self.left_at = now;
        self.unanswered = self.unanswered.saturating_add(1);
        if acknowledges {
            self.acknowledged = self.arrived;
            self.held_since = None;
        }
    }

    /// The gate is open: nothing is held back.
    pub(crate) fn on_open(&mut self) {
        self.held_since = None;
    }

    /// The gate is shut. Whether a packet may pass now; `waits` if something else than data waits.
    pub(crate) fn is_due(&mut self, now: Instant, waits: bool) -> bool {
        if waits || self.arrived > self.acknowledged {
            self.held_since.get_or_insert(now);
        } else {
            self.held_since = None;
        }
        self.due() <= now
    }

    /// A packet has passed, if there was one. It may not have had everything in it.
    pub(crate) fn on_passed(&mut self, now: Instant) {
        self.left_at = now;
        self.held_since = None;
    }

    /// When a packet may pass, while the gate is shut.
    pub(crate) fn due(&self) -> Instant {
        let silent = self.left_at + self.silence * (1 << self.unanswered.min(MAX_BACKOFF));
        self.held_since.map_or(silent, |since| silent.min(since + MAX_ACK_DELAY))
    }
}

/// Frames that have to be acknowledged (RFC 9002, 2).
pub(crate) fn ack_eliciting(all: &FrameStats) -> u64 {
    let flow = [all.max_data, all.max_stream_data, all.max_streams_bidi, all.max_streams_uni];
    let blocked = [
        all.data_blocked,
        all.stream_data_blocked,
        all.streams_blocked_bidi,
        all.streams_blocked_uni,
    ];
    let ids = [all.new_connection_id, all.retire_connection_id, all.new_token];
    let path = [all.path_challenge, all.path_response, all.ping, u64::from(all.handshake_done)];
    let data = [all.stream, all.reset_stream, all.stop_sending, all.crypto, all.datagram];
    let acks = [all.ack_frequency, all.immediate_ack];
    let groups: [&[u64]; 6] = [&flow, &blocked, &ids, &path, &data, &acks];
    groups.iter().flat_map(|group| group.iter()).sum()
}
