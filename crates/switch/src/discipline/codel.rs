//! Controlled Delay (`CoDel`, RFC 8289): once the sojourn time of dequeued packets has been at least `target` for a
//! whole `interval`, packets are dropped or marked at dequeue, at times `interval / sqrt(count)` apart, until the
//! sojourn time falls below `target`. Variables have the names of the RFC's pseudocode (section 5).
//!
//! ECN and `ce_threshold` are as in Linux (`codel_impl.h`): an ECN-capable packet is marked where another would be
//! dropped, and the control law continues as if the packet had been dropped.
//!
//! `CoDel` need not see packets that find the link idle. The last packet of a queue leaves at most `maxpacket` behind
//! and so resets `first_above_time`; the next packet that is dequeued therefore ends the drop state in any case.

use super::backlog::{Backlog, Dropped, Stamped};
use super::{AqmConfig, AqmPort, LONGEST, ManagedQueue};
use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Span, Time};
use shallop_options::{Options, Problem, Section};

/// Number of intervals: a drop state that begins within this time after the last one resumes its drop rate.
const RESUME_WITHIN: u64 = 16;

/// Options of the discipline `codel` in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults, check)]
pub struct CoDelConfig {
    /// The acceptable standing delay of a queue: 5 to 10 % of `interval` (RFC 8289).
    #[key(Time(Span::from_ns(1), LONGEST), default = Span::from_ms(5))]
    pub target: Span,
    /// The time that senders are given to respond, of the order of the largest round-trip time (RFC 8289).
    #[key(Time(Span::from_ns(1), LONGEST), default = Span::from_ms(100))]
    pub interval: Span,
    /// Whether ECN-capable packets are marked where others are dropped.
    #[key(default = true)]
    pub ecn: bool,
    /// The time in the queue above which every ECN-capable packet is marked, in addition.
    #[key(Time(Span::ZERO, LONGEST), shown = "none")]
    pub ce_threshold: Option<Span>,
}

impl CoDelConfig {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let Self { target, interval, .. } = self;
        if target <= interval {
            return Ok(());
        }
        let key = if section.is_written(Self::KEY.target) { Self::KEY.target } else { Self::KEY.interval };
        let message = format!("the target, {target}, is above the interval, {interval}");
        Err(section.reject(key, message).with_help("a target of 5 to 10 % of the interval"))
    }

    /// Time of the next drop: `interval / sqrt(count)` after `time`.
    fn control_law(&self, time: Time, count: u32) -> Time {
        time.saturating_add(self.interval.scale(1.0 / libm::sqrt(f64::from(count))))
    }
}

impl AqmConfig for CoDelConfig {
    const IGNORES_IDLE_ARRIVALS: bool = true;

    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }

    fn marks_in_proportion(&self) -> bool {
        self.ce_threshold.is_some()
    }
}

/// State of the `CoDel` algorithm for one queue.
#[derive(Clone, Debug)]
pub(crate) struct CoDel {
    /// Size of the largest packet of the link, in bytes on the wire. A backlog up to this size is not a standing queue.
    maxpacket: Bytes,
    /// End of the first interval in which the sojourn time has stayed at or above `target`; `None` while it is below.
    first_above_time: Option<Time>,
    /// In the drop state: time at which the next packet is dropped or marked.
    drop_next: Time,
    /// Packets dropped or marked in this drop state, plus the start value if it resumed an earlier drop rate.
    count: u32,
    /// Value of `count` at the start of this drop state.
    lastcount: u32,
    /// Whether the algorithm is in the drop state.
    dropping: bool,
}

impl CoDel {
    pub const fn new(maxpacket: Bytes) -> Self {
        let (first_above_time, drop_next) = (None, Time::ZERO);
        Self { maxpacket, first_above_time, drop_next, count: 0, lastcount: 0, dropping: false }
    }

