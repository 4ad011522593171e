//! A campus path (section IV.A of clean-campus; docs/topologies.md): hosts in the cloud, a core, an aggregation and an
//! access switch in a row, access points, and stations that share the radio of their access point.

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Bytes, Node, Seed, Span};
use shallop_options::Options;
use shallop_switch::FrameAggregation;

/// Name of the set of links to the hosts in the cloud, where a CLEAN proxy has its edge.
pub const CLOUD: &str = "cloud";
/// Name of the set of radio links, at whose access points a CLEAN proxy has its last hop.
pub const RADIO: &str = "radio";

/// Default of the largest radio frame in bytes: the largest A-MPDU of ns-3.
const RADIO_FRAME: Bytes = Bytes::new(65_535);

/// A path from hosts in the cloud over a campus network to stations at Wi-Fi access points.
#[derive(Clone, Debug, PartialEq, Options)]
pub struct Campus {
    /// The number of hosts in the cloud: `cloud0` and so on.
    #[key(COUNT, default = 1, was = "clouds")]
    pub cloud_hosts: usize,
    /// The number of access points: `ap0` and so on.
    #[key(COUNT, default = 1, was = "points")]
    pub access_points: usize,
    /// The number of stations at each access point: `ap0h0` and so on.
    #[key(COUNT, default = 1)]
    pub stations: usize,
    /// The rate of the links from the cloud's hosts to the core switch.
    #[key(RATE, default = BitsPerSec::gbps(100))]
    pub cloud_rate: BitsPerSec,
    /// The delay of the links from the cloud's hosts to the core switch. The default makes a base round-trip time of 10
    /// ms.
    #[key(DELAY, default = Span::from_us(4_945))]
    pub cloud_delay: Span,
    /// The rate of the link from the core switch to the aggregation switch.
    #[key(RATE, default = BitsPerSec::gbps(40))]
    pub core_rate: BitsPerSec,
    /// The rate of the link from the aggregation switch to the access switch.
    #[key(RATE, default = BitsPerSec::gbps(10))]
    pub aggregation_rate: BitsPerSec,
    /// The rate of the links from the access switch to the access points.
    #[key(RATE, default = BitsPerSec::gbps(1))]
    pub access_rate: BitsPerSec,
    /// The delay of the links from the core switch to the access points.
    #[key(DELAY, default = Span::from_us(10))]
    pub delay: Span,
    /// The rate of the radio links to the stations.
    #[key(RATE, default = BitsPerSec::at_least_one(850_000_000))]
    pub radio_rate: BitsPerSec,
    /// The delay of the radio links.
    #[key(DELAY, default = Span::from_us(10))]
    pub radio_delay: Span,
    /// The air time of each radio frame in addition to the time of its bytes.
    #[key(Time(Span::ZERO, Span::from_ms(100)), shown = "packets leave one by one")]
    pub radio_overhead: Option<Span>,
    /// The largest number of bytes in a radio frame, if packets are aggregated.
    #[key(
        Size(Bytes::new(1), Bytes::new(10_000_000)),
        shown = format!("\"{RADIO_FRAME}\" with `radio_overhead`")
    )]
    pub radio_frame: Option<Bytes>,
    /// The `[switch.NAME]` that describes the core switch.
    #[key(shown = "\"default\"")]
    pub core_switch: Option<String>,
    /// The `[switch.NAME]` that describes the aggregation switch.
    #[key(shown = "\"default\"")]
    pub aggregation_switch: Option<String>,
    /// The `[switch.NAME]` that describes the access switch.
    #[key(shown = "\"default\"")]
    pub access_switch: Option<String>,
    /// The `[switch.NAME]` that describes the access points.
    #[key(shown = "\"default\"", was = "point_switch")]
    pub access_point_switch: Option<String>,
    #[part]
    pub largest: Largest,
}

impl Campus {
    /// Frame aggregation of the radio; `None` if packets leave one by one.
    fn frames(&self) -> Option<FrameAggregation> {
        let (overhead, frame) = (self.radio_overhead, self.radio_frame);
        (overhead.is_some() || frame.is_some()).then(|| FrameAggregation {
            overhead: overhead.unwrap_or(Span::ZERO),
            max_bytes: frame.unwrap_or(RADIO_FRAME),
        })
    }
}

impl Fabric for Campus {
    const KIND: &'static str = "campus";
    const ABOUT: &'static str = "from the cloud over a campus to an access point's stations";
    const LABEL: &'static str = "campus";

    fn size(&self) -> (u64, u64) {
        let [clouds, points, stations] = [self.cloud_hosts, self.access_points, self.stations].map(|n| n as u64);
        let below = points.saturating_mul(stations.saturating_add(2));
        let nodes = clouds.saturating_add(below).saturating_add(3);
        (nodes, nodes - 1)
    }

    /// Builds the network. The radio channel of an access point is a node of its own, so that all stations of the
    /// access point share one queue in each direction.
    fn build(&self, _: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
        let (delay, mtu) = (self.delay, self.largest.mtu);
        let line = |rate, delay| Way { rate, delay, mtu };
        let index = |name: &Option<String>| switches.index(name.as_deref());
        let point_switch = index(&self.access_point_switch);
        let mut builder =
            NetworkBuilder { aggregation: self.frames().map(|frames| (RADIO, frames)), ..NetworkBuilder::default() };
        let core = builder.switch("core".to_owned(), index(&self.core_switch));
        let aggregation = builder.switch("agg".to_owned(), index(&self.aggregation_switch));
        let access = builder.switch("access".to_owned(), index(&self.access_switch));
        let cloud = line(self.cloud_rate, self.cloud_delay);
        let clouds: Vec<Node> = (0..self.cloud_hosts)
            .map(|number| {
                let host = builder.host(format!("cloud{number}"));
                builder.connect(cloud.link(host, core), &[CLOUD]);
                host
            })
            .collect();
        builder.connect(line(self.core_rate, delay).link(core, aggregation), &["core"]);
        builder.connect(line(self.aggregation_rate, delay).link(aggregation, access), &["aggregation"]);
        builder.site("cloud", clouds);
        // Links between the radio channel and its stations take almost no time.
        let station = line(BitsPerSec::gbps(100), Span::ZERO);
        for number in 0..self.access_points {
            let point = builder.switch(format!("ap{number}"), point_switch);
            builder.connect(line(self.access_rate, delay).link(access, point), &["access"]);
            let air = builder.switch(format!("air{number}"), point_switch);
            builder.connect(line(self.radio_rate, self.radio_delay).link(point, air), &[RADIO]);
            let hosts: Vec<Node> = (0..self.stations)
                .map(|host| {
                    let host = builder.host(format!("ap{number}h{host}"));
                    builder.connect(station.link(host, air), &["stations"]);
                    host
                })
                .collect();
            builder.add_to_set("stations", &hosts);
            builder.site(format!("ap{number}"), hosts);
        }
        builder
    }
}
