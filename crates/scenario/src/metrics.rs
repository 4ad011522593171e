//! The metrics that claims can be about, from the rows of `shallop_results`.

use shallop_plan::{plan::Plan, study::Variant};
use shallop_results::claim_fields::{self, Part};

/// The metrics that could stand in place of `metric` in a claim, and `metric` itself if it exists: of runs, of windows,
/// or of the groups, queues and pools that all points `about` have.
pub(super) fn known(metric: &str, window: bool, about: &[&Variant]) -> Vec<String> {
    // A claim for full runs only may name a point that a quick run does not have.
    if about.is_empty() {
        return vec![metric.to_owned()];
    }
    let part = Part::from_path(metric);
    let fields: Vec<String> = claim_fields::fields(part, window).into_iter().map(str::to_owned).collect();
    match part {
        Part::Group(_) => {
            let plans: Vec<_> = about.iter().map(|point| &point.plan).collect();
            let has = |plan: &&Plan, name: &String| plan.groups.iter().any(|it| it.name == *name);
            let names = plans.iter().take(1).flat_map(|plan| &plan.groups).map(|group| &group.name);
            let shared = names.filter(|name| plans.iter().all(|plan| has(plan, name)));
            let of = |name| fields.iter().map(move |field| format!("groups.{name}.{field}"));
            shared.flat_map(of).collect()
        }
        _ if window => fields,
        Part::Queue(_) => of_places(metric, "queues", fields, about),
        Part::Pool(_) => of_places(metric, "pools", fields, about),
        // The names are those of the network's ports and sets of links. Ports without loss are in no list.
        Part::Share(_) | Part::Drops(_) => vec![metric.to_owned()],
        Part::Run => fields,
    }
}

/// For a metric of a queue or a pool, such as `queues.left>right.p99_bytes`: the metric itself if its last steps are a
/// field, and otherwise a path with each field, for the help of an error.
fn of_places(metric: &str, list: &str, mut fields: Vec<String>, points: &[&Variant]) -> Vec<String> {
    let levels = points.iter().take(1).flat_map(|point| &point.plan.levels);
    let shared = levels.filter(|level| points.iter().all(|at| at.plan.levels.contains(level)));
    fields.extend(shared.map(|level| format!("above.{level}")));
    fields.sort_unstable();
    if fields.iter().any(|field| metric.ends_with(&format!(".{field}"))) {
        return vec![metric.to_owned()];
    }
    fields.into_iter().map(|field| format!("{list}.PLACE.{field}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Bytes, Span};

    #[test]
    fn places_have_the_fields_of_their_lists_and_the_levels_of_all_points() {
        let point = |levels: &[u64]| {
            let mut plan = crate::reference_run::plan(2, Span::from_secs(1)).unwrap();
            plan.levels = levels.iter().map(|&level| Bytes::new(level)).collect();
            Variant { name: String::new(), set: std::collections::BTreeMap::new(), plan }
        };
        let (one, two) = (point(&[1_500_000, 720_000]), point(&[720_000]));
        let is_known = |metric: &str| known(metric, false, &[&one, &two]) == [metric];
        assert!(is_known("queues.left>right.p99_bytes"));
        assert!(is_known("queues.left>right.above.720KB"));
        assert!(is_known("pools.leaf0/2.size_bytes"));
        assert!(!is_known("queues.left>right.size_bytes"));
        assert!(!is_known("pools.leaf0/2.above.1.5MB"), "one point does not have it");
        assert!(is_known("loss_by_place.left>right"));
        assert!(is_known("drops_by_place.left>right"));
        assert!(known("jain", true, &[&one]).contains(&"metered_loss".to_owned()));
        let group = &one.plan.groups[0].name;
        let of_group = known(&format!("groups.{group}.rtt.p9_s"), false, &[&one]);
        assert!(of_group.contains(&format!("groups.{group}.rtt.p99_s")), "{of_group:?}");
        assert!(known("jaim", false, &[&one]).contains(&"fct.small.p99_s".to_owned()));
    }
}
