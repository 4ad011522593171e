//! The coupled dual-queue AQM `DualPI2` (RFC 9332, Appendix A). Packets with ECT(1) or CE join the L4S queue, which
//! marks above a shallow threshold of delay; the others join the Classic queue. A PI controller computes a base
//! probability p' that keeps the delay at `target`. Classic packets are marked or dropped with probability `p_C` =
//! p'^2; L4S packets are marked with the larger of `p_CL` = k p' and the probability of the L4S queue's own ramp. Names
//! and steps follow Figures 2 to 8 of the RFC, overload included. Units: seconds of delay, probabilities in [0, 1].
//!
//! Choices: delay is measured as the sojourn time. `Th_len` is compared with the packets that remain in the L4S queue,
//! as in Figure 7. A likelihood of 1 or more always signals and does not change the counter of `recur`, since the RFC's
//! text says that every packet is marked then. Both queues share the memory of the port, which is their limit. p' is
//! updated at multiples of `Tupdate` from the start of the run, before arrivals and departures at one instant.

use super::backlog::{Backlog, Dropped};
use super::{AqmConfig, AqmPort, LONGEST, ManagedQueue};
use crate::mark::Decision;
use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Span, Stream, Time};
use shallop_options::{Options, Problem, Section};

/// Options of the discipline `dualpi2` in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults, check)]
pub struct DualPi2Config {
    /// The delay that the PI controller keeps in the Classic queue.
    #[key(Time(Span::from_ns(1), LONGEST), default = Span::from_ms(15))]
    pub target: Span,
    /// The largest round-trip time that is expected (`RTT_max`), from which `tupdate`, `alpha` and `beta` follow.
    #[key(Time(Span::from_us(1), LONGEST), shown = "none: what follows is for 100 ms")]
    pub max_rtt: Option<Span>,
    /// The time between two updates of the PI controller.
    #[key(
        Time(Span::from_us(1), LONGEST),
        default = match max_rtt {
            Some(rtt) => update_interval(target, rtt),
            None => Span::from_ms(16),
        },
        shown = "\"16ms\"; with `max_rtt` a third of it, or `target` if that is less"
    )]
    pub tupdate: Span,
    /// The integral gain, in Hz: the increase of the base probability in each update, for each second of delay
    /// above `target`.
    #[key(
        Number(0.0, 1e9),
        default = match max_rtt {
            Some(rtt) => 0.1 * seconds(tupdate) / (seconds(rtt) * seconds(rtt)),
            None => 0.16,
        },
        shown = "0.16; with `max_rtt` 0.1 `tupdate` / `max_rtt`²"
    )]
    pub alpha: f64,
    /// The proportional gain, in Hz: the increase of the base probability in each update, for each second by which
    /// the delay has grown since the update before.
    #[key(
        Number(0.0, 1e9),
        default = match max_rtt {
            Some(rtt) => 0.3 / seconds(rtt),
            None => 3.2,
        },
        shown = "3.2; with `max_rtt` 0.3 / `max_rtt`"
    )]
    pub beta: f64,
    /// The coupling factor k: L4S packets are marked with k times the base probability, Classic packets are marked
    /// or dropped with its square.
    #[key(Above(0.0, 1_000.0), default = 2.0)]
    pub coupling_factor: f64,
    /// The delay of the L4S queue above which L4S packets are marked (`minTh`).
    #[key(Time(Span::ZERO, LONGEST), default = Span::from_us(800))]
    pub step_thresh: Span,
    /// The further delay of the L4S queue over which its marking probability rises from 0 to 1 (`range`); `"0s"` for a
    /// step, as in Linux.
    #[key(Time(Span::ZERO, LONGEST), default = Span::from_us(400))]
    pub ramp: Span,
    /// L4S packets are marked for the delay of their queue only while more packets than this remain in it (`Th_len`).
    #[key(Integer(0, 1_000_000), default = 1)]
    pub min_qlen_step: u32,
    /// The weight of the Classic queue while both queues have packets.
    #[key(Integer(1, 1_000), default = 1)]
    pub classic_weight: u32,
    /// The weight of the L4S queue.
    #[key(Integer(1, 1_000), default = 15)]
    pub l4s_weight: u32,
    /// A time-shifted FIFO in place of the weights: the queue whose head has waited longer is served, with this
    /// time added to the wait of the L4S queue.
    #[key(Time(Span::ZERO, LONGEST), shown = "none: the weights hold")]
    pub time_shift: Option<Span>,
    /// Whether marks and drops are drawn at random, as in Linux, in place of the even spacing of the RFC.
    #[key(default = false)]
    pub random: bool,
}

