//! The growth of CUBIC as the kernel computes it: in whole segments and with a clock of a millisecond. It differs from
//! the curve of RFC 9438 where round trips are short: the growth is computed anew only when cwnd has changed or 32 ms
//! have passed, so that `W_est` runs ahead meanwhile, and cwnd then grows by up to half of itself per round trip.
//! Fields have the kernel's names. Units: segments; [`Time`], of which whole milliseconds count. Source: kernel:
//! `tcp_cubic.c`, `bictcp_update`, and `tcp_cong_avoid_ai`, with `HZ` 1000.

use shallop_core::{Span, Time};

/// Milliseconds for which the growth is not recomputed while cwnd does not change (`HZ / 32` at 1000 Hz).
const KEEP_MS: u64 = 31;
/// `BICTCP_HZ`: the curve's unit of time is 2^-10 s.
const UNITS_PER_SECOND: f64 = 1024.0;

/// Parameters of the cubic growth.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The constant C, in segments per cubic second.
    pub scale: f64,
    /// Fraction of cwnd that a reduction leaves.
    pub beta: f64,
    /// Whether cwnd is at least the cwnd that Reno would have.
    pub reno_friendly: bool,
}

impl Law {
    /// Inverse growth rate of the cwnd that Reno would have (kernel: `beta_scale`): it grows by a segment for each
    /// `cwnd * beta_scale / 8` acknowledged segments.
    fn beta_scale(&self) -> u64 {
        let whole = (8.0 * (1.0 + self.beta) / 3.0 / (1.0 - self.beta)) as u64;
        whole.max(1)
    }
}

/// Facts about an acknowledgement, in the units of the kernel's `bictcp_update`.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Arrival time of the acknowledgement.
    pub now: Time,
    /// Minimum RTT of the connection.
    pub min_rtt: Span,
    /// cwnd before the acknowledgement, in segments.
    pub cwnd: u64,
    /// cwnd at the last reduction, in segments; zero before the first.
    pub last_max: u64,
    /// Number of newly acknowledged segments.
    pub acked: u64,
}

/// State of CUBIC between two reductions (kernel: `struct bictcp`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Bictcp {
    /// Number of acknowledged segments for each of which cwnd grows by one segment.
    cnt: u64,
    last_cwnd: u64,
    last_time: u64,
    /// Start of the epoch in milliseconds; `None` after a reduction, until the next ACK.
    epoch_start: Option<u64>,
    origin_point: u64,
    /// Time from the start of the epoch until the curve reaches `last_max`, in 2^-10 s (kernel: `bic_K`).
    k: f64,
    tcp_cwnd: u64,
    ack_cnt: u64,
    snd_cwnd_cnt: u64,
}

/// Whole milliseconds of a time (kernel: `tcp_jiffies32` at 1000 Hz).
fn jiffies(now: Time) -> u64 {
    now.since_start().as_ps() / Span::from_ms(1).as_ps()
}

impl Bictcp {
    /// Ends the epoch. The next one begins with the next acknowledgement.
    pub fn end_epoch(&mut self) {
        (self.epoch_start, self.snd_cwnd_cnt) = (None, 0);
    }

    /// Shifts the start of the epoch by an idle period, which does not count as time on the curve.
    pub fn on_idle(&mut self, idle: Span) {
        let idle = idle.as_ps() / Span::from_ms(1).as_ps();
        self.epoch_start = self.epoch_start.map(|start| start + idle);
    }

    /// Returns cwnd after an acknowledgement, in segments.
    pub fn grow(&mut self, law: Law, step: &Step) -> u64 {
        self.update(law, step);
        self.additive_increase(step.cwnd, step.acked)
    }

    fn update(&mut self, law: Law, step: &Step) {
        let now = jiffies(step.now);
        self.ack_cnt += step.acked;
        if self.last_cwnd == step.cwnd && now.saturating_sub(self.last_time) <= KEEP_MS {
            return;
        }
        if self.epoch_start.is_none() || now != self.last_time {
            self.follow_curve(law, now, step);
        }
        if law.reno_friendly {
            self.keep_up_with_reno(law, step.cwnd);
        }
        self.cnt = self.cnt.max(2);
    }

