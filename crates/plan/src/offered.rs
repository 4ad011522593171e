//! The payload that the traffic of a run offers to each port.

use shallop_topology::Paths;

use crate::load;
use crate::setup::Setup;

/// The mean payload that flows with random arrivals offer to each port, in bits per second ([`load::by_port`]); `None`
/// if no flows start at random.
#[must_use]
pub fn by_port(setup: &Setup<'_>) -> Option<Vec<f64>> {
    let random = setup.rates.iter().any(Option::is_some);
    let paths = Paths::of(&setup.network.graph);
    random.then(|| load::by_port(setup.plan, &setup.network, &paths, &setup.rates, setup.root()))
}