const fn seconds(span: Span) -> f64 {
    span.as_ps() as f64 / 1e12
}

/// Default of `Tupdate` (Figure 2, line 12): a third of `max_rtt`, at most `target`.
const fn update_interval(target: Span, max_rtt: Span) -> Span {
    let (third, target, shortest) = (max_rtt.as_ps() / 3, target.as_ps(), SHORTEST_UPDATE.as_ps());
    let least = if third < target { third } else { target };
    Span::from_ps(if least < shortest { shortest } else { least })
}

/// Lower bound of `Tupdate`: shorter ones would cost more computing time than the packets do.
const SHORTEST_UPDATE: Span = Span::from_us(1);

impl AqmConfig for DualPi2Config {}

impl DualPi2Config {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let mut weights = [Self::KEY.classic_weight, Self::KEY.l4s_weight].into_iter();
        let written = weights.find(|key| self.time_shift.is_some() && section.is_written(*key));
        let Some(key) = written else { return Ok(()) };
        Err(section.reject(key, "a time-shifted FIFO has no weights").with_help("leave it out"))
    }

    /// Marking probability of the L4S queue for its own delay (`laqm`, Figure 5), not coupled to the Classic queue.
    fn native(&self, delay: Span) -> f64 {
        if delay >= self.step_thresh + self.ramp {
            1.0
        } else if delay > self.step_thresh {
            (delay - self.step_thresh).ratio(self.ramp)
        } else {
            0.0
        }
    }

    /// Probability of Classic packets from which on the queue is overloaded (`p_Cmax`).
    fn overload(&self) -> f64 {
        (1.0 / (self.coupling_factor * self.coupling_factor)).min(1.0)
    }
}

/// One of the two queues: L4S or Classic.
#[derive(Clone, Debug)]
struct Side<C> {
    backlog: Backlog<C>,
    /// Sum of likelihoods since the last mark or drop (`count` of `recur`).
    count: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct DualPi2<C> {
    config: DualPi2Config,
    /// Size of the largest packet of the link, in bytes on the wire.
    mtu: Bytes,
    /// Stream for random marks and drops; `None` for the even spacing of `recur`.
    draws: Option<Stream>,
    l4s: Side<C>,
    classic: Side<C>,
    /// Base probability p' of the PI controller.
    base: f64,
    /// Delay of the Classic queue at the last update of p', in seconds.
    previous_delay: f64,
    next_update: Time,
    /// Deficit counter of weighted round robin, in bytes times weight: the Classic queue is served while it is
    /// positive.
    credit: i64,
}

impl<C: Copy> ManagedQueue<C> for DualPi2<C> {
    type Config = DualPi2Config;

    fn new(config: &DualPi2Config, port: &AqmPort) -> Self {
        let side = || Side { backlog: Backlog::default(), count: 0.0 };
        let mut queue = Self {
            config: *config,
            mtu: port.mtu,
            draws: config.random.then(|| port.stream.clone()),
            l4s: side(),
            classic: side(),
            base: 0.0,
            previous_delay: 0.0,
            next_update: Time::after_start(config.tupdate),
            credit: 0,
        };
        queue.reset_credit();
        queue
    }

