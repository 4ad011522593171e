//! Aeolus at the sender: the unscheduled data of the first round trip, which is sent before any credit, and the
//! recovery of its losses. State: how much of the burst was sent, and which of its frames are acknowledged or were
//! retransmitted. Units: bytes of the stream, in whole frames except the last. Source: aeolus-apnet18, 3.3; choices in
//! docs/aeolus.md.
//!
//! The sender of the transport sends what [`UnscheduledBurst::poll`] returns, ends the burst with
//! [`UnscheduledBurst::stop`] at the first packet from the receiver, reports acknowledgements, and fetches the frames
//! to retransmit. Each frame is retransmitted here at most once, on a credit; if that fails as well, the transport
//! recovers the loss.

use crate::{arrived::Arrived, wire};
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Time};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Rate of the sender's link, at which the burst is sent.
    pub link: BitsPerSec,
    /// The most bytes on the wire that a flow sends before its first credit.
    pub max_burst: Bytes,
    /// How long a kept connection must be idle before its next flow has a burst.
    pub renew_after: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnscheduledPacket {
    /// A data packet with these bytes of the stream.
    Payload(Range<u64>),
    /// The probe packet, of minimum size, which follows the last unscheduled data. Its number is the end of that data.
    /// Switches must not drop it selectively.
    Probe(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The burst is being sent, frame by frame at the rate of the link.
    Burst,
    /// The data of the burst was sent, and the probe packet is to be sent.
    Probe,
    /// The burst has not started, or it is over.
    Idle,
}

/// The unscheduled data of a flow: the bytes of the stream up to [`UnscheduledBurst::end`].
#[derive(Clone, Debug)]
pub struct UnscheduledBurst {
    pace: Pace,
    payload: u64,
    phase: Phase,
    renew_after: Span,
    /// When a burst may start: later than zero on a connection that carried a flow before.
    renewed_at: Time,
    /// When the next frame of the burst is due; `None` if it is due now, or if no frame follows.
    due: Option<Time>,
    /// Offset in the stream at which the burst ends at the latest.
    limit: u64,
    /// Offset in the stream up to which unscheduled data was sent.
    end: u64,
    acked: Arrived,
    /// Frames that are acknowledged or were retransmitted. All other frames of the burst are outstanding.
    handled: Arrived,
    /// Offset in the stream: outstanding frames before it are lost, because a packet sent later has arrived.
    highest_arrived: u64,
    /// Offset in the stream: no frame at or after it is outstanding.
    highest_outstanding: u64,
}

impl UnscheduledBurst {
    /// Makes a burst that has not started, for a stream of `size` bytes; `None` is a stream without end. If `config` is
    /// `None`, no unscheduled data is ever sent.
    pub fn new(config: Option<Config>, payload: u64, size: Option<u64>) -> Self {
        let frame = u64::from(wire::data_frame(payload));
        let frames = config.map_or(0, |config| config.max_burst.get().div_ceil(frame));
        let link = config.map_or(BitsPerSec::at_least_one(1), |config| config.link);
        Self {
            pace: Pace::new(link),
            payload,
            phase: Phase::Idle,
            renew_after: config.map_or(Span::ZERO, |config| config.renew_after),
            renewed_at: Time::ZERO,
            due: None,
            limit: frames.saturating_mul(payload).min(size.unwrap_or(u64::MAX)),
            end: 0,
            acked: Arrived::default(),
            handled: Arrived::default(),
            highest_arrived: 0,
            highest_outstanding: 0,
        }
    }

    /// Records that the flow continues a connection that was last active at this time.
    pub fn continue_connection(&mut self, last_active: Time) {
        self.renewed_at = last_active.saturating_add(self.renew_after);
    }

    /// Starts the burst, unless the connection was not idle for long enough.
    pub fn start(&mut self, now: Time) {
        if self.limit > 0 && now >= self.renewed_at {
            self.phase = Phase::Burst;
        }
    }

    /// Ends the burst. The probe packet follows if any frame was sent.
    pub fn stop(&mut self) {
        if self.phase == Phase::Burst {
            self.phase = if self.end > 0 { Phase::Probe } else { Phase::Idle };
            self.due = None;
        }
    }

    /// Whether more unscheduled frames will be sent.
    pub fn is_bursting(&self) -> bool {
        self.phase == Phase::Burst
    }

    pub fn wakeup(&self) -> Option<Time> {
        self.due
    }

    pub fn on_timer(&mut self, now: Time) {
        self.due = self.due.filter(|&due| due > now);
    }

    /// Whether [`UnscheduledBurst::poll`] has a packet to send now.
    pub fn ready(&self) -> bool {
        self.phase != Phase::Idle && self.due.is_none()
    }

    pub fn poll(&mut self, now: Time) -> Option<UnscheduledPacket> {
        if !self.ready() {
            return None;
        }
        if self.phase == Phase::Probe {
            self.phase = Phase::Idle;
            return Some(UnscheduledPacket::Probe(self.end));
        }
        let body = self.end..self.limit.min(self.end + self.payload);
        self.end = body.end;
        self.highest_outstanding = body.end;
        let frame = Bytes::new(u64::from(wire::data_frame(body.end - body.start)));
        self.due = Some(now + self.pace.charge(frame));
        if self.end == self.limit {
            self.stop();
        }
        Some(UnscheduledPacket::Payload(body))
    }

    /// Delays the next frame by the time that another packet, of `frame` bytes on the wire, takes on the link.
    pub fn delay(&mut self, now: Time, frame: Bytes) {
        if self.phase == Phase::Burst {
            self.due = Some(self.due.unwrap_or(now) + self.pace.charge(frame));
        }
    }

    /// Offset in the stream up to which unscheduled data was sent.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Records that bytes are acknowledged. Frames that they cover only in part stay outstanding.
    pub fn on_acked(&mut self, body: Range<u64>) {
        let stop = if body.end >= self.end { self.end } else { body.end / self.payload * self.payload };
        let start = body.start.div_ceil(self.payload).saturating_mul(self.payload);
        if start < stop {
            self.acked.add(start..stop);
            self.handled.add(start..stop);
        }
    }

    /// Records that a packet has arrived that was sent after all bytes before `upto`. Bytes before `upto` that are
    /// not acknowledged are lost.
    pub fn on_later_arrival(&mut self, upto: u64) {
        self.highest_arrived = self.highest_arrived.max(upto.min(self.end));
    }

    /// The number of outstanding frames: sent, and neither acknowledged nor retransmitted.
    pub fn outstanding(&self) -> u64 {
        (self.end - self.handled.next() - self.handled.out_of_order()).div_ceil(self.payload)
    }

    /// Removes the first lost frame and returns it, to be retransmitted.
    pub fn take_lost(&mut self) -> Option<Range<u64>> {
        let start = self.handled.next();
        if start >= self.highest_arrived {
            return None;
        }
        Some(self.take(start..self.end.min(start + self.payload)))
    }

    /// Removes the last outstanding frame, lost or not, and returns it, to use a credit that would otherwise be wasted.
    /// It is the last frame because its acknowledgement arrives last.
    pub fn take_outstanding(&mut self) -> Option<Range<u64>> {
        while self.highest_outstanding > self.handled.next() {
            let end = self.highest_outstanding;
            let frame = (end - 1) / self.payload * self.payload..end;
            self.highest_outstanding = frame.start;
            if !self.handled.covers(&frame) {
                return Some(self.take(frame));
            }
        }
        None
    }

    /// Goes back N: all bytes before `from` have arrived, and all later bytes that are not acknowledged count as lost,
    /// even if they were retransmitted.
    pub fn go_back_to(&mut self, from: u64) {
        self.on_acked(0..from);
        self.handled = self.acked.clone();
        (self.highest_arrived, self.highest_outstanding) = (self.end, self.end);
    }

    fn take(&mut self, frame: Range<u64>) -> Range<u64> {
        self.handled.add(frame.clone());
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn start(max_burst: u64, size: Option<u64>) -> UnscheduledBurst {
        let config = Config { link: BitsPerSec::gbps(10), max_burst: Bytes::new(max_burst), renew_after: Span::ZERO };
        let mut burst = UnscheduledBurst::new(Some(config), 1000, size);
        burst.start(Time::ZERO);
        burst
    }

    fn send_all(burst: &mut UnscheduledBurst) -> Vec<(Time, UnscheduledPacket)> {
        let (mut now, mut packets) = (Time::ZERO, vec![]);
        loop {
            while let Some(packet) = burst.poll(now) {
                packets.push((now, packet));
            }
            let Some(due) = burst.wakeup() else { return packets };
            now = due;
            burst.on_timer(now);
        }
    }

    #[test]
    fn frames_leave_at_the_rate_of_the_link_and_the_probe_follows_the_last() {
        let mut burst = start(5_000, Some(2_500));
        let packets = send_all(&mut burst);
        let frame = Pace::new(BitsPerSec::gbps(10)).quote(Bytes::new(1078));
        let at = |frames: u64| Time::ZERO + frame * frames;
        let expected = [
            (at(0), UnscheduledPacket::Payload(0..1000)),
            (at(1), UnscheduledPacket::Payload(1000..2000)),
            (at(2), UnscheduledPacket::Payload(2000..2500)),
            (at(2), UnscheduledPacket::Probe(2500)),
        ];
        assert_eq!(packets, expected);
    }

    #[test]
    fn the_burst_ends_at_its_cap_or_when_it_is_stopped() {
        let mut capped = start(2 * 1078, None);
        assert_eq!(send_all(&mut capped).len(), 3, "two frames and the probe");
        let mut stopped = start(1 << 30, None);
        assert_eq!(stopped.poll(Time::ZERO), Some(UnscheduledPacket::Payload(0..1000)));
        stopped.stop();
        assert_eq!(send_all(&mut stopped), [(Time::ZERO, UnscheduledPacket::Probe(1000))]);
        let mut stopped_at_once = start(1 << 30, None);
        stopped_at_once.stop();
        assert_eq!(send_all(&mut stopped_at_once), [], "nothing was sent, so there is nothing to probe");
        let mut off = UnscheduledBurst::new(None, 1000, None);
        off.start(Time::ZERO);
        assert_eq!((send_all(&mut off), off.outstanding()), (vec![], 0));
    }

    #[test]
    fn lost_frames_are_taken_from_the_first_and_outstanding_ones_from_the_last() {
        let mut burst = start(1 << 30, Some(6_500));
        send_all(&mut burst);
        burst.on_acked(1000..2000);
        burst.on_acked(3000..4000);
        burst.on_later_arrival(4000);
        assert_eq!(burst.outstanding(), 5);
        assert_eq!([burst.take_lost(), burst.take_lost()], [Some(0..1000), Some(2000..3000)]);
        assert_eq!(burst.take_lost(), None, "later frames may still arrive");
        assert_eq!(burst.take_outstanding(), Some(6000..6500));
        burst.on_later_arrival(6_500);
        assert_eq!([burst.take_lost(), burst.take_lost()], [Some(4000..5000), Some(5000..6000)]);
        assert_eq!((burst.take_lost(), burst.take_outstanding(), burst.outstanding()), (None, None, 0));
        burst.go_back_to(2000);
        assert_eq!(burst.outstanding(), 4, "2000 and the last three, none of them acknowledged");
        assert_eq!([burst.take_lost(), burst.take_lost()], [Some(2000..3000), Some(4000..5000)]);
    }

    proptest! {
        #[test]
        fn every_frame_that_did_not_arrive_is_taken_exactly_once(
            size in 1u64..20_000,
            events in prop::collection::vec((0u8..5, 0u64..21), 0..80),
        ) {
            let mut burst = start(1 << 30, Some(size));
            send_all(&mut burst);
            let frames = size.div_ceil(1000) as usize;
            let (mut arrived, mut taken) = (vec![false; frames], vec![false; frames]);
            for (kind, number) in events {
                let frame = number as usize % frames;
                let packet = match kind {
                    0 => burst.take_lost(),
                    1 => burst.take_outstanding(),
                    2 => {
                        burst.on_later_arrival(number * 1000);
                        None
                    }
                    3 => {
                        // A part of a frame does not count.
                        burst.on_acked(number * 1000 + 1..number * 1000 + 1000);
                        None
                    }
                    _ => {
                        arrived[frame] = true;
                        burst.on_acked(frame as u64 * 1000..(frame as u64 + 1) * 1000);
                        None
                    }
                };
                if let Some(body) = packet {
                    let frame = (body.start / 1000) as usize;
                    prop_assert_eq!(body.end, size.min(body.start + 1000));
                    prop_assert!(!std::mem::replace(&mut taken[frame], true), "taken twice");
                    prop_assert!(!arrived[frame], "it had arrived");
                }
                let missing = (0..frames).filter(|&at| !arrived[at] && !taken[at]).count();
                prop_assert_eq!(burst.outstanding(), missing as u64);
            }
            while let Some(body) = burst.take_outstanding() {
                let frame = (body.start / 1000) as usize;
                prop_assert!(!std::mem::replace(&mut taken[frame], true) && !arrived[frame]);
            }
            prop_assert_eq!(burst.outstanding(), 0);
        }
    }

    #[test]
    fn a_frame_waits_for_the_previous_frame_even_if_that_was_late() {
        let mut burst = start(1 << 30, None);
        let late = Time::after_start(Span::from_us(7));
        assert!(burst.poll(late).is_some() && !burst.ready());
        let due = burst.wakeup().unwrap();
        assert!(due > late);
        burst.on_timer(due);
        assert!(burst.ready());
    }
}
