//! Networks of several sites or tiers.

use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_proto::wire;
use shallop_switch::Aggregate;

use super::problem::Problem;
use super::section::Section;
use super::topology::like;
use crate::campus::Campus;
use crate::fabrics::{CrossDc, FatTree, LeafSpine, Line, ThreeDc};
use crate::plan::Topology;

const fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// The largest packet at IP.
pub(super) fn mtu(section: &Section<'_>) -> Result<Bytes, Problem> {
    section.or("mtu", Bytes::new(wire::MTU))
}

/// A link by the keys of its rate and delay, each with its default.
pub(super) fn line(
    section: &Section<'_>,
    (rate, default_rate): (&str, BitsPerSec),
    (delay, default_delay): (&str, Span),
) -> Result<Line, Problem> {
    let (rate, delay) = (section.or(rate, default_rate)?, section.or(delay, default_delay)?);
    Ok(Line { rate, delay, mtu: mtu(section)? })
}

pub(super) fn three_dc(section: &Section<'_>, known: &[&str]) -> Result<Topology, Problem> {
    let delays = [20, 30, 40].map(Span::from_ms).to_vec();
    let delays: Vec<Span> = section.or("wan_delay", delays)?;
    let Ok(delays) = <[Span; 3]>::try_from(delays) else {
        let problem = section.reject("wan_delay", "three delays are needed");
        return Err(problem.with_help("those of b0-b1, b1-b2 and b0-b2"));
    };
    let (rate, mtu) = (section.or("wan_rate", BitsPerSec::gbps(10))?, mtu(section)?);
    Ok(Topology::ThreeDc(ThreeDc {
        hosts: section.or("hosts", 20)?,
        wan: delays.map(|delay| Line { rate, delay, mtu }),
        access: line(section, ("access_rate", BitsPerSec::gbps(1)), ("access_delay", us(10)))?,
        border: like(section, "border_switch", known)?,
    }))
}

pub(super) fn leaf_spine(section: &Section<'_>, known: &[&str]) -> Result<Topology, Problem> {
    let (rate, delay) = (section.must("rate")?, section.must("delay")?);
    Ok(Topology::LeafSpine(LeafSpine {
        spines: section.must("spines")?,
        leaves: section.must("leaves")?,
        hosts: section.must("hosts")?,
        fabric: Line { rate, delay, mtu: mtu(section)? },
        access: line(section, ("access_rate", rate), ("access_delay", delay))?,
        like: (like(section, "leaf_switch", known)?, like(section, "spine_switch", known)?),
    }))
}

pub(super) fn fat_tree(section: &Section<'_>, known: &[&str]) -> Result<Topology, Problem> {
    let fabric = line(section, ("rate", BitsPerSec::gbps(100)), ("delay", us(4)))?;
    let rate = section.or("access_rate", fabric.rate)?;
    let delay = fabric.delay + section.or("host_delay", us(1))?;
    let (aggregations, cores): (usize, usize) =
        (section.or("aggregations", 2)?, section.or("cores", 8)?);
    if !cores.is_multiple_of(aggregations) {
        let message = format!("{cores} core switches for {aggregations} aggregation switches");
        let help = "as many for each: a multiple of `aggregations`";
        return Err(section.reject("cores", message).with_help(help));
    }
    Ok(Topology::FatTree(FatTree {
        pods: section.or("pods", 8)?,
        tors: section.or("tors", 4)?,
        aggregations,
        cores,
        hosts: section.or("hosts", 6)?,
        fabric,
        access: Line { rate, delay, mtu: fabric.mtu },
        like: (
            like(section, "tor_switch", known)?,
            like(section, "aggregation_switch", known)?,
            like(section, "core_switch", known)?,
        ),
    }))
}

pub(super) fn cross_dc(section: &Section<'_>, known: &[&str]) -> Result<Topology, Problem> {
    let fabric = line(section, ("rate", BitsPerSec::gbps(1)), ("delay", us(50)))?;
    Ok(Topology::CrossDc(CrossDc {
        switches: section.or("switches", 2)?,
        hosts: section.or("hosts", 12)?,
        wan: line(section, ("wan_rate", fabric.rate), ("wan_delay", us(4_800)))?,
        fabric,
        access: line(section, ("access_rate", fabric.rate), ("access_delay", us(50)))?,
        like: (like(section, "dc_switch", known)?, like(section, "border_switch", known)?),
    }))
}

pub(super) fn campus(section: &Section<'_>, known: &[&str]) -> Result<Topology, Problem> {
    let gbps = BitsPerSec::gbps;
    let delay = section.or("delay", us(10))?;
    let wire = |key, rate| line(section, (key, gbps(rate)), ("delay", delay));
    let radio = ("radio_rate", BitsPerSec::at_least_one(850_000_000));
    let overhead: Option<Span> = section.get("radio_overhead")?;
    let most: Option<Bytes> = section.get("radio_frame")?;
    let frames = (overhead.is_some() || most.is_some()).then(|| Aggregate {
        overhead: overhead.unwrap_or(Span::ZERO),
        most: most.unwrap_or(Bytes::new(65_535)),
    });
    Ok(Topology::Campus(Campus {
        frames,
        clouds: section.or("clouds", 1)?,
        points: section.or("points", 1)?,
        stations: section.or("stations", 1)?,
        wires: [
            line(section, ("cloud_rate", gbps(100)), ("cloud_delay", us(4_945)))?,
            wire("core_rate", 40)?,
            wire("aggregation_rate", 10)?,
        ],
        access: wire("access_rate", 1)?,
        radio: line(section, radio, ("radio_delay", us(10)))?,
        like: [
            like(section, "core_switch", known)?,
            like(section, "aggregation_switch", known)?,
            like(section, "access_switch", known)?,
            like(section, "point_switch", known)?,
        ],
    }))
}