    fn enqueue(&mut self, now: Time, packet: Packet<C>, arrived: Ecn) {
        self.update(now);
        let side = if arrived.is_l4s() { &mut self.l4s } else { &mut self.classic };
        side.backlog.push(now, packet);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)> {
        self.update(now);
        loop {
            let l4s = self.serves_l4s(now);
            let decision;
            let head = if l4s {
                let head = self.l4s.backlog.pop()?;
                decision = self.decide_l4s(head.sojourn(now));
                head
            } else {
                let head = self.classic.backlog.pop()?;
                decision = self.decide_classic(head.packet.envelope.ecn);
                head
            };
            let packet = head.packet;
            if let Decision::Drop(cause) = decision {
                dropped.push(Dropped { packet: packet.envelope, cause });
                continue;
            }
            self.spend(l4s, packet.envelope.bytes());
            return Some((packet, decision == Decision::Mark && packet.envelope.ecn.is_ect()));
        }
    }

    /// Decides about a packet that finds both queues empty and the link idle. It may be marked or dropped with the
    /// coupled probabilities.
    fn on_idle_arrival(&mut self, now: Time, packet: Envelope) -> Decision {
        self.update(now);
        self.reset_credit();
        let decision = if packet.ecn.is_l4s() { self.decide_l4s(Span::ZERO) } else { self.decide_classic(packet.ecn) };
        if decision == Decision::Mark && !packet.ecn.is_ect() { Decision::Pass } else { decision }
    }
}

impl<C: Copy> DualPi2<C> {
    /// Sets the credit of weighted round robin after an idle time as if each queue had sent one packet, which favours
    /// L4S.
    fn reset_credit(&mut self) {
        let DualPi2Config { classic_weight, l4s_weight, .. } = self.config;
        self.credit = self.mtu.get().cast_signed() * (i64::from(classic_weight) - i64::from(l4s_weight));
    }

    /// Whether the L4S queue is served next (`scheduler`).
    fn serves_l4s(&self, now: Time) -> bool {
        let (l4s, classic) = (&self.l4s.backlog, &self.classic.backlog);
        if l4s.is_empty() || classic.is_empty() {
            return !l4s.is_empty();
        }
        match self.config.time_shift {
            None => self.credit <= 0,
            Some(shift) => l4s.delay(now) + shift >= classic.delay(now),
        }
    }

    /// Charges a queue for `size` bytes that it sends while the other queue has packets.
    fn spend(&mut self, l4s: bool, size: Bytes) {
        let DualPi2Config { classic_weight, l4s_weight, .. } = self.config;
        let size = size.get().cast_signed();
        if l4s && !self.classic.backlog.is_empty() {
            self.credit += size * i64::from(classic_weight);
        } else if !l4s && !self.l4s.backlog.is_empty() {
            self.credit -= size * i64::from(l4s_weight);
        }
    }

    /// Decides about an L4S packet with this sojourn time (Figure 7, lines 4b to 8j).
    fn decide_l4s(&mut self, delay: Span) -> Decision {
        let coupled = self.config.coupling_factor * self.base;
        if coupled >= 1.0 {
            // Overload: packets are dropped with the Classic probability, and marked otherwise.
            let dropped = self.recur(true, self.base * self.base);
            return if dropped { Decision::Drop(DropCause::Aqm) } else { Decision::Mark };
        }
        let backlogged = self.l4s.backlog.len() > self.config.min_qlen_step as usize;
        let native = if backlogged { self.config.native(delay) } else { 0.0 };
        if self.recur(true, native.max(coupled)) { Decision::Mark } else { Decision::Pass }
    }

    /// Decides about a Classic packet at dequeue (Figure 7, lines 11 to 17).
    fn decide_classic(&mut self, ecn: Ecn) -> Decision {
        let probability = self.base * self.base;
        if !self.recur(false, probability) {
            return Decision::Pass;
        }
        let drops = !ecn.is_capable() || probability >= self.config.overload();
        if drops { Decision::Drop(DropCause::Aqm) } else { Decision::Mark }
    }

    /// Decides whether to mark or drop a packet of this likelihood (Figure 4, lines 23 to 30).
    fn recur(&mut self, l4s: bool, likelihood: f64) -> bool {
        if likelihood >= 1.0 {
            return true;
        }
        if let Some(draws) = &mut self.draws {
            return draws.chance(likelihood);
        }
        let count = if l4s { &mut self.l4s.count } else { &mut self.classic.count };
        *count += likelihood;
        let signals = *count > 1.0;
        if signals {
            *count -= 1.0;
        }
        signals
    }

