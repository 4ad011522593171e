//! Bounds of what a network may be. They keep sums and products within the simulator's 64 bits, with room to spare.

use shallop_core::form::Form;
use shallop_core::{BitsPerSec, Span};

/// Hosts and switches in a network.
pub const MAX_NODES: u64 = 200_000;
/// Entries in the table of routes: one for each switch and each set of switches with hosts that are not twins. They
/// take 200 MB. Switches of a fat-tree are few sets; 7,000 switches that have hosts and nothing in common are as many
/// as fit.
pub const MAX_ROUTES: u64 = 50_000_000;
/// Ports in a network.
pub const MAX_PORTS: u64 = 1_000_000;
/// The longest delay of a link.
pub const MAX_DELAY: Span = Span::from_secs(10);
/// The slowest link: a jumbo frame takes about a second.
pub const MIN_RATE: BitsPerSec = BitsPerSec::at_least_one(100_000);
/// The fastest link.
pub const MAX_RATE: BitsPerSec = BitsPerSec::gbps(10_000);

/// The rate of a link.
pub const RATE: Form = Form::Rate(MIN_RATE, MAX_RATE);
/// The delay of a link.
pub const DELAY: Form = Form::Time(Span::ZERO, MAX_DELAY);
/// A number of nodes.
pub const COUNT: Form = Form::Integer(1, MAX_NODES);
