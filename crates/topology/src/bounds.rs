//! Bounds of a network's size and of its links. They keep sums and products well within 64 bits.

use shallop_core::{BitsPerSec, Span};
use shallop_options::ValueType;

/// Hosts and switches in a network.
pub const MAX_NODES: u64 = 200_000;
/// Entries in the routing table, which take 200 MB: one for each pair of a switch and a set of twins with hosts. A
/// fat-tree has few sets of twins; of switches with hosts and without twins, 7,000 fit.
pub const MAX_ROUTES: u64 = 50_000_000;
/// Ports in a network.
pub const MAX_PORTS: u64 = 1_000_000;
/// Longest delay of a link.
pub const MAX_DELAY: Span = Span::from_secs(10);
/// Rate of the slowest link, on which a jumbo frame takes about a second.
pub const MIN_RATE: BitsPerSec = BitsPerSec::at_least_one(100_000);
/// Rate of the fastest link.
pub const MAX_RATE: BitsPerSec = BitsPerSec::gbps(10_000);

pub const RATE: ValueType = ValueType::Rate(MIN_RATE, MAX_RATE);
pub const DELAY: ValueType = ValueType::Time(Span::ZERO, MAX_DELAY);
pub const COUNT: ValueType = ValueType::Integer(1, MAX_NODES);
