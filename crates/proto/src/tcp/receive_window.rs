//! The window that a receiver advertises: its buffer, less what arrived out of order. With autotuning, as in Linux, the
//! buffer begins at 64 KB and follows the data of a round trip: twice of it, and more while that grows, up to the
//! buffer that was configured. That window never shrinks. The round trip is that of timestamps, with their clock of a
//! millisecond, or else the time in which a whole window arrives. State: both sizes, the round trip, and the data since
//! the last one. Units: bytes of the stream. Source: kernel 6.12, `tcp_rcv_space_adjust`, `tcp_grow_window`,
//! `tcp_rcv_rtt_update`, `__tcp_select_window`.

use shallop_core::{Span, Time};

use super::config::Config;
use super::head::{Head, scale_for};
use super::timestamp::Timestamp;

/// The window for the first memory of 128 KB once segments have come, of which a full one takes 2,304 bytes. Cards
/// differ in that; it matters to the first round trips only.
const FIRST_CLAMP: u64 = 131_072 * 1_448 / 2_304;
/// Segments that may come beyond twice the data of a round trip.
const CUSHION: u64 = 16;
/// Segments of the first round trip, as the receiver assumes.
const FIRST_SPACE: u64 = 10;

/// The window of one receiver.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// The most that is advertised.
    pub(super) buffer: u64,
    /// The right edge, which never moves back (RFC 7323, 2.4).
    pub(super) right_edge: u64,
    /// The size that follows the data; `None` if it is the buffer.
    tuning: Option<Box<Tuning>>,
}

#[derive(Clone, Debug)]
struct Tuning {
    /// Payload of a full segment.
    segment: u64,
    /// The unit in which the window is advertised.
    unit: u64,
    /// The window that the memory allows, which grows once in a round trip (kernel: `window_clamp`).
    clamp: u64,
    /// What is offered of it, which grows with each arrival (kernel: `rcv_ssthresh`).
    offered: u64,
    /// Eight times the round trip; zero before the first.
    rtt: Span,
    /// The timestamp that was measured last.
    last_tsecr: Timestamp,
    /// The byte with which a window has arrived that began at this time, for a round trip without timestamps.
    window_end: Option<(u64, Time)>,
    /// Data of the last round trip, and where and when the present one began.
    space: u64,
    space_from: u64,
    space_since: Time,
}

impl ReceiveWindow {
    /// The window of a new flow.
    pub(super) fn new(config: &Config) -> Self {
        let buffer = config.usable_receive_buffer();
        if !config.receive_autotuning {
            return Self { buffer, right_edge: buffer, tuning: None };
        }
        let segment = u64::from(config.segment);
        let first = config.first_window();
        let tuning = Tuning {
            segment,
            unit: 1 << scale_for(buffer),
            clamp: FIRST_CLAMP.clamp(first, buffer),
            offered: first,
            rtt: Span::ZERO,
            last_tsecr: Timestamp(0),
            window_end: None,
            space: first.min(FIRST_SPACE * segment),
            space_from: 0,
            space_since: Time::ZERO,
        };
        Self { buffer, right_edge: first, tuning: Some(Box::new(tuning)) }
    }

    /// Data arrived; `arrived` are RCV.NXT and the bytes above it that are kept. True if the window grew, so that its
    /// sender should know at once.
    pub(super) fn on_data(&mut self, now: Time, head: &Head, (rcv_nxt, kept): (u64, u64)) -> bool {
        let right_edge = self.right_edge;
        let (grows, free) = match &mut self.tuning {
            None => (false, self.buffer.saturating_sub(kept)),
            Some(tuning) => {
                tuning.measure_round_trip(now, head, rcv_nxt, right_edge);
                let grows = tuning.grow(u64::from(head.len), kept);
                (grows, tuning.free(kept))
            }
        };
        self.right_edge = right_edge.max(rcv_nxt + free);
        grows
    }

