//! Scales a plan to lower rates, for rehearsals on machines that cannot carry its rates. Rates, buffers and thresholds
//! are multiplied by one factor and delays stay, so that a buffer holds the same part of a bandwidth-delay product and
//! takes the same time to drain. Packets, flows and windows keep their sizes, so that fewer packets are in flight.
//! Queues of credits, bursts and send buffers of transports are not scaled; Gemini's K and C are, as they describe the
//! network.

use shallop_control::{any::Config, gemini};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Share, Span};

use crate::plan::{
    Bcc, GraphLink, Group, Intensity, LinkWay, Plan, QueueMarking, Scheme, Shared, Starts, Switch, Topology, Transport,
};

/// An error: a plan that cannot be scaled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    #[error("the network is scaled already")]
    Twice,
    #[error("group \"{0}\" has the flows of a trace, whose times and sizes are given: they cannot be scaled")]
    Trace(String),
}

impl Topology {
    /// The factor by which the topology's rates are multiplied; `None` if they are not scaled.
    pub const fn scale(&self) -> Option<Share> {
        match self {
            Self::Scaled { by, .. } => Some(*by),
            _ => None,
        }
    }

    /// The topology at the rates before scaling.
    pub fn unscaled(&self) -> &Self {
        match self {
            Self::Scaled { of, .. } => of,
            all => all,
        }
    }
}

impl Plan {
    /// Multiplies rates, buffers and thresholds by `by`. Flows that start at random or at intervals start more rarely
    /// by that factor, so that the load stays.
    ///
    /// # Errors
    /// If the plan is scaled already, or has a trace.
    pub fn scaled(self, by: Share) -> Result<Self, ScaleError> {
        if self.topology.scale().is_some() {
            return Err(ScaleError::Twice);
        }
        let scheme = |scheme: Scheme| Scheme {
            transport: transport(scheme.transport, by),
            switches: scheme.switches.map(|all| all.into_iter().map(|of| switch(of, by)).collect()),
            ..scheme
        };
        let group = |group: Group| -> Result<Group, ScaleError> {
            let start = starts(group.start, by).ok_or_else(|| ScaleError::Trace(group.name.clone()))?;
            let application = group.application.map(|(rate, write)| (rate.share(by), write));
            Ok(Group { start, application, transport: group.transport.map(scheme), ..group })
        };
        Ok(Self {
            groups: self.groups.into_iter().map(group).collect::<Result<_, _>>()?,
            schemes: self.schemes.into_iter().map(scheme).collect(),
            switches: self.switches.into_iter().map(|of| switch(of, by)).collect(),
            nic_buffer: size(self.nic_buffer, by),
            levels: self.levels.into_iter().map(|level| bytes(level, by)).collect(),
            topology: Topology::Scaled { by, of: Box::new(self.topology) },
            ..self
        })
    }
}

/// Multiplies the rate of a link, and its rates after later changes, by `by`.
pub(crate) fn link(link: &GraphLink, by: Share) -> GraphLink {
    let slower = |rate: BitsPerSec| rate.share(by);
    let way = |way: &LinkWay| {
        let changes = way.changes.iter().map(|&(at, rate, delay)| (at, rate.map(slower), delay));
        LinkWay { rate: slower(way.rate), changes: changes.collect(), ..way.clone() }
    };
    GraphLink { between: link.between, ways: link.ways.each_ref().map(way) }
}

fn bytes(bytes: Bytes, by: Share) -> Bytes {
    let (part, whole) = by.parts();
    let scaled = u128::from(bytes.get()) * u128::from(part) / u128::from(whole);
    // A size above zero stays above zero, and "unlimited" stays unlimited.
    if bytes == Bytes::MAX { bytes } else { Bytes::new((scaled as u64).max(bytes.get().min(1))) }
}

/// Multiplies a buffer size by `by`. A size per Gb/s stays, as it shrinks with the rate of its link.
fn size(size: BufferSize, by: Share) -> BufferSize {
    let (part, whole) = by.parts();
    match size {
        BufferSize::Bytes(all) => BufferSize::Bytes(bytes(all, by)),
        BufferSize::Packets(u32::MAX) | BufferSize::PerGbps(_) => size,
        BufferSize::Packets(packets) => {
            let scaled = (u128::from(packets) * u128::from(part)).div_ceil(u128::from(whole));
            BufferSize::Packets(scaled as u32)
        }
    }
}

fn marking(mark: QueueMarking, by: Share) -> QueueMarking {
    QueueMarking { min: size(mark.min, by), max: size(mark.max, by), ..mark }
}

fn switch(switch: Switch, by: Share) -> Switch {
    let shared = |shared: Shared| Shared {
        size: bytes(shared.size, by),
        private: bytes(shared.private, by),
        limits: shared.limits.map(|limit| limit.map(|limit| bytes(limit, by))),
        mark: shared.mark.map(|mark| marking(mark, by)),
        ..shared
    };
    let bucket = |(rate, burst): (BitsPerSec, Bytes)| (rate.share(by), bytes(burst, by));
    let bcc = |bcc: Bcc| {
        let [required, min, max] = [bcc.required, bcc.min, bcc.max].map(|value| value.map(|value| bytes(value, by)));
        Bcc { required, min, max, ..bcc }
    };
    Switch {
        buffer: size(switch.buffer, by),
        shared: switch.shared.map(shared),
        bcc: switch.bcc.map(bcc),
        mark: switch.mark.map(|mark| marking(mark, by)),
        drop: switch.drop.map(|drop| marking(drop, by)),
        shaper: switch.shaper.map(bucket),
        policer: switch.policer.map(bucket),
        unscheduled_above: size(switch.unscheduled_above, by),
        ..switch
    }
}