    /// Performs the updates of p' that are due by `now` (Figure 8). Called before every arrival and departure, so the
    /// queues have not changed since the first of these updates was due.
    fn update(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            let delay = self.classic.backlog.delay(at).max(self.l4s.backlog.delay(at));
            let (delay, previous) = (delay.as_secs_f64(), self.previous_delay);
            let DualPi2Config { target, alpha, beta, tupdate, .. } = self.config;
            let change = alpha * (delay - target.as_secs_f64()) + beta * (delay - previous);
            let base = (self.base + change).clamp(0.0, 1.0);
            // The queues are empty and p' is constant, so the updates until the next arrival change nothing.
            let unchanged = base.to_bits() == self.base.to_bits();
            let settled = delay == 0.0 && previous == 0.0 && unchanged;
            (self.base, self.previous_delay) = (base, delay);
            let skipped = if settled { (now - at).as_ps() / tupdate.as_ps() } else { 0 };
            self.next_update = at.saturating_add(tupdate * (skipped + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Class, End, Seed};

    const MTU: Bytes = Bytes::new(1538);

    fn at(ms: u64) -> Time {
        Time::after_start(Span::from_ms(ms))
    }

    fn packet(ecn: Ecn, cargo: u32) -> Packet<u32> {
        let envelope = Envelope { end: End(1), size: 1538, class: Class::Data, ecn };
        Packet { envelope, cargo }
    }

    const DEFAULT: DualPi2Config = DualPi2Config::defaults(());

    fn queues(config: DualPi2Config) -> DualPi2<u32> {
        DualPi2::new(&config, &AqmPort { mtu: MTU, stream: Seed::new(1).stream("aqm", 0) })
    }

    /// A `DualPI2` whose base probability p' stays at `base`.
    fn with_base(base: f64) -> DualPi2<u32> {
        DualPi2 { base, next_update: Time::LAST, ..queues(DEFAULT) }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }

    #[test]
    fn the_base_probability_follows_the_delay_of_the_head_as_in_figure_8() {
        // alpha 0.16, beta 3.2, target 15 ms. By hand: 0.16 (10 - 15) ms + 3.2 (10 - 0) ms = 0.0312, then
        // + 0.16 (20 - 15) ms + 3.2 (20 - 10) ms = 0.064, then + 0 + 3.2 (15 - 20) ms = 0.048, then
        // + 0.16 (0 - 15) ms + 3.2 (0 - 15) ms = -0.0024, which is bounded to 0.
        let mut dual = queues(DEFAULT);
        for (update, delay, expected) in [(1, 10, 0.0312), (2, 20, 0.064), (3, 15, 0.048), (4, 0, 0.0)] {
            let now = at(16 * update);
            dual.classic.backlog = Backlog::default();
            if delay > 0 {
                dual.classic.backlog.push(at(16 * update - delay), packet(Ecn::NotEct, 0));
            }
            dual.update(now);
            close(dual.base, expected);
            assert_eq!(dual.next_update, at(16 * (update + 1)));
        }
    }

    #[test]
    fn the_base_probability_follows_the_longer_delay_of_the_two_queues() {
        let mut dual = queues(DEFAULT);
        dual.classic.backlog.push(at(14), packet(Ecn::NotEct, 0));
        dual.l4s.backlog.push(at(6), packet(Ecn::Ect1, 0));
        dual.update(at(16));
        close(dual.base, 0.0312);
    }

    #[test]
    fn an_idle_queue_skips_the_updates_that_change_nothing() {
        let mut dual = DualPi2 { base: 0.01, ..queues(DEFAULT) };
        // 0.16 * 15 ms = 0.0024 less each time: 0.0076, 0.0052, ...
        dual.update(at(32));
        close(dual.base, 0.0052);
        dual.update(at(16 * 1_000_000 + 5));
        close(dual.base, 0.0);
        assert_eq!(dual.next_update, at(16 * 1_000_001));
    }

    #[test]
    fn recur_signals_at_the_rate_of_the_likelihood_and_not_before() {
        let mut dual = with_base(0.0);
        let struck: Vec<u32> = (1..=16).filter(|_| dual.recur(true, 0.25)).collect();
        // 0.25, 0.5, 0.75, 1, 1.25: the fifth is the first above 1.
        assert_eq!(struck, [5, 9, 13]);
        assert!((0..5).all(|_| dual.recur(true, 1.0)) && !dual.recur(true, 0.0));
    }

    #[test]
    fn classic_packets_see_the_square_of_p_and_l4s_packets_k_times_p() {
        // p' = 3/16: p_C = 9/256, whose sum first exceeds 1 at the 29th packet (261/256); p_CL = 3/8, at the third
        // (9/8). Of 10,240 packets 360 and 3,840.
        let mut dual = with_base(0.1875);
        let count = 10_240;
        let decisions =
            |dual: &mut DualPi2<u32>, ecn| -> Vec<Decision> { (0..count).map(|_| dual.decide_classic(ecn)).collect() };
        let struck = |decisions: &[Decision], decision| decisions.iter().filter(|&&other| other == decision).count();
        let drop = Decision::Drop(DropCause::Aqm);
        let not_ect = decisions(&mut dual, Ecn::NotEct);
        assert_eq!(not_ect.iter().position(|&decision| decision == drop), Some(28));
        assert!(struck(&not_ect, drop).abs_diff(360) <= 1);
        let ect = decisions(&mut dual, Ecn::Ect);
        assert!(struck(&ect, Decision::Mark).abs_diff(360) <= 1 && struck(&ect, drop) == 0);
        let l4s: Vec<_> = (0..count).map(|_| dual.decide_l4s(Span::ZERO)).collect();
        assert!(struck(&l4s, Decision::Mark).abs_diff(3_840) <= 1);
        assert_eq!(l4s[..3], [Decision::Pass, Decision::Pass, Decision::Mark]);
    }

    #[test]
    fn in_overload_both_queues_drop_even_ecn_capable_packets() {
        // p' = 1/k: p_C = p_Cmax = 1/4, p_CL = 1.
        let mut dual = with_base(0.5);
        let drop = Decision::Drop(DropCause::Aqm);
        let l4s: Vec<_> = (0..9).map(|_| dual.decide_l4s(Span::ZERO)).collect();
        let mut expected = [Decision::Mark; 9];
        (expected[4], expected[8]) = (drop, drop);
        assert_eq!(l4s, expected, "packets that are not dropped are marked");
        let classic: Vec<_> = (0..9).map(|_| dual.decide_classic(Ecn::Ect)).collect();
        let expected = expected.map(|it| if it == drop { drop } else { Decision::Pass });
        assert_eq!(classic, expected, "ECN-capable packets are dropped, too");
    }

    #[test]
    fn the_l4s_queue_marks_by_a_ramp_or_a_step() {
        let ramp = DEFAULT;
        for (us, expected) in [(0, 0.0), (800, 0.0), (900, 0.25), (1_000, 0.5), (1_200, 1.0)] {
            close(ramp.native(Span::from_us(us)), expected);
        }
        let step = DualPi2Config { ramp: Span::ZERO, ..ramp };
        for (us, expected) in [(0, 0.0), (799, 0.0), (800, 1.0), (2_000, 1.0)] {
            close(step.native(Span::from_us(us)), expected);
        }
    }

    #[test]
    fn the_coupled_probabilities_apply_to_packets_that_find_the_link_idle() {
        let mut dual = with_base(0.25);
        let on = |dual: &mut DualPi2<u32>, ecn, count: u32| -> Vec<u32> {
            let strikes = |_: &u32| dual.on_idle_arrival(at(0), packet(ecn, 0).envelope) != Decision::Pass;
            (1..=count).filter(strikes).collect()
        };
        // p_CL = 0.5 sums to 1.5 at packet 3, then exceeds 1 at every second one; p_C = 1/16 exceeds 1 at packet 17.
        assert_eq!(on(&mut dual, Ecn::Ect1, 8), [3, 5, 7]);
        assert_eq!(on(&mut dual, Ecn::NotEct, 33), [17, 33]);
        assert_eq!(on(&mut dual, Ecn::Ce, 8), [] as [u32; 0], "CE packets are marked already");
    }
}
