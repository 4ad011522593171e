//! The standard cases that speed is measured in: the network of the first headline experiment (10 Gb/s, 20 KB of buffer
//! per Gb/s, 10 ms and 0 to 20 ms of delay) with 20, 200 and 2,000 flows without end, under each transport.

use shallop_control::{any, expresspass, flashpass};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_proto::expresspass::StopPolicy;
use shallop_proto::tcp::Stack;
use shallop_proto::wire;
use shallop_sim::NicMode;

use crate::plan::{
    Accounting, Delays, ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Group, Plan, Scheme,
    Starts, Switch, Topology, Transport,
};

/// A case: a number of flows, and how long it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Flows, each between hosts of its own.
    pub flows: usize,
    /// Simulated time, in full.
    pub duration: Span,
    /// Simulated time, quick.
    pub quick: Span,
}

/// The cases.
pub const CASES: [Case; 3] =
    [case("20 flows", 20, 5000), case("200 flows", 200, 3000), case("2,000 flows", 2000, 2000)];

/// The labels of the transports.
pub const TRANSPORTS: [&str; 3] = ["cubic", "expresspass", "flashpass"];

const fn case(name: &'static str, flows: usize, ms: u64) -> Case {
    Case { name, flows, duration: Span::from_ms(ms), quick: Span::from_ms(300) }
}

/// This many flows for this long, under each of [`TRANSPORTS`].
#[must_use]
pub fn plan(flows: usize, duration: Span) -> Plan {
    let rate = BitsPerSec::gbps(10);
    let senders = Delays::Drawn(flows, Span::ZERO, Span::from_ms(20));
    // Node 0 is the switch, 1 the receiver, the senders follow.
    let group = Group {
        name: "all".to_owned(),
        from: (2..2 + flows as u32).collect(),
        to: vec![1],
        flows,
        size: None,
        start: Starts::Drawn(Span::ZERO, Span::from_ms(200).min(duration / 2)),
    };
    let schemes = TRANSPORTS.into_iter().zip(transports());
    Plan {
        title: format!("{flows} flows into 10 Gb/s"),
        seed: 1,
        duration,
        sample: Span::from_ms(10),
        windows: Vec::new(),
        topology: Topology::Dumbbell {
            rate: (rate, rate),
            delay: Span::from_ms(10),
            senders,
            receivers: 1,
            mtu: Bytes::new(wire::MTU),
        },
        symmetric: true,
        switches: vec![switch()],
        nic: NicMode::Fair,
        nic_buffer: BufferSize::Packets(1000),
        groups: vec![group],
        schemes: schemes
            .map(|(name, transport)| Scheme { name: name.to_owned(), transport })
            .collect(),
    }
}

fn switch() -> Switch {
    Switch {
        name: "switch".to_owned(),
        buffer: BufferSize::PerGbps(Bytes::new(20_000)),
        mark: None,
        credit_queue: BufferSize::Packets(8),
        credit_burst: 2,
        select: BufferSize::Packets(2),
        accounting: Accounting::PerLink,
    }
}

/// In the order of [`TRANSPORTS`].
fn transports() -> [Transport; 3] {
    [
        Transport::Tcp { config: Stack::NS2.tcp, controller: any::Config::Cubic(Stack::NS2.cubic) },
        Transport::ExpressPass(ExpressPass {
            rule: ExpressPassRule::Code(expresspass::CodeConfig::default()),
            stop: StopPolicy::default(),
            jitter: 0.1,
            largest_credit: Bytes::new(u64::from(wire::MIN_FRAME)),
            timeout: Span::from_ms(200),
        }),
        Transport::FlashPass(FlashPass {
            law: FlashPassLaw::Aimd(flashpass::AimdConfig::default()),
            wait: None,
            force_wait: false,
            epochs: 1,
            jitter: 0.1,
            batch: 1,
            over_provision: true,
            expected_loss: 0.1,
            timeout: Span::from_ms(200),
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_run_under_every_transport() {
        for case in CASES {
            let plan = plan(case.flows.min(200), case.quick);
            for scheme in 0..TRANSPORTS.len() {
                crate::run::check(&plan, scheme, plan.seed).unwrap();
            }
        }
    }
}