/// Multiplies the rates of UDP flows and of paced TCP by `by`. Other transports adapt to the network, except for
/// constants of their controllers.
fn transport(transport: Transport, by: Share) -> Transport {
    match transport {
        Transport::Udp(mut udp) => {
            udp.rate = udp.rate.map(|rate| rate.share(by));
            Transport::Udp(udp)
        }
        Transport::Tcp(mut tcp) => {
            tcp.controller = controller(tcp.controller, by);
            tcp.config.max_pacing_rate = tcp.config.max_pacing_rate.map(|rate| rate.share(by));
            Transport::Tcp(tcp)
        }
        other => other,
    }
}

/// Scales Gemini's capacity and marking threshold, the only constants of controllers that describe the network.
fn controller(controller: Config, by: Share) -> Config {
    match controller {
        Config::Gemini(config) => Config::Gemini(gemini::Config {
            capacity: config.capacity.map(|rate| rate.share(by)),
            k: size(config.k, by),
            ..config
        }),
        other => other,
    }
}

fn longer(gap: Span, by: Share) -> Span {
    let (part, whole) = by.parts();
    let ps = u128::from(gap.as_ps()) * u128::from(whole) / u128::from(part);
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

fn intensity(intensity: Intensity, by: Share) -> Intensity {
    match intensity {
        Intensity::PerSecond(rate) => Intensity::PerSecond(rate * by.as_f64()),
        load @ Intensity::Load(..) => load,
    }
}

/// Stretches the intervals between start times by 1 / `by`; `None` for a trace.
fn starts(starts: Starts, by: Share) -> Option<Starts> {
    Some(match starts {
        Starts::Every(first, gap) => Starts::Every(first, longer(gap, by)),
        Starts::Poisson(of, from) => Starts::Poisson(intensity(of, by), from),
        Starts::OnOff(of, from, periods) => Starts::OnOff(intensity(of, by), from, periods),
        Starts::Bursts(flows, first, gap) => Starts::Bursts(flows, first, longer(gap, by)),
        same @ (Starts::At(_) | Starts::Drawn(..)) => same,
        Starts::Trace(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;
    use shallop_control::HostStack;

    fn by() -> Share {
        Share::new(1, 20).unwrap()
    }

    #[test]
    fn sizes_scale_with_the_rate_and_stay_above_zero() {
        let by = by();
        let kb = |bytes: u64| BufferSize::Bytes(Bytes::new(bytes));
        assert_eq!(size(kb(200_000), by), kb(10_000));
        assert_eq!(size(kb(7), by), kb(1));
        assert_eq!(size(BufferSize::Packets(100), by), BufferSize::Packets(5));
        assert_eq!(size(BufferSize::Packets(1), by), BufferSize::Packets(1));
        let rate = BufferSize::PerGbps(Bytes::new(20_000));
        assert_eq!(size(rate, by), rate);
        assert_eq!(bytes(Bytes::MAX, by), Bytes::MAX);
        assert_eq!(longer(Span::from_ms(1), by), Span::from_ms(20));
    }

    #[test]
    fn geminis_capacity_and_threshold_are_scaled() {
        let Some(Config::Gemini(config)) = Config::for_stack("gemini", HostStack::Linux) else {
            panic!("gemini has other options")
        };
        let whole = gemini::Config { capacity: Some(BitsPerSec::gbps(1)), k: BufferSize::Packets(300), ..config };
        let part = gemini::Config {
            capacity: Some(BitsPerSec::at_least_one(50_000_000)),
            k: BufferSize::Packets(15),
            ..whole
        };
        assert_eq!(controller(Config::Gemini(whole), by()), Config::Gemini(part));
    }

    #[test]
    fn link_changes_and_flow_starts_are_scaled() {
        let [fast, slow] = [2_000_000_000, 100_000_000].map(BitsPerSec::at_least_one);
        let changes = vec![(Span::from_ms(3), Some(fast), None)];
        let way = shallop_topology::Way { rate: fast, delay: Span::from_ms(7), mtu: Bytes::new(1_500) };
        let way = LinkWay { changes, ..LinkWay::without_faults(way) };
        let whole = GraphLink { between: (0, 1), ways: [way.clone(), way.clone()] };
        let [scaled, _] = link(&whole, by()).ways;
        assert_eq!((scaled.rate, scaled.delay), (slow, way.delay));
        assert_eq!(scaled.changes, [(Span::from_ms(3), Some(slow), None)]);
        let poisson = Starts::Poisson(Intensity::PerSecond(100.0), Span::ZERO);
        let rarer = Starts::Poisson(Intensity::PerSecond(5.0), Span::ZERO);
        assert_eq!(starts(poisson, by()), Some(rarer));
        let load = Starts::Poisson(Intensity::Load(0.4, "all".to_owned()), Span::ZERO);
        assert_eq!(starts(load.clone(), by()), Some(load));
        let bursts = Starts::Bursts(3, Span::from_ms(1), Span::from_ms(2));
        assert_eq!(starts(bursts, by()), Some(Starts::Bursts(3, Span::from_ms(1), Span::from_ms(40))));
    }
}
