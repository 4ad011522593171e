//! A dumbbell (docs/topologies.md, "dumbbell"): hosts on both sides of one bottleneck.

use shallop_core::form::{Form, Reads};
use shallop_core::options::{Source, Value, Written};
use shallop_core::{BitsPerSec, Bytes, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, MAX_DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, Section};

options! {
    /// Senders, one bottleneck, receivers.
    #[derive(Clone, Debug)]
    pub struct DumbbellOptions {
        /// The rate of the bottleneck.
        required rate: BitsPerSec [= RATE];
        /// The rate of the links to hosts.
        key access_rate: BitsPerSec [= RATE] = rate, "`rate`";
        /// The delay of the bottleneck.
        required delay: Span [= DELAY];
        /// The largest packet.
        part largest: Largest = ();
        /// The number of hosts on the left: `s0`, `s1` and so on.
        required senders: usize [= COUNT];
        /// The number of hosts on the right: `r0`, `r1` and so on.
        key receivers: usize [= COUNT] = 1;
        /// The delay of the links of the senders: one for all, two bounds between which each is drawn uniformly, or a
        /// list with one for each.
        key sender_delay: SenderDelay [AnyOf(&[
            DELAY,
            Form::TimeRange(Span::ZERO, MAX_DELAY),
            Form::List(&DELAY),
        ])] = SenderDelay::One(Span::ZERO);
    }
}

/// Delays of the senders' links as a scenario gives them.
#[derive(Clone, Debug)]
pub enum SenderDelay {
    /// One delay for all links.
    One(Span),
    /// Bounds between which each delay is drawn uniformly.
    Drawn(Span, Span),
    /// One delay for each link.
    Each(Vec<Span>),
}

impl Value for SenderDelay {
    const READS: Reads = Reads::Any;

    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
        if written.is_list() {
            return written.list(form).map(Self::Each);
        }
        if written.as_text().is_some_and(|text| text.contains("..")) {
            return written.times(form).map(|(low, high)| Self::Drawn(low, high));
        }
        written.time(form).map(Self::One)
    }

    fn show(&self) -> Option<String> {
        match self {
            Self::One(delay) => delay.show(),
            Self::Drawn(low, high) => (*low, *high).show(),
            Self::Each(delays) => delays.show(),
        }
    }
}

/// Delays of the senders' links.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// One delay for each link.
    Each(Vec<Span>),
    /// A number of links, and the bounds between which each delay is drawn uniformly.
    Drawn(usize, Span, Span),
}

impl Delays {
    /// Number of links.
    pub fn count(&self) -> usize {
        match self {
            Self::Each(delays) => delays.len(),
            Self::Drawn(count, ..) => *count,
        }
    }

    fn draw(&self, seed: Seed) -> Vec<Span> {
        match self {
            Self::Each(delays) => delays.clone(),
            Self::Drawn(count, low, high) => (0..*count)
                .map(|index| {
                    let unit = seed.stream("delay", index as u64).unit();
                    *low + (*high - *low).scale(unit)
                })
                .collect(),
        }
    }
}

/// Hosts `s0`, `s1` and so on at a switch `left`, and the bottleneck. A single receiver `r0` is at the end of the
/// bottleneck itself, as in Figure 9 of flashpass-icnp21; several are at a second switch `right`, by links without delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Rate of the bottleneck.
    pub rate: BitsPerSec,
    /// Rate of the links to hosts.
    pub access_rate: BitsPerSec,
    /// Delay of the bottleneck.
    pub delay: Span,
    pub senders: Delays,
    /// Number of hosts on the right.
    pub receivers: usize,
    /// Largest IP packet.
    pub mtu: Bytes,
}

impl Dumbbell {
    /// Port of the bottleneck that sends from left to right.
    pub const BOTTLENECK: u32 = 0;
}

impl Fabric for Dumbbell {
    type Options = DumbbellOptions;
    const KIND: &'static str = "dumbbell";
    const ABOUT: &'static str = "hosts behind one bottleneck";
    const LABEL: &'static str = "dumbbell";

    fn new<S: Source>(
        options: DumbbellOptions,
        section: &Section<'_, S>,
    ) -> Result<Self, S::Error> {
        let count = options.senders;
        let senders = match options.sender_delay {
            SenderDelay::Each(delays) if delays.len() != count => {
                let message = format!("{} delays for {count} senders", delays.len());
                let key = DumbbellOptions::KEY.sender_delay;
                return Err(section.refuse(key, message, "one for each sender"));
            }
            SenderDelay::Each(delays) => Delays::Each(delays),
            SenderDelay::One(delay) => Delays::Each(vec![delay; count]),
            SenderDelay::Drawn(low, high) => Delays::Drawn(count, low, high),
        };
        Ok(Self {
            rate: options.rate,
            access_rate: options.access_rate,
            delay: options.delay,
            senders,
            receivers: options.receivers,
            mtu: options.largest.mtu,
        })
    }

    fn size(&self) -> (u64, u64) {
        // A single receiver takes the place of the second switch.
        let right = if self.receivers > 1 { self.receivers as u64 } else { 0 };
        let links = self.senders.count() as u64 + right + 1;
        (links + 1, links)
    }

    fn build(&self, seed: Seed) -> NetworkBuilder {
        let Self { rate, access_rate, delay, receivers, mtu, .. } = *self;
        let access = |delay| LinkProperties { rate: access_rate, delay, mtu };
        let mut builder = NetworkBuilder::default();
        let left = builder.switch("left".to_owned(), 0);
        let right = if receivers == 1 {
            builder.host("r0".to_owned())
        } else {
            builder.switch("right".to_owned(), 0)
        };
        let bottleneck = LinkProperties { rate, delay, mtu };
        builder.connect(bottleneck.link(left, right), &["bottleneck"]);
        let mut senders = Vec::new();
        for (number, delay) in self.senders.draw(seed).into_iter().enumerate() {
            senders.push(builder.host(format!("s{number}")));
            builder.connect(access(delay).link(senders[number], left), &["access"]);
        }
        builder.site("left", senders);
        let mut hosts = Vec::new();
        for number in 0..receivers {
            if receivers == 1 {
                hosts.push(right);
            } else {
                hosts.push(builder.host(format!("r{number}")));
                builder.connect(access(Span::ZERO).link(right, hosts[number]), &["access"]);
            }
        }
        builder.site("right", hosts);
        builder
    }

    fn is_random(&self) -> bool {
        matches!(self.senders, Delays::Drawn(..))
    }
}
