//! Samples of the states of TCP connections (`TCP_INFO`).

use crate::options;
use nix::sys::socket::getsockopt;
use shallop_core::Span;
use shallop_hosts::TcpInfo;
use shallop_measure::{flow_trace::FlowTrace, series::Quantity};
use std::{os::fd::AsFd, time::Duration};

/// The largest possible window (2^30 bytes; RFC 7323, 2.3) in segments of the smallest MSS of Linux (536 bytes).
const MOST_SEGMENTS: f64 = (1_u64 << 21) as f64;

/// The samples of all connections; `None` if none are taken.
#[derive(Debug, Default)]
pub(crate) struct TcpInfoLog(pub(crate) Option<FlowTrace>);

impl TcpInfoLog {
    /// The time until the next sample.
    pub(crate) fn wait(&self, now: Duration) -> Option<Duration> {
        let due = self.0.as_ref()?.due().as_ps() / 1_000;
        Some(Duration::from_nanos(due).saturating_sub(now))
    }

    /// Samples all connections, each with the number of its flow, if it is time to. Closed connections have no state.
    /// Round trips are `stretch` times longer than in the network, and rates as much lower.
    pub(crate) fn sample<'s, S: AsFd + 's>(
        &mut self, now: Duration, connections: impl Iterator<Item = (u32, &'s S)>, stretch: u32,
    ) {
        let now = Span::from_ns(now.as_nanos() as u64);
        let Some(trace) = self.0.as_mut().filter(|trace| trace.due() <= now) else { return };
        for (flow, socket) in connections {
            let Ok(state) = getsockopt(socket, options::TcpInfo) else { continue };
            let info = TcpInfo {
                cwnd: state.snd_cwnd,
                ssthresh: state.snd_ssthresh,
                rtt_us: state.rtt / stretch.max(1),
                pacing: state.pacing_rate.saturating_mul(stretch.into()),
                delivered: state.delivered,
                ca_state: state.ca_state,
            };
            trace.add(now, flow, &info.flow_state());
        }
        trace.finish(now);
    }

    /// The reason why the kernel's figures cannot be trusted, if there is one.
    pub(crate) fn distrust(&self) -> Option<String> {
        self.impossible_window().map(|segments| {
            format!(
                "a connection had a window of {segments:.0} segments, more than TCP allows: the kernel's figures \
                 cannot be trusted"
            )
        })
    }

    /// The largest congestion window in segments, if it is larger than TCP allows.
    fn impossible_window(&self) -> Option<f64> {
        let values = self.0.iter().flat_map(FlowTrace::values);
        let windows = values.filter(|of| of.quantity == Quantity::Cwnd);
        let largest = windows.map(|of| of.value).fold(0.0, f64::max);
        (largest > MOST_SEGMENTS).then_some(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_a_billion_segments_is_impossible() {
        let mut trace = FlowTrace::new(Span::from_ms(10));
        for (cwnd, impossible) in [(2_000_000, None), (1_800_000_000, Some(1.8e9))] {
            let info = TcpInfo { cwnd, ..TcpInfo::default() };
            trace.add(Span::ZERO, 0, &info.flow_state());
            assert_eq!(TcpInfoLog(Some(trace.clone())).impossible_window(), impossible);
        }
    }
}
