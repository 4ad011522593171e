//! Aeolus at the end that sends: the data of the first round trip, before any credit, and what becomes of it.
//! State: how far the burst has come, which of its frames are known to have arrived, which were sent again.
//! Units: bytes of the stream; frames are whole, so that every count of bytes is one of frames.
//! Source: aeolus-apnet18, 3.3; PROTOCOLS 8; choices in docs/aeolus.md.
//!
//! Whoever owns it sends what [`Start::poll`] gives, ends the burst with [`Start::stop`] when anything is heard, tells
//! it what arrived, and asks what to send again. Everything is sent again at most once: repairs are scheduled, and
//! what becomes of scheduled frames is the transport's matter.

use std::ops::Range;

use shallop_core::{BitsPerSec, Bytes, Pace, Time};

use crate::arrived::Arrived;
use crate::wire;

/// What a start is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The rate of the burst: that of the host's link.
    pub link: BitsPerSec,
    /// The most that is sent without a credit, on the wire.
    pub most: Bytes,
}

/// Something to be sent without a credit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Payload.
    Payload(Range<u64>),
    /// A smallest packet that follows the last payload, which ended here. It must not be dropped selectively.
    Probe(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Frames leave, each when the one before it has had its time on the link.
    Burst,
    /// The probe is due.
    Probe,
    /// Not begun, or over.
    Quiet,
}

/// The unscheduled part of a stream, from its first byte to [`Start::end`].
#[derive(Clone, Debug)]
pub struct Start {
    pace: Pace,
    payload: u64,
    phase: Phase,
    /// When the next frame is due; `None` if it is due already, or none is.
    due: Option<Time>,
    /// How far the burst may go, and how far it went.
    limit: u64,
    end: u64,
    arrived: Arrived,
    /// What arrived or was sent again: the rest is missing.
    settled: Arrived,
    /// What is missing below is lost: something sent later has arrived.
    known: u64,
    /// Nothing is missing from here on.
    back: u64,
}

impl Start {
    /// A start that has not begun, of a stream of `size` bytes or without end. Without a configuration it never does.
    #[must_use]
    pub fn new(config: Option<Config>, payload: u64, size: Option<u64>) -> Self {
        let frame = u64::from(wire::data_frame(payload));
        let most = config.map_or(0, |config| config.most.get().div_ceil(frame));
        let link = config.map_or(BitsPerSec::at_least_one(1), |config| config.link);
        Self {
            pace: Pace::new(link),
            payload,
            phase: Phase::Quiet,
            due: None,
            limit: most.saturating_mul(payload).min(size.unwrap_or(u64::MAX)),
            end: 0,
            arrived: Arrived::default(),
            settled: Arrived::default(),
            known: 0,
            back: 0,
        }
    }

    /// The transfer begins.
    pub fn begin(&mut self) {
        if self.limit > 0 {
            self.phase = Phase::Burst;
        }
    }

    /// Something was heard from the other end, or the burst is to end for another reason.
    pub fn stop(&mut self) {
        if self.phase == Phase::Burst {
            self.phase = if self.end > 0 { Phase::Probe } else { Phase::Quiet };
            self.due = None;
        }
    }

    /// True before the burst has ended.
    #[must_use]
    pub fn bursts(&self) -> bool {
        self.phase == Phase::Burst
    }

    /// When [`Start::on_timer`] is to be called.
    #[must_use]
    pub fn wakeup(&self) -> Option<Time> {
        self.due
    }

    /// The deadline may have come.
    pub fn on_timer(&mut self, now: Time) {
        self.due = self.due.filter(|&due| due > now);
    }