    /// The round trip; zero if it is not known.
    pub(super) fn round_trip(&self) -> Span {
        self.tuning.as_ref().map_or(Span::ZERO, |tuning| tuning.rtt / 8)
    }

    /// True if what arrived out of order takes more than half of the memory.
    pub(super) fn is_half_full(&self, kept: u64) -> bool {
        self.tuning.as_ref().is_some_and(|tuning| kept > tuning.clamp / 2)
    }

    /// The application has read everything below RCV.NXT.
    pub(super) fn on_read(&mut self, now: Time, rcv_nxt: u64) {
        let buffer = self.buffer;
        if let Some(tuning) = &mut self.tuning {
            tuning.adjust(now, rcv_nxt, buffer);
        }
    }

    /// The window of the next flow of the same connection, which counts its bytes from zero again.
    pub(super) fn continued(&self, end: u64) -> Self {
        let mut next = self.clone();
        next.right_edge = self.right_edge.saturating_sub(end);
        if let Some(tuning) = &mut next.tuning {
            tuning.space_from = 0;
            tuning.window_end = None;
        }
        next
    }
}

impl Tuning {
    fn measure_round_trip(&mut self, now: Time, head: &Head, rcv_nxt: u64, right_edge: u64) {
        let tsecr = head.tsecr_of_data();
        if tsecr != self.last_tsecr {
            self.last_tsecr = tsecr;
            let elapsed = Timestamp::at(now).0.wrapping_sub(tsecr.0);
            if elapsed > 0 && u64::from(head.len) >= self.segment {
                let sample = Span::from_ms(elapsed.into());
                let known = !self.rtt.is_zero() && sample * 8 >= self.rtt;
                self.rtt = if known { self.rtt - self.rtt / 8 + sample } else { sample * 8 };
            }
        }
        match self.window_end {
            Some((end, _)) if rcv_nxt < end => return,
            Some((_, since)) => {
                let sample = now.saturating_since(since).max(Span::from_us(1)) * 8;
                if self.rtt.is_zero() || sample < self.rtt {
                    self.rtt = sample;
                }
            }
            None => {}
        }
        self.window_end = Some((right_edge, now));
    }

    /// Offers twice what arrived, as far as there is room.
    fn grow(&mut self, len: u64, kept: u64) -> bool {
        let room = self.clamp.saturating_sub(kept).saturating_sub(self.offered);
        self.offered += room.min(2 * len.max(self.segment));
        room > 0
    }

    /// The window to advertise, in whole units; nothing new if less than a 16th of the memory is free.
    fn free(&self, kept: u64) -> u64 {
        let free = self.clamp.saturating_sub(kept);
        if free < (self.clamp / 16).max(self.segment) {
            return 0;
        }
        free.min(self.offered).next_multiple_of(self.unit)
    }

    /// Once in a round trip, sets the memory by the data that came in it.
    fn adjust(&mut self, now: Time, rcv_nxt: u64, buffer: u64) {
        if self.rtt.is_zero() || now.saturating_since(self.space_since) < self.rtt / 8 {
            return;
        }
        let copied = rcv_nxt - self.space_from;
        if copied > self.space {
            let window = 2 * copied + CUSHION * self.segment;
            let grown =
                u128::from(window) * u128::from(copied - self.space) / u128::from(self.space);
            let wanted = u128::from(window) + 2 * grown;
            self.clamp = self.clamp.max(u64::try_from(wanted).unwrap_or(buffer).min(buffer));
            self.space = copied;
        }
        (self.space_from, self.space_since) = (rcv_nxt, now);
    }
}

#[cfg(test)]
mod tests {
    use shallop_core::Bytes;

    use super::super::config::Stack;
    use super::*;

    const ROUND: u64 = 20;

    /// The window of Linux with segments of 1,000 bytes and this buffer.
    fn window(buffer: u64) -> ReceiveWindow {
        let tcp = Config { segment: 1_000, receive_buffer: Bytes::new(buffer), ..Stack::LINUX.tcp };
        ReceiveWindow::new(&tcp)
    }

