//! The window that a receiver advertises: its buffer, less data that arrived out of order. With autotuning, as in
//! Linux, the buffer begins at 64 KB and follows the data of a round trip: twice that data, and more while it grows, up
//! to the configured buffer. The window does not shrink again. The round trip is measured by timestamps with a clock of
//! 1 ms, or otherwise as the time in which a whole window arrives. State: both sizes, the round trip, and the data
//! since the last one. Units: bytes of the stream. Source: kernel 6.12, `tcp_rcv_space_adjust`, `tcp_grow_window`,
//! `tcp_rcv_rtt_update`, `__tcp_select_window`.

use super::config::Config;
use super::head::{Head, scale_for};
use super::timestamp::Timestamp;
use shallop_core::{Span, Time};

/// The first window that the receiver's memory allows, in bytes: 128 KB of memory, of which a full segment takes 2,304
/// bytes. NICs differ in that number, which matters only in the first round trips.
const FIRST_CLAMP: u64 = 131_072 * 1_448 / 2_304;
/// The number of segments that the window has room for beyond twice the data of a round trip.
const CUSHION: u64 = 16;
/// The number of segments that the receiver assumes for the first round trip.
const FIRST_SPACE: u64 = 10;

#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// The configured buffer. Data within it is accepted even if less was advertised.
    pub(super) buffer: u64,
    /// The first byte that was not offered to the sender. It never moves back (RFC 7323, 2.4).
    pub(super) right_edge: u64,
    /// State of autotuning; `None` if the whole buffer is offered.
    tuning: Option<Tuning>,
}

#[derive(Clone, Debug)]
struct Tuning {
    segment: u64,
    /// Unit in which windows are advertised, in bytes.
    unit: u64,
    /// The window that the receiver's memory allows, which grows once in a round trip (kernel: `window_clamp`).
    clamp: u64,
    /// The part of `clamp` that is offered to the sender, which grows with each arrival (kernel: `rcv_ssthresh`).
    offered: u64,
    /// Eight times the smoothed round-trip time; zero before the first sample.
    rtt: Span,
    /// The echoed timestamp for which the last round-trip sample was taken.
    last_tsecr: Timestamp,
    /// For samples without timestamps: the end of the window that is arriving, and when it began.
    window_end: Option<(u64, Time)>,
    /// Bytes that arrived in the last round trip.
    space: u64,
    /// Offset of the first byte that arrived in the current round trip.
    space_from: u64,
    space_since: Time,
}