    /// Whether [`Start::poll`] gives something.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.phase != Phase::Quiet && self.due.is_none()
    }

    /// What is to be sent now.
    pub fn poll(&mut self, now: Time) -> Option<Piece> {
        if !self.ready() {
            return None;
        }
        if self.phase == Phase::Probe {
            self.phase = Phase::Quiet;
            return Some(Piece::Probe(self.end));
        }
        let body = self.end..self.limit.min(self.end + self.payload);
        self.end = body.end;
        self.back = body.end;
        let frame = Bytes::new(u64::from(wire::data_frame(body.end - body.start)));
        self.due = Some(now + self.pace.charge(frame));
        if self.end == self.limit {
            self.stop();
        }
        Some(Piece::Payload(body))
    }

    /// The first byte that was not sent without a credit.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// These bytes have arrived. Parts of frames do not count.
    pub fn on_arrived(&mut self, body: Range<u64>) {
        let stop =
            if body.end >= self.end { self.end } else { body.end / self.payload * self.payload };
        let start = body.start.div_ceil(self.payload).saturating_mul(self.payload);
        if start < stop {
            self.arrived.add(start..stop);
            self.settled.add(start..stop);
        }
    }

    /// Something that was sent after all bytes before `upto` has arrived: those of them that have not are lost.
    pub fn on_passed(&mut self, upto: u64) {
        self.known = self.known.max(upto.min(self.end));
    }

    /// Frames that have not arrived, as far as is known, and were not sent again.
    #[must_use]
    pub fn missing(&self) -> u64 {
        (self.end - self.settled.next() - self.settled.beyond()).div_ceil(self.payload)
    }

    /// The first frame that is known to be lost. It will not be given again.
    pub fn repair(&mut self) -> Option<Range<u64>> {
        let start = self.settled.next();
        if start >= self.known {
            return None;
        }
        Some(self.settle(start..self.end.min(start + self.payload)))
    }

    /// The last frame that is missing, lost or not, for a credit that would be of no use otherwise. The last, because
    /// its acknowledgement takes longest to come. It will not be given again.
    pub fn anticipate(&mut self) -> Option<Range<u64>> {
        while self.back > self.settled.next() {
            let frame = (self.back - 1) / self.payload * self.payload..self.back;
            self.back = frame.start;
            if !self.settled.covers(&frame) {
                return Some(self.settle(frame));
            }
        }
        None
    }

    /// All bytes before `from` have arrived. Of the others what has not, as far as is known, is lost once more.
    pub fn repeat_from(&mut self, from: u64) {
        self.on_arrived(0..from);
        self.settled = self.arrived.clone();
        (self.known, self.back) = (self.end, self.end);
    }

    fn settle(&mut self, frame: Range<u64>) -> Range<u64> {
        self.settled.add(frame.clone());
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::Span;

    fn start(most: u64, size: Option<u64>) -> Start {
        let config = Config { link: BitsPerSec::gbps(10), most: Bytes::new(most) };
        let mut start = Start::new(Some(config), 1000, size);
        start.begin();
        start
    }

    /// Sends all it has to send.
    fn burst(start: &mut Start) -> Vec<(Time, Piece)> {
        let (mut now, mut pieces) = (Time::ZERO, vec![]);
        loop {
            while let Some(piece) = start.poll(now) {
                pieces.push((now, piece));
            }
            let Some(due) = start.wakeup() else { return pieces };
            now = due;
            start.on_timer(now);
        }
    }

    #[test]
    fn frames_leave_at_the_rate_of_the_link_and_the_probe_follows_the_last() {
        let mut start = start(5_000, Some(2_500));
        let pieces = burst(&mut start);
        let frame = Pace::new(BitsPerSec::gbps(10)).quote(Bytes::new(1078));
        let at = |frames: u64| Time::ZERO + frame * frames;
        let expected = [
            (at(0), Piece::Payload(0..1000)),
            (at(1), Piece::Payload(1000..2000)),
            (at(2), Piece::Payload(2000..2500)),
            (at(2), Piece::Probe(2500)),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn the_burst_ends_at_its_cap_or_when_something_is_heard() {
        let mut capped = start(2 * 1078, None);
        assert_eq!(burst(&mut capped).len(), 3, "two frames and the probe");
        let mut stopped = start(1 << 30, None);
        assert_eq!(stopped.poll(Time::ZERO), Some(Piece::Payload(0..1000)));
        stopped.stop();
        assert_eq!(burst(&mut stopped), [(Time::ZERO, Piece::Probe(1000))]);
        let mut unheard = start(1 << 30, None);
        unheard.stop();
        assert_eq!(burst(&mut unheard), [], "nothing was sent, so there is nothing to probe");
        let mut off = Start::new(None, 1000, None);
        off.begin();
        assert_eq!((burst(&mut off), off.missing()), (vec![], 0));
    }

    #[test]
    fn losses_are_repaired_from_the_first_and_the_rest_is_anticipated_from_the_last() {
        let mut start = start(1 << 30, Some(6_500));
        burst(&mut start);
        start.on_arrived(1000..2000);
        start.on_arrived(3000..4000);
        start.on_passed(4000);
        assert_eq!(start.missing(), 5);
        assert_eq!([start.repair(), start.repair()], [Some(0..1000), Some(2000..3000)]);
        assert_eq!(start.repair(), None, "what is beyond may still arrive");
        assert_eq!(start.anticipate(), Some(6000..6500));
        start.on_passed(6_500);
        assert_eq!([start.repair(), start.repair()], [Some(4000..5000), Some(5000..6000)]);
        assert_eq!((start.repair(), start.anticipate(), start.missing()), (None, None, 0));
        start.repeat_from(2000);
        assert_eq!(start.missing(), 4, "2000 and the last three, of which nothing was heard");
        assert_eq!([start.repair(), start.repair()], [Some(2000..3000), Some(4000..5000)]);
    }

    proptest! {
        #[test]
        fn every_frame_that_did_not_arrive_is_given_exactly_once(
            size in 1u64..20_000,
            events in prop::collection::vec((0u8..5, 0u64..21), 0..80),
        ) {
            let mut start = start(1 << 30, Some(size));
            burst(&mut start);
            let frames = size.div_ceil(1000) as usize;
            let (mut arrived, mut given) = (vec![false; frames], vec![false; frames]);
            for (kind, number) in events {
                let frame = number as usize % frames;
                let piece = match kind {
                    0 => start.repair(),
                    1 => start.anticipate(),
                    2 => {
                        start.on_passed(number * 1000);
                        None
                    }
                    3 => {
                        // The end of a frame alone says nothing.
                        start.on_arrived(number * 1000 + 1..number * 1000 + 1000);
                        None
                    }
                    _ => {
                        arrived[frame] = true;
                        start.on_arrived(frame as u64 * 1000..(frame as u64 + 1) * 1000);
                        None
                    }
                };
                if let Some(body) = piece {
                    let frame = (body.start / 1000) as usize;
                    prop_assert_eq!(body.end, size.min(body.start + 1000));
                    prop_assert!(!std::mem::replace(&mut given[frame], true), "given twice");
                    prop_assert!(!arrived[frame], "it had arrived");
                }
                let missing = (0..frames).filter(|&at| !arrived[at] && !given[at]).count();
                prop_assert_eq!(start.missing(), missing as u64);
            }
            while let Some(body) = start.anticipate() {
                let frame = (body.start / 1000) as usize;
                prop_assert!(!std::mem::replace(&mut given[frame], true) && !arrived[frame]);
            }
            prop_assert_eq!(start.missing(), 0);
        }
    }

    #[test]
    fn a_frame_waits_for_the_one_before_it_however_late_that_was() {
        let mut start = start(1 << 30, None);
        let late = Time::after_start(Span::from_us(7));
        assert!(start.poll(late).is_some() && !start.ready());
        let due = start.wakeup().unwrap();
        assert!(due > late);
        start.on_timer(due);
        assert!(start.ready());
    }
}
