//! Response times of hosts: the time from the delivery of data to a host until the host's next packet of that flow. A
//! host that gets too little processor time answers late, although the emulator itself is on time. Acknowledgements
//! that TCP delays on purpose are not timed: the acknowledgement of a first segment (RFC 5681, 4.2), and all
//! acknowledgements while data is missing, which Linux delays by a twentieth of the round trip
//! (`tcp_comp_sack_delay_ns`).

use crate::FrameHead;
use shallop_core::{End, Span, Time};

/// One end of a flow that has received data and may owe an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct PendingAck {
    /// Segments since the last packet of this end.
    segments: u8,
    /// The delivery time of the second of these segments, if the acknowledgement is timed.
    since: Option<Time>,
    /// The next expected sequence number; `None` before the first data.
    rcv_nxt: Option<u32>,
    has_gap: bool,
}

/// The response times of all ends of flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseTimer(Vec<PendingAck>);

impl ResponseTimer {
    fn pending(&mut self, end: End) -> &mut PendingAck {
        let index = end.flow() as usize * 2 + usize::from(end.is_sender());
        if self.0.len() <= index {
            self.0.resize(index + 1, PendingAck::default());
        }
        &mut self.0[index]
    }

    pub(crate) fn on_data(&mut self, end: End, head: &FrameHead, now: Time) {
        let pending = self.pending(end);
        let after = head.sequence.wrapping_add(u32::from(head.payload));
        let is_next = pending.rcv_nxt.is_none_or(|next| next == head.sequence);
        let is_new = pending.rcv_nxt.is_none_or(|next| after.wrapping_sub(next).cast_signed() > 0);
        pending.rcv_nxt = if is_new { Some(after) } else { pending.rcv_nxt };
        if !is_next {
            pending.has_gap = true;
            pending.since = None;
        }
        pending.segments = pending.segments.saturating_add(1);
        if pending.segments == 2 && !pending.has_gap {
            pending.since = Some(now);
        }
    }

    /// Records a packet that this end sent. Returns the response time if it was measured.
    pub(crate) fn on_packet(&mut self, end: End, head: &FrameHead, now: Time) -> Option<Span> {
        let pending = self.pending(end);
        pending.segments = 0;
        pending.has_gap &= head.acknowledged != pending.rcv_nxt;
        pending.since.take().map(|since| now.saturating_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::after_start(Span::from_us(us))
    }

    fn data(sequence: u32) -> FrameHead {
        FrameHead { sequence, payload: 100, ..FrameHead::default() }
    }

    fn ack(next: u32) -> FrameHead {
        FrameHead { acknowledged: Some(next), payload: 0, ..data(0) }
    }

    #[test]
    fn the_acknowledgement_of_a_second_segment_is_timed_and_of_a_first_is_not() {
        let mut timer = ResponseTimer::default();
        let end = End::receiver(3);
        timer.on_data(end, &data(0), at(0));
        assert_eq!(timer.on_packet(end, &ack(100), at(40_000)), None);
        for (sequence, us) in [(100, 1), (200, 2), (300, 3)] {
            timer.on_data(end, &data(sequence), at(us));
        }
        assert_eq!(timer.on_packet(end, &ack(300), at(10)), Some(Span::from_us(8)));
        assert_eq!(timer.on_packet(end, &ack(400), at(11)), None);
    }

    #[test]
    fn nothing_is_timed_while_a_gap_is_open() {
        let mut timer = ResponseTimer::default();
        let end = End::receiver(0);
        for (sequence, us) in [(0, 1), (200, 2), (300, 3)] {
            timer.on_data(end, &data(sequence), at(us));
        }
        assert_eq!(timer.on_packet(end, &ack(100), at(500)), None);
        timer.on_data(end, &data(100), at(600));
        assert_eq!(timer.on_packet(end, &ack(400), at(601)), None, "it closes the gap");
        for (sequence, us) in [(400, 700), (500, 701)] {
            timer.on_data(end, &data(sequence), at(us));
        }
        assert_eq!(timer.on_packet(end, &ack(600), at(705)), Some(Span::from_us(4)));
    }
}
