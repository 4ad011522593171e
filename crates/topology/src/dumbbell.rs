//! A dumbbell (docs/topologies.md, "dumbbell"): hosts `s0`, `s1` and so on, a switch `left`, the bottleneck, and one
//! host `r0`, or a switch `right` and several.

use shallop_core::form::{Form, Reads};
use shallop_core::options::{Source, Value, Written};
use shallop_core::{BitsPerSec, Bytes, Node, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, MAX_DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, Section};
use crate::topo::{LinkSpec, dumbbell};

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

/// What a scenario says of the delays of the senders' links.
#[derive(Clone, Debug)]
pub enum SenderDelay {
    /// The same for all.
    One(Span),
    /// Drawn uniformly for each.
    Drawn(Span, Span),
    /// One by one.
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

/// Delays of a number of links.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// One for each.
    Each(Vec<Span>),
    /// So many, each drawn uniformly between two bounds.
    Drawn(usize, Span, Span),
}

impl Delays {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Each(delays) => delays.len(),
            Self::Drawn(count, ..) => *count,
        }
    }

    /// The delays a seed gives.
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

/// What it is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Rate of the bottleneck, and of the links to hosts.
    pub rate: (BitsPerSec, BitsPerSec),
    /// Delay of the bottleneck.
    pub delay: Span,
    /// Delays of the senders' links.
    pub senders: Delays,
    /// How many hosts there are on the right.
    pub receivers: usize,
    /// The largest packet at IP.
    pub mtu: Bytes,
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
            rate: (options.rate, options.access_rate),
            delay: options.delay,
            senders,
            receivers: options.receivers,
            mtu: options.largest.mtu,
        })
    }

    fn size(&self) -> (u64, u64) {
        // A lone receiver stands in the place of the second switch.
        let right = if self.receivers > 1 { self.receivers as u64 } else { 0 };
        let links = self.senders.count() as u64 + right + 1;
        (links + 1, links)
    }

    fn build(&self, seed: Seed) -> NetworkBuilder {
        let Self { rate, delay, senders, receivers, mtu } = self;
        let trunk = LinkSpec { rate: rate.0, access: rate.1, delay: *delay, mtu: *mtu };
        let dumbbell = dumbbell(&trunk, &senders.draw(seed), *receivers);
        let first = dumbbell.left.first().map_or(0, |host| host.0);
        let left = first..first + dumbbell.left.len() as u32;
        let name = |node: Node| match node.0 {
            0 => "left".to_owned(),
            1 if *receivers > 1 => "right".to_owned(),
            number if left.contains(&number) => format!("s{}", number - left.start),
            number => format!("r{}", number - dumbbell.right[0].0),
        };
        let mut builder = NetworkBuilder::named(dumbbell.graph, name);
        let bottleneck = [dumbbell.bottleneck & !1, dumbbell.bottleneck | 1];
        let others = (0..builder.graph.ports() as u32).filter(|port| !bottleneck.contains(port));
        builder.links.insert("access".into(), others.collect());
        builder.links.insert("bottleneck".into(), bottleneck.to_vec());
        builder.site("left", dumbbell.left);
        builder.site("right", dumbbell.right);
        builder
    }

    fn is_random(&self) -> bool {
        matches!(self.senders, Delays::Drawn(..))
    }
}
