//! The states of connections (`TCP_INFO`) that agents sample in kernels (agent/record.c), as traces of flows.

use crate::clock::BOOTED;
use shallop_core::Span;
use shallop_hosts::{HostFlows, TcpInfo};
use shallop_measure::flow_trace::FlowTrace;

/// How the line begins in which an agent says that it records.
const RECORDS: &str = "records every=";

/// Whether the agent with this log records connections. Agents of earlier versions ignore the order.
pub fn is_recording(log: &str) -> bool {
    log.lines().any(|line| line.starts_with(RECORDS))
}

/// A sample of a connection: the time in guest nanoseconds, and the number of the connection in the orders.
fn sample(line: &str) -> Option<(u64, usize, TcpInfo)> {
    let mut words = line.strip_prefix("tcp ")?.split(' ');
    let connection = words.next()?.parse().ok()?;
    let at = words.next()?.parse().ok()?;
    let mut short = || words.next()?.parse().ok();
    let (cwnd, ssthresh, rtt_us) = (short()?, short()?, short()?);
    let pacing = words.next()?.parse().ok()?;
    let delivered = words.next()?.parse().ok()?;
    let ca_state = words.next()?.parse().ok()?;
    let is_whole = words.next().is_none();
    is_whole.then_some((at, connection, TcpInfo { cwnd, ssthresh, rtt_us, pacing, delivered, ca_state }))
}

/// The traces in the logs of all kernels of a run, at this interval.
pub fn traces(logs: &[String], flows: &HostFlows, interval: Span) -> FlowTrace {
    let numbers: Vec<u32> = flows.tcp().map(|(flow, _)| flow.number).collect();
    let lines = logs.iter().flat_map(|log| log.lines());
    let mut samples: Vec<_> = lines.filter_map(sample).collect();
    samples.sort_by_key(|&(at, connection, _)| (at, connection));
    let mut trace = FlowTrace::new(interval);
    let time = |guest: u64| Span::from_ns(guest.saturating_sub(BOOTED));
    let intervals = |guest: u64| time(guest).as_ps() / interval.as_ps();
    // Kernels may wake at slightly different times for one sample.
    for row in samples.chunk_by(|a, b| intervals(a.0) == intervals(b.0)) {
        // Hosts with few flows may have dropped fewer samples than others.
        if time(row[0].0) < trace.due() {
            continue;
        }
        for &(at, connection, ref info) in row {
            if let Some(&flow) = numbers.get(connection) {
                trace.add(time(at), flow, &info.flow_state());
            }
        }
        trace.finish(time(row[0].0));
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_hosts::{FlowProtocol, HostFlow};
    use shallop_measure::series::Quantity;

    /// The second connection is flow 5 of the run.
    fn flows() -> HostFlows {
        let flow = |number| HostFlow {
            number,
            start: 0,
            size: None,
            from: 0,
            to: 1,
            source_port: 1,
            protocol: FlowProtocol::Tcp { controller: 0 },
        };
        let mut flows = HostFlows::default();
        flows.flows.extend([flow(0), flow(5)]);
        flows
    }

    #[test]
    fn samples_of_all_kernels_are_in_order_of_time_with_the_numbers_of_flows() {
        let at = |ms: u64| BOOTED + ms * 1_000_000;
        let logs = [
            format!("records every=1000000\ntcp 1 {} 9 2147483647 0 1250000 1 0\nx\n", at(2)),
            format!("tcp 0 {} 8 4 20000 1250000 31 3\nerror: tcp\ntcp 1 2\n", at(1)),
        ];
        assert_eq!((is_recording(&logs[0]), is_recording(&logs[1])), (true, false));
        let trace = traces(&logs, &flows(), Span::from_ms(1));
        let of = |flow: u32| {
            let values = trace.values().iter().filter(move |value| value.flow == flow);
            values.map(|value| (value.quantity, value.value)).collect::<Vec<_>>()
        };
        let first = [
            (Quantity::Cwnd, 8.0),
            (Quantity::Ssthresh, 4.0),
            (Quantity::Pacing, 1e7),
            (Quantity::SmoothedRtt, 0.02),
            (Quantity::Delivered, 30.0),
            (Quantity::CaState, 3.0),
        ];
        assert_eq!(of(0), first);
        let second =
            [(Quantity::Cwnd, 9.0), (Quantity::Pacing, 1e7), (Quantity::Delivered, 0.0), (Quantity::CaState, 0.0)];
        assert_eq!(of(5), second);
        assert_eq!(trace.values()[0].at, Span::from_ms(1));
    }
}
