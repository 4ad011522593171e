//! How fast hosts answer: the time from data that was written to a host to the next packet of the same flow that was
//! read from it. A host without processor time answers late, which no lateness of the emulator shows. Some answers are
//! late on purpose and not timed: that of a first segment (RFC 5681, 4.2), and all while a gap is open, when Linux
//! waits for a twentieth of the round trip (`tcp_comp_sack_delay_ns`).

use shallop_core::{End, Span, Time};
use shallop_hosts::FrameHead;

/// What one end of a flow owes.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    segments: u8,
    since: Option<Time>,
    /// The next byte in sequence, once there was data.
    next: Option<u32>,
    has_gap: bool,
}

/// The answers that ends owe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses(Vec<Owed>);

impl Responses {
    fn of(&mut self, end: End) -> &mut Owed {
        let place = end.flow() as usize * 2 + usize::from(end.is_sender());
        if self.0.len() <= place {
            self.0.resize(place + 1, Owed::default());
        }
        &mut self.0[place]
    }

    /// Data was written to this end.
    pub(crate) fn on_data(&mut self, end: End, head: &FrameHead, now: Time) {
        let owed = self.of(end);
        let after = head.sequence.wrapping_add(u32::from(head.payload));
        let is_next = owed.next.is_none_or(|next| next == head.sequence);
        let is_new = owed.next.is_none_or(|next| after.wrapping_sub(next).cast_signed() > 0);
        owed.next = if is_new { Some(after) } else { owed.next };
        if !is_next {
            owed.has_gap = true;
            owed.since = None;
        }
        owed.segments = owed.segments.saturating_add(1);
        if owed.segments == 2 && !owed.has_gap {
            owed.since = Some(now);
        }
    }

    /// A packet of this end was read. How long it took, if it was timed.
    pub(crate) fn on_packet(&mut self, end: End, head: &FrameHead, now: Time) -> Option<Span> {
        let owed = self.of(end);
        owed.segments = 0;
        owed.has_gap &= head.acknowledged != owed.next;
        owed.since.take().map(|since| now.saturating_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::after_start(Span::from_us(us))
    }

    fn data(sequence: u32) -> FrameHead {
        let payload = 100;
        FrameHead {
            slot: 0,
            connection: 0,
            sequence,
            acknowledged: None,
            payload,
            syn: false,
            class: None,
        }
    }

    fn ack(next: u32) -> FrameHead {
        FrameHead { acknowledged: Some(next), payload: 0, ..data(0) }
    }

    #[test]
    fn a_second_segment_is_timed_and_a_first_is_not() {
        let mut all = Responses::default();
        let end = End::receiver(3);
        all.on_data(end, &data(0), at(0));
        assert_eq!(all.on_packet(end, &ack(100), at(40_000)), None);
        for (sequence, us) in [(100, 1), (200, 2), (300, 3)] {
            all.on_data(end, &data(sequence), at(us));
        }
        assert_eq!(all.on_packet(end, &ack(300), at(10)), Some(Span::from_us(8)));
        assert_eq!(all.on_packet(end, &ack(400), at(11)), None);
    }

    #[test]
    fn nothing_is_timed_while_a_gap_is_open() {
        let mut all = Responses::default();
        let end = End::receiver(0);
        for (sequence, us) in [(0, 1), (200, 2), (300, 3)] {
            all.on_data(end, &data(sequence), at(us));
        }
        assert_eq!(all.on_packet(end, &ack(100), at(500)), None);
        all.on_data(end, &data(100), at(600));
        assert_eq!(all.on_packet(end, &ack(400), at(601)), None, "it closes the gap");
        for (sequence, us) in [(400, 700), (500, 701)] {
            all.on_data(end, &data(sequence), at(us));
        }
        assert_eq!(all.on_packet(end, &ack(600), at(705)), Some(Span::from_us(4)));
    }
}
