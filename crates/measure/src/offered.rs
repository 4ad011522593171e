//! Offered traffic of a run, computed from the distributions of flow sizes and arrivals.

use shallop_plan::{plan::Classes, resolved::ResolvedRun};
use shallop_results::summary;
use shallop_workload::Sizes;

/// Offered traffic of all groups together.
pub fn offered(setup: &ResolvedRun<'_>) -> summary::Offered {
    let groups = &setup.plan.groups;
    let sized = || groups.iter().filter_map(|group| Some((group.flows as f64, group.sizes.as_ref()?)));
    let flows: f64 = sized().map(|(flows, _)| flows).sum();
    let mean = |of: &dyn Fn(&Sizes) -> f64| {
        let sum: f64 = sized().map(|(flows, sizes)| flows * of(sizes)).sum();
        (flows > 0.0).then_some(sum / flows)
    };
    let classes = setup.plan.classes;
    let part = |of: &dyn Fn(&Sizes, Classes) -> f64| {
        let classes = classes?;
        mean(&|sizes| of(sizes, classes))
    };
    summary::Offered {
        flows_per_s: setup.rates.iter().flatten().sum(),
        mean_size_bytes: mean(&Sizes::mean),
        small: part(&|sizes, at| sizes.fraction_up_to(at.small.get())),
        medium: part(&|sizes, at| sizes.fraction_up_to(at.large.get()) - sizes.fraction_up_to(at.small.get())),
        large: part(&|sizes, at| 1.0 - sizes.fraction_up_to(at.large.get())),
    }
}