    /// Dequeues the next packet that is not dropped. Returns the packet and whether to mark it; calls `dropped` for
    /// each dropped packet.
    pub fn dequeue<C: Copy>(
        &mut self, config: &CoDelConfig, now: Time, backlog: &mut Backlog<C>, dropped: &mut impl FnMut(Envelope),
    ) -> Option<(Packet<C>, bool)> {
        let (mut head, mut ok_to_drop) = self.dodequeue(config, now, backlog);
        let mut marked = false;
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                marked = head.as_ref().is_some_and(|head| takes_mark(config, head));
                if !marked {
                    drop_head(head.take(), dropped);
                    (head, ok_to_drop) = self.dodequeue(config, now, backlog);
                    self.dropping = ok_to_drop;
                }
                if self.dropping {
                    self.drop_next = config.control_law(self.drop_next, self.count);
                }
                if marked {
                    break;
                }
            }
        } else if ok_to_drop {
            marked = head.as_ref().is_some_and(|head| takes_mark(config, head));
            if !marked {
                drop_head(head.take(), dropped);
                (head, _) = self.dodequeue(config, now, backlog);
            }
            self.enter_drop_state(config, now);
        }
        let head = head?;
        let above = config.ce_threshold.is_some_and(|threshold| head.sojourn(now) > threshold);
        Some((head.packet, (marked || above) && head.packet.envelope.ecn.is_ect()))
    }

    fn enter_drop_state(&mut self, config: &CoDelConfig, now: Time) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.lastcount);
        let recent = now < self.drop_next.saturating_add(config.interval * RESUME_WITHIN);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.lastcount = self.count;
        self.drop_next = config.control_law(now, self.count);
    }

    /// Dequeues the packet at the head. Also returns `ok_to_drop`: whether the sojourn time has been above `target` for
    /// an interval.
    fn dodequeue<C: Copy>(
        &mut self, config: &CoDelConfig, now: Time, backlog: &mut Backlog<C>,
    ) -> (Option<Stamped<C>>, bool) {
        let head = backlog.pop();
        let above = head.as_ref().is_some_and(|head| head.sojourn(now) >= config.target);
        if !above || backlog.bytes() <= self.maxpacket {
            self.first_above_time = None;
            return (head, false);
        }
        let since = *self.first_above_time.get_or_insert(now.saturating_add(config.interval));
        (head, now >= since)
    }
}

/// Whether to mark a packet instead of dropping it. A packet that already carries CE counts as marked.
fn takes_mark<C>(config: &CoDelConfig, head: &Stamped<C>) -> bool {
    config.ecn && head.packet.envelope.ecn != Ecn::NotEct
}

fn drop_head<C>(head: Option<Stamped<C>>, dropped: &mut impl FnMut(Envelope)) {
    if let Some(head) = head {
        dropped(head.packet.envelope);
    }
}

/// A FIFO whose packets `CoDel` drops or marks.
#[derive(Clone, Debug)]
pub(crate) struct CoDelQueue<C> {
    config: CoDelConfig,
    codel: CoDel,
    backlog: Backlog<C>,
}

impl<C: Copy> ManagedQueue<C> for CoDelQueue<C> {
    type Config = CoDelConfig;

    fn new(config: &CoDelConfig, port: &AqmPort) -> Self {
        Self { config: *config, codel: CoDel::new(port.mtu), backlog: Backlog::default() }
    }

