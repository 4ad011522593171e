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

    #[test]
    fn the_time_between_drops_shrinks_with_the_square_root_of_their_number() {
        let config = CoDelConfig::defaults(());
        for (count, us) in [(1, 100_000), (2, 70_711), (3, 57_735), (4, 50_000), (100, 10_000)] {
            let next = config.control_law(Time::ZERO, count).since_start();
            assert_eq!((next.as_ps() + 500_000) / 1_000_000, us, "count {count}");
        }
    }
}
