//! Bounds of the size of a network and of its links. They keep sums and products well within 64 bits.

use shallop_core::{BitsPerSec, Span};
use shallop_options::ValueType;

/// Largest number of hosts and switches in a network.
pub const MAX_NODES: u64 = 200_000;
/// Largest number of entries in the routing table, which take 200 MB. There is one for each pair of a switch and a set
/// of switches that have hosts and equal neighbours: fat-trees have few such sets; 7,000 switches without equals fit.
pub const MAX_ROUTES: u64 = 50_000_000;
/// Largest number of ports in a network.
pub const MAX_PORTS: u64 = 1_000_000;
pub const MAX_DELAY: Span = Span::from_secs(10);
/// Rate of the slowest link, at which a jumbo frame takes 74 s.
pub const MIN_RATE: BitsPerSec = BitsPerSec::at_least_one(1_000);
pub const MAX_RATE: BitsPerSec = BitsPerSec::gbps(10_000);

pub const RATE: ValueType = ValueType::Rate(MIN_RATE, MAX_RATE);
pub const DELAY: ValueType = ValueType::Time(Span::ZERO, MAX_DELAY);
pub const COUNT: ValueType = ValueType::Integer(1, MAX_NODES);
