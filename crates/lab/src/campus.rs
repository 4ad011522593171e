//! A campus path (section IV.A of clean-campus): hosts in the cloud, a core, an aggregation and an access switch in a
//! row, access points, and stations that share the radio of theirs (docs/topologies.md).

use shallop_core::{BitsPerSec, Node, Span};
use shallop_switch::Aggregate;

use crate::fabrics::Line;
use crate::shape::Shape;

/// Its links: the set with this name, and in these directions the edge of a CLEAN proxy and its last hop.
pub const CLOUD: &str = "cloud";
/// Likewise.
pub const RADIO: &str = "radio";

/// What it is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Campus {
    /// Hosts in the cloud.
    pub clouds: usize,
    /// Access points.
    pub points: usize,
    /// Stations at each.
    pub stations: usize,
    /// The links from the cloud to the core, to the aggregation and to the access switch.
    pub wires: [Line; 3],
    /// The links to the access points.
    pub access: Line,
    /// The radio of each access point.
    pub radio: Line,
    /// The frames its packets leave in, if they do not leave one by one.
    pub frames: Option<Aggregate>,
    /// What core, aggregation and access switches and access points are like.
    pub like: [usize; 4],
}

impl Campus {
    /// How many nodes and links there are.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let [clouds, points, stations] =
            [self.clouds, self.points, self.stations].map(|n| n as u64);
        let below = points.saturating_mul(stations.saturating_add(2));
        let nodes = clouds.saturating_add(below).saturating_add(3);
        (nodes, nodes - 1)
    }

    /// The network. The air of an access point is a node, so that its stations share one queue in each direction.
    #[must_use]
    pub fn build(&self) -> Shape {
        let mut shape = Shape::default();
        let names = ["core", "agg", "access"];
        let switches = [0, 1, 2].map(|tier| shape.switch(names[tier].to_owned(), self.like[tier]));
        let [core, aggregation, access] = switches;
        let clouds: Vec<Node> = (0..self.clouds)
            .map(|number| {
                let host = shape.host(format!("cloud{number}"));
                shape.join(self.wires[0].link(host, core), &[CLOUD]);
                host
            })
            .collect();
        shape.join(self.wires[1].link(core, aggregation), &["core"]);
        shape.join(self.wires[2].link(aggregation, access), &["aggregation"]);
        shape.site("cloud", clouds);
        // What stands between the radio and its stations takes next to no time.
        let station = Line { rate: BitsPerSec::gbps(100), delay: Span::ZERO, mtu: self.radio.mtu };
        for number in 0..self.points {
            let point = shape.switch(format!("ap{number}"), self.like[3]);
            shape.join(self.access.link(access, point), &["access"]);
            let air = shape.switch(format!("air{number}"), self.like[3]);
            shape.join(self.radio.link(point, air), &[RADIO]);
            let hosts: Vec<Node> = (0..self.stations)
                .map(|host| {
                    let host = shape.host(format!("ap{number}h{host}"));
                    shape.join(station.link(host, air), &["stations"]);
                    host
                })
                .collect();
            shape.put("stations", &hosts);
            shape.site(format!("ap{number}"), hosts);
        }
        shape
    }
}
