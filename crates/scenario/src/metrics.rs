//! The fields of a run that claims can be about, as the summary's own types have them.

use std::collections::BTreeSet;

use schemars::schema_for;
use serde_json::Value;

use shallop_plan::plan::Plan;
use shallop_plan::study::Variant;
use shallop_results::summary::{FULL_FRAME, Group, GroupWindow, Pool, Queue, Run, Window};

/// The fields of a run that are numbers, with dots: `drops.data`, `fct.all.p99_s`.
pub(super) fn of_runs() -> BTreeSet<String> {
    let mut fields = fields(&schema_for!(Run).to_value());
    fields.retain(|field| field != "seed");
    fields
}

/// The fields of a window that are numbers.
pub(super) fn of_windows() -> BTreeSet<String> {
    let mut fields = fields(&schema_for!(Window).to_value());
    fields.retain(|field| !matches!(field.as_str(), "from_s" | "to_s"));
    fields
}

/// The fields of the groups that all these plans have, in a window or over the run, such as `groups.tcp.jain`.
pub(super) fn of_groups(window: bool, plans: &[&Plan]) -> Vec<String> {
    let schema = if window { schema_for!(GroupWindow) } else { schema_for!(Group) };
    let fields = fields(&schema.to_value());
    let names = plans.iter().take(1).flat_map(|plan| &plan.groups).map(|group| &group.name);
    let shared =
        names.filter(|name| plans.iter().all(|plan| plan.groups.iter().any(|g| g.name == **name)));
    let of = |name| fields.iter().map(move |field| format!("groups.{name}.{field}"));
    shared.flat_map(of).collect()
}

/// For a metric of a place, such as `queues.left>right.p99_bytes`: the metric itself if all points have it; otherwise
/// the metrics that this place has.
pub(super) fn of_places(metric: &str, points: &[&Variant]) -> Option<Vec<String>> {
    let (list, schema) = match metric.split_once('.')?.0 {
        "queues" => ("queues", schema_for!(Queue)),
        "pools" => ("pools", schema_for!(Pool)),
        _ => return None,
    };
    let mut fields = fields(&schema.to_value());
    let levels = points.iter().take(1).flat_map(|point| &point.plan.levels);
    let shared = levels.filter(|level| points.iter().all(|at| at.plan.levels.contains(level)));
    fields.extend(shared.map(|level| format!("above.{level}")));
    if fields.iter().any(|field| metric.ends_with(&format!(".{field}"))) {
        return Some(vec![metric.to_owned()]);
    }
    Some(fields.into_iter().map(|field| format!("{list}.PLACE.{field}")).collect())
}

/// Whether a metric belongs to one place or set of links: `loss_by_place.left>right`.
pub(super) fn is_by_place(metric: &str) -> bool {
    ["loss_by_place.", "loss_by_set.", "utilization_by_place."]
        .iter()
        .any(|list| metric.starts_with(list))
}

/// The factor of a figure by the unit of its field.
pub(super) fn scale(metric: &str, unit: &str) -> Option<f64> {
    let kind: &[(&str, f64)] = if metric.ends_with("_bps") {
        &[("Gb/s", 1e9), ("Mb/s", 1e6), ("", 1.0)]
    } else if metric.ends_with("_bytes") {
        // A packet is a full frame of the usual size, as it occupies the link.
        &[("packets", FULL_FRAME), ("MB", 1e6), ("KB", 1e3), ("B", 1.0), ("", 1.0)]
    } else if metric.ends_with("_s") {
        &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("", 1.0)]
    } else if COUNTS.iter().any(|count| metric.starts_with(count)) {
        &[("packets", 1.0), ("", 1.0)]
    } else {
        &[("%", 0.01), ("", 1.0)]
    };
    kind.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

/// Fields that count packets.
const COUNTS: [&str; 6] =
    ["drops.", "marks", "retransmits", "credit.granted", "credit.used", "credit.wasted"];

fn fields(schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(schema, schema, "", &mut found);
    found
}

fn walk(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    if let Some(to) = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
        if let Some(schema) = root.pointer(to) {
            walk(root, schema, path, found);
        }
        return;
    }
    for either in schema["anyOf"].as_array().into_iter().flatten() {
        walk(root, either, path, found);
    }
    let is = |name: &str| match &schema["type"] {
        Value::String(kind) => kind == name,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        _ => false,
    };
    if is("number") || is("integer") {
        found.insert(path.to_owned());
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        walk(root, schema, &path, found);
    }
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
        let known = |metric: &str| {
            let fields = of_places(metric, &[&one, &two]).unwrap();
            fields == [metric]
        };
        assert!(known("queues.left>right.p99_bytes") && known("queues.left>right.above.720KB"));
        assert!(known("pools.leaf0/2.size_bytes") && !known("queues.left>right.size_bytes"));
        assert!(!known("pools.leaf0/2.above.1.5MB"), "one point does not have it");
        assert_eq!(of_places("loss_by_place.left>right", &[&one]), None);
    }

    #[test]
    fn metrics_are_the_numbers_of_the_summary() {
        let runs = of_runs();
        for field in ["throughput_bps", "drops.data", "credit.loss_rate", "fct.small.p99_s", "jain"]
        {
            assert!(runs.contains(field), "{field} in {runs:?}");
        }
        assert!(!runs.contains("scheme") && !runs.contains("seed"));
        let windows: Vec<_> = of_windows().into_iter().collect();
        assert_eq!(windows, ["jain", "metered_loss", "throughput_bps"]);
    }
}
