//! The limits of the data in flight: the congestion window (the controller's or, in recovery, the window of
//! proportional rate reduction) and the receiver's window. Units: bytes of the stream. Sources: RFC 5681, 3.1; RFC
//! 9293, 3.8.6.

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) cwnd: u64,
    /// SND.UNA + SND.WND: the first byte that the receiver does not accept.
    pub(super) right_edge: u64,
    /// SND.NXT when the congestion window last had no room.
    cwnd_limited_until: u64,
}

impl Limits {
    /// The limits of a new flow. The receiver is expected to advertise its buffer.
    pub(super) const fn new(cwnd: u64, receive_buffer: u64) -> Self {
        Self { cwnd, right_edge: receive_buffer, cwnd_limited_until: 0 }
    }

    /// Whether the congestion window has room for `len` more bytes. If nothing is in flight, it always has.
    pub(super) const fn has_room(&self, pipe: u64, len: u64) -> bool {
        pipe == 0 || pipe + len <= self.cwnd
    }

    /// Records whether the congestion window has no room for `wanted` bytes: a full segment or a burst. If so, it
    /// counts as the sender's limit until everything sent so far is acknowledged (kernel: `tcp_cwnd_validate`).
    pub(super) const fn note_cwnd_limited(&mut self, pipe: u64, wanted: u64, snd_nxt: u64) {
        if pipe + wanted > self.cwnd {
            self.cwnd_limited_until = snd_nxt;
        }
    }

    /// Whether the congestion window limited the sender, and not the application or the receiver.
    pub(super) const fn is_cwnd_limited(&self, snd_una: u64) -> bool {
        snd_una < self.cwnd_limited_until
    }
}