impl ReceiveWindow {
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
        Self { buffer, right_edge: first, tuning: Some(tuning) }
    }

    /// Records that data arrived. RCV.NXT is now `rcv_nxt`, and `kept` bytes after it are stored. Returns whether the
    /// window grew, so that the sender should be told at once.
    pub(super) fn on_data(&mut self, now: Time, head: &Head, rcv_nxt: u64, kept: u64) -> bool {
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

    /// The smoothed round-trip time that the receiver measured; zero before the first sample.
    pub(super) fn round_trip(&self) -> Span {
        self.tuning.as_ref().map_or(Span::ZERO, |tuning| tuning.rtt / 8)
    }

    /// Whether data out of order takes more than half of the receiver's memory.
    pub(super) fn is_half_full(&self, kept: u64) -> bool {
        self.tuning.as_ref().is_some_and(|tuning| kept > tuning.clamp / 2)
    }

    /// Records that the application has read everything before RCV.NXT.
    pub(super) fn on_read(&mut self, now: Time, rcv_nxt: u64) {
        let buffer = self.buffer;
        if let Some(tuning) = &mut self.tuning {
            tuning.adjust(now, rcv_nxt, buffer);
        }
    }

    /// The window for the next flow on the connection, whose bytes are counted from zero.
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

    /// Increases the offered window by twice the bytes that arrived, as far as memory allows.
    fn grow(&mut self, len: u64, kept: u64) -> bool {
        let room = self.clamp.saturating_sub(kept).saturating_sub(self.offered);
        self.offered += room.min(2 * len.max(self.segment));
        room > 0
    }

    /// The window to advertise, in whole units; zero if less than a sixteenth of the memory is free.
    fn free(&self, kept: u64) -> u64 {
        let free = self.clamp.saturating_sub(kept);
        if free < (self.clamp / 16).max(self.segment) {
            return 0;
        }
        free.min(self.offered).next_multiple_of(self.unit)
    }

    /// Once in a round trip, sets the memory according to the data that arrived in it.
    fn adjust(&mut self, now: Time, rcv_nxt: u64, buffer: u64) {
        if self.rtt.is_zero() || now.saturating_since(self.space_since) < self.rtt / 8 {
            return;
        }
        let copied = rcv_nxt - self.space_from;
        if copied > self.space {
            let window = 2 * copied + CUSHION * self.segment;
            let grown = u128::from(window) * u128::from(copied - self.space) / u128::from(self.space);
            let wanted = u128::from(window) + 2 * grown;
            self.clamp = self.clamp.max(u64::try_from(wanted).unwrap_or(buffer).min(buffer));
            self.space = copied;
        }
        (self.space_from, self.space_since) = (rcv_nxt, now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Stack;
    use super::*;
    use shallop_core::Bytes;

    const ROUND: u64 = 20;

    /// Makes a receive window as Linux has it, with segments of 1,000 bytes and this buffer.
    fn window(buffer: u64) -> ReceiveWindow {
        let tcp = Config { segment: 1_000, receive_buffer: Bytes::new(buffer), ..Stack::LINUX.tcp };
        ReceiveWindow::new(&tcp)
    }

    /// Delivers segments that arrive evenly in a round trip, each in answer to an acknowledgement of the previous one.
    fn round(window: &mut ReceiveWindow, number: u64, rcv_nxt: &mut u64, segments: u64) {
        for n in 0..segments {
            let now = Time::after_start(Span::from_ms(ROUND * number) + Span::from_ms(ROUND) * n / segments);
            let tsecr = Timestamp::at(now - Span::from_ms(ROUND));
            let head = Head { seq: *rcv_nxt, len: 1_000, window: tsecr.0, ..Head::default() };
            *rcv_nxt += 1_000;
            window.on_data(now, &head, *rcv_nxt, 0);
            window.on_read(now, *rcv_nxt);
        }
    }

    fn offered(window: &ReceiveWindow, rcv_nxt: u64) -> u64 {
        window.right_edge - rcv_nxt
    }

    #[test]
    fn in_slow_start_the_window_allows_the_next_round_trips_data() {
        let (mut window, mut rcv_nxt) = (window(u64::MAX), 0);
        for number in 1..=8 {
            let segments = 10 << (number - 1);
            round(&mut window, number, &mut rcv_nxt, segments);
            let next = 2_000 * segments;
            let offered = offered(&window, rcv_nxt);
            assert!(offered >= next.max(60_000), "round {number}: {offered} of {next}");
        }
    }

    /// The first round trip delivers 50 segments where 10 were expected. The window becomes twice that with a cushion,
    /// 116 KB, plus eight times as much, because the excess is four times what was expected. The 100 segments of a
    /// later round trip require less, and the window stays.
    #[test]
    fn memory_follows_the_data_of_a_round_trip_and_never_shrinks() {
        let (mut window, mut rcv_nxt) = (window(u64::MAX), 0);
        for (number, segments) in [(1, 50), (2, 50), (3, 100), (4, 10), (5, 10)] {
            round(&mut window, number, &mut rcv_nxt, segments);
        }
        assert_eq!(window.tuning.as_ref().unwrap().clamp, 116_000 + 8 * 116_000);
    }

    #[test]
    fn the_buffer_is_the_limit_and_data_out_of_order_takes_room() {
        let (mut window, mut rcv_nxt) = (window(200_000), 0);
        for number in 1..=8 {
            round(&mut window, number, &mut rcv_nxt, 200);
        }
        let full = offered(&window, rcv_nxt);
        assert!((190_000..=210_000).contains(&full), "{full}");
        let head = Head { seq: rcv_nxt + 1_000, len: 1_000, ..Head::default() };
        let before = window.right_edge;
        let now = Time::after_start(Span::from_ms(9 * ROUND));
        assert!(!window.on_data(now, &head, rcv_nxt, 195_000), "no room to grow");
        assert_eq!(window.right_edge, before, "never back");
        let fixed = Config { receive_autotuning: false, ..Stack::LINUX.tcp };
        assert_eq!(ReceiveWindow::new(&fixed).right_edge, fixed.usable_receive_buffer());
    }

    /// A round trip below the clock's millisecond is measured as the time in which a window arrives.
    #[test]
    fn without_timestamps_a_round_trip_is_the_time_of_a_window() {
        let (mut window, mut rcv_nxt) = (window(u64::MAX), 0);
        for n in 1..=100 {
            let now = Time::after_start(Span::from_us(10 * n));
            let head = Head { seq: rcv_nxt, len: 1_000, ..Head::default() };
            rcv_nxt += 1_000;
            window.on_data(now, &head, rcv_nxt, 0);
            window.on_read(now, rcv_nxt);
        }
        let rtt = window.tuning.as_ref().unwrap().rtt / 8;
        assert!((Span::from_us(500)..Span::from_us(800)).contains(&rtt), "{rtt:?}");
        let next = window.continued(rcv_nxt);
        assert_eq!(next.right_edge, window.right_edge - rcv_nxt);
    }
}
