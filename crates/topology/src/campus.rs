//! A campus path (section IV.A of clean-campus; docs/topologies.md): hosts in the cloud, a core, an aggregation and an
//! access switch in a row, access points, and stations that share the radio of their access point.

use shallop_core::options::Source;
use shallop_core::{BitsPerSec, Bytes, Node, Seed, Span, options};
use shallop_switch::FrameAggregation;

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, Section};

/// Name of the set of links to the cloud's hosts, the edge of a CLEAN proxy.
pub const CLOUD: &str = "cloud";
/// Name of the set of radio links, the last hop of a CLEAN proxy.
pub const RADIO: &str = "radio";

/// Default of the largest radio frame: the largest A-MPDU of ns-3.
const RADIO_FRAME: Bytes = Bytes::new(65_535);

options! {
    /// From the cloud to the stations of access points.
    #[derive(Clone, Debug)]
    pub struct CampusOptions {
        /// The number of hosts in the cloud: `cloud0` and so on.
        #[was("clouds")]
        key cloud_hosts: usize [= COUNT] = 1;
        /// The number of access points: `ap0` and so on.
        #[was("points")]
        key access_points: usize [= COUNT] = 1;
        /// The number of stations at each access point: `ap0h0` and so on.
        key stations: usize [= COUNT] = 1;
        /// The rate of the links from the cloud's hosts to the core switch.
        key cloud_rate: BitsPerSec [= RATE] = BitsPerSec::gbps(100);
        /// The delay of these links. The default makes a base round-trip time of 10 ms.
        key cloud_delay: Span [= DELAY] = Span::from_us(4_945);
        /// The rate of the link from the core switch to the aggregation switch.
        key core_rate: BitsPerSec [= RATE] = BitsPerSec::gbps(40);
        /// The rate of the link from the aggregation switch to the access switch.
        key aggregation_rate: BitsPerSec [= RATE] = BitsPerSec::gbps(10);
        /// The rate of the links from the access switch to the access points.
        key access_rate: BitsPerSec [= RATE] = BitsPerSec::gbps(1);
        /// The delay of the links from the core switch to the access points.
        key delay: Span [= DELAY] = Span::from_us(10);
        /// The rate of the radio links to the stations.
        key radio_rate: BitsPerSec [= RATE] = BitsPerSec::at_least_one(850_000_000);
        /// The delay of the radio links.
        key radio_delay: Span [= DELAY] = Span::from_us(10);
        /// The air time of each radio frame in addition to the time of its bytes.
        key radio_overhead: Option<Span> [Time(Span::ZERO, Span::from_ms(100))] =
            None, "packets leave one by one";
        /// The largest number of bytes in a radio frame, if packets are aggregated.
        key radio_frame: Option<Bytes> [Size(Bytes::new(1), Bytes::new(10_000_000))] =
            None, text format!("\"{RADIO_FRAME}\" with `radio_overhead`");
        /// The `[switch.NAME]` that describes the core switch.
        key core_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the aggregation switch.
        key aggregation_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the access switch.
        key access_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the access points.
        #[was("point_switch")]
        key access_point_switch: Option<String> = None, "\"default\"";
        /// The largest packet.
        part largest: Largest = ();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Campus {
    /// Number of hosts in the cloud.
    pub cloud_hosts: usize,
    pub access_points: usize,
    /// Number of stations at each access point.
    pub stations: usize,
    /// Links from the cloud to the core, from core to aggregation, and from aggregation to access switch.
    pub wires: [LinkProperties; 3],
    /// Links from the access switch to the access points.
    pub access: LinkProperties,
    /// Radio of each access point.
    pub radio: LinkProperties,
    /// Frame aggregation of the radio; `None` if packets leave one by one.
    pub frames: Option<FrameAggregation>,
    /// Configurations of core, aggregation and access switch and of access points: indices into `Plan::switches`.
    pub switches: [usize; 4],
}

impl Fabric for Campus {
    type Options = CampusOptions;
    const KIND: &'static str = "campus";
    const ABOUT: &'static str = "from the cloud over a campus to an access point's stations";
    const LABEL: &'static str = "campus";

    fn new<S: Source>(options: CampusOptions, section: &Section<'_, S>) -> Result<Self, S::Error> {
        let keys = CampusOptions::KEY;
        let (delay, mtu) = (options.delay, options.largest.mtu);
        let line = |rate, delay| LinkProperties { rate, delay, mtu };
        let (overhead, frame) = (options.radio_overhead, options.radio_frame);
        let frames = (overhead.is_some() || frame.is_some()).then(|| FrameAggregation {
            overhead: overhead.unwrap_or(Span::ZERO),
            max_bytes: frame.unwrap_or(RADIO_FRAME),
        });
        let switch = |key, name: &Option<String>| section.switch(key, name.as_deref());
        Ok(Self {
            frames,
            cloud_hosts: options.cloud_hosts,
            access_points: options.access_points,
            stations: options.stations,
            wires: [
                line(options.cloud_rate, options.cloud_delay),
                line(options.core_rate, delay),
                line(options.aggregation_rate, delay),
            ],
            access: line(options.access_rate, delay),
            radio: line(options.radio_rate, options.radio_delay),
            switches: [
                switch(keys.core_switch, &options.core_switch)?,
                switch(keys.aggregation_switch, &options.aggregation_switch)?,
                switch(keys.access_switch, &options.access_switch)?,
                switch(keys.access_point_switch, &options.access_point_switch)?,
            ],
        })
    }

    fn size(&self) -> (u64, u64) {
        let [clouds, points, stations] =
            [self.cloud_hosts, self.access_points, self.stations].map(|n| n as u64);
        let below = points.saturating_mul(stations.saturating_add(2));
        let nodes = clouds.saturating_add(below).saturating_add(3);
        (nodes, nodes - 1)
    }

    /// The radio channel of an access point is a node, so that its stations share one queue in each direction.
    fn build(&self, _: Seed) -> NetworkBuilder {
        let mut builder = NetworkBuilder {
            aggregation: self.frames.map(|frames| (RADIO, frames)),
            ..NetworkBuilder::default()
        };
        let names = ["core", "agg", "access"];
        let switches =
            [0, 1, 2].map(|tier| builder.switch(names[tier].to_owned(), self.switches[tier]));
        let [core, aggregation, access] = switches;
        let clouds: Vec<Node> = (0..self.cloud_hosts)
            .map(|number| {
                let host = builder.host(format!("cloud{number}"));
                builder.connect(self.wires[0].link(host, core), &[CLOUD]);
                host
            })
            .collect();
        builder.connect(self.wires[1].link(core, aggregation), &["core"]);
        builder.connect(self.wires[2].link(aggregation, access), &["aggregation"]);
        builder.site("cloud", clouds);
        // Links between the radio channel and its stations take almost no time.
        let station =
            LinkProperties { rate: BitsPerSec::gbps(100), delay: Span::ZERO, mtu: self.radio.mtu };
        for number in 0..self.access_points {
            let point = builder.switch(format!("ap{number}"), self.switches[3]);
            builder.connect(self.access.link(access, point), &["access"]);
            let air = builder.switch(format!("air{number}"), self.switches[3]);
            builder.connect(self.radio.link(point, air), &[RADIO]);
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
