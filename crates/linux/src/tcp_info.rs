//! Samples of the congestion window and the round-trip time of TCP connections (`TCP_INFO`).

use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use shallop_core::Span;
use shallop_measure::series::{FlowSample, Quantity};

use crate::options::TcpInfo;

/// The most samples that are kept. Beyond them every second time is dropped, and the interval doubles.
const MOST: usize = 1 << 20;

/// The largest possible window (2^30 bytes; RFC 7323, 2.3) in segments of the smallest MSS of Linux (536 bytes).
const MOST_SEGMENTS: f64 = (1_u64 << 21) as f64;

/// The samples of all connections.
#[derive(Debug, Default)]
pub(crate) struct TcpInfoLog {
    /// Samples of windows and round-trip times, in order of time.
    pub(crate) values: Vec<FlowSample>,
    interval: Duration,
    next: Duration,
}

impl TcpInfoLog {
    /// Creates a log with this interval of samples; zero for none.
    pub(crate) fn every(interval: Duration) -> Self {
        Self { interval, next: interval, ..Self::default() }
    }

    /// Whether it is time for a sample.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        !self.interval.is_zero() && now >= self.next
    }

    /// Ends the samples of all connections at this time, and schedules the next ones.
    pub(crate) fn finish(&mut self, now: Duration) {
        if self.values.len() > MOST {
            let times = self.values.chunk_by(|a, b| a.at == b.at);
            self.values = times.skip(1).step_by(2).flatten().copied().collect();
            self.interval *= 2;
        }
        while self.next <= now {
            self.next += self.interval;
        }
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
        let windows = self.values.iter().filter(|of| of.quantity == Quantity::Window);
        let largest = windows.map(|of| of.value).fold(0.0, f64::max);
        (largest > MOST_SEGMENTS).then_some(largest)
    }

    /// Adds the state of a connection, unless the connection is closed. Its round trip is `stretch` times longer than
    /// in the network.
    pub(crate) fn sample(&mut self, now: Duration, flow: u32, socket: &impl AsFd, stretch: u32) {
        let Ok(info) = getsockopt(socket, TcpInfo) else { return };
        let at = Span::from_ns(now.as_nanos() as u64);
        let values = [
            (Quantity::Window, f64::from(info.tcpi_snd_cwnd)),
            (Quantity::SmoothedRtt, f64::from(info.tcpi_rtt) * 1e-6 / f64::from(stretch)),
        ];
        self.values.extend(values.map(|(quantity, value)| FlowSample {
            at,
            flow,
            quantity,
            value,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_a_billion_segments_is_impossible() {
        let mut log = TcpInfoLog::every(Duration::from_millis(10));
        for (value, impossible) in [(2_000_000.0, None), (1.8e9, Some(1.8e9))] {
            let (at, quantity) = (Span::ZERO, Quantity::Window);
            log.values.push(FlowSample { at, flow: 0, quantity, value });
            assert_eq!(log.impossible_window(), impossible);
        }
    }

    #[test]
    fn too_many_samples_double_the_interval() {
        let mut log = TcpInfoLog::every(Duration::from_millis(10));
        assert!(!log.is_due(Duration::from_millis(9)) && log.is_due(Duration::from_millis(10)));
        log.finish(Duration::from_millis(35));
        assert!(!log.is_due(Duration::from_millis(39)) && log.is_due(Duration::from_millis(40)));
        let value = |at| FlowSample {
            at: Span::from_us(at),
            flow: 0,
            quantity: Quantity::Window,
            value: 1.0,
        };
        log.values = (0..=MOST as u64).map(value).collect();
        log.finish(Duration::from_millis(40));
        assert_eq!((log.values.len(), log.interval), (MOST / 2, Duration::from_millis(20)));
        assert_eq!(log.values[0].at, Span::from_us(1));
    }
}
