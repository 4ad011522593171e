//! Vegas: cwnd changes by at most one packet per round trip, so that `alpha` to `beta` packets of the flow are queued
//! at the bottleneck. State: `base_rtt`, the minimum RTT of the connection, taken for the RTT without queueing;
//! `min_rtt`, the minimum of the current round trip, and its number of samples. In congestion avoidance cwnd changes
//! once per round trip; in slow start it grows with every ACK. Losses and ECN-Echo get Reno's response; Vegas is
//! inactive during recovery and discards its samples. Units: packets; RTTs in ticks of the configured clock. Source:
//! the kernel's `tcp_vegas.c`, after Brakmo and Peterson, 1995.

use crate::loss;
use crate::options::{ControllerName, Marking, Parameters};
use crate::reno::{self, Reno, windows_of_reno};
use crate::window::{Ack, Loss, Start, Undo, Window};
use shallop_core::{Bytes, Span, Time};
use shallop_options::{HostStack, Options, Problem, Section, string_enum};

/// Number of RTT samples in a round trip up to which all may include the delay of a delayed ACK, so that Reno's growth
/// applies (`tcp_vegas_cong_avoid`: `cntRTT <= 2`).
const MAX_DELAYED_SAMPLES: u32 = 2;
/// Minimum cwnd that Vegas sets, in packets.
const MIN_CWND: u64 = 2;

/// Resolution of RTT samples, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Exact RTTs: one tick is a picosecond.
    Exact,
    /// RTTs in whole microseconds, rounded down, plus one (kernel: `tcp_vegas_pkts_acked`).
    Microseconds,
}

impl Clock {
    /// An RTT in ticks, at least one.
    fn ticks(self, rtt: Span) -> u64 {
        match self {
            Self::Exact => rtt.as_ps().max(1),
            Self::Microseconds => rtt.as_ps() / Span::from_us(1).as_ps() + 1,
        }
    }
}

string_enum! { Clock { Exact = "exact", Microseconds = "microseconds" } }

/// Parameters of Vegas.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults, check)]
pub struct Config {
    /// Slow start and the response to losses.
    #[part(
        match stack {
            // ns-3 derives `TcpVegas` from `TcpNewReno`.
            HostStack::Ns3 => loss::Config::RFC,
            _ => loss::Config::reno(stack),
        }
    )]
    pub loss: loss::Config,
    /// The congestion window grows if fewer packets of the flow than this are queued (Linux, ns-3; the agent of
    /// ns-2 has 1).
    #[key(Integer(0, 1_000_000), default = 2)]
    pub alpha: u32,
    /// The congestion window shrinks if more packets of the flow than this are queued (Linux, ns-3; the agent of
    /// ns-2 has 3).
    #[key(Integer(0, 1_000_000), default = 4)]
    pub beta: u32,
    /// Slow start ends if more packets of the flow than this are queued.
    #[key(Integer(0, 1_000_000), default = 1)]
    pub gamma: u32,
    /// How round-trip times are measured: exactly, or in whole microseconds plus one as in Linux.
    #[key(
        default = match stack {
            HostStack::Ns2 | HostStack::Ns3 => Clock::Exact,
            _ => Clock::Microseconds,
        }
    )]
    pub clock: Clock,
    /// Whether packets leave evenly spaced: at two congestion windows per round-trip time in slow start, and at 1.2
    /// afterwards (Linux: `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    #[key(default = stack.paces())]
    pub pacing: bool,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "vegas",
        about: "its own queueing delay: 2 to 4 packets a flow",
        marking: Marking::Off,
    }];

    fn initial_threshold(&self) -> Option<Bytes> {
        self.loss.slow_start.initial_threshold
    }
}

impl Config {
    /// Vegas of Linux on a host without segmentation offload.
    pub const LINUX_IDEAL: Self = Self::defaults(HostStack::LinuxIdeal);
    /// Vegas of ns-3: exact times, and Reno of RFC 5681.
    pub const EXACT: Self = Self::defaults(HostStack::Ns3);

    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let Self { alpha, beta, .. } = self;
        if alpha <= beta {
            return Ok(());
        }
        let key = if section.is_written(Self::KEY.alpha) { Self::KEY.alpha } else { Self::KEY.beta };
        let message = format!("it grows below {alpha} packets and shrinks above {beta}");
        Err(section.reject(key, message).with_help("alpha must not be above beta"))
    }
}

/// Number of packets of a cwnd that are queued (`diff`), rounded down. `rtt` is the RTT, and `base_rtt` the RTT without
/// queueing, in ticks.
pub fn diff(cwnd: u64, base_rtt: u64, rtt: u64) -> u64 {
    let diff = u128::from(cwnd) * u128::from(rtt.saturating_sub(base_rtt)) / u128::from(base_rtt.max(1));
    u64::try_from(diff).unwrap_or(u64::MAX)
}

