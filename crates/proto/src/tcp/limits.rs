//! The limits of the data in flight: the congestion window (the controller's or, in recovery, the window of
//! proportional rate reduction) and the receiver's window. Units: bytes of the stream. Sources: RFC 5681, 3.1; RFC
//! 9293, 3.8.6.

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) cwnd: u64,
    /// SND.UNA + SND.WND: the first byte that the receiver does not accept.
    pub(super) right_edge: u64,
    /// SND.NXT when `most_out` was recorded; acknowledgements of this byte and later ones are not judged by it (kernel:
    /// `cwnd_usage_seq`).
    usage_end: u64,
    /// The most bytes that were unacknowledged at once (kernel: `max_packets_out`); `u64::MAX` if the congestion window
    /// had no room.
    most_out: u64,
}

impl Limits {
    /// The limits of a new flow. The receiver is expected to advertise its buffer.
    pub(super) const fn new(cwnd: u64, receive_buffer: u64) -> Self {
        Self { cwnd, right_edge: receive_buffer, usage_end: 0, most_out: 0 }
    }

    /// Whether the congestion window has room for `len` more bytes. If nothing is in flight, it always has.
    pub(super) const fn has_room(&self, pipe: u64, len: u64) -> bool {
        pipe == 0 || pipe + len <= self.cwnd
    }

    /// Records whether the congestion window has no room for `wanted` bytes: a full segment or a burst. If so, it
    /// counts as the sender's limit until everything sent so far is acknowledged (kernel: `tcp_cwnd_validate`).
    pub(super) const fn note_cwnd_limited(&mut self, pipe: u64, wanted: u64, snd_nxt: u64) {
        if pipe + wanted > self.cwnd {
            (self.usage_end, self.most_out) = (snd_nxt, u64::MAX);
        }
    }

    /// Records that data was sent, of which everything from SND.UNA to SND.NXT is unacknowledged.
    pub(super) const fn note_sent(&mut self, snd_una: u64, snd_nxt: u64) {
        let out = snd_nxt - snd_una;
        if snd_una >= self.usage_end || out > self.most_out {
            (self.usage_end, self.most_out) = (snd_nxt, out);
        }
    }

    /// Whether the congestion window limited the sender, and not the application or the receiver.
    pub(super) const fn is_cwnd_limited(&self, snd_una: u64) -> bool {
        self.most_out == u64::MAX && snd_una < self.usage_end
    }

    /// Whether more than half of the congestion window was used at once. In slow start the window then counts as the
    /// sender's limit, so that it grows to twice what is acknowledged (kernel: `tcp_is_cwnd_limited`).
    pub(super) const fn is_half_used(&self) -> bool {
        self.cwnd < self.most_out.saturating_mul(2)
    }
}