    fn follow_curve(&mut self, law: Law, now: u64, step: &Step) {
        let &Step { cwnd, last_max, .. } = step;
        (self.last_cwnd, self.last_time) = (cwnd, now);
        let start = *self.epoch_start.get_or_insert_with(|| {
            (self.ack_cnt, self.tcp_cwnd) = (step.acked, cwnd);
            let above = last_max.saturating_sub(cwnd);
            self.k = (libm::cbrt(above as f64 / law.scale) * UNITS_PER_SECOND).floor();
            self.origin_point = cwnd.max(last_max);
            now
        });
        let ahead = step.min_rtt.as_ps().div_ceil(Span::from_ms(1).as_ps());
        let t = ((now.saturating_sub(start) + ahead) * UNITS_PER_SECOND as u64 / 1_000) as f64;
        let from_k = (t - self.k) / UNITS_PER_SECOND;
        let delta = (law.scale * from_k.abs() * from_k * from_k) as u64;
        let target = if t < self.k { self.origin_point.saturating_sub(delta) } else { self.origin_point + delta };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if last_max == 0 {
            self.cnt = self.cnt.min(20);
        }
    }

    fn keep_up_with_reno(&mut self, law: Law, cwnd: u64) {
        let per_segment = (cwnd * law.beta_scale()) >> 3;
        if per_segment > 0 && self.ack_cnt > per_segment {
            let segments = (self.ack_cnt - 1) / per_segment;
            self.ack_cnt -= segments * per_segment;
            self.tcp_cwnd += segments;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }

    /// Additive increase (kernel: `tcp_cong_avoid_ai`).
    fn additive_increase(&mut self, mut cwnd: u64, acked: u64) -> u64 {
        let every = self.cnt.max(1);
        if self.snd_cwnd_cnt >= every {
            self.snd_cwnd_cnt = 0;
            cwnd += 1;
        }
        self.snd_cwnd_cnt += acked;
        cwnd += self.snd_cwnd_cnt / every;
        self.snd_cwnd_cnt %= every;
        cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Law = Law { scale: 410.0 / 1024.0, beta: 717.0 / 1024.0, reno_friendly: true };
    const RTT: Span = Span::from_us(300);

    /// Facts for an acknowledgement of a full cwnd at `ms` milliseconds.
    fn step(ms: f64, min_rtt: Span, cwnd: u64, last_max: u64) -> Step {
        let now = Time::after_start(Span::from_us((ms * 1e3) as u64));
        Step { now, min_rtt, cwnd, last_max, acked: cwnd }
    }

    /// Computed by hand: the curve allows 58 segments, and no more for seconds. Reno's cwnd grows by one for each 58 x
    /// 15 / 8 = 108 acknowledged segments. In the 32 ms without an update, 106 round trips acknowledge 6,100 segments,
    /// so Reno's cwnd is then 56 larger than cwnd. cwnd grows by one for two acknowledged segments until it reaches
    /// Reno's.
    #[test]
    fn cwnd_is_constant_for_32_ms_and_then_grows_by_half_each_round_trip() {
        let (mut state, mut cwnd, mut ms) = (Bictcp::default(), 57, 10.0);
        let mut until = |end: f64| {
            while ms < end {
                cwnd = state.grow(LINUX, &step(ms, RTT, cwnd, 81));
                ms += 0.3;
            }
            cwnd
        };
        let [soon, later] = [until(12.0), until(40.0)];
        assert!(soon == later && later < 63, "{soon} {later}");
        assert!(until(46.0) > 100);
    }

    /// RFC 9438, 4.2: the curve reaches `W_max` after K. Round trips of 100 ms are long enough to follow the curve.
    #[test]
    fn after_k_cwnd_is_w_max() {
        let (mut state, mut cwnd) = (Bictcp::default(), 700);
        let k = libm::cbrt(300.0 / LINUX.scale);
        let mut seconds = 0.0;
        while seconds < k {
            cwnd = state.grow(LINUX, &step(seconds * 1e3, Span::from_ms(100), cwnd, 1_000));
            seconds += 0.1;
        }
        assert!((985..=1_001).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn before_the_first_loss_cwnd_grows_by_5_percent_per_round_trip() {
        let mut state = Bictcp::default();
        let first = state.grow(LINUX, &step(1.0, RTT, 100, 0));
        assert_eq!(first, 105);
    }
}