    fn enqueue(&mut self, now: Time, packet: Packet<C>, _arrived: Ecn) {
        self.backlog.push(now, packet);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)> {
        let Self { config, codel, backlog } = self;
        let mut drop = |packet| dropped.push(Dropped { packet, cause: DropCause::Aqm });
        codel.dequeue(config, now, backlog, &mut drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Class, End};

    const MTU: Bytes = Bytes::new(1538);

    fn at(ms: u64) -> Time {
        Time::after_start(Span::from_ms(ms))
    }

    fn backlog(enqueued: Time, packets: usize, ecn: Ecn) -> Backlog<()> {
        let mut backlog = Backlog::default();
        let envelope = Envelope { end: End(1), size: 1538, class: Class::Data, ecn };
        (0..packets).for_each(|_| backlog.push(enqueued, Packet { envelope, cargo: () }));
        backlog
    }

    /// Test bench: a queue that is served once each millisecond.
    struct Run {
        codel: CoDel,
        config: CoDelConfig,
        backlog: Backlog<()>,
    }

    impl Run {
        /// A queue that holds enough packets never to run empty in the test.
        fn standing(ecn: Ecn) -> Self {
            let config = CoDelConfig::defaults(());
            Self { codel: CoDel::new(MTU), config, backlog: backlog(Time::ZERO, 10_000, ecn) }
        }

        /// Serves the queue at `ms`. Returns the number of drops, and whether the packet that leaves is marked.
        fn serve(&mut self, ms: u64) -> (usize, bool) {
            let (mut drops, Self { codel, config, backlog }) = (0, self);
            let left = codel.dequeue(config, at(ms), backlog, &mut |_| drops += 1);
            (drops, left.is_some_and(|(_, mark)| mark))
        }

        /// Serves the queue each millisecond of `ms`. Returns the times of drops in milliseconds.
        fn drops(&mut self, ms: std::ops::Range<u64>) -> Vec<u64> {
            ms.flat_map(|ms| vec![ms; self.serve(ms).0]).collect()
        }
    }

    /// Times of drops in milliseconds. The sojourn time exceeds 5 ms from 10 ms on: drop state at 110 ms. Further drops
    /// follow 100 ms / sqrt(1, 2, 3, ...) after each other: at 210, 280.71, 338.45, 388.45, 433.17, 473.99, 511.79,
    /// 547.14 ms.
    const DROPS: [u64; 9] = [110, 210, 281, 339, 389, 434, 474, 512, 548];

    #[test]
    fn drops_follow_the_control_law() {
        assert_eq!(Run::standing(Ecn::NotEct).drops(10..560), DROPS);
        let config = CoDelConfig::defaults(());
        for (count, us) in [(1, 100_000), (2, 70_711), (3, 57_735), (4, 50_000), (100, 10_000)] {
            let next = config.control_law(Time::ZERO, count).since_start();
            assert_eq!((next.as_ps() + 500_000) / 1_000_000, us, "count {count}");
        }
    }

    #[test]
    fn ecn_capable_packets_are_marked_at_the_same_times_and_none_is_dropped() {
        for ecn in [Ecn::Ect, Ecn::Ect1] {
            let mut run = Run::standing(ecn);
            let served: Vec<_> = (10..560).map(|ms| (ms, run.serve(ms))).collect();
            assert!(served.iter().all(|(_, (drops, _))| *drops == 0));
            let marks: Vec<u64> = served.iter().filter(|it| it.1.1).map(|it| it.0).collect();
            assert_eq!(marks, DROPS);
        }
        let mut without = Run::standing(Ecn::Ect);
        without.config.ecn = false;
        assert_eq!(without.drops(10..560), DROPS, "unless ECN is off");
        let mut marked = Run::standing(Ecn::Ce);
        assert!((10..560).all(|ms| marked.serve(ms) == (0, false)), "CE stays CE");
    }

    #[test]
    fn a_queue_that_is_short_for_a_moment_restarts_the_interval() {
        let mut run = Run::standing(Ecn::NotEct);
        assert_eq!(run.drops(10..109), [] as [u64; 0]);
        // A sojourn time of 4 ms is just below the target.
        run.backlog = backlog(at(105), 10, Ecn::NotEct);
        assert_eq!(run.serve(109), (0, false));
        run.backlog = backlog(at(105), 10_000, Ecn::NotEct);
        assert_eq!(run.drops(110..212), [210]);
    }

    #[test]
    fn a_backlog_of_one_packet_or_less_is_not_a_standing_queue() {
        for (left, drops) in [(1, 0), (2, 1)] {
            let mut run = Run::standing(Ecn::NotEct);
            run.drops(10..110);
            // One packet at the head, and `left` behind it.
            run.backlog = backlog(Time::ZERO, 1 + left, Ecn::NotEct);
            assert_eq!(run.serve(110).0, drops, "{left} left");
        }
    }

    #[test]
    fn all_overdue_drops_are_made_at_the_next_dequeue() {
        let mut run = Run::standing(Ecn::NotEct);
        assert_eq!(run.drops(10..111), [110]);
        // Due at 210, 280.7, 338.4 and 388.4 ms.
        assert_eq!(run.serve(400).0, 4);
        assert_eq!(run.drops(401..435), [434]);
    }

    #[test]
    fn the_drop_state_resumes_its_rate_within_sixteen_intervals() {
        // After nine drops count is 9 and lastcount 1. The next drop state resumes with count 8, so that drops follow
        // after 100 / sqrt(8) = 35.36 ms and 100 / sqrt(9) = 33.33 ms. Drop ten was due at 547.14 + 33.33 = 580.48 ms:
        // a drop state that begins 1600 ms or more after that time starts with count 1.
        for (gap, expected) in [(2_180, [36, 69]), (2_181, [100, 171])] {
            let mut run = Run::standing(Ecn::NotEct);
            run.drops(10..560);
            run.backlog = backlog(at(560), 10, Ecn::NotEct);
            assert_eq!(run.serve(560), (0, false), "out of the drop state");
            run.backlog = backlog(at(560), 10_000, Ecn::NotEct);
            // The drop state begins again at `gap`, an interval after the first long sojourn time.
            assert_eq!(run.drops(gap - 100..gap), [] as [u64; 0]);
            assert_eq!(run.serve(gap).0, 1);
            let drops = run.drops(gap + 1..gap + 180);
            assert_eq!(drops[..2], expected.map(|after| gap + after));
        }
    }

    #[test]
    fn every_ecn_capable_packet_above_ce_threshold_is_marked() {
        for (ecn, marks) in [(Ecn::Ect, 4), (Ecn::Ect1, 4), (Ecn::NotEct, 0), (Ecn::Ce, 0)] {
            let mut run = Run::standing(ecn);
            run.config.ce_threshold = Some(Span::from_ms(1));
            // The packet that has waited exactly 1 ms is not marked.
            assert_eq!((1..6).filter(|&ms| run.serve(ms).1).count(), marks, "{ecn:?}");
        }
    }

    #[test]
    fn an_empty_queue_ends_the_drop_state() {
        let mut run = Run::standing(Ecn::NotEct);
        run.drops(10..300);
        run.backlog = Backlog::default();
        assert_eq!(run.serve(300), (0, false));
        assert!(!run.codel.dropping && run.codel.first_above_time.is_none());
    }
}
