//! How much a flow sends before any credit (Aeolus): what its link carries while the burst may last.

use shallop_core::Span;
use shallop_proto::aeolus;

use crate::flows;
use crate::plan::Aeolus;
use crate::run::Setup;

/// The start of a flow whose burst may last this long.
pub(crate) fn start(
    setup: &Setup<'_>,
    flow: &flows::Flow,
    config: Option<Aeolus>,
    lasts: Span,
) -> Option<aeolus::Config> {
    let Aeolus { burst, .. } = config?;
    let link = setup.network.graph.link_of(flow.path.nics.0).rate;
    let most = burst.unwrap_or_else(|| link.bytes_in(lasts));
    Some(aeolus::Config { link, most })
}