/// Vegas congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: Reno,
    mss: Bytes,
    alpha: u64,
    beta: u64,
    gamma: u64,
    clock: Clock,
    /// Minimum RTT of the connection in ticks; `u64::MAX` before the first sample.
    base_rtt: u64,
    /// Minimum RTT of the current round trip in ticks.
    min_rtt: u64,
    /// RTT samples in the current round trip (kernel: `cntRTT`).
    cnt_rtt: u32,
    /// SND.NXT when the current round trip began, which ends when SND.UNA passes it (kernel: `beg_snd_nxt`).
    beg_snd_nxt: u64,
    /// Whether the next ACK discards the RTT samples and begins a round trip (kernel: `tcp_vegas_enable`).
    restart_sampling: bool,
    /// SND.NXT at the last RTO: Vegas is inactive until SND.UNA reaches it.
    rto_recovery_point: u64,
}

impl Vegas {
    /// Vegas for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        Self {
            reno: Reno::new(&reno::Config { loss: config.loss, pacing: config.pacing }, start),
            mss: start.mss,
            alpha: config.alpha.into(),
            beta: config.beta.into(),
            gamma: config.gamma.into(),
            clock: config.clock,
            base_rtt: u64::MAX,
            min_rtt: u64::MAX,
            cnt_rtt: 0,
            beg_snd_nxt: 0,
            restart_sampling: false,
            rto_recovery_point: 0,
        }
    }

    /// cwnd in packets.
    fn cwnd(&self) -> u64 {
        self.reno.window().get() / self.mss.get()
    }

    fn sample(&mut self, rtt: Span) {
        let rtt = self.clock.ticks(rtt);
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.cnt_rtt += 1;
    }

    /// Begins a round trip that ends when SND.UNA passes `snd_nxt`.
    fn begin_round(&mut self, snd_nxt: u64) {
        (self.beg_snd_nxt, self.min_rtt, self.cnt_rtt) = (snd_nxt, u64::MAX, 0);
        self.restart_sampling = false;
    }

    /// Discards all RTT samples, since the path may have changed in an idle period or before an RTO.
    fn discard_samples(&mut self) {
        (self.base_rtt, self.restart_sampling) = (u64::MAX, true);
    }

    fn in_slow_start(&self) -> bool {
        self.reno.window() < self.reno.slow_start_threshold()
    }

    /// Sets cwnd at the end of a round trip.
    fn update_cwnd(&mut self, ack: &Ack) {
        let cwnd = self.cwnd();
        let diff = diff(cwnd, self.base_rtt, self.min_rtt);
        let slow_start = self.in_slow_start();
        if slow_start && diff <= self.gamma {
            return self.reno.grow(ack);
        }
        let new = if slow_start {
            let target = u128::from(cwnd) * u128::from(self.base_rtt) / u128::from(self.min_rtt);
            cwnd.min(target as u64 + 1)
        } else if diff > self.beta {
            cwnd.saturating_sub(1)
        } else if diff < self.alpha && ack.is_cwnd_limited {
            cwnd + 1
        } else {
            cwnd
        };
        self.set_cwnd(new.max(MIN_CWND));
    }

    /// Sets cwnd to `packets`. ssthresh becomes at most cwnd and at least three quarters of cwnd (kernel:
    /// `tcp_vegas_ssthresh`, `tcp_current_ssthresh`).
    fn set_cwnd(&mut self, packets: u64) {
        let cwnd = self.mss * packets;
        let ssthresh = self.reno.slow_start_threshold().min(cwnd);
        let min_ssthresh = self.mss * ((packets >> 1) + (packets >> 2));
        self.reno.set(cwnd, ssthresh.max(min_ssthresh));
    }
}

impl Window for Vegas {
    fn on_ack(&mut self, ack: &Ack) {
        self.reno.update_pacing(ack);
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if ack.snd_una < self.rto_recovery_point {
            self.reno.grow(ack);
        } else if ack.in_cwnd_reduction || ack.marked > Bytes::ZERO {
            self.restart_sampling = true;
        } else {
            if self.restart_sampling {
                self.begin_round(ack.snd_nxt);
            }
            if ack.snd_una > self.beg_snd_nxt {
                if self.cnt_rtt > MAX_DELAYED_SAMPLES {
                    self.update_cwnd(ack);
                } else {
                    self.reno.grow(ack);
                }
                self.begin_round(ack.snd_nxt);
            } else if self.in_slow_start() {
                self.reno.grow(ack);
            }
        }
        if ack.in_flight == Bytes::ZERO {
            // Transmission restarts with nothing in flight: the path may have changed, and the restart begins a round
            // trip (kernel: `tcp_vegas_cwnd_event`, `CA_EVENT_TX_START`). The round trip must not begin with the next
            // ACK: with a cwnd of two, every ACK would begin a round trip, and no round trip would end.
            self.base_rtt = u64::MAX;
            self.begin_round(ack.snd_nxt);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
        self.restart_sampling = true;
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.reno.on_rto(loss, first);
        self.rto_recovery_point = loss.snd_nxt;
        self.discard_samples();
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.reno.on_mark(mark);
        self.restart_sampling = true;
    }

    fn on_idle(&mut self, idle: Span) {
        self.reno.on_idle(idle);
        self.discard_samples();
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.restart_sampling = true;
    }

    /// Restores cwnd after a spurious reduction. Vegas is active again from the next round on (kernel:
    /// `tcp_vegas_state`, back in `TCP_CA_Open`).
    fn on_undo(&mut self, undo: &Undo) {
        self.reno.on_undo(undo);
        (self.rto_recovery_point, self.restart_sampling) = (0, true);
    }

    windows_of_reno!();
}