    /// This many segments arrive evenly in the round, each in answer to an acknowledgement of the round before.
    fn round(window: &mut ReceiveWindow, number: u64, rcv_nxt: &mut u64, segments: u64) {
        for n in 0..segments {
            let now = Time::after_start(
                Span::from_ms(ROUND * number) + Span::from_ms(ROUND) * n / segments,
            );
            let tsecr = Timestamp::at(now - Span::from_ms(ROUND));
            let head = Head { seq: *rcv_nxt, len: 1_000, window: tsecr.0, ..Head::default() };
            *rcv_nxt += 1_000;
            window.on_data(now, &head, (*rcv_nxt, 0));
            window.on_read(now, *rcv_nxt);
        }
    }

    fn offered(window: &ReceiveWindow, rcv_nxt: u64) -> u64 {
        window.right_edge - rcv_nxt
    }

    #[test]
    fn in_slow_start_the_window_stays_ahead_of_what_comes() {
        let (mut window, mut rcv_nxt) = (window(u64::MAX), 0);
        for number in 1..=8 {
            let segments = 10 << (number - 1);
            round(&mut window, number, &mut rcv_nxt, segments);
            let next = 2_000 * segments;
            let offered = offered(&window, rcv_nxt);
            assert!(offered >= next.max(60_000), "round {number}: {offered} of {next}");
        }
    }

    /// 50 segments in the first round trip where 10 were expected: twice of them and a cushion are 116 KB, and eight
    /// times as much again, because they were four times more than expected. Twice 100 segments later are less.
    #[test]
    fn memory_follows_the_data_of_a_round_trip_and_never_shrinks() {
        let (mut window, mut rcv_nxt) = (window(u64::MAX), 0);
        for (number, segments) in [(1, 50), (2, 50), (3, 100), (4, 10), (5, 10)] {
            round(&mut window, number, &mut rcv_nxt, segments);
        }
        assert_eq!(window.tuning.as_ref().unwrap().clamp, 116_000 + 8 * 116_000);
    }

    #[test]
    fn the_buffer_is_the_limit_and_what_is_out_of_order_takes_room() {
        let (mut window, mut rcv_nxt) = (window(200_000), 0);
        for number in 1..=8 {
            round(&mut window, number, &mut rcv_nxt, 200);
        }
        let full = offered(&window, rcv_nxt);
        assert!((190_000..=210_000).contains(&full), "{full}");
        let head = Head { seq: rcv_nxt + 1_000, len: 1_000, ..Head::default() };
        let before = window.right_edge;
        let now = Time::after_start(Span::from_ms(9 * ROUND));
        assert!(!window.on_data(now, &head, (rcv_nxt, 195_000)), "no room to grow");
        assert_eq!(window.right_edge, before, "never back");
        let fixed = Config { receive_autotuning: false, ..Stack::LINUX.tcp };
        assert_eq!(ReceiveWindow::new(&fixed).right_edge, fixed.usable_receive_buffer());
    }

    /// With a round trip below the clock's millisecond, it is at most the time in which a window arrives.
    #[test]
    fn without_timestamps_the_round_trip_is_that_of_a_window() {
        let (mut window, mut rcv_nxt) = (window(u64::MAX), 0);
        for n in 1..=100 {
            let now = Time::after_start(Span::from_us(10 * n));
            let head = Head { seq: rcv_nxt, len: 1_000, ..Head::default() };
            rcv_nxt += 1_000;
            window.on_data(now, &head, (rcv_nxt, 0));
            window.on_read(now, rcv_nxt);
        }
        let rtt = window.tuning.as_ref().unwrap().rtt / 8;
        assert!((Span::from_us(500)..Span::from_us(800)).contains(&rtt), "{rtt:?}");
        let next = window.continued(rcv_nxt);
        assert_eq!(next.right_edge, window.right_edge - rcv_nxt);
    }
}
