//! A dumbbell (docs/topologies.md, "dumbbell"): hosts on both sides of one bottleneck.

use crate::bounds::{COUNT, DELAY, MAX_DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Seed, Span};
use shallop_options::{Item, Options, Problem, RawValue, RustType, Section, Value, ValueType, WrongValue};

/// Hosts `s0`, `s1` and so on at a switch `left`, and one bottleneck link. A single receiver `r0` is at the end of the
/// bottleneck itself, as in Figure 9 of flashpass-icnp21; several receivers are at a second switch `right`, by links
/// without delay.
#[derive(Clone, Debug, PartialEq, Options)]
#[options(check)]
pub struct Dumbbell {
    /// The rate of the bottleneck.
    #[key(RATE)]
    pub rate: BitsPerSec,
    /// The rate of the links to hosts.
    #[key(RATE, default = rate, shown = "`rate`")]
    pub access_rate: BitsPerSec,
    /// The delay of the bottleneck.
    #[key(DELAY)]
    pub delay: Span,
    #[part]
    pub largest: Largest,
    /// The number of hosts on the left: `s0`, `s1` and so on.
    #[key(COUNT)]
    pub senders: usize,
    /// The number of hosts on the right: `r0`, `r1` and so on.
    #[key(COUNT, default = 1)]
    pub receivers: usize,
    /// The delay of the links of the senders: one for all, two bounds between which each is drawn uniformly, or a
    /// list with one for each.
    #[key(
        AnyOf(&[
            DELAY,
            TimeRange(Span::ZERO, MAX_DELAY),
            List(&DELAY),
        ]),
        default = SenderDelay::One(Span::ZERO)
    )]
    pub sender_delay: SenderDelay,
}

/// Delays of the links of senders, as a scenario gives them.
#[derive(Clone, Debug, PartialEq)]
pub enum SenderDelay {
    /// Every link has this delay.
    One(Span),
    /// The delay of each link is drawn uniformly between these bounds.
    Drawn(Span, Span),
    /// Delay of each link, in the order of the senders.
    Each(Vec<Span>),
}

impl Value for SenderDelay {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if matches!(item.value, RawValue::List(_)) {
            return Vec::read(item, allowed).map(Self::Each);
        }
        if item.text().is_some_and(|text| text.contains("..")) {
            return <(Span, Span)>::read(item, allowed).map(|(low, high)| Self::Drawn(low, high));
        }
        Span::read(item, allowed).map(Self::One)
    }

    fn show(&self) -> Option<String> {
        match self {
            Self::One(delay) => delay.show(),
            Self::Drawn(low, high) => (*low, *high).show(),
            Self::Each(delays) => delays.show(),
        }
    }
}

impl SenderDelay {
    /// Delays of the links of `count` senders.
    fn draw(&self, count: usize, seed: Seed) -> Vec<Span> {
        match self {
            Self::One(delay) => vec![*delay; count],
            Self::Each(delays) => delays.clone(),
            Self::Drawn(low, high) => {
                (0..count as u64).map(|index| *low + (*high - *low).scale(seed.stream("delay", index).unit())).collect()
            }
        }
    }
}

impl Dumbbell {
    /// Number of the port that sends into the bottleneck, from left to right.
    pub const BOTTLENECK: u32 = 0;

    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        match &self.sender_delay {
            SenderDelay::Each(delays) if delays.len() != self.senders => {
                let message = format!("{} delays for {} senders", delays.len(), self.senders);
                Err(section.reject(Self::KEY.sender_delay, message).with_help("one for each sender"))
            }
            _ => Ok(()),
        }
    }
}

impl Fabric for Dumbbell {
    const KIND: &'static str = "dumbbell";
    const ABOUT: &'static str = "hosts behind one bottleneck";
    const LABEL: &'static str = "dumbbell";

    fn size(&self) -> (u64, u64) {
        // A single receiver takes the place of the second switch.
        let right = if self.receivers > 1 { self.receivers as u64 } else { 0 };
        let links = self.senders as u64 + right + 1;
        (links + 1, links)
    }

    fn build(&self, seed: Seed, _: &SwitchNames<'_>) -> NetworkBuilder {
        let Self { rate, access_rate, delay, receivers, .. } = *self;
        let mtu = self.largest.mtu;
        let access = |delay| Way { rate: access_rate, delay, mtu };
        let mut builder = NetworkBuilder::default();
        let left = builder.switch("left".to_owned(), 0);
        let right = if receivers == 1 { builder.host("r0".to_owned()) } else { builder.switch("right".to_owned(), 0) };
        let bottleneck = Way { rate, delay, mtu };
        builder.connect(bottleneck.link(left, right), &["bottleneck"]);
        let mut senders = Vec::new();
        for (number, delay) in self.sender_delay.draw(self.senders, seed).into_iter().enumerate() {
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
        matches!(self.sender_delay, SenderDelay::Drawn(..))
    }
}
