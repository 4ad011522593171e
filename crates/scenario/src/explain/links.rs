//! Rows of `check --explain` for each direction of each link.

use super::{Section, buffer, size};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_plan::{ResolvedRun, plan::Switch};
use shallop_proto::wire;

/// One direction of a link: the settings of the sending port, and the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// The name of the port: the sending and the receiving node.
    pub link: String,
    pub rate: BitsPerSec,
    pub delay: Span,
    /// The NAME of the sending switch's `[switch.NAME]`; `None` for a host.
    pub switch: Option<String>,
    /// The `chip` of the sending switch.
    pub chip: Option<&'static str>,
    /// The capacity of the port's data queue, with its unit; of shared memory, the most that one queue may take. `None`
    /// for a host.
    pub buffer: Option<String>,
    /// The payload that flows offer to the link, in bits per second; `None` if it was not computed.
    pub offered_bps: Option<u64>,
}

impl LinkRow {
    /// The offered payload as a fraction of the rate.
    pub fn load(&self) -> Option<f64> {
        Some(self.offered_bps? as f64 / self.rate.get() as f64)
    }
}

/// A row for each direction of each link, the most loaded first; ports of switches before ports of hosts at equal load.
pub(super) fn rows(setup: &ResolvedRun<'_>) -> Vec<LinkRow> {
    let (network, random) = (&setup.network, setup.rates.iter().any(Option::is_some));
    let offered = random.then(|| setup.offered_load()).flatten();
    let mut rows: Vec<LinkRow> = (0..network.graph.ports() as u32)
        .map(|port| {
            let link = network.graph.link_of(port);
            let node = network.graph.near(port).0 as usize;
            let switch = network.is_switch_port(port).then(|| &setup.plan.switches[network.switch_of[node]]);
            LinkRow {
                link: network.port_name(port),
                rate: link.rate,
                delay: link.delay,
                switch: switch.map(|switch| switch.name.clone()),
                chip: switch.and_then(|switch| switch.chip),
                buffer: switch.map(|switch| memory(switch, link.rate, link.mtu)),
                offered_bps: offered.as_ref().map(|offered| offered[port as usize].round() as u64),
            }
        })
        .collect();
    let order = |row: &LinkRow| (row.load().unwrap_or(0.0), row.switch.is_some());
    rows.sort_by(|a, b| {
        let ((load_a, switch_a), (load_b, switch_b)) = (order(a), order(b));
        load_b.total_cmp(&load_a).then(switch_b.cmp(&switch_a))
    });
    rows
}

/// Adds the states of wires that lose packets in bursts, wires with equal ones once.
pub(super) fn bursts(setup: &ResolvedRun<'_>, section: &mut Section) {
    let network = &setup.network;
    let mut seen = Vec::new();
    for port in 0..network.graph.ports() as u32 {
        let Some(wire) = network.impairment(port, setup.root()).filter(|wire| wire.loss > 0.0) else { continue };
        let Some(burst) = wire.loss_burst.filter(|&burst| !seen.contains(&(wire.loss, burst))) else { continue };
        seen.push((wire.loss, burst));
        let enters = wire.loss / (1.0 - wire.loss) / burst;
        let how =
            format!("begin before {:.4} % of packets that pass, end before {:.4} %", 100.0 * enters, 100.0 / burst);
        let value = format!("{burst} packets, {} % of all", 100.0 * wire.loss);
        section.say(format!("bursts of losses of {}", network.port_name(port)), value, how);
    }
}

/// Adds a row for each direction of a link whose rate or delay changes: its mean rate, and how it changes.
pub(super) fn changes(setup: &ResolvedRun<'_>, section: &mut Section) {
    let (network, end) = (&setup.network, setup.plan.duration);
    for port in 0..network.graph.ports() as u32 {
        let changes = network.changes(port);
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { continue };
        let mean = network.capacity(port, end).get() as f64 * 8.0 / end.as_secs_f64();
        let mean = BitsPerSec::new(mean.round() as u64).map_or_else(|| "0bps".to_owned(), |mean| mean.to_string());
        let (rate, delay) = network.worst(port);
        let how = format!(
            "{} changes, {} to {}; least rate {rate}, longest delay {delay}",
            changes.len(),
            first.at.since_start(),
            last.at.since_start()
        );
        section.say(format!("mean rate of {}", network.port_name(port)), mean, how);
    }
}

/// The capacity of a port's data queue as text.
fn memory(switch: &Switch, rate: BitsPerSec, mtu: Bytes) -> String {
    let (bytes, _) = buffer(switch, rate, u64::from(wire::frame(mtu.get())));
    let shared = if switch.shared.is_some() { " of shared memory" } else { "" };
    format!("{}{shared}", size(bytes))
}
